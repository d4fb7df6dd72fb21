"""Rows with defects that are found a column at a time: values that are missing, and numbers that no state takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics.inputs import arrow
from stream_metrics.inputs.columns import Column
from stream_metrics.inputs.containers import is_coded, is_table
from stream_metrics.inputs.score_tables import score_table
from stream_metrics.inputs.tensors import Array
from stream_metrics.labels import is_missing

MISSING = {"NAType", "NaTType"}  # types of pandas
FLOATS = (float, Decimal, np.generic)  # types with a value that is missing


def defects(columns: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield arguments, each with the rows that have one defect; most states refuse these rows."""
    for argument, column in columns.items():
        if argument in ("y_pred", "scores"):
            scores = _numbers(column) if argument == "scores" or _has_floats(column) else None
            if scores is not None and scores.dtype.kind == "f":
                table = scores.reshape(len(scores), -1)
                yield argument, np.any(~np.isfinite(table), axis=1)
                yield argument, np.any((table < 0) | (table > 1), axis=1)
            continue
        weights = _numbers(column) if argument == "w" else None
        missing = _missing(column) if weights is None else ~((weights >= 0) & (weights < 2.0**63))
        if missing is not None:
            yield argument, missing


def _has_floats(column: Any) -> bool:
    """Tell whether a column of predictions may be scores, by its type."""
    kind = column.type if arrow.is_pyarrow(column) and hasattr(column, "type") else getattr(column, "dtype", None)
    return "float" in str(kind).lower() or "double" in str(kind)


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
    kinds = set(map(type, column))
    kinds = {kind for kind in kinds if kind is NoneType or kind.__name__ in MISSING or issubclass(kind, FLOATS)}
    rows = np.fromiter(map(kinds.__contains__, map(type, column)), np.bool_, len(column))
    for row in np.flatnonzero(rows).tolist() if kinds != {NoneType} else ():
        rows[row] = is_missing(column[row])
    return rows
