"""A batch is counted whole, or without the rows that the state refuses; a column of too many labels is refused.

Refused rows are found a column at a time, by values that are missing and numbers that no state takes, and those with
the same defects are refused together. What is left is halved until each bad row stands alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.inputs import arrow
from stream_metrics.inputs.arrow import Array
from stream_metrics.inputs.columns import Column, as_container, is_coded, is_table, row_count, take_rows
from stream_metrics.inputs.score_tables import score_table
from stream_metrics.labels import is_missing
from stream_metrics.states.batches import is_common
from stream_metrics.states.protocols import Accumulator

FEW = 8  # rows that are counted one by one if one of them is bad
INTERVAL = 1 << 16  # rows between two checks of the number of labels
MOST_LABELS = 100_000
MOST_EXAMPLES = 10  # rows whose own errors are kept
PRESENT = {str, bytes, int, bool}  # types of which no value is missing


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
Refuse: TypeAlias = Callable[[Exception, Place, Sequence[int]], None]  # rows with an error, by their positions


def count_columns(
    state: Accumulator, columns: Columns, place: Place, refuse: Refuse | None = None, limit: LabelLimit | None = None
) -> None:
    """Count a batch whose rows come from a place.

    Without `refuse` a bad row raises its error, which then names the place, and nothing is counted. Otherwise the good
    rows are counted, and `refuse` is called with an error, the place of the batch, and the positions in it of the rows
    that have it. What is wrong with the batch, and not with one of its rows, raises in both cases.

    With a `limit` a long batch is counted in blocks, and those before an error stay counted.
    """
    limit = LabelLimit() if limit is None else limit
    given = [(name, column) for name, column in columns.items() if column is not None or name == "y_true"]
    columns = {name: x if hasattr(x, "__len__") else _sliceable(x, name) for name, x in given}  # some are iterators
    n = row_count(columns["y_true"])
    if n > limit.left:
        columns = {name: _sliceable(column, name) for name, column in columns.items()}
        _check_lengths(columns)
    start, own = 0, MOST_EXAMPLES if place.row is not None else n  # without places, any row may be an example
    while start < n or n == 0:
        stop = min(start + limit.left, n)
        part = columns if stop - start == n else _slice(columns, start, stop)
        refused = _count_block(state, part, place.at(start), refuse, own)
        own = own if place.row is None else max(own - refused, 1)
        limit.count(state, stop - start)
        if stop == n:
            break
        start = stop


def _count_block(state: Accumulator, columns: Columns, place: Place, refuse: Refuse | None, own: int) -> int:
    """Count a batch; return how many rows are refused for defects. Of each kind, `own` rows get their own errors."""
    problem: ValueError | None = None
    nulls = getattr(columns["y_true"], "null_count", 0)  # of Arrow; elsewhere it may be a method
    if refuse is None or nulls == 0 or callable(nulls):
        try:
            state.update_many(**columns)
            return 0
        except ValueError as error:
            if refuse is None:
                raise _placed(error, place) from None
            problem = error
    columns = {name: _sliceable(column, name) for name, column in columns.items()}
    _check_lengths(columns)
    n, trial = row_count(columns["y_true"]), state.copy()
    try:
        if n == 0 and problem is not None:
            raise problem
        columns = _accepted(trial, columns)
    except ValueError as error:  # no row is the reason
        raise _placed(problem or error, place) from None
    good = _without_defects(trial, columns, place, refuse, own)
    left = int(good.sum())
    if left < n:
        columns, problem = _take(columns, good), None
    if problem is None:
        try:
            state.update_many(**columns)
        except ValueError as error:
            problem = error
    if problem is not None:
        _count_others(state, columns, np.flatnonzero(good), problem, place, refuse)
    return n - left


def _accepted(trial: Accumulator, columns: Columns) -> Columns:
    """Return columns encoded, or as they are where the state does not take them so; ValueError if it takes neither."""
    encoded = {name: _encoded(column, name) for name, column in columns.items()}
    try:
        trial.update_many(**_slice(encoded, 0, 0))
        return encoded
    except ValueError:
        trial.update_many(**_slice(columns, 0, 0))
        return columns


def _placed(error: Exception, place: Place) -> Exception:
    """Return an error about a row of a batch as one about a row of its file or partition."""
    if not isinstance(error, StreamMetricsError) or place == START:
        return error
    position = None if error.position is None else place.at(error.position).row
    return error.with_position(position, place.holder)


def _without_defects(trial: Accumulator, columns: Columns, place: Place, refuse: Refuse, own: int) -> Array:
    """Refuse rows with defects that are found a column at a time, and return a mask of the others.

    Rows with the same defects are refused together if a copy of the state refuses the first of them for a defect.
    """
    by_row = {name: column for name, column in columns.items() if not _is_common(column, name)}
    defective = [(argument, rows) for argument, rows in _defects(by_row) if rows.any()]
    good = np.ones(row_count(columns["y_true"]), bool)
    if not defective:
        return good
    some = np.flatnonzero(np.any([rows for _, rows in defective], axis=0))
    kinds = np.sum([rows[some].astype(np.int64) << at for at, (_, rows) in enumerate(defective)], axis=0)
    for kind in np.unique(kinds).tolist():
        alike = some[kinds == kind]
        arguments = {argument for at, (argument, _) in enumerate(defective) if kind >> at & 1}
        errors = _errors(trial, columns, alike[:own], arguments)
        if errors:
            good[alike] = False
            for row, error in zip(alike.tolist(), errors, strict=False):
                refuse(error, place, [row])
            if len(alike) > len(errors):
                refuse(errors[-1], place, alike[len(errors) :].tolist())
    return good


def _defects(columns: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield arguments, each with the rows that have one defect; most states refuse these rows."""
    for argument, column in columns.items():
        kind = str(getattr(column, "type", None) or getattr(column, "dtype", "")).lower()
        has_numbers = argument in ("w", "scores") or "float" in kind or "double" in kind
        numbers = _numbers(column) if has_numbers and argument in ("w", "y_pred", "scores") else None
        if argument in ("y_pred", "scores"):
            if numbers is not None and numbers.dtype.kind == "f":
                table = numbers.reshape(len(numbers), -1)
                yield argument, np.any(~np.isfinite(table), axis=1)
                yield argument, np.any((table < 0) | (table > 1), axis=1)
        elif numbers is not None:
            yield argument, ~((numbers >= 0) & (numbers < 2.0**63))
        elif (missing := _missing(column)) is not None:
            yield argument, missing


