"""Intervals of metrics of the confusion matrix, whole and per class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.table import CATALOG, MetricSpec
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray, Numbers
from stream_metrics.formulas.stats.normal import normal_quantile
from stream_metrics.inference.intervals.adequacy import (
    ENOUGH,
    asymptotic,
    asymptotic_classes,
    least_cells,
    least_samples,
    padded,
)
from stream_metrics.inference.intervals.anytime import (
    ONE_CLASS,
    TOO_EARLY,
    exact_bounds,
    exact_classes,
    late_multiplier,
    steady,
    steady_classes,
)
from stream_metrics.inference.intervals.batched_counts import BatchedCounts, batch_of_one
from stream_metrics.inference.intervals.batched_formulas import CELLS, MARGINS, PER_CLASS
from stream_metrics.inference.intervals.cramer import folded, unbiased_bounds
from stream_metrics.inference.intervals.gradients import Gradient, class_standard_errors, gradient, standard_error
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest
from stream_metrics.inference.intervals.methods import METHODS, SHARES
from stream_metrics.inference.intervals.proportions import default_proportion
from stream_metrics.inference.intervals.resampling import drawn_classes, evaluated, percentiles
from stream_metrics.inference.intervals.sequences import beta_binomial_sequence

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["ClassEnds", "class_ends", "on_logit_scale", "per_class", "whole"]

Bounds: TypeAlias = tuple[Floats, Floats, Floats, NDArray[np.bool_]]  # low, high, standard error, whether exact
ROUNDING = 1e-6  # a sample that moves a metric at all moves it by about 1/n
CELL_SAMPLES = 10  # a cell, of metrics that read every cell
SPARSE = ("cramers_v", "generalized_mcc", *(key for key in CELLS if "ovo" in key))


class ClassEnds(NamedTuple):
    """Intervals of every class, in the order of the labels."""

    low: Floats
    high: Floats
    se: Floats
    n: Numbers
    skipped: Numbers
    methods: list[str]


def whole(row: MetricSpec, c: Counts, entry: tuple[float, bool], request: IntervalRequest, zero: float) -> Interval:
    """Return the interval of a whole value."""
    value, undefined = entry
    n = int(c.total)
    if undefined or not n:
        name = "asymptotic" if request.valid == "anytime" else METHODS[row.key]
        return Interval(value, math.nan, math.nan, request.level, name, request.valid, n=n)
    key = row.key
    if key in SHARES:
        return _share(row, c, value, request)
    if request.valid == "anytime":
        return _watched_whole(row, c, value, request, zero)
    if key == "cramers_v":
        return _association(row, c, value, request, zero)
    return _modelled_whole(row, c, value, request, zero)


def _watched_whole(row: MetricSpec, c: Counts, value: float, request: IntervalRequest, zero: float) -> Interval:
    """Return the interval of a whole value for all looks: exact at first, then asymptotic."""
    se, ends = float(standard_error(batch_of_one(c), gradient(row.key, batch_of_one(c), zero))), (row.low, row.high)
    shape = Interval(value, *ends, request.level, "asymptotic", "anytime", se, int(c.total))
    if steady(row.key, c, zero):
        margin = late_multiplier(shape.n, request.t_opt, request.level)
        low, high = on_logit_scale(value, se, ends, margin)
        return replace(shape, low=low, high=high)
    exact = exact_bounds(row.key, c, request.level)
    if exact is None:
        return replace(shape, note=TOO_EARLY if c.k > 1 else ONE_CLASS)
    low, high = max(row.low, min(exact.low, value)), min(row.high, max(exact.high, value))
    return replace(shape, low=low, high=high, method="beta_binomial")


def _association(row: MetricSpec, c: Counts, value: float, request: IntervalRequest, zero: float) -> Interval:
    """Return the interval of Cramer's V."""
    if np.count_nonzero(c.true_totals + c.predicted_totals) == 2:
        signed = CATALOG["generalized_mcc"]
        correlation = float(CELLS[signed.key](batch_of_one(c), zero))
        if math.isnan(correlation):  # a class without samples, or one without predictions
            return _modelled_whole(row, c, value, request, zero)
        interval = _modelled_whole(signed, c, correlation, request, zero)
        low, high = folded(interval.low, interval.high)
    else:
        interval = _modelled_whole(row, c, value, request, zero)
        bias = 1 if interval.method == "delta" else 2
        low, high = unbiased_bounds(c, value, (interval.low, interval.high), request.level, bias)
    return replace(interval, value=value, low=min(low, value), high=max(high, value))


