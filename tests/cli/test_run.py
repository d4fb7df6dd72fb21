"""``stream-metrics run``: formats, configuration, running values, states."""

from __future__ import annotations

import gzip
import json
import os
import random

import pytest

import stream_metrics as sm

pytestmark = pytest.mark.quick

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


SPELLINGS = [
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
]


def test_every_format_gives_the_same_counts(cli, tmp_path):
    """JSON Lines and CSV in all their spellings, from files and stdin, count the same records."""
    expected = sm.MetricSet()
    expected.update_many(["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", None])
    failures = []
    for name, data in SPELLINGS:
        for source in (written(tmp_path, name, data), *(["-"] if name != "blank.jsonl" else [])):
            result = cli("run", source, "--state", tmp_path / "state", "--format", "json", stdin=data)

            same = expected.to_bytes() == (tmp_path / "state").read_bytes()
            shown = json.loads(expected.snapshot().to_json()) == json.loads(result.out)
            failures += [] if (result.status, result.err, same, shown) == (0, "", True, True) else [(name, result)]
    assert not failures
    assert f"{expected.snapshot()}\n" == cli("run", "-", stdin=CSV).out


def test_declared_format_beats_the_extension(cli, tmp_path):
    """--input overrides what the name says."""
    result = cli("run", written(tmp_path, "a.csv", JSONL), "--input", "jsonl")

    assert result.status == 0


def test_empty_stream_gives_the_empty_report(cli):
    """No records are no error."""
    for data in (b"", b"\n", b"y_true,y_pred\n"):
        assert cli("run", "-", stdin=data) == (0, f"{sm.MetricSet().snapshot()}\n", "")


def test_types_of_labels(cli, tmp_path):
    """JSON keeps the type of a label; a CSV value is text."""
    as_json = cli("run", "-", "--state", tmp_path / "a", stdin=pairs_as_jsonl([(1, 1), (2.0, True)]))
    as_csv = cli("run", "-", "--state", tmp_path / "b", stdin=b"y_true,y_pred\n1,1\n2.5,true\n")

    assert (as_json.status, as_csv.status) == (0, 0)
    assert sm.from_bytes((tmp_path / "a").read_bytes()).snapshot().labels == (True, 2.0)
    assert sm.from_bytes((tmp_path / "b").read_bytes()).snapshot().labels == ("1", "2.5", "true")


def test_nested_fields(cli):
    """A dotted name walks into objects; a plain key with that dot wins."""
    data = b'{"payload": {"t": "a"}, "p": "a"}\n{"payload": {"t": "a"}, "payload.t": "b", "p": "b"}\n'

    result = cli("run", "-", "--true", "payload.t", "--pred", "p", "--format", "json", stdin=data)

    assert json.loads(result.out)["confusion_matrix"] == [[1, 0], [0, 1]]


def test_weights(cli):
    """--weight names the field of the weight; whole numbers and fractions count exactly."""
    lines = b'{"y_true":"a","y_pred":"a","w":2}\n{"y_true":"a","y_pred":"b","w":0.5}\n'
    for data in (b"y_true,y_pred,w\na,a,2\na,b,0.5\n", lines):
        result = json.loads(cli("run", "-", "--weight", "w", "--format", "json", stdin=data).out)

        assert (result["n"], result["weight"], result["metrics"]["accuracy"]) == (2, 2.5, 0.8)


def test_several_files_are_one_stream(cli, tmp_path):
    """All files go into one state."""
    first, second = written(tmp_path, "a.csv", CSV), written(tmp_path, "b.csv.gz", gzip.compress(CSV))

    assert json.loads(cli("run", first, second, "--format", "json").out)["n"] == 6


@pytest.mark.usefixtures("small_pieces")
def test_chunks_do_not_show(cli, tmp_path):
    """Chunks of any size, running values or not, give the bytes of one process."""
    draw = random.Random(1)
    pairs = [(draw.randrange(4), draw.choice([0, 1, 2, 3, None])) for _ in range(100)]
    expected = sm.MetricSet()
    for truth, answer in pairs:
        expected.update(truth, answer)

    for options in ([], ["--every", 10], ["--every", 3]):
        assert cli("run", "-", *options, "--state", tmp_path / "s", stdin=pairs_as_jsonl(pairs)).status == 0
        assert expected.to_bytes() == (tmp_path / "s").read_bytes()


