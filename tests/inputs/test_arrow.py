"""Columns of labels, weights and scores of Arrow are counted as the Python objects that they are, to the byte."""

from __future__ import annotations

import datetime
import decimal
import math
import tracemalloc
from collections.abc import Callable
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arrow_columns import INDICES, TYPES, Draw, columns, laid, listed, pa, pairs
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
    """Pieces without nulls are not copied, regardless of the type of their codes."""
    n = 300_000
    codes = pa.array(np.arange(n) % 3)
    for kind in INDICES:
        numbers = codes.cast(kind)
        encoded = pa.DictionaryArray.from_arrays(numbers, pa.array(["a", "b", "c"])).slice(1)
        for values in (encoded, pa.chunked_array([encoded, encoded]), numbers):
            assert memory_of(values, values) < n / 4, values.type


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
def test_what_is_no_time_is_named() -> None:
    """A time that is null, NaN or text raises, naming the position, and nothing is counted."""
    day = datetime.date(2024, 1, 1)
    for times, position in (
        (pa.array([0, 0, None], pa.timestamp("us")), 2),
        (pa.array([day, None, day]), 1),
        (pa.chunked_array([[1], [2, None]]), 2),
        (pa.array([1.0, math.nan, 3]), 1),
        (pa.array(["x"] * 3), 0),
    ):
        for state in (sm.TimeWindow(sm.MetricSet(), "1h"), sm.Fading(sm.MetricSet(), "1h")):
            error: Any = refused(lambda: state.update_many([1, 2, 1], [1, 1, 1], t=times), sm.TimeError, "t")  # noqa: B023
            assert (error.position, state.n) == (position, 0)


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
    """Bytes that a column has as text, but that are none, raise with the position."""
    offsets = pa.py_buffer(np.array([0, 2, 3], np.int32))
    values = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfea")])
    for column, at in ((values, 0), (values.take(pa.array([1, 0])).dictionary_encode(), 1)):
        error: Any = refused(lambda: in_batch(["a", "b"], column), sm.LabelError, "no value of Python")  # noqa: B023
        assert (error.argument, error.position) == ("y_pred", at)


STATES: list[Callable[[], Any]] = [
    lambda: sm.MetricSet(scores=True),
    lambda: sm.MetricSet(scores="any"),
    sm.RankSketch,
    sm.ProbabilityLosses,
    sm.LogLoss,
    lambda: sm.ROCAUC(pos_label="cat"),
]


@st.composite
def scored(draw: Draw) -> tuple[Any, list[Any], Any, list[Any], bool]:
    """Return truths, names of classes, a table of scores, its rows, None without scores, and if it has the names."""
    n, names = draw(st.integers(1, 20)), draw(st.permutations(["cat", "dog", "é"]))
    row = st.sampled_from([(0.5, 0.25, 0.25), (0.0, 1.0, 0.0), (0.25, 0.5, 0.25), (0.25, 0.0, 0.75)])
    rows = draw(st.lists(row | st.none() if draw(st.booleans()) else row, min_size=n, max_size=n))
    kind = draw(st.sampled_from([pa.float32(), pa.float64()]))
    mappings = [None if row is None else dict(zip(names, row, strict=True)) for row in rows]
    lists = [pa.list_(kind), pa.large_list(kind), pa.list_view(kind), pa.list_(kind, 3)]
    form = draw(st.sampled_from(["table", "batch", "struct", *lists]))
    if isinstance(form, pa.DataType):
        table = laid(draw, [row and list(row) for row in rows], form)
    else:
        struct = laid(draw, mappings, pa.struct([(name, kind) for name in names]))
        table = pa.table(dict(zip(names, struct.flatten(), strict=True)))
        table = struct if form == "struct" else table if form == "table" else table.combine_chunks().to_batches()[0]
    truth = draw(columns(n, False, ["string", "large_string", "string_view"]))
    return truth, names, table, mappings, isinstance(form, str)


@given(scored(), st.sampled_from([None, pa.array([2] * 20), pa.array([0.5, 3.0] * 10)]))
def test_tables_of_scores_are_counted_as_rows(batch: Any, w: Any) -> None:
    """Tables, structs and lists of scores, some rows without any: the bytes of the same rows as mappings."""
    truth, names, table, mappings, with_names = batch
    weights = None if w is None else w.slice(0, len(mappings))
    for make in STATES:
        expected, state, named = make(), make(), make()
        for y_true, row, weight in zip(listed(truth), mappings, listed(weights) or [1] * len(mappings), strict=True):
            expected.update(y_true, row, weight)
        state.update_many(truth, table, weights, classes=names)
        assert state.to_bytes() == expected.to_bytes(), (make(), str(table.schema if with_names else table.type))
        if with_names:
            named.update_many(truth, **{"scores" if isinstance(named, sm.MetricSet) else "y_pred": table}, w=weights)
            assert named.to_bytes() == expected.to_bytes(), make()


