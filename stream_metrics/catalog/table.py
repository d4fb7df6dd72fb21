"""The table of metrics: the row of each key."""

from __future__ import annotations

import difflib

from stream_metrics.catalog.agreement import AGREEMENT, ASSOCIATION, LITERAL, ONE_AGAINST_ONE, SIGNIFICANCE
from stream_metrics.catalog.averages import ACCURACY, AVERAGES
from stream_metrics.catalog.per_class import BASELINES, COUNTS, PER_CLASS
from stream_metrics.catalog.scores import SCORES
from stream_metrics.catalog.spec import MetricSpec

__all__ = ["CATALOG", "LABEL_VALUED", "MetricSpec", "UnknownMetricError", "find"]


LABELS = (
    *ACCURACY, *AVERAGES, *AGREEMENT, *ASSOCIATION, *ONE_AGAINST_ONE,
    *PER_CLASS, *COUNTS, *BASELINES, *SIGNIFICANCE, *LITERAL,
)  # fmt: skip
CATALOG: dict[str, MetricSpec] = {row.key: row for row in (*LABELS, *SCORES)}
LABEL_VALUED = frozenset({"majority_class"})  # keys whose value is a label, not a number


class UnknownMetricError(KeyError):
    """A key that no row of the table has; the message names the closest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


def find(key: str) -> MetricSpec:
    """Return the row of a key; `UnknownMetricError`, a KeyError, suggests keys where there is none."""
    row = CATALOG.get(key)
    if row is None:
        raise UnknownMetricError(_suggest(key))
    return row


def _suggest(key: object) -> str:
    names = {name: row.key for row in CATALOG.values() for name in (row.class_name, row.alias) if name}
    if key in names:
        return f"Expected the key of a metric, but got the class name {key!r}: its key is {names[str(key)]!r}"
    close = difflib.get_close_matches(str(key).lower(), CATALOG, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(map(repr, close))}?" if close else f"{__name__}.CATALOG lists them"
    return f"Expected the key of a metric, but got {key!r}; {hint}"
