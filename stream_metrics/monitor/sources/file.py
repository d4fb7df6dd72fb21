"""A file of JSON Lines, followed like `tail -F`, or standard input.

Offsets count the bytes of all that was read under this name: when the file is replaced or truncated, the new one starts
at the offset where the old one ended. A file that is renamed while it is followed is read to its end through the open
descriptor, and then the new one from its start. How the open file began, what was read of it last, and its inode are
stored with every checkpoint, so that a restart goes on only with the file that it was reading, whatever its name is by
now. If it is another one, `truncated` decides: fail, or read the new one from its start.

A file may also be truncated and written again (copytruncate). Before new bytes are taken, those before them must be the
ones that were read last; if they are not, the file is read from its start.

A last line without an end is an event if it is a whole JSON object. If it is not, and a state file goes on from there,
it is taken to be half written, and is left for the next time.

Of standard input nothing can be read again: after a restart its offsets go on where they were, and what comes is new.
"""

from __future__ import annotations

import json
import logging
import math
import os
import select
import time
import zlib
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

from stream_metrics.monitor._core.kernels import cut
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import StoreError
from stream_metrics.monitor.store.rows import OtherSourceError

BLOCK = 1 << 20
LONGEST = 16 << 20
KEPT = 200
CUT = b"\xff"  # ends the part of a long line that is kept: no JSON and no UTF-8, whatever is before it


class Lines:
    """Cuts what is read into records of `topic`, from the offset `start` on.

    A line longer than 16 MB is cut down to its start and made no JSON, so that it is rejected and takes no memory.
    """

    def __init__(self, topic: str, start: int) -> None:
        self.topic = topic
        self.offset = start  # of the first line that is not complete
        self.read = start
        self._rest: list[bytes] = []
        self._held = 0

    def add(self, block: bytes) -> list[Record]:
        """Return the records that are complete with these bytes."""
        self.read += len(block)
        end = block.rfind(b"\n") + 1
        if not end:
            self._keep(block)
            return []
        began, start = self.read - len(block), self.offset
        first = block.index(b"\n") + 1 if self._rest else 0
        head = self._line(block[: first - 1]) if first else b""
        records: list[Record] = cut(block[first:end], self.topic, began + first, Record)
        self.offset, self._rest, self._held = began + end, [], 0
        self._keep(block[end:])
        if head and not head.isspace():
            following = records[0].offset if records else self.offset
            records.insert(0, Record(self.topic, 0, start, following, None, None, head))
        return records

    def _keep(self, rest: bytes) -> None:
        """Keep the start of a line for when it goes on."""
        if not rest:
            return
        self._held += len(rest)
        if self._held <= LONGEST:
            self._rest.append(rest)
        else:
            self._rest = [b"".join((*self._rest, rest))[:KEPT]]

    def _line(self, end: bytes) -> bytes:
        """Return the line that is complete with these bytes, or its start if it is too long."""
        return b"".join((*self._rest, end)) if self._held <= LONGEST else self._rest[0] + CUT

    def half_written(self) -> bool:
        """Tell whether a last line that has no end is no whole JSON object, so that more of it may come."""
        try:
            return not isinstance(json.loads(self._line(b"")), dict)
        except (ValueError, RecursionError):
            return self._held > 0

    def last(self) -> list[Record]:
        """Return the record of a last line that has no end, if there is one: nothing follows."""
        value = self._line(b"")
        record = Record(self.topic, 0, self.offset, self.read, None, None, value)
        self._rest, self._held, self.offset = [], 0, self.read
        return [record] if value and not value.isspace() else []


LOG = logging.getLogger("stream_metrics.monitor")
BEGINNING = 256  # bytes at both ends by which a file is recognised
NAP = 0.05
PATH = "file"  # the note that has the path
GUESS = 150  # bytes of a record, before any was read


class _Known(NamedTuple):
    """A file that was read: the offset at which it started, and the length and crc of how it began.

    Its inode, how many bytes of it were read, and the crc of the last 256 of these are 0 in states of earlier versions.
    """

    start: int
    size: int
    crc: int
    inode: int = 0
    read: int = 0
    tail: int = 0

    def is_in(self, file: IO[bytes], at: int) -> bool:
        """Tell whether an open file is this one, and has the bytes up to the offset `at`."""
        status, last = os.fstat(file.fileno()), min(self.read, BEGINNING)
        if not self.size:  # nothing is known of its content
            return status.st_size >= at - self.start and self.inode in (0, status.st_ino)
        return (
            status.st_size >= max(at - self.start, self.read)
            and zlib.crc32(os.pread(file.fileno(), self.size, 0)) == self.crc
            and zlib.crc32(os.pread(file.fileno(), last, self.read - last)) == self.tail
        )


