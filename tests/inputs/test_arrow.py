"""Columns of Arrow are counted as the Python objects that they stand for, to the byte."""

from __future__ import annotations

import datetime
import decimal
import math
import tracemalloc
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arrow_columns import INDICES, TYPES, columns, listed, pa, pairs
from support.input_forms import in_batch
from support.refusals import refused

import stream_metrics as sm

LABELS: list[list[Any]] = [["cat"], [0, 1, 0.5], [b"ab", "dog", 127], [True]]


def outcome(batch: tuple[Any, ...], labels: list[Any]) -> Any:
    """Return the bytes of a state with fixed labels, or what it says."""
    try:
        return in_batch(*batch, labels=labels).to_bytes()
    except sm.LabelError as error:
        return str(error)


@given(pairs(), st.data())
def test_columns_are_counted_as_lists(batch: tuple[Any, Any, Any], data: Any) -> None:
    """Any type, encoded or not, with nulls, in chunks, from the middle of a buffer: the bytes of the same lists."""
    lists = tuple(map(listed, batch))
    assert in_batch(*batch).to_bytes() == in_batch(*lists).to_bytes()

    for labels in LABELS:
        other = {"labels": labels, "other": "rest"}
        assert in_batch(*batch, **other).to_bytes() == in_batch(*lists, **other).to_bytes()
        assert outcome(batch, labels) == outcome(lists, labels)
    group = data.draw(columns(len(batch[0]), False))
    makes = [lambda: (sm.ByGroup(sm.MetricSet()), group)]
    if not pa.types.is_floating(getattr(batch[1].type, "value_type", batch[1].type)):  # which would be scores
        makes.append(lambda: (sm.MetricSet(scores=True), None))
    for make in makes:
        (state, column), (expected, _) = make(), make()
        state.update_many(*batch, **({} if column is None else {"group": column}))
        expected.update_many(*lists, **({} if column is None else {"group": listed(column)}))
        assert state.to_bytes() == expected.to_bytes()


def repeated(column: Any, times: int) -> Any:
    """Return a column whose every chunk is repeated."""
    chunks = getattr(column, "chunks", [column])
    return pa.chunked_array([pa.concat_arrays([chunk] * times) for chunk in chunks], column.type)


