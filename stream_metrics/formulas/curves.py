"""Curves over all thresholds, and what is read off them, from one column of scores.

A threshold lets through the scores that are at least as high. Points at the start of a cell are exact whatever the
level, so a maximum over them is a certified lower bound; between two of them the curve lies in the rectangle that they
span, so the best corners are a certified upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.protocol import Floats
from stream_metrics.formulas.rank_sample import UNIFORM
from stream_metrics.formulas.rank_steps import Steps, descend
from stream_metrics.formulas.rank_table import root_sum_square
from stream_metrics.formulas.ranks_protocol import NAN, OWN, REST, UNDEFINED, Certified, RankColumn, certified


class Curve(NamedTuple):
    """Points of a curve from the highest threshold down."""

    x: Floats
    y: Floats
    thresholds: Floats
    """Scores at least this high count as positive; inf for the first point."""
    exact: NDArray[np.bool_]
    """False for points inside a crowded cell, which are estimates."""


class Best(NamedTuple):
    """The best threshold among those with exact counts, its value, and a bound on what any other could reach."""

    threshold: float
    value: float
    high: float


def roc_curve(column: RankColumn) -> Curve:
    """Points (false positive rate, true positive rate); nan rates of a class without scores. Fawcett 2006."""
    steps = descend(column).fine
    return _curve(steps, _from_zero(steps.fp) / _total(column, REST), _from_zero(steps.tp) / _total(column, OWN))


def det_curve(column: RankColumn) -> Curve:
    """Points (false positive rate, false negative rate); nan rates of a class without scores. Martin et al. 1997."""
    steps = descend(column).fine
    own = column.weight(OWN)
    missed = (own - _from_zero(steps.tp)) / _total(column, OWN)
    return _curve(steps, _from_zero(steps.fp) / _total(column, REST), missed)


def pr_curve(column: RankColumn) -> Curve:
    """Points (recall, precision), the first (0, 1) by convention; nan recalls without own. Doering 2018."""
    steps = descend(column).fine
    precision = np.concatenate([[1.0], steps.tp / (steps.tp + steps.fp)])
    return _curve(steps, _from_zero(steps.tp) / _total(column, OWN), precision)


def _curve(steps: Steps, x: Floats, y: Floats) -> Curve:
    thresholds = np.concatenate([[math.inf], steps.thresholds])
    return Curve(x, y, thresholds, np.concatenate([[True], steps.exact]))


def _from_zero(values: Floats) -> Floats:
    return np.concatenate([[0.0], values])


def _total(column: RankColumn, c: int) -> float:
    return column.weight(c) or NAN


def partial_auc(column: RankColumn, *, max_fpr: float = 0.1, standardized: bool = True) -> Certified:
    """The ROC area over false positive rates from 0 to `max_fpr`, straight lines across ties.

    Formula: raw area A, or standardised (1 + (A - m) / (M - m)) / 2 with m = max_fpr^2 / 2, M = max_fpr.
    Range: [0, max_fpr] raw; standardised 1/2 is chance, 1 is perfect. Undefined: no own or no rest.
    Source: McClish 1989; scikit-learn's roc_auc_score(max_fpr).
    """
    if not 0 < max_fpr <= 1:
        raise ValueError(f"Expected `max_fpr` to be in (0, 1], but got {max_fpr!r}")
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return UNDEFINED
    steps = descend(column)
    low, _, high = _areas(steps.coarse, max_fpr * rest)
    value = math.fsum(_areas(steps.fine, max_fpr * rest)[1])
    se = root_sum_square((high - low) * steps.doubts) / (own * rest)
    found = [area / (own * rest) for area in (value, math.fsum(low), math.fsum(high))]
    if standardized:
        least = max_fpr**2 / 2
        found, se = [(1 + (a - least) / (max_fpr - least)) / 2 for a in found], se / (max_fpr - least) / 2
    return certified(found[0], found[1], found[2], se)


def _areas(s: Steps, limit: float) -> tuple[Floats, Floats, Floats]:
    """Return least, likely and largest area of each row over the first `limit` negatives."""
    before = s.tp - s.own
    width = np.clip(limit - (s.fp - s.rest), 0.0, s.rest)
    part = width / np.where(s.rest > 0, s.rest, 1.0)
    likely = width * before + s.own * s.rest * _bent_area(part, s.shares)
    return (
        np.where(s.mixed, width * before, likely),
        likely,
        np.where(s.mixed, width * s.tp, likely),
    )


def _bent(x: Floats | float, share: Floats | float) -> Floats | float:
    """Return the curve through a row: a parabola from (0, 0) to (1, 1) whose area is the share of ordered pairs."""
    return np.clip(x + 6 * (share - 0.5) * x * (1 - x), 0.0, 1.0)


def _bent_area(x: Floats, share: Floats) -> Floats:
    """Return the area under `_bent` from 0 to x, not clipped; straight where the share is 1/2."""
    return np.asarray(x**2 * (0.5 + 6 * (share - 0.5) * (0.5 - x / 3)))


def tpr_at_fpr(column: RankColumn, *, fpr: float = 0.1) -> Certified:
    """The largest true positive rate of a threshold whose false positive rate is at most `fpr`; no interpolation.

    Range: [0, 1]. Undefined: no own or no rest. Source: Fawcett 2006; torchmetrics' sensitivity at specificity.
    """
    if not 0 <= fpr <= 1:
        raise ValueError(f"Expected `fpr` to be in [0, 1], but got {fpr!r}")
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return UNDEFINED
    steps = descend(column)
    low, _, high = _reached(steps.coarse, fpr, rest)
    value = _reached(steps.fine, fpr, rest)[1]
    return certified(value / own, low / own, high / own, UNIFORM * (high - low) / own)


def _reached(s: Steps, fpr: float, rest: float) -> tuple[float, float, float]:
    """Return least, likely and largest weight of own above the lowest threshold that lets through at most `fpr`."""
    row = int(np.searchsorted(s.fp / rest, fpr, "right"))
    before = float(s.tp[row - 1]) if row else 0.0
    if row == len(s.fp) or not s.mixed[row]:
        return before, before, before
    part = (fpr * rest - (s.fp[row] - s.rest[row])) / s.rest[row]
    return before, before + float(s.own[row] * _bent(max(0.0, part), s.shares[row])), float(s.tp[row])


def precision_at_recall(column: RankColumn, *, recall: float = 0.9) -> Certified:
    """The largest precision of a threshold whose recall is at least `recall`.

    Range: [0, 1]. Undefined: no own. Source: Doering 2018 (PR curves); torchmetrics' precision at fixed recall.
    """
    if not 0 <= recall <= 1:
        raise ValueError(f"Expected `recall` to be in [0, 1], but got {recall!r}")
    own = column.weight(OWN)
    if not own:
        return UNDEFINED
    steps = descend(column)
    low, high = (float(np.max(a, initial=0.0)) for a in _precisions(steps.coarse, recall, own))
    likely = [float(np.max(_precisions(steps.fine, recall, own)[0], initial=0.0)), _crossing(steps.fine, recall * own)]
    return certified(max(likely), low, high, UNIFORM * (high - low))


def _precisions(s: Steps, recall: float, own: float) -> tuple[Floats, Floats]:
    """Return the precision of each row's start, and the best that a threshold in the row could have; 0 if too low."""
    enough = s.tp / own >= recall
    there = s.tp / (s.tp + s.fp)
    return np.where(enough, there, 0.0), np.where(enough, _corner(there, s, _precision), 0.0)


