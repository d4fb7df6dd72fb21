"""``stream-metrics run``: formats, names of fields, configuration, running values, states; what is something else."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import os
import random
import sys
from typing import Any

import pytest
from support.command_line import as_json_lines, counted, of_pairs, refusal, run_json, saved

import stream_metrics as sm

CSV = b"y_true,y_pred\ncat,cat\ncat,dog\ndog,dog\ndog,\n"
LABELS = ["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", None]


def pairs_as_jsonl(pairs):
    """Return pairs as JSON Lines."""
    return as_json_lines({"y_true": truth, "y_pred": answer} for truth, answer in pairs)


JSONL = pairs_as_jsonl(zip(*LABELS, strict=True))


def zstd(data: bytes) -> bytes:
    """Compress with the module of zstd of this Python, or skip."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return bytes(importlib.import_module(name).compress(data))
        except ImportError:
            continue
    return pytest.skip("neither compression.zstd nor backports.zstd is installed")


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


@pytest.mark.quick
def test_every_format_gives_the_same_counts(cli, tmp_path):
    """JSON Lines and CSV in all their spellings, from files and stdin, count the same records; several add up."""
    expected = counted(sm.MetricSet(), *LABELS)
    failures = []
    for name, data in SPELLINGS:
        (tmp_path / name).write_bytes(data)
        for source in (tmp_path / name, *(["-"] if name != "blank.jsonl" else [])):
            same = saved(source, stdin=data) == expected.to_bytes()
            shown = json.loads(expected.snapshot().to_json()) == run_json("run", source, stdin=data)
            failures += [] if same and shown else [(name, source)]
    assert not failures
    assert f"{expected.snapshot()}\n" == cli("run", "-", stdin=CSV).out
    assert run_json("run", tmp_path / "a.csv", tmp_path / "packed.csv.gz")["n"] == 6
    (tmp_path / "a.csv").write_bytes(JSONL)
    assert cli("run", tmp_path / "a.csv", "--input", "jsonl").status == 0


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_compressed_input_is_recognised(tmp_path, suffix):
    """By the first bytes, from files of any name, and from stdin; also several streams in one; damage is an error."""
    compress: Any = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}[suffix]
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / f"a.jsonl.{suffix}").write_bytes(compress(JSONL))
    for name in (f"a.csv.{suffix}", "a.csv", "a"):
        (tmp_path / name).write_bytes(compress(CSV))
        assert run_json("run", tmp_path / name)["n"] == 3
    streams = compress(JSONL[: len(JSONL) // 3]) + compress(JSONL[len(JSONL) // 3 :])
    assert run_json("run", "-", stdin=streams)["n"] == run_json("run", tmp_path / "part")["n"] == 3

    whole = compress(b"y_true,y_pred\n" + b"".join(b"%d,%d\n" % (i * i, i) for i in range(3000)))
    middle = len(whole) // 2
    for damaged in (whole[:-20], whole[:middle] + b"\xff" * 9 + whole[middle + 9 :]):
        (tmp_path / "a.csv").write_bytes(damaged)
        assert refusal("run", tmp_path / "a.csv").startswith(f"stream-metrics: {tmp_path / 'a.csv'}")


def test_missing_packages(tmp_path, monkeypatch):
    """The error says what to install."""
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for name in ("compression.zstd", "backports.zstd", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "stream_metrics.cli.tables", raising=False)

    for extra, path in (("zstd", "-"), ("parquet", tmp_path / "a.parquet")):
        said = refusal("run", path, status=2, stdin=b"\x28\xb5\x2f\xfd rest")
        assert f'pip install "stream-metrics[{extra}]"' in said


FOREIGN = {
    "Parquet": b"PAR1 and more",
    "zip archive": b"PK\x03\x04 and more",
    "NumPy array": b"\x93NUMPY\x01\x00",
    "SQLite database": b"SQLite format 3\x00",
    "PNG image": b"\x89PNG\r\n\x1a\n",
    "UTF-16 text: save it as UTF-8": "y_true,y_pred\na,b\n".encode("utf-16"),
    "a saved state: 'stream-metrics show' prints it": sm.MetricSet().to_bytes(),
}


@pytest.mark.quick
def test_files_of_another_kind_are_named():
    """What a file is, if its first bytes tell, packed or not."""
    for kind, data in FOREIGN.items():
        for given in (data, gzip.compress(data)):
            said = refusal("run", "-", stdin=given)
            assert said.startswith("stream-metrics: stdin: expected JSON Lines or CSV, but the file is ")
            assert kind in said


HEADERS = (
    "y_true{}y_pred{}w",
    '"y_true"{}y_pred{}w',
    '"a, b; c"{}y_true{}w{}y_pred',
    '"a;b;c;d;e"{}y_true{}w{}y_pred',
    '"a\t""b\t"{}"y_true"{}"w"{}y_pred',
)


@pytest.mark.quick
def test_delimiters(tmp_path):
    """The header tells a comma, a semicolon or a tab, quoted ones aside; --delimiter is any character, or a word."""
    failures = []
    for header in HEADERS:
        for delimiter in ",;\t":
            row = ["a", "b", "2"] if header.count("{}") == 2 else ["x", "a", "2", "b"]
            (tmp_path / "a.csv").write_text(f"\n{header.replace('{}', delimiter)}\n{delimiter.join(row)}\n")
            for more in ((), ("--delimiter", delimiter)):
                data = run_json("run", tmp_path / "a.csv", "--weight", "w", *more)
                right = (data["n"], data["labels"], data["weight"]) == (1, ["a", "b"], 2)
                failures += [] if right else [(header, delimiter, more)]
    assert not failures
    for named, character in (("|", b"|"), ("tab", b"\t"), ("\\t", b"\t"), (":", b":")):
        assert run_json("run", "-", "--delimiter", named, stdin=CSV.replace(b",", character))["n"] == 3, named
    (tmp_path / "a.jsonl").write_bytes(JSONL)
    for source in (tmp_path / "a.jsonl", "-"):
        said = refusal("run", source, "--delimiter", ";", status=2, stdin=JSONL)
        assert "--delimiter is of CSV, but" in said


NAMED = [  # input, options, and the confusion matrix
    (b'{"truth": "a", "prediction": "b", "id": 7, "time": 1700000000}\n', "", [[0, 1], [0, 0]]),
    (b'{"truth": "x", "prediction": "x", "y_true": "a", "y_pred": "b"}\n', "", [[0, 1], [0, 0]]),
    (b"truth,prediction\na,b\n", "", [[0, 1], [0, 0]]),
    (b"truth,y_pred,prediction,y_true\nx,b,x,a\n", "", [[0, 1], [0, 0]]),
    (b'{"payload": {"t": "a"}, "p": "a"}\n{"payload": {"t": "a"}, "payload.t": "b", "p": "b"}\n',
     "--true payload.t --pred p", [[1, 0], [0, 1]]),
]  # fmt: skip


@pytest.mark.quick
def test_names_of_fields():
    """A monitor's events are read too, and y_true wins; a dotted name walks into objects; flags have defaults."""
    for data, options, matrix in NAMED:
        result = run_json("run", "-", *options.split(), stdin=data)
        assert (result["labels"], result["confusion_matrix"]) == (["a", "b"], matrix), data
    assert "no field 'label'" in refusal("run", "-", "--true", "label", stdin=NAMED[0][0])
    assert refusal("run", "-", stdin=b"label;guess\na;b\n") == (
        "stream-metrics: stdin, line 1: column 'y_true' is not in the header, which has 'label', 'guess', separated by "
        "semicolons; --true FIELD names the truth\n"
    )

    record = {"y_true": "a", "scores": {"a": 0.7, "b": 0.3}, "weight": 3, "group": "x", "time": 1_700_000_000}
    flags = ("--scores", "--weight", "--by", "--time-field", "--window", "5m")
    groups = run_json("run", "-", *flags, stdin=as_json_lines([record]))["groups"]
    assert (list(groups), groups["x"]["weight"], groups["x"]["metrics"]["log_loss"] > 0) == (["x"], 3, True)


@pytest.mark.quick
def test_values_of_fields(cli):
    """No records are no error, but a CSV has a header; JSON keeps the type of a label; weights count exactly."""
    assert cli("run", "-", "--input", "csv", stdin=b"\n").err.endswith("expected a header, but the CSV is empty\n")
    for data in (b"", b"\n", b"y_true,y_pred\n"):
        assert cli("run", "-", stdin=data) == (0, f"{sm.MetricSet().snapshot()}\n", "")
    scored = f"{sm.MetricSet(scores=True).snapshot()}\n"
    assert cli("run", "-", "--scores", "p_*", "--input", "csv", stdin=b"y_true,p_a\n") == (0, scored, "")
    for data, labels in (
        (pairs_as_jsonl([(1, 1), (2.0, True)]), (True, 2.0)),
        (b"y_true,y_pred\n1,1\n2.5,true\n", ("1", "2.5", "true")),
    ):
        assert sm.from_bytes(saved("-", stdin=data)).snapshot().labels == labels
    lines = b'{"y_true":"a","y_pred":"a","w":2}\n{"y_true":"a","y_pred":"b","w":0.5}\n'
    for data in (b"y_true,y_pred,w\na,a,2\na,b,0.5\n", lines):
        result = run_json("run", "-", "--weight", "w", stdin=data)
        assert (result["n"], result["weight"], result["metrics"]["accuracy"]) == (2, 2.5, 0.8)


@pytest.mark.quick
@pytest.mark.usefixtures("small_pieces")
def test_running_values(cli):
    """--every prints a header and a line for every N records, objects in JSON; chunks and lines change no byte."""
    draw = random.Random(1)
    pairs = [(draw.randrange(4), draw.choice([0, 1, 2, 3, None])) for _ in range(100)]
    for options in ([], ["--every", 10], ["--every", 3]):
        assert saved("-", *options, stdin=pairs_as_jsonl(pairs)) == of_pairs(pairs)
    data = pairs_as_jsonl([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("a", "a")])
    table = cli("run", "-", "--every", 2, "--metrics", "accuracy", stdin=data)
    as_json = cli("run", "-", "--every", 2, "--format", "json", "--zero-division", "nan", stdin=data)

    assert [line.split() for line in table.out.split("\n")[:3]] == [["n", "accuracy"], ["2", "0.5000"], ["4", "0.7500"]]
    lines = [json.loads(line) for line in as_json.out.splitlines()]
    assert [line["n"] for line in lines] == [2, 4, 5]
    assert (lines[0]["accuracy"], lines[-1]["metrics"]["accuracy"]) == (0.5, 0.8)
    assert "--every" in refusal("run", "-", "--every", 1, "--metrics", "recall", status=2, stdin=CSV)


@pytest.mark.quick
def test_configuration(tmp_path):
    """--metrics limits what is printed, not the state; --labels fixes classes and order; 0/0 is --zero-division."""
    data = run_json("run", "-", "--metrics", "accuracy,recall", "--state", tmp_path / "a", stdin=CSV)
    assert ({"accuracy"}, {"recall"}) == (set(data["metrics"]), set(data["per_class"]))
    assert (tmp_path / "a").read_bytes() == saved("-", stdin=CSV)

    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    assert run_json("run", "-", "--labels", "dog,cat,emu", stdin=CSV)["labels"] == ["dog", "cat", "emu"]
    assert run_json("run", "-", "--labels", "[1, 0]", stdin=pairs_as_jsonl([(0, 1)]))["labels"] == ["1", "0"]
    assert run_json("run", path, "--labels", "cat,emu", "--other", "rest")["n"] == 3
    assert f"stream-metrics: {path}, line 3: " in refusal("run", path, "--labels", "cat,emu")

    for option, expected in (("0", 0.0), ("1", 1.0), ("nan", None)):
        assert run_json("run", "-", "--zero-division", option)["metrics"]["accuracy"] == expected


@pytest.mark.quick
def test_states(cli, tmp_path, monkeypatch):
    """A resumed state ends as that of one run and brings its configuration; a failing save leaves the old state."""
    state = tmp_path / "s"
    cli("run", "-", "--state", state, "--zero-division", 1, stdin=CSV)
    whole = saved("-", "--zero-division", 1, stdin=CSV + CSV.split(b"\n", 1)[1])
    assert saved("-", "--resume", state, stdin=CSV) == whole
    for option in (("--labels", "a"), ("--other", "x"), ("--zero-division", "0")):
        assert "--resume" in refusal("run", "-", "--resume", state, *option, status=2)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    old = state.read_bytes()
    monkeypatch.setattr(os, "replace", full)
    result = cli("run", "-", "--state", state, stdin=CSV)
    assert (1, f"stream-metrics: {state}: No space left on device\n") == (result.status, result.err)
    assert (old, [state]) == (state.read_bytes(), list(tmp_path.iterdir()))