@given(pairs(), st.integers(0, 9))
def test_long_columns_are_counted_as_lists(batch: tuple[Any, Any, Any], at: int) -> None:
    """Columns and chunks that are longer than the pieces in which they are copied and counted."""
    truth, predicted, _ = batch
    t, p = (repeated(column, 70_000 // max(len(truth), 1)).slice(at) for column in (truth, predicted))

    assert in_batch(t, p).to_bytes() == in_batch(listed(t), listed(p)).to_bytes()


def test_long_chunks_are_counted_where_they_lie() -> None:
    """Chunks of two columns with ends of their own, few labels and many, near zero and far, in order and not."""
    for classes, low in product([5, 40, 300, 3000], [0, -7, 10**15]):
        truth = low + np.sort(np.random.default_rng(3).integers(0, classes, 600_000))
        predicted = np.where(np.random.default_rng(4).random(600_000) < 0.2, low, truth)
        t = pa.chunked_array([truth[:150_000], truth[150_000:150_001], truth[150_001:]])
        p = pa.chunked_array([predicted[:270_000], predicted[270_000:]])

        assert in_batch(t, p) == in_batch(truth, predicted), (classes, low)
        assert in_batch(t, p.dictionary_encode()) == in_batch(truth, predicted), (classes, low)


NO_LABELS: list[tuple[Any, list[Any], Any]] = [  # a type, labels before, and what is no label
    (pa.timestamp("ns"), [], 1),
    (pa.timestamp("us", "Europe/Berlin"), [], 1),
    (pa.time32("s"), [], datetime.time(1)),
    (pa.duration("ms"), [], 1),
    (pa.decimal128(5, 2), [], decimal.Decimal("1.55")),
    (pa.list_(pa.int8()), [], [1]),
    (pa.float64(), [1.0, 2.0], math.nan),
    (pa.float16(), [1.0, 2.0], np.float16(math.nan)),
    (pa.float32(), [1.0, 2.0], math.inf),
    *((kind, [pool[0], pool[1]], None) for name, (kind, pool) in TYPES.items() if name != "null"),
]


def placed(kind: Any, labels: list[Any], bad: Any) -> list[tuple[Any, int]]:
    """Return columns with what is no label in every form, and its position."""
    values, n = pa.array([*labels, bad, *labels], kind), len(labels)
    codes = [pa.array(rows, pa.int8()) for rows in (range(2 * n + 1), [0, 1][:n], [n, 0])]
    whole, first, last = (pa.DictionaryArray.from_arrays(rows, values) for rows in codes)
    return [
        (values, n),
        (pa.chunked_array([values.slice(0, 1), values.slice(1)]), n),
        (pa.chunked_array([pa.nulls(0, kind), values]), n),
        (whole, n),
        (pa.chunked_array([first, last]), n),
        (pa.chunked_array([first, pa.DictionaryArray.from_arrays(codes[2], values.slice(0, n + 1))]), n),
        *([(pa.DictionaryArray.from_arrays(pa.array([0, None]), values), 1)] if bad is None else []),
    ]


@pytest.mark.quick
def test_what_is_no_label_is_named() -> None:
    """Nulls, times, decimals, lists, infinities and NaN as truth raise, naming argument and position.

    Null and NaN as a prediction are abstentions, and nulls before what is no label do not change its position.
    """
    for kind, labels, bad in NO_LABELS:
        missing = bad is None or bad != bad
        for values, at in placed(kind, labels, bad):
            rest = ["a"] * len(values)
            state = in_batch(["a"], ["a"])
            before = state.to_bytes()
            error: Any = refused(lambda: state.update_many(values, rest), sm.LabelError)  # noqa: B023
            assert (error.argument, error.position) == ("y_true", at), values.type
            assert state.to_bytes() == before
            if missing:
                assert in_batch(rest, values).abstained == 1, values.type
                continue
            error = refused(lambda: state.update_many(rest, values), sm.LabelError)  # noqa: B023
            assert (error.argument, error.position) == ("y_pred", at), values.type
        if not missing:
            values = pa.chunked_array([pa.nulls(3, kind), pa.array([*labels, bad], kind), pa.nulls(2, kind)])
            error = refused(lambda: in_batch(["a"] * len(values), values), sm.LabelError)  # noqa: B023
            assert (error.argument, error.position) == ("y_pred", 3 + len(labels)), kind


@pytest.mark.quick
def test_what_is_no_label_may_stay_unused_in_a_dictionary() -> None:
    """Of a dictionary only what is used must be a label."""
    values = pa.array([math.nan, 2.0, math.inf, -0.0, None])
    used = pa.DictionaryArray.from_arrays(pa.array([1, 3, 1, None, 4, 1, 1]), values)
    odd = pa.DictionaryArray.from_arrays(pa.nulls(2, pa.int8()), pa.array([datetime.time(1)]))

    assert in_batch([2, 0, 2, 2, 2, 2, 2], used).abstained == 2
    assert in_batch([2, 0, 2, 2, 2, 2, 2], used).labels == (0, 2)
    assert in_batch(["a", "a"], odd).abstained == 2


def test_codes_are_used_where_they_lie() -> None:
    """Pieces without nulls are not copied, regardless of the type of their codes; copied codes take a byte a row."""
    n = 300_000
    codes = pa.array(np.arange(n) % 3)
    for kind in INDICES:
        numbers = codes.cast(kind)
        encoded = pa.DictionaryArray.from_arrays(numbers, pa.array(["a", "b", "c"])).slice(1)
        for values in (encoded, pa.chunked_array([encoded, encoded]), numbers):
            assert memory_of(values, values) < n / 4, values.type
    missing = pa.DictionaryArray.from_arrays(pa.array(np.arange(n) % 128, mask=np.arange(n) == 5), pa.array(range(128)))
    assert memory_of(np.zeros(n, np.int8), missing) < 7 * n


def memory_of(truth: Any, predicted: Any) -> int:
    """Return how many bytes counting takes at most, of those that Python and NumPy allocate."""
    in_batch(truth[:4], predicted[:4])
    tracemalloc.start()
    try:
        in_batch(truth, predicted)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_names_and_integers_that_exceed_their_codes() -> None:
    """Names in any number, shared by chunks, growing from chunk to chunk or hardly used; integers beyond a byte."""
    names = [f"name {i}" for i in range(100_000)]
    rows = np.random.default_rng(1).integers(0, 100_000, 200_000)
    labels = [names[i] for i in rows.tolist()]
    truth = pa.DictionaryArray.from_arrays(pa.array(rows), pa.array(names))
    fifth = [labels[at : at + 50_000] for at in range(0, 200_000, 50_000)]
    expected = in_batch(labels, labels)
    for values in (
        truth,
        pa.chunked_array([truth.slice(start, 10_000) for start in range(0, 200_000, 10_000)]),
        pa.chunked_array([pa.array(part).dictionary_encode() for part in fifth]),
    ):
        assert in_batch(values, labels) == expected
    assert in_batch(truth.slice(0, 10), labels[:10]).labels == tuple(sorted(labels[:10]))

    parts = [pa.array([f"{part}-{i}" for i in range(120)]) for part in range(4)]
    cases = [
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(range(120), pa.int8()), part) for part in parts])
    ]
    for count in (1, 127, 128, 129, 2**15 - 1, 2**15, 2**15 + 1):  # with a null the codes are copied
        codes = pa.array([*range(count), None, count - 1], pa.uint64())
        cases.append(pa.DictionaryArray.from_arrays(codes, pa.array(range(count))))
    for kind, large in ((pa.int64(), 2**40), (pa.uint16(), 200), (pa.uint8(), 200), (pa.int32(), -129)):
        cases.append(pa.chunked_array([[1, 2, 3], [4, 5], [large]], kind))
        numbers = np.array(cases[-1].to_pylist())
        assert in_batch(cases[-1], numbers) == in_batch(numbers, numbers)
    for values in cases:
        same = [0 if row is None else row for row in values.to_pylist()]
        assert in_batch(same, values) == in_batch(same, values.to_pylist()), values.type