def _modelled_whole(row: MetricSpec, c: Counts, value: float, request: IntervalRequest, zero: float) -> Interval:
    """Return the delta interval of a whole value, or that of drawn matrices.

    That of the posterior is not narrower than that of the delta method: with a handful of errors the prior weighs.
    """
    key, n, one, note = row.key, int(c.total), batch_of_one(c), ""
    bias = float(precision_bias(one).sum()) / n if key == "weighted_precision" else 0.0
    if enough := least_cells(c) >= ENOUGH:
        slopes = gradient(key, one, zero)
    else:
        slopes, enough, note = _judged(key, c, one, zero)
    if key in SPARSE and c.k > 2 and n < CELL_SAMPLES * c.k**2:
        note = note or f"{n} samples are few for the {c.k**2} cells of the matrix, all of which the value reads"
    inner = value, value
    se = float(standard_error(one, slopes))
    if se * n > ROUNDING:
        inner = on_logit_scale(value, se, (row.low, row.high), -normal_quantile((1 - request.level) / 2))
        if enough:
            return Interval(value, *shifted(inner, value, bias, row), request.level, "delta", "fixed", se, n, 0, note)
    drawn_values = evaluated(c, MARGINS.get(key) or CELLS[key], zero, request.draws, request.seed)
    low, high, deviation, skipped = percentiles(drawn_values, request.level)
    ends = shifted((min(float(low), inner[0]), max(float(high), inner[1])), value, bias, row)
    return Interval(value, *ends, request.level, "posterior", "fixed", float(deviation), n, int(skipped), note)


