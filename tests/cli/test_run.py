"""``stream-metrics run``: formats, configuration, running values, states."""

from __future__ import annotations

import gzip
import io
import json
import os
import random

import pytest

import stream_metrics as sm
from stream_metrics.cli import counting, files
from stream_metrics.cli.progress import Progress

JSONL = b"""{"y_true": "cat", "y_pred": "cat"}
{"y_true": "cat", "y_pred": "dog"}
{"y_true": "dog", "y_pred": "dog"}
{"y_true": "dog", "y_pred": null}
"""
CSV = b"""y_true,y_pred
cat,cat
cat,dog
dog,dog
dog,
"""


def written(folder, name, data):
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(data)
    return path


def pairs_as_jsonl(pairs):
    """Return pairs as JSON Lines."""
    return "".join(json.dumps({"y_true": truth, "y_pred": answer}) + "\n" for truth, answer in pairs).encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", JSONL),
        ("a.csv", CSV),
        ("a.ndjson", JSONL.replace(b"\n", b"\r\n")),
        ("crlf.csv", CSV.replace(b"\n", b"\r\n")),
        ("bom.csv", b"\xef\xbb\xbf" + CSV),
        ("bom.jsonl", b"\xef\xbb\xbf" + JSONL),
        ("sniffed.log", JSONL),
        ("sniffed.txt", CSV),
        ("packed.csv.gz", gzip.compress(CSV)),
        ("packed.jsonl.gz", gzip.compress(JSONL)),
        ("blank.jsonl", b"\n" + JSONL.replace(b"\n", b"\n\n")),
        ("blank.csv", CSV.replace(b"\n", b"\n\n")),
        ("unended.csv", CSV.rstrip(b"\n")),
        ("quoted.csv", CSV.replace(b"cat", b'"cat"')),
        ("reordered.csv", b"id,y_pred,y_true\n1,cat,cat\n2,dog,cat\n3,dog,dog\n4,,dog\n"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_format_gives_the_same_counts(cli, tmp_path, name, data):
    """JSON Lines and CSV in all their spellings count the same records."""
    state = tmp_path / "state"
    expected = sm.MetricSet()
    expected.update_many(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", None])

    result = cli("run", written(tmp_path, name, data), "--state", state, "--format", "json")

    assert (result.status, result.err) == (0, "")
    assert expected.to_bytes() == state.read_bytes()
    assert json.loads(expected.snapshot().to_json()) == json.loads(result.out)


@pytest.mark.parametrize("data", [JSONL, CSV])
def test_stdin_is_sniffed(cli, data):
    """The first line of stdin tells JSON Lines from CSV."""
    result = cli("run", "-", "--format", "json", stdin=data)

    assert (result.status, json.loads(result.out)["n"], json.loads(result.out)["abstained"]) == (0, 3, 1)


def test_declared_format_beats_the_extension(cli, tmp_path):
    """--input overrides what the name says."""
    result = cli("run", written(tmp_path, "a.csv", JSONL), "--input", "jsonl")

    assert result.status == 0


def test_table_is_the_report(cli, tmp_path):
    """Without --format the report of the snapshot is printed."""
    state = sm.MetricSet()
    state.update_many(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", None])

    assert f"{state.snapshot()}\n" == cli("run", written(tmp_path, "a.csv", CSV)).out


@pytest.mark.parametrize("data", [b"", b"\n", b"y_true,y_pred\n"])
def test_empty_stream_gives_the_empty_report(cli, data):
    """No records are no error."""
    result = cli("run", "-", stdin=data)

    assert (0, f"{sm.MetricSet().snapshot()}\n") == (result.status, result.out)


def test_types_of_labels(cli, tmp_path):
    """JSON keeps the type of a label; a CSV value is text."""
    as_json = cli("run", "-", "--state", tmp_path / "a", stdin=pairs_as_jsonl([(1, 1), (2.0, True)]))
    as_csv = cli("run", "-", "--state", tmp_path / "b", stdin=b"y_true,y_pred\n1,1\n2.5,true\n")

    assert (as_json.status, as_csv.status) == (0, 0)
    assert files.load(str(tmp_path / "a")).snapshot().labels == (True, 2.0)
    assert files.load(str(tmp_path / "b")).snapshot().labels == ("1", "2.5", "true")


def test_nested_fields(cli):
    """A dotted name walks into objects; a plain key with that dot wins."""
    data = b'{"payload": {"t": "a"}, "p": "a"}\n{"payload": {"t": "a"}, "payload.t": "b", "p": "b"}\n'

    result = cli("run", "-", "--true", "payload.t", "--pred", "p", "--format", "json", stdin=data)

    assert json.loads(result.out)["confusion_matrix"] == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "data",
    [
        b"y_true,y_pred,w\na,a,2\na,b,0.5\n",
        b'{"y_true":"a","y_pred":"a","w":2}\n{"y_true":"a","y_pred":"b","w":0.5}\n',
    ],
)
def test_weights(cli, data):
    """--weight names the field of the weight; whole numbers and fractions count exactly."""
    result = json.loads(cli("run", "-", "--weight", "w", "--format", "json", stdin=data).out)

    assert (result["n"], result["weight"], result["metrics"]["accuracy"]) == (2, 2.5, 0.8)


def test_several_files_are_one_stream(cli, tmp_path):
    """All files go into one state."""
    first, second = written(tmp_path, "a.csv", CSV), written(tmp_path, "b.csv.gz", gzip.compress(CSV))

    assert json.loads(cli("run", first, second, "--format", "json").out)["n"] == 6


def test_chunks_do_not_show(cli, tmp_path, monkeypatch):
    """Chunks of any size, running values or not, give the bytes of one process."""
    monkeypatch.setattr(counting, "CHUNK", 7)
    draw = random.Random(1)
    pairs = [(draw.randrange(4), draw.choice([0, 1, 2, 3, None])) for _ in range(100)]
    expected = sm.MetricSet()
    for truth, answer in pairs:
        expected.update(truth, answer)

    for options in ([], ["--every", 10], ["--every", 3]):
        assert cli("run", "-", *options, "--state", tmp_path / "s", stdin=pairs_as_jsonl(pairs)).status == 0
        assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_every_prints_running_values(cli):
    """--every prints a header and one line per N records, before the report."""
    pairs = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("a", "a")]
    result = cli("run", "-", "--every", 2, "--metrics", "accuracy", stdin=pairs_as_jsonl(pairs))

    lines = [line.split() for line in result.out.splitlines()[:3]]

    assert lines == [["n", "accuracy"], ["2", "0.5000"], ["4", "0.7500"]]


def test_every_in_json_is_one_object_a_line(cli):
    """With --every and --format json all of stdout is JSON Lines, the full result last."""
    pairs = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]
    result = cli("run", "-", "--every", 2, "--format", "json", "--zero-division", "nan", stdin=pairs_as_jsonl(pairs))

    lines = [json.loads(line) for line in result.out.splitlines()]

    assert [line["n"] for line in lines] == [2, 4, 4]
    assert lines[0]["accuracy"] == 0.5
    assert lines[-1]["metrics"]["accuracy"] == 0.75


