"""A batch is counted whole, or without the rows that the state refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.inputs.columns import Categorical, Column
from stream_metrics.inputs.score_tables import materialize
from stream_metrics.inputs.times import is_one_time
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.places import Place

__all__ = ["count_columns"]

Columns: TypeAlias = Mapping[str, Any]  # arguments of `update_many` by name
Refuse: TypeAlias = Callable[[Exception, Place], None]

FEW = 8  # rows that are counted one by one if one of them is bad


def count_columns(state: Accumulator, columns: Columns, place: Place, refuse: Refuse | None = None) -> None:
    """Count a batch whose rows come from a place.

    Without `refuse` a bad row raises its error, which then names the place, and nothing is counted. Otherwise the good
    rows are counted, and `refuse` is called with the error and the place of each bad row, in their order. What is wrong
    with the batch, and not with one of its rows, raises in both cases.
    """
    columns = {name: column for name, column in columns.items() if column is not None or name == "y_true"}
    if refuse is not None:  # iterators are read once, and what can be sliced only if it must be
        columns = {name: x if hasattr(x, "__len__") else _sliceable(x, name) for name, x in columns.items()}
    try:
        state.update_many(**columns)
    except ValueError as error:
        if refuse is None:
            raise _placed(error, place) from None
        columns = {name: _sliceable(column, name) for name, column in columns.items()}
        if not _is_about_rows(state, columns):
            raise _placed(error, place) from None
        _count_others(state, columns, (0, _length(columns["y_true"])), error, place, refuse)


def _placed(error: Exception, place: Place) -> Exception:
    """Return an error about a row of a batch as one about a row of its file or partition."""
    if not isinstance(error, StreamMetricsError) or place == Place():
        return error
    position = None if error.position is None else place.at(error.position).row
    return error.with_position(position, place.holder)


def _count_others(
    state: Accumulator, columns: Columns, rows: tuple[int, int], error: Exception, place: Place, refuse: Refuse
) -> None:
    """Count the good rows of a range in which one is bad, so that a state has refused them all with `error`."""
    start, stop = rows
    if stop - start == 1:
        refuse(error, place.at(start))
        return
    size = 1 if stop - start <= FEW else (stop - start + 1) // 2
    for at in range(start, stop, size):
        part = at, min(at + size, stop)
        try:
            state.update_many(**_slice(columns, *part))
        except ValueError as problem:
            _count_others(state, columns, part, problem, place, refuse)


def _is_about_rows(state: Accumulator, columns: Columns) -> bool:
    """Tell whether a row may be the reason of an error, as no rows at all raise nothing; lengths must agree."""
    n = _length(columns["y_true"])
    for name, column in columns.items():
        if not _is_common(column, name) and _length(column) != n:
            raise LabelError(argument=name, expected=f"to have as many rows as `y_true`, {n}", got=_length(column))
    try:
        state.copy().update_many(**_slice(columns, 0, 0))
    except ValueError:
        return False
    return n > 0


def _is_common(column: object, name: str) -> bool:
    """Tell whether a value is one for all rows."""
    return name == "classes" or (name in ("t", "group", "unit") and is_one_time(column))


def _sliceable(column: Any, name: str) -> Any:
    """Return a column of which rows can be taken."""
    if _is_common(column, name) or isinstance(column, Column | Categorical):
        return column
    column = materialize(column, name)
    try:
        column[0:0]
    except TypeError:
        return list(column)
    return column


def _slice(columns: Columns, start: int, stop: int) -> dict[str, Any]:
    return {
        name: column if _is_common(column, name) else _rows(column, start, stop) for name, column in columns.items()
    }


def _rows(column: Any, start: int, stop: int) -> Any:
    """Return some rows of a column."""
    if isinstance(column, Column):
        return column.take(np.arange(start, stop))
    if isinstance(column, Categorical):
        return Categorical(column.codes[start:stop], column.categories)
    if hasattr(column, "iloc"):
        return column.iloc[start:stop]
    return column[start:stop]


def _length(column: Any) -> int:
    if isinstance(column, Column):
        return column.n
    return len(column.codes if isinstance(column, Categorical) else column)
