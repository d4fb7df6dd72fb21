"""Columns and tables of Arrow: what holds labels, scores, weights or times, read without a Python object per row.

An object is taken for Arrow if it has the Arrow PyCapsule interface, or is a column of pandas that is Arrow inside.
That tells every producer (pyarrow, polars, nanoarrow, DuckDB) by one test of attributes, and pyarrow is imported only
when such an object has come: for its own objects that is no import at all. What is foreign is handed to pyarrow, which
copies nothing. Without pyarrow it is read as any other column.

Codes of a dictionary are used where they lie, each chunk by itself, if none is null; otherwise they are copied into
narrow ones. Chunks with different dictionaries are brought to one by numbering the values of all dictionaries, not the
rows. Short texts are numbered where they lie, which is sooner than Arrow does it; others by Arrow. Codes that are
copied are not checked.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from stream_metrics._core.numeric.kernels import encode_texts
from stream_metrics.inputs import chunked
from stream_metrics.inputs.chunked import Change, Part, concat_codes, min_int_dtype, stack_columns
from stream_metrics.inputs.tensors import COLUMNS, LABELS, Array, Values
from stream_metrics.labels import Label, canonical
from stream_metrics.labels.label import LONGEST

if TYPE_CHECKING:
    from pyarrow import Array as ArrowArray
    from pyarrow import ChunkedArray, DataType, RecordBatch, Table

Codes: TypeAlias = tuple[Array | list[Array], list[Any]]
Read: TypeAlias = Values | tuple[Array | list[Array], list[Label] | None]
ArrowColumn: TypeAlias = "ArrowArray | ChunkedArray"
ArrowData: TypeAlias = "ArrowColumn | RecordBatch | Table"

UNREADABLE = ValueError, KeyError, OverflowError  # invalid UTF-8, a key twice, a time that Python does not have
NARROW = 2**15  # integers with nulls that lie no further apart are codes as they are, less the smallest
WIDTHS = {  # bytes of an offset or a view
    "string": 4,
    "binary": 4,
    "large_string": 8,
    "large_binary": 8,
    "string_view": 16,
    "binary_view": 16,
}


def as_pyarrow(values: object) -> ArrowData | None:
    """Return the array, chunked array, record batch or table of pyarrow that `values` is or stands for, else None.

    None too for a column whose producer hands Arrow something else than its values (polars, of Python objects).
    """
    if isinstance(values, list | tuple | np.ndarray):
        return None
    dtype = getattr(values, "dtype", None)
    inside = hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow"  # of pandas
    stream = hasattr(values, "__arrow_c_stream__")
    if not inside and (hasattr(values, "iloc") or not (stream or hasattr(values, "__arrow_c_array__"))):
        return None
    try:
        pa = pyarrow()
    except ImportError:
        return None
    if isinstance(values, pa.RecordBatch | pa.Table):
        return values
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _plain(values)
    if "Object" in str(getattr(values, "schema", "") if dtype is None else dtype):
        return None  # polars hands over the addresses of Python objects
    try:
        column = pa.chunked_array(values) if stream and not inside else pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # of a type that pyarrow does not know
        return None
    if dtype is None and types().is_struct(column.type):  # a table, and no column of structs
        return pa.Table.from_struct_array(column)
    return _plain(column)


def is_pyarrow(values: object) -> bool:
    """Tell whether it is a column or a table of pyarrow, of any type."""
    pa: Any = sys.modules.get("pyarrow")
    return pa is not None and isinstance(values, pa.Array | pa.ChunkedArray | pa.RecordBatch | pa.Table)


def _plain(values: ArrowColumn) -> ArrowColumn:
    """Return a column with run ends decoded, extensions as their lists, and values that cannot be numbered as such."""
    kind, is_ = values.type, types()
    if hasattr(kind, "storage_type") and is_list(kind.storage_type):  # of others the extension says what they are
        return pyarrow().chunked_array([chunk.storage for chunk in chunks_of(values)], kind.storage_type)
    try:
        if is_.is_run_end_encoded(kind):
            return _plain(compute().run_end_decode(values))
        return _plain(_decoded(values)) if is_.is_dictionary(kind) and not _is_simple(kind.value_type) else values
    except (pyarrow().ArrowInvalid, pyarrow().ArrowNotImplementedError):
        return values


def is_readable(values: ArrowData) -> bool:
    """Tell whether the functions below read a column or a table; others are read row by row."""
    if hasattr(values, "column_names"):
        return True
    kind, is_ = values.type, types()
    nested = is_list(kind) or is_.is_map(kind) or is_.is_struct(kind) or is_.is_timestamp(kind)
    return bool(nested or _is_simple(kind.value_type if is_.is_dictionary(kind) else kind))


def _is_simple(kind: DataType) -> bool:
    is_ = types()
    decimal = is_.is_decimal128(kind) or is_.is_decimal256(kind)
    return bool(is_number(kind) or is_text(kind) or is_.is_date(kind) or is_.is_null(kind) or decimal)


def rows(values: ArrowColumn, argument: str) -> list[Any]:
    """Return a column as Python objects, maps as dicts; an error of the argument names a row that has none."""
    try:
        return list(values.to_pylist(maps_as_pydicts="strict"))
    except UNREADABLE as error:
        reason, position = error, 0
        for position in range(len(values)):
            try:
                values[position : position + 1].to_pylist(maps_as_pydicts="strict")
            except UNREADABLE:
                break
        but = f"got no value of Python: {reason!s:.100}"
        error_type, what = COLUMNS.get(argument, LABELS)
        raise error_type(argument=argument, position=position, expected=f"to be in {what}", but=but) from None


def dictionary_encode(values: Any) -> Any:
    """Dictionary-encode a column of text, so that repeated reads do not number it again; return others as they are."""
    text = is_pyarrow(values) and hasattr(values, "type") and is_text(values.type)
    return values.dictionary_encode() if text else values


def labels(values: ArrowColumn, argument: str) -> Read:
    """Return a column of labels: an array of numbers, a list of objects, or what makes a `Column`."""
    kind, is_ = values.type, types()
    if is_.is_null(kind):
        return np.full(len(values), -1, np.int8), []
    if is_.is_boolean(kind):
        return concat_codes([_part(chunk) for chunk in chunks_of(values)], np.dtype(np.int8)), [False, True]
    if is_.is_integer(kind) and not values.null_count:
        return [_raw(chunk) for chunk in chunks_of(values)], None
    if is_.is_floating(kind) and not values.null_count:
        return as_array(values)
    if is_.is_dictionary(kind):
        names = sum(map(len, _distinct(chunks_of(values))[0]))
        if len(values) < names or is_.is_null(kind.value_type):  # most of these names are not needed
            return labels(_decoded(values), argument)
    coded: Codes | None = None
    try:
        if is_.is_integer(kind):
            coded = _nullable(values)
        elif is_.is_floating(kind):
            wide = _widened(values)
            if compute().is_finite(wide).index(False).as_py() < 0:  # nan may be an abstention
                coded = _from_dictionary(wide.dictionary_encode())
        elif is_.is_dictionary(kind) or is_.is_date(kind) or is_.is_decimal(kind):
            coded = _from_dictionary(values if is_.is_dictionary(kind) else values.dictionary_encode())
        elif is_text(kind):
            coded = _short_texts(values, chunks_of(values)) or _from_dictionary(values.dictionary_encode())
    except UNREADABLE:  # of a name, which no row may have
        pass
    return rows(values, argument) if coded is None else coded


def numbers(values: ArrowColumn, argument: str) -> Values:
    """Return a column of numbers as an array, or as a list if one is null or they are no numbers."""
    is_ = types()
    if is_.is_dictionary(values.type) and is_number(values.type.value_type):
        values = _decoded(values)
    values = _whole_decimals(values) if is_.is_decimal(values.type) else values
    return as_array(values) if is_number(values.type) and not values.null_count else rows(values, argument)


def _whole_decimals(values: ArrowColumn) -> ArrowColumn:
    """Return decimals as int64 where all are whole and fit, as the sums of SQL engines; others as they are."""
    try:
        return values.cast("int64")
    except pyarrow().ArrowInvalid:
        return values


def times(values: ArrowColumn) -> Values:
    """Return a column of times as an array of datetime64 or of numbers, or as a list."""
    is_ = types()
    if is_.is_dictionary(values.type) and is_.is_date(values.type.value_type):
        values = _decoded(values)
    if is_.is_date(values.type):
        values = values.cast("date32", safe=False).cast(pyarrow().timestamp("ms"))  # a date64 may have milliseconds
    return as_array(values) if is_.is_timestamp(values.type) else numbers(values, "t")


@cache
def pyarrow() -> ModuleType:
    """Return the module."""
    return import_module("pyarrow")


@cache
def types() -> ModuleType:
    """Return the tests of types that pyarrow has."""
    return import_module("pyarrow.types")


@cache
def compute() -> ModuleType:
    """Return the functions on columns that pyarrow has."""
    return import_module("pyarrow.compute")


def is_number(kind: DataType) -> bool:
    """Tell whether a type is that of integers, floats or booleans."""
    is_ = types()
    return bool(is_.is_integer(kind) or is_.is_floating(kind) or is_.is_boolean(kind))


def is_text(kind: DataType) -> bool:
    """Tell whether a type is that of text or bytes, of whatever layout."""
    return str(kind).startswith(("string", "large_string", "binary", "large_binary", "fixed_size_binary"))


def is_list(kind: DataType) -> bool:
    """Tell whether a type is that of lists, of whatever layout."""
    return str(kind).startswith(("list", "large_list", "fixed_size_list"))


def chunks_of(values: ArrowColumn) -> list[ArrowArray]:
    """Return the arrays that a column is made of, but for empty ones."""
    return [chunk for chunk in getattr(values, "chunks", [values]) if len(chunk)]


def as_array(values: ArrowColumn) -> Array:
    """Return a column as an array, without a copy if it is in one piece."""
    chunks = chunks_of(values)
    arrays = [chunk.to_numpy(zero_copy_only=False) for chunk in chunks]
    if len(arrays) == 1:
        return np.asarray(arrays[0])
    return np.concatenate(arrays) if arrays else np.empty(0, values.type.to_pandas_dtype())


def _decoded(values: ArrowColumn) -> ArrowColumn:
    """Return a dictionary-encoded column as its values; text that is views is copied, since Arrow can take none."""
    pa = pyarrow()
    kind = values.type.value_type
    kind = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}.get(str(kind), kind)
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in chunks_of(values)], kind)


def _widened(values: ArrowColumn) -> ArrowColumn:
    """Return half floats as floats, since Arrow cannot number them."""
    return values.cast("float") if types().is_float16(values.type) else values


def _nullable(values: ArrowColumn) -> Codes | None:
    """Return integers, some of which are null, as codes."""
    ends = compute().min_max(values)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None:
        return np.full(len(values), -1, np.int8), []
    low = 0 if 0 < low < 256 else low
    if high - low >= min(NARROW, 512 + len(values)):
        return _from_dictionary(values.dictionary_encode())
    names: list[Any] = list(range(low, high + 1))
    parts = [_part(chunk, chunked.subtract_codes(low)) for chunk in chunks_of(values)]
    return concat_codes(parts, min_int_dtype(len(names))), names


def _short_texts(values: ArrowColumn, chunks: list[ArrowArray]) -> Codes | None:
    """Return the codes and the names of a column of text with these chunks, in the order of their first rows.

    None if a text is long, many are different, or the column is not in the memory of the processor.
    """
    width = WIDTHS.get(str(values.type))
    buffers = [chunk.buffers() for chunk in chunks]
    if width is None or not all(buffer is None or buffer.is_cpu for parts in buffers for buffer in parts):
        return None
    encoded = encode_texts(
        [
            (
                len(chunk),
                chunk.offset,
                valid.address if chunk.null_count else 0,
                places.address,
                [0 if part is None else part.address for part in data],
            )
            for chunk, (valid, places, *data) in zip(chunks, buffers, strict=True)
        ],
        width,
    )
    if encoded is None:
        return None
    codes, firsts = encoded
    return codes, [values[row].as_py() for row in firsts]


def _from_dictionary(values: ArrowColumn) -> Codes | None:
    """Return a dictionary-encoded column as codes and names; None, or an error, if a name is no label."""
    kind, chunks = values.type.value_type, chunks_of(values)
    if not chunks:
        return np.empty(0, np.int8), []
    dictionaries, place = _distinct(chunks)
    indices = [chunk.indices for chunk in chunks]
    one = len(dictionaries) == 1 and not dictionaries[0].null_count
    codes, names = _shared(indices, dictionaries[0]) if one else _unified(indices, dictionaries, place)
    if is_text(kind):
        return None if max(map(len, names), default=0) > LONGEST else (codes, names)
    return codes, names if types().is_integer(kind) else [canonical(name) for name in names]


def _distinct(chunks: list[ArrowArray]) -> tuple[list[ArrowArray], list[int]]:
    """Return the dictionaries of chunks without those that equal the one before, and where each is among these."""
    dictionaries = [chunk.dictionary for chunk in chunks]
    distinct, place = dictionaries[:1], [0]
    for dictionary in dictionaries[1:]:
        if not dictionary.equals(distinct[-1]):
            distinct.append(dictionary)
        place.append(len(distinct) - 1)
    return distinct, place


def _shared(indices: list[ArrowArray], dictionary: ArrowArray) -> Codes:
    """Return the codes and the names of arrays with one dictionary."""
    names = dictionary.to_pylist()
    if any(array.null_count for array in indices):
        return concat_codes([_part(array) for array in indices], min_int_dtype(len(names))), names
    codes = [_raw(array) for array in indices]
    signed = np.dtype(f"i{codes[0].itemsize}")
    fit = len(names) <= np.iinfo(signed).max
    return [array.view(signed) if fit else array.astype(np.int64) for array in codes], names


def _unified(indices: list[ArrowArray], dictionaries: list[ArrowArray], place: list[int]) -> Codes:
    """Number the values of all dictionaries together; a null among them is a missing label."""
    pa = pyarrow()
    together = _widened(pa.concat_arrays(dictionaries)).dictionary_encode()
    names, dtype = together.dictionary.to_pylist(), min_int_dtype(len(together.dictionary))
    numbered = concat_codes([_part(together.indices)] if len(together) else [], dtype)
    ends = np.cumsum([0, *map(len, dictionaries)]).tolist()
    tables = [np.append(numbered[at:end], dtype.type(-1)) for at, end in pairwise(ends)]
    changes = [chunked.lookup_codes(table) for table in tables]
    return concat_codes([_part(array, changes[at]) for array, at in zip(indices, place, strict=True)], dtype), names


def _part(array: ArrowArray, change: Change = chunked.copy_codes) -> Part:
    return Part(_raw(array), change, (array.buffers()[0], array.offset) if array.null_count else None)


def _raw(array: ArrowArray) -> Array:
    """Return the integers of an array as they lie in memory, whatever stands where it is null."""
    _, data = array.buffers()
    if types().is_boolean(array.type):
        return chunked.bits(data, array.offset, len(array))
    dtype = np.dtype(str(array.type))
    return np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)


def column_names(values: ArrowData) -> list[str] | None:
    """Return the names of the columns of a table or of the fields of a struct; None for any other column."""
    if hasattr(values, "column_names"):
        return list(values.column_names)
    return [field.name for field in values.type] if types().is_struct(values.type) else None


def is_soft(values: ArrowColumn) -> bool:
    """Tell whether a column of predictions holds scores: floats, lists or maps of scores."""
    kind, is_ = values.type, types()
    kind = kind.value_type if is_.is_dictionary(kind) else kind
    return bool(is_.is_floating(kind) or is_.is_map(kind) or is_list(kind))


def rows_with_scores(values: ArrowData) -> ArrowColumn | None:
    """Return for each row of a column or a table whether it has scores; None if all have."""
    table = hasattr(values, "column_names")
    columns = [values] if column_names(values) is None else values.columns if table else values.flatten()
    if not any(column.null_count for column in columns) or "view" in str(getattr(values, "type", "")):
        return None  # Arrow cannot filter lists that are views
    some = columns[0].is_valid()
    for column in columns[1:]:
        some = compute().or_(some, column.is_valid())
    return some


def scores(values: ArrowData) -> Values:
    """Return a column of scores as `numbers` does, a table of them (n, K) as an array, maps as dicts.

    The table is a record batch, a table, a struct, or lists of one length. If anything in it is null or no number, it
    is a list of rows: None for a row that is null or, but for lists, has nothing but nulls.
    """
    if column_names(values) is None:
        return _list_scores(values) if is_list(values.type) else numbers(values, "scores")
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


def _list_scores(values: ArrowColumn) -> Values:
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
