"""How far a metric can move when missing labels arrive: the worst case and the best case.

Some predictions have no label yet, or never get one. If nothing is assumed of why, a metric of all predictions lies
between its values for the least and the most favourable labels; no number of samples makes these bounds narrower.
With h hits in n labelled samples and u unlabelled ones the accuracy is in [h / (n + u), (h + u) / (n + u)]. Manski
1989; Horowitz and Manski 1995.

The counts say how many predictions have no label, not of which class they are, so the bounds allow each unlabelled
sample any true and any predicted class among those that were seen. They hold for any number up to u, as an unlabelled
prediction may also be an abstention.

rates of classes     An unlabelled sample adds at most 1 to numerator and denominator of a rate (2 to those of F1).
means over classes   The samples go where they do most. The sum of a_k / (d_k + m_k) with sum m_k = u is convex, so its
                     minimum has a_k / (d_k + m_k)^2 alike in all classes that get any. For F1 and Jaccard an
                     error counts in two classes, once in each.
kappa                A hit never lowers it. Errors and agreement by chance are bounded apart.
MCC                  Of two classes it rises with every hit and falls with every error. So hits alone are best and
                     errors alone worst; how many are of which class is tried on a grid, and both ends of a cell bound
                     the value inside. Of more classes it is kappa times a factor, little above 1 if errors are few.
areas                The ranks of a sample without label and score can be all right or all wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from stream_metrics.formulas.agreement import matthews_corrcoef
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.formulas.two_classes import TwoByTwo
from stream_metrics.inference.intervals.methods import RIGHT, SHARES

Bounds: TypeAlias = tuple[float, float]
CELLS = 512  # of the grid over two classes
BISECTIONS = 60

# Numerator and denominator of the rate of each class from TP, true and predicted totals, and how much an unlabelled
# sample adds to the denominators: of all classes together where it is an error, where it is a hit; of one class where
# it is an error.
Parts: TypeAlias = tuple[Floats, Floats, int, int, int]
RATES: dict[str, Callable[[Floats, Floats, Floats], Parts]] = {
    "recall": lambda tp, true, predicted: (tp, true, 1, 1, 1),
    "precision": lambda tp, true, predicted: (tp, predicted, 1, 1, 1),
    "f1": lambda tp, true, predicted: (2 * tp, true + predicted, 2, 2, 1),
    "jaccard": lambda tp, true, predicted: (tp, true + predicted - tp, 2, 1, 1),
}
MEANS = {
    "balanced_accuracy": "recall",
    "macro_recall": "recall",
    "macro_precision": "precision",
    "macro_f1": "f1",
    "macro_jaccard": "jaccard",
}


def label_bounds(key: str, c: Counts, unlabelled: int) -> Bounds | None:
    """Return the least and the most a whole value can be for any missing labels; None if no bound is known."""
    n, hits, u = int(c.total), int(c.hits), unlabelled
    share = SHARES.get(key)
    if key == "zero_one_loss":
        return (n - hits) / (n + u), (n - hits + u) / (n + u)
    if share is not None and (share.numerator, share.denominator) == RIGHT:
        change = share.to_metric or _same
        return change(hits / (n + u), c.k), change((hits + u) / (n + u), c.k)
    if key in MEANS:
        return _mean_over_classes(MEANS[key], c, u)
    if key == "cohen_kappa" and c.k > 1:
        return _kappa_bounds(c, u)
    if key == "matthews_corrcoef" and c.k > 1:
        return _mcc_of_two(c, u) if c.k == 2 else _mcc_bounds(c, u)
    return None


def class_label_bounds(key: str, c: Counts, unlabelled: int) -> tuple[Floats, Floats] | None:
    """Return the least and the most the value of each class can be; None if no bound is known."""
    if key not in RATES:
        return None
    x, d, _, hit, error = _parts(key, c)
    return x / (d + error * unlabelled), (x + hit * unlabelled) / (d + hit * unlabelled)


def mean_bounds(value: float, n: int, unlabelled: int, ends: Bounds) -> Bounds:
    """Return the bounds of a mean over samples whose terms lie between two ends."""
    total = n + unlabelled
    return (n * value + unlabelled * ends[0]) / total, (n * value + unlabelled * ends[1]) / total


def area_bounds(low: float, high: float, own: int, rest: int, unlabelled: int) -> Bounds:
    """Return the bounds of a ROC area that lies between two values for the labelled samples."""
    more = min(max((rest + unlabelled - own) / 2, 0.0), float(unlabelled))  # positives, with which pairs are most
    known = own * rest / ((own + more) * (rest + unlabelled - more))
    return low * known, 1 - (1 - high) * known


def _same(share: float, _: int) -> float:
    return share


def _parts(key: str, c: Counts) -> Parts:
    totals = (np.asarray(part, np.float64) for part in (c.diagonal, c.true_totals, c.predicted_totals))
    return RATES[key](*totals)


def _mean_over_classes(rate: str, c: Counts, u: int) -> Bounds:
    """Return the bounds of a mean of rates; a class that has none so far may get any."""
    x, d, errors, hits, _ = _parts(rate, c)
    there = d > 0
    x, d = x[there], d[there]
    low = _least_sum(x, d, errors * u, u) / c.k
    return low, 1 - _least_sum(d - x, d, hits * u, hits * u) / c.k


def _least_sum(a: Floats, d: Floats, u: float, most: float) -> float:
    """Return the least sum of a / (d + m) over all m from 0 to `most` with the sum u; or a little less than that."""
    a, d = a[a > 0], d[a > 0]
    if not len(a):
        return 0.0
    roots = np.sqrt(a)
    low, high = 0.0, float(((d + most) / roots).max())  # of (d + m) / root, alike in all classes that get some
    for _ in range(BISECTIONS):
        level = (low + high) / 2
        given = float((np.clip(level * roots, d, d + most) - d).sum())
        low, high = (level, high) if given < u else (low, level)
    return float((a / np.clip(high * roots, d, d + most)).sum())


def _mcc_of_two(c: Counts, u: int) -> Bounds:
    """Return the bounds of the MCC of two classes."""
    (tp, tn), (fn, fp) = c.diagonal.tolist(), (c.true_totals - c.diagonal).tolist()
    steps = np.linspace(0.0, u, max(1, min(u, CELLS)) + 1)
    here, there = steps[1:], u - steps[:-1]  # of a cell, the most that either class gets
    with np.errstate(invalid="ignore", divide="ignore"):
        high = matthews_corrcoef(TwoByTwo(tp + here, float(fn), float(fp), tn + there))
        low = matthews_corrcoef(TwoByTwo(float(tp), fn + here, fp + there, float(tn)))
    return float(np.nan_to_num(low, nan=-1.0).min()), float(np.nan_to_num(high, nan=1.0).max())


def _kappa_bounds(c: Counts, u: int) -> Bounds:
    """Return bounds of kappa = 1 - D / F of N samples with D errors, F = N - sum t_k p_k / N.

    A hit never lowers kappa, so errors alone are the worst case. An error of a sample of class i taken for j adds p_i +
    t_j to the sum of products, and x errors at most x^2 / 2 among themselves, because no more than x of their 2 x
    entries are of one class. The best case has no more errors and the least sum of products.
    """
    true, predicted = (np.asarray(part, np.float64) for part in (c.true_totals, c.predicted_totals))
    n, errors, products = float(c.total), float(c.total - c.hits), float(true @ predicted)
    x = np.linspace(0.0, u, max(1, min(u, CELLS)) + 1)
    (next_true, most_true), (next_predicted, most_predicted) = np.sort(true)[-2:], np.sort(predicted)[-2:]
    together = most_true + most_predicted
    if true.argmax() == predicted.argmax():
        together -= min(most_true - next_true, most_predicted - next_predicted)
    most = products + x[1:] * together + x[1:] ** 2 / 2
    free = n + x[:-1] - most / (n + x[:-1])
    with np.errstate(divide="ignore"):
        low = np.where(free > 0, 1 - (errors + x[1:]) / free, -1.0)
    total = n + u
    best = total - (products + u * (true.min() + predicted.min())) / total
    return max(-1.0, float(low.min())), 1 - errors / best if best > 0 else 1.0


def _mcc_bounds(c: Counts, u: int) -> Bounds:
    """Return bounds of MCC = kappa (1 - r.p) / sqrt((1 - r.r) (1 - p.p)), r and p the shares of the classes.

    The factor is at least 1. With e the share of errors and g = 1 - r.p, the sum of |r - p| is at most 2 e, so that
    half the sum of 1 - r.r and 1 - p.p is at least g - e^2. Half their difference, of (r - p).(r + p), is at most e
    times half the range of r + p, as r - p sums to 0.
    """
    true, predicted = (np.asarray(part, np.float64) for part in (c.true_totals, c.predicted_totals))
    n = float(c.total) + u
    errors = (float(c.total - c.hits) + u) / n
    together = (float(true @ predicted) + u * (true.max() + predicted.max()) + u * u) / n**2
    free = 1 - together
    half, off = free - errors**2, errors * (float(np.ptp(true + predicted)) + 2 * u) / n / 2
    square = half * half - off * off if half > 0 else 0.0
    factor = free / float(np.sqrt(square)) if square > 0 else np.inf
    low, high = _kappa_bounds(c, u)
    return max(-1.0, low * factor if low < 0 else low), min(1.0, high * factor if high > 0 else high)
