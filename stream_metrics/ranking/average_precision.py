"""Average precision and its trapezoid relative from one column, with certified bounds.

A row of equal scores follows the usual rule: all its positives at the precision reached at the row's end. Within a
mixed row the order is open. The bounds let all negatives come first, or all positives at once; the best strict order
would be no upper bound, because positives may tie. The value takes a random order, unless the sample says that the row
is one big atom. The mean over random orders is a difference of digamma functions; the lower bound is its integral,
since a sample may weigh less than 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.protocol import Floats
from stream_metrics.ranking.protocol import (
    EPSILON,
    OWN,
    REST,
    UNDEFINED,
    Certified,
    RankColumn,
    lost,
    mean_of_ratios,
    shares_of,
    widened,
)
from stream_metrics.ranking.steps import CurveSteps, ThresholdSweep, Units, root_sum_square, sampled_in, threshold_sweep

EXPECTED = 50.0  # codes' worth of weight that the sample should show before its silence means an atom
EXPLAINED = 0.5  # share of it below which there must be one
SHIFT = 12  # steps of the recurrence before the asymptotic series of digamma is exact to 1e-16
SERIES = (1 / 24, -7 / 960, 31 / 8064, -127 / 30720, 511 / 67584)  # digamma(x + 1/2) - log x, in powers of 1/x^2
ROUNDING = 1e-12  # by how much sums of rounded terms are moved outwards


def average_precision(column: RankColumn) -> Certified:
    """Mean precision over the samples of a class, from the highest score down.

    sum (R_n - R_{n-1}) P_n over the distinct scores, high to low

    There is no interpolation, as in scikit-learn.
    """
    own = column.weight(OWN)
    if not own:
        return UNDEFINED
    steps = threshold_sweep(column)
    coarse = steps.coarse
    error = _lost(lost(column, own))
    if not coarse.mixed.any():
        points = _points(steps.units)
        return _moved(mean_of_ratios(points.precisions, points.weights), error)
    tied = _tied(coarse)
    first = np.where(coarse.mixed, _negatives_first(coarse), tied)
    most = np.where(coarse.mixed, _positives_at_once(coarse), tied)
    value = math.fsum(np.where(_atoms(column, steps), _tied(steps.fine), _random_order(steps.fine, column.grain))) / own
    se = root_sum_square((most - first) * steps.std_errors) / own
    return _outwards(value, math.fsum(first) / own, math.fsum(most) / own, se, error)


def pr_auc_trapezoid(column: RankColumn) -> Certified:
    """Area under the precision-recall curve with straight lines between its points.

    sum (R_n - R_{n-1}) (P_n + P_{n-1}) / 2 over the distinct scores of the class, high to low

    It is optimistic where points are far apart; `AveragePrecision` is not.
    """
    own = column.weight(OWN)
    if not own:
        return UNDEFINED
    steps = threshold_sweep(column)
    error = _lost_of_lines(_with_own(steps.coarse), column.slack) / own + lost(column, own)
    if not steps.coarse.mixed.any():
        points = _points(steps.units)
        before = [(1, 1), *points.precisions[:-1]]
        return _moved(mean_of_ratios([*points.precisions, *before], points.weights * 2), error)
    low, high = _line_bounds(_with_own(steps.coarse))
    fine, has_own = _with_own(steps.fine), steps.coarse.own > 0
    likely = fine.own * (fine.tp / (fine.tp + fine.fp) + _before(fine.tp / (fine.tp + fine.fp))) / 2
    se = root_sum_square((high - low) * steps.std_errors[has_own]) / own
    return _outwards(math.fsum(likely) / own, math.fsum(low) / own, math.fsum(high) / own, se, error)


class _Points(NamedTuple):
    """The rows that have own, in integers."""

    precisions: list[tuple[int, int]]
    weights: list[int]


def _points(s: Units) -> _Points:
    some = s.own > 0
    tp, weight = s.tp[some].tolist(), (s.tp[some] + s.fp[some]).tolist()
    return _Points(list(zip(tp, weight, strict=True)), s.own[some].tolist())


def _moved(value: Certified, error: float) -> Certified:
    """Return a value that is known exactly, but for what the rounding of weights has lost."""
    return widened(*value, error + EPSILON, 0.0, 1.0) if error else value


def _lost(share: float) -> float:
    """Return how far the rounding of weights may move an average precision; `share` is what it may have lost of own.

    The precision over a weight of w moves by at most s / w, where s is the weight lost, so by no more than s / t where
    t of own were let through; the mean of min(1, s / t) over own is at most share * (1 + log(1 / share)).
    """
    return min(1.0, share * (2 - math.log(share))) if 0 < share < 1 else min(1.0, share)


def _lost_of_lines(s: CurveSteps, slack: float) -> float:
    """Return how far the precisions at both ends of each step may move the area under lines, times the positives."""
    if not slack:
        return 0.0
    before = s.tp_before + s.fp_before
    inside = slack / np.maximum(np.where(s.mixed, before, s.tp + s.fp), slack)
    last = slack / np.maximum(s.tp + np.where(s.mixed, s.fp_before, s.fp), slack)
    start = np.where(s.mixed, inside, np.concatenate([[0.0], last[:-1]]))
    return math.nextafter(math.fsum(s.own * (inside + start) / 2), math.inf)


def _with_own(s: CurveSteps) -> CurveSteps:
    return CurveSteps._make(a[s.own > 0] for a in s)


def _before(precision: Floats) -> Floats:
    """Return the precision of the previous row, 1 before the first."""
    return np.concatenate([[1.0], precision[:-1]])


def _line_bounds(s: CurveSteps) -> tuple[Floats, Floats]:
    """Return bounds of the area under straight lines of each row, times the positives.

    With t positives let through, the precision within a mixed row lies between t/(t+F+n) and t/(t+F), both concave in
    t: the coarsest trapezoid is the least of the one, the integral the most of the other. The point that a row starts
    from is the last one with a positive, which in a mixed row may come before its negatives.
    """
    p, n, t, f = s.own, s.rest, s.tp_before, s.fp_before
    end, best_end = s.tp / (s.tp + s.fp), s.tp / (s.tp + np.where(s.mixed, f, s.fp))
    start, best_start = _before(end), _before(best_end)
    low = p / 2 * (np.where(s.mixed, shares_of(t, t + f + n), start) + end)
    inner = np.where(f > 0, p - f * np.log1p(shares_of(p, t + f)), p)
    most = inner + p / 2 * np.maximum(0.0, best_start - np.where(f > 0, shares_of(t, t + f), 1.0))
    return low, np.where(s.mixed, np.minimum(most, p), p / 2 * (best_start + end))


def _outwards(value: float, low: float, high: float, se: float, error: float) -> Certified:
    return widened(value, low, high, se, error + ROUNDING, 0.0, 1.0)


def _tied(s: CurveSteps) -> Floats:
    """Return the precision of each row's end times its positives."""
    return s.own * shares_of(s.tp, s.tp + s.fp)


