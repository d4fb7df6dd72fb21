"""Matrices drawn from a posterior of the population, given the one that was counted.

Cells follow a Dirichlet distribution, whose prior is two samples in all, of each class alike, half of them right and
half spread over the other classes. So cells that are zero need not stay zero, as in a bootstrap. Of two classes a
recall then has the posterior beta(hits + 1/2, misses + 1/2), that of Jeffreys' prior, and balanced accuracy that of
Brodersen et al. 2010. Of more classes the prior is as weak: one sample for each of many would pull a mean over them. A
value of one class has the posterior of its own table against the rest, with 1/2 in each of the four cells.

The generator is seeded again for every matrix, so the same counts give the same interval, and all
metrics of one matrix use the same draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.memoized import memo_of
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray
from stream_metrics.formulas.two_classes import TwoByTwo, one_vs_all
from stream_metrics.inference.intervals.batched_counts import BatchedCounts, MatrixCells, batched, cells_of, make_cells
from stream_metrics.inference.intervals.batched_formulas import BatchedFormula

__all__ = ["DRAWS", "SEED", "drawn", "drawn_classes", "enough_draws", "evaluated", "percentiles", "prior_cells"]

DRAWS = 1000  # enough for the tails of 95 %
MOST_BY_DEFAULT = 10_000
SEED = 20101
AT_ONCE = 2**22  # numbers in memory: more draws are processed in runs
DENSE = 48  # classes; beyond, the prior is spread over the cells that occur


def enough_draws(level: float) -> int:
    """Return how many draws put as many into the tails of a level as `DRAWS` do at 95 %; 1,000 to 10,000."""
    return min(max(DRAWS, math.ceil(DRAWS * 0.05 / (1 - level))), MOST_BY_DEFAULT)


def drawn(c: Counts, draws: int, seed: int) -> Iterator[BatchedCounts]:
    """Yield the drawn matrices in runs. A single run is memoized."""
    memo, request = memo_of(c), (drawn, draws, seed)
    if request in memo:
        yield memo[request]
        return
    where, rng = prior_cells(c), np.random.default_rng(seed)
    size = max(1, min(draws, AT_ONCE // max(1, len(where.values))))
    for start in range(0, draws, size):
        run = batched(rng.standard_gamma(where.values, (min(size, draws - start), len(where.values))), where)
        if size == draws:
            memo[request] = run
        yield run


def prior_cells(c: Counts) -> MatrixCells:
    """Return the cells with the prior added: for each class that occurs as much on the diagonal as beside it."""
    counted = cells_of(c)
    occurs = np.flatnonzero((c.true_totals + c.predicted_totals) > 0)
    if len(occurs) == 1:  # another class has not been seen yet, which is not to say that there is none
        counted = counted._replace(k=max(counted.k, 2))
        occurs = np.append(occurs, 1 if occurs[0] == 0 else 0)
        occurs.sort()
    half = min(0.5, 1 / max(len(occurs), 1))
    if counted.k > DENSE:
        return _sparse_prior(counted, occurs, half)
    full = np.zeros((counted.k, counted.k))
    full[np.ix_(occurs, occurs)] = half / max(len(occurs) - 1, 1)
    full[occurs, occurs] = half
    full[counted.rows, counted.columns] += counted.values
    rows, columns = np.nonzero(full)
    return make_cells(rows, columns, full[rows, columns], counted.k)


def _sparse_prior(counted: MatrixCells, occurs: NDArray[np.intp], half: float) -> MatrixCells:
    """Return the cells that occur and the diagonal, with half of the prior there and half over the rest of a row.

    A row without others has its half in the column of the next class.
    """
    off = counted.rows != counted.columns
    beside = np.bincount(counted.rows[off], minlength=counted.k)
    values = counted.values + np.where(off, half / np.maximum(beside[counted.rows], 1), 0.0)
    alone = beside[occurs] == 0
    rows = np.concatenate([counted.rows, occurs, occurs[alone]])
    columns = np.concatenate([counted.columns, occurs, np.roll(occurs, -1)[alone]])
    places, at = np.unique(rows * counted.k + columns, return_inverse=True)
    sums = np.bincount(at, np.concatenate([values, np.full(len(occurs) + int(alone.sum()), half)]), len(places))
    return make_cells(places // counted.k, places % counted.k, sums.astype(np.float64), counted.k)


def drawn_classes(
    c: Counts, which: NDArray[np.intp], draws: int, seed: int
) -> Iterator[tuple[NDArray[np.intp], TwoByTwo]]:
    """Yield drawn tables of single classes against the rest, in runs of classes, with the positions of these."""
    parts = np.stack([np.asarray(part, np.float64) for part in one_vs_all(c)]) + 0.5
    rng, size = np.random.default_rng(seed), max(1, AT_ONCE // (4 * draws))
    for start in range(0, len(which), size):
        mine = which[start : start + size]
        yield mine, TwoByTwo(*rng.standard_gamma(parts[:, None, mine], (4, draws, len(mine))))


def evaluated(c: Counts, formula: BatchedFormula, zero: float, draws: int, seed: int) -> Floats:
    """Return the values of every drawn matrix, draws first."""
    parts = [formula(run, zero) for run in drawn(c, draws, seed)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def percentiles(values: Floats, level: float) -> tuple[NumberOrArray, NumberOrArray, NumberOrArray, NumberOrArray]:
    """Return the two quantiles, the standard deviation, and the number of draws that are undefined; draws first."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    lost = np.isnan(values)
    skipped = lost.sum(0)
    if not lost.any():
        low, high = np.quantile(values, ends, axis=0)
        return low, high, values.std(0), skipped
    if values.ndim == 1:
        values, alone = values[:, None], True
        lost = lost[:, None]
    else:
        alone = False
    statistics = np.full((3, values.shape[1]), np.nan)
    for at in range(values.shape[1]):
        defined = values[~lost[:, at], at]
        if len(defined):
            statistics[:, at] = *np.quantile(defined, ends), defined.std()
    low, high, deviation = statistics[:, 0] if alone else statistics
    return low, high, deviation, skipped
