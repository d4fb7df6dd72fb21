"""A file of JSON Lines, followed like `tail -F`, or standard input.

Offsets count the bytes of all that was read under this name: when the file is rotated or truncated, the new one starts
at the offset where the old one ended. Where each of the last files started, and what was read of it, is kept with
every checkpoint, so that a restart knows whether the file that it finds is the one that it was reading. If it is not,
the rest of the old one is looked for in the same folder, where rotation leaves it, and then the files that were rotated
after it are read, one after another. If it is not there, or one of these was compressed, records are gone that were not
read: what then happens is for `truncated` to say, as with Kafka.

A file may also be truncated and written again (copytruncate). Before new bytes are taken, those before them must be the
ones that were read last; if they are not, the rest is looked for in a copy, and the file is read from its start.

A last line without an end is an event if it is a whole JSON object. If it is not, and a state file goes on from there,
it is taken to be half written, and is left for the next time.

Of standard input nothing can be read again: after a restart its offsets go on where they were, and what comes is new.
"""

from __future__ import annotations

import logging
import math
import os
import select
import time
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.lines import BLOCK, Lines
from stream_metrics.monitor.sources.rotation import BEGINNING, Known, NeverRead, find, following, missing, same_content
from stream_metrics.monitor.store import StoreError
from stream_metrics.monitor.store.rows import OtherSourceError

__all__ = ["FileSource", "StdinSource"]

LOG = logging.getLogger("stream_metrics.monitor")
FILES = 8
NAP = 0.05
PATH = "file"  # the note that has the path
GUESS = 150  # bytes of a record, before any was read


