"""A window of time in panes: fed with whole states, read as their merge, able to take a sample back, written by pane.

It holds what a `TimeWindow` would hold, by the same rules, but stores it for a process that runs for months. A batch is
counted once and added to every window, because an addition costs 50 us where counting costs 0.3 us a sample. Panes
before the newest one are stored as bytes, which take a sixth of the memory for scores of 3 classes and a two-hundredth
for 100 groups of 200 classes. A checkpoint writes these bytes as they are, and only those that are new. A reading
decodes one state and merges two more, and each pane is decoded once in the time of a window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics.containers.groups import ByGroup
from stream_metrics.containers.timed import TimeWindow, TwoStackAggregator
from stream_metrics.errors import DecodeError, MergeError
from stream_metrics.inputs.times import LIMIT, format_duration, parse_duration
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.counts.batches import CountedRows
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot

State = TypeVar("State", MetricSet, ByGroup)


class _AsBytes(Generic[State]):
    """Panes are stored as bytes; `written` has those that a checkpoint has written already.

    What was read last is kept as a state too: until a pane is over, every reading needs the same merge, and a copy of
    it takes a tenth of the time.
    """

    def __init__(self, kind: type[State], written: dict[int, bytes]) -> None:
        self._kind: type[State] = kind
        self._written = written
        self._last: tuple[bytes, State] | None = None

    def state(self, opened: State) -> State:
        """Return the state of a pane that is not stored."""
        return opened

    def freeze(self, pane: int, state: State) -> bytes:
        """Return the bytes of a pane, those that were written if nothing has changed."""
        return self._written.pop(pane, b"") or self.keep(state)

    def add_late(self, pane: int, stored: bytes | None, late: State) -> bytes | None:
        """Return the bytes of a pane with what came late if they were written; else it would take a merge now."""
        return self._written.pop(pane, None)

    def thaw(self, stored: bytes) -> State:
        """Return a new state."""
        return self._kind.from_bytes(stored)

    def copied(self, stored: bytes) -> State:
        """Return a new state."""
        last = self._last
        if last is None or last[0] is not stored:
            self._last = last = stored, self.thaw(stored)
        return last[1].copy()

    def keep(self, state: State) -> bytes:
        """Return the bytes of a state."""
        return state.to_bytes()


class Panes(Generic[State]):
    """A window of a `period` in a number of panes of states like `inner`; times are nanoseconds since 1970.

    Pane k is the time from k * length to (k + 1) * length. The window at a time is the pane of it and those before, as
    many as there are. A pane is kept while it is in the window of the latest time `seen`.
    """

    def __init__(self, inner: State, period: str, panes: int) -> None:
        like = TimeWindow(inner, period, panes)  # which checks the arguments
        self.inner: State = like.inner
        self.panes = panes
        self.length: int = parse_duration(period, "period") // panes
        self.seen: int | None = None
        self._open: dict[int, State] = {}  # the newest pane, and what came late for others
        self._written: dict[int, bytes] = {}  # panes with an open state as last written, if nothing has changed
        self._only: dict[int, int] = {}  # open panes with the only batch that they have, until `share`
        self._merges: TwoStackAggregator[State, bytes] = TwoStackAggregator(_AsBytes(type(self.inner), self._written))

    @property
    def period(self) -> str:
        """The length of the window."""
        return format_duration(self.length * self.panes)

    @property
    def gone(self) -> int | None:
        """The newest pane that can receive no more; None if there is none."""
        return None if self.seen is None else self.seen // self.length - self.panes

    @property
    def end(self) -> int | None:
        """The end of the newest pane that has counted anything; None if none has."""
        newest = max([*self._open, *self._merges.frozen], default=None)
        return None if newest is None else (newest + 1) * self.length

    def fewer(self, most: int) -> int:
        """Return the largest number of panes, at most `most`, that a window of this period can have."""
        period = self.length * self.panes
        return next(number for number in range(min(self.panes, most), 0, -1) if period % number == 0)

    def number(self, t: int) -> int | None:
        """Return the number of the pane of a time; None if it is gone, as are all before it."""
        number = t // self.length
        return None if self.gone is not None and number <= self.gone else number

    def at(self, t: int, batch: int | None = None) -> State | None:
        """Return the state of the pane of a time, to be fed at once, or None if that pane is gone.

        `batch` is the number of the batch that it is fed with, for `share`.
        """
        number = self.number(t)
        if number is None:
            return None
        self._will_change(number, batch)
        state = self._open.get(number)
        if state is None:
            state = self._open[number] = self.inner.copy()
        return state

    def add(self, t: int, state: State, batch: int | None = None) -> bool:
        """Merge the state of a batch into the pane of a time; return False if that pane is too old.

        `batch` is the number of the batch, for `share`.
        """
        number = self.number(t)
        if number is None:
            return False
        self._will_change(number, batch)
        if number in self._open:
            self._open[number].merge(state)
        else:
            self._open[number] = state.copy()  # a merge into an empty state takes twenty times as long
        return True

    def _will_change(self, number: int, batch: int | None) -> None:
        self._written.pop(number, None)
        if batch is None or number in self._open or number in self._merges.frozen:
            self._only.pop(number, None)
        else:
            self._only[number] = batch

    def share(self, written: Mapping[int, bytes]) -> None:
        """Use the bytes of batches, by their numbers, for panes that have counted nothing else since the last call."""
        for number, batch in self._only.items():
            if batch in written:
                self._written[number] = written[batch]
        self._only.clear()

    def settle(self, seen: int) -> None:
        """Set the latest time: panes that are too old are dropped, and those before the newest become bytes."""
        newest = self._expire(seen)
        self._merges.freeze(self._open, newest)

    def _expire(self, seen: int) -> int:
        """Set the latest time, drop the panes that are too old, and return the newest pane."""
        self.seen = seen if self.seen is None else max(seen, self.seen)
        newest = self.seen // self.length
        gone = newest - self.panes
        for panes in (self._open, self._written):
            for number in [number for number in panes if number <= gone]:
                del panes[number]
        self._merges.drop(gone)
        return newest

    def merged(self, t: int) -> State:
        """Return the window at a time that is not before the latest as a state like `inner`, a new one."""
        return self.parts(t)()

    def parts(self, t: int) -> Callable[[], State]:
        """Return what does as `merged` for this moment: any thread may call it later, while this window goes on."""
        high = t // self.length
        low = high - self.panes
        if self.gone is not None and low < self.gone:
            raise ValueError(f"Expected a time of {self.seen} or later, but got {t}")
        return self._merges.parts(self._open, low, high, self.inner)

    def snapshot(self, t: int | None = None) -> Snapshot | GroupSnapshot:
        """Return the snapshot of the window at a time, by default the latest."""
        return self.merged((self.seen or 0) if t is None else t).snapshot()

    def alone(self, number: int) -> State:
        """Return a copy of the state of a pane; an empty one if the pane is."""
        frozen = self._merges.frozen
        state = type(self.inner).from_bytes(frozen[number]) if number in frozen else self.inner.copy()
        return state.merge(self._open[number]) if number in self._open else state

    def replace(self, number: int, state: State) -> None:
        """Replace the state of a pane without a copy; it becomes bytes at the next reading."""
        self._will_change(number, None)
        self._open.pop(number, None)
        if state.n or state.abstained or state != self.inner:
            self._open[number] = state
        self._merges.take_out(number)

    def merge(self, other: Self) -> Self:
        """Add the panes of another partition and return self; MergeError if they are configured differently."""
        mine, theirs = ((each.inner, each.length, each.panes) for each in (self, other))
        if mine != theirs:
            raise MergeError(f"Expected the same state, length and number of panes, but got {mine} and {theirs}")
        frozen = self._merges.frozen
        new: dict[int, bytes] = other._merges.frozen
        for number in sorted({*new, *other._open}):
            if number in self._open or number in frozen or number in other._open:
                self._open[number] = self.alone(number).merge(other.alone(number))
                self._written.pop(number, None)
                frozen.pop(number, None)
            else:
                frozen[number] = new[number]
        self._merges.forget_merges()
        if other.seen is not None:
            self._expire(other.seen)
        return self

    def copy(self) -> Self:
        """Return an independent copy."""
        twin: Self = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._open = {number: state.copy() for number, state in self._open.items()}
        twin._written, twin._only = dict(self._written), dict(self._only)
        twin._merges = self._merges.copy(_AsBytes(type(self.inner), twin._written))
        return twin

    def written(self) -> dict[int, bytes]:
        """Return the panes as bytes by their numbers, in order; the same object as before for one without a change."""
        for number in self._open:
            if number not in self._written:
                self._written[number] = self._bytes(number)
        return dict(sorted({**self._merges.frozen, **self._written}.items()))

    def _bytes(self, number: int) -> bytes:
        if number in self._written:
            return self._written[number]
        state = self.alone(number) if number in self._merges.frozen else self._open[number]
        return state.to_bytes()

    def fill(self, seen: int | None, panes: Mapping[int, bytes]) -> None:
        """Take over what `seen` and `written` returned; DecodeError if no such window would have returned it."""
        newest, inner = None if seen is None else seen // self.length, self.inner.to_bytes()
        for number, data in panes.items():
            older = newest is not None and number < newest
            state = type(self.inner).from_bytes(data)
            twin = state.copy()
            twin.reset()
            if twin.to_bytes() != inner or data == inner:
                raise DecodeError(f"Expected panes with samples, configured as {self.inner!r}, but got {state!r}")
            gone = newest is not None and number <= newest - self.panes
            if gone or number > LIMIT // self.length:
                raise DecodeError(f"Expected panes that are not gone at the latest, {newest}, but got {number}")
            if not older:
                self._open[number], self._written[number] = state, data
            else:
                self._merges.frozen[number] = data
        self.seen = seen
        self._merges.forget_merges()


AnyPanes: TypeAlias = Panes[MetricSet] | Panes[ByGroup]


class Parting(Protocol):
    """Divides time into panes of one length; all up to `gone` count as one pane."""

    @property
    def length(self) -> int:
        """The length of a pane, in nanoseconds."""

    @property
    def gone(self) -> int | None:
        """The newest pane that can receive no more; None if there is none."""

    def number(self, t: int) -> int | None:
        """Return the number of the pane of a time; None if it is gone."""


def parted_by(rows: CountedRows, clock: NDArray[np.int64], windows: Sequence[Parting]) -> list[CountedRows]:
    """Return rows parted so that all of a part are in the same pane of every window; what is gone is one part.

    `clock` has the times of the chunk that the rows are of.
    """
    times = clock if len(rows.places) == len(clock) else clock[list(rows.places)]
    if all(window.number(int(times.min())) == window.number(int(times.max())) for window in windows):
        return [rows]
    order = np.argsort(times, kind="stable")
    edges = np.zeros(len(order) - 1, bool)
    for window in windows:
        numbers = times[order] // window.length
        edges |= np.diff(numbers if window.gone is None else np.maximum(numbers, window.gone)) != 0
    return [rows.some(np.sort(part).tolist()) for part in np.split(order, np.flatnonzero(edges) + 1)]
