"""Curves over all thresholds, and single points of them, from one column of scores.

A threshold lets through the scores that are at least as high. Points at the start of a cell are exact at any
level, so a maximum over them is a certified lower bound; between two of them the curve lies in the rectangle that they
span, so the best corners are a certified upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.ranks.kernels import UNIFORM
from stream_metrics.formulas.accuracy import accuracy
from stream_metrics.formulas.agreement import matthews_corrcoef
from stream_metrics.formulas.arithmetic import ratio
from stream_metrics.formulas.protocol import Floats, NumberOrArray
from stream_metrics.formulas.rates import f1, ova_balanced_accuracy
from stream_metrics.formulas.two_classes import TwoByTwo
from stream_metrics.ranking.protocol import (
    EPSILON,
    NAN,
    OWN,
    REST,
    UNDEFINED,
    Certified,
    RankColumn,
    exact,
    lost,
    lost_in_classes,
    quotients,
    rational,
    round_down,
    round_up,
    shares_of,
    widened,
)
from stream_metrics.ranking.steps import CurveSteps, Units, root_sum_square, threshold_sweep

C = TypeVar("C", bound="ThresholdCurve")
NEAR = 1e-12  # values this close are compared exactly


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ThresholdCurve:
    """Points of a curve from the highest threshold down.

    Parameters
    ----------
    x, y : array of shape (m,)
        The points.
    thresholds : array of shape (m,)
        Scores at least this high count as positive; inf for the first point.
    exact : array of bool of shape (m,)
        False for points inside a crowded cell, which are estimates.
    """

    x: Floats
    y: Floats
    thresholds: Floats
    exact: NDArray[np.bool_]

    def __iter__(self) -> Iterator[Floats]:
        """Yield x, y and thresholds."""
        return iter((self.x, self.y, self.thresholds))

    def __eq__(self, other: object) -> bool:
        """Tell whether both have the same points."""
        if type(other) is not type(self) or not isinstance(other, ThresholdCurve):
            return NotImplemented
        mine, theirs = ((*curve, curve.exact) for curve in (self, other))
        return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the number of points."""
        return f"<{type(self).__name__} of {len(self.x)} points>"


class ROCCurve(ThresholdCurve):
    """A ROC curve: `fpr, tpr, thresholds = curve`."""

    __slots__ = ()

    @property
    def fpr(self) -> Floats:
        """False positive rates."""
        return self.x

    @property
    def tpr(self) -> Floats:
        """True positive rates."""
        return self.y


