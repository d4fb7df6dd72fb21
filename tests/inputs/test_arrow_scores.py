"""Weights and scores of Arrow are counted as the Python objects that they stand for, to the byte."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.arrow_columns import Draw, columns, laid, laid_out, listed, pa, pairs

import stream_metrics as sm
from stream_metrics.states.score_labels import LabelRule


@st.composite
def scored(draw: Draw) -> tuple[Any, list[Any], Any, Any]:
    """Return truths, names of classes, a table of scores, and its rows, None where a row has no scores."""
    n, names = draw(st.integers(1, 20)), draw(st.permutations(["cat", "dog", "é"]))
    single = draw(st.booleans())
    row = st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 3)
    rows = draw(st.lists(row | st.none() if draw(st.booleans()) else row, min_size=n, max_size=n))
    kind = pa.float32() if single else pa.float64()
    form = draw(st.sampled_from(["table", "batch", "struct", "list", "large_list", "list_view", "fixed"]))
    if form in ("table", "batch", "struct"):
        struct = laid(
            draw, [row and dict(zip(names, row, strict=True)) for row in rows], pa.struct([(x, kind) for x in names])
        )
        table = pa.table(dict(zip(names, struct.flatten(), strict=True)))
        table = struct if form == "struct" else table if form == "table" else table.combine_chunks().to_batches()[0]
    else:
        types = {"list": pa.list_(kind), "large_list": pa.large_list(kind), "list_view": pa.list_view(kind)}
        table = laid(draw, [row and list(row) for row in rows], types.get(form, pa.list_(kind, 3)))
    truth = draw(columns(n, False, ["string", "large_string", "string_view"]))
    return truth, names, table, rows


@given(scored(), st.sampled_from([None, pa.array([2] * 20), pa.array([0.5, 3.0] * 10)]), st.booleans())
def test_tables_of_scores_are_counted_as_rows(batch: Any, w: Any, ranks_only: bool) -> None:
    """Record batches, tables, structs and lists of scores: the bytes of the same rows as mappings."""
    truth, names, table, rows = batch
    weights = None if w is None else w.slice(0, len(rows))
    expected = sm.MetricSet(scores="any" if ranks_only else True)
    state = expected.copy()
    expected.update_many(listed(truth), [row and dict(zip(names, row, strict=True)) for row in rows], listed(weights))
    state.update_many(truth, w=weights, scores=table, classes=names)

    assert state.to_bytes() == expected.to_bytes()
    if not str(table.type if hasattr(table, "type") else "").startswith(("list", "large_list", "fixed")):
        named = expected.copy()
        named.reset()
        named.update_many(truth, table, weights)
        assert named.to_bytes() == expected.to_bytes()


@st.composite
def singles(draw: Draw) -> tuple[Any, Any]:
    """Return truths of two classes and a column of single scores, some of them null."""
    n = draw(st.integers(1, 20))
    rows = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, None]), min_size=n, max_size=n))
    kind = draw(st.sampled_from([pa.float16(), pa.float32(), pa.float64()]))
    truth = draw(st.lists(st.sampled_from([0, 1]), min_size=n, max_size=n))
    return laid_out(draw, truth, draw(st.sampled_from([pa.int8(), pa.uint64(), pa.int64()]))), laid_out(
        draw, rows, kind
    )


@given(singles(), st.booleans())
def test_single_scores_are_counted_as_lists(batch: tuple[Any, Any], as_scores: bool) -> None:
    """A column of floats is the scores of `pos_label`, a null in it is an abstention."""
    truth, predicted = batch
    state, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    expected.update_many(listed(truth), listed(predicted))
    if as_scores:
        state.update_many(truth, scores=predicted)
    else:
        state.update_many(truth, predicted)

    assert state.to_bytes() == expected.to_bytes()


@given(pairs(), st.data())
def test_labels_meet_a_set_with_scores(batch: tuple[Any, Any, Any], data: Any) -> None:
    """Where predictions may be scores, columns that are none are labels: floats apart, all types are counted so."""
    truth, predicted, w = batch
    state, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    if pa.types.is_floating(getattr(predicted.type, "value_type", predicted.type)):
        return
    state.update_many(truth, predicted, w)
    expected.update_many(*map(listed, batch))

    assert state.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize(
    ("w", "error"),
    [
        (lambda: pa.array([1, None, 2]), "`w` at position 1 .* but got None"),
        (lambda: pa.chunked_array([[0.5], [1.0, -1.0]]), "`w` at position 2 .* but got -1.0"),
        (lambda: pa.array([1.0, math.nan, 2.0]).dictionary_encode(), "`w` at position 1 .* but got nan"),
        (lambda: pa.array(["1", "2", "3"]), "`w` at position 0 .* but got '1'"),
        (lambda: pa.array([1, 2, 3], pa.timestamp("ns")), "`w` at position 0 "),
        (lambda: pa.array([1, 2**63, 3], pa.uint64()), "`w` at position 1 "),
        (lambda: pa.array([1, 2]), "`w` to be a column of 3 weights"),
        (lambda: pa.table({"w": [1, 2, 3]}), "`w` to be a column of 3 weights"),
    ],
)
def test_bad_weights_are_named(w: Callable[[], Any], error: str) -> None:
    """A weight that is null, negative or no number raises, naming the position, and nothing is counted."""
    state = sm.MetricSet(scores=True)
    with pytest.raises(sm.WeightError, match=error):
        state.update_many(pa.array([1, 0, 1]), pa.array([0.5, 0.5, 0.25]), w())

    assert state == sm.MetricSet(scores=True)


@pytest.mark.parametrize(
    ("scores", "classes", "error"),
    [
        (lambda: pa.table({"a": [0.5, 0.5, None], "b": [0.5, 0.5, 0.5]}), None, "None for 'a' at position 2"),
        (lambda: pa.record_batch({"a": [0.5, math.nan, 1], "b": [0.5] * 3}), None, "at position 1 .* nan for 'a'"),
        (lambda: pa.table({"a": [0.5] * 3, "b": ["x"] * 3}), None, "'x' for 'b' at position 0"),
        (lambda: pa.array([[0.5, 0.5], [0.5, 0.5], [0.5]]), ["a", "b"], "2 scores.* but got 1 at position 2"),
        (lambda: pa.array([[0.5, 0.5], [0.5, None], [0, 0]]), ["a", "b"], "None for 'b' at position 1"),
        (lambda: pa.array([[0.5, 0.5]] * 3), None, "Expected `classes`"),
        (lambda: pa.array([[0.5, 0.5]] * 3, pa.list_(pa.float64(), 2)), ["a"], "1 columns, .* but got 2"),
        (lambda: pa.array(["a", "b", "c"]), None, "'a' at position 0"),
        (lambda: pa.array([1, 2, 3], pa.timestamp("ns")), None, "at position 0"),
        (lambda: pa.table({"a": [0.5, 0.5], "b": [0.5, 0.5]}), None, "as many rows as `y_true`, 3, but got 2"),
        (lambda: pa.table([[0.5] * 3, [0.5] * 3], ["a", "a"]), None, "`scores.columns` to be distinct"),
    ],
)
def test_bad_scores_are_named(scores: Callable[[], Any], classes: Any, error: str) -> None:
    """What is wrong in a table of scores raises, naming the position, and nothing is counted."""
    state = sm.MetricSet(scores=True)
    with pytest.raises(ValueError, match=error):
        state.update_many(pa.array(["a", "b", "a"]), scores=scores(), classes=classes)

    assert state == sm.MetricSet(scores=True)


def test_rows_without_any_score_are_abstentions() -> None:
    """A row of a table that is null in every column has no scores; with a label beside it, it counts as that."""
    table = pa.table({"a": [0.5, None, 1.0], "b": [0.5, None, 0.0]})
    state, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    state.update_many(["a", "b", "b"], scores=table)
    expected.update_many(["a", "b", "b"], [{"a": 0.5, "b": 0.5}, None, {"a": 1.0, "b": 0.0}])

    assert state == expected
    assert state.abstained == 1


def test_maps_and_tensors_of_scores() -> None:
    """A map of each row is a mapping, a tensor of fixed shape a row of scores."""
    rows = [{"a": 0.5, "b": 0.5}, None, {"b": 1.0}]
    maps = pa.array([row and list(row.items()) for row in rows], pa.map_(pa.string(), pa.float64()))
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]))
    state, expected, from_tensors = (sm.MetricSet(scores=True) for _ in range(3))
    state.update_many(["a", "b", "b"], maps)
    expected.update_many(["a", "b", "b"], rows)
    from_tensors.update_many(["a", "b", "b"], tensors, classes=["a", "b"])
    again = sm.MetricSet(scores=True)
    again.update_many(["a", "b", "b"], [[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]], classes=["a", "b"])

    assert state == expected
    assert from_tensors == again


@pytest.mark.parametrize("form", ["fixed", "list", "batch"])
def test_tables_of_scores_have_the_values_of_the_rows(form: str) -> None:
    """Losses read a table from the middle of a buffer as the rows that it stands for."""
    table = np.random.default_rng(3).dirichlet(np.ones(3), 5000)
    truth, names = np.random.default_rng(4).integers(0, 3, 4990), [0, 1, 2]
    forms: dict[str, Callable[[], Any]] = {
        "fixed": lambda: pa.FixedSizeListArray.from_arrays(pa.array(table.ravel()), 3),
        "list": lambda: pa.ListArray.from_arrays(pa.array(range(0, 15001, 3), pa.int32()), pa.array(table.ravel())),
        "batch": lambda: pa.record_batch([pa.array(column) for column in table.T], ["0", "1", "2"]),
    }
    state, expected = sm.ProbabilityLosses(), sm.ProbabilityLosses()
    state.update_many(pa.array(truth), forms[form]().slice(10), classes=names)
    expected.update_many(truth, table[10:], classes=names)

    assert state == expected


@pytest.mark.parametrize(
    "make", [sm.RankSketch, sm.ProbabilityLosses, partial(sm.ROCAUC, pos_label="a"), sm.LogLoss, sm.MetricSet]
)
def test_every_state_of_scores_reads_tables(make: Any) -> None:
    """Sketches, losses and metrics take tables and structs by the names of their columns, lists with `classes`."""
    rows = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.25, 0.5, 0.25]]
    table = pa.record_batch(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True)))
    truth = pa.array(["a", "b", "c"])
    expected = make(scores=True) if make is sm.MetricSet else make()
    expected.update_many(truth.to_pylist(), np.array(rows), classes=["a", "b", "c"])
    for form in (table, pa.table(table), table.to_struct_array(), pa.chunked_array(table.to_struct_array())):
        state = expected.copy()
        state.reset()
        state.update_many(truth, form)

        assert state == expected
    state = expected.copy()
    state.reset()
    state.update_many(truth, pa.array(rows), classes=["a", "b", "c"])
    assert state == expected


@pytest.mark.parametrize("form", ["table", "struct", "list", "fixed", "single"])
@pytest.mark.parametrize("w", [None, [2, 0.5, 1, 3, 1]])
def test_rows_without_scores_cost_the_others_nothing(form: str, w: Any) -> None:
    """Where some rows have no scores, the others are still read as an array, to the bytes of rows one by one."""
    rows = [[0.5, 0.5], None, [0.25, 0.75], None, [1.0, 0.0]]
    split = {name: [row and row[at] for row in rows] for at, name in enumerate("ab")}
    forms: dict[str, Callable[[], Any]] = {
        "table": lambda: pa.table(split),
        "struct": lambda: pa.array([row and dict(zip("ab", row, strict=True)) for row in rows]),
        "list": lambda: pa.array(rows),
        "fixed": lambda: pa.array(rows, pa.list_(pa.float32(), 2)),
        "single": lambda: pa.chunked_array([split["a"][:2], split["a"][2:]]),
    }
    single = form == "single"
    truth: list[Any] = [1, 0, 1, 1, 0] if single else ["a", "b", "b", "a", "b"]
    given = split["a"] if single else [row and dict(zip("ab", row, strict=True)) for row in rows]
    state, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    for y_true, row, weight in zip(truth, given, w or [1] * 5, strict=True):
        expected.update(y_true, row, weight)
    with patch.object(LabelRule, "_of_row", side_effect=AssertionError):
        state.update_many(pa.array(truth), w=w, scores=forms[form](), classes=None if single else ["a", "b"])

    assert state == expected
    assert state.abstained == 2


def test_positions_count_the_rows_without_scores() -> None:
    """An error after rows that have no scores names the position among all rows."""
    state = sm.MetricSet(scores=True)
    with pytest.raises(sm.ScoreError, match="at position 3 "):
        state.update_many(
            pa.array(["a"] * 4), scores=pa.array([[0.5, 0.5], None, None, [2.0, 0.0]]), classes=["a", "b"]
        )

    assert state == sm.MetricSet(scores=True)


@pytest.mark.parametrize(
    "kind",
    [
        pa.map_(pa.string(), pa.float64()),
        pa.struct([("cat", pa.float64()), ("dog", pa.float64())]),
        pa.list_(pa.float64()),
        pa.float64(),
    ],
    ids=str,
)
def test_a_batch_without_any_scores(kind: Any) -> None:
    """Where every row is null, the predictions that are given count, and nothing is scored."""
    state, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    truth, predicted = ["cat", "dog"], ["dog", None]

    state.update_many(truth, predicted, scores=pa.array([None, None], kind))
    expected.update_many(truth, predicted, scores=[None, None])

    assert state == expected
    assert (state.n, state.abstained, state.snapshot().scored) == (1, 1, 0)


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


@pytest.mark.parametrize("make", KEYED.values(), ids=KEYED)
@given(mapped(), st.booleans(), st.sampled_from([None, [2, 0] * 4, [0.5] * 8]), st.data())
def test_maps_are_counted_as_mappings(make: Any, batch: Any, float32: bool, w: Any, data: Any) -> None:
    """Columns of maps, alike or not, give the bytes, or the error at the position, of the same rows as mappings."""
    truth, rows, predicted = batch
    kind = pa.map_(pa.string(), pa.float32() if float32 else pa.float64())
    column = laid(data.draw, rows, kind)
    labels = sorted(set(truth))
    given: dict[str, Any] = {"w": w and w[: len(rows)]}
    if isinstance(make(labels), sm.ByGroup):
        given["group"] = [at % 2 for at in range(len(rows))]
    scores = isinstance(make(labels), sm.MetricSet | sm.ByGroup)
    ends = []
    for form in (column, [row if row is None else dict(row) for row in rows]):
        state = make(labels)
        before = state.to_bytes()
        try:
            if scores:
                state.update_many(truth, predicted, scores=form, **given)
            else:
                state.update_many(truth, form, **given)
            ends.append((state.to_bytes(), None, None))
        except (sm.StreamMetricsError, KeyError) as error:
            assert state.to_bytes() == before
            whole = "labels" in str(error)  # all maps have a key that is none of the labels, which no row is named for
            ends.append((before, type(error), None if whole else getattr(error, "position", None)))

    if ends[0][1] is KeyError:  # a key twice, which a mapping cannot have
        assert any(row and len(dict(row)) < len(row) for row in rows)
    else:
        assert ends[0] == ends[1]
