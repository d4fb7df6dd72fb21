"""Which metrics can have an interval, and by which method.

**Methods**, by measured coverage (`benchmarks/coverage.py`; the figures stand in `benchmarks/README.md`):

proportions   "wilson", and "clopper_pearson" below 20 hits or misses. Accuracy and what follows from it; and per class
              every rate, because among the samples that its denominator counts the numerator is binomial. F1 =
              2 J / (1 + J) rises with the Jaccard index J, a proportion, and takes its interval; so does micro Jaccard
              with the accuracy, a / (2 - a).
other counts  "delta": the standard error from the gradient, the interval on the logit scale of the metric's range.
              "posterior" instead where the cells do not allow it (see `adequacy`): there a normal distribution does
              not describe the metric, and the bootstrap is no cure. It is not narrower than the delta interval, because
              with a handful of errors its prior weighs. Whole values, values of classes, options and functions follow
              the same rule. Cramer's V is folded, or chi-square is inverted, because it cannot be below 0.
              A mean over classes some of which have next to no samples is biased, and no interval around it holds the
              truth as often as it says; its interval has a note. Kappa, MCC and weighted F1 do not lean on such
              classes, and have none.
areas         "delong" for ROC areas, "influence" for average precision and the area by trapezoids, on the logit scale,
              with the standard error of the sketch and never inside its certified interval. Where a few samples make
              up the standard error it is widened, and below 10 samples of a class (20 for precision) there is a note.
              Means over classes, and scores of all classes pooled, are wider than necessary, because a sketch
              does not keep which scores belong to one sample: measured coverage 97 to 100 %.
units         "folds" for all of these, and for losses and micro areas, once samples have units; see `folds`.
losses        "student" from sums and sums of squares: the mean on the logit scale, and one more sample with the worst
              loss (`losses`).
calibration   "noncentral" for the error without the noise of the bins: what a chi-square distribution does not refute.
              The other calibration errors are biased by that noise.
points        "band" for the Kolmogorov-Smirnov distance, coverage 99.7 to 100 %; "posterior" of the rows of the sketch,
              not narrower than the bootstrap, for what else is read off a curve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stream_metrics.catalog.spec import SQUARE_LIMIT, MetricSpec
from stream_metrics.catalog.table import CATALOG
from stream_metrics.formulas.protocol import Form, NumberOrArray
from stream_metrics.formulas.rates import FORMS
from stream_metrics.inference.intervals.gradients import (
    ANALYTIC,
    CELLS,
    MARGINS,
    OF_CELLS,
    PAIR_LIMIT,
    PER_CLASS,
    RATES,
)


class Share(NamedTuple):
    """A metric as a function of a proportion, which is given by the forms of its numerator and denominator."""

    numerator: Form
    denominator: Form
    to_metric: Callable[[NumberOrArray, NumberOrArray], NumberOrArray] | None = None


def _harmonic(share: NumberOrArray, _: NumberOrArray) -> NumberOrArray:
    return 2 * share / (1 + share)


def _jaccard(share: NumberOrArray, _: NumberOrArray) -> NumberOrArray:
    return share / (2 - share)


def _average(share: NumberOrArray, k: NumberOrArray) -> NumberOrArray:
    return (k - 2 + 2 * share) / k


RIGHT: tuple[Form, Form] = (1, 0, 0, 0), (0, 0, 0, 1)  # summed over the classes, the denominator once
SHARES: dict[str, Share] = {
    **dict.fromkeys(
        ("accuracy", "micro_f1", "micro_fbeta", "micro_precision", "micro_recall", "weighted_recall"), Share(*RIGHT)
    ),
    "average_accuracy": Share(*RIGHT, _average),
    "micro_jaccard": Share(*RIGHT, _jaccard),
    "zero_one_loss": Share((-1, 1, 0, 0), (0, 0, 0, 1)),
    **{key: Share(*form) for key, form in RATES.items()},
    **dict.fromkeys(("f1", "fbeta", "power_mean_precision_recall"), Share(*FORMS["jaccard"], _harmonic)),
    "f1_negative": Share((1, -1, -1, 1), (-1, 0, 0, 1), _harmonic),
}

AREAS = ("roc_auc", "gini", "roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "roc_auc_micro", "confidence_auc")
PRECISIONS = ("average_precision", "average_precision_ovr", "average_precision_ovr_weighted", "average_precision_micro",
              "pr_auc_trapezoid", "pr_auc_trapezoid_ovr")  # fmt: skip
CALIBRATED = ("debiased_calibration_error", "debiased_calibration_error_top")
POOLED = ("roc_auc_micro", "average_precision_micro")
POINTS = ("partial_roc_auc", "tpr_at_fpr", "precision_at_recall")

METHODS: dict[str, str] = {
    **dict.fromkeys((*MARGINS, *CELLS, *PER_CLASS), "delta"),
    **dict.fromkeys(SHARES, "wilson"),
    **dict.fromkeys(AREAS, "delong"),
    **dict.fromkeys(PRECISIONS, "influence"),
    "ks_statistic": "band",
    **dict.fromkeys(CALIBRATED, "noncentral"),
    **dict.fromkeys(POINTS, "posterior"),
    "top_k_accuracy": "wilson",
    **dict.fromkeys(("log_loss", "brier_score", "spherical_score"), "student"),
}
for _key in ("chi2", "expected_accuracy", "expected_accuracy_term"):
    METHODS.pop(_key)
# No standard error; biased near 0, its lowest value; scores that depend on each other: so no sequence.
ONE_LOOK = ("ks_statistic", *POINTS, "cramers_v", *POOLED, *CALIBRATED)
MOST_CLASSES: dict[str, int] = {  # derivatives are of all classes in all classes, or of all pairs in all cells
    **dict.fromkeys(MARGINS.keys() - ANALYTIC.keys(), SQUARE_LIMIT // 2),
    **dict.fromkeys(CELLS.keys() - OF_CELLS.keys(), PAIR_LIMIT),
    **dict.fromkeys(("weighted_kappa", "weighted_kappa_linear", "weighted_kappa_quadratic"), 4 * PAIR_LIMIT),
    "generalized_mcc": PAIR_LIMIT,
}

BINNED = "it is biased upwards by the noise of the bins; 'debiased_calibration_error' is not, and has an interval"
CHANCE = "it is what independent guessing with these totals would reach; 'prevalence' has intervals"
TEST = "a p-value or test statistic already is a statement about chance"
REFUSED: dict[str, str] = {
    "chi2": "it grows with the number of samples; 'cramers_v' is the measure to estimate",
    "expected_accuracy": CHANCE,
    "expected_accuracy_term": CHANCE,
    "roc_auc_single_score": "it is not offered for pairs of classes; 'roc_auc' has one",
    **{key: BINNED for key in CATALOG if "calibration_error" in key and key not in CALIBRATED},
}
WITH_UNITS = frozenset(METHODS) - {"ks_statistic", "cramers_v"} | {
    "log_loss",
    "brier_score",
    "spherical_score",
    "roc_auc_micro",
    "average_precision_micro",
    "pr_auc_trapezoid_ovr",
    "roc_auc_single_score",
}  # what folds of units give an interval: all that is not biased near its lowest value
FAMILIES = {
    "Counts": "it is a count, or follows from counts of another size; 'prevalence' and the rates are shares",
    "Baselines": "a baseline says what a guess would reach with these class frequencies; 'prevalence' has intervals",
    "Tests": TEST,
    "Printed mistakes": "it is a printed mistake, kept to compare with published numbers",
}


def refusal(row: MetricSpec) -> str | None:
    """Return why a metric has no interval; None if it has one."""
    if row.key in METHODS:
        return None
    if row.kind == "matrix":
        return "it is a matrix of values"
    return REFUSED.get(row.key) or FAMILIES.get(row.family) or "no method for it is known here"