def test_every_needs_a_metric_of_the_whole_matrix(cli):
    """Per-class metrics alone do not fit on a running line."""
    result = cli("run", "-", "--every", 1, "--metrics", "recall", stdin=CSV)

    assert (result.status, result.out) == (2, "")
    assert "--every" in result.err


def test_metrics_limit_the_output(cli):
    """--metrics keeps the named keys, whole-matrix and per-class."""
    result = json.loads(cli("run", "-", "--metrics", "accuracy,recall", "--format", "json", stdin=CSV).out)

    assert ({"accuracy"}, {"recall"}) == (set(result["metrics"]), set(result["per_class"]))


def test_metrics_do_not_limit_the_state(cli, tmp_path):
    """A state saved with --metrics merges with one saved without."""
    cli("run", "-", "--metrics", "accuracy", "--state", tmp_path / "a", stdin=CSV)
    cli("run", "-", "--state", tmp_path / "b", stdin=CSV)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_fixed_labels(cli):
    """--labels fixes classes and their order, absent ones too."""
    result = json.loads(cli("run", "-", "--labels", "dog,cat,emu", "--format", "json", stdin=CSV).out)

    assert result["labels"] == ["dog", "cat", "emu"]


def test_fixed_labels_with_types(cli):
    """A JSON list keeps the types of its labels."""
    result = cli("run", "-", "--labels", "[1, 0]", "--format", "json", stdin=pairs_as_jsonl([(0, 1)]))

    assert (result.status, json.loads(result.out)["labels"]) == (0, ["1", "0"])


