"""The table of metrics that need scores: areas under curves, points of curves, calibration, losses of probabilities.

What stands for 0/0 is nan in every row: 0.0 would read as the worst area, or as a perfect loss. Rows read one of three
states: the rank sketch of all classes, that of the largest score of each sample (was it right?), or the sums of losses.
"""
# fmt: off

from __future__ import annotations

import math
from functools import partial

from stream_metrics.catalog import spec
from stream_metrics.catalog.spec import (
    AMOUNT,
    DOERING,
    FEW,
    GRANDINI,
    HAND_TILL,
    ITAI_KATZ,
    NO_DATA,
    NO_SAMPLES,
    ONE_SIDED,
    SIGNED,
    SKLEARN,
    UNIT,
    family,
)
from stream_metrics.formulas import losses
from stream_metrics.ranking import areas as ranks
from stream_metrics.ranking import calibration, curves
from stream_metrics.ranking.average_precision import average_precision, pr_auc_trapezoid
from stream_metrics.ranking.classes import (
    directed_areas,
    each,
    hand_till,
    only,
    over_classes,
    pair_areas,
    pooled,
    single_score,
)

NONE_DEFINED = "undefined for every class"
NO_PROBABILITY = "no data, or a score outside [0, 1]"
GUO = "Guo et al. 2017"

scored: dict[str, object] = {"state": "ranks", "zero_division": math.nan}
rated: dict[str, object] = {"state": "losses", "zero_division": math.nan}
whole, per_class = partial(spec.whole, **scored), partial(spec.per_class, **scored)
matrix = partial(spec.matrix, **scored)
loss = partial(spec.whole, **rated)
top = partial(spec.whole, state="confidence", zero_division=math.nan)

AREAS = family(
    "Areas under curves",
    per_class("roc_auc", "ROCAUC", "ROC AUC", each(ranks.roc_auc), UNIT, ONE_SIDED,
        f"{DOERING}; {ITAI_KATZ}, sec. 2.2"),
    whole("roc_auc_ovr", "MacroROCAUC", "ROC AUC, mean over classes",
        over_classes(ranks.roc_auc), UNIT, NONE_DEFINED, DOERING,
        summary="Mean over the classes of the ROC AUC of the class against the rest.",
        definition="sum AUC_k / K' over the K' classes where it is defined",
        notes="Classes for which it is undefined are left out, whatever `zero_division` is."),
    whole("roc_auc_ovr_weighted", "WeightedROCAUC", "ROC AUC, mean by support",
        over_classes(ranks.roc_auc, by_support=True), UNIT, NONE_DEFINED, "Provost and Domingos 2001",
        summary="Mean ROC AUC over the classes, weighted by their samples.",
        definition="sum t_k AUC_k / sum t_k over the classes where it is defined",
        notes="Classes for which it is undefined are left out, whatever `zero_division` is."),
    whole("roc_auc_micro", "MicroROCAUC", "ROC AUC, scores pooled",
        pooled(ranks.roc_auc), UNIT, FEW, SKLEARN,
        summary="ROC AUC of all scores of all classes against one threshold.",
        definition="P(s_own > s_rest) + P(s_own = s_rest) / 2 over the scores of all classes"),
    whole("roc_auc_ovo", "HandTillAUC", "ROC AUC, Hand and Till's M", hand_till, UNIT, FEW, f"{HAND_TILL}, eq. 7",
        quadratic=True),
    matrix("roc_auc_ovo_pair", None, "ROC AUC of each pair", pair_areas, UNIT, "a class does not occur",
        f"{HAND_TILL}, eq. 6", default=False, quadratic=True),
    matrix("roc_auc_ovo_directed", None, "ROC AUC of each pair, score of the row", directed_areas, UNIT,
        "a class does not occur", HAND_TILL, default=False, quadratic=True,
        summary="ROC AUC of every pair of classes by the score of the class of the row.",
        definition="A(i|j): among samples of i and j, class i against j by the score of i",
        notes="The diagonal is undefined."),
    whole("roc_auc_single_score", "SingleScoreAUC", "ROC AUC of one score for all classes", single_score, UNIT, FEW,
        f"{DOERING}; Robin et al. 2011 (pROC)", default=False, quadratic=True),
    per_class("gini", "Gini", "Gini (Somers' D)", each(ranks.gini), SIGNED, ONE_SIDED, "Somers 1962", default=False),
    per_class("partial_roc_auc", "PartialROCAUC", "ROC AUC up to a false positive rate", each(curves.partial_auc), UNIT,
        ONE_SIDED, "McClish 1989", default=False),
    per_class("average_precision", "AveragePrecision", "Average precision", each(average_precision), UNIT, NO_SAMPLES,
        f"{DOERING}; Zhu 2004"),
    whole("average_precision_ovr", "MacroAveragePrecision", "Average precision, mean over classes",
        over_classes(average_precision), UNIT, NONE_DEFINED, SKLEARN,
        summary="Mean average precision over the classes.",
        definition="sum AP_k / K' over the K' classes where it is defined",
        notes="Classes for which it is undefined are left out, whatever `zero_division` is."),
    whole("average_precision_ovr_weighted", "WeightedAveragePrecision", "Average precision, mean by support",
        over_classes(average_precision, by_support=True), UNIT, NONE_DEFINED, SKLEARN, default=False,
        summary="Mean average precision over the classes, weighted by their samples.",
        definition="sum t_k AP_k / sum t_k over the classes where it is defined",
        notes="Classes for which it is undefined are left out, whatever `zero_division` is."),
    whole("average_precision_micro", "MicroAveragePrecision", "Average precision, scores pooled",
        pooled(average_precision), UNIT, NO_DATA, SKLEARN,
        summary="Average precision of all scores of all classes together.",
        definition="sum (R_n - R_{n-1}) P_n over the distinct scores of all classes, high to low"),
    per_class("pr_auc_trapezoid", "PRAUCTrapezoid", "PR area, straight lines", each(pr_auc_trapezoid), UNIT, NO_SAMPLES,
        "Davis and Goadrich 2006; Sing et al. 2005 (ROCR)", default=False),
    whole("pr_auc_trapezoid_ovr", None, "PR area, straight lines, mean over classes",
        over_classes(pr_auc_trapezoid), UNIT, NONE_DEFINED, "Sing et al. 2005 (ROCR)", default=False,
        summary="Mean over the classes of the precision-recall area with straight lines.",
        definition="sum PR_k / K' over the K' classes where it is defined"),
)

