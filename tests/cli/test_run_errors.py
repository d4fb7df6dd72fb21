"""``stream-metrics run``: errors name file, line and reason, and no file is counted in part."""

from __future__ import annotations

import gzip
import json

import pytest

import stream_metrics as sm
from stream_metrics.cli.main import main

GOOD = b'{"y_true": "a", "y_pred": "a", "w": 1}\n'
HEAD = b"y_true,y_pred,w\na,a,1\n"
BAD = [
    pytest.param(GOOD, b'{"y_true": "a", "y_pred"\n', "not JSON", id="cut"),
    pytest.param(GOOD, b"[1, 2]\n", "expected a JSON object, but got [1, 2]", id="array"),
    pytest.param(GOOD, b"[" * 100_000 + b"\n", "recursion", id="deep"),
    pytest.param(GOOD, b'{"y_true": "a", "w": 1}\n', "no field 'y_pred'; the record has 'y_true', 'w'", id="no field"),
    pytest.param(GOOD, b'{"y_true": null, "y_pred": "a", "w": 1}\n', "`y_true`", id="null truth"),
    pytest.param(GOOD, b'{"y_true": NaN, "y_pred": "a", "w": 1}\n', "nan", id="nan truth"),
    pytest.param(GOOD, b'{"y_true": "a", "y_pred": ["a"], "w": 1}\n', "`y_pred`", id="list"),
    pytest.param(GOOD, b'{"y_true": "a", "y_pred": "a", "w": -1}\n', "-1", id="negative weight"),
    pytest.param(GOOD, b'{"y_true": "a", "y_pred": "a", "w": null}\n', "the weight to be a number", id="no weight"),
    pytest.param(GOOD, b'{"y_true": "a", "y_pred": "a", "w": true}\n', "the weight to be a number", id="bool weight"),
    pytest.param(GOOD, b'{"y_true": "\xff", "y_pred": "a", "w": 1}\n', "byte 0xff at column 13", id="bytes"),
    pytest.param(HEAD, b"a,b\n", "expected 3 fields as in the header, but got 2", id="few fields"),
    pytest.param(HEAD, b"a,b,1,x\n", "expected 3 fields as in the header, but got 4", id="many fields"),
    pytest.param(HEAD, b'"a"b,a,1\n', "not CSV", id="bad quote"),
    pytest.param(HEAD, b",a,1\n", "field 'y_true' is empty", id="empty truth"),
    pytest.param(HEAD, b"a,a,x\n", "the weight to be a number, but got 'x'", id="text weight"),
    pytest.param(HEAD, b"a,a,\n", "the weight to be a number, but got ''", id="empty weight"),
    pytest.param(HEAD, b"a,a,nan\n", "nan", id="nan weight"),
    pytest.param(HEAD, b"a,\xff,1\n", "byte 0xff at column 3", id="csv bytes"),
]


@pytest.mark.parametrize(("start", "line", "reason"), BAD)
def test_bad_record_is_named(cli, tmp_path, start, line, reason):
    """A bad record ends the run with its line and reason; nothing is printed or saved."""
    state = tmp_path / "state"
    number = start.count(b"\n") + 1

    result = cli("run", "-", "--weight", "w", "--state", state, stdin=start + line + start[-8:])

    assert (result.status, result.out, state.exists()) == (1, "", False)
    assert result.err.startswith(f"stream-metrics: stdin, line {number}: ")
    assert reason in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(("start", "line", "reason"), BAD)
def test_bad_record_is_skipped(cli, start, line, reason):
    """With --skip-bad the rest is counted, and the bad record is reported on stderr and in JSON."""
    again = start.splitlines(keepends=True)[-1]

    result = cli("run", "-", "--weight", "w", "--skip-bad", "--format", "json", stdin=start + line + again)
    data = json.loads(result.out)

    assert (result.status, data["n"], data["skipped"]["count"]) == (0, 2, 1)
    (bad,) = data["skipped"]["first"]
    assert ("stdin", start.count(b"\n") + 1) == (bad["file"], bad["line"])
    assert reason in bad["reason"]
    assert result.err.startswith("stream-metrics: skipped 1 bad record\n  stdin, line ")


def test_quote_that_never_ends(cli):
    """An open quote, which swallows the rest of the file, is reported with the line where its record begins."""
    result = cli("run", "-", stdin=b'y_true,y_pred\na,a\nb,"b\na,a\nb,b\n')

    assert result.status == 1
    assert "line 5: not CSV" in result.err
    assert "begins in line 3" in result.err


