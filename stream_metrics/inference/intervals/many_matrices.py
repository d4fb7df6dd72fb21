"""The default intervals of many small matrices at once, such as those of the groups of a stream.

An interval of one matrix is a hundred calls of NumPy on arrays of a few hundred numbers, each of which takes longer to
begin than to run. Here all matrices share these calls. The formulas are those of one matrix; sums over classes or cells
have another order, which moves the last digits.

What few matrices need is left to the interval of one, and so has no entry here: draws from a posterior, a single class,
means over classes some of which have not occurred.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluation import Evaluation
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.formulas.stats.normal import normal_quantile
from stream_metrics.inference.intervals.adequacy import ENOUGH, HALF, NO_HIT, THIN, THIN_OF_MANY, THIN_SHARE, leaning
from stream_metrics.inference.intervals.anytime import (
    ADDED,
    MEANS,
    STEADY,
    TOO_EARLY,
    beta_binomial_sequence,
    early_level,
    late_multiplier,
)
from stream_metrics.inference.intervals.batched_counts import RaggedCounts, ragged
from stream_metrics.inference.intervals.count_intervals import (
    COUNT_ABSENT,
    ROUNDING,
    on_logit_scale,
    precision_bias,
    share_bounds,
    shifted,
)
from stream_metrics.inference.intervals.gradients import ANALYTIC, Gradient, gradient
from stream_metrics.inference.intervals.interval import IntervalRequest
from stream_metrics.inference.intervals.methods import SHARES
from stream_metrics.inference.intervals.resampling import DRAWS, SEED

FAR = 2.0**62  # more than any count
Flags: TypeAlias = NDArray[np.bool_]


class NotedEnds(NamedTuple):
    """The ends of an interval, and why it is not to be trusted."""

    low: float
    high: float
    note: str = ""


class _Kinds(NamedTuple):
    """What kinds of classes, matrices and cells there are; what `adequacy` asks of them."""

    occurs: Flags  # of classes
    sure: Flags  # of matrices, with enough of everything in each class
    several: Flags  # of matrices, with more than one true class
    unseen: Flags  # of classes, in matrices with a class that is never true or never predicted
    padded: RaggedCounts | None  # if there are such matrices
    some_thin: Flags  # of matrices, with a class of next to no samples or predictions
    thin_true: Flags
    thin_predicted: Flags
    absent: set[int]  # matrices with a class that does not occur


class ManyMatrices:
    """Intervals of metrics of the counts of some evaluations, each with samples and without weights or units.

    Results are by the place of the evaluation. Where one is missing, the matrix needs the interval of one.
    """

    def __init__(self, evaluations: Sequence[Evaluation], level: float, valid: str) -> None:
        self._evaluations = evaluations
        self._views: list[Counts] = [each.view("counts", "") for each in evaluations]
        self._counts = ragged(self._views)
        self._request = IntervalRequest(level, valid, None, DRAWS, SEED)

    def whole(self, key: str, besides: Container[int] = ()) -> dict[int, NotedEnds]:
        """Return intervals of a whole value for all matrices except those in `besides`."""
        row = CATALOG[key]
        if key not in ANALYTIC:
            return {}
        values = dict[int, float]()
        skipped = self._kinds.absent if key in COUNT_ABSENT else set()
        for at, each in enumerate(self._evaluations):
            if at in besides or at in skipped:
                continue
            value, undefined = each.value_and_undefined(key)
            if not undefined and math.isfinite(value):
                values[at] = value
        if key in SHARES:
            return self._shares(key, values)
        zero = self._evaluations[0].zero_division_of(row)
        with np.errstate(invalid="ignore", divide="ignore"):
            slopes = gradient(key, self._counts, zero)
            if self._request.valid == "anytime":
                return self._watched(key, values, slopes, zero)
            return self._delta(key, values, slopes, zero)

    def _shares(self, key: str, values: dict[int, float]) -> dict[int, NotedEnds]:
        row, c = CATALOG[key], self._counts
        hits, n = np.array([int(view.hits) for view in self._views]), c.total.astype(np.int64)
        x = n - hits if key == "zero_one_loss" else hits
        low, high, _, _ = share_bounds(key, x, n, self._request, c.sizes)
        return {
            at: NotedEnds(max(row.low, min(float(low[at]), value)), min(row.high, max(float(high[at]), value)))
            for at, value in values.items()
        }

    def _delta(self, key: str, values: dict[int, float], slopes: Gradient, zero: float) -> dict[int, NotedEnds]:
        """Return the intervals that may be taken as normal."""
        c, row = self._counts, CATALOG[key]
        se, (count, thin), sure = _standard_errors(c, slopes), self._judged(key, slopes, zero), self._kinds.sure
        normal = (se * c.total > ROUNDING) & (sure | (self._kinds.several & (count >= ENOUGH)))
        without_hit = ~sure & (c.sizes > 2) & ~(count > 0)
        leans = ~sure & self._kinds.some_thin & (thin > THIN_SHARE)
        z, ends = -normal_quantile((1 - self._request.level) / 2), dict[int, NotedEnds]()
        bias = c.class_sums(precision_bias(c)) / c.total if key == "weighted_precision" else np.zeros(len(c.total))
        columns = zip(*(part.tolist() for part in (normal, se, without_hit, leans, bias)), strict=True)
        for at, (is_normal, error, lost, leaning_on_few, by) in enumerate(columns):
            if is_normal and at in values:
                note = NO_HIT if lost else leaning(self._views[at]) if leaning_on_few else ""
                low, high = on_logit_scale(values[at], error, (row.low, row.high), z)
                ends[at] = NotedEnds(*shifted((float(low), float(high)), values[at], by, row), note)
        return ends

    def _judged(self, key: str, slopes: Gradient, zero: float) -> tuple[Floats, Floats]:
        """Return the effective count, and the share of the variance from thin classes; see `adequacy.asymptotic`."""
        c, kinds = self._counts, self._kinds
        if kinds.padded is not None:  # 0/0 has no gradient, but half a sample has one
            with_halves = gradient(key, kinds.padded, zero)
            slopes = Gradient(*(np.where(kinds.unseen, b, a) for a, b in zip(slopes[:3], with_halves[:3], strict=True)))
        thin_classes = kinds.thin_true, kinds.thin_predicted
        second, fourth, _, thin = _influences(c, slopes, kinds.occurs, thin_classes)
        return np.where(fourth > 0, second * second / fourth, 0.0), np.where(second > 0, thin / second, 0.0)

    @cached_property
    def _kinds(self) -> _Kinds:
        c = self._counts
        d, true, predicted = c.totals
        occurs = true + predicted > 0
        least = c.least(np.where(occurs, np.minimum(np.minimum(d, true - d), predicted - d), FAR))
        fewest = c.least(np.where(occurs, np.minimum(true, predicted), FAR))
        unseen = fewest == 0
        few = np.where(c.classes <= 2, THIN, THIN_OF_MANY)
        thin_true, thin_predicted = true < few, predicted < few
        return _Kinds(
            occurs,
            sure=least >= ENOUGH,
            several=c.class_sums(true != 0) > 1,
            unseen=unseen[c.owner],
            padded=c.padded(HALF * occurs) if unseen.any() else None,
            some_thin=fewest < np.where(c.sizes <= 2, THIN, THIN_OF_MANY),
            thin_true=thin_true,
            thin_predicted=thin_predicted,
            absent={*np.unique(c.owner[~occurs]).tolist()},
        )

    def _watched(self, key: str, values: dict[int, float], slopes: Gradient, zero: float) -> dict[int, NotedEnds]:
        """Return the intervals for all looks; see `count_intervals`."""
        c, row, level = self._counts, CATALOG[key], self._request.level
        se, late, ends = _standard_errors(c, slopes), self._steady(key, zero), dict[int, NotedEnds]()
        early = [at for at in values if not late[at] and c.sizes[at] > 1]
        exact = self._exact(key, early)
        for at, value in values.items():
            if late[at]:
                margin = late_multiplier(int(c.total[at]), None, level)
                low, high = on_logit_scale(value, float(se[at]), (row.low, row.high), margin)
                ends[at] = NotedEnds(float(low), float(high))
            elif at in exact:
                low, high = exact[at]
                ends[at] = NotedEnds(max(row.low, min(low, value)), min(row.high, max(high, value)))
            elif key not in MEANS and c.sizes[at] > 2:
                ends[at] = NotedEnds(row.low, row.high, TOO_EARLY)
        return ends

    def _steady(self, key: str, zero: float) -> Flags:
        """Tell where an asymptotic sequence may have started; see `anytime.steady`."""
        every = np.ones(len(self._counts.owner), bool)
        c = self._counts.padded(HALF * every)
        second, fourth, extra, _ = _influences(c, gradient(key, c, zero), every, (every, every))
        return np.asarray((fourth > 0) & (second * second >= STEADY * fourth) & (extra <= ADDED * second))

    def _exact(self, key: str, which: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the bounds of means over classes before an asymptotic sequence starts; see `anytime.exact_bounds`."""
        if key not in MEANS:
            return {}
        c, (form, mean) = self._counts, MEANS[key]
        x, n = (np.broadcast_to(c.form(part), c.true_totals.shape) for part in form)
        bounds = dict[int, tuple[float, float]]()
        for size in {int(c.sizes[at]) for at in which}:
            some = [at for at in which if c.sizes[at] == size]
            places = np.concatenate([np.arange(c.part(at).start, c.part(at).stop) for at in some])
            ends = beta_binomial_sequence(x[places], n[places], early_level(self._request.level, size))
            low, high = (np.asarray(end).reshape(len(some), size) for end in ends)
            bounds |= {at: (float(mean(low[i])), float(mean(high[i]))) for i, at in enumerate(some)}
        return bounds

    def mean_of_classes(self, key: str, classes: dict[int, NDArray[np.intp]]) -> dict[int, NotedEnds]:
        """Return intervals of the mean of a rate over some classes of matrices, given by their places.

        They are the means of intervals of these classes that hold together. An end is nan if one of them is.
        """
        c, share, ends = self._counts, SHARES[key], dict[int, NotedEnds]()
        x, n = c.form(share.numerator), np.broadcast_to(c.form(share.denominator), c.true_totals.shape)
        by_size: dict[int, list[int]] = {}
        for at, own in classes.items():
            by_size.setdefault(len(own), []).append(at)
        for size, some in by_size.items():
            request = self._request._replace(level=1 - (1 - self._request.level) / size)
            places = np.concatenate([classes[at] + c.part(at).start for at in some])
            low, high, _, _ = share_bounds(key, x[places], n[places], request, size)
            value = np.concatenate([self._evaluations[at].value_and_undefined(key)[0][classes[at]] for at in some])
            low, high = (np.where(n[places] > 0, part, math.nan) for part in (low, high))
            low, high = np.where(value < low, value, low), np.where(value > high, value, high)
            means = ((end.reshape(len(some), size).sum(1) / size).tolist() for end in (low, high))
            ends |= {at: NotedEnds(*both) for at, *both in zip(some, *means, strict=True)}
        return ends


def _standard_errors(c: RaggedCounts, slopes: Gradient) -> Floats:
    """Return the standard errors of whole values; see `gradients.standard_error`."""
    return np.sqrt(c.slopes(*slopes[:3]).variances())


def _influences(
    c: RaggedCounts, slopes: Gradient, occurs: Flags, thin: tuple[Flags, Flags]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return for each matrix the sums of f^2 and f^4, and those parts of the first that are added and thin.

    f is the influence of a sample in each cell, and of the three that are added in each class that occurs; see
    `adequacy.influence`. `thin` are the classes of next to no samples, and of next to no predictions.
    """
    flags = (each.view(np.uint8) for each in (occurs, *thin))
    second, fourth, added, thin_part = c.slopes(*slopes[:3]).influences(*c.totals[1:], c.total, *flags)
    return second, fourth, added, thin_part
