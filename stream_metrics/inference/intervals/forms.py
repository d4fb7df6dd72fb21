"""The formulas of whole values for many matrices at once; tests hold each equal to the catalogue's on every draw.

A form takes `Tables` and what stands for a component that is 0/0 (left out if that is nan), and returns one value for
each matrix, nan where the catalogue's formula is 0/0. Forms must allow a complex step: see `tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stream_metrics.formulas.protocol import Form
from stream_metrics.formulas.rates import F1, JACCARD, PRECISION, RECALL, SPECIFICITY
from stream_metrics.inference.intervals.tables import Tables

__all__ = ["CELLS", "MARGINS", "PAIR_LIMIT", "averaged", "divided", "power_mean_of", "root_of_product"]

Form_ = Callable[[Tables, float], Any]
PAIR_LIMIT = 128  # classes; the pairs of more are ten thousand numbers for each of thousands of matrices


def divided(top: Any, below: Any) -> Any:
    """Return top / below, nan where below is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below == 0, np.nan, top / below)


def averaged(values: Any, zero_division: float, weights: Any = 1.0) -> Any:
    """Return the mean of values over the last axis, 0/0 replaced or left out."""
    lost = np.isnan(values)
    if not lost.any():
        weights = np.broadcast_to(weights, values.shape)
        return divided((weights * values).sum(-1), weights.sum(-1))
    kept = np.where(lost & np.isnan(zero_division), 0.0, np.broadcast_to(weights, values.shape))
    filled = np.where(lost, 0.0 if np.isnan(zero_division) else zero_division, values)
    return divided((kept * filled).sum(-1), kept.sum(-1))


def power_mean_of(values: Any, p: float, zero_division: float) -> Any:
    """Return the power mean over the last axis: p = 0 geometric; 0 if p <= 0 and a value is 0."""
    if p == 1:
        return averaged(values, zero_division)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if p == 0:
            mean = np.exp(averaged(_log(values), _log_of(zero_division)))
        else:
            mean = averaged(values**p, np.nan if np.isnan(zero_division) else _power(zero_division, p)) ** (1 / p)
    if p > 0:
        return mean
    hopeless = (values == 0).any(-1) | (np.isnan(values).any(-1) & (zero_division == 0))
    return np.where(hopeless, 0.0, mean)


def _log(values: Any) -> Any:
    return np.log(np.where(values == 0, 1.0, values))


def _log_of(value: float) -> float:
    return 0.0 if value in (0.0, 1.0) else np.nan


def _power(value: float, p: float) -> float:
    return value**p if value or p > 0 else 0.0


def root_of_product(a: Any, b: Any) -> Any:
    """Return sqrt(a b), 0 where only one of them is nan."""
    with np.errstate(invalid="ignore"):
        mean = np.sqrt(a) * np.sqrt(b)
    return np.where(np.isnan(a) != np.isnan(b), 0.0, mean)


def accuracy(c: Tables, _: float) -> Any:
    """Share of right predictions."""
    return divided(c.hits, c.n)


def _of_accuracy(change: Callable[[Any, int], Any]) -> Form_:
    return lambda c, _: change(accuracy(c, 0.0), c.true.shape[-1])


def _macro(form: tuple[Form, Form]) -> Form_:
    return lambda c, zero: averaged(c.ratios(*form), zero)


def _weighted(form: tuple[Form, Form]) -> Form_:
    return lambda c, zero: averaged(c.ratios(*form), zero, c.true)


def balanced_accuracy(c: Tables, _: float) -> Any:
    """Mean recall of the classes with samples."""
    return averaged(c.ratios(*RECALL), np.nan)


def _adjusted(c: Tables, _: float) -> Any:
    classes = (c.true != 0).sum(-1)
    return divided(classes * balanced_accuracy(c, 0.0) - 1, np.where(classes > 1, classes - 1, 0))


def _f1_of_means(c: Tables, zero: float) -> Any:
    precision, recall = _macro(PRECISION)(c, zero), _macro(RECALL)(c, zero)
    below = precision + recall
    return np.where(below == 0, 0.0, 2 * precision * recall / np.where(below == 0, 1.0, below))


def fowlkes_mallows(c: Tables, _: float = 0.0) -> Any:
    """Geometric mean of precision and recall of each class."""
    return root_of_product(c.ratios(*PRECISION), c.ratios(*RECALL))


