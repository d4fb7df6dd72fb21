"""A batch is counted whole, or without the rows that the state refuses; a column of too many labels is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.inputs.columns import Column, row_count, take_rows
from stream_metrics.inputs.containers import as_container
from stream_metrics.inputs.score_tables import materialize
from stream_metrics.inputs.times import is_one_time
from stream_metrics.states.protocols import Accumulator

FEW = 8  # rows that are counted one by one if one of them is bad
INTERVAL = 1 << 16  # rows between two checks of the number of labels
MOST_LABELS = 100_000


class Place(NamedTuple):
    """A file or a partition, None where that is unknown, and the number of its first row, None if rows have none."""

    file: str | None = None
    partition: int | None = None
    row: int | None = 0

    def at(self, position: int) -> Place:
        """Return the place that is some rows further."""
        return self if self.row is None else self._replace(row=self.row + position)

    @property
    def holder(self) -> str | None:
        """What holds the rows, in words; None if that is unknown."""
        partition = None if self.partition is None else f"partition {self.partition}"
        return " of ".join(name for name in (partition, self.file) if name is not None) or None


START = Place()  # the first row of whatever is counted
UNKNOWN = Place(row=None)  # of rows that have no number

Columns: TypeAlias = Mapping[str, Any]  # arguments of `update_many` by name
Refuse: TypeAlias = Callable[[Exception, Place], None]


def count_columns(
    state: Accumulator, columns: Columns, place: Place, refuse: Refuse | None = None, limit: LabelLimit | None = None
) -> None:
    """Count a batch whose rows come from a place.

    Without `refuse` a bad row raises its error, which then names the place, and nothing is counted. Otherwise the good
    rows are counted, and `refuse` is called with the error and the place of each bad row, in their order. What is wrong
    with the batch, and not with one of its rows, raises in both cases.

    With a `limit` a long batch is counted in blocks, and those before an error stay counted.
    """
    limit = LabelLimit() if limit is None else limit
    columns = {name: column for name, column in columns.items() if column is not None or name == "y_true"}
    columns = {name: x if hasattr(x, "__len__") else _sliceable(x, name) for name, x in columns.items()}  # iterators
    n = row_count(columns["y_true"])
    if n > limit.left:
        columns = {name: _sliceable(column, name, encoded=False) for name, column in columns.items()}
        _check_lengths(columns)
    start = 0
    while start < n or n == 0:
        stop = min(start + limit.left, n)
        part = columns if stop - start == n else _slice(columns, start, stop)
        _count_block(state, part, place.at(start), refuse)
        limit.count(state, stop - start)
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


class LabelLimit:
    """Checks how many distinct labels states have that come one after another, or one state while it counts rows.

    It is against a wrong column: the memory of a state grows with the labels, not with the rows.
    """

    def __init__(self, most: int | None = None, y_true: str = "y_true", y_pred: str | None = None) -> None:
        """Allow `most` labels, or with None any number; the columns are those named in the error."""
        self._most, self._columns = most, (y_true, y_pred)
        self._labels: set[object] = set()
        self.left = sys.maxsize if most is None else INTERVAL  # rows until the next check

    def count(self, state: Accumulator, rows: int) -> None:
        """Note that a state has counted so many rows."""
        self.left -= rows
        if self.left <= 0:
            self.add(state)
            self.left = INTERVAL

    def add(self, state: Accumulator) -> None:
        """Note the labels of a state; LabelError if there are now too many."""
        if self._most is None:
            return
        self._labels.update(*_labels(state))
        if len(self._labels) > self._most:
            raise _too_many(state, self._most, self._columns)


def _too_many(state: Accumulator, most: int, columns: tuple[str, str | None]) -> LabelError:
    """Return the error, which names the column in which a state has more labels."""
    y_true, y_pred = columns
    predicted = y_pred is not None and _more_predicted(state)
    return LabelError(
        argument="y_pred" if predicted else "y_true",
        subject=f"the labels of column {(y_pred if predicted else y_true)!r}",
        expected=f"to be at most {most:,}",
        but="there are more; pass `max_labels` if these are classes, and not identifiers",
    )


def _labels(state: Any) -> Iterator[tuple[object, ...]]:
    """Yield the labels of each state inside a state."""
    if isinstance(state, ByGroup):
        for part in state._states():
            yield from _labels(part)
    elif hasattr(state, "inner"):
        yield state.snapshot().labels
    else:
        yield getattr(getattr(state, "state", state), "labels", ())  # losses have none


def _more_predicted(state: Any) -> bool:
    """Tell whether more labels were predicted than are true."""
    whole = state.snapshot()
    values = getattr(whole, "overall", whole).per_class
    if "predicted_count" not in values:
        return False
    predicted, true = (np.count_nonzero(list(values[key].values())) for key in ("predicted_count", "support"))
    return bool(predicted > true)
