"""Batches of tables to counts: whole, or where that fails row by row.

Null means the same as in JSON Lines. A class that is null in a struct is not there, because Arrow fills in null for the
keys that a record lacks; null in a column of a class is no score.

A batch goes to the state as it is in memory. If the state refuses it, or it holds values that a state cannot tell from
others (a class that is not there, a truth beside the two classes of a single number), its rows are read one by
one as those of JSON Lines are, which names the bad ones and counts the others.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_metrics.cli.reading import Row, row_scores_reader, weight_of
from stream_metrics.cli.scores import Scores
from stream_metrics.cli.sources import BadRecord
from stream_metrics.cli.table_columns import NUMBER, Layout, is_list
from stream_metrics.containers.moments import nanoseconds
from stream_metrics.inputs.score_tables import score_table
from stream_metrics.inputs.times import to_epoch_ns
from stream_metrics.states.protocols import Accumulator

__all__ = ["RowBatch"]


class RowBatch(NamedTuple):
    """Some rows of a file; ``first`` is the number of rows before them."""

    layout: Layout
    table: pa.RecordBatch
    first: int

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.table.num_rows)

    def part(self, at: int, n: int) -> RowBatch:
        """Return n rows from the row ``at`` on."""
        return self if n == self.n else RowBatch(self.layout, self.table.slice(at, n), self.first + at)

    def counted_by(self, state: Accumulator) -> bool:
        """Let a state count all rows; False, and nothing counted, if they have to be looked at one by one."""
        layout = self.layout
        truth, prediction, weight, time, group = (
            None if column is None else column.of(self.table)
            for column in (layout.truth, layout.prediction, layout.weight, layout.time, layout.group)
        )
        try:
            named = self._scores(truth)
            if time is not None:
                named["t"] = _times(time)
            if group is not None:
                named["group"] = group
            state.update_many(truth, prediction, weight, **named)
        except ValueError:  # of the states, of NumPy, of Arrow, of text that is none
            return False
        return True

    def _scores(self, truth: pa.Array) -> dict[str, Any]:
        """Return the arguments for scores; ValueError if they are to be read row by row."""
        layout = self.layout
        if layout.single is None and not layout.scores:
            return {}
        if layout.single is None:
            columns = [column.of(self.table) for column in layout.scores]
            beside = pa.record_batch(columns, list(map(str, range(len(columns)))))
            return {"scores": score_table(beside), "classes": layout.classes}
        values = layout.single.of(self.table)
        if pa.types.is_map(values.type):
            raise ValueError("each row with classes of its own")
        if layout.classes:
            return {"scores": score_table(values), "classes": layout.classes}
        both = layout.fields.classes.both
        if both is None or not set(truth.unique().to_pylist()) <= set(both):
            raise ValueError("a truth that is neither class")
        return {"scores": values}

    def rows(self, source: str, bad: BadRecord) -> Iterator[Row]:
        """Yield the rows one by one; call ``bad`` for those that cannot be read."""
        layout = self.layout
        nothing = [None] * self.n
        truths, predictions, groups = (
            nothing if column is None else _labels(column.of(self.table))
            for column in (layout.truth, layout.prediction, layout.group)
        )
        weights = nothing if layout.weight is None else layout.weight.of(self.table).to_pylist()
        times = nothing if layout.time is None else _moments(layout.time.of(self.table))
        scores, read = self._row_scores()
        columns = zip(truths, predictions, weights, scores, times, groups, strict=True)
        for line, (true, predicted, weight, score, time, group) in enumerate(columns, self.first + 1):
            try:
                for value in (true, predicted, group):
                    if type(value) is UnicodeDecodeError:
                        raise ValueError(f"not UTF-8 text: {value.object!r:.40}")
                amount = 1 if layout.weight is None else weight_of(weight)
                at = 0 if layout.time is None else _nanoseconds(time)
                if layout.group is not None and group is None:
                    raise ValueError(f"field {layout.fields.group!r} is null, which is no group")
                yield true, predicted, amount, read(score, true), line, at, group
            except ValueError as error:
                bad(source, line, str(error))

    def _row_scores(self) -> tuple[Iterable[Any], Callable[[Any, object], Scores]]:
        """Return the scores of all rows, and a function that reads those of one."""
        layout = self.layout
        if layout.single is not None:
            read_row = row_scores_reader(layout.fields)
            values = layout.single.of(self.table).to_pylist()
            if is_list(layout.single.type):
                return values, read_row
            return values, lambda value, truth: read_row(_object(value), truth)
        if not layout.scores:
            return [None] * self.n, lambda value, truth: None
        pack = struct.Struct(f"{len(layout.classes)}d").pack

        def read(values: tuple[float | None, ...], truth: object) -> Scores:
            if None not in values:
                return layout.classes, pack(*values)
            if any(value is not None for value in values):
                raise ValueError(f"expected a score in column {layout.scores[values.index(None)].name!r}, but got null")
            return None

        return list(zip(*(column.of(self.table).to_pylist() for column in layout.scores), strict=True)), read


def _plain(values: pa.Array) -> pa.Array:
    """Return a column without dictionary encoding."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _decoded_times(values: pa.Array) -> pa.Array:
    """Return a column of times without dictionary encoding, dates as timestamps."""
    values = _plain(values)
    return values.cast(pa.timestamp("s")) if pa.types.is_date(values.type) else values


def _times(values: pa.Array) -> pa.Array | NDArray[np.datetime64]:
    """Return a column of times as states take it."""
    values = _decoded_times(values)
    if pa.types.is_timestamp(values.type) or any(is_kind(values.type) for is_kind in NUMBER):
        return values
    return np.array([nanoseconds(value) for value in values.to_pylist()], "datetime64[ns]")


def _moments(values: pa.Array) -> list[object]:
    """Return times one by one: of Arrow as numpy.datetime64, others as they are."""
    values = _decoded_times(values)
    if not pa.types.is_timestamp(values.type):
        return list(values.to_pylist())
    unit = values.type.unit
    return [None if value is None else np.datetime64(value, unit) for value in values.cast(pa.int64()).to_pylist()]


def _nanoseconds(value: object) -> int:
    if not isinstance(value, np.datetime64):
        return nanoseconds(value)
    try:
        return to_epoch_ns(value)
    except ValueError:
        raise ValueError(f"expected the time to be from 1824 to 2115, but got {value}") from None


def _labels(values: pa.Array) -> list[object]:
    """Return labels one by one; the error instead of text that cannot be decoded."""
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        return [_text(value) for value in values.cast(pa.binary()).to_pylist()]


def _text(value: bytes | None) -> str | UnicodeDecodeError | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        return error


def _object(value: object) -> object:
    """Return the scores of a row as JSON has them: keys are text, and a null in a struct is left out."""
    if isinstance(value, dict):
        return {key: score for key, score in value.items() if score is not None}
    return {str(key): score for key, score in value} if isinstance(value, list) else value
