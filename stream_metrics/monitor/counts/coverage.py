"""The share of predictions that have their label, and how long labels took, by window.

Coverage goes by the time of predictions: of those that reached the age `due` within the window, the share that has a
label. With `due` 0 these are all predictions of the window. A pane is due when all of it is. Delays go by the clock of
the window, like all counts of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from stream_metrics.monitor.counts.delays import DELAYS, delay_classes
from stream_metrics.monitor.counts.tallies import Tallies, TallyContent

__all__ = ["Coverage", "Covered"]

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
