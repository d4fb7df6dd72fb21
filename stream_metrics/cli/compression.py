"""What the first bytes of a file say: compression, which is undone while the file is read, or a kind that is no text.

The bytes decide, since standard input has no name; the suffix of a name is only needed for the format below it
(`labels.csv.gz` is CSV). Of zstd, the standard library has a decompressor from Python 3.14 on.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import importlib
import io
import lzma
from contextlib import suppress
from typing import IO, Any, cast

from stream_metrics.cli.errors import UsageError

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