def test_label_outside_the_set(cli, tmp_path):
    """A label outside --labels is an error at its line, or goes to --other."""
    path = written(tmp_path, "a.csv", CSV)
    refused = cli("run", path, "--labels", "cat,emu")
    counted = cli("run", path, "--labels", "cat,emu", "--other", "rest", "--format", "json")

    assert refused.status == 1
    assert f"stream-metrics: {path}, line 3: " in refused.err
    assert (counted.status, json.loads(counted.out)["n"]) == (0, 3)


@pytest.mark.parametrize(("option", "expected"), [("0", 0.0), ("1", 1.0), ("nan", None)])
def test_zero_division(cli, option, expected):
    """--zero-division decides what stands for 0/0; JSON writes nan as null."""
    result = cli("run", "-", "--zero-division", option, "--format", "json", stdin=b"")

    assert expected == json.loads(result.out)["metrics"]["accuracy"]


def test_resume_goes_on(cli, tmp_path):
    """Two runs joined by a state file leave the bytes of one run."""
    state, whole = tmp_path / "s", tmp_path / "whole"
    cli("run", "-", "--state", state, "--zero-division", 1, stdin=CSV)
    cli("run", "-", "--resume", state, "--state", state, stdin=CSV)
    cli("run", "-", "--state", whole, "--zero-division", 1, stdin=CSV + CSV.split(b"\n", 1)[1])

    assert whole.read_bytes() == state.read_bytes()


@pytest.mark.parametrize("option", [("--labels", "a"), ("--other", "x"), ("--zero-division", "0")])
def test_resume_brings_its_configuration(cli, option):
    """Configuration beside --resume is refused."""
    result = cli("run", "-", "--resume", "s", *option)

    assert result.status == 2
    assert "--resume" in result.err


def test_state_is_replaced_whole_or_not_at_all(cli, tmp_path, monkeypatch):
    """A failing save leaves the old state and no temporary file."""

    def full(*arguments):
        raise OSError(28, "No space left on device")

    path = written(tmp_path, "state", b"old")
    monkeypatch.setattr(os, "replace", full)

    result = cli("run", "-", "--state", path, stdin=CSV)

    assert (1, f"stream-metrics: {path}: No space left on device\n") == (result.status, result.err)
    assert (b"old", [path]) == (path.read_bytes(), list(tmp_path.iterdir()))


def test_progress_line_follows_the_clock():
    """A terminal gets a line at most four times a second, with share, rate and time left; clear removes it."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    now = [0.0]
    stream = Terminal()
    progress = Progress(lambda: (1000, 25), 100, stream=stream, clock=lambda: now[0])
    for now[0] in (0.1, 0.2, 2.0, 2.1):
        progress.tick()
    progress.clear()

    line = " 25% [######..................]  1 000 records  500/s  0:06 left"

    assert f"\r{line}\x1b[K" + "\r\x1b[K" == stream.getvalue()


def test_progress_is_silent_when_piped():
    """Without a terminal there is nothing to call and nothing is written."""
    stream = io.StringIO()
    progress = Progress(lambda: (1, 1), 1, stream=stream)
    progress.clear()

    assert (progress.tick, stream.getvalue()) == (None, "")
