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
    whole("cohen_kappa", "CohenKappa", "Cohen's kappa", agreement.cohen_kappa, SIGNED, SINGLE, "Cohen 1960",
        summary="Agreement beyond the agreement of independent raters with the same totals.",
        definition="(c N - sum t_k p_k) / (N^2 - sum t_k p_k)",
        notes=(
            "The value is 1 only if every sample is predicted right. It is -1 only for two equally frequent "
            "classes that are swapped. scikit-learn returns nan where this is 0/0.")),
    whole("weighted_kappa", "WeightedKappa", "Weighted kappa", agreement.weighted_kappa, SIGNED, SINGLE, "Cohen 1968",
        default=False,
        summary="Agreement beyond chance of ordered classes, where a miss costs its distance.",
        definition="1 - sum w_ij C_ij / sum w_ij E_ij with E_ij = t_i p_j / N and w_ij = abs(i - j) or (i - j)^2",
        notes="The order of the labels must be the order of the classes; `labels` sets it."),
    whole("weighted_kappa_linear", None, "Weighted kappa, linear", partial(agreement.weighted_kappa, weights="linear"),
        SIGNED, SINGLE, "Cohen 1968", default=False,
        summary="Weighted kappa, where a miss costs its distance in the order of the labels.",
        definition="1 - sum w_ij C_ij / sum w_ij E_ij with E_ij = t_i p_j / N and w_ij = abs(i - j)"),
    whole("weighted_kappa_quadratic", None, "Weighted kappa, quadratic",
        partial(agreement.weighted_kappa, weights="quadratic"), SIGNED, SINGLE, "Cohen 1968", default=False,
        summary="Weighted kappa, where a miss costs the square of its distance in the order of the labels.",
        definition="1 - sum w_ij C_ij / sum w_ij E_ij with E_ij = t_i p_j / N and w_ij = (i - j)^2"),
    whole("expected_accuracy", None, "Expected accuracy", agreement.expected_accuracy, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 29-31", None,
        summary="Accuracy to expect if truth and prediction were independent.",
        definition="sum t_k p_k / N^2"),
    per_class("expected_accuracy_term", None, "Term of the expected accuracy",
        agreement.expected_accuracy_term, UNIT, NO_DATA, f"{GRANDINI}, eq. 30, 31, 34", None,
        summary="Share of the expected accuracy that a class adds.",
        definition="t_k p_k / N^2"),
    matrix("expected_matrix", None, "Expected matrix", agreement.expected_matrix, AMOUNT, NO_DATA,
        f"{GRANDINI}, eq. 27", None, default=False, quadratic=True,
        summary="Counts to expect if truth and prediction were independent.",
        definition="t_i p_j / N"),
)

ASSOCIATION = family(
    "Association",
    whole("matthews_corrcoef", "MCC", "Matthews correlation", association.matthews_corrcoef, SIGNED, CONSTANT,
        f"{GORODKIN}; {GRANDINI}, eq. 24, 25",
        summary="Correlation of truth and prediction, coded one-hot (R_K; phi for two classes).",
        definition="(c N - sum t_k p_k) / sqrt((N^2 - sum p_k^2) (N^2 - sum t_k^2))",
        notes=(
            "The value is 1 only if every sample is predicted right. For more than two classes the minimum "
            "depends on the truth and is above -1.")),
    whole("generalized_mcc", "GeneralizedMCC", "Determinant MCC", association.generalized_mcc, SIGNED,
        f"{FEW}, or a class never true or never predicted", f"{ITAI_KATZ}, eq. 7, 8", quadratic=True,
        summary="Determinant of the normalised confusion matrix.",
        definition="det C / sqrt(prod t_k prod p_k) over the classes that are true or predicted",
        notes=(
            "Small values are usual: it shrinks like cramers_v^(K-1). It is also 1 for every even permutation of "
            "the labels.")),
    matrix("generalized_mcc_matrix", None, "Normalised matrix", association.generalized_mcc_matrix, UNIT,
        "row or column of the cell empty", f"{ITAI_KATZ}, eq. 8", None, default=False, quadratic=True,
        summary="Geometric means of the shares that a cell has of its row and of its column.",
        definition="C_ij / sqrt(t_i p_j)",
        notes="Its determinant is `generalized_mcc`."),
    whole("chi2", None, "Chi-square", association.chi2, AMOUNT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.3",
        summary="Pearson's statistic for independence of truth and prediction, without continuity correction.",
        definition="sum (C_ij - E_ij)^2 / E_ij with E_ij = t_i p_j / N, over the cells with E_ij > 0",
        notes="The value is at most N (K' - 1) for K' classes that are true or predicted."),
    whole("cramers_v", "CramersV", "Cramer's V", association.cramers_v, UNIT, FEW,
        f"Cramer 1946; {ITAI_KATZ}, sec. 3.2.3",
        summary="Strength of the association of truth and prediction.",
        definition="sqrt(chi2 / (N (K' - 1))) with the K' classes that are true or predicted",
        notes="The value is 1 for a perfect prediction and for every relabelling of it."),
    whole("pair_fowlkes_mallows", "PairFowlkesMallows", "Fowlkes-Mallows over pairs of samples",
        association.pair_fowlkes_mallows, UNIT, "no two samples share a class, or a prediction",
        "Fowlkes and Mallows 1983", needs="whole_weights",
        summary="Agreement of two clusterings on the pairs of samples.",
        definition="(sum C_ij^2 - N) / sqrt((sum p_k^2 - N) (sum t_k^2 - N))",
        notes=(
            "This is the index of scikit-learn and river, and no measure of a classifier. A whole weight is as "
            "many samples; weights with a fraction raise `ValueError`.")),
)