def _mean_of(values: Callable[[Tables], Any], p: float) -> Form_:
    return lambda c, zero: power_mean_of(values(c), p, zero)


def _f1s(c: Tables) -> Any:
    return c.ratios(*F1)


def _both(c: Tables) -> Any:
    return np.concatenate([c.ratios(*PRECISION), c.ratios(*RECALL)], axis=-1)


def _chance(c: Tables) -> Any:
    return (c.true * c.predicted).sum(-1)


def cohen_kappa(c: Tables, _: float) -> Any:
    """Agreement beyond chance."""
    chance = _chance(c)
    return divided(c.hits * c.n - chance, c.n * c.n - chance)


def matthews(c: Tables, _: float) -> Any:
    """Correlation of truth and prediction."""
    square = c.n * c.n
    true, predicted = square - (c.true * c.true).sum(-1), square - (c.predicted * c.predicted).sum(-1)
    with np.errstate(invalid="ignore"):
        return divided(c.hits * c.n - _chance(c), np.sqrt(true) * np.sqrt(predicted))


def _weighted_kappa(c: Tables, _: float, power: int) -> Any:
    places = np.arange(c.where.k)
    costs = np.abs(places[:, None] - places) ** power
    observed = (c.cells * costs[c.where.rows, c.where.columns]).sum(-1) * c.n
    expected = ((c.true @ costs) * c.predicted).sum(-1)
    return divided(expected - observed, expected)


def _determinant(c: Tables, _: float) -> Any:
    """Determinant of the matrix over the root of its totals, of the classes that occur in any of the matrices."""
    if not c.true.shape[-1]:
        return np.full(c.n.shape, np.nan)
    occurs = ((c.true != 0) | (c.predicted != 0)).reshape(-1, c.true.shape[-1])
    value = np.full(occurs.shape[0], np.nan, c.true.dtype)
    matrix, totals = c.matrix.reshape(len(value), *c.matrix.shape[-2:]), [c.true, c.predicted]
    true, predicted = (part.reshape(occurs.shape) for part in totals)
    for pattern in np.unique(occurs, axis=0):
        mine = np.flatnonzero((occurs == pattern).all(-1))
        kept = np.flatnonzero(pattern)
        product = true[mine][:, kept, None] * predicted[mine][:, None, kept]
        good = (product != 0).all((-2, -1)) & (len(kept) > 1)
        mine, product = mine[good], product[good]
        value[mine] = np.linalg.det(matrix[mine][:, kept][:, :, kept] / np.sqrt(product))
    return value.reshape(c.n.shape)


def _chi2_share(c: Tables) -> Any:
    """Return chi-square over N: sum C_ij^2 / (t_i p_j) - 1."""
    rows, columns, _, _, _ = c.where
    products = c.true[..., rows] * c.predicted[..., columns]
    return (c.cells * c.cells / np.where(products == 0, 1.0, products)).sum(-1) - 1


def _cramers_v(c: Tables, _: float) -> Any:
    classes = ((c.true != 0) | (c.predicted != 0)).sum(-1)
    with np.errstate(invalid="ignore"):
        return np.sqrt(divided(_chi2_share(c), np.where(classes > 1, classes - 1, 0)))


def _pair_index(c: Tables, _: float) -> Any:
    together = (c.cells * c.cells).sum(-1) - c.n
    true, predicted = (c.true * c.true).sum(-1) - c.n, (c.predicted * c.predicted).sum(-1) - c.n
    with np.errstate(invalid="ignore"):
        return divided(together, np.sqrt(true) * np.sqrt(predicted))


