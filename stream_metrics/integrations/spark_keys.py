"""Keys of groups in Arrow: a number for each distinct key, for keys of any type."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["key_codes"]

Codes: TypeAlias = NDArray[np.int64]


def key_codes(keys: pa.Table) -> Codes:
    """Return for each row of one column or more a number from 0 on, the same for rows that are equal.

    Null is a value, and so is nan. Keys that Spark takes for equal may differ here.
    """
    return _together([_codes(_in_one(column)) for column in keys.columns])


def _codes(column: pa.Array) -> Codes:
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    if pa.types.is_struct(kind):
        valid = np.asarray(column.is_valid()).astype(np.int64)
        return _together([valid, *(_codes(child) for child in column.flatten())])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.cumsum(np.asarray(pc.fill_null(pc.list_value_length(column), 0))).tolist()
        items = _codes(column.flatten())
        texts = [items[low:high].tobytes() for low, high in zip([0, *ends], ends, strict=False)]
        valid = np.asarray(column.is_valid()).astype(np.int64)
        return _together([valid, _codes(pa.array(texts, pa.binary()))])
    encoded = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, np.int64)


def _together(columns: list[Codes]) -> Codes:
    """Return the codes of rows from those of their columns."""
    codes = columns[0]
    for more in columns:
        codes = np.unique(codes * (more.max(initial=0) + 1) + more, return_inverse=True)[1]
    return codes


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
