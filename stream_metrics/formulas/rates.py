"""Per class: a class against the rest.

Most are ratios of two linear forms of C_kk, t_k, p_k and N. `FORMS` holds these forms; averages over the classes and
over pairs of classes are taken of the same forms, so that a rate is written down once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_metrics.formulas.agreement import matthews_corrcoef
from stream_metrics.formulas.arithmetic import clipped, divide, geometric_of_two, has_nan, power_means_of_rates
from stream_metrics.formulas.counts import DETECTION_PREVALENCE, PREVALENCE
from stream_metrics.formulas.protocol import Counts, Floats, Form, HasRatios
from stream_metrics.formulas.two_classes import TwoByTwo, one_vs_all, wide_table

PRECISION: tuple[Form, Form] = (1, 0, 0, 0), (0, 0, 1, 0)
RECALL: tuple[Form, Form] = (1, 0, 0, 0), (0, 1, 0, 0)
SPECIFICITY: tuple[Form, Form] = (1, -1, -1, 1), (0, -1, 0, 1)
NPV: tuple[Form, Form] = (1, -1, -1, 1), (0, 0, -1, 1)
F1: tuple[Form, Form] = (2, 0, 0, 0), (0, 1, 1, 0)
JACCARD: tuple[Form, Form] = (1, 0, 0, 0), (-1, 1, 1, 0)
LARGEST_EXACT = 1e4  # beta^2 times a count must stay below 2^63

FORMS: dict[str, tuple[Form, Form]] = {
    "precision": PRECISION,
    "recall": RECALL,
    "specificity": SPECIFICITY,
    "npv": NPV,
    "false_positive_rate": ((-1, 0, 1, 0), (0, -1, 0, 1)),
    "false_negative_rate": ((-1, 1, 0, 0), (0, 1, 0, 0)),
    "false_discovery_rate": ((-1, 0, 1, 0), (0, 0, 1, 0)),
    "false_omission_rate": ((-1, 1, 0, 0), (0, 0, -1, 1)),
    "f1": F1,
    "f1_negative": ((2, -2, -2, 2), (0, -1, -1, 2)),
    "jaccard": JACCARD,
    "ova_accuracy": ((2, -1, -1, 1), (0, 0, 0, 1)),
}


def precision(c: HasRatios) -> Floats:
    """Share of the predictions of a class that are right (positive predictive value).

    C_kk / p_k
    """
    return c._ratios(*PRECISION)


def recall(c: HasRatios) -> Floats:
    """Share of the samples of a class that are predicted as the class (sensitivity).

    C_kk / t_k
    """
    return c._ratios(*RECALL)


def specificity(c: HasRatios) -> Floats:
    """Share of the samples of other classes that are not predicted as the class.

    TN_k / (N - t_k)
    """
    return c._ratios(*SPECIFICITY)


def npv(c: HasRatios) -> Floats:
    """Share of the predictions of other classes that are not of the class (negative predictive value).

    TN_k / (N - p_k)
    """
    return c._ratios(*NPV)


def false_positive_rate(c: HasRatios) -> Floats:
    """Share of the samples of other classes that are predicted as the class.

    FP_k / (N - t_k)
    """
    return c._ratios(*FORMS["false_positive_rate"])


def false_negative_rate(c: HasRatios) -> Floats:
    """Share of the samples of a class that are missed.

    FN_k / t_k
    """
    return c._ratios(*FORMS["false_negative_rate"])


def false_discovery_rate(c: HasRatios) -> Floats:
    """Share of the predictions of a class that are wrong.

    FP_k / p_k
    """
    return c._ratios(*FORMS["false_discovery_rate"])


def false_omission_rate(c: HasRatios) -> Floats:
    """Share of the predictions of other classes that are of the class.

    FN_k / (N - p_k)
    """
    return c._ratios(*FORMS["false_omission_rate"])


def f1(c: HasRatios) -> Floats:
    """Harmonic mean of precision and recall of a class.

    2 C_kk / (t_k + p_k)
    """
    return c._ratios(*F1)


def f1_negative(c: HasRatios) -> Floats:
    """Harmonic mean of negative predictive value and specificity: F1 of the rest as one class.

    2 TN_k / (2 TN_k + FP_k + FN_k)
    """
    return c._ratios(*FORMS["f1_negative"])


def fbeta_forms(beta: float) -> tuple[Form, Form]:
    """Return the forms of F-beta, as whole numbers where that is safe: the ratio is then correctly rounded."""
    if not beta >= 0:
        raise ValueError(f"Expected `beta` to be a number >= 0, but got {beta!r}")
    square = float(beta) * float(beta)  # as a power, it would raise where it is above all floats
    if square <= LARGEST_EXACT:
        return (1 + square, 0, 0, 0), (0, square, 1, 0)
    share = 1.0 if math.isinf(square) else square / (1 + square)
    return (1, 0, 0, 0), (0, share, 1 - share, 0)


def fbeta(c: HasRatios, *, beta: float = 1.0) -> Floats:
    """Weighted harmonic mean of precision and recall of a class.

    (1 + b^2) C_kk / (b^2 t_k + p_k)

    Recall counts b times as much as precision.
    """
    return clipped(c._ratios(*fbeta_forms(beta)))  # of a beta^2 that is not whole, two sums are rounded


def jaccard(c: HasRatios) -> Floats:
    """Intersection over union of the samples of a class and its predictions.

    C_kk / (t_k + p_k - C_kk)
    """
    return c._ratios(*JACCARD)


def fowlkes_mallows(c: HasRatios) -> Floats:
    """Geometric mean of precision and recall of a class.

    C_kk / sqrt(t_k p_k)

    The value is 0 if the class is either true or predicted, but not both. The clustering index of the same name is
    `PairFowlkesMallows`.
    """
    return geometric_of_two(c._ratios(*PRECISION), c._ratios(*RECALL))


def p4(c: Counts | TwoByTwo) -> Floats:
    """Harmonic mean of precision, recall, specificity and negative predictive value of a class.

    4 TP TN / (4 TP TN + (TP + TN) (FP + FN))
    """
    tp, fn, fp, tn = one_vs_all(c)
    right, product = tp + tn, 4.0 * tp * tn
    values: Floats = divide(product, product + (right + (right == 0)) * 1.0 * (fp + fn))
    return values


def power_mean_precision_recall(c: HasRatios, *, p: float = -1.0, zero_division: float = 0.0) -> Floats:
    """Power mean of precision and recall of a class.

    phi^p(P_k, R_k)

    The exponent p = -1 gives F1, and p = 0 Fowlkes-Mallows.
    """
    return _power_means((PRECISION, RECALL), c, p, zero_division)


def power_mean_four_rates(c: HasRatios, *, p: float = -1.0, zero_division: float = 0.0) -> Floats:
    """Power mean of recall, precision, specificity and negative predictive value of a class.

    phi^p(R_k, P_k, S_k, V_k)

    The exponent p = -1 gives P4; it is meant for p < 1.
    """
    return _power_means((RECALL, PRECISION, SPECIFICITY, NPV), c, p, zero_division)


def _power_means(forms: tuple[tuple[Form, Form], ...], c: HasRatios, p: float, zero_division: float) -> Floats:
    if math.isnan(p):
        raise ValueError(f"Expected `p` to be a number or an infinity, but got {p!r}")
    return power_means_of_rates(np.stack([c._ratios(*pair) for pair in forms], axis=-1), p, zero_division)


def ova_accuracy(c: HasRatios) -> Floats:
    """Accuracy of a class against the rest.

    (TP_k + TN_k) / N
    """
    return c._ratios(*FORMS["ova_accuracy"])


def ova_balanced_accuracy(c: HasRatios) -> Floats:
    """Balanced accuracy of a class against the rest.

    (R_k + S_k) / 2

    If all samples or none are of the class, the value is the rate that is defined.
    """
    sensitivity, rejected = c._ratios(*RECALL), c._ratios(*SPECIFICITY)
    halves = (sensitivity + rejected) / 2
    if has_nan(halves):
        return np.where(np.isnan(sensitivity), rejected, np.where(np.isnan(rejected), sensitivity, halves))
    return halves


def ova_matthews_corrcoef(c: Counts | TwoByTwo) -> Floats:
    """Matthews correlation of a class against the rest.

    (TP TN - FP FN) / sqrt(t_k p_k (N - t_k) (N - p_k))
    """
    return np.asarray(matthews_corrcoef(wide_table(one_vs_all(c), c.total)))


POOLED: dict[str, tuple[Form, Form]] = {  # of all samples together, where t_k, p_k and N are all N; for compiled code
    **dict.fromkeys(
        ("accuracy", "micro_precision", "micro_recall", "micro_f1", "micro_fbeta", "weighted_recall"), RECALL
    ),
    "micro_jaccard": JACCARD,
    "zero_one_loss": ((-1, 0, 0, 1), (0, 0, 0, 1)),
}
ONE_CLASS: dict[str, tuple[Form, Form]] = {
    **FORMS,
    "prevalence": PREVALENCE,
    "detection_prevalence": DETECTION_PREVALENCE,
}


def linear_forms(key: str, options: Mapping[str, Any]) -> tuple[Form, Form] | None:
    """Return the forms of the row with a key: of `pos_label` if it is per class, of all samples if not; None if none.

    A value of forms that are not whole may exceed 1 by a rounding error.
    """
    return fbeta_forms(**options) if key == "fbeta" else POOLED.get(key) or ONE_CLASS.get(key)