POINTS = family(
    "Points of curves",
    per_class("tpr_at_fpr", "TPRAtFPR", "True positive rate at a false positive rate", each(curves.tpr_at_fpr), UNIT,
        ONE_SIDED, "Fawcett 2006", default=False),
    per_class("precision_at_recall", "PrecisionAtRecall", "Precision at a recall", each(curves.precision_at_recall),
        UNIT, NO_SAMPLES, DOERING, default=False),
    per_class("ks_statistic", "KSStatistic", "Kolmogorov-Smirnov distance", each(curves.ks_statistic), UNIT, ONE_SIDED,
        "Smirnov 1948"),
)

CALIBRATION = family(
    "Calibration",
    per_class("expected_calibration_error", "ExpectedCalibrationError", "Expected calibration error",
        each(calibration.expected_calibration_error), UNIT, NO_PROBABILITY, "Naeini et al. 2015", "lower"),
    per_class("maximum_calibration_error", "MaximumCalibrationError", "Maximum calibration error",
        each(calibration.maximum_calibration_error), UNIT, NO_PROBABILITY, "Naeini et al. 2015", "lower",
        default=False),
    per_class("debiased_calibration_error", "DebiasedCalibrationError", "Calibration error without noise",
        each(calibration.debiased_calibration_error), UNIT, NO_PROBABILITY, "Kumar et al. 2019", "lower",
        default=False),
    whole("expected_calibration_error_ovr", "MacroCalibrationError", "Calibration error, mean over classes",
        over_classes(calibration.expected_calibration_error), UNIT, NO_PROBABILITY, "Kull et al. 2019", "lower",
        summary="Mean over the classes of the expected calibration error, known as classwise ECE.",
        definition="sum ECE_k / K' over the K' classes where it is defined",
        notes="Classes for which it is undefined are left out, whatever `zero_division` is."),
    top("expected_calibration_error_top", None, "Calibration error of the prediction",
        only(calibration.expected_calibration_error), UNIT, NO_PROBABILITY, f"{GUO}, eq. 3", "lower",
        summary="Expected calibration error of the largest score of each sample.",
        definition="sum_b w_b / W abs(accuracy_b - confidence_b) over the bins b"),
    top("maximum_calibration_error_top", None, "Maximum calibration error of the prediction",
        only(calibration.maximum_calibration_error), UNIT, NO_PROBABILITY, f"{GUO}, eq. 5", "lower", default=False,
        summary="Maximum calibration error of the largest score of each sample.",
        definition="max_b abs(accuracy_b - confidence_b) over the bins b"),
    top("debiased_calibration_error_top", None, "Calibration error of the prediction without noise",
        only(calibration.debiased_calibration_error), UNIT, NO_PROBABILITY, "Kumar et al. 2019", "lower",
        default=False,
        summary="Calibration error of the largest score of each sample, without the noise of the bins.",
        definition=(
            "sqrt(max(0, sum_b n_b / n ((accuracy_b - confidence_b)^2 - v_b / n_b))) with the variance v_b of "
            "truth less score")),
    top("confidence_auc", None, "ROC AUC of confidence for being right", only(ranks.roc_auc), UNIT,
        "never right, or never wrong", "Hendrycks and Gimpel 2017", default=False,
        summary="Probability that a right prediction has a larger score than a wrong one.",
        definition="P(s_right > s_wrong) + P(s_right = s_wrong) / 2"),
)

LOSSES = family(
    "Losses of probabilities",
    loss("log_loss", "LogLoss", "Log loss (cross-entropy)", losses.log_loss, AMOUNT, NO_DATA, f"{GRANDINI}, eq. 20-23",
        "lower", alias="CrossEntropy"),
    loss("brier_score", "BrierScore", "Brier score", losses.brier_score, (0.0, 2.0), NO_DATA, "Brier 1950", "lower"),
    loss("spherical_score", "SphericalScore", "Spherical score", losses.spherical_score, UNIT, NO_DATA, "Roby 1965",
        default=False),
    loss("top_k_accuracy", "TopKAccuracy", "Accuracy of the k largest", losses.top_k_accuracy, UNIT, NO_DATA, SKLEARN),
)

SCORES = (*AREAS, *POINTS, *CALIBRATION, *LOSSES)