def _negatives_first(s: CurveSteps) -> Floats:
    """Return the least that the positives of each row can add, in steps of any size."""
    behind, before = s.fp, s.tp_before
    gap = np.log1p(shares_of(s.own, behind + before))
    return np.where(behind > 0, np.maximum(0.0, s.own - behind * gap), s.own)


def _positives_at_once(s: CurveSteps) -> Floats:
    """Return the most that the positives of each row can add."""
    return s.own * shares_of(s.tp, s.tp + s.fp_before)


def _random_order(s: CurveSteps, grain: float) -> Floats:
    """Return what the positives of each row add: of a mixed row on average over all orders, otherwise as tied.

    The negatives are taken as spread evenly between the positives, of which each has a weight of `grain`.
    """
    p, n, before, behind = (a / grain for a in (s.own, s.rest, s.tp_before, s.fp_before))
    c = 1 + n / (p + 1)
    average = p / c + (c * before - before - behind) / c**2 * harmonic_gap((before + behind) / c, p)
    return np.where(s.mixed, average * grain, _tied(s))


def harmonic_gap(a: Floats, p: Floats) -> Floats:
    """Return digamma(a + p + 1) - digamma(a + 1) for a, p >= 0, which is 1/(a+1) + ... + 1/(a+p) for whole p."""
    b, total = a + p, np.zeros(len(a))
    for i in range(1, SHIFT + 1):
        total += p / ((a + i) * (b + i))
    low, high = a + SHIFT + 0.5, b + SHIFT + 0.5
    total = total + np.log1p(p / low)
    for i, coefficient in enumerate(SERIES, 1):
        total += coefficient * (high ** (-2 * i) - low ** (-2 * i))
    return total


def _atoms(column: RankColumn, steps: ThresholdSweep) -> NDArray[np.bool_]:
    """Return which of the fine rows are mixed rows that must hold an atom, seen by the weight that the sample lacks."""
    fine, coarse = steps.fine, steps.coarse
    has_atom = np.zeros(len(coarse.starts), bool)
    for c, counts in ((REST, coarse.rest), (OWN, coarse.own)):
        hoped = column.tau[c] * counts
        for row in np.flatnonzero((steps.cells >= 0) & (hoped >= EXPECTED * column.grain)):
            seen = float(sampled_in(column, int(steps.cells[row]), c)[1].sum())
            has_atom[row] |= seen < EXPLAINED * float(hoped[row])
    if fine is coarse:
        return has_atom
    return np.isin(fine.starts, coarse.starts[has_atom]) & fine.mixed
