"""The view for the evaluation of alert rules: of each window the values that rules name, and nothing else.

The view of a page has intervals, tables, matrices and curves, whose cost grows with classes and groups. Rules compare a
few numbers, and must not wait for the rest. The view of a page omits rare classes; this one has any that a rule names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.numbers import number_of
from stream_metrics.evaluation.warnings import matrix_mismatch
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.view.names import names_of
from stream_metrics.monitor.view.types import ClassRow, View, WindowView
from stream_metrics.monitor.view.window_reading import Reading
from stream_metrics.monitor.view.window_values import value
from stream_metrics.monitor.view.window_view import counted_view, group_rows, snapshot_of
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["Needs", "rule_view"]

COUNTS = {"support": "support", "predicted": "predicted_count"}


class Needs(NamedTuple):
    """What rules name, by window: metrics, values of classes, metrics of groups; and whether labels are compared."""

    metrics: Mapping[str, Sequence[str]] = {}
    classes: Mapping[str, Sequence[tuple[str, str]]] = {}  # the name of a value, and that of a class
    groups: Mapping[str, Sequence[str]] = {}
    mismatch: bool = False


def rule_view(readings: Mapping[str, Reading], operation: View, needs: Needs, now: float) -> View:
    """Return `operation` with what rules need of the windows, whose states are not copied."""
    parts = {name: _window(reading, name, needs) for name, reading in readings.items()}
    return structs.replace(operation, now=now, windows=list(readings), by_window=parts)


def _window(reading: Reading, name: str, needs: Needs) -> WindowView:
    snapshot = snapshot_of(reading.state)
    part = counted_view(snapshot, reading.covered, reading.late)
    part.metrics = {key: value(snapshot, key) for key in needs.metrics.get(name, ())}
    part.classes = _classes(snapshot, needs.classes.get(name, ()))
    if keys := needs.groups.get(name, ()):
        part.groups.rows = group_rows(reading.groups, keys)
    if needs.mismatch:
        part.mismatch = matrix_mismatch(snapshot.evaluation) or ""
    return part


def _classes(snapshot: Snapshot, wanted: Iterable[tuple[str, str]]) -> list[ClassRow]:
    """Return a row for each class that is named and was seen, with its samples and the values that are named."""
    labels = dict(zip(names_of(snapshot.labels), snapshot.labels, strict=True)) if wanted else {}
    rows: dict[str, ClassRow] = {}
    for key, name in wanted:
        if name in labels:
            if name not in rows:
                support, predicted = (_value(snapshot, row, labels[name]) or 0 for row in COUNTS.values())
                rows[name] = ClassRow(name, support, predicted, 0, None, None, None, None)
            if key not in COUNTS:
                setattr(rows[name], key, _value(snapshot, key, labels[name]))
    return list(rows.values())


def _value(snapshot: Snapshot, key: str, label: Label) -> float | None:
    if CATALOG[key].state == "ranks" and not snapshot.scored:
        return None
    return json_number(number_of(snapshot.evaluation, key, label))
