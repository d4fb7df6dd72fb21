"""A window of time in panes: fed with whole states, read as their merge, able to take a sample back, written by pane.

What is in it is what a `windows.TimeWindow` would have, by the same rules, but it is kept otherwise, for a process that
runs for months. A batch is counted once and added to every window, because an addition costs 50 us where counting costs
0.3 us a sample. Panes before the newest one are kept as bytes, which take a sixth of the memory for scores of 3 classes
and a two-hundredth for 100 groups of 200 classes; a checkpoint writes these bytes as they are, and only those that are
new.

Reading merges what is in bytes as a queue made of two stacks does (see `windows.panes`): `front` has, for every older
pane, the merge of it with all that follow up to an edge; `back` is the merge of all beyond. So a reading decodes one
state and merges two more, and each pane is decoded once in the time of a window. What comes late is kept beside.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from stream_metrics.containers.timed import TimeWindow
from stream_metrics.errors import DecodeError, MergeError
from stream_metrics.inputs.times import shown
from stream_metrics.monitor.pairs import Rows

__all__ = ["Panes", "parted_by"]


class Panes:
    """A window of a `period` in a number of panes of states like `inner`; times are nanoseconds since 1970.

    Pane k is the time from k * length to (k + 1) * length. The window at a time is the pane of it and those before, as
    many as there are. A pane is kept while it is in the window of the latest time `seen`.
    """

    def __init__(self, inner: Any, period: str, panes: int) -> None:
        like = TimeWindow(inner, period, panes)  # which checks the arguments
        self.inner, self.panes, self.length = like.inner, panes, like._length
        self.seen: int | None = None
        self._open: dict[int, Any] = {}  # the newest pane, and what came late for others
        self._sealed: dict[int, bytes] = {}
        self._written: dict[int, bytes] = {}  # panes with an open state as last written, if nothing has changed
        self._forget_merges()

    def _forget_merges(self) -> None:
        self._keys: list[int] = []  # of the front
        self._front: list[bytes] = []
        self._back: Any = None
        self._first_back = 0
        self._stale = bool(self._sealed)

    @property
    def period(self) -> str:
        """The length of the window."""
        return shown(self.length * self.panes)

    @property
    def gone(self) -> int | None:
        """The newest pane that can receive no more; None if there is none."""
        return None if self.seen is None else self.seen // self.length - self.panes

    def fewer(self, most: int) -> int:
        """Return the largest number of panes, at most `most`, that a window of this period can have."""
        period = self.length * self.panes
        return next(number for number in range(min(self.panes, most), 0, -1) if period % number == 0)

    def number(self, t: int) -> int | None:
        """Return the number of the pane of a time; None if it is gone, as are all before it."""
        number = t // self.length
        return None if self.gone is not None and number <= self.gone else number

    def at(self, t: int) -> Any:
        """Return the state of the pane of a time, to be fed at once, or None if that pane is gone."""
        number = self.number(t)
        if number is None:
            return None
        self._written.pop(number, None)
        state = self._open.get(number)
        if state is None:
            state = self._open[number] = self.inner.copy()
        return state

    def settle(self, seen: int) -> None:
        """Say that all was fed up to the time `seen`: panes that are too old go, those before the newest are sealed."""
        self._expire(seen)
        newest = seen if self.seen is None else self.seen
        top = max(self._sealed, default=None)
        for number in sorted(self._open):
            if number < newest // self.length and (top is None or number > top):
                state = self._open.pop(number)
                self._sealed[number] = self._written.pop(number, b"") or state.to_bytes()
                if self._back is None:
                    self._back, self._first_back = state, number
                else:
                    self._back.merge(state)

    def _expire(self, seen: int) -> None:
        self.seen = seen if self.seen is None else max(seen, self.seen)
        gone = self.seen // self.length - self.panes
        for panes in (self._open, self._sealed, self._written):
            for number in [number for number in panes if number <= gone]:
                del panes[number]
        at = bisect_right(self._keys, gone)
        del self._keys[:at], self._front[:at]
        if not self._sealed:
            self._forget_merges()

    def merged(self, t: int) -> Any:
        """Return the window at a time that is not before the latest as a state like `inner`, a new one."""
        high = t // self.length
        low = high - self.panes
        if self.gone is not None and low < self.gone:
            raise ValueError(f"Expected a time of {self.seen} or later, but got {t}")
        if self._stale or (self._back is not None and self._first_back <= low):
            self._turn()
        at = bisect_right(self._keys, low)
        total = self._decoded(self._front[at]) if at < len(self._front) else self.inner.copy()
        parts = [state for number, state in self._open.items() if low < number <= high]
        for part in parts if self._back is None else [self._back, *parts]:
            total.merge(part)
        return total

    def _turn(self) -> None:
        """Make the front anew of all that is sealed and what came late for it."""
        top = max(self._sealed, default=None)
        for number in [number for number in self._open if top is not None and number <= top]:
            data = self._bytes(number)
            self._written.pop(number, None)
            del self._open[number]
            self._sealed[number] = data
        self._forget_merges()
        self._keys, self._stale = sorted(self._sealed), False
        total = None
        for number in reversed(self._keys):
            state = self._decoded(self._sealed[number])
            total = state if total is None else total.merge(state)
            self._front.append(total.to_bytes())
        self._front.reverse()

    def snapshot(self, t: int | None = None) -> Any:
        """Return the snapshot of the window at a time, by default the latest."""
        return self.merged((self.seen or 0) if t is None else t).snapshot()

    def alone(self, number: int) -> Any:
        """Return a copy of the state of a pane; an empty one if the pane is."""
        state = self._decoded(self._sealed[number]) if number in self._sealed else self.inner.copy()
        return state.merge(self._open[number]) if number in self._open else state

    def replace(self, number: int, state: Any) -> None:
        """Let a pane be this state, which is taken over."""
        self._written.pop(number, None)
        self._open.pop(number, None)
        empty = state == self.inner
        if self._sealed.pop(number, None) is not None:
            if not empty:
                self._sealed[number] = state.to_bytes()
            self._forget_merges()
        elif not empty:
            self._open[number] = state

    def merge(self, other: Self) -> Self:
        """Add the panes of another partition and return self; MergeError if they are configured differently."""
        mine, theirs = ((each.inner, each.length, each.panes) for each in (self, other))
        if mine != theirs:
            raise MergeError(f"Expected the same state, length and number of panes, but got {mine} and {theirs}")
        for number in sorted({*other._sealed, *other._open}):
            self._open[number] = self.alone(number).merge(other.alone(number))
            self._written.pop(number, None)
            self._sealed.pop(number, None)
        self._forget_merges()
        if other.seen is not None:
            self._expire(other.seen)
        return self

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._open = {number: state.copy() for number, state in self._open.items()}
        twin._sealed, twin._written = dict(self._sealed), dict(self._written)
        twin._keys, twin._front = list(self._keys), list(self._front)
        twin._back = None if self._back is None else self._back.copy()
        return twin

    def written(self) -> dict[int, bytes]:
        """Return the panes as bytes by their numbers, in order; the same object as before for one without a change."""
        for number in self._open:
            if number not in self._written:
                self._written[number] = self._bytes(number)
        return dict(sorted({**self._sealed, **self._written}.items()))

    def _bytes(self, number: int) -> bytes:
        if number in self._written:
            return self._written[number]
        state = self.alone(number) if number in self._sealed else self._open[number]
        data: bytes = state.to_bytes()
        return data

    def _decoded(self, data: bytes) -> Any:
        return type(self.inner).from_bytes(data)

    def fill(self, seen: int | None, panes: Mapping[int, bytes]) -> None:
        """Take over what `seen` and `written` returned; DecodeError if no such window would have returned it."""
        newest = None if seen is None else seen // self.length
        for number, data in panes.items():
            state = self._decoded(data)
            twin = state.copy()
            twin.reset()
            if twin != self.inner or state == self.inner:
                raise DecodeError(f"Expected panes with samples, configured as {self.inner!r}, but got {state!r}")
            if newest is None or not newest - self.panes < number <= newest:
                raise DecodeError(f"Expected panes up to the latest, {newest}, that are not gone, but got {number}")
            if number == newest:
                self._open[number], self._written[number] = state, data
            else:
                self._sealed[number] = data
        self.seen = seen
        self._forget_merges()


def parted_by(rows: Rows, clock: NDArray[np.int64], windows: Sequence[Panes]) -> list[Rows]:
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
