"""Forms in which a column of numbers may come, each as a batch and as the rows of that batch."""

from __future__ import annotations

import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stream_metrics as sm

Form = Callable[[list[float]], tuple[Any, list[Any]]]


class Scalar:
    """A tensor without dimensions, as far as the package looks at one."""

    shape = ()

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        """Return the number."""
        return self.value.item() if hasattr(self.value, "item") else self.value

    def __float__(self) -> float:
        return float(self.value)


class DeviceArray:
    """A column that NumPy can read and Python cannot iterate over, as CuPy has it."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.values, dtype)

    def __len__(self) -> int:
        return len(self.values)


def ml_dtypes() -> ModuleType:
    """Return the module."""
    return import_module("ml_dtypes")


def torch() -> ModuleType:
    """Return the module."""
    return import_module("torch")


def library_of(name: str) -> str:
    """Return the library that the form of a name needs."""
    if "torch" in name or "polars" in name:
        return "torch" if "torch" in name else "polars"
    if "Arrow" in name:
        return "pyarrow"
    return "ml_dtypes" if any(kind in name for kind in ("bfloat16", "float8", "int4")) else "numpy"


def needing(library: str, forms: dict[str, Any]) -> dict[str, Any]:
    """Return the forms that need a library and no other; skip the test where it is not installed."""
    pytest.importorskip(library, reason=f"needs {library}", exc_type=ImportError)
    return {name: form for name, form in forms.items() if library_of(name) == library}


def one_by_one(y_true: Any, y_pred: Any, w: Any = None, **configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that counted the rows with `update`."""
    state = sm.ConfusionMatrix(**configuration)
    for truth, predicted, weight in zip(y_true, y_pred, [1] * len(y_true) if w is None else w, strict=True):
        state.update(truth, predicted, weight)
    return state


