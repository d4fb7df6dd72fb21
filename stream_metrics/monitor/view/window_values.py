"""One number of a snapshot, as a view has it."""

from __future__ import annotations

from stream_metrics.evaluation.numbers import number_of
from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.view.cutting import check_cut
from stream_metrics.monitor.view.headline import labelled
from stream_metrics.monitor.view.types import Number
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["value"]


def value(snapshot: Snapshot, key: str) -> Number | None:
    """Return one value; None if it is 0/0, infinite, or cannot be read from what was counted."""
    check_cut()
    try:
        return json_number(number_of(snapshot.evaluation, *labelled(snapshot, key)))
    except (KeyError, ValueError):
        return None
