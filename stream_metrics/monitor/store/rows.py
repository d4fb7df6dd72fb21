"""Rows that a store has of a partition, and the changes that a checkpoint writes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from stream_metrics.errors import StreamMetricsError
from stream_metrics.labels import Label
from stream_metrics.wire import encoded

__all__ = [
    "EmptyStoreError",
    "Extent",
    "LETTERS",
    "Moves",
    "NotEmptyError",
    "OtherSourceError",
    "Pane",
    "PaneChange",
    "PartChange",
    "PendingRow",
    "Row",
    "SHELVES",
    "Segment",
    "StaleOwner",
    "StoreError",
    "Written",
    "checksum",
    "offsets",
]

LETTERS = 10_000
SHELVES = 3  # waiting entries, joined ones, ids
PendingRow: TypeAlias = tuple[int, bytes, bytes]  # number, id and entry


class StoreError(StreamMetricsError):
    """A store cannot be read or written; the message says why."""


class EmptyStoreError(StoreError):
    """A store that a monitor has created, or is creating, but not yet written."""


class NotEmptyError(StoreError):
    """A backup would replace something that is stored already."""


class OtherSourceError(StoreError):
    """A store has counts of another source: `stored` is its name, `given` that of the one to be read now."""

    def __init__(self, stored: str, given: str, store: str) -> None:
        super().__init__(
            f"{store}: Expected counts of {given}, but it has those of {stored}, and what was read already would be "
            f"counted again: give {given} a state file of its own"
        )
        self.stored, self.given = stored, given


class StaleOwner(StoreError):
    """Another process has taken over the partition `part`, and counts its records since the last checkpoint."""

    def __init__(self, message: str, part: int) -> None:
        super().__init__(message)
        self.part = part


class Segment(NamedTuple):
    """What one checkpoint adds to the log: its number, how many entries, the last one's number, and the bytes."""

    number: int
    size: int
    last: int
    body: bytes


class Moves(NamedTuple):
    """What a checkpoint does to the pending rows: all before `floor` and those `taken` go, others are added."""

    floor: int = 0
    taken: tuple[int, ...] = ()
    added: tuple[PendingRow, ...] = ()


class Written(NamedTuple):
    """What a checkpoint writes of a shelf, and what the shelf has to do when it is written."""

    segment: Segment | None  # replaces one of the same number
    first: int  # segments before this number are deleted
    moves: Moves
    logged: int  # entries of events before this number are in the log, or gone
    spilled: list[Label]


NO_IDS = Written(None, 0, Moves(), 0, [])


class Pane(NamedTuple):
    """A stored pane: its length and start in nanoseconds, what it counts, and the state as bytes."""

    length: int
    start: int
    name: str
    body: bytes


class Extent(NamedTuple):
    """Which pane a partition has stored: without the state, but with its checksum."""

    part: int
    length: int
    start: int
    crc: int


class PaneChange(NamedTuple):
    """What a checkpoint does to the panes of a partition: those that end by `before` are deleted, too.

    `about` has the facts about them.
    """

    written: list[Pane]
    deleted: list[tuple[str, int, int]]  # name, length and start
    before: int | None
    about: bytes


class Row(NamedTuple):
    """The stored state of a partition."""

    part: int
    epoch: int
    next: dict[str, int]
    state: bytes
    parts: dict[str, bytes]
    waiting: list[Segment]
    done: list[Segment]
    written: float  # as the change that was written last says
    ids: list[Segment]


class PartChange(NamedTuple):
    """What a checkpoint changes in a partition whose next offsets were `previous`."""

    part: int
    epoch: int
    previous: bytes
    next: bytes
    state: bytes
    parts: dict[str, bytes]  # of the counts, those that have changed
    dropped: list[str]  # the names of parts that are gone
    waiting: Written
    done: Written
    written: float = 0.0  # the time of the clock when the last event came
    ids: Written = NO_IDS
    panes: PaneChange | None = None

    @property
    def size(self) -> int:
        """How many bytes it writes, those that outgrow the memory left out."""
        segments = [written.segment for written in (self.waiting, self.done, self.ids)]
        bodies = [segment.body for segment in segments if segment is not None]
        bodies += [] if self.panes is None else [pane.body for pane in self.panes.written]
        return sum(map(len, [self.state, *self.parts.values(), *bodies]))


def offsets(following: Mapping[str, int]) -> bytes:
    """Return the next offset of each topic as bytes, which are equal if the offsets are."""
    return encoded(sorted(following.items()))


def checksum(*data: bytes) -> int:
    """Return the CRC-32 of some bytes, one after the other."""
    total = 0
    for part in data:
        total = zlib.crc32(part, total)
    return total
