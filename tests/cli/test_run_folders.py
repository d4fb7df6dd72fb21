"""What a folder or a pattern stands for: hidden parts are no data, and of a table only its current files are."""

from __future__ import annotations

import json
import os
import sys

import pytest

import stream_metrics as sm

LINE = '{"y_true": "a", "y_pred": "a"}\n'


def fill(folder, *names):
    """Write a file of one record under each name."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LINE)


def count(result):
    """Return the number of records that a run has printed as JSON."""
    assert result.err == ""
    return json.loads(result.out)["n"]


HIDDEN = ("_SUCCESS", ".a.jsonl", "_b.jsonl", "_temporary/0/c.jsonl", ".spark/d.jsonl", "k=1/_temporary/e.jsonl")
DATA = ("a.jsonl", "k=1/b.jsonl", "k=2/c.jsonl", "_h=3/d.jsonl", "deep/er/e.jsonl")


@pytest.mark.parametrize("named", ["", "**", "**/*.jsonl", "*/../**/*.jsonl"])
def test_hidden_parts_are_no_data(cli, tmp_path, named):
    """A name that begins with _ or . hides a file or a whole folder, except a partition such as _h=3."""
    fill(tmp_path / "out", *HIDDEN, *DATA)

    assert count(cli("run", os.path.join(tmp_path, "out", named), "--format", "json")) == len(DATA)


@pytest.mark.parametrize(
    ("named", "n"),
    [
        ("_b.jsonl", 1),
        ("_temporary", 1),
        ("_t*/**/*.jsonl", 1),
        ("[_]b.jsonl", None),
        ("_*.jsonl", 1),
        (".*.jsonl", 1),
        ("*.jsonl", 1),
        ("_h=3/*", 1),
        ("?h=3/*", 1),
        ("k=*", 2),
        ("k=*/*", 2),
    ],
)
def test_what_is_written_out_is_taken(cli, tmp_path, named, n):
    """A hidden part that the caller wrote is taken; one that a wildcard matched is not."""
    fill(tmp_path / ".out", *HIDDEN, *DATA)

    result = cli("run", tmp_path / ".out" / named, "--format", "json")

    if n is None:
        assert (result.status, result.out) == (1, "")
        assert "no file is named so" in result.err
    else:
        assert count(result) == n


def test_links(cli, tmp_path):
    """A link to a folder is followed, one that leads back is not, and one to nothing is an error."""
    fill(tmp_path, "out/a.jsonl", "other/b.jsonl")
    (tmp_path / "out" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "out" / "back").symlink_to(tmp_path / "out")
    assert count(cli("run", tmp_path / "out", "--format", "json")) == 2

    (tmp_path / "out" / "gone.jsonl").symlink_to(tmp_path / "gone.jsonl")
    result = cli("run", tmp_path / "out")
    assert (result.status, result.out) == (1, "")
    assert "gone.jsonl: No such file" in result.err


@pytest.mark.parametrize("named", ["", "*", "**", "**/*.jsonl"])
def test_no_data(cli, tmp_path, named):
    """A folder with nothing but hidden files, and a pattern that matches nothing else, end the run."""
    fill(tmp_path / "out", *HIDDEN)
    (tmp_path / "out" / "empty").mkdir()

    result = cli("run", os.path.join(tmp_path, "out", named))

    assert (result.status, result.out) == (1, "")
    assert "no file " in result.err
    assert result.err.count("\n") == 1


LOGS = {
    "Iceberg": ("metadata/v1.metadata.json", "pyiceberg"),
    "Hudi": (".hoodie/hoodie.properties", "hudi"),
    "Spark Structured Streaming": ("_spark_metadata/0", "pyspark"),
    "Delta": ("_delta_log/00000000000000000000.json", "stream-metrics[delta]"),
}


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize(
    "named", ["", "*", "*.jsonl", "**", "**/*.jsonl", "a.jsonl", "data", "data/k=1", "data/k=*/*.jsonl", "../table*"]
)
def test_tables_are_not_their_files(cli, tmp_path, monkeypatch, kind, named):
    """No way to name the files of a table counts rows that its log may have deleted; the library is named."""
    log, library = LOGS[kind]
    table = tmp_path / "table"
    fill(table, "a.jsonl", "data/k=1/b.jsonl", log)
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.chdir(tmp_path)

    for path in (os.path.join(table, named), os.path.join("table", named)):
        result = cli("run", path, "--state", tmp_path / "state")

        assert result.status in (1, 2)
        assert result.out == ""
        assert kind in result.err
        assert library in result.err
        assert result.err.count("\n") == 1
        assert not (tmp_path / "state").exists()


def test_tables_in_a_folder_and_behind_links(cli, tmp_path):
    """A table is recognised below the given folder, and where a link leads into one."""
    fill(tmp_path / "lake", "plain/a.jsonl", "table/data/b.jsonl", "table/metadata/v1.metadata.json")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "b.jsonl").symlink_to(tmp_path / "lake" / "table" / "data" / "b.jsonl")

    for named in ("lake", "links", "links/b.jsonl", "links/*"):
        result = cli("run", tmp_path / named)

        assert (result.status, result.out) == (1, "")
        assert "Iceberg" in result.err
    assert count(cli("run", tmp_path / "lake" / "plain", "--format", "json")) == 1


def write(path, text):
    """Write a file and the folders that it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


