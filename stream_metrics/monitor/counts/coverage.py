"""The share of predictions that have their label, and how long labels took, by window.

Delays are histograms in two resolutions. `DelayCounts` has 1-2-5 steps, which a chart and Prometheus show, and the sum
of all delays, since the start. Each pane of a window has finer classes, for quantiles: 8 of equal width between a power
of two and the next, so a quantile is off by 6 % at most. Such a class is read from the bits of the number: that is the
same on every machine, while a logarithm may differ.

Coverage goes by the time of predictions: of those that reached the age `due` within the window, the share that has a
label. With `due` 0 these are all predictions of the window. A pane is due when all of it is. Delays go by the clock of
the window, like all counts of pairs.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stream_metrics.errors import DecodeError, MergeError

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


BOUNDS = tuple(float(f"{digit}e{power}") for power in range(-2, 7) for digit in (1, 2, 5))  # seconds
PART_BITS = 52 - 3  # of the fraction of a double, below the three that tell 8 classes apart
SHORTEST = 2.0**-10  # seconds; what is shorter, or negative, is in the first class
LONGEST = 2.0**30  # 34 years
LOWEST = struct.unpack("<q", struct.pack("<d", SHORTEST))[0] >> PART_BITS
DELAYS = (struct.unpack("<q", struct.pack("<d", LONGEST))[0] >> PART_BITS) - LOWEST + 1  # how many classes there are


def delay_classes(seconds: NDArray[np.float64]) -> Numbers:
    """Return the class of each delay."""
    clipped = np.clip(seconds, SHORTEST, LONGEST)
    return np.asarray((clipped.view(np.int64) >> PART_BITS) - LOWEST)


def _edge(number: int) -> float:
    """Return where a class of delays starts; the first starts at 0."""
    whole = struct.unpack("<d", struct.pack("<q", (number + LOWEST) << PART_BITS))[0]
    return float(whole) if number else 0.0


def delay_quantile(counts: Numbers, share: float) -> float | None:
    """Return the delay within which that share of the labels came, straight within a class; None without labels."""
    below = np.cumsum(counts)
    if not below[-1]:
        return None
    rank = share * int(below[-1])
    number = int(np.searchsorted(below, rank))
    number = max(number, int(np.argmax(counts > 0)))
    before = int(below[number] - counts[number])
    start, end = _edge(number), _edge(min(number + 1, len(counts) - 1))
    return start + (end - start) * (rank - before) / int(counts[number])


class Delays(Struct, frozen=True):
    """How long labels took: upper bounds in seconds, counts of the cells (one more than bounds), sum in seconds."""

    le: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    sum: float = 0.0


class DelayCounts:
    """Counts delays; the sum is that of whole microseconds, so that their order makes no difference."""

    def __init__(self, counts: Sequence[int] = (0,) * (len(BOUNDS) + 1), microseconds: int = 0) -> None:
        self._counts = np.array(counts, np.int64)
        self._sum = microseconds

    def add(self, seconds: NDArray[np.float64]) -> None:
        """Count delays; one that is negative is none."""
        times = np.maximum(seconds, 0)
        self._counts += np.bincount(np.searchsorted(BOUNDS, times), minlength=len(self._counts))
        self._sum += int(np.rint(times * 1e6).astype(np.int64).sum())

    def read(self) -> Delays:
        """Return what was counted."""
        return Delays(BOUNDS, tuple(self._counts.tolist()), self._sum / 1e6)

    def content(self) -> list[list[int] | int]:
        """Return what another one of its kind can be made of."""
        return [self._counts.tolist(), self._sum]


MADE, LABELLED = 0, 1
MOST_PANES = 1440  # of predictions; a long `due` makes panes longer
HOUR, SECOND = 3600 * 10**9, 10**9
Times = NDArray[np.int64]


class Covered(NamedTuple):
    """Predictions that are due, those of them that have a label, and how many labels took how long, by class."""

    due: int
    labelled: int
    delays: NDArray[np.int64]


class Coverage:
    """Predictions and labels of a window of `panes` panes of a length in nanoseconds; without a length, of all time."""

    def __init__(self, length: int | None, panes: int, due: int) -> None:
        self.due, self.panes, self.all_time = due, panes, length is None
        if length is None:
            pane = max(due // panes, SECOND) if due else HOUR
            self.delays = Tallies(DELAYS, HOUR, 1, all_time=True)
        else:
            pane = length * -(-(panes - due // -length) // MOST_PANES)
            self.panes = -(-panes * length // pane)
            self.delays = Tallies(DELAYS, length, panes)
        keep = (0 if length is None else self.panes) - due // -pane + 1
        self.predicted = Tallies(2, pane, keep, all_time=self.all_time)

    def predictions(self, times: Times, *, move: bool = True) -> None:
        """Count predictions made at these times; without `move` the latest time stays as it is."""
        self.predicted.add(times, MADE, move=move)

    def labels(self, predicted: Times, clock: Times, seconds: NDArray[np.float64], *, move: bool = True) -> None:
        """Count labels: when their predictions were made, when they count, and how long they took."""
        self.predicted.add(predicted, LABELLED, move=move)
        self.delays.add(clock, delay_classes(seconds), move=move)

    def move(self, seen: int) -> None:
        """Forget what is too old at a time."""
        self.predicted.move(seen)
        self.delays.move(seen)

    def read(self, at: int) -> Covered:
        """Return the numbers of the window at a time."""
        high = (at - self.due) // self.predicted.length - (1 if self.due else 0)
        due = self.predicted.total(None if self.all_time else high - self.panes, high)
        last = at // self.delays.length
        delays = self.delays.total(None if self.all_time else last - self.delays.keep, last)
        return Covered(int(due[MADE]), int(due[LABELLED]), delays)

    @property
    def latest(self) -> int | None:
        """The latest time seen."""
        return max((t for t in (self.predicted.latest, self.delays.latest) if t is not None), default=None)

    def merge(self, other: Self) -> Self:
        """Add the numbers of another shard and return self."""
        self.predicted.merge(other.predicted)
        self.delays.merge(other.delays)
        return self

    def copy(self) -> Self:
        """Return independent numbers."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.predicted, twin.delays = self.predicted.copy(), self.delays.copy()
        return twin

    def content(self) -> list[TallyContent]:
        """Return everything as lists of whole numbers."""
        return [self.predicted.content(), self.delays.content()]

    def fill(self, content: Sequence[object]) -> None:
        """Load what `content` returned; tallies of another form are left out, since `due` has changed."""
        self.predicted.fill(content[0])
        self.delays.fill(content[1])
