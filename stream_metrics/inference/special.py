"""The normal and the beta distribution, without SciPy.

The beta distribution is one term of Loader's saddle-point form times a continued fraction (see `formulas.tails`), so
that nothing is lost where counts are large. Quantiles are found on the logit scale, where the derivative of the
distribution function is that same term, and where no quantile lies too close to 0 or 1 to be told from it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count
from statistics import NormalDist

from stream_metrics.formulas.tails import HALF_LOG_2PI, deviance, stirling_error

__all__ = ["beta_cdf", "beta_quantile", "expit", "log_beta", "normal_quantile", "t_reach"]

ENOUGH = 2.0**-52
TINY = 1e-300
STEPS = 200
FARTHEST = 700.0  # on the logit scale


@lru_cache(maxsize=64)
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile of p in (0, 1). Wichura 1988, AS 241."""
    return NormalDist().inv_cdf(p)


@lru_cache(maxsize=1024)
def t_reach(level: float, degrees: float) -> float:
    """Return the t with P[|T| <= t] = level for Student's T with `degrees` > 0 of freedom."""
    share = beta_quantile(1 - level, degrees / 2, 0.5)
    return math.sqrt(degrees * (1 / share - 1))


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
    """Return I_x(a, b), the regularised incomplete beta function, for a, b > 0: P[X <= x] for X beta(a, b).

    Press et al. 2007, Numerical Recipes, sec. 6.4; Loader 2000.
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    term = _term(x, 1 - x, a, b)
    if x < (a + 1) / (a + b + 2):
        return min(1.0, term * _fraction(x, a, b) / a)
    return max(0.0, 1.0 - term * _fraction(1 - x, b, a) / b)


def beta_quantile(q: float, a: float, b: float) -> float:
    """Return the x with I_x(a, b) = q, for q in (0, 1) and a, b > 0, by Newton's steps held within a bracket."""
    low, high = -FARTHEST, FARTHEST
    u = min(max(math.log(a / b) + normal_quantile(q) * math.sqrt(1 / a + 1 / b), -30.0), 30.0)
    for _ in range(STEPS):
        x, y = expit(u), expit(-u)
        gap = _cdf(x, y, a, b) - q
        low, high = (low, u) if gap > 0 else (u, high)
        slope = _term(x, y, a, b)
        step = gap / slope if slope > TINY else math.inf
        after = u - step
        if not low < after < high:
            after = (low + high) / 2
        if abs(after - u) <= 4 * ENOUGH * max(1.0, abs(u)):
            break
        u = after
    return expit(u)


def _cdf(x: float, y: float, a: float, b: float) -> float:
    """Return I_x(a, b) with y = 1 - x to full precision."""
    if x < (a + 1) / (a + b + 2):
        return _term(x, y, a, b) * _fraction(x, a, b) / a
    return 1.0 - _term(x, y, a, b) * _fraction(y, b, a) / b


def _term(x: float, y: float, a: float, b: float) -> float:
    """Return x^a y^b / B(a, b) with y = 1 - x."""
    n = a + b
    if n * x < TINY or n * y < TINY:
        return 0.0
    errors = stirling_error(n) - stirling_error(a) - stirling_error(b)
    return math.sqrt(a * b / (2 * math.pi * n)) * math.exp(errors - deviance(a, n * x) - deviance(b, n * y))


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of I_x(a, b), by the modified method of Lentz."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or TINY)
    value = d
    for m in count(1):
        step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + step * d or TINY), 1 + step / c or TINY
        value *= d * c
        step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + step * d or TINY), 1 + step / c or TINY
        value *= d * c
        if abs(d * c - 1) <= ENOUGH:
            break
    return value
