"""Agreement beyond chance: Cohen's kappa, its expected counts, and the weighted kappas for ordered classes."""

from __future__ import annotations

from itertools import accumulate
from operator import mul

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, ratio
from stream_metrics.formulas.frozen import shared
from stream_metrics.formulas.protocol import Counts, Floats, Numbers
from stream_metrics.formulas.units import in_units


def expected_accuracy(c: Counts) -> float:
    """Accuracy to expect if truth and prediction were independent (P_e).

    sum t_k p_k / N^2, in [0, 1]; 0/0 without data. Grandini et al. 2020, eq. 29-31.
    """
    return ratio(c.true_dot_predicted, c.total * c.total)


def expected_accuracy_term(c: Counts) -> Floats:
    """What a class adds to the expected accuracy.

    t_k p_k / N^2, in [0, 1]; 0/0 without data. Grandini et al. 2020, eq. 30, 34.
    """
    c = in_units(c)
    below = c.total * c.total
    if not below:
        return np.full(c.k, NAN)
    products = map(mul, c.true_totals.tolist(), c.predicted_totals.tolist())
    return np.array([product / below for product in products], np.float64)


def expected_matrix(c: Counts) -> Floats:
    """Counts to expect if truth and prediction were independent.

    t_i p_j / N >= 0; 0/0 without data. Grandini et al. 2020, eq. 27.
    """
    if not c.total:
        return np.full((c.k, c.k), NAN)
    return np.multiply.outer(c.true_totals.astype(np.float64), c.predicted_totals) / float(c.total)


def cohen_kappa(c: Counts) -> float:
    """Agreement beyond the agreement of independent raters with the same totals.

    (P_o - P_e) / (1 - P_e) = (c N - sum t p) / (N^2 - sum t p), in [-1, 1]; 0/0 if there is one single class, both
    true and predicted. Cohen 1960; Grandini et al. 2020, eq. 28, 40.
    """
    total, chance = c.total, c.true_dot_predicted
    return ratio(c.hits * total - chance, total * total - chance)


def weighted_kappa(c: Counts, *, weights: str = "linear") -> float:
    """Agreement beyond chance where a miss costs its distance in the order of the labels, or the square of that.

    1 - sum w_ij C_ij / sum w_ij E_ij with w_ij = abs(i - j) or (i - j)^2, in [-1, 1]; 0/0 if there is one single
    class, both true and predicted. The order of report must be the order of the classes. Cohen 1968.
    """
    if weights not in ("linear", "quadratic"):
        raise ValueError(f"Expected `weights` to be 'linear' or 'quadratic', but got {weights!r}")
    c = in_units(c)
    if c.true_dot_predicted == c.total * c.total:
        return NAN
    costs = range(c.k) if weights == "linear" else [d * d for d in range(c.k)]
    true, predicted = c.true_totals.tolist(), c.predicted_totals.tolist()
    observed = sum(map(mul, costs, _weight_by_distance(c).tolist())) * c.total
    expected = (_chance_linear if weights == "linear" else _chance_quadratic)(true, predicted)
    return ratio(expected - observed, expected)


@shared
def _weight_by_distance(c: Counts) -> Numbers:
    """Return the sum of the cells at each distance from the diagonal."""
    rows, columns, values = c.cells()
    sums = np.zeros(c.k, values.dtype)
    np.add.at(sums, np.abs(rows - columns), values)
    return sums


def _chance_linear(true: list[int], predicted: list[int]) -> int:
    """Return sum abs(i - j) t_i p_j: the step from m to m + 1 is crossed by the pairs with one side on each side of
    it.
    """
    total = sum(true)
    sums = zip(accumulate(true), accumulate(predicted), strict=True)
    return sum(t * (total - p) + p * (total - t) for t, p in sums)


def _chance_quadratic(true: list[int], predicted: list[int]) -> int:
    """Return sum (i - j)^2 t_i p_j."""
    places = range(len(true))
    squares = sum(i * i * (t + p) for i, t, p in zip(places, true, predicted, strict=True))
    first = sum(i * t for i, t in enumerate(true))
    second = sum(j * p for j, p in enumerate(predicted))
    return sum(true) * squares - 2 * first * second