class FileSource:
    """The lines of a file, as records of partition 0 of a topic that is named like the file.

    The store must have no counts of other topics, but the file may have been renamed: it is known by its content.
    With `follow` it waits for more at the end, and goes on with the new file when it is rotated or truncated. Raises
    ``StoreError`` at the start if the file that was being read is gone and `truncated` is "fail"; with "reset" it goes
    on with the new one, and the counts are marked as incomplete. So it does while it runs.
    """

    def __init__(self, path: str, follow: bool = False, truncated: str = "fail") -> None:
        self.path = Path(path)
        self.topic = self.path.name
        self.ended = False
        self._follow, self._truncated = follow, truncated
        self._known: list[Known] = []
        self._start = 0  # the offset at which the open file starts
        self._lines = Lines(self.topic, 0)
        self._began = b""  # how the open file begins, as far as it was read
        self._last = b""  # the last bytes that were read of it
        self._inode = 0
        self._monitor: Monitor
        self._file: IO[bytes] | None = None
        self._taken = 0  # records
        self._missing = False

    @property
    def problem(self) -> str | None:
        """Why no records can come now."""
        return f"{self.path} does not exist" if self._missing else None

    def start(self, monitor: Monitor) -> None:
        """Go on where the monitor stopped."""
        self._monitor = monitor
        name = self._stored_name()
        stored = [Known(*known) for known in monitor.stored_note(f"file {name}") or ()]
        monitor.attach(f"file {self.topic}", self._kept)
        monitor.attach(PATH, lambda: str(self.path.absolute()))
        at = monitor.assign([0]).get((name, 0), 0)
        if name != self.topic:
            LOG.warning("%s: goes on with what was %s before", self.path, name)
            monitor.rename_topic(0, name, self.topic)
        wanted = _last(stored, at)
        self._start = wanted.start
        self._known = [known for known in stored if known.start < self._start]
        place = self._find(wanted, at - self._start, bool(stored))
        self._lines = Lines(self.topic, at)
        if place is None and at > self._start:
            self._gone(f"what followed byte {at - self._start} of the file that was being read is gone")
            self._known.append(wanted)
            self._start = at
            place = self.path if self.path.exists() else None
        if place is not None:
            if (lost := missing(self.path, place)) is not None:
                self._gone(lost)
            self._open(place, at)

    def _stored_name(self) -> str:
        """Return under which name the store has this file, which may have been renamed since.

        ``OtherSourceError`` if it has counts of another file, or of another source.
        """
        offsets = self._monitor.stored_offsets()
        if not offsets or (self.topic, 0) in offsets:
            return self.topic
        for (name, _), at in offsets.items():
            stored = [Known(*known) for known in self._monitor.stored_note(f"file {name}") or ()]
            wanted = _last(stored, at)
            if stored and wanted.size and self._find(wanted, at - wanted.start, True) is not None:
                return name
        raise _other_source(self._monitor, offsets, str(self.path))

    def _gone(self, what: str) -> None:
        """Go on although records are gone that were not read, if that is allowed."""
        message = f"{self.path}: {what}"
        if self._truncated != "reset":
            raise StoreError(f'{message}; truncated = "reset" goes on with the file that is there now')
        LOG.warning("%s; counts lack it", message)
        self._monitor.mark_incomplete(0, message)

    def _open(self, path: Path, at: int) -> None:
        self._lines = Lines(self.topic, at)
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close
        read = at - self._start
        last = min(BEGINNING, read)
        self._began = os.pread(self._file.fileno(), last, 0)
        self._last = os.pread(self._file.fileno(), last, read - last)
        self._file.seek(read)
        self._inode = os.fstat(self._file.fileno()).st_ino

    def _find(self, wanted: Known, at: int, rotated: bool) -> Path | None:
        """Return the path of the file that was being read, by its name or where rotation left it."""
        others = sorted(self.path.parent.glob(f"{self.path.name}?*")) if rotated else []
        paths = [each for each in (self.path, *others) if each == self.path or each.is_file()]
        if self._follow and not self.path.exists():
            paths.remove(self.path)
        try:
            return find(paths, wanted, at)
        except OSError as error:
            raise StoreError(f"{error.filename}: {error.strerror or error}") from error

    def _this(self) -> Known:
        """Return what is known of the open file."""
        beginning = len(self._began), zlib.crc32(self._began)
        return Known(self._start, *beginning, self._inode, self._lines.read - self._start, zlib.crc32(self._last))

    def _kept(self) -> list[list[int]]:
        """Return what a checkpoint has to keep: the last files read, this one included."""
        return [list(known) for known in (*self._known[-FILES:], self._this())]

    def poll(self, timeout: float) -> list[Record]:
        """Return the records of the next megabyte."""
        end = time.monotonic() + timeout
        while not self.ended:
            block = b"" if self._file is None else self._file.read(BLOCK)
            records = self._read(block) if block and self._intact() else self._moved_on()
            if records is None:
                self.ended = not self._follow
                leave = not self.ended or (self._monitor.store is not None and self._lines.half_written())
                records = [] if leave else self._lines.last()
            if records:
                self._taken += len(records)
                return records
            if not block:
                left = end - time.monotonic()
                if left <= 0:
                    break
                time.sleep(min(NAP, left))
        return []

    def _read(self, block: bytes) -> list[Record]:
        if len(self._began) < BEGINNING:
            self._began += block[: BEGINNING - len(self._began)]
        self._last = (self._last + block)[-BEGINNING:]
        return self._lines.add(block)

    def _intact(self) -> bool:
        """Tell whether the file still has what was read of it last."""
        if self._file is None:
            return True
        last = len(self._last)
        return os.pread(self._file.fileno(), last, self._lines.read - self._start - last) == self._last

    def _moved_on(self) -> list[Record] | None:
        """Go on at the end of the file with another one, if there is one by now, and return what was left of this one.

        None if there is no other.
        """
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            self._missing = self._follow
            return None
        self._missing = False
        if self._file is None:
            self._open(self.path, self._start)
            return []
        here = os.fstat(self._file.fileno())
        place: Path | None = self.path
        if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
            if here.st_size >= self._lines.read - self._start and self._intact():
                return None
            if self._copy():
                return []
        else:
            block = self._file.read(BLOCK)  # what was written before it was renamed
            if block:
                return self._read(block)
            try:
                place = following(self.path, here, [*self._known, self._this()])
            except NeverRead as skipped:
                self._gone(str(skipped))
                place = None
        left = self._lines.last()
        self._known.append(self._this())
        self._start = self._lines.read
        self._file.close()
        self._open(place or self.path, self._start)
        return left

    def _copy(self) -> bool:
        """Go on with a copy of what was in the file before it was truncated, if there is one with more to read."""
        this, at = self._this(), self._lines.read
        for other in self.path.parent.glob(f"{self.path.name}?*"):
            with suppress(OSError), open(other, "rb") as file:
                if other.is_file() and same_content(file.fileno(), this, this.read + 1) and this.read:
                    assert self._file is not None
                    self._file.close()
                    self._file = open(other, "rb", buffering=0)  # noqa: SIM115 - closed by close
                    self._file.seek(this.read)
                    self._inode = os.fstat(self._file.fileno()).st_ino
                    return True
        LOG.warning("%s was truncated after byte %d; what was written to it and not read is gone", self.path, at)
        return False

    def lag(self) -> dict[tuple[str, int], int]:
        """Return how many records are still in the file, as its length and those read so far suggest."""
        if self._file is None:
            return {(self.topic, 0): 0}
        read = self._lines.read - self._start
        size = GUESS if not self._taken or not read else max(read / self._taken, 1)
        return {(self.topic, 0): math.ceil(self._unread(self._file) / size)}

    def _unread(self, file: IO[bytes]) -> int:
        return max(os.fstat(file.fileno()).st_size - (self._lines.read - self._start), 0)

    def close(self) -> None:
        """Close the file, and say what of it was left unread."""
        self.ended = True
        if self._file is not None:
            left = self._lines.read - self._lines.offset
            if left and not self._file.closed and not self._unread(self._file):
                LOG.warning("%s: its last line has no end: %d bytes are not counted yet", self.path, left)
            self._file.close()


