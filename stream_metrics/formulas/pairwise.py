"""One against one: means over all pairs of classes of a metric for two classes.

A pair keeps the samples whose truth and prediction both lie in it. All K (K - 1) / 2 tables are evaluated at once; a
pair whose metric is 0/0 counts as `zero_division`, or is left out if that is nan. Itai and Katz 2022, sec. 3.2.1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stream_metrics.formulas.arithmetic import (
    NAN,
    Binary,
    components,
    divide,
    geometric_of_two,
    harmonic_of_four,
    has_nan,
    kappa,
    matthews,
    wide,
)
from stream_metrics.formulas.frozen import shared
from stream_metrics.formulas.protocol import Counts, Floats, Form
from stream_metrics.formulas.rates import FORMS, PRECISION, RECALL


@shared
def pair_tables(c: Counts) -> Binary:
    """Return the tables [[C_ii, C_ij], [C_ji, C_jj]] of all pairs i < j.

    Products of whole counts are exact. Cells with fractions are the nearest floats: no metric for two classes is a
    difference of numbers larger than its denominator, so that this changes it by a few units of 2^-53, and there are
    too many pairs for Python ints.
    """
    places = np.arange(c.k)
    first, second = np.nonzero(places[:, None] < places)
    matrix, diagonal = wide(c.matrix, c.total), wide(c.diagonal, c.total)
    return Binary(diagonal[first], matrix[first, second], matrix[second, first], diagonal[second])


def _rate(table: Binary, forms: tuple[Form, Form]) -> Floats:
    """Return the ratio of two linear forms of the diagonal, the true, the predicted and the whole total of a table."""
    top, bottom = (_weighted(table, (d + t + p + n, t + n, p + n, n)) for d, t, p, n in forms)
    return divide(top, bottom)


def _weighted(table: Binary, factors: Form) -> Floats:
    terms = [part if factor == 1 else factor * part for factor, part in zip(factors, table, strict=True) if factor]
    return np.asarray(sum(terms[1:], start=terms[0]))


def _fowlkes_mallows(table: Binary) -> Floats:
    return geometric_of_two(_rate(table, PRECISION), _rate(table, RECALL))


SYMMETRIC: dict[str, Callable[[Binary], Floats]] = {  # in which of the two classes is the positive one
    "accuracy": lambda table: _rate(table, FORMS["ova_accuracy"]),
    "cohen_kappa": kappa,
    "matthews_corrcoef": matthews,
    "p4": harmonic_of_four,
}


METRICS = tuple(sorted({*SYMMETRIC, *FORMS, "fowlkes_mallows"}))


def ovo(c: Counts, *, metric: str = "f1", zero_division: float = 0.0) -> float:
    """Mean over all pairs of classes of a metric for two classes, itself the mean of both choices of the positive
    class.

    `metric` is accuracy, cohen_kappa, matthews_corrcoef, p4, fowlkes_mallows or any per-class rate; range as the
    metric; 0/0 if K < 2. Itai and Katz 2022, sec. 3.2.1.
    """
    if metric not in METRICS:
        raise ValueError(f"Expected `metric` to be one of {', '.join(METRICS)}, but got {metric!r}")
    if c.k < 2 or not c.total:
        return NAN
    table = pair_tables(c)
    if metric in SYMMETRIC:
        return _mean(SYMMETRIC[metric](table), zero_division)
    swapped = Binary(table.tn, table.fp, table.fn, table.tp)
    if metric == "fowlkes_mallows":
        return _mean_of_both(_fowlkes_mallows(table), _fowlkes_mallows(swapped), zero_division)
    return _mean_of_both(_rate(table, FORMS[metric]), _rate(swapped, FORMS[metric]), zero_division)


def _mean(values: Floats, zero_division: float) -> float:
    values = components(values, zero_division)
    return float(values.sum() / len(values)) if len(values) else NAN


def _mean_of_both(first: Floats, second: Floats, zero_division: float) -> float:
    means = (first + second) / 2
    if not has_nan(means):
        return float(means.sum() / len(means))
    if np.isnan(zero_division):
        return _mean(np.where(np.isnan(means), np.fmax(first, second), means), zero_division)
    return _mean((components(first, zero_division) + components(second, zero_division)) / 2, zero_division)


def matthews_corrcoef_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean over all pairs of classes of Matthews correlation, in [-1, 1]; 0/0 if K < 2.

    Itai and Katz 2022, sec. 3.2.1.
    """
    return ovo(c, metric="matthews_corrcoef", zero_division=zero_division)


def accuracy_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean over all pairs of classes of accuracy, in [0, 1]; 0/0 if K < 2. Itai and Katz 2022, sec. 3.2.1."""
    return ovo(c, metric="accuracy", zero_division=zero_division)


def cohen_kappa_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean over all pairs of classes of Cohen's kappa, in [-1, 1]; 0/0 if K < 2. Itai and Katz 2022, sec. 3.2.1."""
    return ovo(c, metric="cohen_kappa", zero_division=zero_division)


def f1_ovo(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean over all pairs of classes of the F1 of both classes, in [0, 1]; 0/0 if K < 2.

    Itai and Katz 2022, sec. 3.2.1.
    """
    return ovo(c, metric="f1", zero_division=zero_division)


def f1_ovo_first_positive(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean over all pairs of classes of the F1 of the class reported first; it depends on that order, so prefer
    `f1_ovo`.

    In [0, 1]; 0/0 if K < 2. Itai and Katz 2022, sec. 3.2.1.
    """
    if c.k < 2 or not c.total:
        return NAN
    return _mean(_rate(pair_tables(c), FORMS["f1"]), zero_division)
