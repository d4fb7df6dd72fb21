"""Everything that is shown of a monitor, as data that JSON can hold: the contract of page, API, exporter and alerts.

Counts are read by window; everything else (the join, lag, checkpoints, alerts ...) is passed in by the caller and put
into the same form. Nothing here is nan or infinite: that is null. Labels and groups are text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stream_metrics.labels.json_names import json_data
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counting import TOTAL, Counts
from stream_metrics.monitor.window_reading import Reading, read
from stream_metrics.monitor.window_view import window_view

__all__ = ["VERSION", "view"]

VERSION = 1
JOIN = (
    "pending",
    "joined",
    "labels_unmatched",
    "labels_late",
    "labels_duplicate",
    "predictions_duplicate",
    "predictions_expired",
    "corrections",
    "corrections_refused",
)
UNKNOWN: dict[str, Any] = {
    "started": None,
    "history": {},
    "join": dict.fromkeys(JOIN, 0),
    "delays": {"le": [], "counts": [], "sum": 0.0},
    "records": {"read": 0, "rejected": {}, "per_second": None},
    "lag": {"records": None, "seconds": None},
    "checkpoint": {"age": None, "duration": None, "bytes": None},
    "partitions": [],
    "incomplete": [],
    "alerts": [],
    "changes": [],
    "dead_letters": [],
}  # what stands where nothing is handed in


def view(
    readings: Mapping[str, Reading],
    config: Counting,
    statistics: Mapping[str, Any],
    *,
    now: float,
    event_time: float | None = None,
    extra_metrics: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the whole view of what `read` returned, whose states are taken over; {} if there are no counts.

    `statistics` has any of the keys of `UNKNOWN`; ValueError for others. `now` is the time of the clock, `event_time`
    that of the events; `extra_metrics` are in it beside those that always are.
    """
    unknown = statistics.keys() - UNKNOWN.keys()
    if unknown:
        raise ValueError(f"Expected `statistics` to have keys of {sorted(UNKNOWN)}, but got {sorted(unknown)}")
    readings = readings or read([Counts(config)])
    rest = {key: json_data(statistics.get(key, empty)) for key, empty in UNKNOWN.items()}
    return {
        "version": VERSION,
        "title": config.title,
        "now": now,
        "started": rest.pop("started"),
        "event_time": event_time,
        "windows": list(readings),
        "headline": list(config.metrics),
        "by_window": {
            name: window_view(reading, config.metrics, extra_metrics, "anytime" if name == TOTAL else "fixed")
            for name, reading in readings.items()
        },
        **rest,
    }