def _numbers(column: Any) -> Array | None:
    """Return a column or a table as numbers, nan where one is missing; None if it has anything else."""
    try:
        if arrow.is_pyarrow(column) and hasattr(column, "type") and arrow.is_number(column.type):
            return arrow.as_array(column)
        return np.asarray(score_table(column), np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _missing(column: Any) -> NDArray[np.bool_] | None:
    """Return the rows of a column in which there is no value; None for a table."""
    if isinstance(column, Column):
        return None if column.names is None else column.values < 0
    if is_coded(column):
        return np.asarray(column.codes) < 0
    if is_table(column) or getattr(column, "ndim", 1) != 1:
        return None
    if arrow.is_pyarrow(column):
        return np.asarray(column.is_null(nan_is_null=arrow.is_number(column.type)))
    if hasattr(column, "isna"):
        return np.asarray(column.isna())
    if isinstance(column, np.ndarray) and column.dtype.kind != "O":
        return ~np.isfinite(column) if column.dtype.kind in "fmM" else None
    kinds = set(map(type, column)) - PRESENT
    return np.array([type(value) in kinds and is_missing(value) for value in column], np.bool_)


def _errors(trial: Accumulator, columns: Columns, rows: Array, arguments: set[str]) -> list[Exception]:
    """Return the error of each row; none if one is accepted, or refused for another argument."""
    arguments |= {"scores", "y_pred"} if arguments & {"scores", "y_pred"} else set()
    errors: list[Exception] = []
    for row in rows.tolist():
        try:
            trial.update_many(**_slice(columns, row, row + 1))
        except ValueError as error:
            if getattr(error, "argument", None) in arguments:
                errors.append(error)
                continue
        return []
    return errors


def _count_others(
    state: Accumulator, columns: Columns, rows: Array, error: Exception, place: Place, refuse: Refuse
) -> None:
    """Count the good rows among some of which one is bad, so that a state has refused them all with `error`.

    `rows` are their positions in the batch.
    """
    n = len(rows)
    if n == 1:
        refuse(error, place, rows.tolist())
        return
    size = 1 if n <= FEW else (n + 1) // 2
    for at in range(0, n, size):
        part = _slice(columns, at, at + size)
        try:
            state.update_many(**part)
        except ValueError as problem:
            _count_others(state, part, rows[at : at + size], problem, place, refuse)


def _check_lengths(columns: Columns) -> None:
    """Raise LabelError unless all columns have as many rows as the truth."""
    n = row_count(columns["y_true"])
    for name, column in columns.items():
        if not _is_common(column, name) and row_count(column) != n:
            raise LabelError(argument=name, expected=f"to have as many rows as `y_true`, {n}", got=row_count(column))


def _is_common(column: object, name: str) -> bool:
    """Tell whether a value is one for all rows."""
    return name == "classes" or is_common(name, column)


def _sliceable(column: Any, name: str) -> Any:
    """Return a column of which rows can be taken."""
    return column if _is_common(column, name) or isinstance(column, Column) else as_container(column, name)


def _encoded(column: Any, name: str) -> Any:
    """Return a sliceable column, one of Arrow as integers or an array if it can be, whose rows are taken quickly."""
    if not arrow.is_pyarrow(column) or not hasattr(column, "type"):
        return column
    if arrow.is_number(column.type) and not column.null_count:
        return arrow.as_array(column)
    if name in ("y_true", "group", "unit") or (name == "y_pred" and arrow.is_text(column.type)):
        try:
            coded = arrow.labels(column, name)
        except ValueError:  # of a value that no row may have
            return column
        return Column(*coded) if isinstance(coded, tuple) else column
    return column


def _slice(columns: Columns, start: int, stop: int) -> dict[str, Any]:
    return _take(columns, slice(start, stop))


def _take(columns: Columns, rows: Array | slice) -> dict[str, Any]:
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
            y_true, y_pred = self._columns
            predicted = y_pred is not None and _more_predicted(state)
            raise LabelError(
                argument="y_pred" if predicted else "y_true",
                subject=f"the labels of column {(y_pred if predicted else y_true)!r}",
                expected=f"to be at most {self._most:,}",
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