class PRCurve(ThresholdCurve):
    """A precision-recall curve: `precision, recall, thresholds = curve`, with x = recall and y = precision."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Floats]:
        """Yield precision, recall and thresholds, the order of scikit-learn."""
        return iter((self.y, self.x, self.thresholds))

    @property
    def precision(self) -> Floats:
        """Precisions."""
        return self.y

    @property
    def recall(self) -> Floats:
        """Recalls."""
        return self.x


class DETCurve(ThresholdCurve):
    """A detection error trade-off curve: `fpr, fnr, thresholds = curve`."""

    __slots__ = ()

    @property
    def fpr(self) -> Floats:
        """False positive rates."""
        return self.x

    @property
    def fnr(self) -> Floats:
        """False negative rates."""
        return self.y


class Best(NamedTuple):
    """The best threshold among those with exact counts, its value, and a bound on what any other could reach.

    Scores of at least the threshold count as positive, as with `MetricSet(threshold=)`, which then has that value.
    """

    threshold: float
    value: float
    high: float


def roc_curve(column: RankColumn) -> ROCCurve:
    """Points (false positive rate, true positive rate); nan rates of a class without scores. Fawcett 2006."""
    steps = threshold_sweep(column).fine
    fpr, tpr = _from_zero(steps.fp) / _total(column, REST), _from_zero(steps.tp) / _total(column, OWN)
    return _curve(ROCCurve, steps, fpr, tpr)


def det_curve(column: RankColumn) -> DETCurve:
    """Points (false positive rate, false negative rate); nan rates of a class without scores. Martin et al. 1997."""
    steps = threshold_sweep(column).fine
    own = column.weight(OWN)
    missed = (own - _from_zero(steps.tp)) / _total(column, OWN)
    return _curve(DETCurve, steps, _from_zero(steps.fp) / _total(column, REST), missed)


def pr_curve(column: RankColumn) -> PRCurve:
    """Points (recall, precision), the first (0, 1) by convention; nan recalls without own. Doering 2018."""
    steps = threshold_sweep(column).fine
    precision = np.concatenate([[1.0], steps.tp / (steps.tp + steps.fp)])
    return _curve(PRCurve, steps, _from_zero(steps.tp) / _total(column, OWN), precision)


def _curve(kind: type[C], steps: CurveSteps, x: Floats, y: Floats) -> C:
    thresholds = np.concatenate([[math.inf], steps.thresholds])
    return kind(x, y, thresholds, np.concatenate([[True], steps.exact]))


def _from_zero(values: Floats) -> Floats:
    return np.concatenate([[0.0], values])


def _total(column: RankColumn, c: int) -> float:
    return column.weight(c) or NAN


def partial_auc(column: RankColumn, *, max_fpr: float = 0.1, standardized: bool = True) -> Certified:
    """Area under the ROC curve for false positive rates from 0 to `max_fpr`.

    A, or standardised (1 + (A - m) / (M - m)) / 2 with m = max_fpr^2 / 2 and M = max_fpr

    Ties are crossed by straight lines. Standardised, 1/2 is chance and 1 is perfect.
    """
    if not 0 < max_fpr <= 1:
        raise ValueError(f"Expected `max_fpr` to be in (0, 1], but got {max_fpr!r}")
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return UNDEFINED
    steps = threshold_sweep(column)
    limit = Fraction(max_fpr)
    low, high = _area_bounds(steps.units, limit)
    least, scale = Fraction(0), Fraction(1)
    if standardized:
        least, scale = limit**2 / 2, 1 / (2 * (limit - limit**2 / 2))
    shift = Fraction(1, 2) if standardized else Fraction(0)
    low, high = ((area - least) * scale + shift for area in (low, high))
    if low == high and not column.slack:
        return rational(low)
    value = _likely_area(steps.fine, max_fpr * rest) / (own * rest)
    s = steps.coarse
    width = np.clip(max_fpr * rest - s.fp_before, 0.0, s.rest)
    se = root_sum_square(np.where(s.mixed, width * s.own, 0.0) * steps.std_errors) / (own * rest)
    bounds = round_down(*low.as_integer_ratio()), round_up(*high.as_integer_ratio())
    factor = math.nextafter(float(scale), math.inf)
    ends = (float((limit * c - least) * scale + shift) for c in (0, 1))
    return widened(
        (value - float(least)) * float(scale) + float(shift),
        *bounds,
        se * factor,
        lost_in_classes(column) * factor,
        *ends,
    )


def _area_bounds(s: Units, limit: Fraction) -> tuple[Fraction, Fraction]:
    """Return the least and the largest area over false positive rates up to the limit."""
    rest, own = int(s.fp[-1]), int(s.tp[-1])
    goal = limit * rest
    rows = int(s.fp.searchsorted(math.floor(goal), "right"))
    before, inside = s.tp[:rows] - s.own[:rows], s.rest[:rows] * s.own[:rows]
    sure = 2 * int(s.rest[:rows].dot(before)) + int(inside[~s.mixed[:rows]].sum())
    low, high = Fraction(sure), Fraction(sure + 2 * int(inside[s.mixed[:rows]].sum()))
    if rows < len(s.rest):
        p, n = int(s.own[rows]), int(s.rest[rows])
        width, height = goal - (int(s.fp[rows]) - n), int(s.tp[rows]) - p
        low, high = low + 2 * width * height, high + 2 * width * height
        if s.mixed[rows]:
            high += 2 * width * p
        else:
            low, high = low + width * width * p / n, high + width * width * p / n
    return low / (2 * own * rest), high / (2 * own * rest)


def _likely_area(s: CurveSteps, limit: float) -> float:
    """Return the likely area over the first `limit` negatives."""
    width = np.clip(limit - s.fp_before, 0.0, s.rest)
    part = shares_of(width, s.rest)
    return math.fsum(width * s.tp_before + s.own * s.rest * _bent_area(part, s.shares))


def _bent(x: Floats | float, share: Floats | float) -> Floats | float:
    """Return the curve through a row: a parabola from (0, 0) to (1, 1) whose area is the share of ordered pairs."""
    return np.clip(x + 6 * (share - 0.5) * x * (1 - x), 0.0, 1.0)


def _bent_area(x: Floats, share: Floats) -> Floats:
    """Return the area under `_bent` from 0 to x, not clipped; straight where the share is 1/2."""
    return np.asarray(x**2 * (0.5 + 6 * (share - 0.5) * (0.5 - x / 3)))


def tpr_at_fpr(column: RankColumn, *, fpr: float = 0.1) -> Certified:
    """Largest true positive rate of a threshold whose false positive rate is at most `fpr`.

    max TPR over the thresholds with FPR <= fpr

    There is no interpolation.
    """
    if not 0 <= fpr <= 1:
        raise ValueError(f"Expected `fpr` to be in [0, 1], but got {fpr!r}")
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return UNDEFINED
    steps = threshold_sweep(column)  # rates are compared as doubles: 3 of 10 is a rate of at most 0.3
    error, all_own = lost_in_classes(column), int(steps.units.tp[-1])
    low, high = _reached(steps.units, fpr - error)[0], _reached(steps.units, fpr + error)[1]
    if low == high and not error:
        return exact(low, all_own)
    value = _likely_reached(steps.fine, fpr, rest) / own
    bounds = round_down(low, all_own), round_up(high, all_own)
    return widened(value, *bounds, UNIFORM * (bounds[1] - bounds[0]), error, 0.0, 1.0)


def _reached(s: Units, fpr: float) -> tuple[int, int]:
    """Return the least and the largest weight of own above the lowest threshold that lets through at most `fpr`."""
    if fpr < 0:
        return 0, 0
    row = int(s.fp.searchsorted(_most(fpr, int(s.fp[-1])), "right"))
    before = int(s.tp[row - 1]) if row else 0
    return before, int(s.tp[row]) if row < len(s.fp) and s.mixed[row] else before


def _most(rate: float, total: int) -> int:
    """Return the largest whole number whose share of the total, as a double, is at most the rate."""
    if rate >= 1:
        return total
    number = math.floor(Fraction(rate) * total)
    while (number + 1) / total <= rate:  # the share of a larger number is rounded down to the rate
        step = 1
        while (number + 2 * step) / total <= rate:
            step *= 2
        number += step
    return number


def _likely_reached(s: CurveSteps, fpr: float, rest: float) -> float:
    """Return the likely weight of own above the lowest threshold that lets through at most `fpr`."""
    row = int(np.searchsorted(s.fp / rest, fpr, "right"))
    before = float(s.tp[row - 1]) if row else 0.0
    if row == len(s.fp) or not s.mixed[row]:
        return before
    part = (fpr * rest - s.fp_before[row]) / s.rest[row]
    return before + float(s.own[row] * _bent(max(0.0, part), s.shares[row]))


def precision_at_recall(column: RankColumn, *, recall: float = 0.9) -> Certified:
    """Largest precision of a threshold whose recall is at least `recall`.

    max P over the thresholds with R >= recall

    There is no interpolation.
    """
    if not 0 <= recall <= 1:
        raise ValueError(f"Expected `recall` to be in [0, 1], but got {recall!r}")
    own = column.weight(OWN)
    if not own:
        return UNDEFINED
    steps = threshold_sweep(column)
    low, high = _best_precisions(steps.units, recall, column.slack * column.units, lost(column, own))
    if low == high:
        return Certified(low, low, high, 0.0)
    s = steps.fine
    likely = np.max(np.where(s.tp / own >= recall, shares_of(s.tp, s.tp + s.fp), 0.0), initial=0.0)
    value = max(float(likely), _crossing(s, recall * own))
    return widened(value, low, high, UNIFORM * (high - low), EPSILON, 0.0, 1.0)


def _best_precisions(s: Units, recall: float, slack: float, error: float) -> tuple[float, float]:
    """Return the least and the largest precision of thresholds whose recall is at least `recall`.

    `slack` is the weight that rounding may have moved, `error` its largest share of own. A precision over a weight of w
    is then off by at most slack / w, and of enough recall there is a weight of (recall - error) own at least.
    """
    own = int(s.tp[-1])
    there, recalls = quotients(s.tp, s.tp + s.fp), quotients(s.tp, np.full_like(s.tp, own))
    corner = np.where(s.mixed, s.tp + s.fp - s.rest, s.tp + s.fp)
    best = quotients(s.tp, np.maximum(corner, s.tp))
    if not slack:
        sure, possible = recalls >= recall, recalls >= recall
        return float(np.max(there[sure], initial=0.0)), float(np.max(best[possible], initial=0.0))
    weight = (s.tp + s.fp).astype(np.float64)
    inside = np.where(s.mixed, (s.tp + s.fp - s.rest - s.own).astype(np.float64), weight)
    low = there - slack / weight
    high = best + slack / np.maximum(np.maximum(inside, (recall - error) * own), slack)
    sure, possible = recalls >= recall + error, recalls >= recall - error
    return float(np.max(low[sure], initial=0.0)), min(1.0, float(np.max(high[possible], initial=0.0)))


def _crossing(s: CurveSteps, goal: float) -> float:
    """Return the likely precision where own reaches the goal, if that is inside a mixed row; otherwise 0."""
    row = int(np.searchsorted(s.tp, goal))
    if not goal or row == len(s.tp) or not s.mixed[row]:
        return 0.0
    y, bend = (goal - s.tp_before[row]) / s.own[row], 6 * (s.shares[row] - 0.5)
    middle = 1 + bend  # solve y = middle x - bend x^2 for the smaller root
    part = 2 * y / (middle + math.sqrt(max(0.0, middle**2 - 4 * bend * y))) if middle > 0 else math.sqrt(y)
    fp = s.fp_before[row] + s.rest[row] * min(max(part, 0.0), 1.0)
    return goal / (goal + fp) if goal + fp > 0 else 0.0


def ks_statistic(column: RankColumn) -> Certified:
    """Largest distance between the score distributions of a class and of the rest.

    max abs(TPR - FPR) over the thresholds
    """
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return UNDEFINED
    steps = threshold_sweep(column)
    s, fine = steps.units, steps.fine
    all_own, all_rest = int(s.tp[-1]), int(s.fp[-1])
    low = int(np.abs(s.tp * all_rest - s.fp * all_own).max())
    corners = np.maximum(s.tp * all_rest - (s.fp - s.rest) * all_own, s.fp * all_own - (s.tp - s.own) * all_rest)
    high = max(low, int(corners[s.mixed].max(initial=0)))
    if low == high and not column.slack:
        return exact(low, all_own * all_rest)
    value = float(np.max(np.abs(fine.tp / own - fine.fp / rest)))
    bounds = round_down(low, all_own * all_rest), round_up(high, all_own * all_rest)
    return widened(value, *bounds, UNIFORM * (bounds[1] - bounds[0]), lost_in_classes(column), 0.0, 1.0)


def best_threshold(column: RankColumn, metric: str | Callable[..., Floats] = "youden") -> Best:
    """The threshold at which a metric of the two-by-two table is largest; the highest of several.

    `metric` is one of "youden" (TPR - FPR), "f1", "accuracy", "balanced_accuracy", "mcc", or a function of arrays
    (tp, fn, fp, tn) that never falls when a sample becomes right. The value is that of the threshold, exactly.
    Undefined: no own or no rest. Source: Youden 1950; Lipton et al. 2014 (F1).
    """
    if isinstance(metric, str) and metric not in METRICS:
        raise ValueError(f"Expected `metric` to be a function or one of {', '.join(METRICS)}, but got {metric!r}")
    function = partial(_values, metric) if isinstance(metric, str) else metric
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return Best(NAN, NAN, NAN)
    steps = threshold_sweep(column)
    s = steps.coarse
    fp, tp = _from_zero(s.fp), _from_zero(s.tp)
    values = function(tp, own - tp, fp, rest - fp)
    at = int(np.argmax(values))
    value, high = float(values[at]), -math.inf
    if s.mixed.any():
        outer = s.fp_before[s.mixed], s.tp[s.mixed]
        high = float(np.max(function(outer[1], own - outer[1], outer[0], rest - outer[0])))
        high += 8 * EPSILON * abs(high)
    if isinstance(metric, str):
        near = np.flatnonzero(values >= value - NEAR).tolist()
        best = [_exact_value(metric, steps.units, row) for row in near]
        value = max(best)
        at = near[best.index(value)]
    threshold = float(s.thresholds[at - 1]) if at else math.inf
    return Best(threshold, value, max(value, high))


def _exact_value(metric: str, s: Units, row: int) -> float:
    """Return the value of a metric where as many rows count as positive, as the formula of labels has it."""
    own, rest = int(s.tp[-1]), int(s.fp[-1])
    tp, fp = (int(s.tp[row - 1]), int(s.fp[row - 1])) if row else (0, 0)
    return float(_values(metric, tp, own - tp, fp, rest - fp))


def _values(metric: str, tp: NumberOrArray, fn: NumberOrArray, fp: NumberOrArray, tn: NumberOrArray) -> NumberOrArray:
    """Return a metric of two-by-two tables; MCC is 0 where all scores count as positive, or none."""
    value = METRICS[metric](TwoByTwo(tp, fn, fp, tn))
    return np.nan_to_num(value, nan=0.0) if metric == "mcc" else value


def _youden(table: TwoByTwo) -> NumberOrArray:
    """Return TPR - FPR, which is (TP TN - FP FN) / (TP + FN) (TN + FP)."""
    covariance, true_variance, _ = table.covariances
    return ratio(covariance, true_variance)


METRICS: dict[str, Callable[[TwoByTwo], NumberOrArray]] = {
    "youden": _youden,
    "f1": f1,
    "accuracy": accuracy,
    "balanced_accuracy": ova_balanced_accuracy,
    "mcc": matthews_corrcoef,
}
