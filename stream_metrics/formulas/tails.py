"""Tail probabilities of the binomial and the chi-square distribution, without SciPy.

Both are one term of a discrete distribution times a continued fraction. The term comes from Loader's saddle-point
form, not from differences of lgamma: those lose 6 digits at 10^9 trials, this loses none. The fraction needs a few
steps in the tail and about sqrt(n) near the centre. Relative errors stay below 1e-10 up to 10^9 trials. Nothing has
to be a whole number.

Loader 2000, Fast and accurate computation of binomial probabilities; Press et al. 2007, Numerical Recipes, sec. 6.2,
6.4.
"""

from __future__ import annotations

import math
from itertools import count

__all__ = ["HALF_LOG_2PI", "binomial_tail", "chi_square_tail", "deviance", "stirling_error"]

ENOUGH = 2.0**-52
TINY = 1e-300
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def binomial_tail(x: float, n: float, expected: float) -> float:
    """Return P[X >= x] for n trials with `expected` successes on average, 0 <= expected <= n."""
    if x <= 0 or expected >= n:
        return 1.0
    if expected <= 0 or x > n:
        return 0.0
    if x > expected * (n + 3) / n - 1:
        return _binomial_upper(x, n, expected)
    return 1.0 - _binomial_upper(n - x + 1, n, n - expected)


def chi_square_tail(x: float, degrees: int) -> float:
    """Return P[X >= x] for a chi-square variable with that many degrees of freedom."""
    if x <= 0 or degrees <= 0:
        return 1.0
    if degrees == 1:
        return math.erfc(math.sqrt(x / 2))
    a, y = degrees / 2, x / 2
    term = math.exp(-stirling_error(a) - deviance(a, y)) / math.sqrt(2 * math.pi * a)
    return min(1.0, term * a * _gamma_fraction(a, y)) if y > a + 1 else 1.0 - term * _gamma_series(a, y)


def _binomial_upper(x: float, n: float, expected: float) -> float:
    """Return P[X >= x], x above the mean: P[X = x] times the continued fraction of the incomplete beta function."""
    a, total, p = x, n + 1, expected / n
    c, d = 1.0, 1 / (1 - total * p / (a + 1) or TINY)
    value = d
    for m in count(1):
        step = m * (total - a - m) * p / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / (1 + step * d or TINY), 1 + step / c or TINY
        value *= d * c
        step = -(a + m) * (total + m) * p / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / (1 + step * d or TINY), 1 + step / c or TINY
        value *= d * c
        if abs(d * c - 1) <= ENOUGH:
            break
    return min(1.0, _binomial_term(x, n, expected) * ((n - expected) / n) * value)


def _binomial_term(x: float, n: float, expected: float) -> float:
    """Return P[X = x]."""
    if x >= n:
        return math.exp(n * math.log1p((expected - n) / n))
    errors = stirling_error(n) - stirling_error(x) - stirling_error(n - x)
    deviances = deviance(x, expected) + deviance(n - x, n - expected)
    return math.exp(errors - deviances) * math.sqrt(n / (2 * math.pi * x * (n - x)))


def stirling_error(z: float) -> float:
    """Return log Gamma(z + 1) minus Stirling's formula for it."""
    if z <= 15:
        return math.lgamma(z + 1) - (z + 0.5) * math.log(z) + z - HALF_LOG_2PI
    square = z * z
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / z


def deviance(x: float, expected: float) -> float:
    """Return x log(x / expected) + expected - x, without cancellation where the two are close."""
    if abs(x - expected) > 0.1 * (x + expected):
        return x * math.log(x / expected) + expected - x
    v = (x - expected) / (x + expected)
    total, power = (x - expected) * v, 2 * x * v
    for j in count(3, 2):
        power *= v * v
        if total + power / j == total:
            break
        total += power / j
    return total


def _gamma_series(a: float, y: float) -> float:
    """Return 1 + y/(a+1) + y^2/((a+1)(a+2)) + ..."""
    total = term = 1.0
    for m in count(1):
        term *= y / (a + m)
        total += term
        if term < ENOUGH * total:
            break
    return total


def _gamma_fraction(a: float, y: float) -> float:
    """Return Gamma(a, y) / (y^a exp(-y)) as a continued fraction, for y > a + 1."""
    b = y + 1 - a
    c, d = 1 / TINY, 1 / b
    value = d
    for m in count(1):
        step, b = m * (a - m), b + 2
        d, c = 1 / (step * d + b or TINY), b + step / c or TINY
        value *= d * c
        if abs(d * c - 1) <= ENOUGH:
            break
    return value