PARTITIONED = {
    "land=fi/day=2024-05-01/a": ("fi", [("a", "a"), ("b", "a")]),
    "land=d%20e/day=2024-05-02/b": ("d e", [("b", "b")]),
    "land=/day=2024-05-02/c": ("", []),
    "_h=1/land=007/day=2024-05-03/d": ("007", [("a", "b")]),
}


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_partitions_are_fields(cli, tmp_path, form, jobs):
    """A folder KEY=VALUE gives its records a group or a time, as text; text in a path is unquoted."""
    expected = sm.TimeWindow(sm.ByGroup(sm.MetricSet()), "9d", 9)
    for name, (land, pairs) in PARTITIONED.items():
        lines = [f"{a},{b}\n" if form == "csv" else f'{{"y_true": "{a}", "y_pred": "{b}"}}\n' for a, b in pairs]
        write(tmp_path / "data" / f"{name}.{form}", "y_true,y_pred\n" * (form == "csv") + "".join(lines))
        for a, b in pairs:
            expected.update(a, b, t=name.partition("day=")[2][:10], group=land)
    options = "--by", "land", "--time-field", "day", "--window", "9d", "--panes", "9", "--jobs", jobs

    result = cli("run", tmp_path / "data", *options, "--state", tmp_path / "s")

    assert (result.status, result.err) == (0, "")
    assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_a_field_of_the_file_goes_before_a_partition(cli, tmp_path):
    """A column or a key with the name of a partition is taken; the partition fills in where a record has none."""
    write(tmp_path / "land=x" / "a.csv", "land,y_true,y_pred\nfi,a,a\n")
    write(tmp_path / "land=x" / "a.jsonl", LINE + LINE.replace("{", '{"land": "fi", '))

    for form, groups in (("csv", {"fi"}), ("jsonl", {"fi", "x"})):
        result = cli("run", tmp_path / "land=x" / f"a.{form}", "--by", "land", "--format", "json")

        assert set(json.loads(result.out)["groups"]) == groups


def test_a_partition_that_is_missing(cli, tmp_path):
    """A file outside the partitions, and a partition that is null, are no group."""
    write(tmp_path / "land=fi" / "a.csv", "y_true,y_pred\na,a\n")
    write(tmp_path / "land=__HIVE_DEFAULT_PARTITION__" / "b.csv", "y_true,y_pred\na,a\n")
    write(tmp_path / "c.csv", "y_true,y_pred\na,a\n")
    reasons = {"c.csv": "column 'land' is not in the header", "land=__*/b.csv": "field 'land' is empty"}
    for name, reason in reasons.items():
        result = cli("run", tmp_path / "land=fi", tmp_path / name, "--by", "land")

        assert (result.status, result.out) == (1, "")
        assert reason in result.err
        assert name[-5:] in result.err
