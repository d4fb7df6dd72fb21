"""What metrics are called in Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["PREFIX", "metric_name"]

PREFIX = "stream_metrics_"
RESERVED = ("_total", "_sum", "_count", "_bucket")
NAMES = {"matthews_corrcoef": "mcc"}


def metric_name(key: str, bounds: Sequence[float | None]) -> str:
    """Return the name of a metric, without the prefix; endings that are those of counters are not left last."""
    if key.endswith(RESERVED):
        return f"{key}_now"
    ratio = list(bounds) == [0, 1] and not key.endswith("_ratio")
    return NAMES.get(key, f"{key}_ratio" if ratio else key)
