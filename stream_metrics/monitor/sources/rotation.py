"""Which file is which: files are renamed, copied and truncated while they are read, and while no process reads them.

A file is known by how it begins, by what stood before the place where reading stopped, and, if there are several such,
by its inode. Rotated files lie in the same folder, named like the file with a number or a date after it. The one that
followed another was written last after it.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["BEGINNING", "Known", "NeverRead", "find", "following", "missing", "same_content"]

BEGINNING = 256
ROTATED = re.compile(r"[._-]?\d[\d._:TZ-]*(?P<packed>\.(?:gz|bz2|xz|zst|lz4|Z|zip))?$")
NUMBERED = re.compile(r"(\D?)(\d{1,2})")
PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class Known(NamedTuple):
    """A file that was read: the offset at which it started, and the length and crc of how it began.

    Its inode, how many bytes of it were read, and the crc of the last 256 of these are 0 in states of earlier versions.
    """

    start: int
    size: int
    crc: int
    inode: int = 0
    read: int = 0
    tail: int = 0


class NeverRead(Exception):
    """A rotated file that was never read, and cannot be: it is compressed."""


def same_content(file: int, known: Known, at: int = 0) -> bool:
    """Tell whether an open file has what was read of a known one, and at least `at` bytes."""
    last = min(known.read, BEGINNING)
    return (
        os.fstat(file).st_size >= max(at, known.read)
        and zlib.crc32(os.pread(file, known.size, 0)) == known.crc
        and zlib.crc32(os.pread(file, last, known.read - last)) == known.tail
    )


def find(paths: Sequence[Path], wanted: Known, at: int) -> Path | None:
    """Return the path of a known file of which `at` bytes were read, the first one if several are alike."""
    alike: dict[int, Path] = {}
    for path in paths:
        with open(path, "rb") as file:
            if same_content(file.fileno(), wanted, at):
                alike.setdefault(os.fstat(file.fileno()).st_ino, path)
    return alike.get(wanted.inode, next(iter(alike.values()), None))


def following(path: Path, own: os.stat_result, known: Sequence[Known]) -> Path | None:
    """Return the rotated file that was written after one that was read, None if there is none.

    `path` is the name of the file that is followed, `own` the status of the one that was read to its end. Raises
    ``NeverRead`` if it is compressed.
    """
    later: list[tuple[int, int, bool, Path]] = []
    for other in path.parent.glob(f"{_escaped(path.name)}?*"):
        name = ROTATED.fullmatch(other.name[len(path.name) :])
        try:
            status = other.stat()
        except FileNotFoundError:
            continue
        if name is None or (status.st_dev, status.st_ino) == (own.st_dev, own.st_ino):
            continue
        packed = name["packed"]
        if status.st_mtime_ns < own.st_mtime_ns or (packed and status.st_mtime_ns == own.st_mtime_ns):
            continue  # most programs give a packed copy the time of what it was made of
        if not (_unpacked_was_read(other, PACKED.get(packed), known) if packed else _was_read(other, known)):
            number = re.match(r"\D?(\d+)$", name[0])
            later.append((status.st_mtime_ns, -int(number[1]) if number else 0, packed is not None, other))
    if not later:
        return None
    _, _, packed, next_file = min(later)
    if packed:
        raise NeverRead(f"{next_file} was never read, and is compressed")
    return next_file


def missing(path: Path, place: Path) -> str | None:
    """Return which file that followed the one at `place` is gone, as far as numbers tell; None if none is.

    What is `log.3` by now was `log.2` and `log.1` before, and later files have these names since.
    """
    name = NUMBERED.fullmatch(place.name[len(path.name) :])
    if name is not None:
        for number in range(int(name[2]) - 1, 0, -1):
            later = f"{path.name}{name[1]}{number}"
            if not any(any(path.parent.glob(f"{_escaped(later)}{end}")) for end in ("", ".*")):
                return f"{later} was never read, and is gone"
    return None


def _was_read(path: Path, known: Sequence[Known]) -> bool:
    try:
        with open(path, "rb") as file:
            inode = os.fstat(file.fileno()).st_ino
            return any(each.inode in (0, inode) and same_content(file.fileno(), each) for each in known)
    except FileNotFoundError:
        return True


def _unpacked_was_read(path: Path, opener: Any, known: Sequence[Known]) -> bool:
    """Tell whether a packed file has what was read of a known one."""
    if opener is None:
        return False
    with suppress(OSError, EOFError, lzma.LZMAError), opener(path, "rb") as file:
        beginning = file.read(BEGINNING)
        for each in known:
            if each.size <= len(beginning) and zlib.crc32(beginning[: each.size]) == each.crc:
                last = min(each.read, BEGINNING)
                file.seek(each.read - last)
                if zlib.crc32(file.read(last)) == each.tail:
                    return True
    return False


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)
