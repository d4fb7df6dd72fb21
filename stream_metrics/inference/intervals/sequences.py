"""Intervals that stay valid however often one looks: confidence sequences, from counts alone.

P(the truth is ever outside) <= 1 - level, over all looks together, so a stream may be watched for ever and stopped at
any moment. Both are functions of the counts at the moment of looking: merge first, then compute. Intersecting the
intervals of several shards would be wrong, since each covers the parameter of its own shard.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from stream_metrics._core.intervals.kernels import lower_root, refuted_distance
from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.formulas.stats.normal import distinct_pairs, expit, log_beta

__all__ = [
    "area_sequence", "asymptotic_multiplier", "beta_binomial_sequence", "bounded_sequence", "difference_sequence",
]  # fmt: skip

BISECTIONS = 50
MIX = 0.5  # both parameters of the mixing beta distribution
SHARES: Floats = np.geomspace(1e-5, 0.9, 64)  # of the wealth that is bet
DISTANCES: Floats = np.geomspace(1e-5, 1 - 1e-9, 64)  # from a mean, as a share of it
PARTS: Floats = np.arange(1, 33) / 32
REFINEMENTS = 9
NEGLIGIBLE = 1e-100  # a mean whose square could be rounded to 0 counts as 0
SHARE_WEIGHTS: Floats = np.log(SHARES**0.25 / (SHARES**0.25).sum())
BETS = SHARES, np.log1p(-SHARES) + SHARES, SHARE_WEIGHTS


def beta_binomial_sequence(
    x: Numbers, n: Numbers, level: float = 0.95, t_opt: float | None = None
) -> tuple[Floats, Floats]:
    """The proportions that a beta-binomial mixture has not refuted: valid from the first sample on, at any n.

    {p : B(x + a, n - x + b) / B(a, b) < p^x (1 - p)^(n - x) / alpha}; [0, 1] where n is 0. The left side over the
    right, times alpha, is a non-negative martingale of mean 1 under p. It is so for any a and b, also if they depend on
    p: they are 1/2, or with `t_opt` c p and c (1 - p), which bets on shares about as far from p as t_opt samples can
    tell. Then the interval is 17 to 23 % narrower from t_opt samples on, if a few of these are hits and a few misses,
    and wider long before. Robbins 1970; Howard et al. 2021.
    """
    x, n = np.asarray(x, np.float64), np.asarray(n, np.float64)
    if (pairs := distinct_pairs(x, n)) is not None:
        low, high = beta_binomial_sequence(pairs.x, pairs.n, level, t_opt)
        return low[pairs.places], high[pairs.places]
    alpha, counts = 1 - level, zip(x.ravel().tolist(), n.ravel().tolist(), strict=True)
    if t_opt is None:
        ends = [_limits(hits, of, alpha) if of > 0 else (0.0, 1.0) for hits, of in counts]
    else:
        ends = [_tuned_limits(hits, of, alpha, t_opt) if of > 0 else (0.0, 1.0) for hits, of in counts]
    low, high = np.array(ends, np.float64).reshape(-1, 2).T
    return low.reshape(x.shape), high.reshape(x.shape)


@lru_cache(maxsize=16384)  # groups with many classes have the same small counts again and again
def _limits(x: float, n: float, alpha: float) -> tuple[float, float]:
    """Return where n log(1 + e^u) - x u, convex in the logit u, reaches the bound, by Newton's steps from outside."""
    goal = log_beta(MIX, MIX) - math.log(alpha) - log_beta(MIX + x, MIX + (n - x))
    if x <= n * NEGLIGIBLE:
        return 0.0, -math.expm1(-goal / n)
    if x >= n:
        return math.exp(-goal / n), 1.0
    return expit(lower_root(x, n - x, n, goal)), expit(-lower_root(n - x, x, n, goal))


def _tuned_limits(x: float, n: float, alpha: float, t_opt: float) -> tuple[float, float]:
    """Return where the logarithm of the mixture, which is convex in p and below 0 at x / n, reaches the bound."""
    twice_log = 2 * math.log(1 / alpha)
    c = t_opt / (twice_log + math.log1p(twice_log))

    def refuted(p: float) -> bool:
        a, b = c * p, c * (1 - p)
        mixture = log_beta(a + x, b + (n - x)) - log_beta(a, b)
        return mixture - x * math.log(p) - (n - x) * math.log1p(-p) >= -math.log(alpha)

    ends = []
    for outer in (0.0, 1.0):
        inner, end = x / n, outer
        for _ in range(BISECTIONS if inner != outer else 0):
            middle = (inner + end) / 2
            if not 0 < middle < 1:
                break
            inner, end = (inner, middle) if refuted(middle) else (middle, end)
        ends.append(end)
    return ends[0], ends[1]


