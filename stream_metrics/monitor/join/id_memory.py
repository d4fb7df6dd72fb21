"""Ids of predictions that were joined, have expired or were refused, long after all else of them is forgotten.

A day's events may be delivered again. Each id takes 9 bytes in the state file and up to 19 in memory, so that days
of them can be remembered, where a whole pair takes hundreds of bytes. What is remembered beside the hash of an id is a
mark: what became of it and, if it was joined, a byte of its truth, which tells a label that comes again from another.

Like all of the join it depends on the events before and on nothing else. What came since the last checkpoint is one
more segment of a log, or is added to the last segment while that is small. So a slow stream does not leave a row in the
store for every second of days, all of which a start would have to read.
"""

from __future__ import annotations

import math
import zlib
from array import array
from collections import deque
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from stream_metrics.labels import Label
from stream_metrics.monitor._core.kernels import IdTable, id_hash
from stream_metrics.monitor.events.records import Truth
from stream_metrics.monitor.join.entry_log import STEPS, converted_step
from stream_metrics.monitor.store.rows import Moves, Segment, Written
from stream_metrics.wire import decoded, encoded

EXPIRED_MARK, REFUSED_MARK, FIRST_TRUTH = 0, 1, 2
FULL = 512  # ids of a full segment: 5 kB, which fit into a page of the state file
Ids: TypeAlias = "dict[int, tuple[array[int], bytearray]]"  # hashes and marks by generation, in the order they came


def truth_mark(truth: Truth) -> int:
    """Return the mark of a joined pair: equal truths have equal marks, others with a probability of 1 in 254."""
    return FIRST_TRUTH + zlib.crc32(encoded(truth)) % (256 - FIRST_TRUTH)


class IdMemory:
    """The marks of ids for `keep` seconds of the time of a partition, at most `most` of them."""

    def __init__(self, keep: float, most: int) -> None:
        self.table = IdTable()
        self.most = most if keep else 0
        self.edge = -math.inf if self.most else math.inf  # the time from which `advance` has something to do
        self.n = 0
        self._step_length = keep / STEPS  # in seconds
        self._step: int | None = None  # of the time, None before there is one
        self._first = 0  # the number of the oldest generation
        self._sizes: deque[list[int]] = deque()  # step and size of each generation
        self._new: Ids = {}  # since the last checkpoint
        self._tail: Ids = {}  # of the last segment, while that is not full
        self._segments: deque[Segment] = deque()  # those later than all before are enough
        self._next = 0

    def advance(self, time: float) -> None:
        """Forget what is too old at a time."""
        if time < self.edge:
            return
        step = int(time // self._step_length)
        if self._step is None:
            for size in self._sizes:
                size[0] = step
        self._step = step
        self.edge = (step + 1) * self._step_length
        while self._sizes and self._sizes[0][0] < step - STEPS:
            self._drop()

    def _drop(self) -> int:
        """Forget the oldest generation, and return how many ids it had."""
        _, size = self._sizes.popleft()
        self._first += 1
        self.n -= size
        self.table.oldest = self._first
        return size

    def put(self, key: Label, mark: int) -> int:
        """Remember an id, and return how many others were forgotten because there are too many."""
        if not self.most:
            return 0
        step = self._step or 0
        if not self._sizes or self._sizes[-1][0] != step or self._sizes[-1][1] >= max(self.most // STEPS, 1):
            self._sizes.append([step, 0])
        generation, hashed = self._first + len(self._sizes) - 1, id_hash(key)
        self._sizes[-1][1] += 1
        self.n += 1
        self._write(hashed, mark, generation)
        forgotten = 0
        while self.n > self.most:
            forgotten += self._drop()
        return forgotten

    def remark(self, key: Label, mark: int) -> None:
        """Change the mark of an id, if it is known."""
        hashed = id_hash(key)
        generation = self.table.generation(hashed)
        if generation is not None:
            self._write(hashed, mark, generation)

    def _write(self, hashed: int, mark: int, generation: int) -> None:
        self.table.put(hashed, mark, generation)
        new = self._new.get(generation)
        if new is None:
            new = self._new[generation] = array("Q"), bytearray()
        new[0].append(hashed)
        new[1].append(mark)

    def mark(self, key: Label) -> int | None:
        """Return the mark of an id, None if it is not known."""
        mark = self.table.mark(key)
        return None if mark < 0 else mark

    def prepared(self) -> Written:
        """Return what a checkpoint has to write; nothing changes before `written`."""
        first = next((each.number for each in self._segments if each.last >= self._first), self._next)
        if all(generation < self._first for generation in self._new):
            return Written(None, first, Moves(), 0, [])
        groups = [
            (generation, np.array(hashes, "<u8").tobytes(), bytes(marks))
            for generation, (hashes, marks) in sorted(_together(self._tail, self._new).items())
            if generation >= self._first
        ]
        number = self._next - bool(self._tail)
        size = sum(len(marks) for _, _, marks in groups)
        segment = Segment(number, size, groups[-1][0], encoded(groups))
        return Written(segment, min(first, number), Moves(), 0, [])

    def written(self, done: Written) -> None:
        """Note that a checkpoint has written what was prepared."""
        if done.segment is not None:
            self._tail = {} if done.segment.size >= FULL else _together(self._tail, self._new)
        self._new = {}
        while self._segments and self._segments[0].number < done.first:
            self._segments.popleft()
        if done.segment is not None:
            self._note(done.segment)

    def _note(self, segment: Segment) -> None:
        """Note a segment that is in the log, perhaps instead of a smaller one of the same number."""
        if not self._segments or segment.last > self._segments[-1].last:
            self._segments.append(segment._replace(body=b""))
        self._next = segment.number + 1

    def content(self) -> list[object]:
        """Return everything but the ids, as plain values."""
        return [self._first, self._step, [list(size) for size in self._sizes], self._step_length]

    def load(self, content: Any, segments: Iterable[Segment]) -> None:
        """Load what was written. Ids that are too old for a length that is shorter now are forgotten at the next event.

        If no ids are to be remembered now, the next checkpoint deletes those that were written.
        """
        if not self.most:
            self._next = max((segment.number + 1 for segment in segments), default=0)
            return
        first, step, sizes, *length = content
        self._first, self._step = first, step
        self._sizes = deque(list(size) for size in sizes)
        self.n = sum(size for _, size in sizes)
        self.table.oldest = first
        if step is not None and length:
            self._step = converted_step(step, length[0], self._step_length)
            for size_of_step in self._sizes:
                size_of_step[0] = converted_step(size_of_step[0], length[0], self._step_length)
        for segment in segments:
            for generation, hashes, marks in decoded(segment.body):
                if generation >= first:
                    self.table.put_many(np.frombuffer(hashes, "<u8").astype(np.uint64, copy=False), marks, generation)
            self._note(segment)


def _together(ids: Ids, more: Ids) -> Ids:
    """Return ids followed by those that came later."""
    if not ids:
        return more
    both = {generation: (hashes[:], marks[:]) for generation, (hashes, marks) in ids.items()}
    for generation, (hashes, marks) in more.items():
        known = both.setdefault(generation, (array("Q"), bytearray()))
        known[0].extend(hashes)
        known[1].extend(marks)
    return both
