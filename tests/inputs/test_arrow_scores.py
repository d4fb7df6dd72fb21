"""Weights and scores of Arrow are counted as the Python objects that they stand for, to the byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arrow_columns import Draw, columns, laid, laid_out, listed, pa
from support.refusals import refused

import stream_metrics as sm

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
    form = draw(st.sampled_from(["table", "batch", "struct", "map", *lists]))
    if isinstance(form, pa.DataType):
        table = laid(draw, [row and list(row) for row in rows], form)
    elif form == "map":
        table = laid(draw, [row and list(row.items()) for row in mappings], pa.map_(pa.string(), kind))
    else:
        struct = laid(draw, mappings, pa.struct([(name, kind) for name in names]))
        table = pa.table(dict(zip(names, struct.flatten(), strict=True)))
        table = struct if form == "struct" else table if form == "table" else table.combine_chunks().to_batches()[0]
    truth = draw(columns(n, False, ["string", "large_string", "string_view"]))
    return truth, names, table, mappings, isinstance(form, str)


@given(scored(), st.sampled_from([None, pa.array([2] * 20), pa.array([0.5, 3.0] * 10)]))
def test_tables_of_scores_are_counted_as_rows(batch: Any, w: Any) -> None:
    """Tables, structs, maps and lists of scores, some rows without any: the bytes of the same rows as mappings."""
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


@st.composite
def singles(draw: Draw) -> tuple[Any, Any]:
    """Return truths of two classes and a column of single scores, some of them null."""
    n = draw(st.integers(1, 20))
    rows = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, None]), min_size=n, max_size=n))
    truth = draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    types = [pa.int8(), pa.uint64(), pa.int64()], [pa.float16(), pa.float32(), pa.float64()]
    return tuple(laid_out(draw, r, draw(st.sampled_from(kinds))) for r, kinds in zip((truth, rows), types, strict=True))


@given(singles())
def test_single_scores_are_counted_as_lists(batch: tuple[Any, Any]) -> None:
    """A column of floats is the scores of `pos_label`, a null in it is an abstention."""
    truth, predicted = batch
    expected, beside, named = (sm.MetricSet(scores=True) for _ in "abc")
    expected.update_many(listed(truth), listed(predicted))
    beside.update_many(truth, predicted)
    named.update_many(truth, scores=predicted)

    assert beside.to_bytes() == named.to_bytes() == expected.to_bytes()


WEIGHTS: list[tuple[Callable[[], Any], int | None, Any]] = [  # with the position and the value of the error
    (lambda: pa.array([1, None, 2]), 1, None),
    (lambda: pa.chunked_array([[0.5], [1.0, -1.0]]), 2, -1.0),
    (lambda: pa.array([1.0, math.nan, 2.0]).dictionary_encode(), 1, math.nan),
    (lambda: pa.array(["1", "2", "3"]), 0, "1"),
    (lambda: pa.array([1, 2, 3], pa.timestamp("ns")), 0, "<pyarrow.TimestampScalar: '1970-01-01T00:00:00.000000001'>"),
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


KEYED = {
    "set": lambda labels: sm.MetricSet(scores=True),
    "any": lambda labels: sm.MetricSet(scores="any"),
    "labels": lambda labels: sm.MetricSet(labels=labels, scores=True),
    "metric": lambda labels: sm.LogLoss(),
    "losses": lambda labels: sm.ProbabilityLosses(),
    "sketch": lambda labels: sm.RankSketch(),
    "confusion": lambda labels: sm.ConfusionMatrix(),
    "groups": lambda labels: sm.ByGroup(sm.MetricSet(scores=True)),
}


@given(mapped(), st.booleans(), st.sampled_from([None, [2, 0] * 4, [0.5] * 8]), st.data())
def test_maps_are_counted_as_mappings(batch: Any, float32: bool, w: Any, data: Any) -> None:
    """Columns of maps, alike or not, give the bytes, or the error at the position, of the same rows as mappings."""
    truth, rows, predicted = batch
    column = laid(data.draw, rows, pa.map_(pa.string(), pa.float32() if float32 else pa.float64()))
    for name, make in KEYED.items():
        given: dict[str, Any] = {"w": w and w[: len(rows)]}
        if name == "groups":
            given["group"] = [at % 2 for at in range(len(rows))]
        ends = []
        for form in (column, [row if row is None else dict(row) for row in rows]):
            state = make(sorted(set(truth)))
            before = state.to_bytes()
            scores = isinstance(state, sm.MetricSet | sm.ByGroup)
            columns = {"y_pred": predicted, "scores": form} if scores else {"y_pred": form}
            try:
                state.update_many(truth, **columns, **given)
                ends.append((state.to_bytes(), None, None))
            except (sm.StreamMetricsError, KeyError) as error:
                assert state.to_bytes() == before
                ends.append((before, type(error), getattr(error, "position", None)))

        if ends[0][1] is KeyError:  # a key twice, which a mapping cannot have
            assert any(row and len(dict(row)) < len(row) for row in rows)
        elif ends[0][1] is not sm.LabelError:
            assert ends[0] == ends[1], name
        else:  # all maps have a key that is none of the labels, which no row is named for
            assert ends[1][1] is not None, name
