"""Results as pandas tables, in the order of the reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from stream_metrics.catalog.table import CATALOG, LABEL_VALUED
from stream_metrics.evaluation.numbers import number_of
from stream_metrics.report import headlines
from stream_metrics.report.comparison import differences
from stream_metrics.report.data import names_of
from stream_metrics.report.groups import ranked_groups
from stream_metrics.report.score_section import BINARY, is_default, single_class

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

    from stream_metrics.labels import Label
    from stream_metrics.snapshots.comparison import ComparisonSnapshot
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.multilabel import MultiLabelSnapshot
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["Rows", "SnapshotRows", "comparison_frame", "group_frame", "label_frame", "snapshot_frame"]

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
