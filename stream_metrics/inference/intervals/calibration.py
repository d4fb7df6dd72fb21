"""The interval of the calibration error without noise, which is valid near 0.

The squared distances of the bins, each times its samples, add up to about a multiple of a noncentral chi-square
variable, whose noncentrality is the squared error times the number of samples. The interval holds the errors that the
sum does not refute. Where the variable is central, the scores are calibrated, and the lower end is 0. The variance of a
bin with few samples may be far too small by chance; for the lower end it is at least that of calibrated scores.
"""

from __future__ import annotations

import math

import numpy as np

from stream_metrics.formulas.protocol import Floats
from stream_metrics.inference.intervals.cramer import noncentrality_bounds
from stream_metrics.ranking.calibration import Residuals

__all__ = ["calibration_bounds", "left_out"]


def calibration_bounds(bins: Residuals, level: float) -> tuple[float, float]:
    """Return the ends of the interval. The scale and the degrees of freedom are those of equal mean and variance."""
    n, some = float(bins.n.sum()), bins.n >= 2
    count, distance = bins.n[some], (bins.residual[some] / bins.n[some]) ** 2
    variance = np.maximum(bins.squares[some] - count * distance, 0.0) / (count - 1)
    observed, noise = float(count @ distance) / n, float(variance.sum()) / n
    if not noise > 0:
        return 0.0, 1.0
    high = _noncentrality(count, distance, variance, n, level, max(observed, noise))[1]
    at_least = np.maximum(variance, bins.expected[some] / count)
    low = _noncentrality(count, distance, at_least, n, level, observed)[0]
    return math.sqrt(low), min(math.sqrt(high), 1.0)


def _noncentrality(
    count: Floats, distance: Floats, variance: Floats, n: float, level: float, observed: float
) -> tuple[float, float]:
    """Return the squared errors that are not refuted."""
    noise, sum_of_squares = float(variance.sum()) / n, float(count @ distance)
    own = float(count @ (distance * (variance + distance / 4))) / sum_of_squares / n if sum_of_squares > 0 else 0.0
    scale = max(float(variance @ variance) / n / n / noise, own)
    low, high = noncentrality_bounds(observed / scale, noise / scale, level)
    return low * scale, high * scale


def left_out(bins: Residuals) -> float:
    """Return the share of the samples that are alone in a bin, which the value leaves out."""
    return float(np.sum(bins.n[bins.n < 2]) / bins.n.sum())
