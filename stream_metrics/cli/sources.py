"""The input files of ``run``, their formats, and the decoded lines of those that are text.

Lines are decoded here and not by a text stream, because that decodes in blocks: a broken byte would be reported far
from its line, and the good lines before it in the block would be lost.
"""

from __future__ import annotations

import codecs
import itertools
import os
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from stream_metrics.cli.compression import decompressed, foreign_kind, without_suffix
from stream_metrics.cli.errors import CliError, FileError, UsageError
from stream_metrics.cli.storage import is_url, open_file

STDIN = "-"
PARQUET, ARROW, ORC = TABLES = ("parquet", "arrow", "orc")
MAGIC = {b"PAR1": PARQUET, b"ARROW1": ARROW, b"ORC": ORC}
FORMATS = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
    ".csv": "csv",
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), ARROW),
    ".orc": ORC,
}


class Fields(NamedTuple):
    """The fields that are read: ``named`` by the argument of `update_many` that they are, and the scores."""

    named: Mapping[str, str]
    scores: str | None = None
    classes: tuple[str, ...] | None = None  # of scores that are lists
    delimiter: str | None = None  # of CSV; None if the header tells it


class InputFile(NamedTuple):
    """A file to count; ``partitions`` are the fields that its path has."""

    path: str
    partitions: tuple[tuple[str, object], ...] = ()
    size: int | None = None
    version: str | None = None
    done: int = 0  # the first records, which were counted before


class Batch(NamedTuple):
    """Records as arguments of `update_many`, their numbers in the file, and the records that cannot be read."""

    columns: dict[str, Any]
    numbers: Sequence[int]
    refused: list[tuple[int, str]]


class InputSource:
    """One open input: ``name`` for messages, ``format`` jsonl or csv, ``line`` the number of lines read so far.

    ``separator`` is what separates the columns of CSV, once the header was read; ``numbers`` are the lines of records,
    ``refused`` those that are none, both after the lines ``done``, which were counted before. If it is ``strict``,
    reading ends at the first that is refused.
    """

    def __init__(self, file: InputFile, raw: IO[bytes], declared: str | None, strict: bool) -> None:
        self.name = "stdin" if file.path == STDIN else file.path
        self.partitions = dict(file.partitions)
        self.line = 0
        self.separator = ","
        self.numbers, self.refused = array("q"), list[tuple[int, str]]()
        self.done, self._raw, self._strict = file.done, raw, strict
        try:
            content = decompressed(raw)
            first = content.readline()
        except UsageError:  # a package is missing
            raise
        except Exception as error:
            raise self._unreadable(error) from None
        kind = foreign_kind(first)
        if kind is not None:
            raise FileError(f"{self.name}: expected JSON Lines or CSV, but the file is {kind}")
        self.declared = declared  # by name or option
        first = first.removeprefix(codecs.BOM_UTF8)
        self.format = declared or ("jsonl" if first.lstrip().startswith((b"{", b"[{")) else "csv")
        self._lines = itertools.chain((first,) if first else (), content)

    def text(self) -> Iterator[str]:
        """Yield the lines as text; a line that is not UTF-8 is refused."""
        try:
            for raw in self._lines:
                self.line += 1
                try:
                    yield raw.decode()
                except UnicodeDecodeError as error:
                    reason = f"not UTF-8 text: byte 0x{error.object[error.start]:02x} at column {error.start + 1}"
                    if self.refuse(reason + "; save the file as UTF-8" * (self.line == 1)):
                        return
        except Exception as error:  # of any decompressor, or package that reads a URL
            raise self._unreadable(error) from None

    def refuse(self, reason: str) -> bool:
        """Note that the record that was read last cannot be read; tell whether that ends the run."""
        new = self.line > self.done
        if new:
            self.refused.append((self.line, reason))
        return new and self._strict

    def position(self) -> int:
        """Return how many bytes of the file were read."""
        return self._raw.tell() if self._raw.seekable() else 0

    def _unreadable(self, error: Exception) -> FileError:
        return FileError(f"{self.name}, after line {self.line}: {error}")


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
        except Exception:  # of any package; it comes again when the file is opened to be counted
            return None
        return next((form for magic, form in MAGIC.items() if first.startswith(magic)), None)
    return declared


@contextmanager
def open_input(file: InputFile, declared: str | None, strict: bool) -> Iterator[InputSource]:
    """Open a file, or stdin for ``-``."""
    declared = declared or declared_format(file.path)
    if file.path == STDIN:
        if sys.stdin is None:
            raise CliError("stdin: is closed")
        yield InputSource(file, sys.stdin.buffer, declared, strict)
        return
    try:
        raw = open_file(file.path)
    except FileNotFoundError as error:  # a wrong name, and no damaged file
        raise CliError(f"{file.path}: {error.strerror}") from None
    except OSError as error:
        raise FileError(f"{file.path}: {error.strerror or error}") from None
    with raw:
        yield InputSource(file, raw, declared, strict)
