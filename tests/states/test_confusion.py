"""ConfusionMatrix: what samples, batches and matrices count, what is taken out or refused, and what does not merge."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from support.refusals import refused
from support.state_checks import check_refused, counted, with_batch

import stream_metrics as sm

LIMIT = 2**63 - 2  # the largest sum of weights
NAN, INF = float("nan"), float("inf")


@pytest.mark.quick
def test_rows_are_true_and_columns_predicted() -> None:
    """A sample is counted in the row of its true and the column of its predicted label; a new state has no class."""
    empty, state = sm.ConfusionMatrix(), counted("ab", "ab", "bb")

    assert (empty.n, empty.weight, empty.correct, empty.abstained, empty.k) == (0, 0, 0, 0, 0)
    assert (empty.labels, empty.matrix.shape, empty.fixed_labels, empty.other) == ((), (0, 0), None, None)
    assert state.labels == ("a", "b")
    assert state.matrix.tolist() == [[0, 2], [0, 1]]
    assert (state.n, state.weight, state.correct) == (3, 3, 1)
    assert repr(counted("ab")) == "ConfusionMatrix(1 sample, 2 classes)"


@pytest.mark.quick
def test_an_abstention_is_counted_apart() -> None:
    """No prediction is no sample, no weight and no class, also where the sum of weights is full or the label bad."""
    for nothing in (None, {}, type("Empty", (dict,), {})()):
        state = counted(("a", nothing), ("a", nothing, 7))
        assert (state.abstained, state.n, state.weight, state.k) == (2, 0, 0, 0)
        state.revert("z", nothing)
        assert state.abstained == 1
    full = counted(("a", "a", LIMIT // 2 - 1000), ("a", "a", LIMIT // 2 - 1000), ("a", None, LIMIT // 2))
    assert full.abstained == 1
    bad = [((truth, None), sm.LabelError, "y_true") for truth in ("z", None)]
    check_refused(sm.ConfusionMatrix(labels=["a"]), "update", [*bad, (("a", None, -1), sm.WeightError, "w")])


WEIGHTS: list[tuple[Any, int | Fraction]] = [
    *((w, w) for w in (3, 2**53 + 1, Fraction(1, 4), 0)), (2.0, 2), (0.1, Fraction(0.1)), (0.0, 0), (1e-30, 0),
    (Decimal("0.5"), Fraction(1, 2)), (True, 1), (np.True_, 1), (np.int8(3), 3), (np.uint64(2**61), 2**61),
    (np.float32(0.5), Fraction(1, 2)), (np.float64(1e-12), Fraction(round(Fraction(1e-12) * 2**64), 2**64)),
    (np.array(3), 3), (np.array(0.5), Fraction(1, 2)),
]  # fmt: skip


@pytest.mark.quick
def test_a_weight_is_counted_exactly() -> None:
    """A weight may be any real number; it is counted without rounding, down to units of 2**-64."""
    for w, total in WEIGHTS:
        state = counted(("a", "a", w), ("a", "a", w), ("a", "b", w))
        assert (state.total, state.hits) == (3 * total, 2 * total), w
        assert state.weight == (state.total if isinstance(state.total, int) else float(3 * total)), w
    none = counted(("a", "b", 0), ("c", "d", 0.0))
    assert (none.n, none.weight, none.k) == (2, 0, 0)
    tenths = counted(*[("a", "a", 0.1)] * 10)
    assert tenths.total == 10 * Fraction(0.1)


BAD_SAMPLES: list[tuple[Any, ...]] = [
    *(((bad, "a"), sm.LabelError, "y_true", None, bad) for bad in (NAN, INF, None)),
    (("a", 0.25), sm.LabelError, "y_pred", None, 0.25),
    (("a", ["a"]), sm.LabelError, "y_pred", None, "['a']"),
    (("new", [1]), sm.LabelError, "y_pred", None, "[1]"),
    (("a", np.array([1, 2])), sm.LabelError, "y_pred", None, "array([1, 2])"),
    (("new", {"a": NAN}), sm.ScoreError, "y_pred", None, NAN),
    *(
        (("new", "newer", w), sm.WeightError, "w", None, w if isinstance(w, int | float | str | None) else repr(w))
        for w in (-1, -0.5, NAN, INF, "1", None, 1j, np.array([1, 2]), 2**63, 2.0**63, 10**400)
    ),
    (("new", "newer", Fraction(10**400)), sm.WeightError, "w"),
    (("new", "newer", LIMIT - 2000), sm.WeightError),
]


def test_a_bad_sample_changes_nothing() -> None:
    """A refused sample leaves the bytes as they were, in open, fixed and sparse states, and the next one is counted."""
    for labels in (None, ["a", "b", "new", "newer"]):
        for classes in (0, 2000):
            fixed = labels and labels + list(range(classes))
            samples = [("a", "b", 5000), ("b", "b", 2**53), ("a", None), *((i, i) for i in range(classes))]
            state = counted(*samples, labels=fixed)
            before = state.to_bytes()
            check_refused(state, "update", BAD_SAMPLES)
            state.update("a", "b")
            state.revert("a", "b")
            assert state.to_bytes() == before


AA = ["a", "a"]
BAD_LABELS: list[tuple[Any, ...]] = [  # as truth and as prediction: the column, and position and value in the error
    ([1, [2]], 1), *((form([1, x]), 1, x) for form, x in ((list, 0.25), (np.array, 0.25), (np.array, INF))),
    (np.array([1, 1e4000], "g"), 1), (np.array([1j, 1]), 0), ([["a"], ["a"]], 0),
    *((np.array(["2020", "2021"], unit), 0) for unit in ("M8[ns]", "M8[D]")), (np.array([1, 2], "m8[ns]"), 0),
    (pd.Series(pd.to_datetime(["2020", "2021"])), 0),
    *((column, None) for column in (np.ones((2, 1)), np.ones((2, 2)), pd.DataFrame({"a": [1, 2]}), np.array(1))),
    *((column, None, column) for column in ("ab", b"ab", 5)),
    *((sm.Categorical([0, code], ["a"]), 1, code) for code in (1, -2, 10**6)),
    (sm.Categorical(np.array([0, 2**32]), ["a"]), 1, 2**32),
    *((sm.Categorical(codes, ["a"]), None) for codes in ([0.0, 0.0], [[0], [0]])),
]  # fmt: skip
MISSING: list[Any] = [
    [1, None], [1, NAN], [1, {}], np.array([1.0, NAN]), pd.Series([1, None]), pd.Series([1, None], dtype="Int64"),
    pd.Categorical(["a", None]), np.ma.masked_array([1, 2], [0, 1]),
]  # fmt: skip
BAD_WEIGHTS: list[tuple[Any, ...]] = [
    *((w, 1, w[1]) for w in ([1, -1], [1, None], [1, "1"], [1, 2**63])),
    *((np.array(w), 1, w[1]) for w in ([1, -1], [1, NAN], [1, INF], [1, -1.0])),
    (np.array([1, 2**63], "u8"), 1, 2**63),
    *((w, 0) for w in (np.array(["1", "1"]), np.array([1, 1], "M8[ns]"), np.array([1j, 1]))),
    *((w, None) for w in ([1], np.ones((2, 1)))),
    (2, None, 2),
]
BAD_BATCHES: list[tuple[Any, ...]] = [
    *(((column, AA), sm.LabelError, "y_true", *at) for column, *at in BAD_LABELS),
    *(((AA, column), sm.LabelError, "y_pred", *at) for column, *at in BAD_LABELS if at[1:] or at != [1]),
    *(((column, AA), sm.LabelError, "y_true", 1) for column in MISSING),
    *(((AA, AA, w), sm.WeightError, "w", *at) for w, *at in BAD_WEIGHTS),
    ((AA, ["a", None], np.array([1, -1.0])), sm.WeightError, "w", 1, -1.0),
    (([1, 2], [1, [2]]), sm.LabelError, "y_pred", 1, "[2]"),
    (([1, 2], [{1: 1}, {1: NAN}]), sm.ScoreError, "y_pred", 1, NAN),
    (([1, 2], [{1: 1}, {None: 1}]), sm.LabelError, "y_pred", 1, None),
    ((AA, np.array([1, 1e4000], "g")), sm.LabelError, "y_pred", 1),
    ((None, None), sm.LabelError, "y_true", None, None),
    *(((truth, ["a"]), sm.LabelError, "y_pred", None) for truth in (AA, [])),
    ((AA, sm.Categorical([1, 0], [INF, "a"])), sm.LabelError, "y_pred", 1, INF),
    ((AA, AA, [2**62, 2**62]), sm.WeightError),
    ((["a", "c"], ["b", "d"], np.array([2.0**62, 2.0**62])), sm.WeightError),
    ((["a"] * 8, ["a"] * 8, np.full(8, 2**61)), sm.WeightError),
]


def test_one_bad_row_rejects_the_batch() -> None:
    """The error names argument, position and value, and nothing of the batch is counted; empty batches change nothing.

    So it is in open states and in those of fixed labels, which name the first row that is not allowed, also beside an
    abstention.
    """
    for labels in (None, ["a", "b", "c", "d", 1, 2]):
        state = counted(("a", "b"), ("b", "b", 0.5), ("a", None), labels=labels)
        check_refused(state, "update_many", BAD_BATCHES)
        before = state.to_bytes()
        integers, texts = np.array([], int), np.array([], "U1")
        for empty in ([], (), np.array([]), texts, integers, np.array([], object), sm.Categorical([], [])):
            for w in (None, [], np.array([])):
                state.update_many(empty, empty, w)
        assert state.to_bytes() == before
    columns = [list, tuple, np.array, iter, pd.Series, pd.Categorical, lambda rows: sm.Categorical([0, 1], rows)]
    fixed = counted("ab", labels=["a", "b"])
    check_refused(fixed, "update", [(("z", "a"), sm.LabelError, "y_true", None, "z"), ("az", sm.LabelError, "y_pred")])
    for w in (None, [1, 1], [0, 0]):
        for column in columns:
            named = (sm.LabelError, "y_true", 1, "z"), (sm.LabelError, "y_pred", 1, "z")
            check_refused(fixed, "update_many", [((column(["a", "z"]), ["a", "a"], w), *named[0])])
            check_refused(fixed, "update_many", [((["a", "a"], column(["a", "z"]), w), *named[1])])
        for missing in ([None, None], pd.Categorical([None, None]), sm.Categorical([-1, -1], ["a"])):
            truths = (["a", "z"], np.array(["a", "z"]), pd.Categorical(["a", "z"]))
            check_refused(fixed, "update_many", [((truth, missing, w), *named[0]) for truth in truths])


def test_numbers_with_a_fraction_ask_for_scores() -> None:
    """A prediction such as 0.25, alone, in a column or a table, asks whether `scores=` was meant."""
    state = sm.ConfusionMatrix()
    for predicted in ([1, 0.25], np.array([1, 0.25]), np.array([[0.5, 0.5], [0.5, 0.5]])):
        with pytest.raises(sm.LabelError, match=r"did you mean `scores="):
            state.update_many(["a", "a"], predicted)


def test_the_sum_of_weights_has_a_limit() -> None:
    """The sum of all weights stays below 2**63 - 1: one more is refused, however it comes."""
    full = counted(("a", "a", 2**62), ("a", "b", 2**62 - 2000), ("b", "a", 1998))

    assert full.total == LIMIT
    check_refused(full, "update", [(("a", "a"), sm.WeightError), (("c", "d", 1.5), sm.WeightError)])
    check_refused(full, "update_many", [((["a"], ["a"], w), sm.WeightError) for w in (None, [0.25])])
    check_refused(full, "merge", [((other,), sm.WeightError) for other in (counted("zz"), full)])
    for count in (1, 300):
        rows, w = np.arange(2 * count) % 2, np.full(2 * count, (2**63 - 1024) // count - 1)
        check_refused(counted((1, 1, 5)), "update_many", [((rows, rows * 0, w), sm.WeightError)])
    for w in (2**62 - 1, 2**62, 2**63 - 1025):
        assert counted("ab", ("a", "b", w)).weight == w + 1
    largest = 2**63 - 1024
    rows = [([0, 1, 0], [0, 0, 0], np.array([1, largest - 1, w])) for w in (-1, largest)]
    check_refused(sm.ConfusionMatrix(), "update_many", [(row, sm.WeightError, "w", 2, int(row[2][2])) for row in rows])


@pytest.mark.quick
def test_fixed_labels_and_other() -> None:
    """Fixed labels keep their order, absent ones included; `other`, if given, counts all that are not among them."""
    assert counted("ba", labels=["b", "c", "a"]).matrix.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    samples = [("a", "z"), ("y", "x"), ("a", {"q": 0.9, "a": 0.1}), ("b", None)]
    for labels in (["a", "b", "rest"], ["a", "b"]):
        state = counted(*samples, labels=labels, other="rest")
        assert (state.labels, state.fixed_labels, state.other) == (("a", "b", "rest"), tuple(labels), "rest")
        assert state.matrix.tolist() == [[0, 0, 2], [0, 0, 0], [0, 0, 1]]
        assert state.abstained == 1
        state.revert("new", "newer")
        assert state.matrix.sum() == 2
    refused(lambda: sm.ConfusionMatrix(other="rest"), sm.LabelError, "`other` only together with `labels`")
    refused(lambda: sm.ConfusionMatrix(labels=["a"], other=NAN), sm.LabelError, "`other`")


def test_large_batches_equal_small_ones() -> None:
    """A million rows at once, in pieces, and in other widths of integers, are the same bytes."""
    rng = np.random.default_rng(1)
    truth, predicted = rng.integers(0, 40, (2, 1_100_003))
    whole, pieces = sm.ConfusionMatrix(), sm.ConfusionMatrix()
    whole.update_many(truth, predicted)
    for piece in range(0, len(truth), 77_777):
        rows = slice(piece, piece + 77_777)
        pieces.update_many(truth[rows].astype(np.int8), predicted[rows].astype(np.uint16))

    assert np.array_equal(whole.matrix, np.bincount(truth * 40 + predicted, minlength=1600).reshape(40, 40))
    assert pieces == whole


def test_runs_of_small_integers() -> None:
    """Pairs below 16 are counted in runs, with what is left over; a number outside is seen wherever it stands."""
    g = np.random.default_rng(0)
    for dtype, n in product((np.int8, np.int16, np.int32, np.int64), (1, 255, 256, 257, 700, 5000)):
        t, p = g.integers(0, 16, (2, n)).astype(dtype)
        for at, column in product((None, *{0, n // 2, n - 1}), (t, p)):
            if at is not None:
                before, column[at] = int(column[at]), 16 if at else -1
            state = with_batch(sm.ConfusionMatrix(), t, p)
            counts = {(state.labels[i], state.labels[j]): w for i, j, w in zip(*state.cells(), strict=True)}
            assert counts == dict(Counter(zip(t.tolist(), p.tolist(), strict=True)))
            if at is not None:
                column[at] = before


@st.composite
def columns_of_integers(draw: st.DrawFn, n: int) -> np.ndarray:
    """Return integers that lie close together or far apart, anywhere in the range of their type."""
    dtype = draw(st.sampled_from([np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]))
    limits = np.iinfo(dtype)
    low = draw(st.one_of(st.sampled_from([limits.min, 0, limits.max - 100]), st.integers(limits.min, limits.max - 100)))
    steps = draw(st.lists(st.integers(0, draw(st.sampled_from([1, 3, 100]))), min_size=n, max_size=n))
    return np.array([low + step for step in steps], dtype)


@pytest.mark.quick
def test_a_matrix_is_a_state_with_fixed_labels() -> None:
    """Rows are true; a whole number is that many samples, another cell is one; labels are positions by default."""
    state = sm.ConfusionMatrix.from_matrix([[3, 0], [1, 2]], ["b", "a"])
    same = counted(*["bb"] * 3, "ab", "aa", "aa", labels=["b", "a"])
    fractions = sm.ConfusionMatrix.from_matrix([[0.5, 3.0], [0.0, 0.1]])
    mixed = sm.ConfusionMatrix.from_matrix(np.array([[2**53 + 1, 0], [0, Fraction(1, 2)]], dtype=object))
    empty = sm.ConfusionMatrix.from_matrix(np.zeros((0, 0)))

    assert state == same
    assert (state.n, state.fixed_labels) == (6, ("b", "a"))
    assert sm.ConfusionMatrix.from_matrix(same.matrix, same.labels) == same
    assert sm.ConfusionMatrix.from_matrix(np.eye(3, dtype=np.uint8)).labels == (0, 1, 2)
    assert fractions.matrix.tolist() == [[0.5, 3.0], [0.0, 0.1]]
    assert (fractions.total, fractions.n) == (Fraction(0.1) + Fraction(7, 2), 5)
    assert mixed.total == 2**53 + Fraction(3, 2)
    assert (empty.fixed_labels, empty.k, empty.n) == ((), 0, 0)
    assert sm.from_bytes(empty.to_bytes()) == empty


def test_matrices_of_any_type_and_size() -> None:
    """Type and layout of the array do not matter, counts beyond 2^53 are exact, and many classes are read alike."""
    expected = sm.ConfusionMatrix.from_matrix([[1, 0], [1, 1]])
    for dtype in ("i1", "u1", "i4", ">i8", "u8", "f2", "f4", ">f8", "?", "O"):
        for layout in ("C", "F"):
            matrix = np.array([[1, 0], [1, 1]]).astype(dtype, order=layout)
            assert sm.ConfusionMatrix.from_matrix(matrix) == expected, (dtype, layout)
    for cell in (2**24, 2**31, 2**32, 2**53, 2**60, 2**60 + 1):
        state = sm.ConfusionMatrix.from_matrix([[cell, 1], [0, cell]])
        state.update(0, 0)
        state.update(0, 1, 0.5)
        assert state.total == 2 * cell + Fraction(5, 2)
        state.revert(0, 1, 0.5)
        assert state.matrix.tolist() == [[cell + 1, 1], [0, cell]]
        assert (state.n, state.total) == (2 * cell + 2, 2 * cell + 2)
        assert state.true_totals.tolist() == [cell + 2, cell]
        assert state.true_dot_predicted == (cell + 2) * (cell + 1) + cell * (cell + 1)
    matrix = np.diag(np.arange(1500)) + np.eye(1500, k=3, dtype=int)
    state = sm.ConfusionMatrix.from_matrix(matrix)
    assert np.array_equal(state.matrix, matrix)
    assert state.true_totals.tolist() == matrix.sum(axis=1).tolist()
    assert state.predicted_totals.tolist() == matrix.sum(axis=0).tolist()
    cells = [[1, 2], [3, 4]]
    assert sm.ConfusionMatrix.from_matrix(np.ma.array(cells)) == sm.ConfusionMatrix.from_matrix(cells)


def test_matrices_that_are_refused() -> None:
    """A matrix is square and of weights, with one label a row; its cells add up to less than the limit."""
    from_matrix, two = sm.ConfusionMatrix.from_matrix, [[1, 0], [0, 1]]
    for shape in ((), (2,), (2, 3), (0, 2), (2, 2, 2)):
        with pytest.raises(ValueError, match=r"`matrix` to be square, but got the shape \("):
            from_matrix(np.zeros(shape))
    bad = [-1, -0.5, NAN, INF, 2.0**63, 2**63, 2**64, "1", None, 1j]
    labels: list[tuple[Any, Any, Any]] = [
        (["a"], None, 1), (["a", "b", "c"], None, 3), (["a", "a"], 1, "a"), ([1, True], 1, True),
        ("ab", None, "ab"), (["a", NAN], 1, NAN),
    ]  # fmt: skip
    cases: list[tuple[Any, ...]] = [
        *((([[1, 0], [cell, 1]],), sm.WeightError, "matrix") for cell in bad),
        ((np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]]),), sm.WeightError, "matrix"),
        *((([[2**62, 0], [0, cell]],), sm.WeightError) for cell in (2**62 - 2, 2**62)),
        *(((two, names), sm.LabelError, "labels", at, got) for names, at, got in labels),
    ]
    check_refused(sm.ConfusionMatrix(), lambda state, *arguments: from_matrix(*arguments), cases)
    assert from_matrix([[2**62, 0], [0, 2**62 - 3]]).total == 2**63 - 3


@pytest.mark.quick
def test_what_was_not_counted_cannot_be_removed() -> None:
    """More than a cell or a count has is refused, in square and in sparse tables, and so is what `update` refuses."""
    cells = [
        ("a", "b", 4), ("a", "b", 3.5), ("b", "a"), ("z", "a"), ("a", "z"), ("a", "a", 1), ("b", "b", 0.75),
        ("a", "c", 2**62),
    ]  # fmt: skip
    parts: list[list[Any]] = [
        [("a", "b", 3)], ["ba"], ["zz"], ["ab"] * 3, [("a", None)] * 2, [("a", "a", 0)] * 2000,
        [("a", "b", 2), ("a", "c", 1.5)], [("a", "b", 0.1), ("a", "c", 1 + 2.0**-40)],
    ]  # fmt: skip
    for classes in (0, 1500):
        more = [(i, i) for i in range(classes)]
        state = counted("ab", "ab", "ab", ("b", "b", 0.5), "ac", *more)
        check_refused(state, "revert", [(sample, sm.WeightError) for sample in cells])
        state.revert("a", "b", 3)
        check_refused(state, "revert", [(("a", "b", 2.0**-64), sm.WeightError)])
        whole = counted(("a", "b", 2), "ac", ("a", None), *more)
        check_refused(whole, "subtract", [((counted(*part),), sm.WeightError) for part in parts])
    empty = [("a", "a"), ("a", None), ("a", "a", 0)]
    check_refused(sm.ConfusionMatrix(), "revert", [(sample, sm.WeightError) for sample in empty])
    bad = [((truth, "a"), sm.LabelError, "y_true") for truth in (float("nan"), "z")]
    bad += [(("a", "a", -1), sm.WeightError, "w"), (("a", {"a": "x"}), sm.ScoreError, "y_pred")]
    check_refused(counted("aa", labels=["a"]), "revert", [*bad, (("a", None), sm.WeightError)])
    with pytest.raises(sm.WeightError, match="counted, but got y_true='a', y_pred='b', w=4"):
        counted("ab").revert("a", "b", 4)


@pytest.mark.quick
def test_other_configurations_and_kinds_do_not_merge() -> None:
    """A MergeError names what differs with both values, or the kind; nothing changes."""
    cases: list[Any] = [
        ({}, {"labels": ["a"]}, "nothing in one and ('a',) in"),
        ({"labels": ["a", "b"]}, {"labels": ["b", "a", "c"]}, "('a', 'b') in one and ('b', 'a', 'c')"),
        ({"labels": ["a", 1]}, {"labels": ["a", True]}, "('a', 1) in one and ('a', True)"),
        ({"labels": ["a"]}, {"labels": ["a"], "other": "z"}, "nothing in one and 'z'"),
        ({"labels": ["a"], "other": 1}, {"labels": ["a"], "other": 1.0}, "1 in one and 1.0"),
    ]
    for mine, theirs, values in cases:
        state, other = counted("aa", **mine), sm.ConfusionMatrix(**theirs)
        for call in ("merge", "subtract"):
            check_refused(state, call, [((other,), sm.MergeError, "other" if "other" in theirs else "labels")])
        refused(partial(state.merge, other), sm.MergeError, values)
    for other in (None, 5, {}, sm.MetricSet(), sm.Accuracy()):
        for call in (sm.ConfusionMatrix().merge, sm.ConfusionMatrix().subtract):
            error: Any = refused(partial(call, other), sm.MergeError, "a ConfusionMatrix, but got a")
            assert (error.argument, error.got) == ("other", type(other).__name__)


@pytest.mark.quick
def test_weighted_counts_samples_whose_weight_is_not_one() -> None:
    """They have no interval, even if weights sum to the number of samples; abstentions are not among them."""
    truth, predicted = [0, 0, 1, 1] * 50, [0, 1, 0, 0] * 50
    for weights in ([2, 1, 0.5, 0.5] * 50, [2, 1, 0, 1] * 50):
        batch = sm.ConfusionMatrix()
        batch.update_many(truth, predicted, weights)
        single = counted(*zip(truth, predicted, weights, strict=True))
        for state in (batch, single, sm.from_bytes(single.to_bytes()), sm.ConfusionMatrix().merge(batch)):
            assert state == batch
            assert state.weighted == sum(w != 1 for w in weights)
            with pytest.raises(ValueError, match="samples have a weight other than 1"):
                state.snapshot().interval("accuracy")
            assert "majority_p_value" in state.snapshot().omitted
    weights = [1, 1.0, True, 2, 0.5, 0, 0.0, 2**40]
    rows = [("abc"[i % 3], ["a", "b", None][i // 3 % 3], weights[i % 8]) for i in range(72)]
    assert counted(*rows).weighted == sum(w != 1 and p is not None for _, p, w in rows)
