"""A large file of lines in pieces for several processes, cut only where a record is sure to end.

In JSON Lines that is after every line. In CSV a line may end inside quotes. The bytes are read once: where all quotes
stand as RFC 4180 has them (they open after a separator or a line end, and close before one), the number of quotes so
far tells whether a line end is inside. A file with any other quote is not cut, nor is one with quotes and what the
reader recovers from by rules of its own: a carriage return alone, bytes that are no UTF-8, a field that is too long.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from typing import IO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.cli.errors import FileError
from stream_metrics.cli.reading import RowKeys, sniff_delimiter
from stream_metrics.cli.sources import InputFile, LineRange
from stream_metrics.cli.storage import storage_of

__all__ = ["split_lines"]

BLOCK = 1 << 20
QUOTE, LINE_END, RETURN = b'"\n\r'
BEFORE_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*")
Offsets: TypeAlias = NDArray[np.int64]


def split_lines(file: InputFile, form: str, fields: RowKeys, least: float) -> list[LineRange] | None:
    """Return a file in pieces of at least so many bytes; None if it is not sure where its records end."""
    storage = storage_of(file.path)
    if not storage.is_local:  # looking for line ends would load it twice
        return None
    try:
        with storage.open(file.path) as raw:
            return _split(raw, form, fields, least)
    except OSError as error:
        raise FileError(f"{file.path}: {error.strerror or error}") from None


def _split(raw: IO[bytes], form: str, fields: RowKeys, least: float) -> list[LineRange] | None:
    quotes: _Quotes | None = None
    header, size, lines = 0, 0, 0
    cuts = [(0, 0)]  # bytes and lines before each piece
    for block in _blocks(raw):
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == LINE_END)
        records = ends
        if form == "csv":
            if quotes is None:
                start = _match_end(BEFORE_HEADER, block)
                delimiter = _delimiter(block[start:].split(b"\n", 1)[0], fields)
                if delimiter is None:
                    return None
                quotes = _Quotes(delimiter)
            records = quotes.record_ends(block, ends)
            if not header:
                at = int(np.searchsorted(records, start))
                if at == len(records):
                    return None
                header = int(records[at]) + 1
                cuts = [(header, int(np.searchsorted(ends, header)))]
        while (at := int(np.searchsorted(records, cuts[-1][0] + least - size - 1))) < len(records):
            end = int(records[at]) + 1
            cuts.append((size + end, lines + int(np.searchsorted(ends, end))))
        size, lines = size + len(block), lines + len(ends)
    if quotes is not None and not quotes.are_regular():
        return None
    stops = [at for at, _ in cuts[1:]] + [size]
    return [LineRange(at, stop, before, header) for (at, before), stop in zip(cuts, stops, strict=True) if at < stop]


def _blocks(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the file in blocks of whole lines."""
    while block := raw.read(BLOCK):
        yield block + raw.readline() if block[-1] != LINE_END else block


def _match_end(pattern: re.Pattern[bytes], data: bytes) -> int:
    match = pattern.match(data)
    return match.end() if match else 0


def _delimiter(header: bytes, fields: RowKeys) -> str | None:
    """Return the delimiter of CSV with this header; None if it is not a single byte."""
    try:
        delimiter = fields.delimiter or sniff_delimiter(header.decode(), fields)
    except UnicodeDecodeError:
        return None
    return delimiter if delimiter.isascii() else None


class _Quotes:
    """Follows the quotes of CSV from block to block."""

    def __init__(self, delimiter: str) -> None:
        self._before = np.array([ord(delimiter), LINE_END, QUOTE], np.uint8)
        self._after = np.array([ord(delimiter), LINE_END, RETURN, QUOTE], np.uint8)
        self._inside = 0  # 1 if a block begins inside quotes
        self._first = True
        self._any = False
        self._regular = True  # as far as only quotes make a difference
        self._misplaced = False
        self._open = 0  # bytes of the last record so far

    def record_ends(self, block: bytes, ends: Offsets) -> Offsets:
        """Return those line ends of a block that end a record."""
        data = np.frombuffer(block, np.uint8)
        if self._first and block.startswith(codecs.BOM_UTF8):
            data = np.concatenate([np.full(3, LINE_END, np.uint8), data[3:]])
        self._first = False
        self._regular = self._regular and _is_utf8(block) and block.count(b"\r") == block.count(b"\r\n")
        quotes = np.flatnonzero(data == QUOTE)
        records = ends
        if len(quotes) or self._inside:
            self._any = True
            opening, closing = quotes[self._inside :: 2], quotes[1 - self._inside :: 2]
            preceding = data[opening[opening > 0] - 1]
            following = data[closing[closing + 1 < len(data)] + 1]
            if not (np.isin(preceding, self._before).all() and np.isin(following, self._after).all()):
                self._misplaced = True
            records = ends[(np.searchsorted(quotes, ends) + self._inside) % 2 == 0]
            self._inside = (self._inside + len(quotes)) % 2
        self._check_length(records, len(block))
        return records

    def _check_length(self, records: Offsets, size: int) -> None:
        limit = csv.field_size_limit()
        longest = self._open + int(records[0] if len(records) else size)
        if len(records) > 1:
            longest = max(longest, int(np.diff(records).max()))
        self._regular = self._regular and longest < limit
        self._open = size - 1 - int(records[-1]) if len(records) else self._open + size

    def are_regular(self) -> bool:
        """Tell whether quotes told rightly where records end."""
        return not self._any or (self._regular and not self._misplaced and not self._inside)


def _is_utf8(block: bytes) -> bool:
    try:
        return block.isascii() or bool(block.decode())
    except UnicodeDecodeError:
        return False
