"""Bytes to records, one for each line; offsets are those of bytes."""

from __future__ import annotations

import json

from stream_metrics.monitor._core.kernels import cut
from stream_metrics.monitor.events.records import Record

__all__ = ["BLOCK", "Lines"]

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
