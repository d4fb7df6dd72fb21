"""Columns and tables of Arrow: what holds labels, scores, weights or times, read without a Python object per row.

An object is taken for Arrow if it has the Arrow PyCapsule interface, or is a column of pandas that is Arrow inside.
That tells every producer (pyarrow, polars, nanoarrow, DuckDB) by one test of attributes, and pyarrow is imported only
when such an object has come: for its own objects that is no import at all. What is foreign is handed to pyarrow, which
copies nothing. Without pyarrow it is read as any other column.

Codes of a dictionary are used where they lie, each chunk by itself, if none is null; a null becomes -1 in a copy. Short
texts are numbered where they lie, which is sooner than Arrow does it; others by Arrow.

Tensors of torch are read where they are if that is this machine's own memory, without importing torch for it.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache, reduce
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from stream_metrics._core.numeric.kernels import encode_texts
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError, TimeError, WeightError
from stream_metrics.labels import Label, canonical
from stream_metrics.labels.label import LONGEST

if TYPE_CHECKING:
    from pyarrow import Array as ArrowArray
    from pyarrow import ChunkedArray, DataType, RecordBatch, Table

COLUMNS: dict[str, tuple[type[StreamMetricsError], str]] = {
    "scores": (ScoreError, "a column or a table of scores"),
    "w": (WeightError, "a column of weights"),
    "n": (WeightError, "a column of numbers of samples"),
    "t": (TimeError, "a column of times"),
    "x": (ScoreError, "a column of losses"),
}  # by argument; all others are of labels
LABELS = LabelError, "a column of labels"
Array: TypeAlias = np.ndarray[Any, Any]  # of any shape and type
Values: TypeAlias = Array | list[Any]  # numbers in an array, or anything in a list


def is_single(value: object) -> bool:
    """Tell whether a value stands for all rows of a batch: a label or a number, and no column."""
    return isinstance(value, str | bytes | int | float) or getattr(value, "shape", None) == ()


def native(values: Array) -> Array:
    """Return an array of numbers whose type comes from another package (bfloat16, float8, int4) as int64 or float64.

    Long doubles are rounded to float64. Any other array is returned as it is.
    """
    dtype = values.dtype
    if dtype.kind == "V" and dtype.names is None and dtype.type is not np.void:
        target = next((kind for kind in (np.int64, np.float64) if np.can_cast(dtype, kind)), None)
        return values if target is None else values.astype(target)
    if dtype.kind == "f" and dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # a long double may become infinite
            return values.astype(np.float64)
    return values


def tensor_to_numpy(values: Any, argument: str) -> Any:
    """Return a tensor as an array over its own memory, without its gradient, and anything else as it is.

    What NumPy has no type for, bfloat16 and float8, becomes float32, which holds it exactly. Raises the error of the
    argument for a tensor of which there is no such array: on another device, sparse, quantised, nested.
    """
    if not (hasattr(values, "detach") and hasattr(values, "layout")):
        return values
    if values.device.type == "cpu" and str(values.layout) == "torch.strided" and not values.is_quantized:
        values = values.detach().resolve_conj().resolve_neg()
        try:
            return values.numpy()
        except (TypeError, RuntimeError):
            if values.is_floating_point() and not values.is_nested:
                return values.float().numpy()
    kind = "quantised" if values.is_quantized else str(values.layout).removeprefix("torch.")
    raise COLUMNS.get(argument, LABELS)[0](
        argument=argument,
        expected="to be a dense tensor on the CPU, as `.cpu()` and `.to_dense()` give it",
        but=f"got one of {values.dtype} that is {kind} on {values.device}",
    )


Codes: TypeAlias = tuple[Array | list[Array], list[Any]]
Read: TypeAlias = Values | tuple[Array | list[Array], list[Label] | None]
ArrowColumn: TypeAlias = "ArrowArray | ChunkedArray"
ArrowData: TypeAlias = "ArrowColumn | RecordBatch | Table"

# invalid UTF-8, a key twice, a time that Python does not have, a type of which Arrow cannot do something
UNREADABLE = ValueError, KeyError, OverflowError, NotImplementedError
NARROW = 2**15  # integers with nulls that lie no further apart are codes as they are, less the smallest
ROW_BY_ROW = "run_end", "dense_union", "sparse_union", "extension", "dictionary<values=dictionary"  # names of types
# bytes of an offset or a view
WIDTHS = {"string": 4, "binary": 4, "large_string": 8, "large_binary": 8, "string_view": 16, "binary_view": 16}


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
    """Return a column with run ends and codes of lists or mappings decoded, and extensions as their lists."""
    kind, is_ = values.type, types()
    if hasattr(kind, "storage_type") and is_list(kind.storage_type):  # of others the extension says what they are
        return pyarrow().chunked_array([chunk.storage for chunk in chunks_of(values)], kind.storage_type)
    with suppress(*UNREADABLE):
        if is_.is_run_end_encoded(kind):
            return _plain(compute().run_end_decode(values))
        return _decoded(values) if is_.is_dictionary(kind) and is_.is_nested(kind.value_type) else values
    return values


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


def labels(values: ArrowColumn, argument: str) -> Read:
    """Return a column of labels: an array of numbers, a list of objects, or what makes a `Column`."""
    kind, is_ = values.type, types()
    if is_.is_null(kind):
        return np.full(len(values), -1, np.int8), []
    if is_.is_boolean(kind):
        return [_codes(chunk, 2) for chunk in chunks_of(values.cast("int8"))], [False, True]
    if is_.is_integer(kind) and not values.null_count:
        return [as_array(chunk) for chunk in chunks_of(values)], None
    if is_.is_floating(kind) and not values.null_count:
        return as_array(values)
    if is_.is_dictionary(kind):
        whole = _with_one_dictionary(values)
        if whole is None:
            return labels(_decoded(values), argument)
        values = whole
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
    """Return a column of numbers, or if `argument` is "t" of times, as an array.

    It is a list if a number is null, or they are no numbers. Decimals are int64 where all are whole and fit, as the
    sums of SQL engines.
    """
    is_, kind = types(), values.type
    if is_.is_dictionary(kind) and (is_number(kind.value_type) or is_.is_date(kind.value_type)):
        values = _decoded(values)
    with suppress(*UNREADABLE):
        values = values.cast("int64") if is_.is_decimal(values.type) else values
    if argument == "t" and is_.is_date(values.type):
        values = values.cast("date32", safe=False).cast(pyarrow().timestamp("ms"))  # a date64 may have milliseconds
    if argument == "t" and is_.is_timestamp(values.type):
        return as_array(values)
    return as_array(values) if is_number(values.type) and not values.null_count else rows(values, argument)


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
    if high - low >= min(NARROW, 512 + len(values)):
        return _from_dictionary(values.dictionary_encode())
    narrow = "int8" if high - low < 2**7 else "int16"  # of which differences are right, whatever is cut off
    first = pyarrow().scalar(np.array(low).astype(narrow).item(), narrow)
    codes = compute().subtract(values.cast(narrow, safe=False), first)
    return [_codes(chunk, high - low + 1) for chunk in chunks_of(codes)], list(range(low, high + 1))


def _short_texts(values: ArrowColumn, chunks: list[ArrowArray]) -> Codes | None:
    """Return the codes and the names of a column of text with these chunks, in the order of their first rows.

    None if a text is long, many are different, or the column is not in the memory of the processor.
    """
    width = WIDTHS.get(str(values.type))
    buffers = [chunk.buffers() for chunk in chunks]
    if width is None or not all(buffer is None or buffer.is_cpu for parts in buffers for buffer in parts):
        return None
    pieces = []
    for chunk, (valid, places, *data) in zip(chunks, buffers, strict=True):
        texts = [0 if part is None else part.address for part in data]
        pieces.append((len(chunk), chunk.offset, valid.address if chunk.null_count else 0, places.address, texts))
    encoded = encode_texts(pieces, width)
    if encoded is None:
        return None
    codes, firsts = encoded
    return codes, [values[row].as_py() for row in firsts]


def _from_dictionary(values: ArrowColumn) -> Codes | None:
    """Return a dictionary-encoded column as codes and names; None, or an error, if a name is no label."""
    kind, chunks = values.type.value_type, chunks_of(values)
    if not chunks:
        return np.empty(0, np.int8), []
    names = chunks[0].dictionary.to_pylist()
    codes = [_codes(chunk.indices, len(names)) for chunk in chunks]
    if is_text(kind):
        return None if max(map(len, names), default=0) > LONGEST else (codes, names)
    return codes, names if types().is_integer(kind) else [canonical(name) for name in names]


def _with_one_dictionary(values: ArrowColumn) -> ArrowColumn | None:
    """Return a dictionary-encoded column with one dictionary for all chunks.

    None if most of its values are not needed, one is null, or Arrow cannot number them.
    """
    pa = pyarrow()
    if types().is_float16(values.type.value_type):
        return None
    try:
        values = values.unify_dictionaries() if isinstance(values, pa.ChunkedArray) else values
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # too many for the type of the codes; a null among them
        return None
    dictionaries = [chunk.dictionary for chunk in chunks_of(values)[:1]]
    return None if any(each.null_count or len(values) < len(each) for each in dictionaries) else values


def _codes(positions: ArrowArray, names: int) -> Array:
    """Return the positions of so many names as signed integers, -1 where one is null."""
    nulls, kind = positions.null_count, positions.type
    if names > 2 ** (kind.bit_width - 1) or (nulls and not types().is_signed_integer(kind)):
        positions = positions.cast(str(np.min_scalar_type(-1 - names)), safe=False)
    codes = as_array(positions.fill_null(-1) if nulls else positions)
    return codes.view(f"i{codes.itemsize}")


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
    return reduce(compute().or_, [column.is_valid() for column in columns])


def scores(values: ArrowData) -> Values:
    """Return a column of scores as `numbers` does, a table of them (n, K) as an array, maps as dicts.

    The table is a record batch, a table, a struct, or lists of one length. If anything in it is null or no number, it
    is a list of rows: None for a row that is null or, but for lists, has nothing but nulls.
    """
    if column_names(values) is None:
        return _list_scores(values) if is_list(values.type) else numbers(values, "scores")
    table = hasattr(values, "column_names")
    columns = values.columns if table else values.flatten()
    if not columns:  # of a struct without fields
        return np.empty((len(values), 0))
    if all(is_number(column.type) and not column.null_count for column in columns):
        single = all(types().is_float32(column.type) for column in columns)
        return np.stack([as_array(each) for each in columns], axis=1, dtype=np.float32 if single else np.float64)
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
    some, k = lengths > 0, int(lengths.max())
    if not k or not (lengths[some] == k).all() or any(part.field(1).null_count for part in entries):
        return None
    keys = pa.concat_arrays([part.field(0) for part in entries]).dictionary_encode()
    if len(keys.dictionary) != k:
        return None
    table, seen = np.empty((len(some), k)), np.zeros((len(some), k), bool)
    cells = np.repeat(np.flatnonzero(some), k), as_array(keys.indices)
    table[cells], seen[cells] = np.concatenate([as_array(part.field(1)) for part in entries]), True
    if not seen[some].all():  # a map has a key twice
        return None
    names = keys.dictionary.to_pylist()
    return pa.record_batch([pa.array(scores, mask=~some) for scores in table.T], names), names


def _list_scores(values: ArrowColumn) -> Values:
    """Return a column of lists of scores as a table, or as a list of rows unless all are numbers of one length."""
    lengths = compute().min_max(compute().list_value_length(values))
    if len(values) and not values.null_count and is_number(values.type.value_type) and lengths["min"] == lengths["max"]:
        flat = compute().list_flatten(values)
        if not flat.null_count:
            return as_array(flat).reshape(len(values), -1)
    return rows(values, "scores")
