"""The table of metrics that need labels only, whole values: one row for each, in the order of listing.

A value other than the default of an option is a row of its own where it has a name of its own in the literature, or
is often asked for; its key carries the value. Rows that need something from the caller (a beta, class weights, an
order of the classes), square tables that follow from the totals, and printed mistakes are not in a default snapshot.
"""
# fmt: off

from __future__ import annotations

import math
from functools import partial

from stream_metrics.catalog.per_class import BASELINES, COUNTS, PER_CLASS
from stream_metrics.catalog.row import (
    AMOUNT,
    ANY,
    BLEIK,
    CARET,
    CONSTANT,
    FEW,
    GORODKIN,
    GRANDINI,
    ITAI_KATZ,
    NEVER,
    NO_DATA,
    RIJSBERGEN,
    SIGNED,
    SINGLE,
    SKLEARN,
    UNIT,
    Row,
    family,
    matrix,
    per_class,
    whole,
)
from stream_metrics.formulas import accuracy, agreement, association, averages, literal, pairwise, significance

__all__ = ["ROWS"]

ACCURACY = family(
    "Accuracy",
    whole("accuracy", "Accuracy", "Accuracy", accuracy.accuracy, UNIT, NO_DATA, f"{GRANDINI}, eq. 3, 4"),
    whole("zero_one_loss", "ZeroOneLoss", "Error rate", accuracy.zero_one_loss, UNIT, NO_DATA, f"{GRANDINI}, sec. 2",
        "lower", zero_division=math.nan),
    whole("balanced_accuracy", "BalancedAccuracy", "Balanced accuracy", accuracy.balanced_accuracy, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 5, 6"),
    whole("balanced_accuracy_adjusted", None, "Balanced accuracy, chance-adjusted",
        partial(accuracy.balanced_accuracy, adjusted=True), SIGNED, "fewer than two classes with samples",
        "Brodersen et al. 2010"),
    whole("weighted_balanced_accuracy", "WeightedBalancedAccuracy", "Balanced accuracy, class weights",
        accuracy.weighted_balanced_accuracy, UNIT, "all weights are 0", f"{GRANDINI}, eq. 7, 8, as intended",
        default=False),
    whole("average_accuracy", "AverageAccuracy", "Average accuracy", accuracy.average_accuracy, UNIT, NO_DATA, BLEIK),
    whole("geometric_mean", "GeometricMean", "Geometric mean of recalls", accuracy.geometric_mean, UNIT, NO_DATA,
        "Kubat and Matwin 1997"),
)

AVERAGES = family(
    "Averages over classes",
    whole("macro_precision", "MacroPrecision", "Macro precision", averages.macro_precision, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 14"),
    whole("macro_recall", "MacroRecall", "Macro recall", averages.macro_recall, UNIT, NO_DATA, f"{GRANDINI}, eq. 15"),
    whole("macro_specificity", "MacroSpecificity", "Macro specificity", averages.macro_specificity, UNIT, NO_DATA,
        "Lemaitre et al. 2017 (imbalanced-learn)"),
    whole("macro_f1", "MacroF1", "Macro F1", averages.macro_f1, UNIT, NO_DATA, "Opitz and Burst 2019"),
    whole("macro_f1_of_means", None, "F1 of macro precision and recall",
        partial(averages.macro_f1, variant="f1_of_means"), UNIT, NO_DATA, f"{GRANDINI}, eq. 16 as meant"),
    whole("macro_fbeta", "MacroFBeta", "Macro F-beta", averages.macro_fbeta, UNIT, NO_DATA, RIJSBERGEN, default=False),
    whole("macro_jaccard", "MacroJaccard", "Macro Jaccard index", averages.macro_jaccard, UNIT, NO_DATA,
        "Jaccard 1912"),
    whole("micro_precision", "MicroPrecision", "Micro precision", averages.micro_precision, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 17"),
    whole("micro_recall", "MicroRecall", "Micro recall", averages.micro_recall, UNIT, NO_DATA, f"{GRANDINI}, eq. 18"),
    whole("micro_f1", "MicroF1", "Micro F1", averages.micro_f1, UNIT, NO_DATA, f"{GRANDINI}, eq. 19"),
    whole("micro_fbeta", "MicroFBeta", "Micro F-beta", averages.micro_fbeta, UNIT, NO_DATA, RIJSBERGEN, default=False),
    whole("micro_jaccard", "MicroJaccard", "Micro Jaccard index", averages.micro_jaccard, UNIT, NO_DATA,
        "Jaccard 1912"),
    whole("weighted_precision", "WeightedPrecision", "Weighted precision", averages.weighted_precision, UNIT, NO_DATA,
        SKLEARN),
    whole("weighted_recall", "WeightedRecall", "Weighted recall", averages.weighted_recall, UNIT, NO_DATA, SKLEARN),
    whole("weighted_f1", "WeightedF1", "Weighted F1", averages.weighted_f1, UNIT, NO_DATA, SKLEARN),
    whole("weighted_fbeta", "WeightedFBeta", "Weighted F-beta", averages.weighted_fbeta, UNIT, NO_DATA, RIJSBERGEN,
        default=False),
    whole("weighted_jaccard", "WeightedJaccard", "Weighted Jaccard index", averages.weighted_jaccard, UNIT, NO_DATA,
        SKLEARN),
    whole("general_f1", "GeneralF1", "General F1", averages.general_f1, UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_f1_geometric", None, "Geometric mean of F1",
        partial(averages.general_f1, average="geometric", p=None), UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_f1_harmonic", None, "Harmonic mean of F1", partial(averages.general_f1, average="harmonic", p=None),
        UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_f1_power_2", None, "Quadratic mean of F1", partial(averages.general_f1, average="power", p=2.0),
        UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_fowlkes_mallows", "GeneralFowlkesMallows", "General Fowlkes-Mallows",
        averages.general_fowlkes_mallows, UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_fowlkes_mallows_geometric", None, "Geometric mean of Fowlkes-Mallows",
        partial(averages.general_fowlkes_mallows, average="geometric", p=None), UNIT, NO_DATA,
        f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_fowlkes_mallows_harmonic", None, "Harmonic mean of Fowlkes-Mallows",
        partial(averages.general_fowlkes_mallows, average="harmonic", p=None), UNIT, NO_DATA,
        f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_fowlkes_mallows_power_2", None, "Quadratic mean of Fowlkes-Mallows",
        partial(averages.general_fowlkes_mallows, average="power", p=2.0), UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("power_mean_all_precision_recall", "PowerMeanAll", "Power mean of all precisions and recalls",
        averages.power_mean_all_precision_recall, UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2", default=False),
)

AGREEMENT = family(
    "Agreement beyond chance",
    whole("cohen_kappa", "CohenKappa", "Cohen's kappa", agreement.cohen_kappa, SIGNED, SINGLE, "Cohen 1960"),
    whole("weighted_kappa", "WeightedKappa", "Weighted kappa", agreement.weighted_kappa, SIGNED, SINGLE, "Cohen 1968",
        default=False),
    whole("weighted_kappa_linear", None, "Weighted kappa, linear", partial(agreement.weighted_kappa, weights="linear"),
        SIGNED, SINGLE, "Cohen 1968", default=False),
    whole("weighted_kappa_quadratic", None, "Weighted kappa, quadratic",
        partial(agreement.weighted_kappa, weights="quadratic"), SIGNED, SINGLE, "Cohen 1968", default=False),
    whole("expected_accuracy", "ExpectedAccuracy", "Expected accuracy", agreement.expected_accuracy, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 29-31", None),
    per_class("expected_accuracy_term", "ExpectedAccuracyTerm", "Term of the expected accuracy",
        agreement.expected_accuracy_term, UNIT, NO_DATA, f"{GRANDINI}, eq. 30, 31, 34", None),
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
    whole("chi2", "Chi2", "Chi-square", association.chi2, AMOUNT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.3"),
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
    whole("f1_ovo_first_positive", "OvOF1FirstPositive", "F1 of the first class, mean over pairs",
        pairwise.f1_ovo_first_positive, UNIT, FEW, f"{ITAI_KATZ}, sec. 3.2.1", quadratic=True),
    whole("ovo", "OvO", "Mean over pairs", pairwise.ovo, SIGNED, FEW, f"{ITAI_KATZ}, sec. 3.2.1", default=False,
        quadratic=True),
)

SIGNIFICANCE = family(
    "Tests",
    whole("nir_p_value", "NIRPValue", "Rough p-value: accuracy above the no-information rate", significance.nir_p_value,
        UNIT, NEVER, CARET, None, needs="samples"),
    whole("majority_p_value", "MajorityPValue", "p-value: better than the most frequent class",
        significance.majority_p_value, UNIT, NEVER, "McNemar 1947", None, needs="samples"),
    whole("mcnemar", "McNemar", "McNemar or Bowker statistic", significance.mcnemar, AMOUNT, NEVER,
        "McNemar 1947; Bowker 1948", None, needs="samples"),
    whole("mcnemar_p_value", "McNemarPValue", "p-value: truth and prediction differ in their totals",
        significance.mcnemar_p_value, UNIT, NEVER, "McNemar 1947; Bowker 1948", None, needs="samples"),
)

LITERAL = family(
    "Printed mistakes",
    whole("weighted_balanced_accuracy_eq8_literal", "WeightedBalancedAccuracyEq8Literal", "Eq. 8 as printed",
        literal.weighted_balanced_accuracy_eq8_literal, UNIT, "all weights are 0", f"{GRANDINI}, eq. 8", default=False),
    whole("weighted_balanced_accuracy_eq7_literal", "WeightedBalancedAccuracyEq7Literal", "Eq. 7 as printed",
        literal.weighted_balanced_accuracy_eq7_literal, AMOUNT, NO_DATA, f"{GRANDINI}, eq. 7", default=False),
    whole("macro_f1_eq16_literal", "MacroF1Eq16Literal", "Eq. 16 as printed", literal.macro_f1_eq16_literal, UNIT,
        NO_DATA, f"{GRANDINI}, eq. 16", default=False),
    per_class("f1_negative_literal", "NegativeF1Literal", "F1-0 as printed", literal.f1_negative_literal, UNIT,
        "recall or specificity is 0/0", f"{ITAI_KATZ}, sec. 2.1", default=False),
    whole("weighted_accuracy_literal", "WeightedAccuracyLiteral", "Weighted accuracy as printed",
        literal.weighted_accuracy_literal, AMOUNT, NEVER, "Doering 2018", default=False),
    whole("micro_f1_code_literal", "MicroF1CodeLiteral", "Micro F1 as in the code", literal.micro_f1_code_literal,
        UNIT, NO_DATA, "Doering 2018", default=False),
    whole("generalized_mcc_code_literal", "GeneralizedMCCCodeLiteral", "Determinant as in the listing",
        literal.generalized_mcc_code_literal, SIGNED, "as generalized_mcc", f"{ITAI_KATZ}, listing", default=False,
        quadratic=True),
    whole("generalized_mcc_rounded_literal", "GeneralizedMCCRoundedLiteral", "Determinant of the rounded matrix",
        literal.generalized_mcc_rounded_literal, ANY, "a cell is 0/0", f"{ITAI_KATZ}, sec. 3.2.4", default=False,
        quadratic=True),
)

ROWS: tuple[Row, ...] = (
    *ACCURACY, *AVERAGES, *AGREEMENT, *ASSOCIATION, *ONE_AGAINST_ONE,
    *PER_CLASS, *COUNTS, *BASELINES, *SIGNIFICANCE, *LITERAL,
)
