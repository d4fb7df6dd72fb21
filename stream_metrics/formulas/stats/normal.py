"""Quantiles of the normal, Student's and the beta distribution, without SciPy.

The beta distribution itself is in `formulas.stats.tails`. Its quantiles are computed on the logit scale: there the
derivative of the distribution function is the term that it is computed from, and no quantile is so close to 0 or 1
that it would be rounded to it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.intervals.kernels import distinct
from stream_metrics.formulas.protocol import Floats
from stream_metrics.formulas.stats.tails import ENOUGH, HALF_LOG_2PI, TINY, beta_tail, beta_term, stirling_error

STEPS = 200
FARTHEST = 700.0  # on the logit scale
CLOSE = 1e-7  # standard deviations
MANY = 1e4  # degrees of freedom
FEW = 16  # numbers that are not worth a search for equal ones


class DistinctPairs(NamedTuple):
    """The distinct ones of some pairs (x, n), and the place of each pair among them."""

    x: Floats
    n: Floats
    places: NDArray[np.intp]


def distinct_pairs(x: Floats, n: Floats) -> DistinctPairs | None:
    """Return the distinct pairs; None if there are no equal ones, or few pairs. Of many classes many are alike."""
    if x.size <= FEW:
        return None
    flat_x, flat_n = np.ascontiguousarray(x, np.float64).ravel(), np.ascontiguousarray(n, np.float64).ravel()
    first, places = distinct(flat_x, flat_n)
    return DistinctPairs(flat_x[first], flat_n[first], places.reshape(x.shape)) if len(first) < x.size else None


@lru_cache(maxsize=64)
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile of p in (0, 1). Wichura 1988, AS 241."""
    return NormalDist().inv_cdf(p)


@lru_cache(maxsize=1024)
def t_quantile(level: float, degrees: float) -> float:
    """Return the t with P[|T| <= t] = level for Student's T with `degrees` > 0 of freedom.

    From `MANY` degrees on that is the expansion of Cornish and Fisher, whose next term is below the last digit.
    """
    z = -normal_quantile((1 - level) / 2)
    start = z + (z**3 + z) / (4 * degrees)
    if degrees >= MANY:
        second, third = 5 * z**5 + 16 * z**3 + 3 * z, 3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z
        fourth = 79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z
        return start + second / (96 * degrees**2) + third / (384 * degrees**3) + fourth / (92160 * degrees**4)
    logit = _beta_logit(1 - level, degrees / 2, 0.5, math.log(degrees) - 2 * math.log(start))
    return math.sqrt(degrees * math.exp(-logit))


def expit(u: float) -> float:
    """Return 1 / (1 + exp(-u)) for any u."""
    return 1 / (1 + math.exp(-u)) if u >= 0 else math.exp(u) / (1 + math.exp(u))


def log_beta(a: float, b: float) -> float:
    """Return log B(a, b) for a, b > 0, without the cancellation of three large logarithms."""
    n = a + b
    errors = stirling_error(a) + stirling_error(b) - stirling_error(n)
    # Gamma(z) = sqrt(2 pi / z) (z / e)^z exp(error of z)
    return HALF_LOG_2PI + 0.5 * math.log(n / a / b) + a * _log_share(a, b) + b * _log_share(b, a) + errors


def _log_share(a: float, b: float) -> float:
    """Return log(a / (a + b)), without cancellation where b is small and without log 0 where a is."""
    return math.log1p(-b / (a + b)) if b < a else math.log(a / (a + b))


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return I_x(a, b), the regularised incomplete beta function, for a, b > 0: P[X <= x] for X beta(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    gap = Fraction(a) - (Fraction(a) + Fraction(b)) * Fraction(x)
    return beta_tail(a, b, x, 1 - x, float(gap))


@lru_cache(maxsize=4096)  # groups and simulations ask for the same counts again
def beta_quantile(q: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = q, for q in (0, 1) and a, b > 0."""
    return expit(_beta_logit(q, a, b, math.log(a / b) + normal_quantile(q) * math.sqrt(1 / a + 1 / b)))


def _beta_logit(q: float, a: float, b: float, u: float) -> float:
    """Return the logit of the quantile by Newton's steps from `u`, inside a bracket.

    After a step that is small beside the standard deviation the error is about its square, below that of the tail.
    Another step would only follow the rounding of the tail, often out of the bracket and into forty bisections.
    """
    low, high = -FARTHEST, FARTHEST
    small = CLOSE * math.sqrt(1 / a + 1 / b)
    u = min(max(u, -30.0), 30.0)
    for _ in range(STEPS):
        x, y = expit(u), expit(-u)
        gap = a * y - b * x
        excess = beta_tail(a, b, x, y, gap) - q
        low, high = (low, u) if excess > 0 else (u, high)
        slope = beta_term(a, b, x, y, gap)
        step = excess / slope if slope > TINY else math.inf
        after = u - step
        if abs(step) <= small:
            return after
        if not low < after < high:
            after = (low + high) / 2
        if abs(after - u) <= 4 * ENOUGH * max(1.0, abs(u)):
            break
        u = after
    return u
