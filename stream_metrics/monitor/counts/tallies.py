"""Whole numbers by pane of time: how many predictions were made, how many got a label, how long labels took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import DecodeError, MergeError

__all__ = ["Tallies", "TallyContent"]

Numbers = NDArray[np.int64]
TallyContent: TypeAlias = list[object]  # plain data, as `Tallies.content` has it


class Tallies:
    """`width` whole numbers for each pane of `length` nanoseconds, the last `keep` panes of which are kept.

    With `all_time` what is older is kept as well, in one sum. What is kept depends on the latest time and on nothing
    else, so tallies of any split of a stream merge to the same.
    """

    def __init__(self, width: int, length: int, keep: int, *, all_time: bool = False) -> None:
        self.width, self.length, self.keep, self.all_time = width, length, keep, all_time
        self.panes: dict[int, Numbers] = {}
        self.older = np.zeros(width, np.int64)
        self.latest: int | None = None

    def add(self, times: Numbers, places: Numbers | int, *, move: bool = True) -> None:
        """Add 1 at the given place of the pane of each time; one place may be given for all.

        Without `move` the latest time stays as it is, and nothing is forgotten before `move` is called.
        """
        if not len(times):
            return
        panes = times // self.length
        first, last = int(panes.min()), int(panes.max())
        for pane in [first] if first == last else np.unique(panes).tolist():
            inside: slice | NDArray[np.bool_] = slice(None) if first == last else panes == pane
            if isinstance(places, int):
                self._pane(pane)[places] += len(panes[inside])
            else:
                self._pane(pane)[:] += np.bincount(places[inside], minlength=self.width)
        if move:
            self.move(int(times.max()))

    def move(self, seen: int) -> None:
        """Set the latest time, unless it was later, and forget what is too old."""
        self.latest = seen if self.latest is None else max(self.latest, seen)
        self._expire()

    def _pane(self, pane: int) -> Numbers:
        if pane not in self.panes:
            self.panes[pane] = np.zeros(self.width, np.int64)
        return self.panes[pane]

    def _expire(self) -> None:
        if self.latest is None:
            return
        gone = self.latest // self.length - self.keep
        for pane in [pane for pane in self.panes if pane <= gone]:
            numbers = self.panes.pop(pane)
            if self.all_time:
                self.older += numbers

    def total(self, low: int | None, high: int) -> Numbers:
        """Return the sum of the panes after `low` (None: of all time) up to `high`."""
        parts = [numbers for pane, numbers in self.panes.items() if (low is None or low < pane) and pane <= high]
        start = self.older if low is None else np.zeros(self.width, np.int64)
        return np.asarray(sum(parts, start.copy()))

    def merge(self, other: Self) -> Self:
        """Add the numbers of another shard and return self; MergeError if they are of another form."""
        mine, theirs = self._form(), other._form()
        if mine != theirs:
            raise MergeError(f"Expected the same width, length, panes in both, but got {mine} and {theirs}")
        for pane, numbers in other.panes.items():
            self._pane(pane)[:] += numbers
        self.older += other.older
        if other.latest is not None:
            self.latest = other.latest if self.latest is None else max(self.latest, other.latest)
        self._expire()
        return self

    def _form(self) -> tuple[int, int, int, bool]:
        return self.width, self.length, self.keep, self.all_time

    def copy(self) -> Self:
        """Return independent tallies."""
        return type(self)(*self._form()[:3], all_time=self.all_time).merge(self)

    def content(self) -> TallyContent:
        """Return everything as lists of whole numbers, places with a zero left out."""
        panes = [[pane, *_sparse(self.panes[pane])] for pane in sorted(self.panes)]
        return [*self._form(), self.latest, _sparse(self.older), panes]

    def fill(self, content: Any) -> None:
        """Take over a content; if it is of another form, stay empty. DecodeError if it is none."""
        try:
            width, length, keep, all_time, latest, older, panes = content
            if (width, length, keep, all_time) == self._form():
                self.latest, self.older = latest, _dense(older, width)
                self.panes = {pane: _dense(sparse, width) for pane, *sparse in panes}
                self._expire()
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise DecodeError(f"Expected tallies as they are written, but: {error}") from None


def _sparse(numbers: Numbers) -> list[int]:
    places = np.flatnonzero(numbers)
    return [int(x) for x in np.stack([places, numbers[places]], axis=1).ravel().tolist()]


def _dense(sparse: Sequence[int], width: int) -> Numbers:
    numbers = np.zeros(width, np.int64)
    numbers[list(sparse[::2])] = list(sparse[1::2])
    return numbers
