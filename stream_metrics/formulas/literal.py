"""Printed mistakes, reproduced: formulas as their sources print them, to compare with published numbers only.

Each says what is wrong with it. None is part of a snapshot.
"""

from __future__ import annotations

import math

import numpy as np

from stream_metrics.formulas.accuracy import PerClass, per_class_numbers
from stream_metrics.formulas.agreement import generalized_mcc_matrix, normalised_determinant, smoothed
from stream_metrics.formulas.arithmetic import NAN, harmonic_of_two, ratio
from stream_metrics.formulas.averages import macro_precision, macro_recall
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.formulas.rates import RECALL, SPECIFICITY


def _numbers(c: Counts, weights: PerClass | None) -> Floats:
    return np.ones(c.k) if weights is None else per_class_numbers(c, weights, "weights")


def weighted_balanced_accuracy_eq8_literal(c: Counts, *, weights: PerClass | None = None) -> float:
    """Weighted balanced accuracy as printed: a perfect classifier gets 1/K.

    sum w_k R_k / (K sum w_k)
    """
    numbers, recalls = _numbers(c, weights), c._ratios(*RECALL)
    occurs = ~np.isnan(recalls)
    below = len(recalls) * math.fsum(numbers[occurs].tolist())
    return math.fsum((numbers[occurs] * recalls[occurs]).tolist()) / below if below else NAN


def weighted_balanced_accuracy_eq7_literal(c: Counts, *, weights: PerClass | None = None) -> float:
    """Weighted balanced accuracy as printed: it changes with the scale of the weights.

    sum (R_k / w_k) / (K sum w_k)
    """
    numbers, recalls = _numbers(c, weights), c._ratios(*RECALL)
    if not numbers.all():
        raise ValueError("Expected `weights` to be positive, because the printed formula divides by them, but got a 0")
    occurs = ~np.isnan(recalls)
    below = len(recalls) * math.fsum(numbers[occurs].tolist())
    return math.fsum((recalls[occurs] / numbers[occurs]).tolist()) / below if below else NAN


def macro_f1_eq16_literal(c: Counts, *, zero_division: float = 0.0) -> float:
    """Macro F1 as printed: it mixes two forms of F1.

    2 P^2 R^2 / (P + R) of macro precision P and macro recall R
    """
    precision, recall = macro_precision(c, zero_division=zero_division), macro_recall(c, zero_division=zero_division)
    return 2 * (precision * recall) ** 2 / (precision + recall) if precision and recall else 0.0


def f1_negative_literal(c: Counts) -> Floats:
    """F1 of the rest as printed: with recall where NPV is meant.

    2 S_k R_k / (S_k + R_k)
    """
    return harmonic_of_two(c._ratios(*SPECIFICITY), c._ratios(*RECALL))


def weighted_accuracy_literal(c: Counts, *, weights: PerClass | None = None) -> float:
    """Weighted accuracy as printed: not divided by the size of the class.

    sum w_k C_kk
    """
    return math.fsum((_numbers(c, weights) * c.diagonal).tolist())


def micro_f1_code_literal(c: Counts) -> float:
    """Micro F1 as in the published code: every false negative counts 0.

    2 c / (2 c + N - c)
    """
    return ratio(2 * c.hits, c.hits + c.total)


def generalized_mcc_code_literal(c: Counts) -> float:
    """Determinant MCC as in the published listing: it pairs C_ij with C_ji.

    det(sqrt(C_ij C_ji)) / sqrt(prod t_k prod p_k)
    """
    matrix = smoothed(c).astype(np.float64)
    true, predicted = matrix.sum(axis=1), matrix.sum(axis=0)
    if len(matrix) < 2 or not true.all() or not predicted.all():
        return NAN
    return float(normalised_determinant(np.sqrt(matrix * matrix.T), true, predicted))


def generalized_mcc_rounded_literal(c: Counts) -> float:
    """Determinant of the normalised matrix, rounded to one decimal.

    det(round(C_ij / sqrt(t_i p_j), 1))
    """
    rounded = np.round(generalized_mcc_matrix(c), 1)
    return NAN if c.k == 0 or np.isnan(rounded).any() else float(np.linalg.det(rounded))