def test_first_few_skipped_are_shown(cli):
    """Of many bad records the first five are shown and all are counted; --skip-bad without any says 0."""
    many = cli("run", "-", "--skip-bad", "--format", "json", stdin=GOOD + b"no\n" * 8)
    none = cli("run", "-", "--skip-bad", "--format", "json", stdin=GOOD)
    skipped = json.loads(many.out)["skipped"]

    assert (skipped["count"], len(skipped["first"])) == (8, 5)
    assert many.err.endswith("  and 3 more\n")
    assert (json.loads(none.out)["skipped"], none.err) == ({"count": 0, "first": []}, "")


def test_bad_label_deep_in_a_chunk(cli, tmp_path):
    """A label that only the state refuses is found at its line within a chunk of thousands."""
    lines = [b"a,a\n"] * 20_000
    lines[15_000] = b"a,zebra\n"
    path = tmp_path / "long.csv"
    path.write_bytes(b"y_true,y_pred\n" + b"".join(lines))

    refused = cli("run", path, "--labels", "a,b")
    skipped = cli("run", path, "--labels", "a,b", "--skip-bad", "--format", "json")

    assert (refused.status, refused.out) == (1, "")
    assert f"{path}, line 15002: " in refused.err
    assert "zebra" in refused.err
    assert json.loads(skipped.out)["n"] == 19_999


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"label,y_pred\n", "column 'y_true' is not in the header, which has 'label', 'y_pred'"),
        (b"y_true,y_true,y_pred\n", "column 'y_true' is there more than once"),
        (b'"y_true,y_pred\n', "not CSV"),
    ],
)
def test_bad_header(cli, header, reason):
    """A header without the columns cannot be skipped."""
    result = cli("run", "-", "--skip-bad", "--input", "csv", stdin=header + b"a,b\n")

    assert (result.status, result.out) == (1, "")
    assert reason in result.err


def test_files_that_cannot_be_read(cli, tmp_path):
    """A missing file, a folder, a binary file and a damaged .gz are named, each in one line."""
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "binary.csv").write_bytes(bytes(range(255, 0, -1)))
    (tmp_path / "false.csv.gz").write_bytes(b"not packed at all")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"y_true,y_pred\n" + b"a,b\n" * 10_000)[:-20])
    reasons = {
        "missing.csv": "No such file or directory",
        "folder.csv": "Is a directory",
        "binary.csv": "line 1: not UTF-8",
        "false.csv.gz": "line 1: column 'y_true' is not in the header, which has 'not packed at all'",
        "cut.csv.gz": "end-of-stream marker",
    }
    for name, reason in reasons.items():
        result = cli("run", tmp_path / name)

        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(f"stream-metrics: {tmp_path / name}")
        assert reason in result.err
        assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("walk",), "walk"),
        (("run",), "FILE"),
        (("run", "-", "-"), "stdin can be read once only"),
        (("run", "-", "--metrics", "acuracy"), "accuracy"),
        (("run", "-", "--metrics", ","), "at least one metric"),
        (("run", "-", "--every", "0"), "from 1 on"),
        (("run", "-", "--every", "ten"), "'ten'"),
        (("run", "-", "--labels", "[1"), "JSON list"),
        (("run", "-", "--labels", "a,a"), "distinct"),
        (("run", "-", "--zero-division", "2"), "0, 1 or nan"),
        (("run", "a.csv", "b.jsonl"), "CSV and JSON Lines together"),
        (("run", "a.csv", "b.parquet"), "Parquet and other formats together"),
        (("run", "-", "--input", "parquet"), "Parquet is read from files, not from stdin"),
        (("run", "a.csv", "--every", "9", "--jobs", "2"), "--every does not go with --jobs"),
        (("run", "-", "--jobs", "2"), "stdin is none"),
        (("run", "a.csv", "--jobs", "2", "--window", "9"), "--jobs does not go with these counts"),
    ],
)
def test_usage(cli, arguments, reason):
    """A wrong command line exits with 2 and says what was expected, before anything is read."""
    result = cli(*arguments)

    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("stream-metrics: ")
    assert reason in result.err


def test_sniffed_formats_may_not_differ(cli, tmp_path):
    """Formats found by the first line are held to the same rule as those of the extensions."""
    (tmp_path / "a").write_bytes(GOOD)
    (tmp_path / "b").write_bytes(HEAD)

    result = cli("run", tmp_path / "a", tmp_path / "b")

    assert (result.status, result.out) == (2, "")
    assert "their labels differ in type" in result.err