def precision_bias(c: BatchedCounts) -> Floats:
    """Return q (1 - q) for the precision q of each class; their sum is N times the bias of the mean by support.

    The hits of a class are in its precision and in its weight.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        q = c.diagonal / c.predicted_totals
        return np.where(c.predicted_totals > 0, q * (1 - q), 0.0)


def shifted(ends: tuple[float, float], value: float, bias: float, row: MetricSpec) -> tuple[float, float]:
    """Return an interval less the bias of its value, extended to the value, within the range of the metric."""
    return max(row.low, min(ends[0] - bias, value)), min(row.high, max(ends[1] - bias, value))


def _judged(key: str, c: Counts, one: BatchedCounts, zero: float) -> tuple[Gradient, bool, str]:
    """Return the gradient of a whole value where cells are few, and what `asymptotic` says of it."""
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = gradient(key, one, zero)
        unseen = key in MARGINS and least_samples(c) == 0  # 0/0 has no gradient, but half a sample has one
        return slopes, *asymptotic(c, one, gradient(key, padded(one), zero) if unseen else slopes)


def _share(row: MetricSpec, c: Counts, value: float, request: IntervalRequest) -> Interval:
    """Return the interval of a whole value that follows from the accuracy."""
    key, n, hits = row.key, int(c.total), int(c.hits)
    x = n - hits if key == "zero_one_loss" else hits
    method = "beta_binomial" if request.valid == "anytime" else METHODS[key]
    low, high, se, exact = share_bounds(key, np.array(x), np.array(n), request, c.k)
    if exact.any():
        method = "clopper_pearson"
    ends = max(row.low, min(float(low), value)), min(row.high, max(float(high), value))
    return Interval(value, *ends, request.level, method, request.valid, float(se), n)


def share_bounds(key: str, x: Numbers, n: Numbers, request: IntervalRequest, k: NumberOrArray) -> Bounds:
    """Return bounds and standard errors of metrics that follow from proportions x of n.

    The last value tells which have few hits or misses.
    """
    if request.valid == "anytime":
        low, high = beta_binomial_sequence(x, n, request.level, request.t_opt)
        exact = np.zeros(np.shape(x), bool)
    else:
        low, high, exact = default_proportion(x, n, request.level)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = x / n
        se = np.sqrt(p * (1 - p) / n)
        change = SHARES[key].to_metric if key in SHARES else None
        if change is not None:
            se = se * np.imag(change(p + 1e-30j, k)) / 1e-30
            low, high = change(low, k), change(high, k)
    return low, high, se, exact


def per_class(
    row: MetricSpec, c: Counts, entry: tuple[Floats, Sequence[Label]], request: IntervalRequest, zero: float
) -> dict[Label, Interval]:
    """Return the interval of every class."""
    ends = class_ends(row, c, entry, request, zero)
    numbers = (part.tolist() for part in (entry[0], ends.low, ends.high, ends.se, ends.n, ends.skipped))
    return {
        label: Interval(value, low, high, request.level, method, request.valid, se, int(n), int(skipped))
        for label, method, value, low, high, se, n, skipped in zip(c.labels, ends.methods, *numbers, strict=True)
    }


def class_ends(
    row: MetricSpec, c: Counts, entry: tuple[Floats, Sequence[Label]], request: IntervalRequest, zero: float
) -> ClassEnds:
    """Return the ends of the interval of every class, and what else is known of it, as columns."""
    values, key, lost = entry[0], row.key, set(entry[1])
    if not int(c.total):
        nothing, none = np.full(c.k, math.nan), np.zeros(c.k)
        return ClassEnds(nothing, nothing, nothing, none, none, [METHODS[key]] * c.k)
    if key in SHARES:
        ends = _shares(key, c, request)
    elif request.valid == "anytime":
        ends = _watched(row, c, values, request, zero)
    else:
        ends = _modelled(row, c, values, request, zero)
    low, high, se = ends[:3]
    if lost:
        gone = np.fromiter((label in lost for label in c.labels), bool, c.k)
        low, high, se = (np.where(gone, math.nan, part) for part in (low, high, se))
    low, high = np.where(values < low, values, low), np.where((values > high) & (low == low), values, high)
    return ClassEnds(low, high, se, *ends[3:])


def _shares(key: str, c: Counts, request: IntervalRequest) -> ClassEnds:
    share, one = SHARES[key], batch_of_one(c)
    x, n = one.form(share.numerator), np.broadcast_to(one.form(share.denominator), one.true_totals.shape)
    low, high, se, exact = share_bounds(key, x, n, request, c.k)
    name = "beta_binomial" if request.valid == "anytime" else METHODS[key]
    return ClassEnds(low, high, se, n, np.zeros(c.k), ["clopper_pearson" if few else name for few in exact.tolist()])


def _modelled(row: MetricSpec, c: Counts, values: Floats, request: IntervalRequest, zero: float) -> ClassEnds:
    """Return delta intervals, or those of drawn tables for classes whose counts do not allow one."""
    key, skipped = row.key, np.zeros(c.k)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = class_standard_errors(key, batch_of_one(c), zero)
        low, high = on_logit_scale(values, se, (row.low, row.high), -normal_quantile((1 - request.level) / 2))
    seen = np.asarray(se * int(c.total) > ROUNDING)
    use = seen & asymptotic_classes(c)
    for mine, run in drawn_classes(c, np.flatnonzero(~use), request.draws, request.seed):
        below, above, *rest = percentiles(PER_CLASS[key](run, zero), request.level)
        # not narrower than by the delta method, where that one sees any spread
        below = np.where(seen[mine], np.fmin(below, low[mine]), below)
        above = np.where(seen[mine], np.fmax(above, high[mine]), above)
        low[mine], high[mine], se[mine], skipped[mine] = below, above, *rest
    names = ["delta" if mine else "posterior" for mine in use.tolist()]
    return ClassEnds(low, high, se, np.full(c.k, int(c.total)), skipped, names)


def _watched(row: MetricSpec, c: Counts, values: Floats, request: IntervalRequest, zero: float) -> ClassEnds:
    """Return the intervals of values per class for all looks: exact at first, then asymptotic."""
    n = int(c.total)
    with np.errstate(invalid="ignore", divide="ignore"):
        se = class_standard_errors(row.key, batch_of_one(c), zero)
        late = steady_classes(row.key, c, zero)
        margin = np.where(late, late_multiplier(n, request.t_opt, request.level), np.inf)
        low, high = on_logit_scale(values, se, (row.low, row.high), margin)
    (early,) = np.nonzero(~late)
    exact = exact_classes(row.key, c, early, request.level)
    if exact is not None:
        low[early], high[early] = np.maximum(exact.low, row.low), np.minimum(exact.high, row.high)
    first = "asymptotic" if exact is None else "beta_binomial"
    names = ["asymptotic" if steady else first for steady in late.tolist()]
    return ClassEnds(low, high, se, np.full(c.k, n), np.zeros(c.k), names)


def on_logit_scale(
    value: NumberOrArray, se: NumberOrArray, ends: tuple[float, float], multiplier: NumberOrArray
) -> tuple[NumberOrArray, NumberOrArray]:
    """Return value -+ multiplier se on the logit scale between two ends, which an infinite multiplier returns.

    With u = (value - low) / (high - low), the interval of logit u is logit u -+ multiplier se_u / (u (1 - u)); a value
    without spread, as one at an end, has no other than the whole range.
    """
    low, width = ends[0], ends[1] - ends[0]
    if isinstance(value, float) and isinstance(multiplier, float):
        share = (value - low) / width
        if not (0 < share < 1 and se > 0 and multiplier < math.inf):
            return ends
        times = math.exp(min(multiplier * se / width / (share * (1 - share)), 700.0))
        return low + width * share / (share + (1 - share) * times), low + width * share / (share + (1 - share) / times)
    u = (np.asarray(value) - low) / width
    inner = u * (1 - u)
    wide = ~((inner > 0) & (np.asarray(se) > 0) & np.isfinite(multiplier))
    factor = np.exp(np.minimum(np.where(wide, 0.0, multiplier) * se / width / np.where(inner > 0, inner, 1.0), 700.0))
    bottom, top = low + width * u / (u + (1 - u) * factor), low + width * u / (u + (1 - u) / factor)
    return np.where(wide, ends[0], bottom), np.where(wide, ends[1], top)
