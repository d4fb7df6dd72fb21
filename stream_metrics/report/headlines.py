"""The headline metrics: which ones each front end shows, in its order, and their titles in columns.

A front end shows as many as fit: a report has a line for each, a row of running values has 80 columns. The catalogue
has the titles; `COLUMNS` has those of columns, in full and short.
"""

from __future__ import annotations

from stream_metrics.catalog.table import CATALOG
from stream_metrics.report.layout import shorten

REPORT = ("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "matthews_corrcoef", "cohen_kappa")
PER_CLASS = ("support", "predicted_count", "precision", "recall", "f1", "specificity", "ova_matthews_corrcoef")
COMPARED = ("accuracy", "balanced_accuracy", "macro_f1", "cohen_kappa", "matthews_corrcoef")
COMPARED_LOSSES = ("log_loss", "brier_score")
COMPARED_RANKS = ("roc_auc_ovr", "average_precision_ovr")
COMPARED_BINARY_RANKS = ("roc_auc", "average_precision")
GROUPS = (  # groups are ranked by the first one that they have
    "balanced_accuracy",
    "accuracy",
    "macro_f1",
    "matthews_corrcoef",
    "roc_auc",
    "roc_auc_ovr",
    "log_loss",
    "brier_score",
)
TABLE_OF_SCORES = ("roc_auc_ovr", "average_precision_ovr", "log_loss", "brier_score")  # columns after those of REPORT
RUNNING = ("accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef", "cohen_kappa")
RUNNING_WITH_SCORES = ("accuracy", "macro_f1", "matthews_corrcoef", "log_loss", "roc_auc_ovr")
MONITOR = ("accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef")  # unless the configuration names others
MONITOR_VIEW = (
    "accuracy",
    "balanced_accuracy",
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "weighted_f1",
    "cohen_kappa",
    "matthews_corrcoef",
    "no_information_rate",
)
MONITOR_VIEW_OF_SCORES = ("roc_auc_ovr", "log_loss", "brier_score", "expected_calibration_error_top")

LINES = {  # the title in a report, where it is not that of the catalogue
    "matthews_corrcoef": "MCC (Matthews)",
    "log_loss": "Log loss",
}
COLUMNS = {
    "support": ("support", "true"),
    "predicted_count": ("predicted", "pred"),
    "precision": ("precision", "prec"),
    "recall": ("recall", "recall"),
    "f1": ("F1", "F1"),
    "jaccard": (None, "Jaccard"),
    "specificity": ("specificity", "spec"),
    "ova_matthews_corrcoef": ("MCC", "MCC"),
    "roc_auc": ("ROC AUC", "AUC"),
    "average_precision": ("avg. precision", "AP"),
    "expected_calibration_error": ("calibr. error", "ECE"),
    "accuracy": (None, "Accuracy"),
    "balanced_accuracy": (None, "Balanced"),
    "macro_f1": (None, "Macro F1"),
    "matthews_corrcoef": (None, "MCC"),
    "cohen_kappa": (None, "Kappa"),
    "roc_auc_ovr": (None, "AUC ovr"),
    "log_loss": (None, "Log loss"),
    "brier_score": (None, "Brier"),
}  # in full, None if that is the title of the catalogue, and short


def column_title(key: str) -> str:
    """Return the heading of a column."""
    full, _ = COLUMNS.get(key, (None, None))
    return full or CATALOG[key].title


def short_title(key: str) -> str:
    """Return the heading of a narrow column."""
    _, short = COLUMNS.get(key, (None, None))
    return short or shorten(column_title(key), 8)


def inline_title(key: str) -> str:
    """Return a short name inside a sentence or a row of values, such as "macro F1" or "MCC"."""
    _, short = COLUMNS.get(key, (None, None))
    name = short or key.replace("_", " ")
    return name[0].lower() + name[1:] if name[1:2].islower() else name
