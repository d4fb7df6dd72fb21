"""Printed mistakes, reproduced: formulas as their sources print them, to compare with published numbers only.

Each says what is wrong with it. None is part of a snapshot.
"""

from __future__ import annotations

import math

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, harmonic_of_two, ratio
from stream_metrics.formulas.association import generalized_mcc_matrix, normalised_determinant, smoothed
from stream_metrics.formulas.averages import macro_precision, macro_recall
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.formulas.rates import RECALL, SPECIFICITY
from stream_metrics.formulas.weights import PerClass, per_class_numbers


def _numbers(c: Counts, weights: PerClass | None) -> Floats:
    return np.ones(c.k) if weights is None else per_class_numbers(c, weights, "weights")


def weighted_balanced_accuracy_eq8_literal(c: Counts, *, weights: PerClass | None = None) -> float:
    """sum w_k R_k / (K sum w_k): a perfect classifier gets 1/K.

    Grandini et al. 2020, eq. 8; 0/0 if the weights are all 0.
    """
    numbers, recalls = _numbers(c, weights), c._ratios(*RECALL)
    occurs = ~np.isnan(recalls)
    below = len(recalls) * math.fsum(numbers[occurs].tolist())
    return math.fsum((numbers[occurs] * recalls[occurs]).tolist()) / below if below else NAN


def weighted_balanced_accuracy_eq7_literal(c: Counts, *, weights: PerClass | None = None) -> float:
    """sum (R_k / w_k) / (K sum w_k): contradicts eq. 8 and changes with the scale of w. Grandini et al. 2020, eq. 7.

    0/0 without data; all weights must be positive.
    """
    numbers, recalls = _numbers(c, weights), c._ratios(*RECALL)
    if not numbers.all():
        raise ValueError("Expected `weights` to be positive, because the printed formula divides by them, but got a 0")
    occurs = ~np.isnan(recalls)
    below = len(recalls) * math.fsum(numbers[occurs].tolist())
    return math.fsum((recalls[occurs] / numbers[occurs]).tolist()) / below if below else NAN


def macro_f1_eq16_literal(c: Counts, *, zero_division: float = 0.0) -> float:
    """2 P^2 R^2 / (P + R) of the macro means: mixes two forms of F1. Grandini et al. 2020, eq. 16; 0/0 without data."""
    precision, recall = macro_precision(c, zero_division=zero_division), macro_recall(c, zero_division=zero_division)
    return 2 * (precision * recall) ** 2 / (precision + recall) if precision and recall else 0.0


def f1_negative_literal(c: Counts) -> Floats:
    """Harmonic mean of specificity and recall, where NPV is meant.

    Itai and Katz 2022, sec. 2.1; 0/0 if one of them is.
    """
    return harmonic_of_two(c._ratios(*SPECIFICITY), c._ratios(*RECALL))


def weighted_accuracy_literal(c: Counts, *, weights: PerClass | None = None) -> float:
    """sum w_k TP_k: not divided by the size of the class, so it leaves [0, 1].

    Doering 2018, weighted accuracy; never 0/0.
    """
    return math.fsum((_numbers(c, weights) * c.diagonal).tolist())


def micro_f1_code_literal(c: Counts) -> float:
    """2 c / (2 c + N - c): every false negative is taken as 0.

    Doering 2018, code of the micro averages; 0/0 without data.
    """
    return ratio(2 * c.hits, c.hits + c.total)


def generalized_mcc_code_literal(c: Counts) -> float:
    """det(sqrt(C_ij C_ji)) / sqrt(prod t prod p): pairs C_ij with C_ji.

    Itai and Katz 2022, listing; 0/0 as `generalized_mcc`.
    """
    matrix = smoothed(c).astype(np.float64)
    true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    if len(matrix) < 2 or not true.all() or not predicted.all():
        return NAN
    return float(normalised_determinant(np.sqrt(matrix * matrix.T), true, predicted))


def generalized_mcc_rounded_literal(c: Counts) -> float:
    """Determinant of the normalised matrix rounded to one decimal.

    Itai and Katz 2022, sec. 3.2.4; 0/0 where a cell is 0/0.
    """
    rounded = np.round(generalized_mcc_matrix(c), 1)
    return NAN if c.k == 0 or np.isnan(rounded).any() else float(np.linalg.det(rounded))
