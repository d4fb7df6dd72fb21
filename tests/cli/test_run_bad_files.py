"""``--skip-bad-files``: a damaged file is named and skipped, and no record of it is counted."""

from __future__ import annotations

import gzip
import json
import random

import pytest

import stream_metrics as sm

RNG = random.Random(9)
PAIRS = [(RNG.choice("abc"), RNG.choice("abc")) for _ in range(30_000)]
CSV = "y_true,y_pred\n" + "".join(f"{a},{b}\n" for a, b in PAIRS)


def counted(*streams):
    """Return a state that has counted streams of pairs."""
    state = sm.MetricSet()
    for pairs in streams:
        state.update_many([a for a, _ in pairs], [b for _, b in pairs])
    return state.to_bytes()


def damage(folder):
    """Write damaged files between good ones of the same pairs, and return the paths of the damaged ones."""
    packed = gzip.compress(CSV.encode())
    for name in ("a.csv", "z.csv"):
        (folder / name).write_text(CSV)
    bad = {
        "b.csv.gz": packed[: len(packed) // 2],
        "c.csv": b"truth_of_it,answer\na,a\n",
        "d.csv": b"PK\x03\x04 and more",
        "e.csv.gz": packed[:-8] + b"\0" * 8,
        "f.csv": b'"y_true,y_pred"x\n',
    }
    for name, content in bad.items():
        (folder / name).write_bytes(content)
    return [str(folder / name) for name in bad]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_nothing_of_a_damaged_file_is_counted(cli, tmp_path, jobs):
    """Not even the records before the damage; the other files are, and each damaged one is named."""
    bad = damage(tmp_path)
    stopped = cli("run", tmp_path, "--skip-bad", "--jobs", jobs)
    assert (stopped.status, stopped.out) == (1, "")

    result = cli("run", tmp_path, "--skip-bad-files", "--jobs", jobs, "--state", tmp_path / "s", "--format", "json")

    assert result.status == 0
    assert counted(PAIRS, PAIRS) == (tmp_path / "s").read_bytes()
    data = json.loads(result.out)
    assert [item["file"] for item in data["skipped_files"]] == bad
    assert "skipped" not in data
    assert all(item["reason"] for item in data["skipped_files"])
    assert "skipped 5 bad files" in result.err
    assert all(f"  {path}: " in result.err for path in bad)


def test_bad_records_of_a_damaged_file_do_not_count(cli, tmp_path):
    """With --skip-bad, too, bad records of good files are reported, and those of a damaged file are not."""
    (tmp_path / "a.csv").write_text("y_true,y_pred\na,a\nb\n")
    packed = gzip.compress(("y_true,y_pred\n" + "b\n" * 3 + CSV[14:]).encode())
    (tmp_path / "b.csv.gz").write_bytes(packed[:-1000])

    result = cli("run", tmp_path, "--skip-bad-files", "--skip-bad", "--format", "json")

    data = json.loads(result.out)
    assert (data["n"], data["skipped"]["count"], len(data["skipped_files"])) == (1, 1, 1)
    assert [bad["file"] for bad in data["skipped"]["first"]] == [str(tmp_path / "a.csv")]


def test_a_bad_record_is_no_bad_file(cli, tmp_path):
    """Without --skip-bad a bad record still ends the run, and so does a file that is not there."""
    (tmp_path / "a.csv").write_text("y_true,y_pred\na,a\nb\n")
    for named, reason in (("a.csv", "line 3: expected 2 fields"), ("missing.csv", "No such file")):
        result = cli("run", tmp_path / named, "--skip-bad-files")

        assert (result.status, result.out) == (1, "")
        assert reason in result.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_only_bad_files(cli, tmp_path, jobs):
    """If no file can be read, there is no result."""
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("neither,nor\na,b\n")

    result = cli("run", tmp_path, "--skip-bad-files", "--jobs", jobs, "--state", tmp_path / "s")

    assert (result.status, result.out) == (1, "")
    assert "no record could be counted" in result.err
    assert result.err.count("a.csv") == 1
    assert not (tmp_path / "s").exists()


def test_windows_and_resumed_states_are_restored(cli, tmp_path):
    """A window of the last N, which cannot be merged, is as it was before the damaged file."""
    (tmp_path / "a.csv").write_text(CSV)
    packed = gzip.compress(CSV.encode())
    (tmp_path / "b.csv.gz").write_bytes(packed[:-9000])
    expected = sm.Rolling(sm.MetricSet(), 100)
    expected.update_many([a for a, _ in PAIRS], [b for _, b in PAIRS])

    cli("run", tmp_path, "--skip-bad-files", "--window", "100", "--state", tmp_path / "s")
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()

    (tmp_path / "b.csv.gz").write_bytes(packed)
    cli("run", tmp_path, "--resume", tmp_path / "s", "--state", tmp_path / "s")
    expected.update_many([a for a, _ in PAIRS], [b for _, b in PAIRS])
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_running_values_are_refused(cli, tmp_path):
    """--every prints values before a file was read to its end."""
    result = cli("run", "-", "--every", "10", "--skip-bad-files")

    assert (result.status, result.out) == (2, "")
    assert "--every does not go with --skip-bad-files" in result.err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_damaged_tables(cli, tmp_path, jobs):
    """Row groups before a damaged one are not counted either, and files without the columns are skipped."""
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")
    table = pa.table({"y_true": [a for a, _ in PAIRS], "y_pred": [b for _, b in PAIRS]})
    for name in "acd":
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=3000, use_dictionary=False)
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[:60_000] + b"\xff" * 3000 + whole[63_000:])
    (tmp_path / "e.parquet").write_bytes(whole[:-5])
    pq.write_table(table.drop_columns(["y_pred"]), tmp_path / "f.parquet")

    result = cli("run", tmp_path, "--skip-bad-files", "--jobs", jobs, "--state", tmp_path / "s", "--format", "json")

    assert counted(PAIRS, PAIRS, PAIRS) == (tmp_path / "s").read_bytes()
    skipped = sorted(item["file"][-9:] for item in json.loads(result.out)["skipped_files"])
    assert skipped == ["b.parquet", "e.parquet", "f.parquet"]
