"""Intervals of metrics of scores: areas, points of curves, calibration, and the accuracy of the k largest.

**The calibration error** without noise has an interval that is valid near 0. The squared distances of the bins, each
times its samples, add up to about a multiple of a noncentral chi-square variable, whose noncentrality is the squared
error times the number of samples. The interval holds the errors that the sum does not refute. Where the variable is
central, the scores are calibrated, and the lower end is 0. The variance of a bin with few samples may be far too small
by chance; for the lower end it is at least that of calibrated scores.

**Areas.** The samples are a sample of the population, and above level 0 the sketch leaves a little open besides. The
first is measured by the influence of each sample on the value (for the ROC area: DeLong et al. 1988), on the logit
scale and with Student's t of as many degrees of freedom as the rarer class has samples less one. For one look, the
standard error of the sketch joins that of the sample in quadrature, and the interval holds the certified one besides.
For all looks, the second is added to both ends: low - (value - certified low), high + (certified high - value).

**Means over classes.** One sample has a score in every column, so the columns depend on each other, and the sketch does
not keep how. The influence of a sample on the mean is the sum of its influences on the columns, and the standard error
is the length of the vector of all influences, which is at most the sum of the lengths of parts of it. Either each
column is a part; or what samples add to the column of their own class is one part, in which nothing overlaps, so that
squares add up, and what they add to each other column is a part. Of pairs of classes, the parts are those of one class,
and samples of different classes do not overlap. The smaller bound is taken: in trials 1.2 to 1.8 times the standard
error for 3 to 20 classes (average precision: 1.3 to 3 times).

**Scores pooled.** One sample adds one score of its own class and K - 1 others, whose lengths are summed in the same
way: (sum of K - 1 influences)^2 <= (K - 1) (sum of their squares).

**A perfect ranking** has no spread. Its lower end is that of min(own, rest) independent pairs that are all in order:
(alpha/2)^(1/m).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.errors import unexpected_label
from stream_metrics.evaluation.evaluation import Evaluation, Options, checked_options, compute
from stream_metrics.formulas.losses import LossState
from stream_metrics.formulas.protocol import Floats, Integers
from stream_metrics.formulas.stats.normal import t_quantile
from stream_metrics.inference.intervals import losses
from stream_metrics.inference.intervals.adequacy import ENOUGH, HALF
from stream_metrics.inference.intervals.anytime import (
    TOO_EARLY,
    area_sequence,
    early_level,
    late_multiplier,
    rests_on_enough,
)
from stream_metrics.inference.intervals.count_intervals import noncentrality_bounds, on_logit_scale, share_bounds
from stream_metrics.inference.intervals.folds import refuse_weights
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest
from stream_metrics.inference.intervals.methods import CALIBRATED, METHODS, POOLED, PRECISIONS
from stream_metrics.inference.intervals.resampling import percentiles
from stream_metrics.ranking.areas import delong_influence, delong_se, roc_auc
from stream_metrics.ranking.average_precision import average_precision
from stream_metrics.ranking.calibration import Residuals, bin_residuals
from stream_metrics.ranking.classes import RankState, classes, columns, only_column, pool
from stream_metrics.ranking.protocol import NAN, OWN, REST, Certified, RankColumn, once
from stream_metrics.ranking.steps import threshold_sweep

if TYPE_CHECKING:
    from stream_metrics.labels import Label

def calibration_bounds(bins: Residuals, level: float) -> tuple[float, float]:
    """Return the ends of the interval. The scale and the degrees of freedom are those of equal mean and variance."""
    n, some = float(bins.n.sum()), bins.n >= 2
    count, distance = bins.n[some], (bins.residual[some] / bins.n[some]) ** 2
    variance = np.maximum(bins.squares[some] - count * distance, 0.0) / (count - 1)
    observed, noise = float(count @ distance) / n, float(variance.sum()) / n
    if not noise > 0:
        return 0.0, 1.0
    high = _noncentrality(count, distance, variance, n, level, max(observed, noise))[1]
    at_least = np.maximum(variance, bins.expected[some] / count)
    low = _noncentrality(count, distance, at_least, n, level, observed)[0]
    return math.sqrt(low), min(math.sqrt(high), 1.0)


def _noncentrality(
    count: Floats, distance: Floats, variance: Floats, n: float, level: float, observed: float
) -> tuple[float, float]:
    """Return the squared errors that are not refuted."""
    noise, sum_of_squares = float(variance.sum()) / n, float(count @ distance)
    own = float(count @ (distance * (variance + distance / 4))) / sum_of_squares / n if sum_of_squares > 0 else 0.0
    scale = max(float(variance @ variance) / n / n / noise, own)
    low, high = noncentrality_bounds(observed / scale, noise / scale, level)
    return low * scale, high * scale


def left_out(bins: Residuals) -> float:
    """Return the share of the samples that are alone in a bin, which the value leaves out."""
    return float(np.sum(bins.n[bins.n < 2]) / bins.n.sum())


FEW_SCORES, FEW_PRECISIONS = 10, 20  # samples of a class
ALONE, MOST_ALONE = "more than 5 % of the samples are alone in a bin, and left out", 0.05
MOST_UNITS = 2**30  # of all samples together, so that a product of two sums fits into int64


def interval(
    evaluation: Evaluation, row: MetricSpec, request: IntervalRequest, label: Label | None, options: Options
) -> Interval | dict[Label, Interval]:
    """Return the interval of a metric of scores; of a per-class key that of `label`, or all by label."""
    if label is not None and row.kind == "whole":
        raise unexpected_label(row.key, label)
    view = evaluation.view(row.state, row.key)
    refuse_weights(evaluation)
    if row.key in losses.LOSSES:
        return losses.interval(row, evaluation.states[row.state], request, options)
    options = checked_options(row, options)
    computed = compute(row, view, evaluation.zero_division, **options) if options else evaluation.estimates(row.key)
    if row.key == "top_k_accuracy":
        return _top(view, computed, request)
    if row.kind == "per_class":
        if label is not None:
            at = evaluation.label_positions(row.key, (label,))[0]
            return _of_column(row, columns(view)[at], computed[at], request, options)
        pairs = zip(classes(view), columns(view), computed, strict=True)
        return {name: _of_column(row, column, value, request, options) for name, column, value in pairs}
    if row.key in ("confidence_auc", "debiased_calibration_error_top"):
        return _of_column(row, only_column(view), computed, request, options)
    return (_pooled if row.key in POOLED else _mean)(row, view, computed, request)


def _top(view: LossState, value: float, request: IntervalRequest) -> Interval:
    n, x = view.n, round(value * view.n) if view.n else 0
    method = "beta_binomial" if request.valid == "anytime" else "wilson"
    low, high, se, exact = share_bounds("top_k_accuracy", np.array(x), np.array(n), request, 2)
    method = "clopper_pearson" if exact.any() else method
    ends = (min(float(low), value), max(float(high), value)) if n else (NAN, NAN)
    return Interval(value, *ends, request.level, method, request.valid, float(se), n)


def _of_column(
    row: MetricSpec, column: RankColumn, value: Certified, request: IntervalRequest, options: Options
) -> Interval:
    method = METHODS[row.key]
    own, rest = column.weight(OWN), column.weight(REST)
    n = int(own + rest)
    if math.isnan(value.value):
        return Interval(value.value, NAN, NAN, request.level, method, request.valid, n=n)
    if method == "posterior":
        low, high, se, skipped = resampled(row, column, request, method, options)
        below, above, _, _ = resampled(row, column, request, "bootstrap", options)
        shape = Interval(0.0, 0.0, 0.0, request.level, method, "fixed", se, n, skipped, _thin(min(own, rest), row.key))
        # near its end a value is pulled inwards by half a sample, which that of the bootstrap is not
        return _widened(row, value, (min(low, below), max(high, above)), shape)
    if row.key == "ks_statistic":
        return _band(row, value, own, rest, request)
    if row.key in CALIBRATED:
        bins = bin_residuals(column, **options)  # type: ignore[arg-type]
        note = ALONE if left_out(bins) > MOST_ALONE else _thin(min(own, rest), row.key)
        shape = Interval(0.0, 0.0, 0.0, request.level, method, "fixed", n=n, note=note)
        return _widened(row, value, calibration_bounds(bins, request.level), shape)
    if request.valid == "anytime":
        return _watched(row, column, value, request)
    se = math.hypot(_widened_se(row.key, column), value.se)
    least = min(own, rest)
    ends = on_logit_scale(value.value, se, (row.low, row.high), t_quantile(request.level, max(least - 1, 1.0)))
    if not se > 0 and value.value == row.high and least:
        ends = row.low + (row.high - row.low) * ((1 - request.level) / 2) ** (1 / least), row.high
    note = _thin(least, row.key)
    return _widened(row, value, ends, Interval(0.0, 0.0, 0.0, request.level, method, "fixed", se, n, 0, note))


def _watched(row: MetricSpec, column: RankColumn, value: Certified, request: IntervalRequest) -> Interval:
    """Return the interval of one column for all looks: exact at first where there is one, then asymptotic."""
    own, rest = column.weight(OWN), column.weight(REST)
    se, scale = _se(row.key, column), (row.low, row.high)
    shape = Interval(value.value, *scale, request.level, "asymptotic", "anytime", se, int(own + rest))
    if _steady(row.key, column):
        ends = on_logit_scale(value.value, se, scale, late_multiplier(shape.n, request.t_opt, request.level))
        return _widened(row, value, ends, shape)
    if row.key in PRECISIONS or not (own and rest):
        return replace(shape, note=TOO_EARLY)
    width = row.high - row.low  # of "gini", twice that of the area
    area = (value.low - row.low) / width, (value.high - row.low) / width
    low, high = area_sequence(area, own, rest, early_level(request.level, 1))
    return replace(shape, low=row.low + width * low, high=row.low + width * high, method="beta_binomial")


def _steady(key: str, column: RankColumn) -> bool:
    """Tell whether an asymptotic sequence of an area may have started; see `anytime`.

    To both classes half a sample is added that is ranked as badly as can be; of average precision, for the class that
    is not counted, one that matters as much as the most important of those seen.
    """
    own, rest = column.weight(OWN), column.weight(REST)
    if min(own, rest) < 2:
        return False
    if key in PRECISIONS:
        weights, squares = precision_influence(column)
        worst = [(average_precision(column).value / own) ** 2, float(squares.max())]
    else:
        weights, squares = delong_influence(column)
        area = roc_auc(column).value
        worst = [(area / own) ** 2, (area / rest) ** 2]
    return rests_on_enough(np.append(weights, [HALF, HALF]), np.sqrt(np.append(squares, worst)), 2)


def _thin(least: float, key: str) -> str:
    few = FEW_PRECISIONS if key in PRECISIONS else FEW_SCORES
    return f"a class has fewer than {few} samples, and the value leans on it" if least < few else ""


def _band(row: MetricSpec, value: Certified, own: float, rest: float, request: IntervalRequest) -> Interval:
    """Return the interval of the largest distance of two distribution functions: that by which the two can differ.

    value -+ sqrt(log(2 / alpha) (1/P + 1/N) / 2), the quantile of Kolmogorov's distribution. A maximum over thresholds
    is biased upwards, so its own standard error would not do.
    """
    if request.valid == "anytime":
        raise ValueError(f"Expected valid='fixed' for {row.key!r}, which has no standard error, but got 'anytime'")
    margin = math.sqrt(math.log(2 / (1 - request.level)) * (1 / own + 1 / rest) / 2)
    shape = Interval(0.0, 0.0, 0.0, request.level, "band", "fixed", n=int(own + rest))
    return _widened(row, value, (value.value - margin, value.value + margin), shape)


def _widened_se(key: str, column: RankColumn) -> float:
    """Return the standard error of an area for one look.

    Where a few samples make up most of it, more of their kind are missing, and it is too small: then it is the
    geometric mean of itself and of what the value and the numbers of samples alone would give, if that is larger.
    """
    se, precision = _se(key, column), key in PRECISIONS
    if not se > 0:
        return se
    weights, squares = precision_influence(column) if precision else delong_influence(column)
    second, fourth = float(weights @ squares), float(weights @ squares**2)
    if second * second >= ENOUGH * fourth:
        return se
    own, rest, scale = column.weight(OWN), column.weight(REST), 2 if key == "gini" else 1
    area = (average_precision if precision else roc_auc)(column).value
    model = math.sqrt(area * (1 - area) / own) if precision else scale * newcombe_se(area, own, rest)
    return max(se, math.sqrt(se * model))


def newcombe_se(area: float, own: float, rest: float) -> float:
    """The standard error of a ROC area by its value alone. Newcombe 2006, method 5; Hanley and McNeil 1982."""
    m = (own + rest) / 2 - 1
    return math.sqrt(area * (1 - area) * (1 + m * ((1 - area) / (2 - area) + area / (1 + area))) / (own * rest))


def _se(key: str, column: RankColumn) -> float:
    if key in PRECISIONS:
        return average_precision_se(column)
    return delong_se(column) * (2 if key == "gini" else 1)


def _mean(row: MetricSpec, view: RankState, value: Certified, request: IntervalRequest) -> Interval:
    """Return the interval of a mean over classes, or over pairs of classes, by the bound of its standard error."""
    n, name = int(view.n), "asymptotic" if request.valid == "anytime" else METHODS[row.key]
    if math.isnan(value.value):
        return Interval(value.value, NAN, NAN, request.level, name, request.valid, n=n)
    pairs = _directed(view) if row.key == "roc_auc_ovo" else columns(view)
    defined = [column for column in pairs if column.weight(OWN) and column.weight(REST)]
    if not defined:  # one class: nothing is set against it
        return Interval(value.value, row.low, row.high, request.level, name, request.valid, n=n)
    anytime = request.valid == "anytime"
    if anytime and (len(defined) < len(pairs) or not all(_steady(row.key, column) for column in defined)):
        whole = Interval(value.value, row.low, row.high, request.level, name, "anytime", n=n)
        return _early_mean(row, pairs, value, whole)
    least = min(min(column.weight(OWN), column.weight(REST)) for column in defined)
    by_support = row.key.endswith("weighted")
    weights = np.array([column.weight(OWN) for column in defined]) if by_support else np.ones(len(defined))
    share = weights / weights.sum()
    se = _mean_se(row.key, defined, share, anytime)
    if by_support:
        parts = np.array([part.value for part in _parts(row, defined)])
        se += math.sqrt(float(share @ (parts - share @ parts) ** 2) / n)
    se = math.hypot(se, 0.0 if anytime else value.se)
    if anytime:
        margin = late_multiplier(n, request.t_opt, request.level)
    else:
        margin = t_quantile(request.level, max(least - 1, 1.0))
    ends = on_logit_scale(value.value, se, (row.low, row.high), margin)
    if not anytime and not se > 0 and value.value == row.high:
        ends = ((1 - request.level) / 2) ** (1 / least), row.high
    note = _thin(least, row.key) if request.valid == "fixed" else ""
    return _widened(row, value, ends, Interval(0.0, 0.0, 0.0, request.level, name, request.valid, se, n, 0, note))


def _mean_se(key: str, defined: list[RankColumn], share: Floats, anytime: bool) -> float:
    """Return a bound of the standard error of a weighted mean of columns; see the top of this file."""
    own, rest = np.array([_part_errors(key, column, anytime) for column in defined]).T * share
    apart = float(np.hypot(own, rest).sum())
    if key != "roc_auc_ovo":
        return min(apart, math.sqrt(float(own @ own)) + float(rest.sum()))
    k = math.isqrt(len(defined)) + 1  # pairs of all classes but equal ones, by the class of own
    if k * (k - 1) != len(defined):
        return apart
    lengths = np.zeros((k, k))
    lengths[~np.eye(k, dtype=bool)] = own
    by_class = lengths.sum(1)
    lengths[~np.eye(k, dtype=bool)] = rest
    by_class += lengths.sum(0)
    return min(apart, math.sqrt(float(by_class @ by_class)))


def _part_errors(key: str, column: RankColumn, anytime: bool) -> tuple[float, float]:
    """Return the lengths of the influences of the samples of own and of rest, widened for one look.

    With a single sample of either the spread is not known; the length of a mean of values in [0, 1] is 1/2 at most.
    """
    if min(column.weight(OWN), column.weight(REST)) < 2:
        return 0.0, 0.5
    weights, squares = precision_influence(column) if key in PRECISIONS else delong_influence(column)
    parts, own = weights * squares, len(weights) // 2
    first, second = math.sqrt(parts[:own].sum()), math.sqrt(parts[own:].sum())
    whole = math.hypot(first, second)
    factor = 1.0 if anytime or not whole > 0 else _widened_se(key, column) / whole
    return first * factor, second * factor


def _pooled(row: MetricSpec, view: RankState, value: Certified, request: IntervalRequest) -> Interval:
    """Return the interval of an area of all scores of all classes together."""
    each, n = columns(view), int(view.n)
    column, method = pool(each), METHODS[row.key]
    if math.isnan(value.value) or not (column.weight(OWN) and column.weight(REST)):
        return Interval(value.value, NAN, NAN, request.level, method, "fixed", n=n)
    own, rest = _part_errors(row.key, column, False)
    se = math.hypot(own, rest) if len(each) == 1 else own + math.sqrt(len(each) - 1) * rest
    least = min(n, column.weight(OWN), column.weight(REST))
    se = math.hypot(se, value.se)
    ends = on_logit_scale(value.value, se, (row.low, row.high), t_quantile(request.level, max(least - 1, 1.0)))
    if not se > 0 and value.value == row.high:
        ends = row.low + (row.high - row.low) * ((1 - request.level) / 2) ** (1 / least), row.high
    note = _thin(least, row.key)
    return _widened(row, value, ends, Interval(0.0, 0.0, 0.0, request.level, method, "fixed", se, n, 0, note))


def _early_mean(row: MetricSpec, pairs: list[RankColumn], value: Certified, whole: Interval) -> Interval:
    """Return the interval of a mean for all looks before the asymptotic sequence: the mean of exact ones of the areas.

    Each has its share of the error. A class without samples may have any area.
    """
    if row.key not in ("roc_auc_ovr", "roc_auc_ovo"):
        return replace(whole, note=TOO_EARLY)
    level, ends = early_level(whole.level, len(pairs)), []
    for column, area in zip(pairs, _parts(row, pairs), strict=True):
        own, rest = column.weight(OWN), column.weight(REST)
        ends.append(area_sequence((area.low, area.high), own, rest, level) if own and rest else (0.0, 1.0))
    low, high = np.mean(ends, axis=0).tolist()
    return replace(whole, low=min(low, value.low), high=max(high, value.high), method="beta_binomial")


def _parts(row: MetricSpec, part_columns: list[RankColumn]) -> list[Certified]:
    measure = average_precision if row.key in PRECISIONS else roc_auc
    return [measure(column) for column in part_columns]


def _directed(view: RankState) -> list[RankColumn]:
    labels = classes(view)
    if len(labels) == 1:  # one score decides between two classes
        return columns(view)
    return [view.column(a, a, b) for a in labels for b in labels if a != b]


def _widened(row: MetricSpec, value: Certified, ends: tuple[float, float], shape: Interval) -> Interval:
    """Return an interval with the value, its ends moved outwards for what the sketch leaves open."""
    below, above = (value.value - value.low, value.high - value.value) if shape.valid == "anytime" else (0.0, 0.0)
    low = max(row.low, min(ends[0], value.value) - below)
    high = min(row.high, max(ends[1], value.value) + above)
    low, high = min(low, value.low), max(high, value.high)
    return replace(shape, value=value.value, low=low, high=high)


def average_precision_se(column: RankColumn) -> float:
    """The standard error of average precision as an estimate for the population, by the influence of each sample.

    With f, t the weight of rest and own at or above a score and AP = 1/P sum t / (t + f) over own: a sample of own at s
    moves it by (t_s / (t_s + f_s) - AP + sum f / (t + f)^2) / P, one of rest by -sum t / (t + f)^2 / P, sums over own
    at or below s. Range: >= 0. Undefined: no own.
    """
    if not column.weight(OWN):
        return NAN
    weights, squares = precision_influence(column)
    return math.sqrt(float(weights @ squares))


@once
def precision_influence(column: RankColumn) -> tuple[Floats, Floats]:
    """Return the weights of the scores of own and of rest, and the square of what each adds to the standard error."""
    steps = threshold_sweep(column).fine
    own = float(steps.own.sum())
    upto = steps.tp + steps.fp
    precision = steps.tp / upto
    average = float(steps.own @ precision) / own
    gain, loss = (_below(steps.own * part / upto**2) for part in (steps.fp, steps.tp))
    n = own + float(steps.rest.sum())
    squares = np.concatenate([(precision - average + gain) ** 2, loss**2]) * (n / max(n - 1, 1) / own**2)
    return np.concatenate([steps.own, steps.rest]), squares


def _below(values: Floats) -> Floats:
    """Return the sums from each row to the last."""
    return values[::-1].cumsum()[::-1]


def resampled(
    row: MetricSpec, column: RankColumn, request: IntervalRequest, kind: str, options: Options
) -> tuple[float, float, float, int]:
    """Return quantiles, standard deviation and skipped draws of a measure of one column over drawn samples.

    Of a bootstrap the rows of the sketch are resampled together with the scores that are 0; places within a cell stay.
    Of a posterior they get random weights instead (Rubin 1981, the Bayesian bootstrap), and so does half a sample of
    own below all others and half a sample of rest above them: a ranking without an error need not stay so.
    """
    measure = row.formula.measure  # type: ignore[attr-defined]
    zeros = column.totals - column.counts.sum(axis=0)
    counts = np.concatenate([column.counts, zeros[None]]).astype(np.float64)
    n, rng = round(counts.sum()), np.random.default_rng(request.seed)
    if kind == "posterior" and len(column.cells):
        counts[0, OWN] += 0.5
        counts[-2, REST] += 0.5
        column = column._replace(units=max(1, min(256, MOST_UNITS // max(n, 1))))
    values = np.empty(request.draws)
    for at in range(request.draws):
        if kind == "posterior":
            draw = np.rint(rng.standard_gamma(counts) * column.units).astype(np.int64)
        else:
            draw = rng.multinomial(n, counts.ravel() / counts.sum()).reshape(counts.shape)
        rows = np.asarray(draw[:-1].any(axis=1))
        values[at] = measure(_redrawn(column, draw, rows), **options).value
    low, high, se, skipped = percentiles(values, request.level)
    return float(low), float(high), float(se), int(skipped)


def _redrawn(column: RankColumn, draw: Integers, rows: NDArray[np.bool_]) -> RankColumn:
    counts = draw[:-1][rows]
    return column._replace(
        cells=column.cells[rows], sole=column.sole[rows], counts=counts, offsets=column.offsets[rows],
        totals=draw.sum(axis=0),
    )  # fmt: skip