def _precision(fp: Floats, tp: Floats) -> Floats:
    return tp / np.where(tp + fp > 0, tp + fp, 1.0)


def _corner(there: Floats, s: Steps, value: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return the value of a rising function of tp at the best corner of mixed rows, and `there` elsewhere."""
    return np.where(s.mixed, np.maximum(value(s.fp - s.rest, s.tp), there), there)


def _crossing(s: Steps, goal: float) -> float:
    """Return the likely precision where own reaches the goal, if that is inside a mixed row; otherwise 0."""
    row = int(np.searchsorted(s.tp, goal))
    if not goal or row == len(s.tp) or not s.mixed[row]:
        return 0.0
    y, bend = (goal - (s.tp[row] - s.own[row])) / s.own[row], 6 * (s.shares[row] - 0.5)
    middle = 1 + bend  # solve y = middle x - bend x^2 for the smaller root
    part = 2 * y / (middle + math.sqrt(max(0.0, middle**2 - 4 * bend * y))) if middle > 0 else math.sqrt(y)
    fp = s.fp[row] - s.rest[row] * (1 - min(max(part, 0.0), 1.0))
    return goal / (goal + fp) if goal + fp > 0 else 0.0


def ks_statistic(column: RankColumn) -> Certified:
    """The largest distance between the distribution functions of own and rest.

    Formula: max |TPR - FPR| over thresholds. Range: [0, 1]. Undefined: no own or no rest. Source: Smirnov 1948.
    """
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return UNDEFINED
    steps = descend(column)
    s, fine = steps.coarse, steps.fine
    low = float(np.max(np.abs(s.tp / own - s.fp / rest)))
    corners = np.maximum(s.tp / own - (s.fp - s.rest) / rest, s.fp / rest - (s.tp - s.own) / own)
    high = max(low, float(np.max(corners[s.mixed], initial=0.0)))
    value = float(np.max(np.abs(fine.tp / own - fine.fp / rest)))
    return certified(value, low, high, UNIFORM * (high - low))


def best_threshold(column: RankColumn, metric: str | Callable[..., Floats] = "youden") -> Best:
    """The threshold at which a metric of the two-by-two table is largest; the highest of several.

    `metric` is one of "youden" (TPR - FPR), "f1", "accuracy", "balanced_accuracy", "mcc", or a function of arrays
    (tp, fn, fp, tn) that never falls when a sample becomes right. The value is that of the threshold, exactly.
    Undefined: no own or no rest. Source: Youden 1950; Lipton et al. 2014 (F1).
    """
    if isinstance(metric, str) and metric not in METRICS:
        raise ValueError(f"Expected `metric` to be a function or one of {', '.join(METRICS)}, but got {metric!r}")
    function = METRICS[metric] if isinstance(metric, str) else metric
    rest, own = column.weight(REST), column.weight(OWN)
    if not rest or not own:
        return Best(NAN, NAN, NAN)
    s = descend(column).coarse
    fp, tp = _from_zero(s.fp), _from_zero(s.tp)
    values = function(tp, own - tp, fp, rest - fp)
    at = int(np.argmax(values))
    outer = s.fp[s.mixed] - s.rest[s.mixed], s.tp[s.mixed]
    corners = function(outer[1], own - outer[1], outer[0], rest - outer[0]) if len(outer[0]) else values
    threshold = float(s.thresholds[at - 1]) if at else math.inf
    return Best(threshold, float(values[at]), max(float(values[at]), float(np.max(corners))))


def _f1(tp: Floats, fn: Floats, fp: Floats, tn: Floats) -> Floats:
    return 2 * tp / (2 * tp + fn + fp)


def _youden(tp: Floats, fn: Floats, fp: Floats, tn: Floats) -> Floats:
    return tp / (tp + fn) - fp / (fp + tn)


def _mcc(tp: Floats, fn: Floats, fp: Floats, tn: Floats) -> Floats:
    product = np.sqrt((tp + fn) * (tn + fp)) * np.sqrt((tp + fp) * (tn + fn))
    return (tp * tn - fp * fn) / np.where(product > 0, product, 1.0)


METRICS: dict[str, Callable[..., Floats]] = {
    "youden": _youden,
    "f1": _f1,
    "accuracy": lambda tp, fn, fp, tn: (tp + tn) / (tp + fn + fp + tn),
    "balanced_accuracy": lambda tp, fn, fp, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2,
    "mcc": _mcc,
}
