"""Large files of lines are cut into pieces for --jobs only where a record is sure to end."""

from __future__ import annotations

import csv
import io
import itertools
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.cli import plans, splitting
from stream_metrics.cli.counting import Skipped
from stream_metrics.cli.reading import Fields, rows
from stream_metrics.cli.scores import Classes
from stream_metrics.cli.sources import InputFile, open_input

FIELDS = Fields("y_true", "y_pred", None, None, Classes(None, None))


def records(file, form, lines=None, fields=FIELDS):
    """Return the records and the bad records of a file, or of a piece of it."""
    bad = []
    with open_input(file, form, lines) as source:
        return list(rows(source, fields, lambda *record: bad.append(record))), bad


def in_pieces(path, form, least, fields=FIELDS):
    """Return the records of a file in pieces, and how many these are; None if it is not cut."""
    file = InputFile(str(path))
    pieces = splitting.split_lines(file, form, fields, least)
    if not pieces:  # nothing after the header, if anything
        return None
    counted = [records(file, form, piece, fields) for piece in pieces]
    return *(list(itertools.chain(*kind)) for kind in zip(*counted, strict=True)), len(pieces)


def assert_the_same(path, form, least):
    """Assert that the pieces of a file, if it is cut, have the records, line numbers and errors of the whole."""
    parts = in_pieces(path, form, least)
    if parts is None:
        return 0
    *read, n = parts
    assert records(InputFile(str(path)), form) == tuple(read)
    return n


