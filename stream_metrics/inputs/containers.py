"""Containers of rows: whatever holds a column or a table becomes one of a few forms, before its rows are read.

These are an array of NumPy, a list, a column or a table of pyarrow, codes with categories, and a data frame of pandas.
Sets and mappings have no order that two columns could share, so they are no columns. Nothing is imported to recognise
the columns of other libraries.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from stream_metrics.errors import LabelError
from stream_metrics.inputs import arrow
from stream_metrics.inputs.tensors import COLUMNS, LABELS, native, tensor_to_numpy


def as_container(values: Any, argument: str) -> Any:
    """Return a column or a table in a form that can be read more than once; those forms are returned as they are.

    Raises the error of the argument for what is no column: text, a single value, a set or a mapping.
    """
    if type(values) is list:
        return values
    if type(values) is np.ndarray and values.ndim:
        return native(values)
    data = arrow.as_pyarrow(values)
    if data is not None:
        return arrow.rows(data, argument) if str(getattr(data, "type", "")).startswith(arrow.ROW_BY_ROW) else data
    values = _plain_pandas(tensor_to_numpy(values, argument))
    unordered = isinstance(values, str | bytes | bytearray | Set | Mapping)
    has_rows = isinstance(values, Iterable) or hasattr(values, "__array__")
    if unordered or getattr(values, "shape", None) == () or not has_rows:
        error, what = COLUMNS.get(argument, LABELS)
        raise error(argument=argument, expected=f"to be {what}", got=values)
    if hasattr(values, "mask") and hasattr(values, "filled"):
        if values.ndim == 2 and values.dtype.kind in "iufb":
            return values.astype(np.float64).filled(np.nan)
        return list(values) if values.dtype.kind in "mM" else values.tolist()
    if is_coded(values) or hasattr(values, "iloc"):
        return values
    if hasattr(values, "__arrow_c_stream__") and hasattr(values, "to_list"):  # of polars, which NumPy may round
        return values.to_list()
    if hasattr(values, "__array__") or isinstance(values, memoryview | array):
        return native(np.asarray(values))
    return list(values)


def is_coded(values: object) -> bool:
    """Tell whether a column is codes and the names that they stand for."""
    return hasattr(values, "codes") and hasattr(values, "categories") and not hasattr(values, "iloc")


def is_table(values: object) -> bool:
    """Tell whether it is a data frame of pandas or a table of Arrow."""
    return hasattr(values, "column_names") or (hasattr(values, "iloc") and hasattr(values, "columns"))


def row_objects(column: Any, argument: str = "y_pred") -> list[Any]:
    """Return the rows of a column that `as_container` returned as objects."""
    if arrow.is_pyarrow(column):
        return arrow.rows(column, argument)
    if is_coded(column):
        names, codes = list(column.categories), np.asarray(column.codes)
        for code in {int(codes.min()), int(codes.max())} if len(codes) else ():
            if not -1 <= code < len(names):
                raise LabelError(argument="codes", expected=f"to be from -1 to {len(names) - 1}", got=code)
        return [None if code == -1 else names[code] for code in codes.tolist()]
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        return list(column)  # some units would be numbers
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _plain_pandas(values: Any) -> Any:
    """Return a Series as the array in it, and one with gaps as objects: NumPy would make nan or floats of them."""
    dtype = getattr(values, "dtype", None)
    masked = type(getattr(dtype, "na_value", None)).__name__ == "NAType"
    if masked and getattr(dtype, "kind", "O") in "iufb" and values.isna().any():
        return values.to_numpy(dtype=object)
    if hasattr(dtype, "storage") and values.isna().any():  # text, whose gaps may be nan
        return values.to_numpy(dtype=object, na_value=None)
    return values.array if hasattr(values, "iloc") and hasattr(values, "array") else values
