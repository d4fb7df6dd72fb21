"""Columns of Arrow are counted as the Python objects that they stand for, to the byte."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arrow_columns import INDICES, TYPES, columns, listed, pa, pairs

import stream_metrics as sm
from stream_metrics.inputs import chunked
from stream_metrics.inputs import columns as reading
from stream_metrics.inputs.columns import as_column


def in_batch(*given: Any, **configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that counted the columns."""
    state = sm.ConfusionMatrix(**configuration)
    state.update_many(*given)
    return state


@given(pairs())
def test_columns_are_counted_as_lists(batch: tuple[Any, Any, Any]) -> None:
    """Any type, encoded or not, with nulls, in chunks, from the middle of a buffer: the bytes of the same lists."""
    assert in_batch(*batch).to_bytes() == in_batch(*map(listed, batch)).to_bytes()


@given(pairs(), st.integers(1, 9), st.sampled_from([100, 2**12, 2**14]))
def test_the_length_of_pieces_does_not_matter(batch: tuple[Any, Any, Any], length: int, largest: int) -> None:
    """However short the pieces in which columns are copied and counted, the bytes are those of the lists."""
    with (
        patch.multiple(chunked, BLOCK=length, LENGTH=length + 1),
        patch.multiple(reading, SHORTEST=0, LARGEST=largest),
    ):
        state = in_batch(*batch)

    assert state.to_bytes() == in_batch(*map(listed, batch)).to_bytes()


@given(pairs(), st.sampled_from([["cat"], [0, 1, 0.5], [b"ab", "dog", 127], [True]]))
def test_columns_meet_fixed_labels(batch: tuple[Any, Any, Any], labels: list[Any]) -> None:
    """With fixed labels the same is counted as `other`, and the same row is refused with the same words."""
    other = {"labels": labels, "other": "rest"}

    assert in_batch(*batch, **other).to_bytes() == in_batch(*map(listed, batch), **other).to_bytes()
    assert outcome(batch, labels) == outcome(tuple(map(listed, batch)), labels)


def outcome(batch: tuple[Any, ...], labels: list[Any]) -> Any:
    """Return the bytes of a state with fixed labels, or what it says."""
    try:
        return in_batch(*batch, labels=labels).to_bytes()
    except sm.LabelError as error:
        return str(error)


@given(pairs(), st.data())
def test_groups_are_read_as_lists(batch: tuple[Any, Any, Any], data: Any) -> None:
    """A column of groups, and every column that is dealt out to groups, is counted as its rows."""
    group = data.draw(columns(len(batch[0]), False))
    state, expected = sm.ByGroup(sm.MetricSet()), sm.ByGroup(sm.MetricSet())
    state.update_many(*batch, group=group)
    expected.update_many(*map(listed, batch), group=listed(group))

    assert state.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("cut", [None, 1, 4])
@pytest.mark.parametrize("kind", [name for name in TYPES if name != "null"])
@pytest.mark.parametrize("encoded", [False, True])
def test_a_null_truth_is_named_by_its_position(kind: str, cut: int | None, encoded: bool) -> None:
    """A truth that is null raises, and the position is that in the whole column."""
    kind, pool = TYPES[kind]
    truth = pa.array([pool[0]] * 4 + [None, pool[1]], kind)
    if encoded:
        indices = pa.array([0, 0, 0, 0, 1, 2]) if cut else pa.array([0, 0, 0, 0, None, 2])
        truth = pa.DictionaryArray.from_arrays(indices, pa.array([pool[0], None, pool[1]], kind))
    if cut:
        truth = pa.chunked_array([truth.slice(0, cut), truth.slice(cut)])
    state = in_batch(["a"], ["a"])
    before = state.to_bytes()
    with pytest.raises(sm.LabelError, match="`y_true` at position 4 "):
        state.update_many(truth, ["a"] * 6)

    assert state.to_bytes() == before