WEIGHTS: list[tuple[Callable[[], Any], int | None, Any]] = [  # with the position and the value of the error
    (lambda: pa.array([1, None, 2]), 1, None),
    (lambda: pa.chunked_array([[0.5], [1.0, -1.0]]), 2, -1.0),
    (lambda: pa.array([1.0, math.nan, 2.0]).dictionary_encode(), 1, math.nan),
    (lambda: pa.array(["1", "2", "3"]), 0, "1"),
    (lambda: pa.array([1, 2, 3], pa.timestamp("ns")), 0, "Timestamp('1970-01-01 00:00:00.000000001')"),
    (lambda: pa.array([1, 2**63, 3], pa.uint64()), 1, 2**63),
    (lambda: pa.array([1, 2]), None, None),
    (lambda: pa.table({"w": [1, 2, 3]}), None, None),
]
SCORES: list[tuple[Callable[[], Any], Any, str]] = [  # with `classes` and what the error says
    (lambda: pa.table({"a": [0.5, 0.5, None], "b": [0.5, 0.5, 0.5]}), None, "None for 'a' at position 2"),
    (lambda: pa.record_batch({"a": [0.5, math.nan, 1], "b": [0.5] * 3}), None, "but got nan for 'a'"),
    (lambda: pa.table({"a": [0.5] * 3, "b": ["x"] * 3}), None, "'x' for 'b' at position 0"),
    (lambda: pa.array([[0.5, 0.5], [0.5, 0.5], [0.5]]), ["a", "b"], "got 1 at position 2"),
    (lambda: pa.array([[0.5, 0.5], [0.5, None], [0, 0]]), ["a", "b"], "None for 'b' at position 1"),
    (lambda: pa.array([[0.5, 0.5]] * 3), None, "Expected `classes`"),
    (lambda: pa.array([[0.5, 0.5]] * 3, pa.list_(pa.float64(), 2)), ["a"], "1 columns, "),
    (lambda: pa.array(["a", "b", "c"]), None, "'a' at position 0"),
    (lambda: pa.array([1, 2, 3], pa.timestamp("ns")), None, "at position 0"),
    (lambda: pa.table({"a": [0.5, 0.5], "b": [0.5, 0.5]}), None, "as many rows as `y_true`, 3, but got 2"),
    (lambda: pa.table([[0.5] * 3, [0.5] * 3], ["a", "a"]), None, "`scores.columns` to be distinct"),
]


@pytest.mark.quick
def test_bad_weights_and_scores_are_named() -> None:
    """What is wrong in a column of weights or a table of scores raises, with the position, and nothing is counted."""
    for w, position, got in WEIGHTS:
        state, columns = sm.MetricSet(scores=True), (pa.array([1, 0, 1]), pa.array([0.5, 0.5, 0.25]))
        error: Any = refused(lambda: state.update_many(*columns, w()), sm.WeightError)  # noqa: B023
        assert (error.argument, error.position) == ("w", position)
        assert position is None or str(error.got) == str(got)
        assert state == sm.MetricSet(scores=True)
    for scores, classes, about in SCORES:
        refused(
            lambda: state.update_many(pa.array(["a", "b", "a"]), scores=scores(), classes=classes),  # noqa: B023
            ValueError,
            about,
        )
        assert state == sm.MetricSet(scores=True)


@pytest.mark.quick
def test_rows_without_scores() -> None:
    """A row that is null in every column counts as the label beside it, and errors count it among the positions."""
    rows, truth = [[0.5, 0.5], None, None, [2.0, 0.0]], pa.array(["a"] * 4)
    state = sm.MetricSet(scores=True)
    error: Any = refused(lambda: state.update_many(truth, scores=pa.array(rows), classes=["a", "b"]), sm.ScoreError)
    assert error.position == 3
    assert state == sm.MetricSet(scores=True)

    state.update_many(["a", "b", "b"], scores=pa.table({"a": [0.5, None, 1.0], "b": [0.5, None, 0.0]}))
    assert (state.n, state.abstained, state.snapshot().scored) == (2, 1, 2)
    struct = pa.struct([("cat", pa.float64()), ("dog", pa.float64())])
    for kind in (pa.map_(pa.string(), pa.float64()), struct, pa.list_(pa.float64()), pa.float64()):
        none, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
        none.update_many(["cat", "dog"], ["dog", None], scores=pa.array([None, None], kind))
        expected.update_many(["cat", "dog"], ["dog", None], scores=[None, None])
        assert none == expected
        assert (none.n, none.abstained, none.snapshot().scored) == (1, 1, 0)


@pytest.mark.quick
def test_tensors_and_slices_of_tables() -> None:
    """A tensor of fixed shape is a row of scores, and a table from the middle of a long buffer is its rows."""
    table = np.random.default_rng(3).dirichlet(np.ones(3), 5000)
    truth, names = np.random.default_rng(4).integers(0, 3, 4990), [0, 1, 2]
    expected = sm.ProbabilityLosses()
    expected.update_many(truth, table[10:], classes=names)
    for form in (
        pa.FixedShapeTensorArray.from_numpy_ndarray(table),
        pa.FixedSizeListArray.from_arrays(pa.array(table.ravel()), 3),
        pa.ListArray.from_arrays(pa.array(range(0, 15001, 3), pa.int32()), pa.array(table.ravel())),
        pa.record_batch([pa.array(column) for column in table.T], ["0", "1", "2"]),
    ):
        state = sm.ProbabilityLosses()
        state.update_many(pa.array(truth), form.slice(10), classes=names)
        assert state == expected


