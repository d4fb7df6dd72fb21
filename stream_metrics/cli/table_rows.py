"""Batches of tables as the columns that states count.

Null means the same as in JSON Lines. A class that is null in a struct is not there, because Arrow fills in null for the
keys that a record lacks; null in a column of a class is no score.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from stream_metrics.cli.table_columns import NUMBER, Layout
from stream_metrics.containers.moments import nanoseconds
from stream_metrics.inputs.score_tables import score_table


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

    def columns(self) -> dict[str, Any]:
        """Return the arguments of `update_many`."""
        layout = self.layout
        named = {"y_true": layout.truth, "y_pred": layout.prediction, "w": layout.weight, "group": layout.group}
        columns: dict[str, Any] = {name: column.of(self.table) for name, column in named.items() if column is not None}
        if layout.time is not None:
            columns["t"] = _times(layout.time.of(self.table))
        if layout.scores:
            scores = [column.of(self.table) for column in layout.scores]
            beside = pa.record_batch(scores, list(map(str, range(len(scores)))))
            return columns | {"scores": score_table(beside), "classes": layout.classes}
        if layout.single is None:
            return columns
        values = layout.single.of(self.table)
        if pa.types.is_struct(values.type) and any(field.null_count > values.null_count for field in values.flatten()):
            rows = (
                None if row is None else zip(layout.classes, row.values(), strict=True) for row in values.to_pylist()
            )
            return columns | {
                "scores": [row and {label: score for label, score in row if score is not None} for row in rows]
            }
        if layout.classes:
            return columns | {"scores": score_table(values), "classes": layout.classes}
        return columns | {"scores": values}


def _times(values: pa.Array) -> Any:
    """Return a column of times as states take it; text that is no time as it is, which they refuse."""
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    if pa.types.is_date(values.type):
        return values.cast(pa.timestamp("s"))
    if pa.types.is_timestamp(values.type) or any(is_kind(values.type) for is_kind in NUMBER):
        return values
    times = [_time(text) for text in values.to_pylist()]
    return times if any(type(time) is not np.datetime64 for time in times) else np.array(times, "datetime64[ns]")


def _time(text: object) -> object:
    try:
        return np.datetime64(nanoseconds(text), "ns")
    except ValueError:
        return text
