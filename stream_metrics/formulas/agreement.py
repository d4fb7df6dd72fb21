"""Agreement beyond chance: Cohen's kappa, its expected counts, and the weighted kappas for ordered classes."""

from __future__ import annotations

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, clipped, divide, dot, exact, per_class, ratio, sums_by
from stream_metrics.formulas.memoized import memoized
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray, Numbers
from stream_metrics.formulas.two_classes import TwoByTwo
from stream_metrics.formulas.units import in_units


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