MARGINS: dict[str, Form_] = {  # of C_kk, t_k, p_k and N alone
    "accuracy": accuracy,
    "average_accuracy": _of_accuracy(lambda a, k: (k - 2 + 2 * a) / k),
    "balanced_accuracy": balanced_accuracy,
    "balanced_accuracy_adjusted": _adjusted,
    "cohen_kappa": cohen_kappa,
    "expected_accuracy": lambda c, _: divided(_chance(c), c.n * c.n),
    "general_f1": _macro(F1),
    "general_f1_geometric": _mean_of(_f1s, 0.0),
    "general_f1_harmonic": _mean_of(_f1s, -1.0),
    "general_f1_power_2": _mean_of(_f1s, 2.0),
    "general_fowlkes_mallows": _mean_of(fowlkes_mallows, 1.0),
    "general_fowlkes_mallows_geometric": _mean_of(fowlkes_mallows, 0.0),
    "general_fowlkes_mallows_harmonic": _mean_of(fowlkes_mallows, -1.0),
    "general_fowlkes_mallows_power_2": _mean_of(fowlkes_mallows, 2.0),
    "geometric_mean": lambda c, _: power_mean_of(c.ratios(*RECALL), 0.0, np.nan),
    "macro_f1": _macro(F1),
    "macro_f1_of_means": _f1_of_means,
    "macro_fbeta": _macro(F1),
    "macro_jaccard": _macro(JACCARD),
    "macro_precision": _macro(PRECISION),
    "macro_recall": _macro(RECALL),
    "macro_specificity": _macro(SPECIFICITY),
    "matthews_corrcoef": matthews,
    "micro_jaccard": _of_accuracy(lambda a, _: a / (2 - a)),
    "power_mean_all_precision_recall": _mean_of(_both, -1.0),
    "weighted_balanced_accuracy": balanced_accuracy,
    "weighted_f1": _weighted(F1),
    "weighted_fbeta": _weighted(F1),
    "weighted_jaccard": _weighted(JACCARD),
    "weighted_precision": _weighted(PRECISION),
    "zero_one_loss": _of_accuracy(lambda a, _: 1 - a),
    **dict.fromkeys(("micro_f1", "micro_fbeta", "micro_precision", "micro_recall", "weighted_recall"), accuracy),
}


def _pairs(c: Tables) -> tuple[Any, Any, Any, Any]:
    """Return C_ii, C_ij, C_ji and C_jj of all pairs i < j."""
    k = c.where.k
    if k > PAIR_LIMIT:
        raise ValueError(f"Expected at most {PAIR_LIMIT} classes for an interval of a mean over pairs, but got {k}")
    places = np.arange(k)
    first, second = np.nonzero(places[:, None] < places)
    matrix = c.matrix
    return c.diagonal[..., first], matrix[..., first, second], matrix[..., second, first], c.diagonal[..., second]


def _pair_accuracy(tp: Any, fn: Any, fp: Any, tn: Any) -> Any:
    return divided(tp + tn, tp + fn + fp + tn)


def _pair_kappa(tp: Any, fn: Any, fp: Any, tn: Any) -> Any:
    return divided(2 * (tp * tn - fp * fn), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def _pair_matthews(tp: Any, fn: Any, fp: Any, tn: Any) -> Any:
    return divided(tp * tn - fp * fn, np.sqrt((tp + fn) * (tn + fp) * (tp + fp) * (tn + fn)))


def _pair_f1(tp: Any, fn: Any, fp: Any, _: Any) -> Any:
    return divided(2 * tp, 2 * tp + fn + fp)


def _over_pairs(metric: Callable[..., Any], both: bool, c: Tables, zero: float) -> Any:
    tp, fn, fp, tn = _pairs(c)
    values = metric(tp, fn, fp, tn)
    if both:
        other = metric(tn, fp, fn, tp)
        if np.isnan(zero):
            values = np.where(np.isnan(values), other, np.where(np.isnan(other), values, (values + other) / 2))
        else:
            values, other = (np.where(np.isnan(part), zero, part) for part in (values, other))
            values = (values + other) / 2
    return averaged(values, zero)


CELLS: dict[str, Form_] = {  # of all cells
    "accuracy_ovo": partial(_over_pairs, _pair_accuracy, False),
    "chi2": lambda c, _: _chi2_share(c) * c.n,
    "cohen_kappa_ovo": partial(_over_pairs, _pair_kappa, False),
    "cramers_v": _cramers_v,
    "f1_ovo": partial(_over_pairs, _pair_f1, True),
    "f1_ovo_first_positive": partial(_over_pairs, _pair_f1, False),
    "generalized_mcc": _determinant,
    "matthews_corrcoef_ovo": partial(_over_pairs, _pair_matthews, False),
    "ovo": partial(_over_pairs, _pair_f1, True),
    "pair_fowlkes_mallows": _pair_index,
    "weighted_kappa": partial(_weighted_kappa, power=1),
    "weighted_kappa_linear": partial(_weighted_kappa, power=1),
    "weighted_kappa_quadratic": partial(_weighted_kappa, power=2),
}
