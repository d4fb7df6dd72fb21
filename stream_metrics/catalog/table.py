"""The table of metrics: the row of each key, and what users see of it, without the functions that compute it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from stream_metrics.catalog.labels import LABELS
from stream_metrics.catalog.scores import SCORES
from stream_metrics.catalog.spec import Bounds, Direction, Kind, MetricSpec
from stream_metrics.errors import UnknownKeyError

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

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


class MetricInfo(NamedTuple):
    """What is known of one metric.

    Parameters
    ----------
    key : str
        The key in snapshots and sets.
    title : str
        The name in reports.
    class_name : str or None
        The class of the package that computes it alone; None if there is none.
    aliases : tuple of str
        Other spellings of the key.
    kind : {"whole", "per_class", "matrix"}
        Whether the value is one number, one for each class, or one for each pair of classes.
    reads : {"labels", "scores"}
        What the metric is computed from.
    range : tuple of float
        Smallest and largest value.
    better : {"higher", "lower"} or None
        The better direction, where there is one.
    formula : str
        The formula in words and symbols.
    undefined : str
        When the value is 0/0.
    source : str
        Where the metric comes from.
    summary : str
        One sentence.

    Notes
    -----
    Formula and summary are read from docstrings, so that most are empty under ``python -OO``, which drops these.
    """

    key: str
    title: str
    class_name: str | None
    aliases: tuple[str, ...]
    kind: Kind
    reads: str
    range: Bounds
    better: Direction
    formula: str
    undefined: str
    source: str
    summary: str


class MetricTable(Mapping[str, MetricInfo]):
    """All metrics by key, in the order of the catalog; printed as a table."""

    def __getitem__(self, key: str) -> MetricInfo:
        """Return the metric of a key or an alias; KeyError suggests keys where there is none."""
        return _info(find(key))

    def __contains__(self, key: object) -> bool:
        """Tell whether there is such a key or alias."""
        return key in CATALOG or key in ALIASES

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(CATALOG)

    def _ipython_key_completions_(self) -> list[str]:
        """Return what notebooks complete in brackets."""
        return list(self)

    def __len__(self) -> int:
        """Number of metrics."""
        return len(CATALOG)

    def to_frame(self) -> pandas.DataFrame:
        """Return the table as a pandas data frame, a row for each metric.

        Returns
        -------
        pandas.DataFrame
            The columns are the fields of `MetricInfo`, the index is the key.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        import pandas

        return pandas.DataFrame([info._asdict() for info in self.values()]).set_index("key")

    def __repr__(self) -> str:
        """Return one line for each metric: key, title, range and source."""
        width, titles = (max(map(len, column)) for column in (self, [info.title for info in self.values()]))
        return "\n".join(
            f"{info.key:<{width}}  {info.title:<{titles}}  {format_range(info.range):<11}  {info.source}"
            for info in self.values()
        )


def metrics() -> MetricTable:
    """Return every metric of the catalog with title, range, formula and source.

    Returns
    -------
    MetricTable
        A mapping from key to `MetricInfo`. It prints as a table, and `to_frame` makes a data frame of it.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> sm.metrics()["macro_f1"].range
    (0.0, 1.0)
    >>> "mcc" in sm.metrics(), sm.metrics()["mcc"].key
    (True, 'matthews_corrcoef')
    >>> [key for key, info in sm.metrics().items() if info.better == "lower" and info.kind == "whole"][:2]
    ['zero_one_loss', 'expected_calibration_error_ovr']
    """
    return MetricTable()


def _info(row: MetricSpec) -> MetricInfo:
    return MetricInfo(
        row.key,
        row.title,
        row.class_name,
        tuple(alias for alias, key in ALIASES.items() if key == row.key),
        row.kind,
        "labels" if row.state == "counts" else "scores",
        (row.low, row.high),
        row.direction,
        row.definition,
        row.undefined_when,
        row.source,
        row.summary,
    )


def format_range(bounds: Bounds) -> str:
    """Return a range as text, such as `[0, 1]` or `[0, inf)`."""
    low, high = bounds
    return f"{'(' if low == -float('inf') else '['}{low:g}, {high:g}{')' if high == float('inf') else ']'}"
