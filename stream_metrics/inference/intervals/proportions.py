"""Intervals of one proportion: x of n independent samples, or of each of several.

Wilson 1927 inverts the score test: it covers as much as it says on average, but with few hits or few misses as little
as 84 % at 95 %, however large n is. Jeffreys takes the quantiles of beta(x + 1/2, n - x + 1/2): 88 % at least. Clopper
and Pearson 1934 guarantee the level for every p and are wider for it. The default takes Wilson's interval, and that of
Clopper and Pearson below 20 hits or misses: at least 93.8 % from 30 samples on, 1 to 8 % wider than Wilson's. All are
one-sided at x = 0 and x = n. Counts may be large; nothing cancels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.formulas.stats.normal import beta_quantile, distinct_pairs, normal_quantile

__all__ = ["FEW", "clopper_pearson", "default_proportion", "wilson"]

FEW = 20  # hits or misses, below which a normal distribution does not describe a proportion at 95 %

Bounds = tuple[Floats, Floats]


def wilson(x: Numbers, n: Numbers, level: float = 0.95) -> Bounds:
    """Score interval: centre (p + z^2/2n) / (1 + z^2/n), half-width z/(1 + z^2/n) sqrt(p(1-p)/n + z^2/4n^2).

    Arrays of one shape, in [0, 1]; nan where n is 0. Wilson 1927.
    """
    x, n = np.asarray(x, np.float64), np.asarray(n, np.float64)
    z = -normal_quantile((1 - level) / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        p, below = x / n, n + z * z
        middle = (x + z * z / 2) / below
        margin = z / below * np.sqrt(n * p * (1 - p) + z * z / 4)
    low = np.where(x <= 0, 0.0, np.maximum(middle - margin, 0.0))
    high = np.where(x >= n, 1.0, np.minimum(middle + margin, 1.0))
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def clopper_pearson(x: Numbers, n: Numbers, level: float = 0.95) -> Bounds:
    """Exact interval: quantiles of beta(x, n - x + 1) and beta(x + 1, n - x); covers at least `level` for every p.

    0 at x = 0 and 1 at x = n; nan where n is 0. Clopper and Pearson 1934.
    """
    x, n = np.asarray(x, np.float64), np.asarray(n, np.float64)
    if (pairs := distinct_pairs(x, n)) is not None:
        low, high = clopper_pearson(pairs.x, pairs.n, level)
        return low[pairs.places], high[pairs.places]
    low, high, tail = np.empty(x.shape), np.empty(x.shape), (1 - level) / 2
    for at in np.ndindex(x.shape):
        hits, misses = float(x[at]), float(n[at] - x[at])
        if hits + misses <= 0:
            low[at] = high[at] = np.nan
            continue
        low[at] = 0.0 if hits <= 0 else beta_quantile(tail, hits, misses + 1)
        high[at] = 1.0 if misses <= 0 else beta_quantile(1 - tail, hits + 1, misses)
    return low, high


def default_proportion(x: Numbers, n: Numbers, level: float = 0.95) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Wilson's interval; where x or n - x is below `few` that of Clopper and Pearson. The third value tells where."""
    x, n = np.asarray(x, np.float64), np.asarray(n, np.float64)
    low, high = wilson(x, n, level)
    few = np.asarray(np.minimum(x, n - x) < few_at(level))
    if few.any():
        low, high = np.atleast_1d(low), np.atleast_1d(high)
        low[few.ravel()], high[few.ravel()] = clopper_pearson(x[few], n[few], level)
        low, high = low.reshape(x.shape), high.reshape(x.shape)
    return low, high, few


def few_at(level: float) -> float:
    """Return the hits or misses that Wilson's interval needs: `FEW` up to 95 %, more for tails further out.

    The relative error of the normal tail at z is about z^3 skewness / 6, and the skewness about 1 / sqrt(misses).
    """
    return FEW * max(normal_quantile((1 - level) / 2) / normal_quantile(0.025), 1.0) ** 6
