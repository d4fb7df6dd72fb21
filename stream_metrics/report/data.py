"""A snapshot as plain data: dictionaries for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from stream_metrics.catalog.obstacles import SQUARE_LIMIT
from stream_metrics.catalog.table import CATALOG, LABEL_VALUED
from stream_metrics.labels import Label, ordering
from stream_metrics.labels.json_names import label_names
from stream_metrics.ranking.protocol import Certified

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["names_of", "to_dict"]

Bound: TypeAlias = dict[str, float]  # low, high, se


def to_dict(snapshot: Snapshot) -> dict[str, Any]:
    """Return everything as plain Python types; see `Snapshot.to_dict`."""
    names = names_of(snapshot)
    own = [names[label] for label in snapshot.labels]
    values: dict[str, dict[str, Any]] = {"whole": {}, "per_class": {}, "matrix": {}}
    undefined: list[str | list[str]] = []
    computable = snapshot.computable_keys()
    for key in computable:
        value, lost = snapshot.evaluation.value_and_undefined(key)
        row = CATALOG[key]
        if row.kind == "per_class":
            keyed = own if row.state == "counts" else [names[label] for label in snapshot.evaluation.labels_of(row)]
            value = dict(zip(keyed, value.tolist()))  # noqa: B905  (strict costs a tenth of all)
        elif row.kind == "matrix":
            value = value.tolist()
        elif key in LABEL_VALUED:
            value = names.get(value)
        values[row.kind][key] = value
        if lost:
            undefined += [key] if lost is True else [[key, names[label]] for label in lost]
    data = {
        "n": snapshot.n,
        "weight": snapshot.weight,
        "abstained": snapshot.abstained,
        "labels": own,
        "confusion_matrix": _matrix(snapshot),
        "metrics": values["whole"],
        "per_class": values["per_class"],
        "matrices": values["matrix"],
        "undefined": undefined,
        "omitted": dict(snapshot.omitted),
        "warnings": list(snapshot.warnings),
    }
    if options := snapshot.evaluation.options:
        data["options"] = {
            key: {name: _plain_option(value) for name, value in own.items()} for key, own in options.items()
        }
    if snapshot.interval_display is not None:
        data["intervals"] = _intervals(snapshot, names)
    if "ranks" in snapshot.evaluation.states:
        data["scores"] = {"n": snapshot.scored, "bounds": _bounds(snapshot, names)}
    return data


def _plain_option(value: object) -> object:
    """Return an option as JSON has it: weights of classes by the names of the classes."""
    if isinstance(value, Mapping):
        return dict(zip(label_names(list(value)), value.values(), strict=True))
    return list(value) if isinstance(value, tuple) else value


def names_of(snapshot: Snapshot) -> dict[Label, str]:
    """Return the JSON name of every label, of the matrix and of the scores."""
    labels = list(snapshot.labels)
    if "ranks" in snapshot.evaluation.states:
        labels += [label for label in snapshot.evaluation.views["ranks"].labels if label not in set(labels)]
        labels = [labels[i] for i in ordering(labels)]
    return dict(zip(labels, label_names(labels), strict=True))


def _bounds(snapshot: Snapshot, names: dict[Label, str]) -> dict[str, Bound | dict[str, Bound]]:
    """Return low, high and standard error of every chosen value that is not exact, by key, or by key and class."""
    bounds_by_key: dict[str, Bound | dict[str, Bound]] = {}
    for key in snapshot.computable_keys():
        estimate = snapshot.evaluation.estimates(key) if CATALOG[key].state != "counts" else None
        if isinstance(estimate, Certified) and estimate.low < estimate.high:
            bounds_by_key[key] = _bound(estimate)
        elif isinstance(estimate, list) and CATALOG[key].kind == "per_class":
            labels = snapshot.evaluation.labels_of(CATALOG[key])
            open_ones = {names[a]: _bound(e) for a, e in zip(labels, estimate, strict=True) if e.low < e.high}
            bounds_by_key.update({key: open_ones} if open_ones else {})
    return bounds_by_key


def _intervals(snapshot: Snapshot, names: dict[Label, str]) -> dict[str, Any]:
    """Return the intervals of the chosen values by key, or by key and class, as far as they have one."""
    shown = snapshot.interval_display
    assert shown is not None
    data: dict[str, Any] = {"level": shown.level, "valid": shown.valid, "metrics": {}, "per_class": {}}
    if snapshot.evaluation.folds:
        data["folds"] = len(snapshot.evaluation.folds)
    if reason := snapshot.interval_problem():
        data["reason"] = reason
    for key in snapshot.computable_keys():
        bounds = snapshot.displayed_interval(key)
        if isinstance(bounds, dict):
            data["per_class"][key] = {names[label]: _plain_bounds(one) for label, one in bounds.items()}
        elif bounds is not None:
            data["metrics"][key] = _plain_bounds(bounds)
    return data


def _plain_bounds(interval: Interval) -> dict[str, float | str]:
    note = {"note": interval.note} if interval.note else {}
    return {"low": interval.low, "high": interval.high, "method": interval.method, **note}


def _bound(estimate: Certified) -> Bound:
    return {"low": estimate.low, "high": estimate.high, "se": estimate.se}


def _matrix(snapshot: Snapshot) -> object:
    if "counts" not in snapshot.evaluation.views:
        return []
    if snapshot.evaluation.views["counts"].k <= SQUARE_LIMIT:
        return snapshot.confusion_matrix.tolist()
    rows, columns, values = snapshot.evaluation.views["counts"].cells()
    return {"rows": rows.tolist(), "columns": columns.tolist(), "values": values.tolist()}
