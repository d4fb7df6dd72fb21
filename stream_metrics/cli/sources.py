"""Open input files, recognise their format, and decode lines.

Lines are decoded here and not by a text stream, because that decodes in blocks: a broken byte would be reported far
from its line, and the good lines before it in the block would be lost.
"""

from __future__ import annotations

import codecs
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stream_metrics.cli.compression import READ_ERRORS, decompressed, foreign_kind, without_suffix
from stream_metrics.cli.errors import CliError

__all__ = [
    "BadRecord",
    "FORMATS",
    "PARQUET",
    "Reached",
    "STDIN",
    "Source",
    "declared_format",
    "format_of",
    "open_input",
    "total_size",
]

STDIN = "-"
PARQUET, MAGIC = "parquet", b"PAR1"
FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".parquet": PARQUET, ".pq": PARQUET}

BadRecord = Callable[[str, int, str], None]  # (source, line, reason)


class Source:
    """One open input: ``name`` for messages, ``format`` jsonl or csv, ``line`` the number of lines read so far.

    ``separator`` is what separates the columns of CSV, once the header was read.
    """

    def __init__(self, name: str, raw: IO[bytes], declared: str | None) -> None:
        self.name = name
        self.line = 0
        self.separator = ","
        self._raw = raw
        try:
            self._content = content = decompressed(raw)
            first = content.readline()
        except READ_ERRORS as error:
            raise self._unreadable(error) from None
        kind = foreign_kind(first)
        if kind is not None:
            raise CliError(f"{name}: expected JSON Lines or CSV, but the file is {kind}")
        self.format = declared or ("jsonl" if _bare(first).lstrip().startswith((b"{", b"[{")) else "csv")
        self._lines: Iterable[bytes] = itertools.chain((first,) if first else (), content)

    def text(self, bad: BadRecord) -> Iterator[str]:
        """Yield the lines as text; a line that is not UTF-8 goes to ``bad``."""
        try:
            for raw in self._lines:
                self.line += 1
                try:
                    text = (_bare(raw) if self.line == 1 else raw).decode()
                except UnicodeDecodeError as error:
                    reason = f"not UTF-8 text: byte 0x{error.object[error.start]:02x} at column {error.start + 1}"
                    reason += "; save the file as UTF-8" * (self.line == 1)
                    bad(self.name, self.line, reason)
                else:
                    yield text
        except READ_ERRORS as error:
            raise self._unreadable(error) from None

    def position(self) -> int:
        """Return how many bytes of the file were read."""
        return self._raw.tell() if self._raw.seekable() else 0

    def _unreadable(self, error: Exception) -> CliError:
        return CliError(f"{self.name}, after line {self.line}: {error}")


def _bare(line: bytes) -> bytes:
    return line.removeprefix(codecs.BOM_UTF8)


def declared_format(path: str) -> str | None:
    """Return the format that the extension of ``path`` declares, if it declares one."""
    return FORMATS.get(Path(without_suffix(path)).suffix.lower())


def format_of(path: str) -> str | None:
    """Return the format that ``path`` declares, or Parquet if it begins so; None if only its lines can tell."""
    declared = declared_format(path)
    if declared is None and os.path.isfile(path):
        try:
            with open(path, "rb") as file:
                return PARQUET if file.read(len(MAGIC)) == MAGIC else None
        except OSError:  # said when it is opened to be counted
            return None
    return declared


@contextmanager
def open_input(path: str, declared: str | None) -> Iterator[Source]:
    """Open ``path``, or stdin for ``-``."""
    declared = declared or declared_format(path)
    if path == STDIN:
        if sys.stdin is None:
            raise CliError("stdin: is closed")
        yield Source("stdin", sys.stdin.buffer, declared)
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115 - closed below, so that errors of opening and of use stay apart
    except OSError as error:
        raise CliError(f"{path}: {error.strerror or error}") from None
    with raw:
        yield Source(path, raw, declared)


class Reached:
    """How many bytes of several sources were read."""

    def __init__(self) -> None:
        self._done = 0
        self._source: Source | None = None

    def enter(self, source: Source) -> None:
        """Read ``source`` from now on."""
        self._source = source

    def leave(self) -> None:
        """Add the bytes of the current source, before it is closed."""
        self._done, self._source = self.position(), None

    def position(self) -> int:
        """Return the bytes read of all sources so far."""
        return self._done + (self._source.position() if self._source else 0)


def total_size(paths: Iterable[str]) -> int | None:
    """Return the size of all files in bytes, None where one is no regular file."""
    total = 0
    for path in paths:
        if path == STDIN or not os.path.isfile(path):
            return None
        total += os.path.getsize(path)
    return total
