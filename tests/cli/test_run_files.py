"""Files, folders and patterns of ``run``: what they stand for, what is no data, and files that are damaged."""

from __future__ import annotations

import gzip
import json
import os
import random

import pytest
from support.command_line import as_csv, counted, of_pairs, refusal, run_command, run_json, saved

import stream_metrics as sm

LINE = '{"y_true": "a", "y_pred": "a"}\n'
RNG = random.Random(9)
PAIRS = [(RNG.choice("abc"), RNG.choice("abc")) for _ in range(20_000)]
CSV = as_csv(PAIRS)
PACKED = gzip.compress(CSV)


def fill(folder, *names, text=LINE):
    """Write a file, by default of one record, under each name."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def count(*paths):
    """Return the number of records that a run counts."""
    assert run_command("run", *paths).err == ""
    return run_json("run", *paths)["n"]


HIDDEN = ("_SUCCESS", ".a.jsonl", "_b.jsonl", "_temporary/0/c.jsonl", ".spark/d.jsonl", "k=1/_temporary/e.jsonl")
DATA = ("a.jsonl", "k=1/b.jsonl", "k=2/c.jsonl", "_h=3/d.jsonl", "deep/er/e.jsonl")
TAKEN = {
    "_b.jsonl": 1, "_temporary": 1, "_t*/**/*.jsonl": 1, "_*.jsonl": 1, ".*.jsonl": 1, "*.jsonl": 1, "_h=3/*": 1,
    "?h=3/*": 1, "k=*": 2, "k=*/*": 2,
}  # fmt: skip


def test_hidden_parts_are_no_data(tmp_path):
    """A name that begins with _ or . hides a file or folder, if it is no partition (_h=3) and was not written out."""
    for folder, names in (("out", HIDDEN + DATA), ("none", HIDDEN), (".out", HIDDEN + DATA)):
        fill(tmp_path / folder, *names)
    (tmp_path / "none" / "empty").mkdir()
    for named in ("", "**", "**/*.jsonl", "*/../**/*.jsonl"):
        assert count(os.path.join(tmp_path, "out", named)) == len(DATA), named
    for named in ("", "*", "**", "**/*.jsonl"):
        assert "no file " in refusal("run", os.path.join(tmp_path, "none", named)), named
    for named, n in TAKEN.items():
        assert count(tmp_path / ".out" / named) == n, named
    assert "no file is named so" in refusal("run", tmp_path / ".out" / "[_]b.jsonl")


def test_links(tmp_path):
    """A link to a folder is followed, one that leads back is not, and one to nothing is an error."""
    fill(tmp_path, "out/a.jsonl", "other/b.jsonl")
    (tmp_path / "out" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "out" / "back").symlink_to(tmp_path / "out")
    assert count(tmp_path / "out") == 2

    (tmp_path / "out" / "gone.jsonl").symlink_to(tmp_path / "gone.jsonl")
    assert "gone.jsonl: No such file" in refusal("run", tmp_path / "out")


@pytest.mark.parametrize("log", ["metadata/v1.metadata.json", "_delta_log/00000000000000000000.json"])
def test_tables_are_not_their_files(tmp_path, log):
    """The files of a table are not counted, since its log may have deleted rows; other folders of metadata are."""
    fill(tmp_path / "t", "data/k=1/b.jsonl", log)
    assert "stream_metrics.count" in refusal("run", tmp_path / "t")
    if log.startswith("metadata"):
        (tmp_path / "t" / log).unlink()
        assert count(tmp_path / "t") == 1


PARTITIONED = {
    "land=fi/day=2024-05-01/a": ("fi", [("a", "a"), ("b", "a")]),
    "land=d%20e/day=2024-05-02/b": ("d e", [("b", "b")]),
    "land=/day=2024-05-02/c": ("", []),
    "_h=1/land=007/day=2024-05-03/d": ("007", [("a", "b")]),
}


@pytest.mark.parametrize(("form", "jobs"), [("csv", "2"), ("jsonl", "1")])
def test_partitions_are_fields(tmp_path, form, jobs):
    """A folder KEY=VALUE gives its records a group or a time, as text; text in a path is unquoted."""
    expected = sm.TimeWindow(sm.ByGroup(sm.MetricSet()), "9d", 9)
    for name, (land, pairs) in PARTITIONED.items():
        lines = "".join(f'{{"y_true": "{a}", "y_pred": "{b}"}}\n' for a, b in pairs)
        fill(tmp_path / "data", f"{name}.{form}", text=as_csv(pairs) if form == "csv" else lines)
        for a, b in pairs:
            expected.update(a, b, t=name.partition("day=")[2][:10], group=land)
    options = "--by", "land", "--time-field", "day", "--window", "9d", "--panes", "9", "--jobs", jobs

    assert saved(tmp_path / "data", *options) == expected.to_bytes()


def test_a_partition_beside_fields(tmp_path):
    """A field of the file goes before a partition, which fills in where a record has none; one is missing."""
    fill(tmp_path, "land=x/a.csv", text="land,y_true,y_pred\nfi,a,a\n")
    fill(tmp_path, "land=x/a.jsonl", text=LINE + LINE.replace("{", '{"land": "fi", '))
    for form, groups in (("csv", {"fi"}), ("jsonl", {"fi", "x"})):
        assert set(run_json("run", tmp_path / "land=x" / f"a.{form}", "--by", "land")["groups"]) == groups

    fill(tmp_path, "land=fi/a.csv", "land=__HIVE_DEFAULT_PARTITION__/b.csv", "c.csv", text="y_true,y_pred\na,a\n")
    reasons = {"c.csv": "column 'land' is not in the header", "land=__*/b.csv": "field 'land' to be a"}
    for name, reason in reasons.items():
        said = refusal("run", tmp_path / "land=fi", tmp_path / name, "--by", "land")
        assert (reason in said, name[-5:] in said) == (True, True), said


UNREADABLE = {
    "missing.csv": (None, "No such file or directory"),
    "folder.csv": ((), "Is a directory"),
    "binary.csv": (bytes(range(255, 0, -1)), "line 1: not UTF-8"),
    "false.csv.gz": (b"not packed", "line 1: column 'y_true' is not in the header, which has 'not packed'"),
    "cut.csv.gz": (PACKED[:-20], "end-of-stream marker"),
    "none-*": (None, "no file is named so"),
    "empty": ((), "no file in it ends in"),
    "packed.gz": (gzip.compress(b"PAR1" + LINE.encode()), "is Parquet"),
}


def test_files_that_cannot_be_read(tmp_path):
    """A missing file, a folder, a binary file and a damaged .gz are named, each in one line."""
    for name, (content, reason) in UNREADABLE.items():
        if content == ():
            (tmp_path / name).mkdir()
        elif content is not None:
            (tmp_path / name).write_bytes(content)
        said = refusal("run", tmp_path / name)
        assert said.startswith(f"stream-metrics: {tmp_path / name}")
        assert reason in said


def test_each_file_once(tmp_path):
    """An output that is an input, whatever it is called, is refused and not written; so is a file named twice."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    path, link, other = tmp_path / "a.png", tmp_path / "b.png", tmp_path / "c.csv"
    fill(tmp_path, "a.png", "c.csv", text=CSV)
    link.symlink_to(path)

    for flag, jobs in (("--state", 1), ("--plot", 2)):
        for target in (path, link, tmp_path / ".." / tmp_path.name / "a.png"):
            said = refusal("run", other, path, flag, target, "--jobs", jobs, "--input", "csv", status=2)
            assert "is read and would be overwritten" in said
    assert path.read_bytes() == CSV
    for paths in ((path, path), (path, link), (tmp_path / "a*", path), (tmp_path / "?.png",)):
        assert "is the same file as" in refusal("run", *paths, "--input", "csv", status=2)


