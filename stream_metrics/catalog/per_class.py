"""The table of metrics, continued: values per class, counts, baselines."""
# fmt: off

from __future__ import annotations

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
    UNIT,
    MetricSpec,
    family,
    matrix,
    per_class,
    whole,
)
from stream_metrics.formulas import baselines, counts, rates

__all__ = ["BASELINES", "COUNTS", "PER_CLASS"]


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
