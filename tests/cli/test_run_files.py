"""Files, folders and patterns of ``run``: what they stand for, what is no data, and files that are damaged."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys

import pytest

import stream_metrics as sm

LINE = '{"y_true": "a", "y_pred": "a"}\n'
RNG = random.Random(9)
PAIRS = [(RNG.choice("abc"), RNG.choice("abc")) for _ in range(20_000)]
CSV = "y_true,y_pred\n" + "".join(f"{a},{b}\n" for a, b in PAIRS)


def fill(folder, *names, text=LINE):
    """Write a file, by default of one record, under each name."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def count(result):
    """Return the number of records that a run has printed as JSON."""
    assert result.err == ""
    return json.loads(result.out)["n"]


def refused(result, *reasons, status=1):
    """Tell whether a command ended with one line that has the reasons, and no result."""
    one_line = (result.status, result.out, result.err.count("\n")) == (status, "", 1)
    return one_line and all(reason in result.err for reason in reasons)


HIDDEN = ("_SUCCESS", ".a.jsonl", "_b.jsonl", "_temporary/0/c.jsonl", ".spark/d.jsonl", "k=1/_temporary/e.jsonl")
DATA = ("a.jsonl", "k=1/b.jsonl", "k=2/c.jsonl", "_h=3/d.jsonl", "deep/er/e.jsonl")


def test_hidden_parts_are_no_data(cli, tmp_path):
    """A name that begins with _ or . hides a file or a whole folder, except a partition such as _h=3."""
    fill(tmp_path / "out", *HIDDEN, *DATA)
    fill(tmp_path / "none", *HIDDEN)
    (tmp_path / "none" / "empty").mkdir()
    for named in ("", "**", "**/*.jsonl", "*/../**/*.jsonl"):
        assert count(cli("run", os.path.join(tmp_path, "out", named), "--format", "json")) == len(DATA), named
    for named in ("", "*", "**", "**/*.jsonl"):
        assert refused(cli("run", os.path.join(tmp_path, "none", named)), "no file "), named


def test_what_is_written_out_is_taken(cli, tmp_path):
    """A hidden part that the caller wrote is taken; one that a wildcard matched is not."""
    fill(tmp_path / ".out", *HIDDEN, *DATA)
    taken = {"_b.jsonl": 1, "_temporary": 1, "_t*/**/*.jsonl": 1, "_*.jsonl": 1, ".*.jsonl": 1, "*.jsonl": 1}
    taken |= {"_h=3/*": 1, "?h=3/*": 1, "k=*": 2, "k=*/*": 2}

    for named, n in taken.items():
        assert count(cli("run", tmp_path / ".out" / named, "--format", "json")) == n, named
    assert refused(cli("run", tmp_path / ".out" / "[_]b.jsonl"), "no file is named so")


def test_links(cli, tmp_path):
    """A link to a folder is followed, one that leads back is not, and one to nothing is an error."""
    fill(tmp_path, "out/a.jsonl", "other/b.jsonl")
    (tmp_path / "out" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "out" / "back").symlink_to(tmp_path / "out")
    assert count(cli("run", tmp_path / "out", "--format", "json")) == 2

    (tmp_path / "out" / "gone.jsonl").symlink_to(tmp_path / "gone.jsonl")
    assert refused(cli("run", tmp_path / "out"), "gone.jsonl: No such file")


LOGS = {
    "Iceberg": ("metadata/v1.metadata.json", "pyiceberg"),
    "Hudi": (".hoodie/hoodie.properties", "hudi"),
    "Spark Structured Streaming": ("_spark_metadata/0", "pyspark"),
    "Delta": ("_delta_log/00000000000000000000.json", "stream-metrics[delta]"),
}


