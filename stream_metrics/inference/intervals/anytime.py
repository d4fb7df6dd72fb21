"""Intervals of metrics of the confusion matrix that stay valid however often one looks.

**When an asymptotic sequence may start.** It takes the standard error as known, so it may start only where a few more
samples would not change it: when a rare class has shown 50 right answers and no mistake, the standard error of its
recall is 0, and an interval from it wrong. Add half a true positive, half a false negative and half a false positive
to every class. The sequence starts when the variance rests on `STEADY` samples, (sum f^2)^2 / sum f^4 with f the
influence of a sample, and at most `ADDED` of it comes from the added halves. It has the share `LATE` of the allowed
error. Theory asks for a standard error that is consistent in almost every stream (Waudby-Smith et al. 2024); no finite
count proves that, so `benchmarks/coverage_anytime.py` measures how often the sequence is ever wrong.

**Before that, an exact interval** from the first sample on, with the rest of the allowed error:

mean over classes of a rate   A rate is a proportion, of the samples of a class or of those predicted as one, so each
                              class has a beta-binomial sequence with a K-th of the error. The mean rises with every
                              rate and lies between its values at all lower and at all upper ends.
two classes; one class        The share of the class, its recall and its specificity have a third of the error each.
against all others            Kappa, MCC, P4 and the like rise with recall and specificity; over the interval of the
                              share they are evaluated on a grid.

Other metrics have the whole range until the asymptotic sequence starts, and a note that says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.arithmetic import mean_of
from stream_metrics.formulas.means import power_means
from stream_metrics.formulas.memoized import memoized
from stream_metrics.formulas.protocol import Counts, Floats, Form, NumberOrArray
from stream_metrics.formulas.rates import F1, JACCARD, PRECISION, RECALL, SPECIFICITY
from stream_metrics.formulas.two_classes import TwoByTwo, one_vs_all
from stream_metrics.inference.intervals.adequacy import HALF, effective_count, influence, least_cells, padded
from stream_metrics.inference.intervals.batched_counts import BatchedCounts, batch_of_one, batched, make_cells
from stream_metrics.inference.intervals.batched_formulas import MARGINS, PER_CLASS, BatchedFormula
from stream_metrics.inference.intervals.gradients import class_slopes, gradient
from stream_metrics.inference.intervals.sequences import asymptotic_multiplier, beta_binomial_sequence

__all__ = [
    "ONE_CLASS", "STEADY", "TOO_EARLY", "early_level", "exact_bounds", "exact_classes", "late_multiplier",
    "rests_on_enough", "steady", "steady_classes",
]  # fmt: skip

STEADY = 30
ADDED = 0.1
LATE = 0.8
T_OPT = 1000.0  # samples at which the asymptotic sequence is tightest, by default
GRID = 129  # shares of a class at which a metric is evaluated
TWO = make_cells(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4), 2)
TOO_EARLY = "too early: the standard error rests on too few samples"
ONE_CLASS = "too early: all samples so far are of one class"


class Exact(NamedTuple):
    """Bounds that hold from the first sample on."""

    low: NumberOrArray
    high: NumberOrArray


def _power(p: float) -> Callable[[Floats], NumberOrArray]:
    return lambda rates: power_means(rates, p, math.nan)


def _mean(rates: Floats) -> NumberOrArray:
    return mean_of(rates, math.nan)


def _adjusted(rates: Floats) -> NumberOrArray:
    return (rates.sum(-1) - 1) / max(rates.shape[-1] - 1, 1)


MEANS: dict[str, tuple[tuple[Form, Form], Callable[[Floats], NumberOrArray]]] = {  # a rate, and its mean
    **dict.fromkeys(("balanced_accuracy", "weighted_balanced_accuracy", "macro_recall"), (RECALL, _mean)),
    "balanced_accuracy_adjusted": (RECALL, _adjusted),
    "geometric_mean": (RECALL, _power(0.0)),
    "macro_precision": (PRECISION, _mean),
    "macro_specificity": (SPECIFICITY, _mean),
    **dict.fromkeys(("general_f1", "macro_f1", "macro_fbeta"), (F1, _mean)),
    "general_f1_geometric": (F1, _power(0.0)),
    "general_f1_harmonic": (F1, _power(-1.0)),
    "general_f1_power_2": (F1, _power(2.0)),
    "macro_jaccard": (JACCARD, _mean),
}
OF_ONE = ("fowlkes_mallows", "ova_balanced_accuracy", "ova_matthews_corrcoef", "p4", "power_mean_four_rates")


def late_multiplier(n: float, t_opt: float | None, level: float) -> float:
    """Return how many standard errors the asymptotic sequence reaches, with its share of the allowed error."""
    return asymptotic_multiplier(n, T_OPT if t_opt is None else t_opt, LATE * (1 - level))


def early_level(level: float, parts: int) -> float:
    """Return the level of each of some sequences that share the error of the exact interval."""
    return 1 - (1 - LATE) * (1 - level) / parts


@memoized
def _padded(c: Counts) -> BatchedCounts:
    return padded(batch_of_one(c), unseen=True)


def steady(key: str, c: Counts, zero: float) -> bool:
    """Tell whether an asymptotic sequence of a whole value may have started."""
    if key not in MARGINS:  # the gradient in empty cells is not known
        return least_cells(c) >= STEADY
    one = _padded(c)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights, f, _ = influence(one, gradient(key, one, zero))
    return rests_on_enough(weights, f, 3 * c.k)


def rests_on_enough(weights: Floats, f: Floats, added: int, enough: float = STEADY) -> bool:
    """Tell whether a variance rests on enough samples, and little of it on those that were added, the last ones."""
    parts = weights * f * f
    return effective_count(weights, f) >= enough and bool(parts[-added:].sum() <= ADDED * parts.sum())


def steady_classes(key: str, c: Counts, zero: float) -> NDArray[np.bool_]:
    """Tell of which classes an asymptotic sequence may have started; each is set against all others."""
    cells = np.stack([np.asarray(part, np.float64) for part in one_vs_all(c)]) + HALF
    total = cells.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b, p = class_slopes(key, TwoByTwo(*cells), zero)
    f = np.stack([a + b + p, b + 0 * a, p + 0 * a, 0 * a])
    f -= (cells * f).sum(0) / total
    squares = f * f
    second, fourth = (cells * squares).sum(0), (cells * squares * squares).sum(0)
    steady = (second * second >= STEADY * fourth) & (HALF * squares.sum(0) <= ADDED * second) & (second > 0)
    return np.asarray(steady)


def exact_bounds(key: str, c: Counts, level: float) -> Exact | None:
    """Return the bounds of a whole value before the asymptotic sequence starts; None where there are none."""
    if key in MEANS and c.k > 1:
        form, mean = MEANS[key]
        one = batch_of_one(c)
        x, n = (np.broadcast_to(one.form(part), one.true_totals.shape) for part in form)
        low, high = (mean(end) for end in beta_binomial_sequence(x, n, early_level(level, c.k)))
        return Exact(float(low), float(high))
    if key in MARGINS and c.k == 2:
        low, high = _bounds_of_tables(MARGINS[key], c, np.array([0]), level)
        return Exact(float(low[0]), float(high[0]))
    return None


def exact_classes(key: str, c: Counts, which: NDArray[np.intp], level: float) -> Exact | None:
    """Return the bounds of the values of some classes, given by their places."""
    if key not in OF_ONE or c.k < 2 or not len(which):
        return None
    formula = PER_CLASS[key]
    return Exact(*_bounds_of_tables(lambda counts, zero: formula(counts, zero)[..., 0], c, which, level))


def _bounds_of_tables(
    formula: BatchedFormula, c: Counts, which: NDArray[np.intp], level: float
) -> tuple[Floats, Floats]:
    """Return bounds of what rises with recall and specificity, for some classes against all others."""
    tp, true, predicted = (np.asarray(part)[which] for part in (c.diagonal, c.true_totals, c.predicted_totals))
    n = np.full(len(tp), int(c.total))
    right, below = np.stack([true, tp, n - true - (predicted - tp)]), np.stack([n, true, n - true])
    lows, highs = beta_binomial_sequence(right, below, early_level(level, 3))
    share = lows[0] + (highs[0] - lows[0]) * np.linspace(0, 1, GRID)[:, None] ** 2  # denser where classes are rare
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = (formula(_counts_of_rates(share, *ends[1:]), 0.0) for ends in (lows, highs))
    return np.nan_to_num(low, nan=-1.0).min(0), np.nan_to_num(high, nan=1.0).max(0)


def _counts_of_rates(share: Floats, recall: Floats, specificity: Floats) -> BatchedCounts:
    """Return the counts of two classes with these shares of the first and these rates."""
    tp, tn = share * recall, (1 - share) * specificity
    fn, fp = share - tp, 1 - share - tn
    return batched(np.stack([tp, fn, fp, tn], -1), TWO)
