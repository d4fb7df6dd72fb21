"""Forms in which a column of numbers may come, each as a batch and as the rows of that batch."""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from itertools import product
from types import ModuleType, SimpleNamespace
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
    if "torch" in name:
        return "torch"
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
    "float16": of_dtype(np.float16),
    "float32": of_dtype(np.float32),
    "float64": of_dtype(np.float64),
    "longdouble": of_dtype(np.longdouble),
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
    "bytes": of_rows(lambda x: str(x).encode()),
    "complex": of_rows(complex),
    "rows of one": of_rows(lambda x: [x]),
    "arrays of one": of_rows(lambda x: np.array([x])),
    "column of one": of_column(lambda values: np.array(values)[:, None]),
    "missing": of_rows(lambda x: None),
    "nan": of_rows(lambda x: float("nan")),
    "infinite": of_column(lambda values: np.array([np.inf for _ in values], np.float32)),
}

# Values of all kinds, three of each, and what makes columns of them; a maker that fails has no such column.
POOLS: dict[str, list[Any]] = {
    "text": ["a", "b", "a"],
    "more text": ["é", "", "é"],
    "int": [1, 2, 1],
    "large": [2**100, 1, 2**100],
    "float": [0.1, 0.5, 1.0],
    "bool": [True, False, True],
    "bytes": [b"a", b"\xff", b"a"],
    "whole Decimal": [Decimal(1), Decimal(2), Decimal(1)],
    "large Decimal": [Decimal(10) ** 37, Decimal(-1), Decimal(10) ** 37],
    "Decimal": [Decimal("0.50"), Decimal("0.1"), Decimal("0.50")],
    "date": [date(2024, 1, 1), date(2024, 1, 2), date(2024, 1, 1)],
    "far date": [date(1, 1, 1), date(9999, 12, 31), date(1, 1, 1)],
    "datetime": [datetime(2024, 1, 1, 1), datetime(2024, 1, 2), datetime(2024, 1, 1, 1)],
    "zone": [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 1)],
    "timedelta": [timedelta(1), timedelta(2), timedelta(1)],
    "time": [time(1), time(2), time(1)],
    "tuple": [(1, "a"), (2,), (1, "a")],
    "list": [[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]],
    "mapping": [{"a": 0.25, "b": 0.75}, {"a": 0.5, "b": 0.5}, {"a": 1.0, "b": 0.0}],
    "mixed": ["a", 1, 2.5],
    "complex": [1j, 2j, 1j],
    "object": [object()] * 3,
    "no text": ["a", None, "b"],
    "no int": [2**60 + 1, None, 5],
    "no float": [0.25, None, 0.5],
    "no bool": [True, None, False],
    "no list": [[0.5, 0.5], None, [0.5, 0.5]],
    "no mapping": [{"a": 0.25, "b": 0.75}, None, {"a": 0.25, "b": 0.75}],
    "no Decimal": [Decimal("0.50"), None, Decimal("0.50")],
    "no datetime": [datetime(2024, 1, 1, 1), None, datetime(2024, 1, 1, 1)],
    "none": [None] * 3,
}


class List(list):  # type: ignore[type-arg]
    """A list of another type."""


def gaps(rows: list[Any]) -> Any:
    """Return an array whose second row is masked."""
    return np.ma.array(np.array(rows), mask=[False, True, False])


def arrow_types() -> dict[str, Any]:
    """Return types of Arrow that no Python value has by itself, by name."""
    pa = import_module("pyarrow")
    numbers = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.date64(), pa.month_day_nano_interval()]
    decimals = [pa.decimal32(5, 2), pa.decimal64(9, 2), pa.decimal256(50, 2)]
    texts = [pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary_view(), pa.binary(1), pa.json_()]
    times = [getattr(pa, kind)(unit) for kind in ("timestamp", "duration") for unit in ("s", "ms", "us", "ns")]
    times.append(pa.timestamp("ns", "Asia/Tokyo"))
    lists = [pa.large_list(pa.float64()), pa.list_(pa.float64(), 2), pa.list_view(pa.float64()), pa.bool8(), pa.uuid()]
    maps = [pa.map_(pa.string(), pa.float64()), pa.dictionary(pa.int8(), pa.string())]
    return {str(kind): kind for kind in [*numbers, *decimals, *texts, *times, *lists, *maps]}


def arrow_makers() -> dict[str, Callable[[list[Any]], Any]]:
    """Return makers of columns of Arrow, in every layout and of every type."""
    pa, pc = import_module("pyarrow"), import_module("pyarrow.compute")
    coded = lambda rows: pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(rows[:2]))  # noqa: E731
    stream = lambda column: SimpleNamespace(__arrow_c_stream__=pa.chunked_array([column]).__arrow_c_stream__)  # noqa: E731
    opaque = pa.opaque(pa.float64(), "odd", "unknown")
    typed = {name: lambda rows, kind=kind: pa.array(rows, kind) for name, kind in arrow_types().items()}
    return {
        "array": pa.array,
        "chunks": lambda rows: pa.chunked_array([pa.array(rows).slice(0, 1), pa.array(rows).slice(1)]),
        "stream": lambda rows: stream(pa.array(rows).dictionary_encode().dictionary_decode()),  # structs are tables
        "stream of codes": lambda rows: stream(pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(rows))),
        "dictionary": lambda rows: pa.array(rows).dictionary_encode(),
        "codes": coded,
        "dictionary of a dictionary": lambda rows: pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), coded(rows)),
        "run ends": lambda rows: pc.run_end_encode(pa.array(rows)),
        "run ends of codes": lambda rows: pa.RunEndEncodedArray.from_arrays([1, 2, 3], coded(rows)),
        "union": lambda rows: pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array(rows)]),
        "extension": lambda rows: pa.ExtensionArray.from_storage(opaque, pa.array(rows)),
        "pandas": lambda rows: pd.Series(rows, dtype=pd.ArrowDtype(pa.array(rows).type)),
        **typed,
        **{f"codes of {name}": lambda rows, make=make: coded(make(rows)) for name, make in typed.items()},
    }