def test_tables_are_not_their_files(cli, tmp_path, monkeypatch):
    """The files of a table are not counted, since its log may have deleted rows; the library is named."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    for kind, (log, library) in LOGS.items():
        table = tmp_path / library[:4]
        fill(table, "a.jsonl", "data/k=1/b.jsonl", log)
        for named in (table, table / "data/k=*/*.jsonl"):
            result = cli("run", named, "--state", tmp_path / "state")
            assert (result.status in (1, 2), result.out, (tmp_path / "state").exists()) == (True, "", False)
            assert kind in result.err
            assert library in result.err


PARTITIONED = {
    "land=fi/day=2024-05-01/a": ("fi", [("a", "a"), ("b", "a")]),
    "land=d%20e/day=2024-05-02/b": ("d e", [("b", "b")]),
    "land=/day=2024-05-02/c": ("", []),
    "_h=1/land=007/day=2024-05-03/d": ("007", [("a", "b")]),
}


@pytest.mark.parametrize(("form", "jobs"), [("csv", "2"), ("jsonl", "1")])
def test_partitions_are_fields(cli, tmp_path, form, jobs):
    """A folder KEY=VALUE gives its records a group or a time, as text; text in a path is unquoted."""
    expected = sm.TimeWindow(sm.ByGroup(sm.MetricSet()), "9d", 9)
    for name, (land, pairs) in PARTITIONED.items():
        lines = [f"{a},{b}\n" if form == "csv" else f'{{"y_true": "{a}", "y_pred": "{b}"}}\n' for a, b in pairs]
        head = "y_true,y_pred\n" * (form == "csv")
        fill(tmp_path / "data", f"{name}.{form}", text=head + "".join(lines))
        for a, b in pairs:
            expected.update(a, b, t=name.partition("day=")[2][:10], group=land)
    options = "--by", "land", "--time-field", "day", "--window", "9d", "--panes", "9", "--jobs", jobs

    result = cli("run", tmp_path / "data", *options, "--state", tmp_path / "s")

    assert (result.status, result.err) == (0, "")
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_a_field_of_the_file_goes_before_a_partition(cli, tmp_path):
    """A column or a key with the name of a partition is taken; the partition fills in where a record has none."""
    fill(tmp_path, "land=x/a.csv", text="land,y_true,y_pred\nfi,a,a\n")
    fill(tmp_path, "land=x/a.jsonl", text=LINE + LINE.replace("{", '{"land": "fi", '))

    for form, groups in (("csv", {"fi"}), ("jsonl", {"fi", "x"})):
        result = cli("run", tmp_path / "land=x" / f"a.{form}", "--by", "land", "--format", "json")

        assert set(json.loads(result.out)["groups"]) == groups


def test_a_partition_that_is_missing(cli, tmp_path):
    """A file outside the partitions, and a partition that is null, are no group."""
    fill(tmp_path, "land=fi/a.csv", "land=__HIVE_DEFAULT_PARTITION__/b.csv", "c.csv", text="y_true,y_pred\na,a\n")
    reasons = {"c.csv": "column 'land' is not in the header", "land=__*/b.csv": "field 'land' is empty"}
    for name, reason in reasons.items():
        result = cli("run", tmp_path / "land=fi", tmp_path / name, "--by", "land")

        assert refused(result, reason, name[-5:])


def test_files_that_cannot_be_read(cli, tmp_path):
    """A missing file, a folder, a binary file and a damaged .gz are named, each in one line."""
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "binary.csv").write_bytes(bytes(range(255, 0, -1)))
    (tmp_path / "false.csv.gz").write_bytes(b"not packed at all")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(CSV.encode())[:-20])
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"PAR1" + LINE.encode()))
    reasons = {
        "missing.csv": "No such file or directory",
        "folder.csv": "Is a directory",
        "binary.csv": "line 1: not UTF-8",
        "false.csv.gz": "line 1: column 'y_true' is not in the header, which has 'not packed at all'",
        "cut.csv.gz": "end-of-stream marker",
        "none-*": "no file is named so",
        "empty": "no file in it ends in",
        "packed.gz": "is Parquet",
    }
    for name, reason in reasons.items():
        assert refused(cli("run", tmp_path / name), f"stream-metrics: {tmp_path / name}", reason), name


def test_no_output_replaces_an_input(cli, tmp_path):
    """An output that is an input, whatever it is called, is refused, and the input is as it was."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    path, link, other = tmp_path / "a.png", tmp_path / "b.png", tmp_path / "c.csv"
    fill(tmp_path, "a.png", "c.csv", text=CSV)
    link.symlink_to(path)

    for flag, jobs in (("--state", 1), ("--plot", 2)):
        for target in (path, link, tmp_path / ".." / tmp_path.name / "a.png"):
            result = cli("run", other, path, flag, target, "--jobs", jobs, "--input", "csv")
            assert refused(result, "is read and would be overwritten", status=2)
    assert path.read_text() == CSV


def test_a_file_is_counted_once(cli, tmp_path):
    """The same file twice, also by a link or a pattern, is refused."""
    path, link = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text(LINE)
    link.symlink_to(path)

    for paths in ((path, path), (path, link), (tmp_path / "a*", path), (tmp_path,)):
        assert refused(cli("run", *paths), "is the same file as", status=2)


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


def test_what_is_no_bad_file(cli, tmp_path):
    """A bad record still ends the run, and so does a file that is not there; if none can be read there is no result."""
    fill(tmp_path, "a.csv", text="y_true,y_pred\na,a\nb\n")
    fill(tmp_path / "only", "a.csv", "b.csv", text="neither,nor\na,b\n")
    for named, reason in (("a.csv", "line 3: expected 2 fields"), ("missing.csv", "No such file")):
        assert refused(cli("run", tmp_path / named, "--skip-bad-files"), reason)

    result = cli("run", tmp_path / "only", "--skip-bad-files", "--state", tmp_path / "s")
    assert (result.status, result.out, (tmp_path / "s").exists()) == (1, "", False)
    assert "no record could be counted" in result.err
    assert result.err.count("a.csv") == 1


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
