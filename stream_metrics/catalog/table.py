"""The table of metrics: the row of each key."""

from __future__ import annotations

from stream_metrics.catalog.labels import LABELS
from stream_metrics.catalog.scores import SCORES
from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.errors import UnknownKeyError

__all__ = ["ALIASES", "CATALOG", "CLASS_ROWS", "LABEL_VALUED", "MetricSpec", "UnknownMetricError", "find"]

CATALOG: dict[str, MetricSpec] = {row.key: row for row in (*LABELS, *SCORES)}
CLASS_ROWS = {name: row for row in CATALOG.values() for name in (row.class_name, row.alias) if name}
ALIASES = {
    "acc": "accuracy",
    "error_rate": "zero_one_loss",
    "mcc": "matthews_corrcoef",
    "kappa": "cohen_kappa",
    "quadratic_kappa": "weighted_kappa_quadratic",
    "g_mean": "geometric_mean",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "auprc": "average_precision",
    "ks": "ks_statistic",
    "ece": "expected_calibration_error",
    "mce": "maximum_calibration_error",
    "brier": "brier_score",
    "logloss": "log_loss",
    "cross_entropy": "log_loss",
    "tpr": "recall",
    "sensitivity": "recall",
    "tnr": "specificity",
    "ppv": "precision",
    "fpr": "false_positive_rate",
    "fnr": "false_negative_rate",
    "fdr": "false_discovery_rate",
    "for": "false_omission_rate",
    **{
        f"{name}_{mean}": f"{mean}_{name}"
        for name in ("precision", "recall", "f1", "jaccard", "fbeta")
        for mean in ("macro", "micro", "weighted")
    },
}  # other spellings of keys: abbreviations, and the names of scorers in scikit-learn
LABEL_VALUED = frozenset({"majority_class"})  # keys whose value is a label, not a number


class UnknownMetricError(UnknownKeyError):
    """A key that no row of the table has; the message names the closest ones.

    Parameters
    ----------
    key : object
        The key.
    listing : str
        What lists all keys, in words, such as a function or a command.
    """

    def __init__(self, key: object, listing: str = "stream_metrics.metrics() lists them") -> None:
        super().__init__(_suggest(key, listing))
        self.args = self.key, self.listing = key, listing
        self.argument, self.expected = "key", "to be that of a metric"
        self.got = key if isinstance(key, str) else f"{key!r:.60}"

    def __str__(self) -> str:
        return _suggest(self.key, self.listing)


def find(key: str) -> MetricSpec:
    """Return the row of a key or alias; `UnknownMetricError`, a KeyError, suggests keys where there is none."""
    row = (CATALOG.get(key) or CATALOG.get(ALIASES.get(key, ""))) if isinstance(key, str) else None
    if row is None:
        raise UnknownMetricError(key)
    return row


def _suggest(key: object, listing: str) -> str:
    if (row := CLASS_ROWS.get(str(key))) is not None:
        return f"Expected the key of a metric, but got the class name {key!r}: its key is {row.key!r}"
    import difflib

    # functions of scikit-learn end in _score
    close = difflib.get_close_matches(str(key).lower().removesuffix("_score"), [*CATALOG, *ALIASES], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(map(repr, close))}?" if close else listing
    return f"Expected the key of a metric, but got {key!r}; {hint}"