DAMAGED = {
    "b.csv.gz": PACKED[: len(PACKED) // 2],
    "c.csv": b"truth_of_it,answer\na,a\n",
    "d.csv": b"PK\x03\x04 and more",
    "e.csv.gz": PACKED[:-8] + b"\0" * 8,
    "f.csv": b'"y_true,y_pred"x\n',
}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_nothing_of_a_damaged_file_is_counted(cli, tmp_path, jobs):
    """Not even the records before the damage; the other files are, and each damaged one is named."""
    for name, content in {"a.csv": CSV, "z.csv": CSV, **DAMAGED}.items():
        (tmp_path / name).write_bytes(content)
    bad, options = [str(tmp_path / name) for name in DAMAGED], ("--skip-bad-files", "--jobs", jobs)
    stopped = cli("run", tmp_path, "--skip-bad", "--jobs", jobs)
    assert (stopped.status, stopped.out) == (1, "")

    result = cli("run", tmp_path, *options, "--state", tmp_path.parent / f"s{jobs}", "--format", "json")
    data = json.loads(result.out)

    assert (result.status, (tmp_path.parent / f"s{jobs}").read_bytes()) == (0, of_pairs(PAIRS * 2))
    assert [item["file"] for item in data["skipped_files"]] == bad
    assert ("skipped" in data, all(item["reason"] for item in data["skipped_files"])) == (False, True)
    assert all(text in result.err for text in ("skipped 5 bad files", *(f"  {path}: " for path in bad)))


def test_bad_records_and_bad_files(cli, tmp_path):
    """Bad records of a damaged file are not reported; they end the run, and so does a file that is not there."""
    fill(tmp_path, "a.csv", text="y_true,y_pred\na,a\nb\n")
    fill(tmp_path / "only", "a.csv", "b.csv", text="neither,nor\na,b\n")
    for named, reason in (("a.csv", "line 3: expected 2 fields"), ("missing.csv", "No such file")):
        assert reason in refusal("run", tmp_path / named, "--skip-bad-files")
    result = cli("run", tmp_path / "only", "--skip-bad-files", "--state", tmp_path / "s")
    assert (result.status, result.out, (tmp_path / "s").exists()) == (1, "", False)
    assert ("no record could be counted" in result.err, result.err.count("a.csv")) == (True, 1)

    cut = gzip.compress(b"y_true,y_pred\n" + b"b\n" * 3 + CSV[14:])[:-1000]
    (tmp_path / "b.csv.gz").write_bytes(cut)
    data = run_json("run", tmp_path / "a.csv", tmp_path / "b.csv.gz", "--skip-bad-files", "--skip-bad")
    assert (data["n"], data["skipped"]["count"], len(data["skipped_files"])) == (1, 1, 1)
    assert [bad["file"] for bad in data["skipped"]["first"]] == [str(tmp_path / "a.csv")]


def test_windows_and_resumed_states_are_restored(cli, tmp_path):
    """A window of the last N, which cannot be merged, is as it was before the damaged file."""
    (tmp_path / "a.csv").write_bytes(CSV)
    (tmp_path / "b.csv.gz").write_bytes(PACKED[:-9000])
    columns, state = list(map(list, zip(*PAIRS, strict=True))), tmp_path / "s"
    expected = counted(sm.Rolling(sm.MetricSet(), 100), *columns)

    cli("run", tmp_path, "--skip-bad-files", "--window", "100", "--state", state)
    assert expected.to_bytes() == state.read_bytes()

    (tmp_path / "b.csv.gz").write_bytes(PACKED)
    cli("run", tmp_path, "--resume", state, "--state", state)
    assert counted(expected, *columns).to_bytes() == state.read_bytes()