@st.composite
def mapped(draw: Draw) -> tuple[list[Any], list[Any], list[Any] | None]:
    """Return truths, rows of maps from text to scores, and predictions beside them or None."""
    n, numeric = draw(st.integers(1, 8)), draw(st.booleans())
    names = ["1", "2", "3"] if numeric else ["cat", "dog", "é"]
    keys = names if draw(st.booleans()) else draw(st.permutations([*names, "odd"]))[: draw(st.integers(1, 4))]
    score = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, math.nan, None] if draw(st.booleans()) else [0.25, 0.5, 0.75])
    orders = st.permutations(keys)
    if draw(st.booleans()):
        orders = orders.map(lambda order: order[: draw(st.integers(0, 3))])
    rows = [None if draw(st.integers(0, 4)) == 0 else [(key, draw(score)) for key in draw(orders)] for _ in range(n)]
    if draw(st.integers(0, 9)) == 0:
        rows = [row and [*row, row[0]] for row in rows]  # a key twice
    labels = [1, 2, 3] if numeric else names
    truth = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    predicted = st.lists(st.sampled_from([*labels, None]), min_size=n, max_size=n)
    return truth, rows, draw(st.none() | predicted)


@given(mapped(), st.booleans(), st.sampled_from([None, [2, 0] * 4, [0.5] * 8]), st.data())
def test_maps_are_counted_as_mappings(batch: Any, float32: bool, w: Any, data: Any) -> None:
    """Columns of maps, alike or not, give the bytes, or the error at the position, of the same rows as mappings.

    So do structs, where all rows have the same keys.
    """
    truth, rows, predicted = batch
    column = laid(data.draw, rows, pa.map_(pa.string(), pa.float32() if float32 else pa.float64()))
    mappings = [row if row is None else dict(row) for row in rows]
    keys = {tuple(sorted(row)) if row and None not in row.values() else () for row in mappings}
    structs = [pa.array(mappings)] if len(keys) == 1 and all(keys) else []
    fixed, groups = lambda: sm.MetricSet(labels=sorted(set(truth)), scores=True), lambda: sm.ByGroup(STATES[0]())
    for make in [*STATES, fixed, groups, sm.ConfusionMatrix]:
        given: dict[str, Any] = {"w": w and w[: len(rows)]}
        if make is groups:
            given["group"] = [at % 2 for at in range(len(rows))]
        ends = []
        for form in (column, mappings, *structs):
            state = make()
            before = state.to_bytes()
            scores = isinstance(state, sm.MetricSet | sm.ByGroup)
            columns = {"y_pred": predicted, "scores": form} if scores else {"y_pred": form}
            try:
                state.update_many(truth, **columns, **given)
                ends.append((state.to_bytes(), None, None))
            except sm.StreamMetricsError as error:
                assert state.to_bytes() == before
                ends.append((before, type(error), error.position))

        if any(row and len(dict(row)) < len(row) for row in rows):  # a key twice, which a mapping cannot have
            assert ends[0][1] is not None
        elif ends[0][1] is not sm.LabelError:
            assert ends.count(ends[0]) == len(ends), make()
        else:  # of a key that is none of the labels, in all maps alike, no row is named
            assert ends[1][1] is sm.LabelError, make()


@pytest.mark.quick
def test_frames_of_polars_are_tables() -> None:
    """A frame as predictions is refused as other tables are, and is a table of scores by its names."""
    pl = pytest.importorskip("polars", reason="needs polars")
    frame = pl.DataFrame({"a": [0.75, 0.25], "b": [0.25, 0.75]})
    for table in (frame, frame.select("a"), frame.to_pandas(), frame.to_arrow()):
        error: Any = refused(lambda: sm.classification_report(["a", "b"], table), sm.LabelError)  # noqa: B023
        assert error.argument == "y_pred"
    assert sm.evaluate(["a", "b"], scores=frame)["accuracy"] == 1
    objects = pl.DataFrame({"t": pl.Series(["a", "b"], dtype=pl.Object)})
    assert sm.count(objects, y_true="t", y_pred="t", group="t").snapshot().overall["accuracy"] == 1


@pytest.mark.quick
def test_states_in_a_column_are_merged() -> None:
    """Bytes of states may be in any buffer, and in a column of Arrow or of a data frame."""
    state = sm.Accuracy()
    state.update(1, 1)
    data = state.to_bytes()
    column = pa.array([data, data])
    for states in (
        [bytearray(data), memoryview(data)],
        column,
        column.cast("large_binary"),
        pa.chunked_array([column]),
    ):
        assert sm.merge(states).n == 2
    for bad in (data, bytearray(data), pa.table({"state": column}), pa.array([data, None])):
        refused(lambda: sm.merge(bad), sm.MergeError, "Expected `states`")  # noqa: B023