NO_LABELS: dict[str, tuple[Any, list[Any]]] = {
    "timestamp": (pa.timestamp("ns"), [1]),
    "timestamp with a zone": (pa.timestamp("us", "Europe/Berlin"), [1]),
    "time": (pa.time32("s"), [datetime.time(1)]),
    "duration": (pa.duration("ms"), [1]),
    "decimal": (pa.decimal128(5, 2), [decimal.Decimal("1.55")]),
    "list": (pa.list_(pa.int8()), [[1]]),
    "NaN": (pa.float64(), [math.nan]),
    "narrow NaN": (pa.float16(), [np.float16(math.nan)]),
    "infinity": (pa.float32(), [math.inf]),
}


@pytest.mark.parametrize("argument", ["y_true", "y_pred"])
@pytest.mark.parametrize("form", ["array", "chunks", "dictionary", "dictionaries", "nulls"])
@pytest.mark.parametrize("kind", NO_LABELS)
def test_what_is_no_label_is_named(kind: str, form: str, argument: str) -> None:
    """Times, decimals, lists, infinities and NaN as truth raise, naming argument and position; nothing is counted.

    NaN as a prediction is an abstention.
    """
    missing = argument == "y_pred" and "NaN" in kind
    kind, bad = NO_LABELS[kind]
    fine = pa.array([1.0, 2.0], kind) if pa.types.is_floating(kind) else pa.array(bad * 2, kind)
    at = 2 if pa.types.is_floating(kind) else 0
    values = pa.concat_arrays([fine, pa.array(bad, kind)])
    if form == "nulls":
        values, at = pa.chunked_array([pa.nulls(1, kind), values, pa.nulls(2, kind)]), at + 1
    if form == "chunks":
        values = pa.chunked_array([values.slice(0, 1), values.slice(1)])
    if form == "dictionary":
        values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), values)
    if form == "dictionaries":
        one = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), fine)
        values = pa.chunked_array([one, pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int8()), values)])
    if argument == "y_true" and form == "nulls":
        values = values.chunk(1)
        at -= 1
    state = sm.ConfusionMatrix()
    rest = ["a"] * len(values)
    if missing:
        state.update_many(rest, values)
        assert state.abstained == sum(value is None or math.isnan(value) for value in values.to_pylist()) > 0
        return
    with pytest.raises(sm.LabelError, match=f"`{argument}` at position {at} "):
        state.update_many(*((values, rest) if argument == "y_true" else (rest, values)))

    assert state == sm.ConfusionMatrix()


def test_what_is_no_label_may_stay_unused_in_a_dictionary() -> None:
    """Of a dictionary only what is used must be a label."""
    values = pa.array([math.nan, 2.0, math.inf, -0.0, None])
    used = pa.DictionaryArray.from_arrays(pa.array([1, 3, 1, None, 4, 1, 1]), values)
    odd = pa.DictionaryArray.from_arrays(pa.nulls(2, pa.int8()), pa.array([datetime.time(1)]))

    assert in_batch([2, 0, 2, 2, 2, 2, 2], used).abstained == 2
    assert in_batch([2, 0, 2, 2, 2, 2, 2], used).labels == (0, 2)
    assert in_batch(["a", "a"], odd).abstained == 2


def test_codes_are_used_where_they_lie() -> None:
    """One piece without nulls is not copied, regardless of the type of its codes, nor are integers."""
    for kind in INDICES:
        codes = pa.array([0, 1, 1, 0, 2], kind)
        encoded = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "c"])).slice(1)
        for values in (encoded, pa.chunked_array([encoded]), codes):
            assert np.shares_memory(as_column(values, "y_true", False).values, codes.to_numpy())


def test_codes_are_no_wider_than_needed() -> None:
    """Copied codes have room for the names and for -1."""
    for count, width in ((1, 1), (128, 1), (129, 2), (2**15, 2), (2**15 + 1, 4)):
        codes = pa.array([*range(count), None], pa.uint64())
        read = as_column(pa.DictionaryArray.from_arrays(codes, pa.array(range(count))), "y_pred", True)

        assert read.values.itemsize == width
        assert read.values.tolist() == [*range(count), -1]


