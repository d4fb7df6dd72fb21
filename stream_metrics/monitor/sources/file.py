"""A file of JSON Lines, followed like `tail -F`, or standard input.

Offsets count the bytes of all that was read under this name: when the file is rotated or truncated, the new one starts
at the offset where the old one ended. Where each of the last files started, and how each began, is kept with every
checkpoint, so that a restart knows whether the file that it finds is the one that it was reading. If it is not, the
rest of the old one is looked for in the same folder, where rotation leaves it. If that is not there either, records may
be gone that were not read: what then happens is for `truncated` to say, as with Kafka.

Of standard input nothing can be read again: after a restart its offsets go on where they were, and what comes is new.
"""

from __future__ import annotations

import logging
import math
import os
import select
import time
import zlib
from pathlib import Path
from typing import IO, NamedTuple

from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.records import Record
from stream_metrics.monitor.sources.lines import BLOCK, Lines
from stream_metrics.monitor.store import StoreError

__all__ = ["FileSource", "StdinSource"]

LOG = logging.getLogger("stream_metrics.monitor")
BEGINNING = 256
FILES = 8
NAP = 0.05
GUESS = 150  # bytes of a record, before any was read


class Known(NamedTuple):
    """A file that was read: the offset at which it started, and the length and crc of how it began."""

    start: int
    size: int
    crc: int


class FileSource:
    """The lines of a file, as records of partition 0 of a topic that is named like the file.

    With `follow` it waits for more at the end, and goes on with the new file when it is rotated or truncated. Raises
    ``StoreError`` at the start if the file that was being read is gone and `truncated` is "fail"; with "reset" it goes
    on with the new one, and the counts are marked as incomplete.
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
        self._file: IO[bytes] | None = None
        self._taken = 0  # records
        self._missing = False

    @property
    def problem(self) -> str | None:
        """Why no records can come now."""
        return f"{self.path} does not exist" if self._missing else None

    def start(self, monitor: Monitor) -> None:
        """Go on where the monitor stopped."""
        stored = monitor.attach(f"file {self.topic}", self._kept)
        self._known = [Known(*known) for known in stored or ()]
        at = monitor.assign([0]).get((self.topic, 0), 0)
        self._start = max((known.start for known in self._known if known.start <= at), default=0)
        self._known = [known for known in self._known if known.start < self._start]
        wanted = next((Known(*known) for known in (stored or ())[::-1] if known[0] == self._start), Known(0, 0, 0))
        place = self._find(wanted, at - self._start)
        self._lines = Lines(self.topic, at)
        if place is None and at > self._start:
            self._gone(monitor, wanted, at)
            place = self.path if self.path.exists() else None
        if place is not None:
            self._open(place, at)

    def _gone(self, monitor: Monitor, wanted: Known, at: int) -> None:
        """Go on with another file than the one that was being read, if that is allowed."""
        message = f"{self.path}: what followed byte {at - self._start} of the file that was being read is gone"
        if self._truncated != "reset":
            raise StoreError(f'{message}; truncated = "reset" goes on with the file that is there now')
        LOG.warning("%s; counts lack it", message)
        monitor.mark_incomplete(0, message)
        self._known.append(wanted)
        self._start = at

    def _open(self, path: Path, at: int) -> None:
        self._lines = Lines(self.topic, at)
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close
        self._began = os.pread(self._file.fileno(), min(BEGINNING, at - self._start), 0)
        self._file.seek(at - self._start)

    def _find(self, wanted: Known, at: int) -> Path | None:
        """Return the file that began like the wanted one and is long enough; the first choice is the one named."""
        others = sorted(self.path.parent.glob(f"{self.path.name}?*"))
        for path in (self.path, *others):
            try:
                with open(path, "rb") as file:
                    beginning = file.read(wanted.size)
                    if zlib.crc32(beginning) == wanted.crc and os.fstat(file.fileno()).st_size >= at:
                        return path
            except OSError as error:
                if path == self.path and not (self._follow and isinstance(error, FileNotFoundError)):
                    raise StoreError(f"{path}: {error.strerror or error}") from error
        return None

    def _kept(self) -> list[list[int]]:
        """Return what a checkpoint has to keep: the last files read, this one included."""
        this = Known(self._start, len(self._began), zlib.crc32(self._began))
        return [list(known) for known in (*self._known[-FILES:], this)]

    def poll(self, timeout: float) -> list[Record]:
        """Return the records of the next megabyte."""
        end = time.monotonic() + timeout
        while not self.ended:
            block = b"" if self._file is None else self._file.read(BLOCK)
            records = self._read(block) if block else self._moved_on()
            if records is None:
                self.ended = not self._follow
                records = self._lines.last() if self.ended else []
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
        return self._lines.add(block)

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
        if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
            if here.st_size >= self._lines.read - self._start:
                return None
        else:
            block = self._file.read(BLOCK)  # what was written before it was renamed
            if block:
                return self._read(block)
        left = self._lines.last()
        self._known.append(Known(self._start, len(self._began), zlib.crc32(self._began)))
        self._start = self._lines.read
        self._file.close()
        self._open(self.path, self._start)
        return left

    def lag(self) -> dict[tuple[str, int], int]:
        """Return how many records are still in the file, as its length and those read so far suggest."""
        if self._file is None:
            return {(self.topic, 0): 0}
        read = self._lines.read - self._start
        left = max(os.fstat(self._file.fileno()).st_size - read, 0)
        size = GUESS if not self._taken or not read else max(read / self._taken, 1)
        return {(self.topic, 0): math.ceil(left / size)}

    def close(self) -> None:
        """Close the file."""
        self.ended = True
        if self._file is not None:
            self._file.close()


class StdinSource:
    """The lines of standard input, or of another descriptor, as records of partition 0 of the topic stdin."""

    def __init__(self, descriptor: int = 0) -> None:
        self.ended = False
        self._descriptor = descriptor
        self._lines = Lines("stdin", 0)

    def start(self, monitor: Monitor) -> None:
        """Count on from the offset where the monitor stopped; what comes is taken to be new."""
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
