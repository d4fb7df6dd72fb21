"""The input files of ``run``, of this machine or behind URLs, their formats, and the decoded lines of text files.

The first bytes of a file say how it is compressed, or that it is no text. They decide, since standard input has no
name; the suffix of a name is only needed for the format below it (`labels.csv.gz` is CSV). Of zstd, the standard
library has a decompressor from Python 3.14 on.

URLs are read by fsspec if the package for their scheme is installed.

Lines are decoded here and not by a text stream, because that decodes in blocks: a broken byte would be reported far
from its line, and the good lines before it in the block would be lost.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import glob
import gzip
import importlib
import io
import itertools
import lzma
import os
import re
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, NamedTuple, cast

from stream_metrics.cli.errors import CliError, FileError, UsageError

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
GZIP, BZIP2, XZ, ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
STATE = "a saved state: 'stream-metrics show' prints it, and 'run --resume' goes on counting into it"
FOREIGN = (
    (b"PAR1", "Parquet: --input parquet reads it, from a file that is not compressed"),
    (b"ARROW1", "Arrow IPC: --input arrow reads it, from a file that is not compressed"),
    (b"ORC", "ORC: --input orc reads it, from a file that is not compressed"),
    (b"SMET", STATE),
    (b"PK\x03\x04", "a zip archive, as .npz and .xlsx are"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"\xff\xff\xff\xff", "an Arrow stream: write it as an Arrow IPC file"),
    (b"FEA1", "Feather of version 1: write it as version 2"),
    (b"%PDF", "PDF"),
    (b"\x89PNG", "a PNG image"),
)  # kinds that are neither JSON Lines nor CSV, by their first bytes


def without_suffix(path: str) -> str:
    """Return a path without the suffix of compression."""
    return next((path.removesuffix(suffix) for suffix in SUFFIXES if path.endswith(suffix)), path)


def foreign_kind(first: bytes) -> str | None:
    """Return what a file that begins so is, if it is known and no text."""
    if first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and 0 in first[2:4]:
        return "UTF-16 text: save it as UTF-8"
    binary = "binary data" if 0 in first else None
    return next((kind for magic, kind in FOREIGN if first.startswith(magic)), binary)


def decompressed(raw: IO[bytes]) -> IO[bytes]:
    """Return a stream of what `raw` holds, decompressed if its first bytes say so; `raw` stays open.

    Raises
    ------
    UsageError
        If the decompressor is not installed.
    """
    stream: Any = raw if hasattr(raw, "peek") else io.BufferedReader(cast("Any", raw))
    first = stream.peek(len(XZ))
    if first.startswith(GZIP):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    if first.startswith(BZIP2) and first[3:4].isdigit():
        return bz2.BZ2File(stream)
    if first.startswith(XZ):
        return lzma.LZMAFile(stream)
    if first.startswith(ZSTD):
        return _zstd_file(stream)
    return cast("IO[bytes]", stream)


def _zstd_file(stream: Any) -> IO[bytes]:
    """Return the content of all frames of a zstd stream."""
    for name in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            module: Any = importlib.import_module(name)
            break
    else:
        raise UsageError('zstd needs the package backports.zstd, or Python 3.14: pip install "stream-metrics[zstd]"')

    return io.BufferedReader(module.ZstdFile(stream), 1 << 17)


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
VERSIONS = ("ETag", "etag", "Content-MD5", "generation", "mtime", "Last-Modified", "LastModified", "updated", "created")


def is_url(path: str) -> bool:
    """Tell whether a path is a URL or a chain of them, and no local file."""
    return URL.match(path) is not None or ("::" in path and URL.search(path) is not None)


def _is_web(url: str) -> bool:
    """Tell whether a URL is of a web server: it has files without folders, and perhaps without ranges."""
    return url.lower().startswith(("http://", "https://"))


@cache  # since the system of an archive closes its files when it is collected
def _system(url: str) -> tuple[Any, str]:
    """Return the file system of fsspec and the path in it; UsageError if a package for the URL is missing."""
    try:
        core = import_module("fsspec.core")
    except ImportError:
        raise UsageError(f'{url}: needs fsspec: pip install "stream-metrics[remote]"') from None
    try:
        system, inside = core.url_to_fs(url)
    except (ImportError, ValueError) as error:  # a package that is missing, a scheme that there is not
        raise UsageError(f"{url}: {error}") from None
    return system, inside


def open_file(path: str, *, seek: bool = False) -> IO[bytes]:
    """Open a file, to be read from its beginning on or, with `seek`, anywhere."""
    if not is_url(path):
        return open(path, "rb")
    system, inside = _system(path)
    with _os_errors():
        file = system.open(inside, "rb", **({"block_size": 0} if _is_web(path) and not seek else {}))
        if _is_web(path) and seek:
            try:
                file.seek(-1, os.SEEK_END)
                file.read()
                file.seek(0)
            except ValueError:  # a server that sends files whole only
                file = system.open(inside, "rb", block_size=max(file.size or 0, 1), cache_type="all")
        return io.BufferedReader(file)


def stat(path: str) -> tuple[int | None, str | None]:
    """Return the size of a file and what changes with its content; None where it is no file, or is not known."""
    if is_url(path):
        system, inside = _system(path)
        with _os_errors():
            info = system.info(inside)
        return info.get("size"), next((str(info[name]) for name in VERSIONS if info.get(name) is not None), None)
    status = os.stat(path)
    return (status.st_size, str(status.st_mtime_ns)) if S_ISREG(status.st_mode) else (None, None)


def files_in(folder: str) -> list[str] | None:
    """Return the paths of all files in a folder and below, in order; None if the path is not a folder."""
    if is_url(folder):
        system, inside = _system(folder)
        with _os_errors():
            if not (folder.endswith("/") if _is_web(folder) or "::" in folder else system.isdir(inside)):
                return None
            return sorted(system.unstrip_protocol(path) for path in system.find(inside))
    if not os.path.isdir(folder):
        return None
    paths: list[str] = []
    seen = {os.path.realpath(folder)}
    for above, folders, names in os.walk(folder, followlinks=True):
        real = {name: os.path.realpath(os.path.join(above, name)) for name in folders}
        folders[:] = [name for name in folders if real[name] not in seen]  # a link may lead up
        seen.update(real.values())
        paths += [os.path.join(above, name) for name in names]
    return sorted(paths)


def matching(pattern: str) -> list[str] | None:
    """Return the paths that a pattern matches, in order; None if the text is not a pattern."""
    if not is_url(pattern):
        exists = os.path.exists(pattern) or not glob.has_magic(pattern)
        return None if exists else sorted(glob.glob(pattern, recursive=True))
    if "::" in pattern or not ("*" in pattern or (glob.has_magic(pattern) and not _is_web(pattern))):
        return None
    system, inside = _system(pattern)
    with _os_errors():
        return sorted(system.unstrip_protocol(path) for path in system.glob(inside))


def resolved(path: str) -> str:
    """Return the one path of a file."""
    if not is_url(path):
        return os.path.realpath(path)
    if _is_web(path) or "::" in path:
        return path
    system, inside = _system(path)
    return str(system.unstrip_protocol(inside))  # as folders list it


@contextmanager
def _os_errors() -> Iterator[None]:
    """Raise what a package raises as OSError."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from None
    except OSError:
        raise
    except Exception as error:  # of botocore, aiohttp and others, which have nothing in common
        raise OSError(f"{type(error).__name__}: {error}") from error


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