def test_state_file_is_checked_before_counting(cli, tmp_path):
    """A target that is a folder, or lies in none, is refused before anything is read."""
    for target in (tmp_path, tmp_path / "none" / "state"):
        result = cli("run", "-", "--state", target, stdin=b"rubbish")

        assert result.status == 1
        assert result.err.startswith(f"stream-metrics: {target}: ")


def test_resume_from_what_is_no_state(cli, tmp_path):
    """--resume of a missing or foreign file is named."""
    (tmp_path / "foreign").write_bytes(b"PK not a state")
    for name in ("missing", "foreign"):
        result = cli("run", "-", "--resume", tmp_path / name, stdin=GOOD)

        assert (result.status, result.out) == (1, "")
        assert result.err.startswith(f"stream-metrics: {tmp_path / name}: ")


def test_soft_prediction(cli):
    """A mapping of scores as the prediction counts as its largest."""
    result = cli("run", "-", "--format", "json", stdin=b'{"y_true": "a", "y_pred": {"a": 0.7, "b": 0.3}}\n' + GOOD)

    assert (result.status, json.loads(result.out)["metrics"]["accuracy"]) == (0, 1.0)


def test_label_that_the_terminal_cannot_show(cli, tmp_path):
    """A lone surrogate is a label like any other."""
    data = b'{"y_true": "\\ud800", "y_pred": "\\ud800"}\n'

    result = cli("run", "-", "--state", tmp_path / "s", stdin=data)

    assert result.status == 0
    assert sm.from_bytes((tmp_path / "s").read_bytes()).snapshot().labels == ("\ud800",)


def test_patterns_and_folders(cli, tmp_path):
    """A pattern or a folder counts its files; one without files is an error, and so is packed Parquet."""
    folder = tmp_path / "day"
    folder.mkdir()
    for name in ("part-0.jsonl", "part-1.jsonl", "_part-2.jsonl", "notes.txt"):
        (folder / name).write_bytes(GOOD * 3)
    (tmp_path / "empty").mkdir()
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"PAR1" + GOOD))

    for path in (folder / "part-*", folder, tmp_path / "d*"):
        assert json.loads(cli("run", path, "--format", "json").out)["n"] == 6
    for path, reason in {
        "none-*": "no file is named so",
        "empty": "no file in it ends in",
        "packed.gz": "is Parquet",
    }.items():
        result = cli("run", tmp_path / path)
        assert (result.status, result.out) == (1, "")
        assert reason in result.err


@pytest.mark.parametrize("flag", ["--state", "--plot"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_no_output_replaces_an_input(cli, tmp_path, flag, jobs):
    """An output that is an input, whatever it is called, is refused, and the input is as it was."""
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    path, link, other = tmp_path / "a.png", tmp_path / "b.png", tmp_path / "c.csv"
    path.write_bytes(HEAD)
    other.write_bytes(HEAD)
    link.symlink_to(path)

    for target in (path, link, tmp_path / ".." / tmp_path.name / "a.png"):
        result = cli("run", other, path, flag, target, "--jobs", jobs, "--input", "csv")
        assert (result.status, result.out) == (2, "")
        assert "is read and would be overwritten" in result.err
    assert path.read_bytes() == HEAD


def test_a_file_is_counted_once(cli, tmp_path):
    """The same file twice, also by a link or a pattern, is refused."""
    path, link = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(GOOD)
    link.symlink_to(path)

    for paths in ((path, path), (path, link), (tmp_path / "a*", path), (tmp_path,)):
        result = cli("run", *paths)
        assert (result.status, result.out) == (2, "")
        assert "is the same file as" in result.err


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'[{"y_true": "a"},\n', "each line has to be one object, as jq -c '.[]' writes them"),
        (b'[{"y_true": "a", "y_pred": "a"}]\n', "each line has to be one object, as jq -c '.[]' writes them"),
        (b'{\n"y_true": "a"}\n', "each line has to be one object, as jq -c . writes them"),
        (b"\x00\x01\x02\n", "the file is binary data"),
        (b"caf\xe9,y_pred\n", "byte 0xe9 at column 4; save the file as UTF-8"),
    ],
)
def test_input_that_is_nearly_right(cli, data, reason):
    """The message says how to make records of it."""
    result = cli("run", "-", stdin=data)

    assert (result.status, result.out) == (1, "")
    assert reason in result.err


@pytest.mark.parametrize("command", ["run", "monitor"])
def test_closed_stdin(command, capsys, monkeypatch):
    """A process may have no stdin."""
    monkeypatch.setattr("sys.stdin", None)

    assert main([command, "-"]) == 1
    assert capsys.readouterr() == ("", "stream-metrics: stdin: is closed\n")