def test_running_values(cli):
    """--every prints a header and a line for every N records before the report; in JSON each line is an object."""
    data = pairs_as_jsonl([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("a", "a")])
    table = cli("run", "-", "--every", 2, "--metrics", "accuracy", stdin=data)
    as_json = cli("run", "-", "--every", 2, "--format", "json", "--zero-division", "nan", stdin=data)
    per_class = cli("run", "-", "--every", 1, "--metrics", "recall", stdin=CSV)

    assert [line.split() for line in table.out.splitlines()[:3]] == [
        ["n", "accuracy"],
        ["2", "0.5000"],
        ["4", "0.7500"],
    ]
    lines = [json.loads(line) for line in as_json.out.splitlines()]
    assert [line["n"] for line in lines] == [2, 4, 5]
    assert (lines[0]["accuracy"], lines[-1]["metrics"]["accuracy"]) == (0.5, 0.8)
    assert (per_class.status, per_class.out, "--every" in per_class.err) == (2, "", True)


def test_metrics_limit_the_output(cli, tmp_path):
    """--metrics keeps the named keys, whole-matrix and per-class; the state has all."""
    result = cli("run", "-", "--metrics", "accuracy,recall", "--format", "json", "--state", tmp_path / "a", stdin=CSV)
    cli("run", "-", "--state", tmp_path / "b", stdin=CSV)

    data = json.loads(result.out)
    assert ({"accuracy"}, {"recall"}) == (set(data["metrics"]), set(data["per_class"]))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_fixed_labels(cli, tmp_path):
    """--labels fixes classes and their order, absent ones too; JSON keeps their types; others are refused or folded."""
    names = json.loads(cli("run", "-", "--labels", "dog,cat,emu", "--format", "json", stdin=CSV).out)
    numbers = cli("run", "-", "--labels", "[1, 0]", "--format", "json", stdin=pairs_as_jsonl([(0, 1)]))
    path = written(tmp_path, "a.csv", CSV)
    refused = cli("run", path, "--labels", "cat,emu")
    counted = cli("run", path, "--labels", "cat,emu", "--other", "rest", "--format", "json")

    assert names["labels"] == ["dog", "cat", "emu"]
    assert (numbers.status, json.loads(numbers.out)["labels"]) == (0, ["1", "0"])
    assert (refused.status, f"stream-metrics: {path}, line 3: " in refused.err) == (1, True)
    assert (counted.status, json.loads(counted.out)["n"]) == (0, 3)


def test_zero_division(cli):
    """--zero-division decides what stands for 0/0; JSON writes nan as null."""
    for option, expected in (("0", 0.0), ("1", 1.0), ("nan", None)):
        result = cli("run", "-", "--zero-division", option, "--format", "json", stdin=b"")
        assert expected == json.loads(result.out)["metrics"]["accuracy"]


def test_resume_goes_on(cli, tmp_path):
    """Two runs joined by a state file leave the bytes of one run; the state brings its configuration."""
    state, whole = tmp_path / "s", tmp_path / "whole"
    cli("run", "-", "--state", state, "--zero-division", 1, stdin=CSV)
    cli("run", "-", "--resume", state, "--state", state, stdin=CSV)
    cli("run", "-", "--state", whole, "--zero-division", 1, stdin=CSV + CSV.split(b"\n", 1)[1])

    assert whole.read_bytes() == state.read_bytes()
    for option in (("--labels", "a"), ("--other", "x"), ("--zero-division", "0")):
        result = cli("run", "-", "--resume", state, *option)
        assert (result.status, "--resume" in result.err) == (2, True)


def test_state_is_replaced_whole_or_not_at_all(cli, tmp_path, monkeypatch):
    """A failing save leaves the old state and no temporary file."""

    def full(*arguments):
        raise OSError(28, "No space left on device")

    path = written(tmp_path, "state", b"old")
    monkeypatch.setattr(os, "replace", full)

    result = cli("run", "-", "--state", path, stdin=CSV)

    assert (1, f"stream-metrics: {path}: No space left on device\n") == (result.status, result.err)
    assert (b"old", [path]) == (path.read_bytes(), list(tmp_path.iterdir()))
