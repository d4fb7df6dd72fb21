"""The beta, binomial and chi-square distributions, without SciPy, in constant time at any size.

A tail is one term of the distribution times a sum. The term comes from Loader's saddle-point form, not from
differences of lgamma: those lose 6 digits at 10^9 trials, this loses none. The sum is the continued fraction of
Didonato and Morris while one of the parameters is small, because its steps grow with the root of the smaller one.
Beyond `LARGE` it is an integral over a smooth hump, which 48 nodes of Gauss and Legendre have to the last digits.

What cancels is the distance from the mean, so that is an argument of its own (`gap`), which callers with whole numbers
know exactly. Binomial tails have a relative error below 1e-12 up to 2^63 trials, wherever they are above 1e-300.

Loader 2000, Fast and accurate computation of binomial probabilities; Didonato and Morris 1992, Algorithm 708, sec. 9;
Press et al. 2007, Numerical Recipes, sec. 6.2, 6.14 (quadrature).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count

import numpy as np

from stream_metrics.formulas.protocol import Floats

ENOUGH = 2.0**-52
TINY = 1e-300
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
LARGE = 3000.0  # of both parameters: there the integrand of a tail is close to that of a normal distribution
NODES = 48
NEGLIGIBLE = 60.0  # the integrand ends where it has fallen to about exp(-60)


def binomial_tail(x: int, n: int, times: int, of: int) -> float:
    """Return P[X >= x] for n trials of probability times / of, all whole numbers, 0 <= times <= of."""
    if x <= 0 or (times >= of and x <= n):
        return 1.0
    if times <= 0 or x > n:
        return 0.0
    gap = (x * (of - times) - (n - x + 1) * times) / of
    return beta_tail(x, n - x + 1, times / of, (of - times) / of, gap)


def beta_tail(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return I_x(a, b) for a, b > 0, y = 1 - x and gap = a y - b x: P[X <= x] for X beta(a, b)."""
    if gap >= 0:
        return min(1.0, _lower(a, b, x, y, gap))
    return max(0.0, 1.0 - _lower(b, a, y, x, -gap))


def beta_term(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return x^a y^b / B(a, b) for y = 1 - x and gap = a y - b x."""
    return math.exp(log_beta_term(a, b, x, y, gap))


def log_beta_term(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return the logarithm of `beta_term`."""
    n = a + b
    if n * x < TINY or n * y < TINY:
        return -math.inf
    errors = stirling_error(n) - stirling_error(a) - stirling_error(b)
    deviances = deviance(a, n * x, gap) + deviance(b, n * y, -gap)
    return 0.5 * math.log(a / n * b) - HALF_LOG_2PI + errors - deviances


def _lower(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return I_x(a, b) for x up to the mean, to full relative precision."""
    term = beta_term(a, b, x, y, gap)
    if not term:
        return 0.0
    return term * (_integral(a, b, x, y, gap) if min(a, b) > LARGE else _beta_fraction(a, b, x, y, gap))


def _beta_fraction(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return I_x(a, b) over its term, by a continued fraction whose terms do not cancel."""
    c, c0, c1 = 1 + gap, b / a, 1 + 1 / a
    p, s = 1.0, a + 1
    above, below, last_above, last_below = 1.0, c / c1, 0.0, 1.0
    value = c1 / c
    for n in count(1):
        t = n / a
        w = n * (b - n) * x
        e = a / s
        alpha = p * (p + c0) * e * e * (w * x)
        e = (1 + t) / (c1 + 2 * t)
        beta = n + w / s + e * (c + n * (1 + y))
        p, s = 1 + t, s + 2
        above, last_above = alpha * last_above + beta * above, above
        below, last_below = alpha * last_below + beta * below, below
        before, value = value, above / below
        if abs(value - before) <= ENOUGH * value:
            return value
        last_above, last_below, above, below = last_above / below, last_below / below, value, 1.0
    raise AssertionError("an endless loop has ended")


def _integral(a: float, b: float, x: float, y: float, gap: float) -> float:
    """Return I_x(a, b) over its term: the integral of (t/x)^(a-1) ((1-t)/y)^(b-1) over t = x - x y s, from s = 0 on.

    The logarithm of the integrand is a slope times s, which is exact, less terms that are all positive near 0.
    """
    slope, curvature = gap + x - y, (a - 1) * y * y + (b - 1) * x * x
    end = 2 * NEGLIGIBLE / (slope + math.sqrt(slope * slope + 2 * NEGLIGIBLE * curvature))
    end = min(end, 1 / y)
    nodes, weights = _nodes()
    s = end * nodes
    logs = (a - 1) * _log1p_minus_each(-s * y) + (b - 1) * _log1p_minus_each(s * x) - slope * s
    return end * math.fsum((weights * np.exp(logs)).tolist())


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss and Legendre for [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes + 1) / 2, weights / 2


def chi_square_tail(x: float, degrees: int) -> float:
    """Return P[X >= x] for a chi-square variable with that many degrees of freedom."""
    if x <= 0 or degrees <= 0:
        return 1.0
    if degrees == 1:
        return math.erfc(math.sqrt(x / 2))
    a, y = degrees / 2, x / 2
    term = math.exp(-stirling_error(a) - deviance(a, y, a - y)) / math.sqrt(2 * math.pi * a)
    return min(1.0, term * a * _gamma_fraction(a, y)) if y > a + 1 else 1.0 - term * _gamma_series(a, y)


def stirling_error(z: float) -> float:
    """Return log Gamma(z + 1) minus Stirling's formula for it."""
    if z <= 15:
        return math.lgamma(z + 1) - (z + 0.5) * math.log(z) + z - HALF_LOG_2PI
    square = float(z) * z
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / z


def deviance(x: float, mean: float, gap: float) -> float:
    """Return x log(x / mean) - gap for gap = x - mean, without cancellation where the two are close."""
    u = -gap / x
    if not -0.5 < u < 1:
        return x * math.log(x / mean) - gap
    r = u / (2 + u)
    square, total = r * r, 0.0
    for coefficient in ATANH:
        total = total * square + coefficient
    return -x * r * (2 * square * total - u)


def _log1p_minus_each(u: Floats) -> Floats:
    """Return log(1 + u) - u of many."""
    r = u / (2 + u)
    square = r * r
    near = r * (2 * square * np.polyval(ATANH, square) - u)
    with np.errstate(divide="ignore"):
        return np.where((u > -0.5) & (u < 1), near, np.log1p(u) - u)


ATANH = [1 / j for j in range(39, 1, -2)]  # of the series of artanh(r) / r^3, for r up to 1/3, the last one first


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
