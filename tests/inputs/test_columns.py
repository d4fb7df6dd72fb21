"""update_many: every kind of column is counted as its rows would be one by one, to the byte."""

from __future__ import annotations

import array
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stream_metrics as sm
from stream_metrics.inputs.columns import as_column, factorize

TEXT = ["cat", "dog", "cat", "", "cat", "é", "dog"]
NUMBERS = [3, -1, 3, 0, 7, 3, -1]


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


def pyarrow() -> Any:
    """Return the module, or skip the test."""
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def torch() -> Any:
    """Return the module, or skip the test."""
    return pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError)


def codes(rows: list[Any]) -> sm.Categorical:
    """Return rows as codes of their distinct values."""
    names = list(dict.fromkeys(rows))
    return sm.Categorical([names.index(row) for row in rows], names)


TEXT_COLUMNS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda rows: (row for row in rows),
    "dict values": lambda rows: dict(enumerate(rows)).values(),
    "U": np.array,
    "wide U": lambda rows: np.array(rows, "U40"),
    "swapped U": lambda rows: np.array(rows, ">U5"),
    "object": lambda rows: np.array(rows, object),
    "StringDType": lambda rows: np.array(rows, np.dtypes.StringDType()),
    "every second": lambda rows: np.repeat(rows, 2)[::2],
    "backwards": lambda rows: np.array(rows[::-1])[::-1],
    "pandas object": lambda rows: pd.Series(rows, dtype=object),
    "pandas str": lambda rows: pd.Series(rows, index=range(9, 9 + len(rows)), dtype="str"),
    "pandas string": lambda rows: pd.Series(rows, dtype="string"),
    "pandas category": lambda rows: pd.Series(rows, dtype="category"),
    "pandas Index": pd.Index,
    "pandas Categorical": pd.Categorical,
    "CategoricalIndex": pd.CategoricalIndex,
    "unused categories": lambda rows: pd.Categorical(rows, categories=["zebra", *dict.fromkeys(rows), "ape"]),
    "sm.Categorical": codes,
    "unsigned codes": lambda rows: sm.Categorical(np.array(codes(rows).codes, np.uint8), codes(rows).categories),
    "wide codes": lambda rows: sm.Categorical(np.array(codes(rows).codes, ">i8"), tuple(codes(rows).categories)),
    "Arrow": lambda rows: pyarrow().array(rows),
    "Arrow chunks": lambda rows: pyarrow().chunked_array([rows[:2], rows[2:]]),
    "Arrow dictionary": lambda rows: pyarrow().array(rows).dictionary_encode(),
    "Arrow dictionary chunks": lambda rows: pyarrow().chunked_array([rows[:2], rows[2:]]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", TEXT_COLUMNS)
@pytest.mark.parametrize("other", ["list", "U", "pandas category"])
@pytest.mark.parametrize("w", [None, [2, 0.5, 0, 1, 2**55, 1, 1]], ids=["plain", "weighted"])
def test_a_column_of_text(kind: str, other: str, w: Any) -> None:
    """However text is held, in either column, with weights and without, it is counted as its rows."""
    truth, predicted = TEXT, TEXT[::-1]

    assert in_batch(TEXT_COLUMNS[kind](truth), TEXT_COLUMNS[other](predicted), w) == one_by_one(truth, predicted, w)
    assert in_batch(TEXT_COLUMNS[other](truth), TEXT_COLUMNS[kind](predicted), w) == one_by_one(truth, predicted, w)


NUMBER_COLUMNS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "array": lambda rows: array.array("q", rows),
    "range": lambda rows: pd.Series(rows),
    **{
        t: lambda rows, t=t: np.array(rows).astype(t)
        for t in ["i1", "i2", "<i4", ">i4", "i8", ">i8", "f2", "f4", "f8", "O", "g"]
    },
    "nullable": lambda rows: pd.Series(rows, dtype="Int64"),
    "category": lambda rows: pd.Series(rows, dtype="category"),
    "tail": lambda rows: np.array([9, *rows], "i2")[1:],
    "view": lambda rows: np.repeat(np.array(rows, "i4"), 3)[::3],
    "sm.Categorical": codes,
    "Arrow": lambda rows: pyarrow().array(rows),
    "torch": lambda rows: torch().tensor(rows),
    "torch int8": lambda rows: torch().tensor(rows, dtype=torch().int8),
}


