"""Averages of per-class metrics: over classes (macro), over samples (micro), weighted by support, and general means.

A class whose metric is 0/0 counts as `zero_division`; if that is nan it is left out and the weights are renormalised.
With all classes in the average, micro precision, recall and F1 are the accuracy: every wrong sample is one false
positive and one false negative.
"""

from __future__ import annotations

import numpy as np

from stream_metrics.formulas.arithmetic import Average, combine, exponent, harmonic_of_two, if_counted, ratio
from stream_metrics.formulas.protocol import Counts, Floats, Form
from stream_metrics.formulas.rates import F1, JACCARD, PRECISION, RECALL, SPECIFICITY, fbeta_forms, fowlkes_mallows


def _macro(c: Counts, forms: tuple[Form, Form], zero_division: float) -> float:
    return if_counted(c.total, c._mean_ratio(*forms, zero_division))


def _weighted(c: Counts, forms: tuple[Form, Form], zero_division: float) -> float:
    return if_counted(c.total, c._mean_ratio(*forms, zero_division, by_support=True))


def macro_precision(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean precision over the classes.

    sum P_k / K
    """
    return _macro(c, PRECISION, zero_division)


def macro_recall(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean recall over the classes.

    sum R_k / K

    `BalancedAccuracy` leaves classes without samples out.
    """
    return _macro(c, RECALL, zero_division)


def macro_specificity(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean specificity over the classes.

    sum S_k / K
    """
    return _macro(c, SPECIFICITY, zero_division)


def macro_f1(c: Counts, *, variant: str = "mean_of_f1", zero_division: float = 0.0) -> float:
    """Mean F1 over the classes.

    sum F1_k / K; with variant="f1_of_means" 2 P R / (P + R) of macro precision P and macro recall R

    The literature uses both variants under one name. The F1 of the means is never smaller than the mean F1.
    """
    if variant == "mean_of_f1":
        return _macro(c, F1, zero_division)
    if variant != "f1_of_means":
        raise ValueError(f"Expected `variant` to be 'mean_of_f1' or 'f1_of_means', but got {variant!r}")
    return harmonic_of_two(_macro(c, PRECISION, zero_division), _macro(c, RECALL, zero_division))


def macro_fbeta(c: Counts, *, beta: float = 1.0, zero_division: float = 0.0) -> float:
    """Mean F-beta over the classes.

    sum F_k / K
    """
    return _macro(c, fbeta_forms(beta), zero_division)


def macro_jaccard(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean Jaccard index over the classes, also called mean IoU.

    sum J_k / K
    """
    return _macro(c, JACCARD, zero_division)


def micro_precision(c: Counts) -> float:
    """Precision of all classes together.

    sum TP_k / (sum TP_k + sum FP_k)

    Every wrong sample is one false positive and one false negative, so the value is the accuracy.
    """
    return ratio(c.hits, c.total)


def micro_recall(c: Counts) -> float:
    """Recall of all classes together.

    sum TP_k / (sum TP_k + sum FN_k)

    Every wrong sample is one false positive and one false negative, so the value is the accuracy.
    """
    return ratio(c.hits, c.total)


def micro_f1(c: Counts) -> float:
    """F1 of all classes together.

    2 sum TP_k / (2 sum TP_k + sum FP_k + sum FN_k)

    Every wrong sample is one false positive and one false negative, so the value is the accuracy.
    """
    return ratio(c.hits, c.total)


def micro_fbeta(c: Counts, *, beta: float = 1.0) -> float:
    """F-beta of all classes together.

    (1 + b^2) sum TP_k / ((1 + b^2) sum TP_k + b^2 sum FN_k + sum FP_k)

    Every wrong sample is one false positive and one false negative, so the value is the accuracy for every beta.
    """
    fbeta_forms(beta)
    return ratio(c.hits, c.total)


def micro_jaccard(c: Counts) -> float:
    """Jaccard index of all classes together.

    c / (2 N - c)
    """
    return ratio(c.hits, 2 * c.total - c.hits)


def weighted_precision(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean precision over the classes, weighted by their samples.

    sum t_k P_k / N
    """
    return _weighted(c, PRECISION, zero_division)


def weighted_recall(c: Counts) -> float:
    """Mean recall over the classes, weighted by their samples.

    sum t_k R_k / N

    The value is the accuracy.
    """
    return ratio(c.hits, c.total)


def weighted_f1(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean F1 over the classes, weighted by their samples.

    sum t_k F1_k / N
    """
    return _weighted(c, F1, zero_division)


def weighted_fbeta(c: Counts, *, beta: float = 1.0, zero_division: float = 0.0) -> float:
    """Mean F-beta over the classes, weighted by their samples.

    sum t_k F_k / N
    """
    return _weighted(c, fbeta_forms(beta), zero_division)


def weighted_jaccard(c: Counts, *, zero_division: float = 0.0) -> float:
    """Mean Jaccard index over the classes, weighted by their samples.

    sum t_k J_k / N
    """
    return _weighted(c, JACCARD, zero_division)


def general_f1(
    c: Counts, *, average: Average = "arithmetic", p: float | None = None, zero_division: float = 0.0
) -> float:
    """Arithmetic, geometric, harmonic or power mean of F1 over the classes.

    S(F1_1, ..., F1_K) with the mean S that `average` names

    The arithmetic mean is the macro F1.
    """
    if average == "arithmetic":
        return _macro(c, F1, zero_division)
    return _general(c, c._ratios(*F1), average, p, zero_division)


def general_fowlkes_mallows(
    c: Counts, *, average: Average = "arithmetic", p: float | None = None, zero_division: float = 0.0
) -> float:
    """Arithmetic, geometric, harmonic or power mean of Fowlkes-Mallows over the classes.

    S(FM_1, ..., FM_K) with FM_k = sqrt(P_k R_k) and the mean S that `average` names
    """
    return _general(c, fowlkes_mallows(c), average, p, zero_division)


def power_mean_all_precision_recall(c: Counts, *, p: float = -1.0, zero_division: float = 0.0) -> float:
    """Power mean of the precision and the recall of all classes.

    phi^p(P_1, ..., P_K, R_1, ..., R_K)

    The exponent p = -1 gives the harmonic general F1. The value is 0 if p <= 0 and one of the rates is 0.
    """
    rates = np.concatenate([c._ratios(*PRECISION), c._ratios(*RECALL)], axis=-1)
    return _general(c, rates, "power", p, zero_division)


def _general(c: Counts, values: Floats, average: Average, p: float | None, zero_division: float) -> float:
    return if_counted(c.total, combine(values, exponent(average, p), zero_division))