def in_batch(*columns: Any, **configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that counted the columns with `update_many`."""
    state = sm.ConfusionMatrix(**configuration)
    state.update_many(*columns)
    return state


def of_dtype(dtype: Any) -> Form:
    """Return the form of a NumPy array of a type."""

    def form(values: list[float]) -> tuple[Any, list[Any]]:
        column = np.array(values).astype(dtype() if isinstance(dtype, type(of_dtype)) else dtype)
        return column, list(column)

    return form


def of_rows(make: Callable[[float], Any], hold: Callable[[list[Any]], Any] = list) -> Form:
    """Return the form of a list of single objects, or of the container that `hold` builds from it."""

    def form(values: list[float]) -> tuple[Any, list[Any]]:
        rows = [make(value) for value in values]
        return hold(rows), rows

    return form


def objects(rows: list[Any]) -> Any:
    """Return an array of objects, those without dimensions included."""
    column = np.empty(len(rows), object)
    for at, row in enumerate(rows):
        column[at] = row
    return column


def of_column(make: Callable[[list[float]], Any]) -> Form:
    """Return the form of a column of any library whose rows are what iterating over it gives."""

    def form(values: list[float]) -> tuple[Any, list[Any]]:
        column = make(values)
        return column, list(column)

    return form


def on_device(values: list[float]) -> tuple[Any, list[Any]]:
    """Return a column that cannot be iterated over."""
    column = np.array(values, np.float32)
    return DeviceArray(column), list(column)


# Every form of a column of floats that is taken wherever numbers are.
FLOATS: dict[str, Form] = {
    "list": of_rows(float),
    "tuple": of_rows(float, tuple),
    "generator": of_rows(float, iter),
    "float16": of_dtype(np.float16),
    "float32": of_dtype(np.float32),
    "float64": of_dtype(np.float64),
    "longdouble": of_dtype(np.longdouble),
    "big-endian float32": of_dtype(">f4"),
    "bfloat16": of_dtype(lambda: ml_dtypes().bfloat16),
    "float8": of_dtype(lambda: ml_dtypes().float8_e4m3fn),
    "list of float16": of_rows(np.float16),
    "list of float32": of_rows(np.float32),
    "list of longdouble": of_rows(np.longdouble),
    "list of bfloat16": of_rows(lambda x: ml_dtypes().bfloat16(x)),
    "list of 0-d float32": of_rows(lambda x: np.array(x, np.float32)),
    "list of 0-d float64": of_rows(np.array),
    "list of 0-d longdouble": of_rows(lambda x: np.array(x, np.longdouble)),
    "list of 0-d bfloat16": of_rows(lambda x: np.array(x, ml_dtypes().bfloat16)),
    "list of tensor-like": of_rows(Scalar),
    "list of tensor-like float32": of_rows(lambda x: Scalar(np.float32(x))),
    "objects": of_rows(float, objects),
    "objects of float32": of_rows(np.float32, objects),
    "objects of tensor-like": of_rows(Scalar, objects),
    "mixed": lambda values: (lambda rows: (rows, rows))(
        [(float, np.float32, np.array, Scalar)[at % 4](value) for at, value in enumerate(values)]
    ),
    "array.array": of_column(lambda values: array.array("f", values)),
    "memoryview": of_column(lambda values: memoryview(np.array(values, np.float32))),
    "Series": of_column(lambda values: pd.Series(values, dtype="float32")),
    "Series of objects": of_column(lambda values: pd.Series([np.float32(x) for x in values], dtype=object)),
    "nullable Series": of_column(lambda values: pd.Series(values, dtype="Float32")),
    "Index": of_column(lambda values: pd.Index(values, dtype="float32")),
    "device array": on_device,
    "torch": of_column(lambda values: torch().tensor(values)),
    "torch float64": of_column(lambda values: torch().tensor(values, dtype=torch().float64)),
    "torch bfloat16": of_column(lambda values: torch().tensor(values, dtype=torch().bfloat16)),
    "torch float16": of_column(lambda values: torch().tensor(values, dtype=torch().float16)),
    "torch with gradients": of_column(lambda values: torch().tensor(values, requires_grad=True)),
    "list of torch": of_rows(lambda x: torch().tensor(x)),
    "list of torch bfloat16": of_rows(lambda x: torch().tensor(x, dtype=torch().bfloat16)),
    "list of torch with gradients": of_rows(lambda x: torch().tensor(x, requires_grad=True)),
}

# Numbers that are no floats: scores and weights where these are asked for, labels or errors where predictions are.
NUMBERS: dict[str, Form] = {
    "Decimal": of_rows(lambda x: Decimal(str(x))),
    "objects of Decimal": of_rows(lambda x: Decimal(str(x)), objects),
    "Fraction": of_rows(lambda x: Fraction(x).limit_denominator(100)),
    **{name: of_dtype(name) for name in ("int8", "int64", "uint8", "uint64", "bool")},
    "list of int": of_rows(round),
    "list of bool": of_rows(lambda x: x > 0.5),
    "list of numpy.bool": of_rows(lambda x: np.bool_(x > 0.5)),
    "list of numpy.int64": of_rows(lambda x: np.int64(round(x))),
    "list of 0-d int": of_rows(lambda x: np.array(round(x))),
    "list of 0-d bool": of_rows(lambda x: np.array(x > 0.5)),
    "list of tensor-like int": of_rows(lambda x: Scalar(round(x))),
    "int4": of_dtype(lambda: ml_dtypes().int4),
    "torch int": of_column(lambda values: torch().tensor([round(x) for x in values])),
    "torch bool": of_column(lambda values: torch().tensor([x > 0.5 for x in values])),
    "list of torch int": of_rows(lambda x: torch().tensor(round(x))),
}

# No numbers at all, alike wherever they come.
OTHERS: dict[str, Form] = {
    "text": of_rows(str),
    "array of text": of_column(lambda values: np.array([str(x) for x in values])),
    "bytes": of_rows(lambda x: str(x).encode()),
    "complex": of_rows(complex),
    "complex array": of_column(lambda values: np.array(values, complex)),
    "datetime64": of_column(lambda values: np.array([round(x) for x in values], "datetime64[s]")),
    "timedelta64": of_column(lambda values: np.array([round(x) for x in values], "timedelta64[s]")),
    "rows of one": of_rows(lambda x: [x]),
    "arrays of one": of_rows(lambda x: np.array([x])),
    "column of one": of_column(lambda values: np.array(values)[:, None]),
    "missing": of_rows(lambda x: None),
    "nan": of_rows(lambda x: float("nan")),
    "infinite": of_column(lambda values: np.array([np.inf for _ in values], np.float32)),
}

# Other columns of labels.
COLUMNS: dict[str, Form] = {
    "codes": lambda values: (sm.Categorical(list(range(len(values))), values), values),
    "category": of_column(lambda values: pd.Series(values, dtype="category")),
    "array of int": of_column(lambda values: array.array("q", map(round, values))),
    "slice of int16": of_column(lambda values: np.array([9, *map(round, values)], "i2")[1:]),
    "every third int32": of_column(lambda values: np.repeat(np.array([*map(round, values)], ">i4"), 3)[::3]),
    "Arrow": lambda values: (import_module("pyarrow").array([*map(round, values)]), [*map(round, values)]),
    "polars": of_column(lambda values: import_module("polars").Series([*map(round, values)])),
}