@pytest.mark.parametrize("kind", NUMBER_COLUMNS)
@pytest.mark.parametrize("other", ["list", "i1", "i8", "f8", "category"])
@pytest.mark.parametrize("w", [None, [2, 0.5, 0, 1, 2**55, 1, 1]], ids=["plain", "weighted"])
def test_a_column_of_numbers(kind: str, other: str, w: Any) -> None:
    """For any types of two columns of numbers, they are counted as the Python numbers of their rows."""
    truth, predicted = NUMBER_COLUMNS[kind](NUMBERS), NUMBER_COLUMNS[other](NUMBERS[::-1])

    assert in_batch(truth, predicted, w) == one_by_one(rows_of(truth), rows_of(predicted), w)
    assert in_batch(predicted, truth, w) == one_by_one(rows_of(predicted), rows_of(truth), w)


def rows_of(column: Any) -> list[Any]:
    """Return a column row by row; codes and long doubles as what they stand for."""
    if isinstance(column, sm.Categorical):
        return [column.categories[code] for code in column.codes]
    if getattr(column, "dtype", None) == np.longdouble:
        return [float(row) for row in column]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


UNSIGNED = {
    "u1": [0, 200, 255, 128],
    "u2": [0, 2**16 - 1, 40_000, 1],
    "u4": [0, 2**32 - 1, 2**31, 1],
    "u8": [0, 2**64 - 1, 2**63, 1],
}


@pytest.mark.parametrize("kind", UNSIGNED)
@pytest.mark.parametrize("other", ["u1", "i1", "u8", "i8", "f8", "?"])
def test_unsigned_numbers_keep_their_size(kind: str, other: str) -> None:
    """An unsigned number is never read as a negative one, whatever it stands beside."""
    truth = np.array(UNSIGNED[kind] * 3, kind)
    predicted = np.array([0, 1, 100, 0] * 3).astype(other)

    assert in_batch(truth, predicted) == one_by_one(truth.tolist(), predicted.tolist())
    assert in_batch(predicted, truth, [1] * 12) == one_by_one(predicted.tolist(), truth.tolist())
    assert in_batch(truth[:1], truth[:1]).labels == (0,)


@pytest.mark.parametrize(
    "rows",
    [
        [-(2**63), 2**63 - 1, 0, -1],
        [10**18 + k * 7919**3 for k in range(300)],
        list(range(-600, 600)),
        [*range(40), 10**12],
        [2**62, 2**62 + 1] * 5,
        [2**100, 5, -(2**100)],
        [5],
    ],
    ids=["extremes", "hashes", "many", "late outlier", "far", "beyond 64 bits", "single"],
)
@pytest.mark.parametrize("as_column", [np.array, list])
def test_numbers_far_apart(rows: list[int], as_column: Any) -> None:
    """Integers need not be small or close together."""
    predicted = rows[1:] + rows[:1]

    assert in_batch(as_column(rows), as_column(predicted)) == one_by_one(rows, predicted)


def test_an_outlier_after_the_rows_that_are_looked_at_first() -> None:
    """A value that does not fit the table chosen from the first rows is found."""
    truth = np.zeros(10_000, np.int64)
    truth[9_000:] = [900, -70_000] * 500

    state = in_batch(truth, truth[::-1])

    assert state.labels == (-70_000, 0, 900)
    assert state.true_totals.tolist() == [500, 9_000, 500]


@pytest.mark.parametrize("truth", [[True, False, True], np.array([True, False, True]), pd.Series([True, False, True])])
@pytest.mark.parametrize("predicted", [[1, 0, 0], np.array([1.0, 0.0, 0.0]), np.array([True, False, False])])
def test_booleans_are_zero_and_one(truth: Any, predicted: Any) -> None:
    """Booleans meet equal numbers of other columns, and are shown as the narrowest type."""
    state = in_batch(truth, predicted)

    assert state.matrix.tolist() == [[1, 0], [1, 1]]
    assert repr(state.labels) == "(False, True)"
    assert state == one_by_one(list(truth), list(predicted))


