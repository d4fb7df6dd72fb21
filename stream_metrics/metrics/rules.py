"""Batches of metrics whose options leave samples out, or say what a missing prediction stands for."""

from __future__ import annotations

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
from stream_metrics.states.batches import Columns, is_common, length

if TYPE_CHECKING:
    from stream_metrics.metrics.base import MetricBase

__all__ = ["count_by_rule", "count_unignored"]


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
    """Count a batch as the rule of a metric says."""
    count_unignored(owner._sample_rule, columns, partial(_count_by_rule, owner, classes))


def _count_by_rule(owner: MetricBase, classes: Iterable[Label] | None, columns: dict[str, Any]) -> None:
    missing = owner._sample_rule.missing
    if missing == "wrong" and columns.get("y_pred") is not None:
        columns["y_pred"] = _with_missing_class(owner, columns)
    if missing != "raise":
        owner._count_columns(columns, classes)
        return
    columns = _materialized(columns)
    counted = _counted(owner, columns, classes)
    if counted.abstained:
        argument = "scores" if columns.get("y_pred") is None else "y_pred"
        raise missing_prediction(argument, _first_missing(owner, columns, classes))
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


def _counted(owner: MetricBase, columns: Columns, classes: Iterable[Label] | None) -> MetricBase:
    """Return a new metric that has counted a batch, whatever is missing in it."""
    twin = owner._emptied()
    twin._sample_rule = None
    twin._count_columns(columns, classes)
    twin._sample_rule = owner._sample_rule
    return twin


def _first_missing(owner: MetricBase, columns: Columns, classes: Iterable[Label] | None) -> int:
    """Return the first row without a prediction; there is one."""
    start, stop = 0, length(columns["y_true"])
    while stop - start > 1:
        middle = (start + stop) // 2
        rows = np.arange(start, middle)
        some = {name: x if x is None or is_common(name, x) else take_rows(x, rows) for name, x in columns.items()}
        if _counted(owner, some, classes).abstained:
            stop = middle
        else:
            start = middle
    return start