def test_many_names_in_many_chunks() -> None:
    """A hundred thousand names, shared by chunks, growing from chunk to chunk, or hardly used."""
    names = [f"name {i}" for i in range(100_000)]
    rows = np.random.default_rng(1).integers(0, 100_000, 200_000)
    expected = [names[i] for i in rows.tolist()]
    truth = pa.DictionaryArray.from_arrays(pa.array(rows), pa.array(names))
    shared = pa.chunked_array([truth.slice(start, 10_000) for start in range(0, 200_000, 10_000)])
    growing = pa.chunked_array(
        [pa.array(expected[at : at + 50_000]).dictionary_encode() for at in range(0, 200_000, 50_000)]
    )
    for values in (truth, shared, growing):
        read = as_column(values, "y_true", False)

        assert read.objects() == expected
    few = as_column(truth.slice(0, 10), "y_true", False)
    assert few.names is not None
    assert len(few.names) == 10


def test_dictionaries_that_together_exceed_their_indices() -> None:
    """Chunks whose names together have no room in their type of index are counted all the same."""
    parts = [[f"{part}-{i}" for i in range(120)] for part in range(4)]
    chunks = [pa.DictionaryArray.from_arrays(pa.array(range(120), pa.int8()), pa.array(part)) for part in parts]
    rows = [name for part in parts for name in part]

    assert in_batch(pa.chunked_array(chunks), rows) == in_batch(rows, rows)


def test_long_columns_are_read_in_pieces() -> None:
    """Columns longer than a piece, with nulls at odd places, count as lists."""
    rng = np.random.default_rng(2)
    rows, missing = rng.integers(-3, 9, 200_003), rng.random(200_003) < 0.1
    predicted = pa.array(rows, mask=missing).slice(3)
    named = pa.DictionaryArray.from_arrays(pa.array(rows + 3, mask=missing), pa.array(range(-3, 9))).slice(3)
    truth = pa.array(rows).slice(3)
    chunks = pa.chunked_array([truth.slice(0, 70_001), truth.slice(70_001)])
    expected = in_batch(truth.to_pylist(), predicted.to_pylist())

    assert in_batch(truth, predicted) == in_batch(chunks, named) == expected


def test_chunks_of_integers_that_do_not_fit_a_byte() -> None:
    """An integer that is large, wherever it is, is counted as itself."""
    for kind, large in ((pa.int64(), 2**40), (pa.uint16(), 200), (pa.uint8(), 200), (pa.int32(), -129)):
        chunks = pa.chunked_array([[1, 2, 3], [4, 5], [large]], kind)
        expected = in_batch(chunks.to_pylist(), chunks.to_pylist())

        assert in_batch(chunks, chunks.to_pylist()) == expected
        assert in_batch(chunks, np.array(chunks.to_pylist())) == expected


@pytest.mark.parametrize("classes", [5, 40, 300, 3000])
@pytest.mark.parametrize("low", [0, -7, 10**15])
def test_long_chunks_are_counted_where_they_lie(classes: int, low: int) -> None:
    """Chunks of two columns with ends of their own, few labels and many, near zero and far, in order and not."""
    truth = low + np.sort(np.random.default_rng(3).integers(0, classes, 200_000))
    predicted = np.where(np.random.default_rng(4).random(200_000) < 0.2, low, truth)
    t = pa.chunked_array([truth[:50_000], truth[50_000:50_001], truth[50_001:]])
    p = pa.chunked_array([predicted[:90_000], predicted[90_000:]])

    assert in_batch(t, p) == in_batch(truth, predicted)
    assert in_batch(t, p.dictionary_encode()) == in_batch(truth, predicted)


class Foreign:
    """What another library gives out: nothing but the interface."""

    def __init__(self, held: Any) -> None:
        self.held = held


class ForeignArray(Foreign):
    """One array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.held.__arrow_c_array__(requested_schema)


class ForeignStream(Foreign):
    """A stream of arrays, that can be read once."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        held, self.held = self.held, None
        return held.__arrow_c_stream__(requested_schema)


def test_objects_with_the_capsule_interface() -> None:
    """What another library gives out as Arrow is read as Arrow: labels, weights, and tables of scores with names."""
    truth, table = pa.array(["cat", "dog", "cat"]), pa.record_batch({"cat": [0.5, 0.25, 1.0], "dog": [0.5, 0.75, 0.0]})
    w, chunks = pa.array([1, 2, 3]), pa.chunked_array([truth.slice(0, 1), truth.slice(1)])
    expected = sm.MetricSet(scores=True)
    expected.update_many(truth, table, w)
    for scores in (ForeignArray(table), ForeignStream(pa.table(table)), pa.table(table).to_reader()):
        state = sm.MetricSet(scores=True)
        state.update_many(ForeignStream(chunks), scores, ForeignArray(w))

        assert state == expected
    assert in_batch(ForeignStream(chunks), ForeignArray(truth.dictionary_encode()), ForeignArray(w)) == in_batch(
        truth, truth, w
    )