@pytest.mark.parametrize("dtype", ["S3", object])
def test_bytes_are_labels_of_their_own(dtype: Any) -> None:
    """Bytes are not text."""
    state = in_batch(np.array([b"a", b"bc"], dtype), ["a", b"bc"])

    assert state == one_by_one([b"a", b"bc"], ["a", b"bc"])
    assert state.labels == ("a", b"a", b"bc")


def test_a_list_of_everything() -> None:
    """A list may mix labels of all types, NumPy scalars, scores and abstentions."""
    truth = ["a", 1, True, 1.0, 2**70, b"a", (1, "x"), np.int8(3), np.str_("a"), (), -0.0, "a", "a", "b"]
    predicted = [
        1,
        "a",
        1.0,
        np.True_,
        -(2**70),
        "a",
        (True, "x"),
        3.0,
        {"a": 1, "b": 2},
        {(): 1},
        0,
        None,
        {},
        {"a": np.float32(1)},
    ]

    assert in_batch(truth, predicted) == one_by_one(truth, predicted)
    assert in_batch(truth, np.array([*predicted, None], object)[:-1]) == one_by_one(truth, predicted)


@pytest.mark.parametrize(
    "missing",
    [
        lambda rows: rows,
        lambda rows: np.array(rows, object),
        lambda rows: pd.Series(rows, dtype=object),
        lambda rows: pd.Series(rows, dtype="category"),
        pd.Categorical,
        lambda rows: sm.Categorical([["a", "b", None].index(row) % 3 - 3 * (row is None) for row in rows], ["a", "b"]),
        lambda rows: np.ma.masked_array(["?" if row is None else row for row in rows], [row is None for row in rows]),
        lambda rows: pyarrow().array(rows),
        lambda rows: pyarrow().array(rows).dictionary_encode(),
        lambda rows: pyarrow().chunked_array([rows[:3], rows[3:]]),
    ],
    ids=["list", "object", "Series", "category", "Categorical", "sm", "masked", "Arrow", "Arrow dictionary", "chunks"],
)
@pytest.mark.parametrize(
    "truth", [["a", "b", "b", "a", "b"], np.array([-9, 5, 5, -9, 5]), pd.Categorical(list("abbab"))]
)
@pytest.mark.parametrize("w", [None, [1, 2.5, 3, 4, 5]], ids=["plain", "weighted"])
def test_abstentions_inside_a_batch(missing: Callable[[list[Any]], Any], truth: Any, w: Any) -> None:
    """A missing prediction is an abstention, however the column says that it is missing."""
    predicted = ["a", None, "b", None, "a"]
    column = missing(predicted)
    state = in_batch(truth, column, w)

    assert state.abstained == 2
    assert state == one_by_one(list(truth), predicted, w)


@pytest.mark.parametrize("labels", [["cat", "dog", "", "é"], ["cat"]])
@pytest.mark.parametrize("kind", TEXT_COLUMNS)
@pytest.mark.parametrize("w", [None, [1] * 7], ids=["plain", "weighted"])
def test_columns_meet_fixed_labels(kind: str, labels: list[str], w: Any) -> None:
    """Labels outside a fixed set go to `other`; unused categories change nothing."""
    configuration: Mapping[str, Any] = {"labels": labels, "other": "rest"}

    assert in_batch(TEXT_COLUMNS[kind](TEXT), TEXT, w, **configuration) == one_by_one(TEXT, TEXT, w, **configuration)
    state = in_batch(TEXT_COLUMNS[kind](TEXT), TEXT, w, labels=["cat", "dog", "", "é"])
    assert state == one_by_one(TEXT, TEXT, w, labels=["cat", "dog", "", "é"])


@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "i8", "u8"])
@pytest.mark.parametrize("low", [0, 100, -100, 2**62, 2**63 - 5, 2**64 - 5, -(2**63)])
def test_integers_are_numbered_as_they_first_occur(kind: str, low: int) -> None:
    """Near to each other or far apart, at the ends of their type too."""
    bounds = np.iinfo(kind)
    if not bounds.min <= low <= bounds.max - 4:
        low = int(bounds.min)
    near = [low + step for step in (3, 0, 3, 4, 0, 1)]
    for numbers in (near, [*near, int(bounds.max), int(bounds.min)]):
        codes, names = factorize(as_column(np.array(numbers, kind), "y_true", False))

        assert names == list(dict.fromkeys(numbers))
        assert [names[code] for code in codes.tolist()] == numbers
