"""The table of metrics that need labels only.

A value other than the default of an option is a row of its own if it has its own name in the literature, or is often
asked for; its key carries the value. A row that needs something from the caller (a beta, class weights, an order of the
classes) is not in a default snapshot, nor are square tables that follow from the totals, and printed mistakes.
"""
# fmt: off

from __future__ import annotations

import math
from functools import partial

from stream_metrics.catalog.spec import (
    ABSENT,
    ALL_PREDICTIONS,
    ALL_SAMPLES,
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
    NO_PREDICTIONS,
    NO_SAMPLES,
    RIJSBERGEN,
    SIGNED,
    SINGLE,
    SKLEARN,
    UNIT,
    Formula,
    MetricSpec,
    family,
    matrix,
    per_class,
    whole,
)
from stream_metrics.formulas import accuracy, agreement, averages, baselines, counts, literal, pairwise, rates


def _guesses(strategy: str, name: str) -> tuple[MetricSpec, ...]:
    """Return the rows of a baseline other than its accuracy."""
    key = f"baseline_{strategy}"
    parts = (
        ("precision", "Precision", baselines.baseline_precision, "t_k / N, or 0 for a class that is never guessed"),
        ("recall", "Recall", baselines.baseline_recall, "r_k, the probability of guessing class k"),
        ("f1", "F1", baselines.baseline_f1, "2 a_k r_k / (a_k + r_k) with a_k = t_k / N"),
    )
    return (
        *(per_class(f"{key}_{part}", None, f"{title} of {name}", partial(formula, strategy=strategy, prior=None),
                    UNIT, NO_DATA, BLEIK, None, summary=f"{title} of {name}.", definition=definition)
          for part, title, formula, definition in parts),
        matrix(f"{key}_matrix", None, f"Expected matrix of {name}",
               partial(baselines.baseline_matrix, strategy=strategy, prior=None),
               AMOUNT, NO_DATA, BLEIK, None, default=False, quadratic=True,
               summary=f"Confusion matrix to expect of {name}.", definition="t_i r_j"),
    )


def _general_means(key: str, name: str, value: str, formula: Formula) -> tuple[MetricSpec, ...]:
    """Return the rows of a general mean over the classes, for three values of `average`."""
    means = (
        ("geometric", "Geometric", None, f"(prod {value})^(1/K)"),
        ("harmonic", "Harmonic", None, f"K / sum (1 / {value}), 0 if some {value} is 0"),
        ("power_2", "Quadratic", 2.0, f"sqrt(sum {value}^2 / K)"),
    )
    return tuple(
        whole(f"{key}_{mean}", None, f"{title} mean of {name}", partial(formula, average=mean.removesuffix("_2"), p=p),
            UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2", summary=f"{title} mean of {name} over the classes.",
            definition=definition)
        for mean, title, p, definition in means
    )


