"""Gradients of metrics of the totals, and the variance that the multinomial gives them (delta method).

The formulas of the catalog are listed by what they read, for many matrices at once. A batched formula takes
`BatchedCounts` and the number that replaces a component that is 0/0 (nan: left out). It returns one value for each
matrix, or for each class of each matrix, nan where it is 0/0.

A metric is taken as a function of C_kk, t_k and p_k; its derivative in a cell is then a_i [i = j] + b_i + c_j. What it
owes to N is the same for all cells and drops out, because the variance is that of the gradient over the samples:
Var f = sum C_ij (g_ij - mean g)^2. One body serves `BatchedCounts` of any leading shape, one
matrix and many. Agresti 2013, Categorical Data Analysis, sec. 16.1.

**Closed or by complex steps.** A complex step through the formula of the catalogue is exact to rounding, but it takes
one evaluation for each total, so it costs K^2. The metrics that are shown most have closed gradients, which cost K.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stream_metrics.catalog.table import CATALOG
from stream_metrics.formulas.protocol import Form, NumberOrArray
from stream_metrics.formulas.rates import F1, FORMS, JACCARD, PRECISION, RECALL, SPECIFICITY
from stream_metrics.formulas.two_classes import TwoByTwo, one_vs_all
from stream_metrics.inference.intervals.batched_counts import Batch, BatchedCounts, batched, dot

BatchedFormula: TypeAlias = Callable[[BatchedCounts | TwoByTwo, float], Batch]
PAIR_LIMIT = 128  # classes; the pairs of more are ten thousand numbers for each of thousands of matrices


def _batched(key: str) -> BatchedFormula:
    row = CATALOG[key]
    if row.uses_zero_division:
        return lambda c, zero_division: row.formula(c, zero_division=zero_division)
    return lambda c, _: row.formula(c)


def _of_pairs(key: str) -> BatchedFormula:
    formula = _batched(key)

    def of(c: BatchedCounts | TwoByTwo, zero_division: float) -> Batch:
        if isinstance(c, BatchedCounts) and c.k > PAIR_LIMIT:
            raise ValueError(
                f"Expected at most {PAIR_LIMIT} classes for an interval of a mean over pairs, but got {c.k}"
            )
        return formula(c, zero_division)

    return of


def _by_key(keys: Iterable[str]) -> dict[str, BatchedFormula]:
    return {key: (_of_pairs if "ovo" in key else _batched)(key) for key in keys}


MARGINS = _by_key((  # of C_kk, t_k, p_k and N alone
    "accuracy", "average_accuracy", "balanced_accuracy", "balanced_accuracy_adjusted", "cohen_kappa",
    "expected_accuracy", "general_f1", "general_f1_geometric", "general_f1_harmonic", "general_f1_power_2",
    "general_fowlkes_mallows", "general_fowlkes_mallows_geometric", "general_fowlkes_mallows_harmonic",
    "general_fowlkes_mallows_power_2", "geometric_mean", "macro_f1", "macro_f1_of_means", "macro_fbeta",
    "macro_jaccard", "macro_precision", "macro_recall", "macro_specificity", "matthews_corrcoef", "micro_f1",
    "micro_fbeta", "micro_jaccard", "micro_precision", "micro_recall", "power_mean_all_precision_recall",
    "weighted_balanced_accuracy", "weighted_f1", "weighted_fbeta", "weighted_jaccard", "weighted_precision",
    "weighted_recall", "zero_one_loss",
))  # fmt: skip
CELLS = _by_key((  # of all cells
    "accuracy_ovo", "chi2", "cohen_kappa_ovo", "cramers_v", "f1_ovo", "f1_ovo_first_positive", "generalized_mcc",
    "matthews_corrcoef_ovo", "ovo", "pair_fowlkes_mallows", "weighted_kappa", "weighted_kappa_linear",
    "weighted_kappa_quadratic",
))  # fmt: skip
RATES: dict[str, tuple[Form, Form]] = {
    **FORMS,
    "prevalence": ((0, 1, 0, 0), (0, 0, 0, 1)),
    "detection_rate": ((1, 0, 0, 0), (0, 0, 0, 1)),
    "detection_prevalence": ((0, 0, 1, 0), (0, 0, 0, 1)),
}
PER_CLASS = _by_key((  # of C_kk, t_k, p_k and N of the class alone
    *RATES, "expected_accuracy_term", "fbeta", "fowlkes_mallows", "ova_balanced_accuracy", "ova_matthews_corrcoef",
    "p4", "power_mean_four_rates", "power_mean_precision_recall",
))  # fmt: skip


STEP = 1e-30  # of the complex step, relative to a count of 1: no difference is taken, so nothing cancels
CHUNK = 2**21  # complex numbers at a time


class Gradient(NamedTuple):
    """Derivatives of a whole value in C_kk, t_k and p_k; or in the single cells, where it is no function of those."""

    diagonal: NumberOrArray
    true: NumberOrArray
    predicted: NumberOrArray
    cells: Batch | None = None


def _mean_of_ratios(form: tuple[Form, Form], zero_counts: bool) -> Callable[[BatchedCounts, float], Gradient]:
    """Return the gradient of the mean over classes of a ratio of linear forms."""

    def of(c: BatchedCounts, zero_division: float) -> Gradient:
        value, parts = ratio_parts(c, form)
        share = 1 / c.classes
        lost = np.isnan(value)
        if lost.any():
            parts = np.where(lost, 0.0, parts[0]), np.where(lost, 0.0, parts[1]), np.where(lost, 0.0, parts[2])
            if not zero_counts or math.isnan(zero_division):
                share = 1 / (c.classes - c.class_sum(lost))
        return Gradient(*(part * share for part in parts))

    return of


def _mean_by_support(form: tuple[Form, Form]) -> Callable[[BatchedCounts, float], Gradient]:
    """Return the gradient of sum t_k f_k / sum t_k over the classes where f_k is defined."""

    def of(c: BatchedCounts, zero_division: float) -> Gradient:
        value, parts = ratio_parts(c, form)
        lost = np.isnan(value)
        support = np.where(lost, 0.0, c.true_totals) if np.isnan(zero_division) else c.true_totals
        total = c.class_sum(support)
        filled = np.where(lost, 0.0 if np.isnan(zero_division) else zero_division, value)
        mean = c.class_sum(support * filled) / total
        a, b, p = (np.where(lost, 0.0, part) * support / total for part in parts)
        there = np.where(lost & np.isnan(zero_division), 0.0, 1.0)
        return Gradient(a, b + (filled - mean) * there / total, p)

    return of


def ratio_parts(c: BatchedCounts | TwoByTwo, form: tuple[Form, Form]) -> tuple[Batch, tuple[Batch, Batch, Batch]]:
    """Return a ratio of linear forms for every class, and its derivatives in C_kk, t_k and p_k."""
    top, below = form
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = 1 / c.form(below)
        value = c.form(top) * scale
        first, second, third = ((top[i] - value * below[i]) * scale if below[i] else top[i] * scale for i in range(3))
    return value, (first, second, third)


def _accuracy(c: BatchedCounts, _: float) -> Gradient:
    zero = np.zeros_like(c.true_totals)
    return Gradient(1 / c.samples, zero, zero)


def _of_accuracy(slope: Callable[[NumberOrArray, int], NumberOrArray]) -> Callable[[BatchedCounts, float], Gradient]:
    """Return the gradient of a function of the accuracy a and of K, by its slope in a."""

    def of(c: BatchedCounts, _: float) -> Gradient:
        zero = np.zeros_like(c.true_totals)
        return Gradient(slope(c.class_sum(c.diagonal) / c.samples, c.classes) / c.samples, zero, zero)

    return of


def _adjusted(c: BatchedCounts, zero_division: float) -> Gradient:
    classes = c.class_sum(c.true_totals != 0)
    return Gradient(*(part * classes / (classes - 1) for part in _mean_of_ratios(RECALL, False)(c, zero_division)[:3]))


def _kappa(c: BatchedCounts, _: float) -> Gradient:
    n = c.samples
    chance, right = c.class_dot(c.true_totals, c.predicted_totals) / (n * n), c.class_sum(c.diagonal) / n
    rest = 1 - chance
    factor = (right - 1) / (rest * rest * n * n)
    return Gradient(1 / (rest * n), factor * c.predicted_totals, factor * c.true_totals)


def _matthews(c: BatchedCounts, _: float) -> Gradient:
    n, true, predicted = c.samples, c.true_totals, c.predicted_totals
    square = n * n
    t, p = square - c.class_dot(true, true), square - c.class_dot(predicted, predicted)
    scale = 1 / (t * p) ** 0.5
    value = (c.class_sum(c.diagonal) * n - c.class_dot(true, predicted)) * scale
    return Gradient(scale * n, true * (value / t) - predicted * scale, predicted * (value / p) - true * scale)


ANALYTIC: dict[str, Callable[[BatchedCounts, float], Gradient]] = {
    "accuracy": _accuracy,
    "average_accuracy": _of_accuracy(lambda _, k: 2 / k),
    "balanced_accuracy": _mean_of_ratios(RECALL, False),
    "balanced_accuracy_adjusted": _adjusted,
    "cohen_kappa": _kappa,
    "general_f1": _mean_of_ratios(F1, True),
    "macro_f1": _mean_of_ratios(F1, True),
    "macro_fbeta": _mean_of_ratios(F1, True),
    "macro_jaccard": _mean_of_ratios(JACCARD, True),
    "macro_precision": _mean_of_ratios(PRECISION, True),
    "macro_recall": _mean_of_ratios(RECALL, True),
    "macro_specificity": _mean_of_ratios(SPECIFICITY, True),
    "matthews_corrcoef": _matthews,
    "micro_jaccard": _of_accuracy(lambda a, _: 2 / (2 - a) ** 2),
    "weighted_balanced_accuracy": _mean_of_ratios(RECALL, False),
    "weighted_f1": _mean_by_support(F1),
    "weighted_fbeta": _mean_by_support(F1),
    "weighted_jaccard": _mean_by_support(JACCARD),
    "weighted_precision": _mean_by_support(PRECISION),
    "zero_one_loss": _of_accuracy(lambda _a, _k: -1.0),
    **dict.fromkeys(("micro_f1", "micro_fbeta", "micro_precision", "micro_recall", "weighted_recall"), _accuracy),
}


def _cramers_v(c: BatchedCounts) -> Batch:
    classes = int(((c.true_totals != 0) | (c.predicted_totals != 0)).sum())
    rows, columns = c.where.rows, c.where.columns
    with np.errstate(invalid="ignore", divide="ignore"):
        share = c.values / (c.true_totals[rows] * c.predicted_totals[columns])
        value = np.sqrt(((c.values * share).sum() - 1) / (classes - 1))
        by_row = np.bincount(rows, c.values * share, c.where.k) / c.true_totals
        by_column = np.bincount(columns, c.values * share, c.where.k) / c.predicted_totals
        return np.asarray((2 * share - by_row[rows] - by_column[columns]) / (2 * value * (classes - 1)))


def _pair_index(c: BatchedCounts) -> Batch:
    rows, columns, n = c.where.rows, c.where.columns, c.samples
    together, true, predicted = (dot(part, part) - n for part in (c.values, c.true_totals, c.predicted_totals))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = 1 / (np.sqrt(true) * np.sqrt(predicted))
        slopes = (c.true_totals[rows] - 0.5) / true + (c.predicted_totals[columns] - 0.5) / predicted
        return np.asarray((2 * c.values - 1 - together * slopes) * scale)


def _determinant(c: BatchedCounts) -> Batch:
    """Return the derivatives of det S, S_ij = C_ij / sqrt(t_i p_j): adj(S)_ji S_ij / C_ij - det S / 2 (1/t_i + 1/p_j).

    The adjugate comes from the singular values, so that a matrix without an inverse has one too.
    """
    rows, columns = c.where.rows, c.where.columns
    (classes,) = np.nonzero((c.true_totals != 0) | (c.predicted_totals != 0))
    roots = np.sqrt(c.true_totals[classes])[:, None] * np.sqrt(c.predicted_totals[classes])
    left, sizes, right = np.linalg.svd(c.matrix[np.ix_(classes, classes)] / roots)
    others = np.array([np.delete(sizes, at).prod() for at in range(len(sizes))])
    sign = np.linalg.det(left) * np.linalg.det(right)
    adjugate = np.zeros((c.where.k, c.where.k))
    adjugate[np.ix_(classes, classes)] = sign * (right.T * others) @ left.T
    value = sign * sizes.prod()
    scale = np.sqrt(c.true_totals[rows]) * np.sqrt(c.predicted_totals[columns])
    slopes: Batch = adjugate[columns, rows] / scale
    slopes -= value * (0.5 / c.true_totals[rows] + 0.5 / c.predicted_totals[columns])
    return slopes


OF_CELLS: dict[str, Callable[[BatchedCounts], Batch]] = {
    "cramers_v": _cramers_v,
    "generalized_mcc": _determinant,
    "pair_fowlkes_mallows": _pair_index,
}


def gradient(key: str, c: BatchedCounts, zero_division: float) -> Gradient:
    """Return the gradient of a whole value, by formula where there is one, else by complex steps.

    `c` is one matrix. A complex step is exact to rounding. Squire and Trapp 1998.
    """
    if key in ANALYTIC:
        return ANALYTIC[key](c, zero_division)
    if key in MARGINS:
        return Gradient(*_step_margins(key, c, zero_division))
    return Gradient(0.0, 0.0, 0.0, OF_CELLS[key](c) if key in OF_CELLS else _step_cells(key, c, zero_division))


def _step_margins(key: str, c: BatchedCounts, zero_division: float) -> list[Batch]:
    k, formula = c.k, MARGINS[key]
    steps = 1j * STEP * np.eye(k)
    slopes = []
    for at in range(3):
        d, t, p = (part + steps if i == at else np.broadcast_to(part + 0j, (k, k)) for i, part in enumerate(c.totals))
        moved = BatchedCounts(d, t, p, np.full(k, c.total + 0j), None, c.where)
        slopes.append(np.imag(formula(moved, zero_division)) / STEP)
    return slopes


def _step_cells(key: str, c: BatchedCounts, zero_division: float) -> Batch:
    values, formula = c.where.values, CELLS[key]
    size = max(1, CHUNK // max(len(values), c.where.k**2, 1))
    slopes = []
    for start in range(0, len(values), size):
        rows = np.arange(start, min(start + size, len(values)))
        moved = np.repeat(values[None].astype(complex), len(rows), axis=0)
        moved[np.arange(len(rows)), rows] += 1j * STEP
        slopes.append(np.imag(formula(batched(moved, c.where), zero_division)) / STEP)
    return np.concatenate(slopes) if slopes else np.zeros(0)


def standard_error(c: BatchedCounts, slopes: Gradient) -> NumberOrArray:
    """Return the standard error of a whole value: the root of sum C_ij (g_ij - mean g)^2."""
    g = slopes.cells if slopes.cells is not None else cell_slopes(c, slopes)
    g = g - dot(c.values, g) / c.samples
    return math.sqrt(dot(c.values, g * g)) if c.values.ndim == 1 else np.sqrt((c.values * g * g).sum(-1))


def cell_slopes(c: BatchedCounts, slopes: Gradient) -> Batch:
    """Return the derivatives of a whole value in the single cells."""
    where, diagonal = c.where, slopes.diagonal
    g: Batch = slopes.true[..., where.rows] + slopes.predicted[..., where.columns]
    by_class = isinstance(diagonal, np.ndarray) and diagonal.shape[-1:] == (where.k,)
    g[..., where.on] += diagonal[..., where.rows[where.on]] if by_class else diagonal
    return g


def class_slopes(key: str, c: BatchedCounts | TwoByTwo, zero_division: float) -> tuple[Batch, Batch, Batch]:
    """Return the derivatives of the value of every class in C_kk, t_k and p_k, which it depends on alone."""
    if key in RATES:
        return ratio_parts(c, RATES[key])[1]
    counts: Any = c
    return step_classes(key, one_vs_all(counts), zero_division)


def class_standard_errors(key: str, c: BatchedCounts, zero_division: float) -> Batch:
    """Return the standard error of the value of every class."""
    a, b, p = class_slopes(key, c, zero_division)
    d, true, predicted = c.totals
    mean = (a * d + b * true + p * predicted) / c.total
    variance = d * (a + b + p - mean) ** 2 + (true - d) * (b - mean) ** 2 + (predicted - d) * (p - mean) ** 2
    variance = variance + (c.total - true - predicted + d) * mean**2
    return np.asarray(np.sqrt(variance))


def step_classes(key: str, table: TwoByTwo, zero_division: float) -> tuple[Batch, Batch, Batch]:
    """Return the derivatives of values of classes against the rest in C_kk, t_k and p_k, by complex steps."""
    slopes = []
    for signs in ((1, -1, -1, 1), (0, 1, 0, -1), (0, 0, 1, -1)):  # one more in C_kk, t_k or p_k, with the same N
        moved = TwoByTwo(*(part + sign * 1j * STEP for part, sign in zip(table, signs, strict=True)))
        slopes.append(np.imag(PER_CLASS[key](moved, zero_division)) / STEP)
    return slopes[0], slopes[1], slopes[2]