ONE_AGAINST_ONE = family(
    "One against one",
    whole("matthews_corrcoef_ovo", "OvOMCC", "Matthews correlation, mean over pairs", pairwise.matthews_corrcoef_ovo,
        SIGNED, FEW, f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True,
        summary="Mean Matthews correlation over all pairs of classes.",
        definition="mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j"),
    whole("accuracy_ovo", "OvOAccuracy", "Accuracy, mean over pairs", pairwise.accuracy_ovo, UNIT, FEW,
        f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True,
        summary="Mean accuracy over all pairs of classes.",
        definition="mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j"),
    whole("cohen_kappa_ovo", "OvOCohenKappa", "Cohen's kappa, mean over pairs", pairwise.cohen_kappa_ovo, SIGNED, FEW,
        f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True,
        summary="Mean Cohen's kappa over all pairs of classes.",
        definition="mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j"),
    whole("f1_ovo", "OvOF1", "F1, mean over pairs", pairwise.f1_ovo, UNIT, FEW, f"{ITAI_KATZ}, sec. 3.2.1",
        quadratic=True,
        summary="Mean F1 over all pairs of classes and both classes of a pair.",
        definition="mean of the F1 of both classes on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j"),
    whole("f1_ovo_first_positive", None, "F1 of the first class, mean over pairs",
        pairwise.f1_ovo_first_positive, UNIT, FEW, f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True,
        summary="Mean F1 over all pairs of classes, of the class that is reported first.",
        definition="mean of the F1 of class i on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j",
        notes="It depends on the order of the labels; `f1_ovo` does not."),
    whole("ovo", "OvO", "Mean over pairs", pairwise.ovo, SIGNED, FEW, f"{ITAI_KATZ}, sec. 3.2.1", default=False,
        quadratic=True,
        summary="Mean of a metric of two classes over all pairs of classes.",
        definition=(
            "mean of the metric on [[C_ii, C_ij], [C_ji, C_jj]] over all pairs i < j, for rates of one class that"
            " of both classes"),
        notes="The range is that of the metric."),
)

