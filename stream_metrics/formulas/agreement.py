"""Agreement beyond chance, and association: kappas, what is called multi-class MCC, chi-square, the pair index.

For two classes MCC, the determinant and (up to the sign) Cramer's V are one number. For more they differ: only MCC
and kappa are +1 for a perfect prediction alone; the determinant is also 1 for every even, Cramer's V for every
permutation of the labels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.arithmetic import (
    NAN,
    at,
    clipped,
    correlation,
    count,
    divide,
    dot,
    exact,
    floats,
    per_class,
    ratio,
    sum_of,
    sums_by,
    total_of,
    wide,
)
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray, Numbers, memoized
from stream_metrics.formulas.two_classes import TwoByTwo, in_units


def expected_accuracy(c: Counts) -> float:
    """Accuracy to expect if truth and prediction were independent.

    sum t_k p_k / N^2
    """
    return ratio(c.true_dot_predicted, c.total * c.total)


def expected_accuracy_term(c: Counts | TwoByTwo) -> Floats:
    """Share of the expected accuracy that a class adds.

    t_k p_k / N^2
    """
    if type(c) is TwoByTwo:
        true, predicted, total = c.tp + c.fn, c.tp + c.fp, c.total
    else:
        c = in_units(c)
        true, predicted, total = c.true_totals, c.predicted_totals, per_class(c.total)
    terms: Floats = divide(exact(true) * exact(predicted), total * total)
    return terms


def expected_matrix(c: Counts) -> Floats:
    """Counts to expect if truth and prediction were independent.

    t_i p_j / N
    """
    if not c.total:
        return np.full((c.k, c.k), NAN)
    return np.multiply.outer(c.true_totals.astype(np.float64), c.predicted_totals) / float(c.total)


def cohen_kappa(c: Counts | TwoByTwo) -> float:
    """Agreement beyond the agreement of independent raters with the same totals.

    (c N - sum t_k p_k) / (N^2 - sum t_k p_k)

    The value is 1 only if every sample is predicted right. It is -1 only for two equally frequent classes that are
    swapped. scikit-learn returns nan where this is 0/0.
    """
    if type(c) is TwoByTwo:
        beyond, most = c.beyond_chance
    else:
        total, chance = c.total, c.true_dot_predicted
        beyond, most = c.hits * total - chance, total * total - chance
    return clipped(ratio(beyond, most))


def weighted_kappa(c: Counts, *, weights: str = "linear") -> float:
    """Agreement beyond chance of ordered classes, where a miss costs its distance.

    1 - sum w_ij C_ij / sum w_ij E_ij with E_ij = t_i p_j / N and w_ij = abs(i - j) or (i - j)^2

    The order of the labels must be the order of the classes; `labels` sets it.
    """
    if weights not in ("linear", "quadratic"):
        raise ValueError(f"Expected `weights` to be 'linear' or 'quadratic', but got {weights!r}")
    c, power = in_units(c), 1 if weights == "linear" else 2
    true, predicted = exact(c.true_totals), exact(c.predicted_totals)
    costs = np.arange(c.k) ** power
    observed = dot(exact(_weight_by_distance(c)), costs) * c.total
    expected = (_chance_linear if weights == "linear" else _chance_quadratic)(true, predicted)
    return ratio(expected - observed, expected)


@memoized
def _weight_by_distance(c: Counts) -> Numbers:
    """Return the sum of the cells at each distance from the diagonal."""
    rows, columns, values = c.cells()
    return sums_by(np.abs(rows - columns), values, c.k)


def _chance_linear(true: Numbers, predicted: Numbers) -> NumberOrArray:
    """Return sum abs(i - j) t_i p_j: each step from m to m + 1 is crossed by the pairs with one class on each side."""
    t, p = np.cumsum(true, axis=-1), np.cumsum(predicted, axis=-1)
    return (t * (p[..., -1:] - p) + p * (t[..., -1:] - t)).sum(-1)


def _chance_quadratic(true: Numbers, predicted: Numbers) -> NumberOrArray:
    """Return sum (i - j)^2 t_i p_j."""
    places = np.arange(true.shape[-1])
    squares = dot(true + predicted, places * places)
    return true.sum(-1) * squares - 2 * dot(true, places) * dot(predicted, places)


EXACT_CLASSES = 8  # up to here the determinant is computed in integers


def matthews_corrcoef(c: Counts | TwoByTwo) -> float:
    """Correlation of truth and prediction, coded one-hot (R_K; phi for two classes).

    (c N - sum t_k p_k) / sqrt((N^2 - sum p_k^2) (N^2 - sum t_k^2))

    The value is 1 only if every sample is predicted right. For more than two classes the minimum depends on the truth
    and is above -1.
    """
    if type(c) is TwoByTwo:
        return correlation(*c.covariances)
    c = in_units(c)
    total = c.total
    square = total * total
    covariance = c.hits * total - c.true_dot_predicted
    return correlation(covariance, square - c.true_dot_true, square - c.predicted_dot_predicted)


def generalized_mcc_matrix(c: Counts) -> Floats:
    """Geometric means of the shares that a cell has of its row and of its column.

    C_ij / sqrt(t_i p_j)

    Its determinant is `generalized_mcc`.
    """
    with np.errstate(invalid="ignore"):
        roots = np.sqrt(np.multiply.outer(c.true_totals.astype(np.float64), c.predicted_totals))
        return np.asarray(c.matrix / roots)


def generalized_mcc(c: Counts, *, alpha: float = 0.0) -> float:
    """Determinant of the normalised confusion matrix.

    det C / sqrt(prod t_k prod p_k) over the classes that are true or predicted

    Small values are usual: it shrinks like cramers_v^(K-1). It is also 1 for every even permutation of the labels.
    """
    if not (alpha >= 0 and math.isfinite(alpha)):
        raise ValueError(f"Expected `alpha` to be a finite number >= 0, but got {alpha!r}")
    if c.matrix.ndim > 2:
        return _determinants(c, alpha)  # type: ignore[return-value]
    matrix = smoothed(c, alpha)
    small = not alpha and len(matrix) <= EXACT_CLASSES
    if small and c.unit != 1:
        matrix = smoothed(in_units(c))
    true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    if len(matrix) < 2 or not true.all() or not predicted.all():
        return NAN
    if small and matrix.dtype != np.float64:
        return correlation(determinant(matrix.tolist()), math.prod(true.tolist()), math.prod(predicted.tolist()))
    return float(normalised_determinant(matrix, true, predicted))


def _determinants(c: Counts, alpha: float) -> Floats:
    """Return the determinants of many matrices, one group for each set of classes that occur."""
    occurs, matrix = occurring(c), c.matrix
    values = np.full(matrix.shape[:-2], NAN, matrix.dtype)
    for pattern in np.unique(occurs.reshape(-1, c.k), axis=0) if c.k else ():
        group, (classes,) = (occurs == pattern).all(-1), np.nonzero(pattern)
        if len(classes) > 1:
            part = matrix[group][:, classes[:, None], classes] + alpha
            true, predicted = part.sum(-1), part.sum(-2)
            defined = (true != 0).all(-1) & (predicted != 0).all(-1)
            values_of_group = np.full(len(part), NAN, matrix.dtype)
            values_of_group[defined] = normalised_determinant(part[defined], true[defined], predicted[defined])
            values[group] = values_of_group
    return values


@memoized
def occurring(c: Counts) -> NDArray[np.bool_]:
    """Tell for every class whether it is true or predicted."""
    occurs: NDArray[np.bool_] = (c.true_totals != 0) | (c.predicted_totals != 0)
    return occurs


def smoothed(c: Counts, alpha: float = 0.0) -> Numbers:
    """Return the matrix of the classes that are true or predicted, `alpha` added to every cell."""
    occurs = occurring(c)
    matrix = c.matrix if occurs.all() else c.matrix[np.ix_(occurs, occurs)]
    return matrix + alpha if alpha else matrix


def normalised_determinant(matrix: Numbers, true: Numbers, predicted: Numbers) -> NumberOrArray:
    """Return det(matrix_ij / sqrt(true_i predicted_j)), with an absolute error near 1e-16."""
    products = floats(true)[..., None] * predicted[..., None, :]
    return clipped(np.asarray(np.linalg.det(matrix / np.sqrt(products))))


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


@memoized
def _chi2(c: Counts) -> float:
    """Return chi-square as the sum over the cells, plus the expectation of the other cells in one exact difference."""
    unit, c = c.unit, in_units(c)
    total, (rows, columns, values) = c.total, c.cells()
    products = at(wide(c.true_totals, total), rows) * at(wide(c.predicted_totals, total), columns)
    deviations = floats(wide(values, total) * per_class(total) - products)
    expected = floats(products)
    if expected.ndim > 1:  # a cell of one matrix may be empty in another
        expected = np.where(expected == 0, 1.0, expected)
    among_cells = sum_of(deviations * deviations / expected)
    return ratio(among_cells + (total * total - total_of(products)), total * unit)


def chi2(c: Counts) -> float:
    """Pearson's statistic for independence of truth and prediction, without continuity correction.

    sum (C_ij - E_ij)^2 / E_ij with E_ij = t_i p_j / N, over the cells with E_ij > 0

    The value is at most N (K' - 1) for K' classes that are true or predicted.
    """
    return _chi2(c)


def cramers_v(c: Counts) -> float:
    """Strength of the association of truth and prediction.

    sqrt(chi2 / (N (K' - 1))) with the K' classes that are true or predicted

    The value is 1 for a perfect prediction and for every relabelling of it.
    """
    square: NumberOrArray = ratio(_chi2(c), c.total * 1.0 * (count(occurring(c)) - 1))
    if isinstance(square, np.ndarray):
        many: Floats = np.sqrt(np.maximum(square, 0.0))  # differences of large counts are rounded
        return clipped(many)  # type: ignore[return-value]
    return min(1.0, math.sqrt(square)) if square == square else NAN


def pair_fowlkes_mallows(c: Counts) -> float:
    """Agreement of two clusterings on the pairs of samples.

    (sum C_ij^2 - N) / sqrt((sum p_k^2 - N) (sum t_k^2 - N))

    This is the index of scikit-learn and river, and no measure of a classifier. A whole weight is as many samples;
    weights with a fraction raise `ValueError`.
    """
    if c.unit != 1:
        return NAN
    values = wide(c.cells()[2], c.total)
    together, total = dot(values, values), c.total
    return correlation(together - total, c.predicted_dot_predicted - total, c.true_dot_true - total)