def difference_sequence(b: int, c: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The differences of two paired proportions that bets have not refuted: valid from the first sample on, at any n.

    Of n samples b are -1, c are 1 and the others 0, and d is their mean in the population. A bet of the share r of all
    wealth against every mean of d or less turns a unit into the product of 1 - r + r (x + 1) / (d + 1) over the
    samples, a non-negative supermartingale; so does the mean over `SHARES` of r, with more weight on the larger ones.
    It falls with d; the lower end is where it is 2 / alpha, and the upper end the same with the signs exchanged.
    Waudby-Smith and Ramdas 2024; Choe and Ramdas 2024.
    """
    return _bet_limit(b, c, n, 1 - level), -_bet_limit(c, b, n, 1 - level)


def _bet_limit(b: int, c: int, n: int, alpha: float) -> float:
    if b >= n:
        return -1.0
    low, high = -1.0, (c - b) / n
    goal = math.log(2 / alpha)
    lost = b * np.log1p(-SHARES) + SHARE_WEIGHTS
    for _ in range(BISECTIONS):
        d = (low + high) / 2
        logs = lost + c * np.log1p(SHARES * (1 - d) / (1 + d)) + (n - b - c) * np.log1p(-SHARES * d / (1 + d))
        most = logs.max()
        low, high = (d, high) if most + math.log(np.exp(logs - most).sum()) >= goal else (low, d)
    return low


def bounded_sequence(total: float, squares: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The means in [0, 1] that are not refuted by n values in [0, 1] with this sum and sum of squares: at any n.

    The narrower of two sequences at each end, with half of the error each: that of a proportion (see `area_sequence`),
    which suits values that are 0 or 1, and bets, which suit values of small variance. A bet of the share r against the
    mean m turns a unit into the product of 1 + r (x - m) / m, a martingale, which is at least the exponential of the
    sum of r (x - m) / m + (log(1 - r) + r) (x - m)^2 / m^2 (Fan et al. 2015), a function of the sums. The mean over
    `SHARES` of r refutes m, and all below it, because the product falls with m. The upper end is that of 1 - x.
    """
    alpha = (1 - level) / 2
    low, high = _limits(total, n, alpha)
    below = _mean_limit(total, squares, n, alpha)
    above = _mean_limit(n - total, n - 2 * total + squares, n, alpha)
    return max(low, below), min(high, 1 - above)


def _mean_limit(total: float, squares: float, n: int, alpha: float) -> float:
    """Return a mean that bets refute with the factor 2 / alpha, the largest below that of the values; 0 without one."""
    mean, goal = total / n, math.log(2 / alpha)
    if not mean > NEGLIGIBLE:
        return 0.0
    return mean * (1 - refuted_distance(total, squares, n, goal, BETS, DISTANCES, PARTS, REFINEMENTS))


def area_sequence(area: tuple[float, float], own: float, rest: float, level: float) -> tuple[float, float]:
    """The ROC areas that are not refuted, for an area that lies between two values: from the first sample on.

    The area is the mean, over the smaller class, of the share of the larger one that a sample is on the right side of.
    These shares, in [0, 1], have the sequence of a proportion (a^z b^(1 - z) <= z a + (1 - z) b, so the mixture is a
    supermartingale for them as well). They are off by at most the distance of an empirical distribution of t samples
    from its population, which exceeds sqrt(log(pi^2 t^2 / 3 a) / 2t) at any t with probability a at most. Half of the
    error each. Massart 1990; Waudby-Smith and Ramdas 2024.
    """
    few, many, alpha = min(own, rest), max(own, rest), (1 - level) / 2
    off = math.sqrt(math.log(math.pi**2 * many * many / (3 * alpha)) / (2 * many))
    low, _ = _limits(few * max(area[0] - off, 0.0), few, alpha)
    _, high = _limits(few * min(area[1] + off, 1.0), few, alpha)
    return min(low, area[0]), max(high, area[1])


def asymptotic_multiplier(n: float, t_opt: float, alpha: float = 0.05) -> float:
    """How many standard errors an asymptotic confidence sequence reaches at sample n: estimate +- SE_n m(n).

    m = sqrt(2 (s + 1) / s log(sqrt(s + 1) / alpha)), s = n rho^2, rho^2 = (2 log(1/alpha) + log(1 + 2 log(1/alpha))) /
    t_opt. Tightest near n = t_opt, which must be fixed before looking. Waudby-Smith et al. 2021.
    """
    twice_log = 2 * math.log(1 / alpha)
    s = n * (twice_log + math.log1p(twice_log)) / t_opt
    return math.sqrt(2 * (s + 1) / s * math.log(math.sqrt(s + 1) / alpha))