def _last(known: Sequence[Known], at: int) -> Known:
    """Return the file that was being read at an offset."""
    return max((each for each in known[::-1] if each.start <= at), key=lambda each: each.start, default=Known(0, 0, 0))


def _other_source(monitor: Monitor, places: Iterable[tuple[str, int]], given: str) -> OtherSourceError:
    """Return the error for a store with counts of other topics."""
    path = monitor.stored_note(PATH)
    topics = sorted({topic for topic, _ in places})
    names = [path if path is not None and Path(path).name == topic else topic for topic in topics]
    return OtherSourceError(" and ".join(names), given, "" if monitor.store is None else monitor.store.name)


class StdinSource:
    """The lines of standard input, or of another descriptor, as records of partition 0 of the topic stdin."""

    def __init__(self, descriptor: int = 0) -> None:
        self.ended = False
        self._descriptor = descriptor
        self._lines = Lines("stdin", 0)

    def start(self, monitor: Monitor) -> None:
        """Count on from the offset where the monitor stopped; what comes is taken to be new."""
        offsets = monitor.stored_offsets()
        if offsets and ("stdin", 0) not in offsets:
            raise _other_source(monitor, offsets, "standard input")
        at = monitor.assign([0]).get(("stdin", 0), 0)
        if at:
            message = "standard input starts from its beginning; what was read of it before, %d bytes, stays counted"
            LOG.warning(message, at)
        self._lines = Lines("stdin", at)

    def poll(self, timeout: float) -> list[Record]:
        """Return the records that arrived; an empty list if none did within `timeout` seconds."""
        if self.ended or not select.select([self._descriptor], [], [], timeout)[0]:
            return []
        block = os.read(self._descriptor, BLOCK)
        if block:
            return self._lines.add(block)
        self.ended = True
        return self._lines.last()

    def lag(self) -> None:
        """Return None: how much is to come is unknown."""

    def close(self) -> None:
        """Read no more."""
        self.ended = True