SIGNIFICANCE = family(
    "Tests",
    whole("nir_p_value", None, "Rough p-value: accuracy above the no-information rate", significance.nir_p_value,
        UNIT, NEVER, CARET, None, needs="samples",
        summary="One-sided binomial test of the accuracy against the no-information rate, as in R caret.",
        definition="P[X >= c], X binomial with N trials of probability max t_k / N",
        notes="It takes the rate as known, so it rejects too often; `majority_p_value` does not. 1 without data."),
    whole("majority_p_value", None, "p-value: better than the most frequent class",
        significance.majority_p_value, UNIT, NEVER, "McNemar 1947", None, needs="samples",
        summary="Exact one-sided McNemar test against always predicting the most frequent class m.",
        definition="P[X >= b], X binomial with b + w trials of probability 1/2, b = c - C_mm and w = t_m - C_mm",
        notes="1 if b = 0."),
    whole("mcnemar", None, "McNemar or Bowker statistic", significance.mcnemar, AMOUNT, NEVER,
        "McNemar 1947; Bowker 1948", None, needs="samples",
        summary=(
            "Statistic of the test that truth and prediction have the same totals: McNemar's for two classes, "
            "Bowker's for more."),
        definition=(
            "(abs(b - c) - 1)^2 / (b + c) of the two kinds of error b and c; sum (C_ij - C_ji)^2 / (C_ij + C_ji) "
            "for more than two classes"),
        notes="Without `correction` the 1 is not subtracted. 0 without errors."),
    whole("mcnemar_p_value", None, "p-value: truth and prediction differ in their totals",
        significance.mcnemar_p_value, UNIT, NEVER, "McNemar 1947; Bowker 1948", None, needs="samples",
        summary="P-value of the McNemar or Bowker statistic.",
        definition="P[Y >= statistic], Y chi-square with as many degrees of freedom as pairs of classes have errors",
        notes="With `exact`, for two classes, a binomial test. 1 without errors."),
)

LITERAL = family(
    "Printed mistakes",
    whole("weighted_balanced_accuracy_eq8_literal", None, "Eq. 8 as printed",
        literal.weighted_balanced_accuracy_eq8_literal, UNIT, "all weights are 0", f"{GRANDINI}, eq. 8", default=False,
        summary="Weighted balanced accuracy as printed: a perfect classifier gets 1/K.",
        definition="sum w_k R_k / (K sum w_k)"),
    whole("weighted_balanced_accuracy_eq7_literal", None, "Eq. 7 as printed",
        literal.weighted_balanced_accuracy_eq7_literal, AMOUNT, NO_DATA, f"{GRANDINI}, eq. 7", default=False,
        summary="Weighted balanced accuracy as printed: it changes with the scale of the weights.",
        definition="sum (R_k / w_k) / (K sum w_k)"),
    whole("macro_f1_eq16_literal", None, "Eq. 16 as printed", literal.macro_f1_eq16_literal, UNIT,
        NO_DATA, f"{GRANDINI}, eq. 16", default=False,
        summary="Macro F1 as printed: it mixes two forms of F1.",
        definition="2 P^2 R^2 / (P + R) of macro precision P and macro recall R"),
    per_class("f1_negative_literal", None, "F1-0 as printed", literal.f1_negative_literal, UNIT,
        "recall or specificity is 0/0", f"{ITAI_KATZ}, sec. 2.1", default=False,
        summary="F1 of the rest as printed: with recall where NPV is meant.",
        definition="2 S_k R_k / (S_k + R_k)"),
    whole("weighted_accuracy_literal", None, "Weighted accuracy as printed",
        literal.weighted_accuracy_literal, AMOUNT, NEVER, "Doering 2018", default=False,
        summary="Weighted accuracy as printed: not divided by the size of the class.",
        definition="sum w_k C_kk"),
    whole("micro_f1_code_literal", None, "Micro F1 as in the code", literal.micro_f1_code_literal,
        UNIT, NO_DATA, "Doering 2018", default=False,
        summary="Micro F1 as in the published code: every false negative counts 0.",
        definition="2 c / (2 c + N - c)"),
    whole("generalized_mcc_code_literal", None, "Determinant as in the listing",
        literal.generalized_mcc_code_literal, SIGNED, "as generalized_mcc", f"{ITAI_KATZ}, listing", default=False,
        quadratic=True,
        summary="Determinant MCC as in the published listing: it pairs C_ij with C_ji.",
        definition="det(sqrt(C_ij C_ji)) / sqrt(prod t_k prod p_k)"),
    whole("generalized_mcc_rounded_literal", None, "Determinant of the rounded matrix",
        literal.generalized_mcc_rounded_literal, ANY, "a cell is 0/0", f"{ITAI_KATZ}, sec. 3.2.4", default=False,
        quadratic=True,
        summary="Determinant of the normalised matrix, rounded to one decimal.",
        definition="det(round(C_ij / sqrt(t_i p_j), 1))"),
)
