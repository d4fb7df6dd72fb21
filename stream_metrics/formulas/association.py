"""Association of truth and prediction: three things that are called multi-class MCC, chi-square, and the pair index.

For two classes MCC, the determinant and (up to the sign) Cramer's V are one number. For more they differ: only MCC
and kappa are +1 for a perfect prediction alone; the determinant is also 1 for every even, Cramer's V for every
permutation of the labels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, correlation, wide
from stream_metrics.formulas.frozen import shared
from stream_metrics.formulas.protocol import Counts, Floats, Numbers
from stream_metrics.formulas.units import in_units

EXACT_CLASSES = 8  # up to here the determinant is computed in integers


def matthews_corrcoef(c: Counts) -> float:
    """Product-moment correlation of truth and prediction, coded one-hot (R_K; phi for two classes).

    (c N - sum t_k p_k) / sqrt((N^2 - sum p_k^2)(N^2 - sum t_k^2)), in [-1, 1]; 0/0 if all samples are of one class,
    or all predictions. Gorodkin 2004; Grandini et al. 2020, eq. 24, 25.
    """
    c = in_units(c)
    total = c.total
    square = total * total
    covariance = c.hits * total - c.true_dot_predicted
    return correlation(covariance, square - c.predicted_dot_predicted, square - c.true_dot_true)


def generalized_mcc_matrix(c: Counts) -> Floats:
    """Geometric means of the shares a cell has of its row and of its column; its determinant is the generalised MCC.

    C_ij / sqrt(t_i p_j), in [0, 1]; 0/0 where row or column are empty. Itai and Katz 2022, eq. 8.
    """
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(np.multiply.outer(c.true_totals.astype(np.float64), c.predicted_totals))
        return np.asarray(c.matrix / roots)


def generalized_mcc(c: Counts, *, alpha: float = 0.0) -> float:
    """Determinant of the normalised confusion matrix. Small values are usual: it shrinks like cramers_v^(K-1).

    det C / sqrt(prod t_k prod p_k) over the classes that are true or predicted, in [-1, 1]; 0/0 if these are fewer
    than two, or one of them is never true or never predicted. `alpha` is added to every cell first. Itai and Katz
    2022, eq. 7, 8.
    """
    if not (alpha >= 0 and math.isfinite(alpha)):
        raise ValueError(f"Expected `alpha` to be a finite number >= 0, but got {alpha!r}")
    matrix = smoothed(c, alpha)
    small = not alpha and len(matrix) <= EXACT_CLASSES
    if small and c.unit != 1:
        matrix = smoothed(in_units(c))
    true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    if len(matrix) < 2 or not true.all() or not predicted.all():
        return NAN
    if small:
        return correlation(determinant(matrix.tolist()), math.prod(true.tolist()), math.prod(predicted.tolist()))
    return normalised_determinant(matrix, true, predicted)


@shared
def occurring(c: Counts) -> Any:
    """Tell for every class whether it is true or predicted."""
    return (c.true_totals != 0) | (c.predicted_totals != 0)


def smoothed(c: Counts, alpha: float = 0.0) -> Numbers:
    """Return the matrix of the classes that are true or predicted, `alpha` added to every cell."""
    occurs = occurring(c)
    matrix = c.matrix if occurs.all() else c.matrix[np.ix_(occurs, occurs)]
    return matrix + alpha if alpha else matrix


def normalised_determinant(matrix: Numbers, true: Numbers, predicted: Numbers) -> float:
    """Return det(matrix_ij / sqrt(true_i predicted_j)), with an absolute error near 1e-16."""
    scaled = matrix / np.sqrt(np.multiply.outer(true.astype(np.float64), predicted))
    return max(-1.0, min(1.0, float(np.linalg.det(scaled))))


def determinant(rows: list[list[int]]) -> int:
    """Return the determinant of a matrix of integers, exactly (Bareiss 1968: every division leaves no remainder)."""
    sign, before = 1, 1
    for i in range(len(rows) - 1):
        pivot = next((r for r in range(i, len(rows)) if rows[r][i]), None)
        if pivot is None:
            return 0
        if pivot != i:
            rows[i], rows[pivot], sign = rows[pivot], rows[i], -sign
        head = rows[i][i]
        tail = rows[i][i + 1 :]
        for row in rows[i + 1 :]:
            row[i + 1 :] = [(a * head - row[i] * b) // before for a, b in zip(row[i + 1 :], tail, strict=True)]
        before = head
    return sign * rows[-1][-1]


@shared
def _chi2(c: Counts) -> float:
    """Return chi-square as the sum over the non-zero cells, plus the expectation of the others in one exact
    difference.
    """
    if not c.total:
        return NAN
    unit, c = c.unit, in_units(c)
    total, (rows, columns, values) = c.total, c.cells()
    products = wide(c.true_totals, total)[rows] * wide(c.predicted_totals, total)[columns]
    deviations = (wide(values, total) * total - products).astype(np.float64)
    among_cells = math.fsum((deviations * deviations / products.astype(np.float64)).tolist())
    return (among_cells + (total * total - int(products.sum()))) / (total * unit)


def chi2(c: Counts) -> float:
    """Pearson's statistic for independence of truth and prediction, without continuity correction.

    sum (C_ij - E_ij)^2 / E_ij with E_ij = t_i p_j / N, cells with E_ij = 0 left out, in [0, N (K' - 1)]; 0/0 without
    data. Itai and Katz 2022, sec. 3.2.3.
    """
    return _chi2(c)


def cramers_v(c: Counts) -> float:
    """Strength of association of truth and prediction; 1 for a perfect prediction and for any relabelling of it.

    sqrt(chi2 / (N (K' - 1))) with K' the classes that are true or predicted, in [0, 1]; 0/0 if K' < 2.
    Cramer 1946; Itai and Katz 2022, sec. 3.2.3.
    """
    classes = int(np.count_nonzero(occurring(c)))
    if classes < 2:
        return NAN
    return min(1.0, math.sqrt(_chi2(c) / (float(c.total) * (classes - 1))))


def pair_fowlkes_mallows(c: Counts) -> float:
    """Agreement of two clusterings on the pairs of samples: the index of scikit-learn and river, no metric of a
    classifier.

    (sum C_ij^2 - N) / sqrt((sum p_k^2 - N)(sum t_k^2 - N)), in [0, 1]; 0/0 if no two samples share a class, or a
    prediction. A whole weight is as many samples; with fractions there are no pairs to count, and no value. Fowlkes
    and Mallows 1983.
    """
    if c.unit != 1:
        return NAN
    values = wide(c.cells()[2], c.total)
    together = sum(value * value for value in values) if values.dtype == object else np.dot(values, values).item()
    same_true, same_predicted = c.true_dot_true - c.total, c.predicted_dot_predicted - c.total
    if same_true <= 0 or same_predicted <= 0:
        return NAN
    return correlation(together - c.total, same_predicted, same_true)