def foreign(inside: Any, stream: bool = False) -> Any:
    """Return what another library gives out: nothing but the interface, of an array or of a stream to be read once."""
    if stream:
        return SimpleNamespace(__arrow_c_stream__=inside.__arrow_c_stream__)
    return SimpleNamespace(__arrow_c_array__=inside.__arrow_c_array__)


@pytest.mark.quick
def test_objects_with_the_capsule_interface() -> None:
    """What another library gives out as Arrow is read as Arrow: labels, weights, and tables of scores with names."""
    truth, table = pa.array(["cat", "dog", "cat"]), pa.record_batch({"cat": [0.5, 0.25, 1.0], "dog": [0.5, 0.75, 0.0]})
    w, chunks = pa.array([1, 2, 3]), pa.chunked_array([truth.slice(0, 1), truth.slice(1)])
    expected = sm.MetricSet(scores=True)
    expected.update_many(truth, table, w)
    for scores in (foreign(table), foreign(pa.table(table).to_reader(), True), pa.table(table).to_reader()):
        state = sm.MetricSet(scores=True)
        state.update_many(foreign(chunks, True), scores, foreign(w))

        assert state == expected
    columns = foreign(chunks, True), foreign(truth.dictionary_encode()), foreign(w)
    assert in_batch(*columns) == in_batch(truth, truth, w)


@pytest.mark.quick
def test_columns_of_pandas_that_are_arrow_inside() -> None:
    """They are read as Arrow, and what is missing in predictions is an abstention."""
    pd = pytest.importorskip("pandas", reason="needs pandas")
    kinds = [pa.string(), pa.int64(), pa.dictionary(pa.int32(), pa.string())]
    for dtype in ("string[pyarrow]", *map(pd.ArrowDtype, kinds)):
        rows = [5, None, 7, 5] if "int64" in str(dtype) else ["a", None, "b", "a"]
        series = pd.Series(rows, index=[4, 5, 6, 7], dtype=dtype)

        assert in_batch(rows[2:] * 2, series) == in_batch(rows[2:] * 2, rows), dtype
        assert in_batch(rows[2:] * 2, series.array) == in_batch(rows[2:] * 2, rows), dtype


DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 1)]
EXACT: list[tuple[Any, list[Any], list[Any]]] = [
    (pa.date32(), DAYS, [day.isoformat() for day in DAYS]),
    (pa.date64(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], ["0001-01-01", "9999-12-31"]),
    (pa.decimal128(38, 0), [decimal.Decimal(10**37), decimal.Decimal(-1)], [10**37, -1]),
    (pa.decimal256(60, 2), [decimal.Decimal(10**50), decimal.Decimal("2.00")], [10**50, 2]),
]


