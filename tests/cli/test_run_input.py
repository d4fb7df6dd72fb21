"""The input of ``stream-metrics run``: compression, delimiters, names of fields, and files that are something else."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import sys
from typing import Any

import pytest

import stream_metrics as sm

CSV = b"y_true,y_pred\ncat,cat\ncat,dog\ndog,dog\n"
JSONL = b"".join(
    json.dumps({"y_true": truth, "y_pred": predicted}).encode() + b"\n" for truth, predicted in ("aa", "ab", "bb")
)


def zstd() -> Any:
    """Return the module of zstd of this Python, or skip."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return pytest.skip("neither compression.zstd nor zstandard is installed")


def compress(suffix: str, data: bytes) -> bytes:
    """Return data as files with this suffix have them."""
    if suffix == "zst":
        return bytes(zstd().compress(data))
    return {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[suffix](data)


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_compressed_input_is_recognised(cli, tmp_path, suffix):
    """By the first bytes, from files of any name, and from stdin; also several streams in one; damage is an error."""
    packed = compress(suffix, CSV)
    for name in (f"a.csv.{suffix}", "a.csv", "a"):
        (tmp_path / name).write_bytes(packed)
        assert json.loads(cli("run", tmp_path / name, "--format", "json").out)["n"] == 3
    lines = compress(suffix, JSONL[: len(JSONL) // 3]) + compress(suffix, JSONL[len(JSONL) // 3 :])
    assert json.loads(cli("run", "-", "--format", "json", stdin=lines).out)["n"] == 3
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / f"a.jsonl.{suffix}").write_bytes(compress(suffix, JSONL))
    assert json.loads(cli("run", tmp_path / "part", "--format", "json").out)["n"] == 3

    whole = compress(suffix, b"y_true,y_pred\n" + b"".join(b"%d,%d\n" % (i * i, i) for i in range(3000)))
    middle = len(whole) // 2
    for damaged in (whole[:-20], whole[:middle] + b"\xff" * 9 + whole[middle + 9 :]):
        (tmp_path / "a.csv").write_bytes(damaged)
        result = cli("run", tmp_path / "a.csv")

        assert (result.status, result.out, result.err.count("\n")) == (1, "", 1)
        assert result.err.startswith(f"stream-metrics: {tmp_path / 'a.csv'}")


def test_missing_packages(cli, tmp_path, monkeypatch):
    """The error says what to install."""
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for name in ("compression.zstd", "zstandard", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "stream_metrics.cli.tables", raising=False)

    packed = cli("run", "-", stdin=b"\x28\xb5\x2f\xfd rest")
    for extra, result in (("zstd", packed), ("parquet", cli("run", tmp_path / "a.parquet"))):
        assert (result.status, result.out) == (2, "")
        assert f'pip install "stream-metrics[{extra}]"' in result.err


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
def test_files_of_another_kind_are_named(cli):
    """What a file is, if its first bytes tell, packed or not."""
    for kind, data in FOREIGN.items():
        for given in (data, gzip.compress(data)):
            result = cli("run", "-", stdin=given)

            assert (result.status, result.out, result.err.count("\n")) == (1, "", 1)
            assert result.err.startswith("stream-metrics: stdin: expected JSON Lines or CSV, but the file is ")
            assert kind in result.err


HEADERS = (
    "y_true{}y_pred{}w",
    '"y_true"{}y_pred{}w',
    '"a, b; c"{}y_true{}w{}y_pred',
    '"a;b;c;d;e"{}y_true{}w{}y_pred',
    '"a\t""b\t"{}"y_true"{}"w"{}y_pred',
)


@pytest.mark.quick
def test_delimiters(cli, tmp_path):
    """The header tells a comma, a semicolon or a tab, quoted ones aside; --delimiter is any character, or a word."""
    failures = []
    for header in HEADERS:
        for delimiter in ",;\t":
            row = ["a", "b", "2"] if header.count("{}") == 2 else ["x", "a", "2", "b"]
            (tmp_path / "a.csv").write_text(f"\n{header.replace('{}', delimiter)}\n{delimiter.join(row)}\n")
            for more in ((), ("--delimiter", delimiter)):
                data = json.loads(cli("run", tmp_path / "a.csv", "--weight", "w", "--format", "json", *more).out)
                right = (data["n"], data["labels"], data["weight"]) == (1, ["a", "b"], 2)
                failures += [] if right else [(header, delimiter, more)]
    assert not failures
    for named, character in (("|", b"|"), ("tab", b"\t"), ("\\t", b"\t"), (":", b":")):
        result = cli("run", "-", "--delimiter", named, "--format", "json", stdin=CSV.replace(b",", character))
        assert json.loads(result.out)["n"] == 3, named


def test_delimiter_is_of_csv(cli, tmp_path):
    """It is refused where there are no columns, by name or by the first line."""
    (tmp_path / "a.jsonl").write_bytes(JSONL)

    for arguments in ((tmp_path / "a.jsonl",), ("-",)):
        result = cli("run", *arguments, "--delimiter", ";", stdin=JSONL)
        assert (result.status, result.out) == (2, "")
        assert "--delimiter is of CSV, but" in result.err


def test_missing_column_names_what_there_is(cli):
    """The columns, what separates them, and the flag that names the right one."""
    result = cli("run", "-", stdin=b"label;guess\na;b\n")

    assert result.err == (
        "stream-metrics: stdin, line 1: column 'y_true' is not in the header, which has 'label', 'guess', separated by "
        "semicolons; --true FIELD names the truth\n"
    )


def test_spellings_of_fields(cli):
    """The truth and the prediction may have the names that a monitor's events have had; the first spelling wins."""
    line = b'{"truth": "a", "prediction": "b", "id": 7, "time": 1700000000}\n'
    both = b'{"truth": "x", "prediction": "x", "y_true": "a", "y_pred": "b"}\n'

    for data in (line, both, b"truth,prediction\na,b\n", b"truth,y_pred,prediction,y_true\nx,b,x,a\n"):
        result = json.loads(cli("run", "-", "--format", "json", stdin=data).out)
        assert (result["labels"], result["confusion_matrix"]) == (["a", "b"], [[0, 1], [0, 0]])
    chosen = cli("run", "-", "--true", "label", stdin=line)
    assert (chosen.status, "no field 'label'" in chosen.err) == (1, True)


def test_names_of_fields_are_defaults(cli):
    """--weight, --by, --time-field and --scores without a name read weight, group, time and scores."""
    record = {"y_true": "a", "scores": {"a": 0.7, "b": 0.3}, "weight": 3, "group": "x", "time": 1_700_000_000}
    flags = ("--scores", "--weight", "--by", "--time-field", "--window", "5m", "--format", "json")

    data = json.loads(cli("run", "-", *flags, stdin=json.dumps(record).encode()).out)

    assert list(data["groups"]) == ["x"]
    assert data["groups"]["x"]["weight"] == 3
    assert data["groups"]["x"]["metrics"]["log_loss"] > 0
