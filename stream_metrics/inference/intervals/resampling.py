"""Matrices drawn from a posterior of the population, and the intervals of functions and options that they give.

Cells follow a Dirichlet distribution, whose prior is two samples in all, of each class alike, half of them right and
half spread over the other classes. So cells that are zero need not stay zero, as in a bootstrap. Of two classes a
recall then has the posterior beta(hits + 1/2, misses + 1/2), that of Jeffreys' prior, and balanced accuracy that of
Brodersen et al. 2010. Of more classes the prior is as weak: one sample for each of many would pull a mean over them. A
value of one class has the posterior of its own table against the rest, with 1/2 in each of the four cells.

The generator is seeded again for every matrix, so the same counts give the same interval, and all
metrics of one matrix use the same draws.

A user's formula, and a metric with options, are computed one matrix at a time, by the formula itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.evaluation.evaluation import Evaluation, Options, compute, evaluate
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray, memo_of
from stream_metrics.formulas.stats.normal import log_beta, normal_quantile
from stream_metrics.formulas.two_classes import TwoByTwo, one_vs_all
from stream_metrics.inference.intervals.adequacy import ENOUGH, few_samples, least_cells
from stream_metrics.inference.intervals.batched_counts import (
    BatchedCounts,
    MatrixCells,
    MatrixCounts,
    batched,
    cells_of,
    make_cells,
)
from stream_metrics.inference.intervals.gradients import BatchedFormula
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest

if TYPE_CHECKING:
    from stream_metrics.labels import Label

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


METHOD = "posterior"


def of_function(c: Counts, function: Callable[[Counts], float], request: IntervalRequest, options: Options) -> Interval:
    """Return the interval of a function of counts, from drawn matrices.

    The function is given `Counts` and returns a float, nan where it is undefined. Counts of drawn matrices are no whole
    numbers, and sum to as many samples.
    """
    if options:
        function = partial(function, **options)
    value = float(function(c))
    low, high, se, skipped = _resampled(c, lambda counts: np.array([function(counts)], float), request)
    ends = float(np.fmin(low[0], value)), float(np.fmax(high[0], value))
    if math.isnan(value) or math.isnan(low[0]):
        ends = math.nan, math.nan
    note = few_samples(c) or ("every draw gives this value" if ends[0] == ends[1] else "")
    shape = Interval(value, *ends, request.level, METHOD, request.valid, float(se[0]), int(c.total), int(skipped[0]))
    return replace(shape, note=note)


def with_options(
    evaluation: Evaluation,
    row: MetricSpec,
    c: Counts,
    request: IntervalRequest,
    more: tuple[Label | None, Options],
) -> Interval | dict[Label, Interval]:
    """Return the interval of a metric of the catalogue with options, such as beta=2."""
    label, options = more
    values, lost = evaluate(row, c, evaluation.zero_division, **options)

    def function(counts: Counts) -> Floats:
        return np.atleast_1d(compute(row, counts, evaluation.zero_division, **options))

    low, high, se, skipped = _resampled(c, function, request)
    n, note, intervals = int(c.total), few_samples(c) if row.kind == "whole" else "", []
    gone = [label in lost for label in c.labels] if isinstance(lost, list) else [lost]
    for at, value in enumerate(np.atleast_1d(values).tolist()):
        ends = (math.nan, math.nan) if gone[at] else (float(min(low[at], value)), float(max(high[at], value)))
        one = Interval(value, *ends, request.level, METHOD, request.valid, float(se[at]), n, int(skipped[at]), note)
        intervals.append(one)
    if row.kind == "whole":
        return intervals[0]
    if label is not None:
        return intervals[evaluation.label_positions(row.key, (label,))[0]]
    return dict(zip(c.labels, intervals, strict=True))


def _resampled(
    c: Counts, function: Callable[[Counts], Floats], request: IntervalRequest
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return low, high, standard error and skipped draws of each of the values."""
    if request.valid == "anytime":
        raise ValueError("Expected valid='fixed' for a function or a metric with options, but got 'anytime'")
    value = np.asarray(function(c), float)
    if not int(c.total):
        none = np.full(len(value), math.nan)
        return none, none, none, np.zeros(len(value))
    values = _drawn_values(c, function, request)
    low, high, se, skipped = map(np.asarray, percentiles(values, request.level))
    if least_cells(c) < ENOUGH:  # not narrower than by the jackknife, within what was drawn
        margin = -normal_quantile((1 - request.level) / 2) * jackknife(c, function)
        low = np.fmin(low, np.fmax(value - margin, np.nanmin(values, axis=0, initial=math.inf)))
        high = np.fmax(high, np.fmin(value + margin, np.nanmax(values, axis=0, initial=-math.inf)))
    return low, high, se, skipped


def _drawn_values(c: Counts, function: Callable[[Counts], Floats], request: IntervalRequest) -> Floats:
    """Return the values of drawn matrices, draws first."""
    values = []
    for run in drawn(c, request.draws, request.seed):
        matrices = run.matrix * (int(c.total) / run.total)[:, None, None]
        k, labels = matrices.shape[-1], c.labels
        unseen: Any = tuple(object() for _ in range(k - len(labels)))  # classes that have not been seen
        labels = (*labels, *unseen)
        values += [function(MatrixCounts(matrix, labels)) for matrix in matrices]
    return np.array([value[: c.k] for value in values], float)


def jackknife(c: Counts, function: Callable[[Counts], Floats]) -> Floats:
    """Return the standard errors of values by leaving out one sample of each cell in turn.

    SE^2 = (n - 1)/n sum C_ij (f_(ij) - mean)^2, where f_(ij) is without one sample of cell ij. Tukey 1958.
    """
    rows, columns, counts, k, _ = cells_of(c)
    matrix = np.zeros((k, k), np.int64)
    matrix[rows, columns] = counts.astype(np.int64)
    values_without = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        matrix[row, column] -= 1
        values_without.append(function(MatrixCounts(matrix.copy(), c.labels)))
        matrix[row, column] += 1
    values, n = np.array(values_without, float), counts.sum()
    mean = counts @ values / n
    return np.asarray(np.sqrt((n - 1) / n * (counts @ (values - mean) ** 2)))


# Of balanced accuracy: on the scale theta of sin(theta)^2, densities are smooth down to parameters of 1/2.
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
