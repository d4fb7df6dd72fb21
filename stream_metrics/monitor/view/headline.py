"""The metrics that a view shows first, and keys of metrics of one class: `recall["fraud"]`, as rules spell them.

Where one class makes up nearly all samples, always predicting it is nearly always right: an accuracy of 0.9995 says
nothing of a fraud model. Then the headline is about the rare class, unless the configuration names metrics.
"""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np

from stream_metrics.catalog.table import CATALOG, MetricSpec
from stream_metrics.labels import Label
from stream_metrics.monitor.view.names import names_of
from stream_metrics.report.headlines import MONITOR
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["class_key", "headline", "labelled", "spec", "split_key"]

COMMON = 0.95  # the share of the most frequent class from which the others are rare
LEAST = 100  # samples
OF_MANY = ("balanced_accuracy", "macro_precision", "macro_f1", "matthews_corrcoef")


def class_key(key: str, name: str) -> str:
    """Return the key of a metric of the class that is shown as `name`."""
    return f"{key}[{json.dumps(name, ensure_ascii=False)}]"


@lru_cache(maxsize=1024)
def split_key(key: str) -> tuple[str, str | None]:
    """Return the key of the catalog, and the name of the class or None."""
    metric, bracket, rest = key.partition("[")
    return metric, json.loads(rest[:-1]) if bracket else None


def spec(key: str) -> MetricSpec:
    """Return the row of the catalog."""
    return CATALOG[split_key(key)[0]]


def labelled(snapshot: Snapshot, key: str) -> tuple[str, Label | None]:
    """Return the key of the catalog and the class, or None; KeyError if the snapshot has no such class."""
    metric, name = split_key(key)
    if name is None:
        return metric, None
    return metric, dict(zip(names_of(snapshot.labels), snapshot.labels, strict=True))[name]


def headline(total: Snapshot) -> tuple[str, ...]:
    """Return the metrics to show first, by how rare the classes are of all samples since the start."""
    support = np.asarray(total.evaluation.value_and_undefined("support")[0], float)
    if not support.sum() >= LEAST or support.max() < COMMON * support.sum() or len(support) < 2:
        return MONITOR
    if len(support) > 2:
        return OF_MANY
    rare = names_of(total.labels)[int(support.argmin())]
    scored = total.scored and total.labels[int(support.argmin())] in total.per_class["average_precision"]
    keys = ("recall", "precision", *(("average_precision",) if scored else ()))
    return (*(class_key(key, rare) for key in keys), "matthews_corrcoef")
