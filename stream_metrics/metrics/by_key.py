"""A metric by its key, for callers that know keys only."""

from __future__ import annotations

from typing import Any

from stream_metrics.catalog.table import find
from stream_metrics.metrics.metric import Metric, metric_class
from stream_metrics.metrics.metric_set import MetricSet

__all__ = ["metric_of_key"]


def metric_of_key(key: str, **options: Any) -> Metric | MetricSet:
    """Return a metric whose value is one number: of the class of the key, or else a set of this metric alone.

    Raises UnknownMetricError for no key, ValueError for values of each class and options that do not fit.
    """
    row = find(key)
    if row.class_name:
        return metric_class(row)(**options)
    if row.kind != "whole":
        raise ValueError(f"Expected the key of one number, but {row.key!r} has one for each class")
    unfit = sorted(options.keys() - {"zero_division"})
    if unfit:
        raise ValueError(f"Expected no option {unfit[0]!r} for {row.key!r}, which has no class of its own")
    return MetricSet([row.key], **options)
