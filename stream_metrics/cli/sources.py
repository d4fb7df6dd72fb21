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
from typing import IO, NamedTuple

from stream_metrics.cli.compression import READ_ERRORS, decompressed, foreign_kind, without_suffix
from stream_metrics.cli.errors import CliError, FileError
from stream_metrics.cli.storage import is_url, open_file

STDIN = "-"
PARQUET, ARROW, ORC = TABLES = ("parquet", "arrow", "orc")
MAGIC = {b"PAR1": PARQUET, b"ARROW1": ARROW, b"ORC": ORC}
FORMATS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
    ".orc": ORC,
}

BadRecord = Callable[[str, int, str], None]  # (source, line, reason)


class InputFile(NamedTuple):
    """A file to count; ``partitions`` are the fields that its path has."""

    path: str
    partitions: tuple[tuple[str, object], ...] = ()
    size: int | None = None
    version: str | None = None
    done: int = 0  # the first records, which were counted before


class Piece(NamedTuple):
    """A file of lines, or consecutive row groups of a table: of ``size`` bytes or rows, those after the ``first``."""

    file: InputFile
    size: int | None
    groups: tuple[int, ...] = ()
    first: int = 0
    ends: bool = True  # its last record is that of the file

    @property
    def until(self) -> int | None:
        """The number of its last record; None if that is the last of the file."""
        return None if self.ends else self.first + (self.size or 0)


class InputSource:
    """One open input: ``name`` for messages, ``format`` jsonl or csv, ``line`` the number of lines read so far.

    ``separator`` is what separates the columns of CSV, once the header was read.
    """

    def __init__(self, file: InputFile, raw: IO[bytes], declared: str | None) -> None:
        self.name = "stdin" if file.path == STDIN else file.path
        self.partitions = dict(file.partitions)
        self.line = 0
        self.separator = ","
        self._raw = raw
        try:
            content = decompressed(raw)
            first = content.readline()
        except READ_ERRORS as error:
            raise self._unreadable(error) from None
        kind = foreign_kind(first)
        if kind is not None:
            raise FileError(f"{self.name}: expected JSON Lines or CSV, but the file is {kind}")
        self.declared = declared  # by name or option
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

    def _unreadable(self, error: Exception) -> FileError:
        return FileError(f"{self.name}, after line {self.line}: {error}")


def _bare(line: bytes) -> bytes:
    return line.removeprefix(codecs.BOM_UTF8)


def declared_format(path: str) -> str | None:
    """Return the format that the extension of ``path`` declares, if it declares one."""
    path = path.partition("?")[0] if is_url(path) else path
    return FORMATS.get(Path(without_suffix(path)).suffix.lower())


def format_of(path: str) -> str | None:
    """Return the format that ``path`` declares, or that of tables if it begins so; None if its lines have to tell."""
    declared = declared_format(path)
    if declared is None and path != STDIN and (is_url(path) or os.path.isfile(path)):
        try:
            with open_file(path) as file:
                first = file.read(max(map(len, MAGIC)))
        except OSError:  # reported when it is opened to be counted
            return None
        return next((form for magic, form in MAGIC.items() if first.startswith(magic)), None)
    return declared


@contextmanager
def open_input(file: InputFile, declared: str | None) -> Iterator[InputSource]:
    """Open a file, or stdin for ``-``."""
    declared = declared or declared_format(file.path)
    if file.path == STDIN:
        if sys.stdin is None:
            raise CliError("stdin: is closed")
        yield InputSource(file, sys.stdin.buffer, declared)
        return
    try:
        raw = open_file(file.path)
    except FileNotFoundError as error:  # a wrong name, and no damaged file
        raise CliError(f"{file.path}: {error.strerror}") from None
    except OSError as error:
        raise FileError(f"{file.path}: {error.strerror or error}") from None
    with raw:
        yield InputSource(file, raw, declared)