ACCURACY = family(
    "Accuracy",
    whole("accuracy", "Accuracy", "Accuracy", accuracy.accuracy, UNIT, NO_DATA, f"{GRANDINI}, eq. 3, 4"),
    whole("zero_one_loss", "ZeroOneLoss", "Error rate", accuracy.zero_one_loss, UNIT, NO_DATA, f"{GRANDINI}, sec. 2",
        "lower", zero_division=math.nan),
    whole("balanced_accuracy", "BalancedAccuracy", "Balanced accuracy", accuracy.balanced_accuracy, UNIT, NO_DATA,
        f"{GRANDINI}, eq. 5, 6"),
    whole("balanced_accuracy_adjusted", None, "Balanced accuracy, chance-adjusted",
        partial(accuracy.balanced_accuracy, adjusted=True), SIGNED, "fewer than two classes with samples",
        "Brodersen et al. 2010",
        summary="Balanced accuracy, adjusted for chance.",
        definition="(BA - 1/K') / (1 - 1/K') with the balanced accuracy BA of K' classes with t_k > 0"),
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
        partial(averages.macro_f1, variant="f1_of_means"), UNIT, NO_DATA, f"{GRANDINI}, eq. 16 as meant",
        summary="F1 of macro precision and macro recall.",
        definition="2 P R / (P + R) of macro precision P and macro recall R, 0 if either is 0"),
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
    *_general_means("general_f1", "F1", "F1_k", averages.general_f1),
    whole("general_fowlkes_mallows", "GeneralFowlkesMallows", "General Fowlkes-Mallows",
        averages.general_fowlkes_mallows, UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    *_general_means("general_fowlkes_mallows", "Fowlkes-Mallows", "FM_k", averages.general_fowlkes_mallows),
    whole("power_mean_all_precision_recall", None, "Power mean of all precisions and recalls",
        averages.power_mean_all_precision_recall, UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2", default=False),
)

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
    whole("matthews_corrcoef", "MCC", "Matthews correlation", agreement.matthews_corrcoef, SIGNED, CONSTANT,
        f"{GORODKIN}; {GRANDINI}, eq. 24, 25"),
    whole("generalized_mcc", "GeneralizedMCC", "Determinant MCC", agreement.generalized_mcc, SIGNED,
        f"{FEW}, or a class never true or never predicted", f"{ITAI_KATZ}, eq. 7, 8", quadratic=True),
    matrix("generalized_mcc_matrix", None, "Normalised matrix", agreement.generalized_mcc_matrix, UNIT,
        "row or column of the cell empty", f"{ITAI_KATZ}, eq. 8", None, default=False, quadratic=True),
    whole("chi2", None, "Chi-square", agreement.chi2, AMOUNT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.3"),
    whole("cramers_v", "CramersV", "Cramer's V", agreement.cramers_v, UNIT, FEW,
        f"Cramer 1946; {ITAI_KATZ}, sec. 3.2.3"),
    whole("pair_fowlkes_mallows", "PairFowlkesMallows", "Fowlkes-Mallows over pairs of samples",
        agreement.pair_fowlkes_mallows, UNIT, "no two samples share a class, or a prediction",
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

PER_CLASS = family(
    "One class against the rest",
    per_class("precision", "Precision", "Precision", rates.precision, UNIT, NO_PREDICTIONS, f"{GRANDINI}, eq. 1, 12"),
    per_class("recall", "Recall", "Recall", rates.recall, UNIT, NO_SAMPLES, f"{GRANDINI}, eq. 2, 13"),
    per_class("f1", "F1", "F1", rates.f1, UNIT, ABSENT, f"{GRANDINI}, eq. 9-11"),
    per_class("fbeta", "FBeta", "F-beta", rates.fbeta, UNIT, ABSENT, RIJSBERGEN, default=False),
    per_class("jaccard", "Jaccard", "Jaccard index", rates.jaccard, UNIT, ABSENT, "Jaccard 1912"),
    per_class("specificity", "Specificity", "Specificity", rates.specificity, UNIT, ALL_SAMPLES,
        f"{ITAI_KATZ}, sec. 1.3"),
    per_class("npv", "NPV", "Negative predictive value", rates.npv, UNIT, ALL_PREDICTIONS, f"{ITAI_KATZ}, sec. 1.3"),
    per_class("f1_negative", "NegativeF1", "F1 of the rest", rates.f1_negative, UNIT, "everything is true positive",
        f"{ITAI_KATZ}, sec. 3.2.2"),
    per_class("false_positive_rate", "FalsePositiveRate", "False positive rate", rates.false_positive_rate, UNIT,
        ALL_SAMPLES, f"{ITAI_KATZ}, sec. 2.2", "lower"),
    per_class("false_negative_rate", "FalseNegativeRate", "False negative rate", rates.false_negative_rate, UNIT,
        NO_SAMPLES, f"{ITAI_KATZ}, sec. 1.3", "lower"),
    per_class("false_discovery_rate", "FalseDiscoveryRate", "False discovery rate", rates.false_discovery_rate, UNIT,
        NO_PREDICTIONS, f"{ITAI_KATZ}, sec. 1.2.1", "lower"),
    per_class("false_omission_rate", "FalseOmissionRate", "False omission rate", rates.false_omission_rate, UNIT,
        ALL_PREDICTIONS, f"{ITAI_KATZ}, sec. 1.3", "lower"),
    per_class("fowlkes_mallows", "PRFowlkesMallows", "Fowlkes-Mallows", rates.fowlkes_mallows, UNIT, ABSENT,
        f"{ITAI_KATZ}, sec. 2.1"),
    per_class("p4", "P4", "P4", rates.p4, UNIT, SINGLE, f"{ITAI_KATZ}, eq. 5; Sitarz 2022"),
    per_class("power_mean_precision_recall", None, "Power mean of precision and recall",
        rates.power_mean_precision_recall, UNIT, ABSENT, f"{ITAI_KATZ}, eq. 4", default=False),
    per_class("power_mean_four_rates", None, "Power mean of the four rates", rates.power_mean_four_rates, UNIT,
        "a rate is 0/0, p <= 0 and no other rate is 0", f"{ITAI_KATZ}, eq. 5", default=False),
    per_class("ova_accuracy", "OvAAccuracy", "Accuracy against the rest", rates.ova_accuracy, UNIT, NO_DATA, BLEIK),
    per_class("ova_balanced_accuracy", "OvABalancedAccuracy", "Balanced accuracy against the rest",
        rates.ova_balanced_accuracy, UNIT, NO_DATA, f"{GRANDINI}, eq. 5"),
    per_class("ova_matthews_corrcoef", "OvAMCC", "Matthews correlation against the rest", rates.ova_matthews_corrcoef,
        SIGNED, CONSTANT, f"{GRANDINI}, eq. 24"),
)

COUNTS = family(
    "Counts",
    matrix("confusion_matrix", None, "Confusion matrix", counts.confusion_matrix, AMOUNT, NEVER, f"{GRANDINI}, Fig. 1",
        None, default=False, quadratic=True),
    per_class("support", None, "Support", counts.support, AMOUNT, NEVER, f"{GRANDINI}, Fig. 1", None),
    per_class("predicted_count", None, "Predicted", counts.predicted_count, AMOUNT, NEVER, f"{GRANDINI}, Fig. 1", None),
    per_class("tp", None, "True positives", counts.tp, AMOUNT, NEVER, f"{GRANDINI}, Fig. 4", None),
    per_class("fn", None, "False negatives", counts.fn, AMOUNT, NEVER, f"{GRANDINI}, Fig. 4", None),
    per_class("fp", None, "False positives", counts.fp, AMOUNT, NEVER, f"{GRANDINI}, Fig. 4", None),
    per_class("tn", None, "True negatives", counts.tn, AMOUNT, NEVER, f"{GRANDINI}, Fig. 4", None),
    per_class("prevalence", "Prevalence", "Prevalence", counts.prevalence, UNIT, NO_DATA, CARET, None),
    per_class("detection_rate", None, "Detection rate", counts.detection_rate, UNIT, NO_DATA, CARET, None),
    per_class("detection_prevalence", "DetectionPrevalence", "Detection prevalence", counts.detection_prevalence, UNIT,
        NO_DATA, CARET, None),
    whole("tp_sum", None, "Sum of true positives", counts.tp_sum, AMOUNT, NEVER, BLEIK, None),
    whole("fn_sum", None, "Sum of false negatives", counts.fn_sum, AMOUNT, NEVER, BLEIK, None),
    whole("fp_sum", None, "Sum of false positives", counts.fp_sum, AMOUNT, NEVER, BLEIK, None),
    whole("tn_sum", None, "Sum of true negatives", counts.tn_sum, AMOUNT, NEVER, BLEIK, None),
    whole("cov_true_pred", None, "Covariance of truth and prediction", counts.cov_true_pred, ANY, NEVER, GORODKIN,
        None),
    whole("cov_pred_pred", None, "Variance of the prediction", counts.cov_pred_pred, AMOUNT, NEVER, GORODKIN, None),
    whole("cov_true_true", None, "Variance of the truth", counts.cov_true_true, AMOUNT, NEVER, GORODKIN, None),
)

BASELINES = family(
    "Baselines",
    whole("majority_class", None, "Most frequent class", baselines.majority_class, UNIT, NO_DATA, BLEIK, None),
    whole("no_information_rate", None, "No-information rate", baselines.no_information_rate, UNIT, NO_DATA, BLEIK,
        None),
    whole("baseline_uniform_accuracy", None, "Accuracy of guessing every class alike",
        baselines.baseline_uniform_accuracy, UNIT, NO_DATA, BLEIK, None),
    whole("baseline_stratified_accuracy", None, "Accuracy of guessing by class frequency",
        baselines.baseline_stratified_accuracy, UNIT, NO_DATA, BLEIK, None),
    *_guesses("most_frequent", "guessing the most frequent class"),
    *_guesses("uniform", "guessing every class alike"),
    *_guesses("stratified", "guessing by class frequency"),
    whole("baseline_accuracy", None, "Accuracy of a guess", baselines.baseline_accuracy, UNIT, NO_DATA, BLEIK, None,
        default=False),
    per_class("baseline_precision", None, "Precision of a guess", baselines.baseline_precision, UNIT, NO_DATA, BLEIK,
        None, default=False),
    per_class("baseline_recall", None, "Recall of a guess", baselines.baseline_recall, UNIT, NO_DATA, BLEIK, None,
        default=False),
    per_class("baseline_f1", None, "F1 of a guess", baselines.baseline_f1, UNIT, NO_DATA, BLEIK, None, default=False),
    matrix("baseline_matrix", None, "Expected matrix of a guess", baselines.baseline_matrix, AMOUNT, NO_DATA, BLEIK,
        None, default=False, quadratic=True),
)

SIGNIFICANCE = family(
    "Tests",
    whole("nir_p_value", None, "Rough p-value: accuracy above the no-information rate", baselines.nir_p_value, UNIT,
        NEVER, CARET, None, needs="samples"),
    whole("majority_p_value", None, "p-value: better than the most frequent class", baselines.majority_p_value, UNIT,
        NEVER, "McNemar 1947", None, needs="samples"),
    whole("mcnemar", None, "McNemar or Bowker statistic", baselines.mcnemar, AMOUNT, NEVER,
        "McNemar 1947; Bowker 1948", None, needs="samples",
        summary=(
            "Statistic of the test that truth and prediction have the same totals: McNemar's for two classes, "
            "Bowker's for more."),
        definition=(
            "(abs(b - c) - 1)^2 / (b + c) of the two kinds of error b and c; sum (C_ij - C_ji)^2 / (C_ij + C_ji) "
            "for more than two classes"),
        notes="Without `correction` the 1 is not subtracted. 0 without errors."),
    whole("mcnemar_p_value", None, "p-value: truth and prediction differ in their totals", baselines.mcnemar_p_value,
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

LABELS = (
    *ACCURACY, *AVERAGES, *AGREEMENT, *ASSOCIATION, *ONE_AGAINST_ONE,
    *PER_CLASS, *COUNTS, *BASELINES, *SIGNIFICANCE, *LITERAL,
)
