"""The table of metrics that need labels only: agreement, association, pairs of classes, tests, printed mistakes.

Square tables that follow from the totals, and printed mistakes, are not in a default snapshot.
"""
# fmt: off

from __future__ import annotations

from functools import partial

from stream_metrics.catalog.spec import (
    AMOUNT,
    ANY,
    CARET,
    CONSTANT,
    FEW,
    GORODKIN,
    GRANDINI,
    ITAI_KATZ,
    NEVER,
    NO_DATA,
    SIGNED,
    SINGLE,
    UNIT,
    family,
    matrix,
    per_class,
    whole,
)
from stream_metrics.formulas import agreement, association, literal, pairwise, significance

__all__ = ["AGREEMENT", "ASSOCIATION", "LITERAL", "ONE_AGAINST_ONE", "SIGNIFICANCE"]

AGREEMENT = family(
    "Agreement beyond chance",
    whole("cohen_kappa", "CohenKappa", "Cohen's kappa", agreement.cohen_kappa, SIGNED, SINGLE, "Cohen 1960"),
    whole("weighted_kappa", "WeightedKappa", "Weighted kappa", agreement.weighted_kappa, SIGNED, SINGLE, "Cohen 1968",
        default=False),
    whole("weighted_kappa_linear", None, "Weighted kappa, linear", partial(agreement.weighted_kappa, weights="linear"),
        SIGNED, SINGLE, "Cohen 1968", default=False,
        summary="Weighted kappa, where a miss costs its distance in the order of the labels.",
        definition="1 - sum w_ij C_ij / sum w_ij E_ij with E_ij = t_i p_j / N and w_ij = abs(i - j)"),
    whole("weighted_kappa_quadratic", None, "Weighted kappa, quadratic",
        partial(agreement.weighted_kappa, weights="quadratic"), SIGNED, SINGLE, "Cohen 1968", default=False,
        summary="Weighted kappa, where a miss costs the square of its distance in the order of the labels.",
        definition="1 - sum w_ij C_ij / sum w_ij E_ij with E_ij = t_i p_j / N and w_ij = (i - j)^2"),
    whole("expected_accuracy", None, "Expected accuracy", agreement.expected_accuracy, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 29-31", None),
    per_class("expected_accuracy_term", None, "Term of the expected accuracy", agreement.expected_accuracy_term, UNIT,
        NO_DATA, f"{GRANDINI}, eq. 30, 31, 34", None),
    matrix("expected_matrix", None, "Expected matrix", agreement.expected_matrix, AMOUNT, NO_DATA,
        f"{GRANDINI}, eq. 27", None, default=False, quadratic=True),
)

ASSOCIATION = family(
    "Association",
    whole("matthews_corrcoef", "MCC", "Matthews correlation", association.matthews_corrcoef, SIGNED, CONSTANT,
        f"{GORODKIN}; {GRANDINI}, eq. 24, 25"),
    whole("generalized_mcc", "GeneralizedMCC", "Determinant MCC", association.generalized_mcc, SIGNED,
        f"{FEW}, or a class never true or never predicted", f"{ITAI_KATZ}, eq. 7, 8", quadratic=True),
    matrix("generalized_mcc_matrix", None, "Normalised matrix", association.generalized_mcc_matrix, UNIT,
        "row or column of the cell empty", f"{ITAI_KATZ}, eq. 8", None, default=False, quadratic=True),
    whole("chi2", None, "Chi-square", association.chi2, AMOUNT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.3"),
    whole("cramers_v", "CramersV", "Cramer's V", association.cramers_v, UNIT, FEW,
        f"Cramer 1946; {ITAI_KATZ}, sec. 3.2.3"),
    whole("pair_fowlkes_mallows", "PairFowlkesMallows", "Fowlkes-Mallows over pairs of samples",
        association.pair_fowlkes_mallows, UNIT, "no two samples share a class, or a prediction",
        "Fowlkes and Mallows 1983", needs="whole_weights"),
)

ONE_AGAINST_ONE = family(
    "One against one",
    whole("matthews_corrcoef_ovo", "OvOMCC", "Matthews correlation, mean over pairs", pairwise.matthews_corrcoef_ovo,
        SIGNED, FEW, f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True),
    whole("accuracy_ovo", "OvOAccuracy", "Accuracy, mean over pairs", pairwise.accuracy_ovo, UNIT, FEW,
        f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True),
    whole("cohen_kappa_ovo", "OvOCohenKappa", "Cohen's kappa, mean over pairs", pairwise.cohen_kappa_ovo, SIGNED, FEW,
        f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True),
    whole("f1_ovo", "OvOF1", "F1, mean over pairs", pairwise.f1_ovo, UNIT, FEW, f"{ITAI_KATZ}, sec. 3.2.1",
        quadratic=True),
    whole("f1_ovo_first_positive", None, "F1 of the first class, mean over pairs", pairwise.f1_ovo_first_positive, UNIT,
        FEW, f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True),
    whole("ovo", "OvO", "Mean over pairs", pairwise.ovo, SIGNED, FEW, f"{ITAI_KATZ}, sec. 3.2.1", default=False,
        quadratic=True),
)

SIGNIFICANCE = family(
    "Tests",
    whole("nir_p_value", None, "Rough p-value: accuracy above the no-information rate", significance.nir_p_value, UNIT,
        NEVER, CARET, None, needs="samples"),
    whole("majority_p_value", None, "p-value: better than the most frequent class", significance.majority_p_value, UNIT,
        NEVER, "McNemar 1947", None, needs="samples"),
    whole("mcnemar", None, "McNemar or Bowker statistic", significance.mcnemar, AMOUNT, NEVER,
        "McNemar 1947; Bowker 1948", None, needs="samples",
        summary=(
            "Statistic of the test that truth and prediction have the same totals: McNemar's for two classes, "
            "Bowker's for more."),
        definition=(
            "(abs(b - c) - 1)^2 / (b + c) of the two kinds of error b and c; sum (C_ij - C_ji)^2 / (C_ij + C_ji) "
            "for more than two classes"),
        notes="Without `correction` the 1 is not subtracted. 0 without errors."),
    whole("mcnemar_p_value", None, "p-value: truth and prediction differ in their totals", significance.mcnemar_p_value,
        UNIT, NEVER, "McNemar 1947; Bowker 1948", None, needs="samples"),
)

LITERAL = family(
    "Printed mistakes",
    whole("weighted_balanced_accuracy_eq8_literal", None, "Eq. 8 as printed",
        literal.weighted_balanced_accuracy_eq8_literal, UNIT, "all weights are 0", f"{GRANDINI}, eq. 8", default=False),
    whole("weighted_balanced_accuracy_eq7_literal", None, "Eq. 7 as printed",
        literal.weighted_balanced_accuracy_eq7_literal, AMOUNT, NO_DATA, f"{GRANDINI}, eq. 7", default=False),
    whole("macro_f1_eq16_literal", None, "Eq. 16 as printed", literal.macro_f1_eq16_literal, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 16", default=False),
    per_class("f1_negative_literal", None, "F1-0 as printed", literal.f1_negative_literal, UNIT,
        "recall or specificity is 0/0", f"{ITAI_KATZ}, sec. 2.1", default=False),
    whole("weighted_accuracy_literal", None, "Weighted accuracy as printed", literal.weighted_accuracy_literal, AMOUNT,
        NEVER, "Doering 2018", default=False),
    whole("micro_f1_code_literal", None, "Micro F1 as in the code", literal.micro_f1_code_literal, UNIT, NO_DATA,
        "Doering 2018", default=False),
    whole("generalized_mcc_code_literal", None, "Determinant as in the listing", literal.generalized_mcc_code_literal,
        SIGNED, "as generalized_mcc", f"{ITAI_KATZ}, listing", default=False, quadratic=True),
    whole("generalized_mcc_rounded_literal", None, "Determinant of the rounded matrix",
        literal.generalized_mcc_rounded_literal, ANY, "a cell is 0/0", f"{ITAI_KATZ}, sec. 3.2.4", default=False,
        quadratic=True),
)
