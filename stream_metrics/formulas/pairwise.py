"""One against one: means over all pairs of classes of a metric for two classes.

A pair keeps the samples whose truth and prediction both lie in it. All K (K - 1) / 2 tables are evaluated at once; a
pair whose metric is 0/0 counts as `zero_division`, or is left out if that is nan. Itai and Katz 2022, sec. 3.2.1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stream_metrics.formulas import rates
from stream_metrics.formulas.accuracy import accuracy
from stream_metrics.formulas.agreement import cohen_kappa, matthews_corrcoef
from stream_metrics.formulas.arithmetic import components, has_nan, if_counted, mean_of
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray, memoized
from stream_metrics.formulas.two_classes import TwoByTwo, wide_table

SYMMETRIC: dict[str, Callable[[TwoByTwo], NumberOrArray]] = {  # in which of the two classes is the positive one
    "accuracy": accuracy,
    "cohen_kappa": cohen_kappa,
    "matthews_corrcoef": matthews_corrcoef,
    "p4": rates.p4,
}
METRICS = tuple(sorted({*SYMMETRIC, *rates.FORMS, "fowlkes_mallows"}))


@memoized
def pair_tables(c: Counts) -> TwoByTwo:
    """Return the tables [[C_ii, C_ij], [C_ji, C_jj]] of all pairs i < j.

    Products of whole counts are exact. Cells with fractions are the nearest floats: no metric for two classes is a
    difference of numbers larger than its denominator, so that this changes it by a few units of 2^-53, and there are
    too many pairs for Python ints.
    """
    classes = np.arange(c.k)
    first, second = np.nonzero(classes[:, None] < classes)
    matrix, diagonal = c.matrix, c.diagonal
    cells = matrix.reshape(*matrix.shape[:-2], -1)
    upper, lower = cells.take(first * c.k + second, -1), cells.take(second * c.k + first, -1)
    return wide_table(TwoByTwo(diagonal.take(first, -1), upper, lower, diagonal.take(second, -1)), c.total)


def ovo(c: Counts, *, metric: str = "f1", zero_division: float = 0.0) -> float:
    """Mean of a metric of two classes over all pairs of classes.

    mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j, for rates of one class that of both classes

    The range is that of the metric.
    """
    if metric not in METRICS:
        raise ValueError(f"Expected `metric` to be one of {', '.join(METRICS)}, but got {metric!r}")
    table = pair_tables(c)
    if metric in SYMMETRIC:
        mean = mean_of(SYMMETRIC[metric](table), zero_division)
    else:
        mean = _mean_of_both(_rate(table, metric), _rate(table.swapped, metric), zero_division)
    return if_counted(c.total, mean)


def _rate(table: TwoByTwo, metric: str) -> Floats:
    return rates.fowlkes_mallows(table) if metric == "fowlkes_mallows" else table._ratios(*rates.FORMS[metric])


def _mean_of_both(first: Floats, second: Floats, zero_division: float) -> float:
    """Return the mean over the pairs of the mean of both choices; a choice that is nan is replaced or left out."""
    means = (first + second) / 2
    if has_nan(means):
        if np.isnan(zero_division):
            means = np.where(np.isnan(means), np.fmax(first, second), means)
        else:
            means = (components(first, zero_division) + components(second, zero_division)) / 2
    return mean_of(means, zero_division)


def matthews_corrcoef_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean Matthews correlation over all pairs of classes.

    mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j
    """
    return ovo(c, metric="matthews_corrcoef", zero_division=zero_division)


def accuracy_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean accuracy over all pairs of classes.

    mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j
    """
    return ovo(c, metric="accuracy", zero_division=zero_division)


def cohen_kappa_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean Cohen's kappa over all pairs of classes.

    mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j
    """
    return ovo(c, metric="cohen_kappa", zero_division=zero_division)


def f1_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean F1 over all pairs of classes and both classes of a pair.

    mean of the F1 of both classes on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j
    """
    return ovo(c, metric="f1", zero_division=zero_division)


def f1_ovo_first_positive(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean F1 over all pairs of classes, of the class that is reported first.

    mean of the F1 of class i on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j

    It depends on the order of the labels; `f1_ovo` does not.
    """
    return if_counted(c.total, mean_of(rates.f1(pair_tables(c)), zero_division))
