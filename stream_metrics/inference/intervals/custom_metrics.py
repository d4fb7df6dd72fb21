"""Intervals of a user's own formula, and of a metric with options: one matrix at a time, by the formula itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_metrics.catalog.table import MetricSpec
from stream_metrics.evaluation.evaluate import compute, evaluate
from stream_metrics.evaluation.evaluation import Evaluation, Options
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.formulas.stats.normal import normal_quantile
from stream_metrics.inference.intervals.adequacy import ENOUGH, few_samples, least_cells
from stream_metrics.inference.intervals.batched_counts import cells_of
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest
from stream_metrics.inference.intervals.matrix_counts import MatrixCounts
from stream_metrics.inference.intervals.resampling import drawn, percentiles

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["jackknife", "of_function", "with_options"]

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
