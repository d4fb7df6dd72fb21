"""What became of predictions and labels, in numbers, and how long the labels took."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOUNDS", "DelayCounts", "Delays", "JoinStats", "Tally"]

BOUNDS = tuple(float(f"{digit}e{power}") for power in range(-2, 7) for digit in (1, 2, 5))  # seconds


@dataclass
class Tally:
    """Counters of one partition, or of several that were added up.

    predictions = pending + joined + predictions_expired + predictions_duplicate + refused
    labels = labels_waiting + joined + labels_expired + labels_late + labels_duplicate
             + corrections + corrections_refused + refused + labels_refused
    """

    predictions: int = 0
    labels: int = 0
    pending: int = 0  # predictions that wait
    labels_waiting: int = 0
    joined: int = 0
    predictions_expired: int = 0
    predictions_duplicate: int = 0
    labels_expired: int = 0
    labels_late: int = 0  # of predictions that had expired
    labels_duplicate: int = 0
    corrections: int = 0
    corrections_refused: int = 0
    refused: int = 0  # pairs that could not be counted
    labels_refused: int = 0  # corrections that could not be counted
    expired_early: int = 0  # predictions that expired because too many waited
    forgotten: int = 0  # ids of joined pairs and expired predictions, forgotten early because there were too many

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{name: value + getattr(other, name) for name, value in vars(self).items()})


class Delays(NamedTuple):
    """How long labels took: upper bounds in seconds, counts of the cells (one more than bounds), sum in seconds."""

    le: tuple[float, ...]
    counts: tuple[int, ...]
    sum: float


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

    def content(self) -> list[Any]:
        """Return what another one of its kind can be made of."""
        return [self._counts.tolist(), self._sum]


class JoinStats(NamedTuple):
    """What became of predictions and labels so far; `tally` has all counters."""

    pending: int
    joined: int
    labels_unmatched: int  # waiting and expired
    labels_late: int
    labels_duplicate: int
    predictions_duplicate: int
    predictions_expired: int
    corrections: int
    corrections_refused: int
    delays: Delays
    tally: Tally

    @classmethod
    def of(cls, tally: Tally, delays: Delays) -> JoinStats:
        """Return the numbers of a tally, with the delays."""
        unmatched = tally.labels_waiting + tally.labels_expired
        named = {name: getattr(tally, name) for name in cls._fields if hasattr(tally, name)}
        return cls(**named, labels_unmatched=unmatched, delays=delays, tally=tally)

    @classmethod
    def total(cls, every: Iterable[JoinStats]) -> JoinStats:
        """Return the sums over partitions."""
        tally, delays = Tally(), DelayCounts().read()
        for stats in every:
            counts = tuple(map(operator.add, delays.counts, stats.delays.counts))
            tally, delays = tally + stats.tally, Delays(BOUNDS, counts, delays.sum + stats.delays.sum)
        return cls.of(tally, delays)
