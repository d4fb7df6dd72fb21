"""Intervals of metrics of the confusion matrix, whole and per class.

**Proportions**, x of n independent samples. Wilson 1927 inverts the score test: it covers as much as it says on
average, but with few hits or few misses as little as 84 % at 95 %, however large n is. Clopper and Pearson 1934
guarantee the level for every p and are wider for it. Metrics take Wilson's interval, and that of Clopper and Pearson
below 20 hits or misses: at least 93.8 % from 30 samples on, 1 to 8 % wider than Wilson's. Both are one-sided at x = 0
and x = n. Counts may be large; nothing cancels.

**Cramer's V** is at least 0 and biased upwards by the noise of the cells. Of two classes V is the absolute value of the
correlation, whose interval is folded at 0. Of more, chi-square is about noncentral near independence, with (R - 1)(C -
1) degrees of freedom: the lower end is at most that of the smallest noncentrality that the counts do not refute, and
the ends of the other methods are lowered by their bias.

**Classes of `labels` that have not occurred** count in a mean with the value of 0/0, usually 0, although nothing is
known of them. Intervals of means include what they may still become.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import quantity
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray, Numbers
from stream_metrics.formulas.stats.normal import beta_quantile, distinct_pairs, normal_quantile
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
    beta_binomial_sequence,
    exact_bounds,
    exact_classes,
    late_multiplier,
    steady,
    steady_classes,
)
from stream_metrics.inference.intervals.batched_counts import BatchedCounts, batch_of_one
from stream_metrics.inference.intervals.gradients import (
    CELLS,
    MARGINS,
    PER_CLASS,
    Gradient,
    class_standard_errors,
    gradient,
    standard_error,
)
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest
from stream_metrics.inference.intervals.methods import METHODS, SHARES
from stream_metrics.inference.intervals.resampling import (
    balanced_accuracy_posterior,
    drawn_classes,
    evaluated,
    percentiles,
)

if TYPE_CHECKING:
    from stream_metrics.labels import Label

FEW = 20  # hits or misses, below which a normal distribution does not describe a proportion at 95 %

Ends = tuple[Floats, Floats]


def wilson(x: Numbers, n: Numbers, level: float = 0.95) -> Ends:
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


def clopper_pearson(x: Numbers, n: Numbers, level: float = 0.95) -> Ends:
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


STEPS = 60
NEAR = 25.0  # chi-square over the square of its degrees of freedom: beyond, the bias is 1/10 of the standard error


def folded(low: float, high: float) -> tuple[float, float]:
    """Return the interval of the absolute value of a number between two ends."""
    ends = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else ends[0]), ends[1]


def unbiased_bounds(c: Counts, value: float, ends: tuple[float, float], level: float, bias: int) -> tuple[float, float]:
    """Return the interval of V for more than two classes from one that ignores the bias.

    `bias` is how often the noise of the cells is in it: once in the value itself, twice where matrices are drawn.
    """
    true, predicted = c.true_totals > 0, c.predicted_totals > 0
    degrees = (int(true.sum()) - 1) * (int(predicted.sum()) - 1)
    scale = int(c.total) * (int((true | predicted).sum()) - 1)
    low, high = math.sqrt(max(ends[0] ** 2 - bias * degrees / scale, 0.0)), ends[1]
    chi_square = scale * value * value
    if degrees > 0 and chi_square < NEAR * degrees * degrees:
        least, most = noncentrality_bounds(chi_square, degrees, level)
        low, high = min(low, math.sqrt(least / scale)), max(high, math.sqrt(most / scale))
    return low, min(high, 1.0)


def noncentrality_bounds(x: float, degrees: float, level: float) -> tuple[float, float]:
    """Return the noncentralities of a chi-square distribution that an observed x does not refute. Smithson 2003."""
    tail = (1 - level) / 2
    return _solve(x, degrees, 1 - tail), _solve(x, degrees, tail)


def _solve(x: float, degrees: float, share: float) -> float:
    """Return the noncentrality with P[X <= x] = share; 0 if it is smaller for all."""
    low, high = 0.0, 2 * x + 100.0
    if x <= 0 or _distribution(x, degrees, low) < share:
        return 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _distribution(x, degrees, middle) > share else (low, middle)
    return (low + high) / 2


def _distribution(x: float, degrees: float, noncentrality: float) -> float:
    """Return P[X <= x] of the noncentral chi-square distribution, about. Sankaran 1963."""
    mean = degrees + noncentrality
    first, second = degrees + 2 * noncentrality, degrees + 3 * noncentrality
    h = 1 - 2 * mean * second / (3 * first * first)
    p, m = first / (mean * mean), (h - 1) * (1 - 3 * h)
    deviation = h * math.sqrt(2 * p) * (1 + m * p / 2)
    return NormalDist().cdf(((x / mean) ** h - 1 - h * p * (h - 1 - (2 - h) * m * p / 2)) / deviation)


COUNT_ABSENT = frozenset((  # metrics that also average classes without samples and predictions
    "accuracy_ovo", "average_accuracy", "cohen_kappa_ovo", "f1_ovo", "f1_ovo_first_positive", "general_f1",
    "general_f1_geometric", "general_f1_harmonic", "general_f1_power_2", "general_fowlkes_mallows",
    "general_fowlkes_mallows_geometric", "general_fowlkes_mallows_harmonic", "general_fowlkes_mallows_power_2",
    "macro_f1", "macro_f1_of_means", "macro_fbeta", "macro_jaccard", "macro_precision", "macro_recall",
    "macro_specificity", "matthews_corrcoef_ovo", "ovo", "power_mean_all_precision_recall",
))  # fmt: skip


def including_absent(row: MetricSpec, c: Counts, interval: Interval, zero: float) -> Interval:
    """Return the interval of a mean over classes, extended to what it would be if absent classes occurred.

    Their values are between those of a class with one hit and of a class with one sample and one prediction, both
    wrong. Means over pairs of classes may be anything.
    """
    absent = c.true_totals + c.predicted_totals == 0
    if row.key not in COUNT_ABSENT or not absent.any() or np.isnan(interval.low):
        return interval
    low, high = row.low, row.high
    if row.key in MARGINS:
        one, more = batch_of_one(c), absent.astype(np.float64)
        d, true, predicted = one.totals
        ends = [
            BatchedCounts(d + hit * more, true + more, predicted + more, one.total + more.sum(), one.values, one.where)
            for hit in (0, 1)
        ]
        now, least, most = (float(MARGINS[row.key](each, zero)) for each in (one, *ends))
        low, high = max(low, interval.low + min(least - now, 0.0)), min(high, interval.high + max(most - now, 0.0))
    count = int(np.count_nonzero(absent))
    have = "has" if count == 1 else "have"
    note = f"{count} of {quantity(c.k, 'class')} {have} not occurred, and the interval includes what the value may be"
    return replace(interval, low=low, high=high, note="; ".join(filter(None, (interval.note, note))))


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
    if key == "balanced_accuracy" and c.k == 2 and c.true_totals.all():  # exactly, and without a seed
        (tp, tn), (fn, fp) = c.diagonal.tolist(), (c.true_totals - c.diagonal).tolist()
        low, high = balanced_accuracy_posterior(tp, fn, tn, fp, request.level)
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