class FileSource:
    """The lines of a file, as records of partition 0 of a topic that is named like the file.

    With `follow` it waits for more at the end, and goes on with the new file when it is replaced or truncated. The
    store must have counts of this file only, which may have been renamed. ``StoreError`` at the start if the store goes
    on with another file and `truncated` is "fail"; with "reset" the new one is read from its start, and the counts are
    marked, since they may lack records, and have records twice that are in both files.
    """

    def __init__(self, path: str, follow: bool = False, truncated: str = "fail") -> None:
        self.path = Path(path)
        self.topic = self.path.name
        self.ended = False
        self._follow, self._truncated = follow, truncated
        self._start = 0  # the offset at which the open file starts
        self._lines = Lines(self.topic, 0)
        self._began = b""  # how the open file begins
        self._last = b""  # the last bytes that were read of it
        self._inode = 0
        self._monitor: Monitor
        self._file: IO[bytes] | None = None
        self._taken = 0  # records
        self.problem: str | None = None  # why no records can come now

    def start(self, monitor: Monitor) -> None:
        """Go on where the monitor stopped; nothing is stored before the file is known to be the right one."""
        self._monitor = monitor
        try:
            file = self._open_path()
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from error
        with ExitStack() as undo:
            if file is not None:
                undo.callback(file.close)
            name, at, known = self._stored(file)
            replaced = known is not None and self._is_replaced(known, file, at)
            monitor.assign([0])
            undo.pop_all()
        self._start = at if known is None or replaced else known.start
        monitor.attach(f"file {self.topic}", lambda: [list(self._this())])
        monitor.attach(PATH, lambda: str(self.path.absolute()))
        if name != self.topic:
            LOG.warning("%s: goes on with what was %s before", self.path, name)
            monitor.rename_topic(0, name, self.topic)
        self._lines = Lines(self.topic, at)
        if replaced:
            message = f"{self.path} was replaced while no monitor read it: records may be missing, or counted twice"
            LOG.warning("%s", message)
            monitor.mark_incomplete(0, message)
        if file is not None:
            self._take(file, at)
        if monitor.store is not None:
            try:
                monitor.checkpoint()  # a restart before the first event must know the file
            except StoreError as error:
                monitor.note_error(error, "the first checkpoint failed, and is tried again")

    def _is_replaced(self, known: _Known, file: IO[bytes] | None, at: int) -> bool:
        """Tell whether another file is there than the one that was read; ``StoreError`` if that is not allowed."""
        if known.is_in(file, at) if file is not None else at == known.start:
            return False
        if self._truncated == "reset":
            return True
        what = "is not the file that was read" if file is not None else "does not exist any more"
        raise StoreError(
            f"{self.path} {what}, up to byte {at - known.start}. If that one was renamed, read it to its end under its "
            'new name. Then, or if it is gone, truncated = "reset" goes on with the file that is there, from its '
            "start; records may be missing, or counted twice"
        )

    def _open_path(self) -> IO[bytes] | None:
        """Open the file; None if there is none, and it is waited for."""
        try:
            return open(self.path, "rb", buffering=0)
        except FileNotFoundError:
            if self._follow:
                return None
            raise

    def _stored(self, file: IO[bytes] | None) -> tuple[str, int, _Known | None]:
        """Return the name under which the store has this file, the offset, and what is known of the file, if anything.

        That is the name of this file, however it is called now, or a longer one, under which the rest of it was read.
        ``OtherSourceError`` if the store has counts of another file, or of another source.
        """
        offsets = {name: at for (name, _), at in self._monitor.stored_offsets().items()}
        names = [self.topic] if self.topic in offsets or not offsets else list(offsets)
        for name in names:
            at = offsets.get(name, 0)
            stored = [_Known(*known) for known in self._monitor.stored_note(f"file {name}") or ()]
            known = max((each for each in stored if each.start <= at), key=lambda each: each.start, default=None)
            if name == self.topic:
                return name, at, known or (_Known(0, 0, 0) if at else None)
            here = known is not None and known.size and file is not None and known.is_in(file, at)
            if here or (known is not None and name.startswith(self.topic)):  # else `_is_replaced` says what to do
                return name, at, known
        raise _other_source(self._monitor, offsets, str(self.path))

    def _take(self, file: IO[bytes], at: int) -> None:
        """Go on reading an open file at an offset."""
        self._file = file
        read = at - self._start
        last = min(BEGINNING, read)
        self._began = os.pread(file.fileno(), BEGINNING, 0)
        self._last = os.pread(file.fileno(), last, read - last)
        file.seek(read)
        self._inode = os.fstat(file.fileno()).st_ino

    def _this(self) -> _Known:
        """Return what a checkpoint has to keep of the open file."""
        beginning = len(self._began), zlib.crc32(self._began)
        return _Known(self._start, *beginning, self._inode, self._lines.read - self._start, zlib.crc32(self._last))

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
            before = self._lines.read - self._start
            self._began = (self._began[:before] + block)[:BEGINNING]
        self._last = (self._last + block)[-BEGINNING:]
        return self._lines.add(block)

    def _intact(self) -> bool:
        """Tell whether the file still has what was read of it last."""
        if self._file is None:
            return True
        last = len(self._last)
        return os.pread(self._file.fileno(), last, self._lines.read - self._start - last) == self._last

    def _moved_on(self) -> list[Record] | None:
        """Go on at the end of the file with a new one, if there is one by now, and return what was left of the old one.

        None if there is no other.
        """
        try:
            file = self._open_path()
            self.problem = f"{self.path} does not exist" if file is None else None
        except OSError as error:  # perhaps its permissions come later
            file, self.problem = None, f"{self.path}: {error.strerror}"
        if file is None:
            return None
        if self._file is None:
            self._take(file, self._start)
            return []
        here, there = os.fstat(self._file.fileno()), os.fstat(file.fileno())
        if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
            if here.st_size >= self._lines.read - self._start and self._intact():
                file.close()
                return None
            message = "%s was truncated after byte %d; what was written to it and not read is gone"
            LOG.warning(message, self.path, self._lines.read)
        elif block := self._file.read(BLOCK):  # what was written before it was renamed
            file.close()
            return self._read(block)
        left = self._lines.last()
        self._start = self._lines.read
        self._file.close()
        self._lines = Lines(self.topic, self._start)
        self._take(file, self._start)
        return left

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


def _other_source(monitor: Monitor, topics: Iterable[str], given: str) -> OtherSourceError:
    """Return the error for a store with counts of other topics."""
    path = monitor.stored_note(PATH)
    names = [path if path is not None and Path(path).name == topic else topic for topic in sorted(topics)]
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
            raise _other_source(monitor, {name for name, _ in offsets}, "standard input")
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
