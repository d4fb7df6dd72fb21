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
    """By the first bytes, from files of any name, and from stdin; also several streams in one file."""
    packed = compress(suffix, CSV)
    for name in (f"a.csv.{suffix}", "a.csv", "a"):
        (tmp_path / name).write_bytes(packed)
        assert json.loads(cli("run", tmp_path / name, "--format", "json").out)["n"] == 3
    lines = compress(suffix, JSONL[: len(JSONL) // 3]) + compress(suffix, JSONL[len(JSONL) // 3 :])
    assert json.loads(cli("run", "-", "--format", "json", stdin=lines).out)["n"] == 3
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / f"a.jsonl.{suffix}").write_bytes(compress(suffix, JSONL))
    assert json.loads(cli("run", tmp_path / "part", "--format", "json").out)["n"] == 3


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_compressed_input(cli, tmp_path, suffix, damage):
    """An incomplete or changed file is an error, and nothing is printed."""
    packed = compress(suffix, b"y_true,y_pred\n" + b"".join(b"%d,%d\n" % (i * i, i) for i in range(3000)))
    middle = len(packed) // 2
    packed = packed[:-20] if damage == "cut" else packed[:middle] + b"\xff" * 9 + packed[middle + 9 :]
    (tmp_path / "a.csv").write_bytes(packed)

    result = cli("run", tmp_path / "a.csv")

    assert (result.status, result.out) == (1, "")
    assert result.err.startswith(f"stream-metrics: {tmp_path / 'a.csv'}")
    assert result.err.count("\n") == 1


def test_zstd_without_its_package(cli, monkeypatch):
    """The error says what to install."""
    for name in ("compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)

    result = cli("run", "-", stdin=b"\x28\xb5\x2f\xfd rest")

    assert (result.status, result.out) == (2, "")
    assert 'pip install "stream-metrics[zstd]"' in result.err


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"PAR1 and more", "Parquet"),
        (b"PK\x03\x04 and more", "zip archive"),
        (b"\x93NUMPY\x01\x00", "NumPy array"),
        (b"SQLite format 3\x00", "SQLite database"),
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        ("y_true,y_pred\na,b\n".encode("utf-16"), "UTF-16 text: save it as UTF-8"),
        (sm.MetricSet().to_bytes(), "a saved state: 'stream-metrics show' prints it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_of_another_kind_are_named(cli, data, kind):
    """What a file is, if its first bytes tell."""
    for given in (data, gzip.compress(data)):
        result = cli("run", "-", stdin=given)

        assert (result.status, result.out) == (1, "")
        assert result.err.startswith("stream-metrics: stdin: expected JSON Lines or CSV, but the file is ")
        assert kind in result.err
        assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "header",
    [
        "y_true{}y_pred{}w",
        '"y_true"{}y_pred{}w',
        '"a, b; c"{}y_true{}w{}y_pred',
        '"a;b;c;d;e"{}y_true{}w{}y_pred',
        '"a\t""b\t"{}"y_true"{}"w"{}y_pred',
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiter_is_told_by_the_header(cli, tmp_path, header, delimiter):
    """A comma, a semicolon or a tab separates columns; quoted ones are no delimiters."""
    names = header.replace("{}", delimiter)
    row = ["a", "b", "2"] if header.count("{}") == 2 else ["x", "a", "2", "b"]
    (tmp_path / "a.csv").write_text(f"\n{names}\n{delimiter.join(row)}\n")

    for more in ((), ("--delimiter", delimiter)):
        result = cli("run", tmp_path / "a.csv", "--weight", "w", "--format", "json", *more)
        data = json.loads(result.out)
        assert (data["n"], data["labels"], data["weight"]) == (1, ["a", "b"], 2)


@pytest.mark.parametrize(("named", "character"), [("|", "|"), ("tab", "\t"), ("\\t", "\t"), (":", ":")])
def test_delimiter_is_given(cli, named, character):
    """--delimiter is any character, or a word for the tab; it holds for each file and process."""
    result = cli("run", "-", "--delimiter", named, "--format", "json", stdin=CSV.replace(b",", character.encode()))

    assert json.loads(result.out)["n"] == 3


@pytest.mark.parametrize("text", ["", "ab", '"', "\n"])
def test_wrong_delimiter(cli, text):
    """What cannot separate columns is refused."""
    result = cli("run", "-", "--delimiter", text, stdin=CSV)

    assert (result.status, result.out) == (2, "")
    assert "expected one character or 'tab'" in result.err


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


@pytest.mark.parametrize("flag", ["--scores", "--weight", "--by", "--time-field", "--intervals"])
def test_a_file_is_no_argument_of_a_flag(cli, flag):
    """A file after a flag whose argument may be left out would be taken for it."""
    result = cli("run", flag, "a.jsonl.zst")

    assert (result.status, result.out) == (2, "")
    assert "'a.jsonl.zst' is a file, not a" in result.err
    assert "put files before this option" in result.err


@pytest.mark.parametrize("jobs", [1, 2])
def test_skipping_all_records_is_an_error(cli, tmp_path, jobs):
    """--skip-bad with nothing good left reports the bad records, prints and saves nothing, and has status 1."""
    paths = [tmp_path / f"{name}.csv" for name in "ab"]
    for path in paths:
        path.write_bytes(b"y_true,y_pred\n,a\n,b\n")

    result = cli("run", *paths, "--skip-bad", "--jobs", jobs, "--state", tmp_path / "state")

    assert (result.status, result.out, (tmp_path / "state").exists()) == (1, "", False)
    assert "skipped 4 bad records" in result.err
    assert result.err.endswith("\nstream-metrics: no record could be counted\n")


def test_one_good_record_is_enough_to_skip_others(cli):
    """Also if that is an abstention."""
    result = cli("run", "-", "--skip-bad", stdin=b"y_true,y_pred\n,a\na,\n")

    assert result.status == 0
    assert "skipped 1 bad record\n" in result.err