def polars_makers() -> dict[str, Callable[[list[Any]], Any]]:
    """Return makers of columns of polars, of every type."""
    pl = import_module("polars")
    kinds = "Int8", "Int128", "UInt64", "UInt128", "Float16", "Float32", "Decimal", "Categorical", "Object"
    return {
        "Series": pl.Series,
        "Enum": lambda rows: pl.Series(rows, dtype=pl.Enum(["b", "a"])),
        "Datetime": lambda rows: pl.Series(rows, dtype=pl.Datetime("us", "UTC")),
        "Array": lambda rows: pl.Series(rows, dtype=pl.Array(pl.Float64, 2)),
        **{kind: lambda rows, kind=kind: pl.Series(rows, dtype=getattr(pl, kind)) for kind in kinds},
    }


def torch_makers() -> dict[str, Callable[[list[Any]], Any]]:
    """Return makers of tensors of every type."""
    kinds = "int8", "int64", "uint64", "bool", "float16", "bfloat16", "float8_e4m3fn", "float32", "float64", "complex64"
    return {kind: lambda rows, kind=kind: torch().tensor(rows, dtype=getattr(torch(), kind)) for kind in kinds}


def python_makers() -> dict[str, Callable[[list[Any]], Any]]:
    """Return makers of columns of Python, NumPy and pandas."""
    numpy = "i1", ">i4", "u8", "f2", ">f4", "g", "?", "U3", ">U40", "S3", "V2", "M8[D]", "M8[ns]", "m8[s]"
    pandas = (
        "Int8",
        "UInt64",
        "Float32",
        "Float64",
        "boolean",
        "string",
        "category",
        "object",
        "str",
        "Sparse[int]",
        "Sparse[float]",
    )
    return {
        "tuple": tuple,
        "subclass": List,
        "generator": iter,
        "values": lambda rows: dict(enumerate(rows)).values(),
        "array.array": lambda rows: array.array("q" if type(rows[0]) is int else "d", rows),
        "memoryview": lambda rows: memoryview(np.array(rows)),
        "objects": objects,
        "NumPy": np.array,
        "every second": lambda rows: np.repeat(rows, 2)[::2],
        "backwards": lambda rows: np.array(rows[::-1])[::-1],
        "StringDType": lambda rows: np.array(rows, np.dtypes.StringDType(na_object=None)),
        "structured": lambda rows: np.array([(row, 1) for row in rows], [("a", type(rows[0])), ("b", int)]),
        "masked": gaps,
        "Categorical": lambda rows: sm.Categorical([0, 1, 0], rows[:2]),
        "unsigned codes": lambda rows: sm.Categorical(np.array([0, 1, 0], np.uint8), rows[:2]),
        "wide codes": lambda rows: sm.Categorical(np.array([0, 1, 0], ">i8"), tuple(rows[:2])),
        "unused categories": lambda rows: pd.Categorical(rows, ["zebra", *dict.fromkeys(rows), "ape"]),
        **{kind: lambda rows, kind=kind: np.array(rows).astype(kind) for kind in numpy},
        "Series": pd.Series,
        "Index": pd.Index,
        "intervals": lambda rows: pd.Series(pd.IntervalIndex.from_breaks([0, *np.cumsum(rows)])),
        "periods": lambda rows: pd.Series(pd.PeriodIndex(rows, freq="D")),
        **{f"pandas {kind}": lambda rows, kind=kind: pd.Series(rows, dtype=kind) for kind in pandas},
    }


MAKERS: dict[str, Callable[[], dict[str, Callable[[list[Any]], Any]]]] = {
    "numpy": python_makers,
    "pyarrow": arrow_makers,
    "polars": polars_makers,
    "torch": torch_makers,
}


def columns_and_rows(library: str) -> Iterator[tuple[str, Callable[[], Any], list[Any]]]:
    """Yield every column of a library by name, and its rows as that library gives them; None is a gap."""
    pytest.importorskip(library, reason=f"needs {library}", exc_type=ImportError)
    for (name, make), (pool, values) in product(MAKERS[library]().items(), POOLS.items()):
        try:
            rows = rows_of(make(values), values)
        except Exception:  # there is no such column
            continue
        yield f"{name} of {pool}", lambda make=make, values=values: make(values), rows


def rows_of(column: Any, values: list[Any]) -> list[Any]:
    """Return the rows of a column as its library gives them, gaps of pandas as None."""
    if isinstance(column, sm.Categorical):
        return [column.categories[code] for code in column.codes]
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist(maps_as_pydicts="strict"))
    if isinstance(column, pd.Series | pd.Index):
        named = column.dtype.kind == "O" and column.dtype != object
        return [None if named and type(row) is float and row != row else row for row in column.tolist()]
    if isinstance(column, np.ndarray) and column.dtype.kind in "mM":
        return list(column)
    if hasattr(column, "tolist") or hasattr(column, "to_list"):
        return list(column.tolist() if hasattr(column, "tolist") else column.to_list())
    return values if hasattr(column, "__next__") or isinstance(column, SimpleNamespace) else list(column)
