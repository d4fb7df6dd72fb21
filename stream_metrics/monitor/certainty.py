"""How sure the shown values are: an interval beside each metric and each rate of a class that can have one.

A window slides, so what it estimates moves: its intervals are for one look. The total starts once and is looked at all
the time: its intervals are valid for all looks together, and wider. Areas by class have none here, since the page reads
them a few times a second and each takes milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stream_metrics.inference.intervals import Interval
from stream_metrics.labels import Label
from stream_metrics.snapshot import Snapshot

__all__ = ["LEVEL", "class_intervals", "intervals"]

LEVEL = 0.95
Bounds = list[float]


def intervals(snapshot: Snapshot, keys: Sequence[str], valid: str) -> tuple[dict[str, Bounds], dict[str, str]]:
    """Return [low, high] of those metrics that have an interval, and why those with a note are not to be trusted."""
    found: dict[str, Bounds] = {}
    notes: dict[str, str] = {}
    for key in keys:
        one = _found(snapshot, key, valid)
        bounds = _bounds(one)
        if bounds is not None:
            found[key] = bounds
            if one.note:
                notes[key] = one.note
    return found, notes


def class_intervals(snapshot: Snapshot, keys: Sequence[str], valid: str) -> dict[str, dict[Label, Bounds]]:
    """Return [low, high] of per-class metrics, by metric and label, where there is one."""
    found: dict[str, dict[Label, Bounds]] = {}
    for key in keys:
        by_label = _found(snapshot, key, valid) or {}
        found[key] = {label: bounds for label, each in by_label.items() if (bounds := _bounds(each)) is not None}
    return found


def _found(snapshot: Snapshot, key: str, valid: str) -> Any:
    """Return what the snapshot says; None if the metric has no interval, or the samples have weights."""
    try:
        return snapshot.interval(key, LEVEL, valid=valid)
    except (KeyError, ValueError):
        return None


def _bounds(found: Interval | None) -> Bounds | None:
    known = found is not None and math.isfinite(found.low) and math.isfinite(found.high)
    return [found.low, found.high] if found is not None and known else None