TOKENS = [b'"', b'""', b",", b"\n", b"\r\n", b"\r", b"a", b"cat", b" ", b"\xc3\xa4", b"\xff"]
TOKENS += [b'"a\nb"', b'"x","y"\n', b"a,b\n"]
BODIES = st.lists(st.sampled_from(TOKENS), max_size=60).map(b"".join)
HEADERS = st.sampled_from(
    [
        b"y_true,y_pred\n",
        b'"y_true","y_pred"\r\n',
        b'\xef\xbb\xbf"y_true",y_pred\n',
        b"\n\r\ny_true,y_pred\n",
        b'y_true,"y_\npred",y_pred\n',
    ]
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return the path of a file that is written again and again."""
    return tmp_path_factory.mktemp("split") / "a.csv"


@given(HEADERS, BODIES, st.integers(1, 40), st.integers(1, 64))
def test_any_bytes_of_csv(path, header, body, least, block):
    """Quotes anywhere, quoted line ends, carriage returns, broken UTF-8: pieces have what the whole has."""
    path.write_bytes(header + body)
    usual, splitting.BLOCK = splitting.BLOCK, block
    try:
        assert_the_same(path, "csv", least)
    finally:
        splitting.BLOCK = usual


FIELD = st.text(st.sampled_from('ab", \n\rä;'), max_size=6)


@given(
    st.lists(st.tuples(FIELD, FIELD), max_size=30), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), st.booleans()
)
def test_what_csv_writers_write_is_cut(path, pairs, quoting, crlf):
    """Files as the csv module writes them are cut at every record, whatever stands in quotes."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=quoting, lineterminator="\r\n" if crlf else "\n")
    writer.writerows([("y_true", "y_pred"), *pairs])
    path.write_bytes(text.getvalue().encode())

    n = assert_the_same(path, "csv", 1)

    alone = "\r" in text.getvalue().replace("\r\n", "")
    if not alone:
        assert n == len(pairs)


LINES = st.lists(st.sampled_from([b'{"y_true": "a", "y_pred": "b"}', b"", b'"', b"{", b"\xff", b" \r"]), max_size=20)


@given(LINES, st.booleans(), st.integers(1, 99))
def test_any_lines_of_json(path, lines, ended, least):
    """JSON Lines are cut after any line."""
    path.write_bytes(b"\n".join(lines) + b"\n" * ended)

    n = assert_the_same(path, "jsonl", least)

    if least == 1:
        assert n == len(path.read_bytes().splitlines(keepends=True)) or b"\r" in path.read_bytes()


@pytest.mark.parametrize(
    ("body", "cut"),
    [
        (b"a,b\n" * 20, True),
        (b'"a\n\n",b\n' * 20, True),
        (b'"a""\n""",b\n' * 20, True),
        (b'5" pipe,b\n' * 20, False),
        (b'"a" ,b\n' * 20, False),
        (b'"a,b\n' * 21, False),
        (b'"a",b\n' * 20 + b"a\rb,c\n", False),
        (b'"a",b\n' * 20 + b"\xff,c\n", False),
        (b'"a",b\n' * 20 + b"x" * 200_000 + b",c\n", False),
        (b"a,b\n" * 20 + b"\xff\r\r,c\n" + b"x" * 200_000 + b",c\n", True),
    ],
)
def test_what_is_cut(path, body, cut):
    """A file is cut unless its quotes could be read in another way."""
    path.write_bytes(b"y_true,y_pred\n" + body)

    parts = in_pieces(path, "csv", 20)

    assert (parts is not None) is cut
    assert_the_same(path, "csv", 20)


def test_the_delimiter_is_that_of_the_header(path):
    """Quotes beside a semicolon, a tab or the given delimiter are regular; others are not."""
    for given_one, delimiter in ((None, ";"), (None, "\t"), ("|", "|")):
        path.write_text(f"y_true{delimiter}y_pred\n" + f'"a\n"{delimiter}"b"\n' * 9)
        fields = FIELDS._replace(delimiter=given_one)

        assert in_pieces(path, "csv", 1, fields)[2] == 9
    assert in_pieces(path, "csv", 1) is None


RNG = random.Random(3)
PAIRS = [(RNG.choice(["a", "b\n", 'c"', "ä,d"]), RNG.choice(["a", "b\n", 'c"'])) for _ in range(4000)]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_large_file_is_split_among_jobs(cli, tmp_path, monkeypatch, form):
    """One file is counted by several processes to the bytes of one, and bad records have their lines and order."""
    monkeypatch.setattr(plans, "SMALLEST_BYTES", 1 << 10)
    path, bad = tmp_path / f"a.{form}", (5, 1700, 3999)
    with path.open("w", newline="") as file:
        if form == "csv":
            rows = [("y_true", "y_pred", "x"), *((*pair, 1)[: 2 if at in bad else 3] for at, pair in enumerate(PAIRS))]
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
        else:
            texts = [json.dumps({"y_true": a, "y_pred": b}) for a, b in PAIRS]
            file.writelines(("[]" if at in bad else text) + "\n" for at, text in enumerate(texts))
    good = [pair for at, pair in enumerate(PAIRS) if at not in bad]
    expected = sm.MetricSet()
    expected.update_many(*map(list, zip(*good, strict=True)))
    _, pieces = plans.plan_jobs([InputFile(str(path), size=path.stat().st_size)], None, FIELDS, 2, Skipped(True))

    results = [cli("run", path, "--skip-bad", "--jobs", jobs, "--state", tmp_path / jobs) for jobs in "12"]

    assert len(pieces) > 20
    assert results[0] == results[1]
    assert "skipped 3 bad records" in results[1].err
    for jobs in "12":
        assert expected.to_bytes() == (tmp_path / jobs).read_bytes()


def test_errors_of_a_split_file(cli, tmp_path, monkeypatch):
    """A column that is missing, and the first bad record, end the run as with one process."""
    monkeypatch.setattr(plans, "SMALLEST_BYTES", 1 << 10)
    lines = ["y_true,y_pred\n", *["a,b\n"] * 2000]
    lines[1500] = lines[700] = "a\n"
    (tmp_path / "a.csv").write_text("".join(lines))

    for options in ((), ("--true", "label")):
        one, two = (cli("run", tmp_path / "a.csv", *options, "--jobs", jobs) for jobs in "12")

        assert one == two
        assert one.status == 1
    assert "line 1: column 'label'" in one.err
