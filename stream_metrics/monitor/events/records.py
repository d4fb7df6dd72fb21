"""What comes in: records as a source hands them over, the events that they hold, and why one holds none.

A record is what Kafka calls one; a line of a file is a record too, its offset the number of the byte after the line
before. `next` is the offset after it, which is not always `offset + 1`: files count bytes, and Kafka has gaps.

The share of records that were rejected is of recent ones. A share since the start would hide an hour in which every
record is rejected, once a model has run for months.

**Time.** Counts and the join know the time of events only, so that they are the same whenever records are read. What is
*read* of them must not stand still with the last event, or a window would show its samples for ever once the source
falls silent. So windows are read at a time that goes on:

- While records come and more are known to wait, that is the time of the newest event.
- Once the source is read to its end, or has delivered nothing for `IDLE` seconds, time passes with the clock: the
  windows end as far behind the clock as the freshest events were when they came.
- A source that has ended lets no time pass.
- A partition that is ahead of the clock does not move the others, unless all are.
- A clock that is set back does not stop time: it passes from where it was when that is noticed.

Events whose delay does not fit the others do not say how late it is: see `credible`. None of this is part of a state
or changes a count. It is stored beside the state, so that time also passes over a restart, and all workers that read
the stored counts read them at the same time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.labels import Label


class Absent:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Absent()  # the value of a field that an event does not have; None is a value
Truth: TypeAlias = "Label | Absent"
Prediction: TypeAlias = "Label | Absent | None"  # None is an abstention
Scores: TypeAlias = bytes | float | None  # doubles, one for each class, or the score of one class
Classes: TypeAlias = tuple[Label, ...]
Weight: TypeAlias = int | float
Origin: TypeAlias = tuple[str, int, int]  # topic, partition and offset of a record
REASONS = ("decode", "field", "time", "label", "score", "weight", "other")


class Record(NamedTuple):
    """One message: where it is, when it was written (seconds since 1970, or None), and its bytes."""

    topic: str
    partition: int
    offset: int
    next: int
    timestamp: float | None
    key: bytes | None
    value: bytes | None


class Event(NamedTuple):
    """What a record says: a prediction, a label, or both; what it does not say is MISSING, not None.

    `time` is in seconds since 1970, that of the event itself. A prediction that is None is an abstention.
    """

    id: object
    time: float
    truth: object
    prediction: object
    scores: object
    weight: int | float
    group: object


class Checked(NamedTuple):
    """An event that can be joined.

    A truth that is None is MISSING; scores, weight and group that are MISSING are None. `scores` are numbers as bytes,
    see ``events.decoding``, one for each of `classes`; without classes, they are one number or None.
    """

    id: Label
    time: float
    truth: Truth
    prediction: Prediction
    scores: Scores
    weight: Weight | None
    group: Label | None
    classes: Classes | None


class Events(NamedTuple):
    """Events that can be joined, as columns, and where each comes from: topic, partition, offset."""

    ids: list[Label]
    times: list[float]
    truths: list[Truth]
    predictions: list[Prediction]
    scores: list[Scores]
    weights: list[Weight | None]
    groups: list[Label | None]
    classes: list[Classes | None]
    origins: list[Origin]

    @classmethod
    def of(cls, events: Iterable[Checked], origins: Iterable[Origin]) -> Events:
        """Return events as columns."""
        rows = [(*event, origin) for event, origin in zip(events, origins, strict=True)]
        return cls(*map(list, zip(*rows, strict=True))) if rows else cls([], [], [], [], [], [], [], [], [])


class Rejected(NamedTuple):
    """A record that could not be counted: where it is, one of REASONS, and what was wrong, at most 200 characters."""

    topic: str
    partition: int
    offset: int
    reason: str
    detail: str


SPAN = 300.0  # seconds
LEAST = 1000  # records; if these took longer than the span, it is extended to them
FEWEST = 100  # least denominator, so that one bad record of three is no alarm


class RecentRejects:
    """What was rejected in the last 5 minutes, or of the last 1,000 records if these came in a longer time."""

    def __init__(self) -> None:
        self._read = self._rejected = 0
        self._marks: deque[tuple[float, int, int]] = deque()  # a time, and the records read and rejected before it

    def note(self, now: float, read: int, rejected: int) -> None:
        """Add records of which some were rejected; `now` is in seconds."""
        if not self._marks or now - self._marks[-1][0] >= 1.0:
            self._marks.append((now, self._read, self._rejected))
        self._read += read
        self._rejected += rejected

    def share(self, now: float) -> float | None:
        """Return the share of recent records that were rejected, of 100 at least; None before there is a record."""
        marks = self._marks
        while len(marks) > 1 and marks[1][0] <= now - SPAN and self._read - marks[1][1] >= LEAST:
            marks.popleft()
        if not marks:
            return None
        _, read, rejected = marks[0]
        return (self._rejected - rejected) / max(self._read - read, FEWEST)


IDLE = 5.0  # seconds without an event, after which time passes also if records seem to wait
RECENT = 256  # events whose delays are known
FEW = 8  # events, below which no delay can be told to be wrong, and which as many that came at once count as
FENCE = 4.0  # times the interquartile range, and
SLACK = 1.0  # seconds: what is as far below the quartiles is not credible

Seconds = NDArray[np.float64]


def credible(delays: Seconds, came: Seconds) -> NDArray[np.bool_]:
    """Return which delays, in seconds between an event and its arrival, come from clocks that can be right.

    An event ahead of the clock is not credible unless most are. Nor is one that is far fresher than most of the others.
    Events that came at once count as `FEW` at most: after a backlog was read, a few fresh events are enough.
    """
    ahead = delays < 0
    usable = np.ones(len(delays), bool) if ahead.mean() > 0.5 else ~ahead
    if len(delays) >= FEW:
        _, arrival, sizes = np.unique(came, return_inverse=True, return_counts=True)
        order = np.argsort(delays)
        share = np.cumsum(np.minimum(1.0, FEW / sizes)[arrival[order]])
        low, high = delays[order][np.searchsorted(share, (share[-1] / 4, 3 * share[-1] / 4))]
        usable &= delays >= low - FENCE * (high - low) - SLACK
    return usable


class Arrivals:
    """The last events of one partition: when the last one came, and how far the freshest were behind the clock."""

    def __init__(self) -> None:
        self.last: float | None = None  # when the last event came, by the clock
        self.newest: float | None = None  # the time of the newest credible event, or that which the join has reached
        self.behind = 0.0  # the least credible delay so far, in seconds
        self._times: Seconds = np.empty(0)
        self._delays: Seconds = np.empty(0)

    def note(self, times: Sequence[float], now: float, reached: float = -math.inf) -> None:
        """Take note of the times of events that have just come, and of the time that the join has `reached` with them.

        Windows have moved there, so they cannot be read at an earlier time.
        """
        self.move_back(now)
        times_now = np.array(times[-RECENT:], np.float64)
        self._times = np.concatenate([self._times, times_now])[-RECENT:]
        self._delays = np.concatenate([self._delays, now - times_now])[-RECENT:]
        usable = credible(self._delays, np.round(self._times + self._delays, 3))
        behind = max(float(self._delays[usable].min()), 0.0)
        self.behind = behind if self.last is None else min(self.behind, behind)
        self.last, self.newest = now, max(float(self._times[usable].max()), reached)

    def move_back(self, now: float) -> None:
        """Follow a clock that was set back, so that no event seems to come later than now."""
        if self.last is not None and now < self.last:
            back = self.last - now
            self.last, self.behind, self._delays = now, max(self.behind - back, 0.0), self._delays - back

    def time(self, now: float) -> float | None:
        """Return the time of the newest event; of one that came from the future, as it goes on with the clock."""
        if self.newest is None or self.last is None or self.newest <= self.last:
            return self.newest
        return self.newest + max(now - self.last, 0.0)

    def content(self) -> list[object]:
        """Return all but `last` as it is stored."""
        return [self.newest, self.behind, self._times.tolist(), self._delays.tolist()]

    def load(self, content: Sequence[Any], last: float) -> None:
        """Load what `content` returned, with the time at which the last event came."""
        self.last = last
        self.newest, self.behind, times, delays = content
        self._times, self._delays = np.array(times, np.float64), np.array(delays, np.float64)


def reading_time(arrivals: Iterable[Arrivals], now: float, lag: int | None, ended: bool) -> float | None:
    """Return the time at which windows are read; None if there was no event.

    `lag` is how many records wait to be read, None if that is unknown; `ended` whether no more will come.
    """
    seen = [each for each in arrivals if each.last is not None]
    times = [t for each in seen if (t := each.newest if ended else each.time(now)) is not None]
    if not times:
        return None
    newest = min(times) if min(times) > now else min(max(times), now)
    if ended:
        return newest
    silence = now - max(each.last for each in seen if each.last is not None)
    if lag != 0 and silence < IDLE:
        return newest
    return max(newest, now - min(each.behind for each in seen))
