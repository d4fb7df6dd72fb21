"""Snapshots as dictionaries for JSON, and as pandas tables in the order of the reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from stream_metrics.catalog.spec import SQUARE_LIMIT
from stream_metrics.catalog.table import CATALOG, LABEL_VALUED
from stream_metrics.evaluation.evaluation import number_of
from stream_metrics.labels import Label, ordering
from stream_metrics.labels.json_names import label_names
from stream_metrics.ranking.protocol import Certified
from stream_metrics.report import headlines
from stream_metrics.report.comparison import differences
from stream_metrics.report.content import BINARY, is_default, single_class
from stream_metrics.report.groups import ranked_groups

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.comparison import ComparisonSnapshot
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.multilabel import MultiLabelSnapshot
    from stream_metrics.snapshots.snapshot import Snapshot

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


Rows: TypeAlias = Literal["classes", "metrics"]
SnapshotRows: TypeAlias = Rows | Literal["confusion_matrix"]
FIRST_PER_CLASS = ("precision", "recall", "f1", "support", *headlines.PER_CLASS, *BINARY)
FIRST = (*headlines.REPORT, *BINARY, *headlines.TABLE_OF_SCORES)


def snapshot_frame(snapshot: Snapshot, rows: SnapshotRows) -> pandas.DataFrame:
    """Return a table of classes, of metrics of the whole or of the confusion matrix; see `Snapshot.to_frame`."""
    if rows == "confusion_matrix":
        truth, predicted = (_index(snapshot.labels, name) for name in ("y_true", "y_pred"))
        return _pandas().DataFrame(snapshot.confusion_matrix, index=truth, columns=predicted, copy=True)
    if rows not in ("classes", "metrics"):
        expected = "to be 'classes', 'metrics' or 'confusion_matrix'"
        raise ValueError(f"Expected `rows` {expected}, but got {rows!r}")
    return _class_frame(snapshot) if rows == "classes" else _metric_frame(snapshot)


def group_frame(groups: GroupSnapshot, rows: Rows) -> pandas.DataFrame:
    """Return a table with a row for each group, or for each class of each group; see `GroupSnapshot.to_frame`."""
    pd = _pandas()
    if groups and not isinstance(next(iter(groups.values())), Mapping):  # detectors, which have no metrics
        return pd.DataFrame([view.to_dict() for view in groups.values()], index=_index(list(groups), "group"))
    order = ranked_groups(groups)
    if _checked(rows) == "classes":
        frames = [_class_frame(groups[group]) for group in order]
        index = [(group, label) for group, frame in zip(order, frames, strict=True) for label in frame.index]
        table = pd.concat(frames) if frames else pd.DataFrame()
        pairs = [pd.Series([pair[at] for pair in index], dtype=object) for at in (0, 1)]
        return table.set_index(pd.MultiIndex.from_arrays(pairs, names=["group", "label"]))
    views = [groups[group] for group in order]
    columns: dict[str, list[Any]] = {"n": [view.n for view in views]}
    for key in dict.fromkeys(key for view in views for key in _whole_keys(view)):
        readable = [key in _whole_keys(view) and view.evaluation.obstacle(key) is None for view in views]
        pairs_of = list(zip(views, readable, strict=True))
        columns[key] = [number_of(view.evaluation, key) if there else math.nan for view, there in pairs_of]
        if any(view.interval_display for view in views):
            bounds = [_ends(view, key) if there else (math.nan, math.nan) for view, there in pairs_of]
            if not all(math.isnan(low) for low, _ in bounds):
                columns[f"{key}_low"], columns[f"{key}_high"] = map(list, zip(*bounds, strict=True))
    return pd.DataFrame(columns, index=_index(order, "group"))


def label_frame(snapshot: MultiLabelSnapshot) -> pandas.DataFrame:
    """Return a table with a row for each label; see `MultiLabelSnapshot.to_frame`."""
    columns = {key: list(snapshot[key].values()) for key in snapshot._label_keys()}
    return _pandas().DataFrame(columns, index=_index(snapshot.labels, "label"))


def comparison_frame(snapshot: ComparisonSnapshot, level: float) -> pandas.DataFrame:
    """Return a table with a row for each metric; see `ComparisonSnapshot.to_frame`."""
    rows = []
    pairs = differences(snapshot, level)
    for key, pair in pairs.items():
        values: list[Any] = [math.nan] * 8 + ["", pair]
        if not isinstance(pair, str):
            once, always = pair
            values = [once.a, once.b, once.value, *once, *always, once.se, once.method, once.note]
        rows.append([CATALOG[key].title, *values])
    ends = ["low", "high", "anytime_low", "anytime_high"]
    columns = ["title", "a", "b", "difference", *ends, "se", "method", "note"]
    return _pandas().DataFrame(rows, columns=columns, index=_index(list(pairs), "key"))


def _checked(rows: Rows) -> Rows:
    if rows not in ("classes", "metrics"):
        raise ValueError(f"Expected `rows` to be 'classes' or 'metrics', but got {rows!r}")
    return rows


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: pip install pandas") from error
    return pd


def _index(labels: Sequence[Label], name: str) -> Any:
    return _pandas().Index(list(labels), dtype=object, tupleize_cols=False, name=name)


def _ordered(snapshot: Snapshot, keys: Iterable[str], first: Sequence[str]) -> list[str]:
    """Return keys in the order of the report, baselines last; chosen ones as they were chosen."""
    keys = list(keys)
    if not is_default(snapshot):
        return keys
    ahead = [key for key in dict.fromkeys(first) if key in keys]
    rest = [key for key in keys if key not in ahead]
    return ahead + sorted(rest, key=lambda key: key.startswith("baseline_"))


def _class_frame(snapshot: Snapshot) -> pandas.DataFrame:
    """Return a row for each class, a column for each chosen per-class key, and of intervals two more."""
    pd = _pandas()
    labels = list(names_of(snapshot))
    evaluation = snapshot.evaluation
    keys = _ordered(snapshot, snapshot.per_class, FIRST_PER_CLASS)
    index = _index(labels, "label")
    if labels == list(snapshot.labels) and "ranks" not in evaluation.states and snapshot.interval_display is None:
        return pd.DataFrame({key: evaluation.value_and_undefined(key)[0] for key in keys}, index=index)
    table: dict[str, list[float] | list[str]] = {}
    for key in keys:
        values = snapshot.per_class[key]
        table[key] = [values.get(a, math.nan) for a in labels]
        bounds = snapshot.displayed_interval(key)
        if isinstance(bounds, dict):
            table[f"{key}_low"] = [bounds[a].low if a in bounds else math.nan for a in labels]
            table[f"{key}_high"] = [bounds[a].high if a in bounds else math.nan for a in labels]
            if any(one.note for one in bounds.values()):
                table[f"{key}_note"] = [bounds[a].note if a in bounds else "" for a in labels]
    return pd.DataFrame(table, index=index)


def _whole_keys(snapshot: Snapshot) -> list[str]:
    """Return the chosen keys that have one number, in order; of a binary stream also those of `pos_label`."""
    keys = [key for key in snapshot.computable_keys() if CATALOG[key].kind == "whole" and key not in LABEL_VALUED]
    if single_class(snapshot) is not None:
        keys += [key for key in BINARY if key in snapshot.computable_keys()]
    return _ordered(snapshot, keys, FIRST)


def _ends(snapshot: Snapshot, key: str) -> tuple[float, float]:
    """Return the ends of the interval that a snapshot shows for a value, nan if there is none."""
    bounds = snapshot.displayed_interval(key)
    if isinstance(bounds, dict):
        label = single_class(snapshot)
        bounds = None if label is None else bounds.get(label)
    return (math.nan, math.nan) if bounds is None else (bounds.low, bounds.high)


def _metric_frame(snapshot: Snapshot) -> pandas.DataFrame:
    """Return a row for each metric that is one number."""
    keys, label = _whole_keys(snapshot), single_class(snapshot)
    rows = []
    for key in keys:
        value, undefined = snapshot.evaluation.value_and_undefined(key)
        if CATALOG[key].kind == "per_class" and label is not None:
            value, undefined = snapshot[key, label], label in undefined
        low, high = _ends(snapshot, key)
        rows.append((snapshot.evaluation.title(key), float(value), low, high, bool(undefined)))
    return _pandas().DataFrame(
        rows, columns=["title", "value", "low", "high", "undefined"], index=_index(keys, "key")
    ).astype({"value": float, "low": float, "high": float, "undefined": bool})
