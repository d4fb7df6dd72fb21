"""Batches of metrics whose options leave samples out, or say what a missing prediction stands for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_metrics.errors import StreamMetricsError
from stream_metrics.inputs.batch import Weights, about_row_of
from stream_metrics.inputs.columns import Column, as_column, take_rows
from stream_metrics.inputs.rules import MISSING_CLASS, SampleRule, missing_prediction, true_missing_class
from stream_metrics.inputs.score_tables import materialize, names_of_state, predictions_by_class
from stream_metrics.labels import Label
from stream_metrics.states.batches import Columns, KeyedBatch, is_common, length

if TYPE_CHECKING:
    from stream_metrics.metrics.base import MetricBase


def count_unignored(rule: SampleRule | None, columns: Columns, count: Callable[[dict[str, Any]], object]) -> None:
    """Let `count` count columns without the rows that a rule ignores; its errors name the caller's rows."""
    if rule is None or rule.ignore_index is None:
        count(dict(columns))
        return
    read = _materialized(columns)
    read["y_true"] = truth = as_column(read["y_true"], "y_true", False)
    counted = truth.positions((rule.ignore_index,)) < 0
    by_row = [name for name, x in read.items() if x is not None and not is_common(name, x)]
    if counted.all() or any(length(read[name]) != truth.n for name in by_row):
        count(read)
        return
    rows = np.flatnonzero(counted)
    try:
        count({**read, **{name: take_rows(read[name], rows) for name in by_row}})
    except StreamMetricsError as error:
        raise about_row_of(rows, error) from None


def _materialized(columns: Columns) -> dict[str, Any]:
    """Return columns that can be read more than once."""
    return {
        name: x if isinstance(x, Column | Weights) or is_common(name, x) else materialize(x, name)
        for name, x in columns.items()
    }


def count_by_rule(owner: MetricBase, columns: Columns, classes: Iterable[Label] | None) -> None:
    """Count a batch as the rule of a metric says, if it has one."""
    if owner._sample_rule is None:
        owner._count_columns(columns, classes)
        return
    count_unignored(owner._sample_rule, columns, partial(_count_by_rule, owner, classes))


def _count_by_rule(owner: MetricBase, classes: Iterable[Label] | None, columns: dict[str, Any]) -> None:
    missing = owner._sample_rule.missing
    if missing == "wrong" and columns.get("y_pred") is not None:
        columns["y_pred"] = _with_missing_class(owner, columns)
    if missing != "raise":
        owner._count_columns(columns, classes)
        return
    columns = _materialized(columns)
    empty: Any = owner._emptied()
    empty._sample_rule = None
    counted = empty.copy()
    counted._count_columns(columns, classes)
    if counted.abstained:
        batch = KeyedBatch(columns, classes)
        row = bisect_left(range(batch.n), 1, key=lambda row: batch._count_rows(np.arange(row + 1), empty).abstained)
        raise missing_prediction("scores" if columns.get("y_pred") is None else "y_pred", row)
    counted._sample_rule = owner._sample_rule
    owner.merge(counted)


def _with_missing_class(owner: Any, columns: dict[str, Any]) -> Column:
    """Return the column of predictions, with `MISSING_CLASS` for those that are missing."""
    truth = columns["y_true"] = as_column(columns["y_true"], "y_true", False)
    taken = np.flatnonzero(truth.positions((MISSING_CLASS,)) == 0)
    if len(taken):
        raise true_missing_class(int(taken[0]))
    column = as_column(columns["y_pred"], "y_pred", True, predictions_by_class(truth, names_of_state(owner)))
    if column.names is None or not (column.values == -1).any():
        return column
    codes = column.values.astype(np.int64)
    return Column(np.where(codes == -1, len(column.names), codes).astype(np.int32), [*column.names, MISSING_CLASS])
