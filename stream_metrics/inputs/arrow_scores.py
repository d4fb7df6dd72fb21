"""Scores as Arrow holds them: a column of numbers, a struct or a table with a column a class, lists, maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stream_metrics.inputs.arrow import (
    ArrowColumn,
    ArrowData,
    as_array,
    as_pyarrow,
    chunks_of,
    compute,
    is_list,
    is_number,
    numbers,
    pyarrow,
    rows,
    types,
)
from stream_metrics.inputs.chunked import stack_columns
from stream_metrics.inputs.tensors import Array, Values

if TYPE_CHECKING:
    from pyarrow import RecordBatch


def names(values: ArrowData) -> list[str] | None:
    """Return the names of the columns of a table or of the fields of a struct; None for any other column."""
    if hasattr(values, "column_names"):
        return list(values.column_names)
    return [field.name for field in values.type] if types().is_struct(values.type) else None


def is_soft(values: ArrowColumn) -> bool:
    """Tell whether a column of predictions holds scores: floats, lists or maps of scores."""
    kind, is_ = values.type, types()
    kind = kind.value_type if is_.is_dictionary(kind) else kind
    return bool(is_.is_floating(kind) or is_.is_map(kind) or is_list(kind))


def given(values: ArrowData) -> tuple[ArrowData, Array] | None:
    """Return the rows of a column or a table that have scores, and for each row whether it has; None if all have."""
    table = hasattr(values, "column_names")
    columns = [values] if names(values) is None else values.columns if table else values.flatten()
    if not any(column.null_count for column in columns) or "view" in str(getattr(values, "type", "")):
        return None  # Arrow cannot filter lists that are views
    some = columns[0].is_valid()
    for column in columns[1:]:
        some = compute().or_(some, column.is_valid())
    return values.filter(some), np.asarray(some.to_numpy(zero_copy_only=False))


def scores(values: ArrowData) -> Values:
    """Return a column of scores as `numbers` does, a table of them (n, K) as an array, maps as dicts.

    The table is a record batch, a table, a struct, or lists of one length. If anything in it is null or no number, it
    is a list of rows: None for a row that is null or, but for lists, has nothing but nulls.
    """
    if names(values) is None:
        return _lists(values) if is_list(values.type) else numbers(values, "scores")
    table = hasattr(values, "column_names")
    columns = values.columns if table else values.flatten()
    if all(is_number(column.type) and not column.null_count for column in columns):
        single = all(types().is_float32(column.type) for column in columns)
        arrays = [as_array(column) for column in columns]
        return stack_columns(arrays, len(values), np.float32 if single else np.float64)
    by_row = zip(*(list(numbers(column, "scores")) for column in columns), strict=True)
    return [None if all(score is None for score in row) else row for row in by_row]


def maps_as_table(values: Any) -> tuple[RecordBatch, list[str]] | None:
    """Return maps from the same texts, in any order, to numbers as columns, and the texts; None for anything else.

    Where a map is null or empty, all columns are null.
    """
    column: Any = None if isinstance(values, np.ndarray | list) else as_pyarrow(values)
    if not hasattr(column, "type") or not types().is_map(column.type) or not len(column):
        return None
    pa, kind, item = pyarrow(), column.type.key_type, column.type.item_type
    if not str(kind).startswith(("string", "large_string")) or not is_number(item):
        return None
    column = column.cast(pa.list_(pa.struct([pa.field("key", kind, False), pa.field("value", item)])))
    entries = [chunk.flatten() for chunk in chunks_of(column)]
    lengths = as_array(compute().list_value_length(column).fill_null(0))
    some = lengths > 0
    n, k = np.count_nonzero(some), int(lengths.max())
    if not k or not (lengths[some] == k).all() or any(part.field(1).null_count for part in entries):
        return None
    keys = pa.concat_arrays([part.field(0) for part in entries]).dictionary_encode()
    if len(keys.dictionary) != k:
        return None
    cells = as_array(keys.indices) + np.repeat(np.arange(n) * k, k)
    table, seen = np.empty(n * k), np.zeros(n * k, bool)
    table[cells], seen[cells] = np.concatenate([as_array(part.field(1)) for part in entries]), True
    if not seen.all():  # a map has a key twice
        return None
    columns = [pa.array(scores) for scores in table.reshape(n, k).T]
    if n < len(lengths):
        taken = pa.array(np.cumsum(some) - 1, mask=~some)
        columns = [scores.take(taken) for scores in columns]
    names = keys.dictionary.to_pylist()
    return pa.record_batch(columns, names), names


def _lists(values: ArrowColumn) -> Values:
    """Return a column of lists of scores as a table, or as a list of rows unless all are numbers of one length."""
    chunks = chunks_of(values)
    if chunks and not values.null_count and is_number(values.type.value_type):
        parts = [chunk.flatten() for chunk in chunks]
        ends = compute().min_max(compute().list_value_length(values))
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if low == high and not any(part.null_count for part in parts):
            tables = [as_array(part).reshape(len(chunk), low) for part, chunk in zip(parts, chunks, strict=True)]
            return tables[0] if len(tables) == 1 else np.concatenate(tables)
    return rows(values, "scores")