@pytest.mark.quick
def test_dates_and_decimals_that_are_exact() -> None:
    """A date is its ISO text, a whole decimal an int, in every form of a column, as in a list of Python objects."""
    for (arrow_type, *rows), nulls in product(EXACT, [[], [None]]):
        objects, plain = rows[0] + nulls, rows[1] + nulls
        whole = pa.array(objects, arrow_type)
        parts = [whole.slice(0, 1), whole.slice(1)]
        truth = list("ab" * len(plain))[: len(plain)]
        encoded = [part.dictionary_encode() for part in parts]
        for values in (whole, pa.chunked_array(parts), whole.dictionary_encode(), pa.chunked_array(encoded)):
            assert in_batch(truth, values) == in_batch(truth, plain) == in_batch(truth, objects), arrow_type
            assert in_batch(truth, values).abstained == len(nulls)
            if not nulls:
                by = sm.ByGroup(sm.ConfusionMatrix())
                by.update_many(truth, truth, group=values)
                assert set(by.groups) == set(plain), arrow_type


@pytest.mark.quick
def test_dates_as_times() -> None:
    """A date is its first instant in UTC, in a column and in a dictionary; a null is named."""
    for kind in (pa.date32(), pa.date64()):
        column, expected = pa.array([datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], kind), []
        for t in (["2024-01-01", "2024-01-02"], column, pa.chunked_array([column]), column.dictionary_encode()):
            state = sm.TimeWindow(sm.ConfusionMatrix(), "30d")
            state.update_many(["a", "b"], ["a", "b"], t=t)
            expected.append(state.to_bytes())
        assert len(set(expected)) == 1
        missing = pa.array([datetime.date(2024, 1, 1), None], kind)
        error: Any = refused(lambda: state.update_many(["a", "b"], ["a", "b"], t=missing), sm.TimeError)  # noqa: B023
        assert (error.argument, error.position) == ("t", 1)


KINDS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
MOST, LONGEST = 256, 64  # texts and bytes of one that are numbered without Arrow


def texts(rows: list[Any], kind: str) -> Any:
    """Return rows of text as a column of a type of text or of bytes."""
    encoded = [row if row is None or "binary" not in kind else row.encode() for row in rows]
    return pa.array(encoded, getattr(pa, kind)())


def check_texts(values: Any) -> None:
    """Assert that texts are counted as the same list, as predictions and, where none is missing, as truths."""
    rows = values.to_pylist()
    truth = [at % 3 for at in range(len(rows))]
    assert in_batch(truth, values).to_bytes() == in_batch(truth, rows).to_bytes(), values.type
    if not values.null_count:
        assert in_batch(values, truth).to_bytes() == in_batch(rows, truth).to_bytes(), values.type


@given(st.data(), st.sampled_from(KINDS))
def test_short_texts_of_every_length(data: Any, kind: str) -> None:
    """Texts that lie in their view or not, with equal starts or ends, with nulls, in slices and in chunks."""
    sizes = st.one_of(st.integers(0, 20), st.sampled_from([12, 13, LONGEST]))
    ends = st.sampled_from(["a", "b", "\0"])
    words = st.builds(lambda size, end: ("x" * size + end)[-size:] if size else "", sizes, ends)
    pool = data.draw(st.lists(words | st.text(st.characters(codec="utf-8"), max_size=16), min_size=1, max_size=12))
    rows = data.draw(st.lists(st.sampled_from([*pool, None]), max_size=40))
    start, cut = data.draw(st.integers(0, len(rows))), data.draw(st.integers(0, len(rows)))
    values = texts([*rows, *rows], kind).slice(start)

    check_texts(values)
    check_texts(pa.chunked_array([values.slice(0, cut), values.slice(cut)]))


def test_as_many_and_as_long_texts_as_are_short() -> None:
    """256 texts of 64 bytes, in three chunks, one more, one that is longer by a byte, and no text at all."""
    names = [f"{at:0{LONGEST}}" for at in range(MOST)]
    for kind, nulls in product(KINDS, [[], [None]]):
        rows = [names[at] for at in np.random.default_rng(1).integers(0, MOST, 5000).tolist()] + names + nulls
        whole = texts([*rows, "one more"], kind)
        for values in (
            whole,
            whole.slice(0, len(rows)),
            pa.chunked_array([whole[:7], whole[7:3000], whole[3000 : len(rows)]]),
            pa.chunked_array([whole[:-1], whole[-1:]]),
            texts([*rows[:9], "x" * (LONGEST + 1), "é" * LONGEST], kind),
            *(texts(none, kind) for none in ([], [None] * 9, [""] * 9, ["", None, ""])),
        ):
            check_texts(values)


@pytest.mark.quick
def test_what_is_no_utf_8_is_refused() -> None:
    """Bytes that a column has as text, but that are none, raise when they are named."""
    offsets = pa.py_buffer(np.array([0, 2, 3], np.int32))
    values = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfea")])
    with pytest.raises(UnicodeDecodeError):
        in_batch(values, ["a", "b"])
