"""Entries by id, in the order in which they came, bounded by age and number, and written as a log.

An entry is a tuple that starts with the number of the event by which it came. Entries are in the order of these
numbers, so the oldest are at the front. Age is measured by the largest event time seen, in steps of a 64th of the time
that entries are kept: an entry expires when that time, and at most one step more, has passed. So expiry does not depend
on how events are cut into batches, and the front of the dict is not searched with every event.

Each checkpoint appends one segment to the log: the ids removed since the last checkpoint, and the entries that came and
are still here. Most entries come and go within one interval and are never written, and none is written in place.
Segments are deleted from the front, once all their entries were removed. (Rows by id, inserted and deleted one by one,
would be simpler. With random ids each of them changes a page of its own: 4 kB for 100 bytes, which a disk takes for
thousands of events a second, but not for a hundred thousand.) Only entries that do not fit into memory are moved to
such rows.

Memory: 300 bytes for an entry with an id of 16 characters and scores of three classes.

The oldest pending entries are in the state file only if there are more than fit into memory. Their rows are numbered in
the order in which their entries came, so the oldest are found without an index by age. Rows taken since the last
checkpoint are noted here and deleted by the next one: until that is written, the file does not change.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Protocol, TypeAlias

from stream_metrics.labels import Label
from stream_metrics.monitor._core.kernels import first_of
from stream_metrics.monitor.store.rows import Moves, PendingRow, Segment, Written
from stream_metrics.wire import decoded, encoded

STEPS = 64
LOG = 2  # the log holds at most this many times the entries that are kept in memory
SEGMENTS = 256  # in this many segments, so that a slow stream does not leave one for every second of a week


class EntryLog:
    """Entries by id, as bytes: `entries` has those in memory, `removed` the ids that left since the last checkpoint.

    `keep` is in seconds; `most` bounds how many entries there are; those beyond `in_memory` are moved to `spill`.
    """

    def __init__(
        self,
        keep: float,
        most: int,
        spill: Spill | None = None,
        in_memory: int = 0,
    ) -> None:
        self.entries: dict[Label, bytes] = {}
        self.removed: list[Label] = []
        self.spill = spill
        self.most = most
        self.edge = -math.inf if keep else math.inf  # the event time from which `advance` has something to do
        self.edges: deque[tuple[int, int]] = deque()  # (step, number of its first event)
        self.logged = 0  # entries of events before this number are in the log
        self.step_length = keep / STEPS  # in seconds
        self._in_memory = in_memory
        self._segments: deque[Segment] = deque()
        self._next = 0

    def __len__(self) -> int:
        return len(self.entries) + (0 if self.spill is None else self.spill.n)

    def capacity(self) -> int:
        """Return how many entries may be in memory, those elsewhere being as many as they are."""
        return self.most - len(self) + len(self.entries)

    def put(self, key: Label, entry: Entry) -> None:
        """Have an entry, the newest."""
        self.entries[key] = encoded(entry)

    def get(self, key: Label) -> Entry | None:
        """Return an entry, or None."""
        body = self.entries.get(key)
        if body is None:
            return None if self.spill is None else self.spill.get(key)
        return entry_of(body)

    def pop(self, key: Label) -> Entry | None:
        """Take an entry, or None."""
        body = self.entries.pop(key, None)
        if body is None:
            return None if self.spill is None else self.spill.pop(key)
        if first_of(body) < self.logged:
            self.removed.append(key)
        return entry_of(body)

    def advance(self, watermark: float, number: int) -> list[tuple[Label, Entry]]:
        """Remove the entries that are too old at an event time, and return them; `number` is that of the event."""
        if watermark < self.edge:
            return []
        step = int(watermark // self.step_length)
        self.edge = (step + 1) * self.step_length
        self.edges.append((step, number if self.edges else 0))  # what came before there was a time came at the first
        while self.edges[0][0] < step - STEPS:
            self.edges.popleft()
        return self.oldest(self.edges[0][1], 0)

    def evict_overflow(self) -> list[tuple[Label, Entry]]:
        """Take the oldest if there are too many, a step's worth of them, and return them."""
        return [] if len(self) <= self.most else self.oldest(0, max(len(self) - self.most, self.most // STEPS))

    def oldest(self, cut: int, least: int) -> list[tuple[Label, Entry]]:
        """Take the entries, with their ids, that came before the event numbered `cut`, and at least `least`."""
        gone: list[tuple[Label, Entry]] = []
        if self.spill is not None:
            gone += self.spill.oldest(cut, least)
        if self.spill is not None and self.spill.n:
            return gone
        bodies = []
        for key, body in self.entries.items():
            if len(gone) >= least and first_of(body) >= cut:
                break
            bodies.append(body)
            gone.append((key, entry_of(body)))
        for (key, _), body in zip(gone[len(gone) - len(bodies) :], bodies, strict=True):
            del self.entries[key]
            if first_of(body) < self.logged:
                self.removed.append(key)
        return gone

    def prepared(self, number: int) -> Written:
        """Return what a checkpoint before the event of this number has to write; nothing changes before `written`."""
        keys, bodies = self._new(number)
        spilled = self._outgrown(len(keys))
        left = [*self.removed, *(key for key, _ in spilled)]
        segment = None
        if keys or left:
            last = first_of(bodies[-1]) if bodies else -1
            segment = Segment(self._next, len(keys), last, encoded([left, keys, bodies]))
        moves = Moves() if self.spill is None else self.spill.moves(spilled)
        return Written(segment, self._needed(len(spilled)), moves, number, [key for key, _ in spilled])

    def _new(self, number: int) -> tuple[list[Label], list[bytes]]:
        """Return ids and entries that are not in the log yet: the last ones in memory, mostly as many as events."""
        size, latest = number - self.logged + 1, list[bytes]()
        while len(self.entries) > len(latest) and (not latest or first_of(latest[-1]) >= self.logged):
            latest = list(islice(reversed(self.entries.values()), size))
            size *= 2
        new = bisect_right(latest, -self.logged, key=lambda body: -first_of(body))
        return list(islice(reversed(self.entries), new))[::-1], latest[:new][::-1]

    def _outgrown(self, coming: int) -> list[tuple[Label, bytes]]:
        """Return the oldest entries of those that are in the log, if memory or log are full once some are coming."""
        if self.spill is None:
            return []
        many = len(self.entries) - self._in_memory
        logged, cut = sum(segment.size for segment in self._segments) + coming, 0
        for at, segment in enumerate(self._segments):
            if logged <= LOG * self._in_memory and len(self._segments) - at < SEGMENTS:
                break
            logged, cut = logged - segment.size, segment.last + 1
        spilled: list[tuple[Label, bytes]] = []
        if many > 0 or cut:
            for item in self.entries.items():
                number = first_of(item[1])
                if number >= self.logged or (len(spilled) >= many and number >= cut):
                    break
                spilled.append(item)
        return spilled

    def _needed(self, spilled: int) -> int:
        """Return the number of the first segment that still holds an entry, those that are spilled left out."""
        for body in islice(self.entries.values(), spilled, spilled + 1):
            number = first_of(body)
            if number < self.logged:
                return next(segment.number for segment in self._segments if segment.last >= number)
        return self._next

    def written(self, done: Written) -> None:
        """Note that a checkpoint has written what was prepared."""
        self.logged = done.logged
        self.removed.clear()
        for key in done.spilled:
            del self.entries[key]
        if self.spill is not None:
            self.spill.written(done.moves)
        while self._segments and self._segments[0].number < done.first:
            self._segments.popleft()
        if done.segment is not None:
            self._segments.append(done.segment._replace(body=b""))
            self._next += 1

    def load(
        self, segments: Iterable[Segment], edges: Iterable[tuple[int, int]], number: int, step_length: float
    ) -> None:
        """Load what was written before the event of this number, with steps of this length."""
        self.logged = number
        for segment in segments:
            left, keys, bodies = decoded(segment.body)
            for key in left:
                self.entries.pop(key, None)
            self.entries.update(zip(keys, bodies, strict=True))
            self._segments.append(segment._replace(body=b""))
            self._next = segment.number + 1
        if self.step_length:
            self.edges.extend((converted_step(step, step_length, self.step_length), number) for step, number in edges)
        if self.edges:
            self.edge = (self.edges[-1][0] + 1) * self.step_length


def converted_step(step: int, old_length: float, new_length: float) -> int:
    """Return the number of a step in steps of another length: of the one in which it ends, so that nothing is early."""
    return step if old_length == new_length else int((step + 1) * old_length // new_length)


Entry: TypeAlias = tuple[Any, ...]  # the number of its event, its kind, and what the join keeps of that kind
AT_ONCE = 900  # older versions of SQLite take 999 parameters


def entry_of(body: bytes) -> Entry:
    """Return an entry that was written as bytes."""
    entry: Entry = decoded(body)
    return entry


class PendingRows(Protocol):
    """Where the rows of pending entries are: (row, id as bytes, entry as bytes)."""

    def rows_of(self, part: int, ids: Sequence[bytes]) -> list[PendingRow]:
        """Return the rows of these ids."""

    def following(self, part: int, row: int, most: int) -> list[PendingRow]:
        """Return the first rows from this number on, in order."""


class Spill:
    """The oldest entries of a partition: `n` of them, in rows from `floor` to before `next`, but for those taken."""

    def __init__(self, rows: PendingRows, part: int, n: int = 0, floor: int = 0, next_row: int = 0) -> None:
        self._rows, self._part = rows, part
        self.n, self.floor, self.next = n, floor, next_row
        self.prefetched: dict[Label, tuple[int, bytes]] = {}  # what was looked up for the events at hand
        self._taken: set[int] = set()

    def look(self, keys: Iterable[Label]) -> None:
        """Look up entries that may be read until `forget`; no others can be."""
        keys = list(keys)
        by_id = dict(zip([encoded(key) for key in keys], keys, strict=True))
        ids = list(by_id)
        for start in range(0, len(ids), AT_ONCE):
            for row, key_data, body in self._rows.rows_of(self._part, ids[start : start + AT_ONCE]):
                if row >= self.floor and row not in self._taken:
                    self.prefetched[by_id[key_data]] = row, body

    def forget(self) -> None:
        """Forget what was looked up."""
        self.prefetched.clear()

    def get(self, key: Label) -> Entry | None:
        """Return an entry that was looked up, or None."""
        row = self.prefetched.get(key)
        return None if row is None else entry_of(row[1])

    def pop(self, key: Label) -> Entry | None:
        """Take an entry that was looked up, or None."""
        row = self.prefetched.pop(key, None)
        if row is None:
            return None
        self._taken.add(row[0])
        self.n -= 1
        return entry_of(row[1])

    def oldest(self, cut: int, most: int) -> list[tuple[Label, Entry]]:
        """Take the entries, with their ids, that came before the event numbered `cut`, and at least `most`."""
        gone: list[tuple[Label, Entry]] = []
        while self.n:
            rows = self._rows.following(self._part, self.floor, AT_ONCE)
            if not rows:
                raise ValueError(f"Expected {self.n} more pending rows of partition {self._part}, but got none")
            for row, key_data, body in rows:
                if row not in self._taken:
                    entry = entry_of(body)
                    if entry[0] >= cut and len(gone) >= most:
                        return gone
                    key = decoded(key_data)
                    gone.append((key, entry))
                    self.prefetched.pop(key, None)
                    self.n -= 1
                self.floor = row + 1
        return gone

    def content(self, moving: int) -> list[int]:
        """Return the numbers that it is made with again, once so many entries have been added."""
        return [self.n + moving, self.floor, self.next + moving]

    def moves(self, added: Iterable[tuple[Label, bytes]]) -> Moves:
        """Return what the next checkpoint has to do, if these entries are added."""
        added = list(added)
        ids = [encoded(key) for key, _ in added]
        numbered = enumerate(zip(ids, added, strict=True), self.next)
        rows = tuple((row, key_data, body) for row, (key_data, (_, body)) in numbered)
        return Moves(self.floor, tuple(self._taken), rows)

    def written(self, moves: Moves) -> None:
        """Note that a checkpoint has done it."""
        self._taken.difference_update(moves.taken)
        self.next += len(moves.added)
        self.n += len(moves.added)