@pytest.mark.parametrize("dtype", ["string[pyarrow]", "pyarrow string", "pyarrow int64", "pyarrow dictionary"])
def test_columns_of_pandas_that_are_arrow_inside(dtype: str) -> None:
    """They are read as Arrow, and what is missing in predictions is an abstention."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    inside = {"pyarrow string": pa.string(), "pyarrow int64": pa.int64()}
    kind = pa.dictionary(pa.int32(), pa.string()) if "dictionary" in dtype else inside.get(dtype)
    rows = [5, None, 7, 5] if dtype.endswith("int64") else ["a", None, "b", "a"]
    series = pd.Series(rows, index=[4, 5, 6, 7], dtype=dtype if kind is None else pd.ArrowDtype(kind))

    assert in_batch(rows[2:] * 2, series) == in_batch(rows[2:] * 2, rows)
    assert in_batch(rows[2:] * 2, series.array) == in_batch(rows[2:] * 2, rows)


EXACT: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "date32": (
        pa.date32(),
        [datetime.date(2024, 1, day) for day in (1, 2, 1)],
        ["2024-01-01", "2024-01-02", "2024-01-01"],
    ),
    "date64": (pa.date64(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], ["0001-01-01", "9999-12-31"]),
    "decimal128": (pa.decimal128(38, 0), [decimal.Decimal(10**37), decimal.Decimal(-1)], [10**37, -1]),
    "decimal256": (pa.decimal256(60, 2), [decimal.Decimal(10**50), decimal.Decimal("2.00")], [10**50, 2]),
}


@pytest.mark.parametrize("form", ["array", "chunks", "dictionary", "dictionaries"])
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("kind", EXACT)
def test_dates_and_decimals_that_are_exact(kind: str, nulls: bool, form: str) -> None:
    """A date is its ISO text, a whole decimal an int, in every form of a column, as in a list of Python objects."""
    arrow_type, objects, plain = EXACT[kind]
    objects, plain = objects + [None] * nulls, plain + [None] * nulls
    values = pa.array(objects, arrow_type)
    if form == "chunks":
        values = pa.chunked_array([values.slice(1), values.slice(0, 1)])
        objects, plain = objects[1:] + objects[:1], plain[1:] + plain[:1]
    if form == "dictionary":
        values = values.dictionary_encode()
    if form == "dictionaries":
        values = pa.chunked_array([values.slice(0, 1).dictionary_encode(), values.slice(1).dictionary_encode()])
    truth = ["a"] * len(plain)

    assert in_batch(truth, values) == in_batch(truth, plain) == in_batch(truth, objects)
    assert in_batch(truth, values).abstained == nulls
    by = sm.ByGroup(sm.ConfusionMatrix())
    if not nulls:
        by.update_many(truth, truth, group=values)
        assert set(by.groups) == set(plain)


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_as_times(kind: Any) -> None:
    """A date is its first instant in UTC, alone, in a list, in a column and in a dictionary; so is ISO text."""
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]
    states = []
    column = pa.array(days, kind)
    for t in (days, column, pa.chunked_array([column]), column.dictionary_encode(), ["2024-01-01", "2024-01-02"]):
        state = sm.TimeWindow(sm.ConfusionMatrix(), "30d")
        state.update_many(["a", "b"], ["a", "b"], t=t)
        states.append(state)
    single = sm.TimeWindow(sm.ConfusionMatrix(), "30d")
    for label, day in zip("ab", days, strict=True):
        single.update(label, label, t=day)

    assert all(state == single for state in states)
    with pytest.raises(sm.TimeError, match="`t` at position 1 "):
        state.update_many(["a", "b"], ["a", "b"], t=pa.array([days[0], None], kind))
    with pytest.raises(sm.TimeError, match="9999"):
        state.update("a", "a", t=datetime.date(9999, 1, 1))
