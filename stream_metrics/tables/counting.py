"""A batch is counted whole, or without the rows that the state refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.inputs.columns import Column, row_count, take_rows
from stream_metrics.inputs.containers import as_container
from stream_metrics.inputs.score_tables import materialize
from stream_metrics.inputs.times import is_one_time
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.label_limit import LabelLimit
from stream_metrics.tables.places import START, Place

Columns: TypeAlias = Mapping[str, Any]  # arguments of `update_many` by name
Refuse: TypeAlias = Callable[[Exception, Place], None]

FEW = 8  # rows that are counted one by one if one of them is bad


def count_columns(
    state: Accumulator, columns: Columns, place: Place, refuse: Refuse | None = None, limit: LabelLimit | None = None
) -> None:
    """Count a batch whose rows come from a place.

    Without `refuse` a bad row raises its error, which then names the place, and nothing is counted. Otherwise the good
    rows are counted, and `refuse` is called with the error and the place of each bad row, in their order. What is wrong
    with the batch, and not with one of its rows, raises in both cases.

    With a `limit` a long batch is counted in blocks, and those before an error stay counted.
    """
    columns = {name: column for name, column in columns.items() if column is not None or name == "y_true"}
    columns = {name: x if hasattr(x, "__len__") else _sliceable(x, name) for name, x in columns.items()}  # iterators
    if limit is None:
        _count_block(state, columns, place, refuse)
        return
    n = row_count(columns["y_true"])
    if n > limit.left:
        columns = {name: _sliceable(column, name, encoded=False) for name, column in columns.items()}
        _check_lengths(columns)
    start = 0
    while start < n or n == 0:
        stop = min(start + limit.left, n)
        part = columns if stop - start == n else _slice(columns, start, stop)
        _count_block(state, part, place.at(start), refuse)
        limit.add(stop - start)
        if stop == n:
            break
        start = stop


def _count_block(state: Accumulator, columns: Columns, place: Place, refuse: Refuse | None) -> None:
    try:
        state.update_many(**columns)
    except ValueError as error:
        if refuse is None:
            raise _placed(error, place) from None
        columns = {name: _sliceable(column, name) for name, column in columns.items()}
        _check_lengths(columns)
        n = row_count(columns["y_true"])
        if n == 0 or not _takes_none(state, columns):
            raise _placed(error, place) from None
        _count_others(state, columns, (0, n), error, place, refuse)


def _placed(error: Exception, place: Place) -> Exception:
    """Return an error about a row of a batch as one about a row of its file or partition."""
    if not isinstance(error, StreamMetricsError) or place == START:
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


def _check_lengths(columns: Columns) -> None:
    """Raise LabelError unless all columns have as many rows as the truth."""
    n = row_count(columns["y_true"])
    for name, column in columns.items():
        if not _is_common(column, name) and row_count(column) != n:
            raise LabelError(argument=name, expected=f"to have as many rows as `y_true`, {n}", got=row_count(column))


def _takes_none(state: Accumulator, columns: Columns) -> bool:
    """Tell whether a state accepts no rows of such columns; if not, no row is the reason of an error."""
    try:
        state.copy().update_many(**_slice(columns, 0, 0))
    except ValueError:
        return False
    return True


def _is_common(column: object, name: str) -> bool:
    """Tell whether a value is one for all rows."""
    return name == "classes" or (name in ("t", "group", "unit") and is_one_time(column))


def _sliceable(column: Any, name: str, *, encoded: bool = True) -> Any:
    """Return a column of which rows can be taken, text of Arrow numbered once if it is to be `encoded`."""
    if _is_common(column, name) or isinstance(column, Column):
        return column
    return materialize(column, name) if encoded else as_container(column, name)


def _slice(columns: Columns, start: int, stop: int) -> dict[str, Any]:
    rows = slice(start, stop)
    return {name: column if _is_common(column, name) else take_rows(column, rows) for name, column in columns.items()}
