"""The table of metrics that need labels only: accuracy and the averages over classes.

A value other than the default of an option is a row of its own if it has its own name in the literature, or is often
asked for; its key carries the value. A row that needs something from the caller (a beta, class weights, an order of the
classes) is not in a default snapshot.
"""
# fmt: off

from __future__ import annotations

import math
from functools import partial

from stream_metrics.catalog.spec import (
    BLEIK,
    GRANDINI,
    ITAI_KATZ,
    NO_DATA,
    RIJSBERGEN,
    SIGNED,
    SKLEARN,
    UNIT,
    family,
    whole,
)
from stream_metrics.formulas import accuracy, averages

__all__ = ["ACCURACY", "AVERAGES"]

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
    whole("general_f1_geometric", None, "Geometric mean of F1",
        partial(averages.general_f1, average="geometric", p=None), UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2",
        summary="Geometric mean of F1 over the classes.",
        definition="(prod F1_k)^(1/K)"),
    whole("general_f1_harmonic", None, "Harmonic mean of F1", partial(averages.general_f1, average="harmonic", p=None),
        UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2",
        summary="Harmonic mean of F1 over the classes.",
        definition="K / sum (1 / F1_k), 0 if some F1_k is 0"),
    whole("general_f1_power_2", None, "Quadratic mean of F1", partial(averages.general_f1, average="power", p=2.0),
        UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2",
        summary="Quadratic mean of F1 over the classes.",
        definition="sqrt(sum F1_k^2 / K)"),
    whole("general_fowlkes_mallows", "GeneralFowlkesMallows", "General Fowlkes-Mallows",
        averages.general_fowlkes_mallows, UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2"),
    whole("general_fowlkes_mallows_geometric", None, "Geometric mean of Fowlkes-Mallows",
        partial(averages.general_fowlkes_mallows, average="geometric", p=None), UNIT, NO_DATA,
        f"{ITAI_KATZ}, sec. 3.2.2",
        summary="Geometric mean of Fowlkes-Mallows over the classes.",
        definition="(prod FM_k)^(1/K)"),
    whole("general_fowlkes_mallows_harmonic", None, "Harmonic mean of Fowlkes-Mallows",
        partial(averages.general_fowlkes_mallows, average="harmonic", p=None), UNIT, NO_DATA,
        f"{ITAI_KATZ}, sec. 3.2.2",
        summary="Harmonic mean of Fowlkes-Mallows over the classes.",
        definition="K / sum (1 / FM_k), 0 if some FM_k is 0"),
    whole("general_fowlkes_mallows_power_2", None, "Quadratic mean of Fowlkes-Mallows",
        partial(averages.general_fowlkes_mallows, average="power", p=2.0), UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2",
        summary="Quadratic mean of Fowlkes-Mallows over the classes.",
        definition="sqrt(sum FM_k^2 / K)"),
    whole("power_mean_all_precision_recall", None, "Power mean of all precisions and recalls",
        averages.power_mean_all_precision_recall, UNIT, NO_DATA, f"{ITAI_KATZ}, sec. 3.2.2", default=False),
)
