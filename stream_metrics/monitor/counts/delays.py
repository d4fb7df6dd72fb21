"""How long labels take, as histograms, in two resolutions that checkpoints both have.

`DelayCounts` has 1-2-5 steps, which a chart and Prometheus show, and the sum of all delays, since the start. Each pane
of a window has finer classes, for quantiles: 8 of equal width between a power of two and the next, so a quantile is off
by 6 % at most. Such a class is read from the bits of the number: that is the same on every machine, while a logarithm
may differ.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

__all__ = ["BOUNDS", "DELAYS", "DelayCounts", "Delays", "delay_classes", "delay_quantile"]

Numbers = NDArray[np.int64]

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
