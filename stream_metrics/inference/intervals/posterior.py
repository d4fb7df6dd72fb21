"""The posterior of the balanced accuracy of two classes, by integration rather than by draws.

Recall and specificity are independent beta variables. On the scale theta of sin(theta)^2 their densities are smooth
down to parameters of 1/2, so sums over an even grid are accurate; the grid covers what has any weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stream_metrics.formulas.protocol import Floats
from stream_metrics.formulas.stats.normal import log_beta

__all__ = ["balanced_accuracy_posterior"]

GRID = 2001
STEPS = 60
FAR = 9.0  # standard deviations


def balanced_accuracy_posterior(
    tp: float, fn: float, tn: float, fp: float, level: float = 0.95, prior: float = 0.5
) -> tuple[float, float]:
    """Central interval of (A + B) / 2, A beta(tp + prior, fn + prior) and B beta(tn + prior, fp + prior), independent.

    Within [0, 1]; `prior` is 1/2 (Jeffreys) or 1 (flat). Brodersen et al. 2010.
    """
    (a, cdf), (b, other) = _grid(tp + prior, fn + prior), _grid(tn + prior, fp + prior)
    middles, weights = (b[1:] + b[:-1]) / 2, np.diff(other)

    def below(x: float) -> float:
        return float(np.interp(2 * x - middles, a, cdf, left=0.0, right=1.0).dot(weights))

    tail = (1 - level) / 2
    return _solve(below, tail), _solve(below, 1 - tail)


def _grid(a: float, b: float) -> tuple[Floats, Floats]:
    """Return values of a beta variable and its distribution function there."""
    middle, margin = math.asin(math.sqrt(a / (a + b))), FAR / (2 * math.sqrt(a + b))
    theta = np.linspace(max(middle - margin, 0.0), min(middle + margin, math.pi / 2), GRID)
    inner = (theta[1:] + theta[:-1]) / 2
    with np.errstate(divide="ignore"):
        density = np.exp((2 * a - 1) * np.log(np.sin(inner)) + (2 * b - 1) * np.log(np.cos(inner)) - log_beta(a, b))
    upto = np.concatenate([[0.0], np.cumsum(density)])
    return np.sin(theta) ** 2, upto / upto[-1]


def _solve(below: Callable[[float], float], goal: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < goal else (low, middle)
    return (low + high) / 2
