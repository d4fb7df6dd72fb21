"""The interval of Cramer's V, which is at least 0 and biased upwards by the noise of the cells.

Of two classes V is the absolute value of the correlation, whose interval is folded at 0. Of more, chi-square is about
noncentral near independence, with (R - 1)(C - 1) degrees of freedom: the lower end is at most that of the smallest
noncentrality that the counts do not refute, and the ends of the other methods are lowered by their bias.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_metrics.formulas.protocol import Counts

__all__ = ["folded", "noncentrality_bounds", "unbiased_bounds"]

STEPS = 60
NEAR = 25.0  # chi-square over the square of its degrees of freedom: beyond, the bias is 1/10 of the standard error


def folded(low: float, high: float) -> tuple[float, float]:
    """Return the interval of the absolute value of a number between two ends."""
    ends = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else ends[0]), ends[1]


def unbiased_bounds(c: Counts, value: float, ends: tuple[float, float], level: float, bias: int) -> tuple[float, float]:
    """Return the interval of V for more than two classes from one that ignores the bias.

    `bias` is how often the noise of the cells is in it: once in the value itself, twice where matrices are drawn.
    """
    true, predicted = c.true_totals > 0, c.predicted_totals > 0
    degrees = (int(true.sum()) - 1) * (int(predicted.sum()) - 1)
    scale = int(c.total) * (int((true | predicted).sum()) - 1)
    low, high = math.sqrt(max(ends[0] ** 2 - bias * degrees / scale, 0.0)), ends[1]
    chi_square = scale * value * value
    if degrees > 0 and chi_square < NEAR * degrees * degrees:
        least, most = noncentrality_bounds(chi_square, degrees, level)
        low, high = min(low, math.sqrt(least / scale)), max(high, math.sqrt(most / scale))
    return low, min(high, 1.0)


def noncentrality_bounds(x: float, degrees: float, level: float) -> tuple[float, float]:
    """Return the noncentralities of a chi-square distribution that an observed x does not refute. Smithson 2003."""
    tail = (1 - level) / 2
    return _solve(x, degrees, 1 - tail), _solve(x, degrees, tail)


def _solve(x: float, degrees: float, share: float) -> float:
    """Return the noncentrality with P[X <= x] = share; 0 if it is smaller for all."""
    low, high = 0.0, 2 * x + 100.0
    if x <= 0 or _distribution(x, degrees, low) < share:
        return 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _distribution(x, degrees, middle) > share else (low, middle)
    return (low + high) / 2


def _distribution(x: float, degrees: float, noncentrality: float) -> float:
    """Return P[X <= x] of the noncentral chi-square distribution, about. Sankaran 1963."""
    mean = degrees + noncentrality
    first, second = degrees + 2 * noncentrality, degrees + 3 * noncentrality
    h = 1 - 2 * mean * second / (3 * first * first)
    p, m = first / (mean * mean), (h - 1) * (1 - 3 * h)
    deviation = h * math.sqrt(2 * p) * (1 + m * p / 2)
    return NormalDist().cdf(((x / mean) ** h - 1 - h * p * (h - 1 - (2 - h) * m * p / 2)) / deviation)
