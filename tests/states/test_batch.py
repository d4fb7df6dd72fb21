"""update_many: weights, empty batches, and that one bad row rejects all."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stream_metrics as sm
from stream_metrics._core.confusion.kernels import count_integers

NAN = float("nan")


def started(**configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that has counted something."""
    state = sm.ConfusionMatrix(**configuration)
    state.update_many(["a", "b", "a"], ["b", "b", None], [1, 0.5, 1])
    return state


@pytest.mark.parametrize(
    "empty",
    [
        [],
        (),
        np.array([]),
        np.array([], "U1"),
        np.array([], int),
        np.array([], object),
        pd.Series([], dtype="category"),
        sm.Categorical([], []),
    ],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("w", [None, [], np.array([])], ids=["plain", "list", "array"])
def test_an_empty_batch_changes_nothing(empty: Any, w: Any) -> None:
    """No rows, no change, of whatever type the columns are."""
    state = started()
    before = state.to_bytes()
    state.update_many(empty, empty, w)

    assert state.to_bytes() == before


WEIGHTS = [3, 0, 2**53 + 1, 7]


@pytest.mark.parametrize(
    "column",
    [
        list,
        np.array,
        lambda w: np.array(w, object),
        lambda w: np.array(w, ">i8"),
        lambda w: np.array(w, "u8"),
        lambda w: np.repeat(np.array(w), 2)[::2],
        lambda w: pd.Series(w, dtype="Int64"),
        lambda w: [Fraction(x) for x in w],
        lambda w: [Decimal(x) for x in w],
        lambda w: pytest.importorskip("pyarrow", reason="pyarrow is not installed").array(w),
        lambda w: pytest.importorskip("torch", reason="torch is not installed", exc_type=ImportError).tensor(w),
    ],
)
def test_whole_weights(column: Any) -> None:
    """However whole weights are held, they are counted as they are."""
    state, one = sm.ConfusionMatrix(), sm.ConfusionMatrix()
    state.update_many(list("abcd"), list("abdd"), column(WEIGHTS))
    for row in zip("abcd", "abdd", column(WEIGHTS), strict=True):
        one.update(*row)

    assert state == one
    assert state.labels == ("a", "c", "d")
    assert state.n == 4
    assert state.weight == sum(WEIGHTS)


def test_boolean_weights_choose_rows() -> None:
    """A weight of False counts a sample without weight, True one with weight one."""
    state = sm.ConfusionMatrix()
    state.update_many(["a", "b"], ["a", "b"], np.array([True, False]))

    assert (state.n, state.weight, state.labels) == (2, 1, ("a",))


def test_whole_numbers_beside_fractions_are_not_rounded() -> None:
    """A list is read number by number: 2**53 + 1 stays odd beside a half."""
    state = sm.ConfusionMatrix()
    for w in ([2**53 + 1, 0.5], np.array([2**53 + 1, 0.5], object)):
        state.update_many(["a", "a"], ["a", "a"], w)

    assert state.total == 2 * (2**53 + 1) + 1


BAD_BATCHES = [
    (["a", NAN], ["a", "a"], None, sm.LabelError, "`y_true` at position 1 .* got nan"),
    (["a", None], ["a", "a"], None, sm.LabelError, "`y_true` at position 1 .* got None"),
    (["a", {}], ["a", "a"], None, sm.LabelError, "`y_true` at position 1"),
    ([1, 2], [1, [2]], None, sm.LabelError, r"`y_pred` at position 1 .* got \[2\]"),
    ([1, 2], [{1: 1}, {1: NAN}], None, sm.ScoreError, "`y_pred` at position 1 .* nan for 1"),
    ([1, 2], [{1: 1}, {None: 1}], None, sm.LabelError, "`y_pred` at position 1"),
    (np.array([1.0, NAN]), ["a", "a"], None, sm.LabelError, "`y_true` at position 1 .* got nan"),
    (["a", "a"], np.array([1.0, np.inf]), None, sm.LabelError, "`y_pred` at position 1 .* got inf"),
    (["a", "a"], np.array([1, 1e4000], "g"), None, sm.LabelError, "`y_pred` at position 1 .* got inf"),
    (["a", "a"], np.array(["2020", "2021"], "M8[ns]"), None, sm.LabelError, "`y_pred` at position 0 .*datetime64"),
    (["a", "a"], np.array([1, 2], "m8[ns]"), None, sm.LabelError, "`y_pred` at position 0 .*timedelta64"),
    (pd.Series(pd.to_datetime(["2020", "2021"])), [1, 1], None, sm.LabelError, "`y_true` at position 0"),
    (["a", "a"], np.array([1j, 1]), None, sm.LabelError, "`y_pred` at position 0"),
    (pd.Series([1, None]), ["a", "a"], None, sm.LabelError, "`y_true` at position 1 .* got nan"),
    (["a", "a"], [1, 0.25], None, sm.LabelError, "`y_pred` at position 1 .* 0.25; did you mean `scores=`"),
    (["a", "a"], np.array([1, 0.25]), None, sm.LabelError, "`y_pred` at position 1 .* 0.25; did you mean `scores=`"),
    ([1, 0.25], ["a", "a"], None, sm.LabelError, "`y_true` at position 1 .* 0.25; a number with a fraction"),
    (["a", "a"], np.array([[0.5, 0.5], [0.5, 0.5]]), None, sm.LabelError, r"`y_pred` .* did you mean `scores=`"),
    (pd.Series([1, None], dtype="Int64"), ["a", "a"], None, sm.LabelError, "`y_true` at position 1"),
    (pd.Categorical(["a", None]), ["a", "a"], None, sm.LabelError, "`y_true` at position 1 to be a label"),
    (np.ma.masked_array([1, 2], [0, 1]), [1, 1], None, sm.LabelError, "`y_true` at position 1 .* got None"),
    (["a", "a"], ["a", "a"], [1, -1], sm.WeightError, "`w` at position 1 .* got -1"),
    (["a", "a"], ["a", "a"], np.array([1, -1]), sm.WeightError, "`w` at position 1 .* got -1"),
    (["a", "a"], ["a", "a"], np.array([1, NAN]), sm.WeightError, "`w` at position 1 .* got nan"),
    (["a", "a"], ["a", "a"], np.array([1, np.inf]), sm.WeightError, "`w` at position 1 .* got inf"),
    (["a", "a"], ["a", None], np.array([1, -1.0]), sm.WeightError, "`w` at position 1 .* got -1.0"),
    (["a", "a"], ["a", "a"], [1, None], sm.WeightError, "`w` at position 1 .* got None"),
    (["a", "a"], ["a", "a"], [1, "1"], sm.WeightError, "`w` at position 1 .* got '1'"),
    (["a", "a"], ["a", "a"], np.array(["1", "1"]), sm.WeightError, "`w` to be a column of numbers, .* <U1"),
    (["a", "a"], ["a", "a"], np.array([1, 1], "M8[ns]"), sm.WeightError, "`w` to be a column of numbers"),
    (["a", "a"], ["a", "a"], np.array([1, 1j]), sm.WeightError, "`w` to be a column of numbers"),
    (["a", "a"], ["a", "a"], np.array([1, 2**63], "u8"), sm.WeightError, "`w` at position 1 to be below"),
    (["a", "a"], ["a", "a"], [1, 2**63], sm.WeightError, "`w` at position 1 .* got 9223372036854775808"),
    (["a", "a"], ["a", "a"], [2**62, 2**62], sm.WeightError, "the sum of all weights"),
    (["a", "c"], ["b", "d"], np.array([2.0**62, 2.0**62]), sm.WeightError, "the sum of all weights"),
    (["a"] * 8, ["a"] * 8, np.full(8, 2**61), sm.WeightError, "the sum of all weights"),
    (["a", "a"], ["a", "a"], [1], sm.WeightError, r"`w` to be a column of 2 weights, but got the shape \(1,\)"),
    (["a", "a"], ["a", "a"], np.ones((2, 1)), sm.WeightError, r"shape \(2, 1\)"),
    (["a", "a"], ["a", "a"], 2, sm.WeightError, "`w` to be a column of weights, but got 2"),
    (["a", "a"], ["a"], None, sm.LabelError, "`y_pred` to have as many rows as `y_true`, 2, but got 1"),
    ([], ["a"], None, sm.LabelError, "as many rows as `y_true`, 0, but got 1"),
    (np.ones((2, 1)), ["a", "a"], None, sm.LabelError, r"`y_true` to have one dimension, but got the shape \(2, 1\)"),
    (np.ones((2, 2), int), ["a", "a"], None, sm.LabelError, "`y_true` to have one dimension"),
    (pd.DataFrame({"a": [1, 2]}), ["a", "a"], None, sm.LabelError, "`y_true` to have one dimension"),
    (np.array(1), ["a"], None, sm.LabelError, r"`y_true` to be a column of labels, but got array\(1\)"),
    ([["a"], ["a"]], ["a", "a"], None, sm.LabelError, "`y_true` at position 0"),
    ("ab", "ab", None, sm.LabelError, "`y_true` to be a column of labels, but got 'ab'"),
    (["a", "b"], b"ab", None, sm.LabelError, "`y_pred` to be a column of labels"),
    (5, [5], None, sm.LabelError, "`y_true` to be a column of labels, but got 5"),
    (None, None, None, sm.LabelError, "`y_true` to be a column of labels, but got None"),
    (sm.Categorical([0, 1], ["a"]), ["a", "a"], None, sm.LabelError, "codes of `y_true` .*got 1 at position 1"),
    (["a", "a"], sm.Categorical([0, -2], ["a"]), None, sm.LabelError, "codes of `y_pred` .*from -1 to 0, but got -2"),
    (["a", "a"], sm.Categorical([0, 10**6], ["a"]), [1, 1], sm.LabelError, "but got 1000000 at position 1"),
    (["a", "a"], sm.Categorical(np.array([0, 2**32]), ["a"]), None, sm.LabelError, "but got 4294967296"),
    (["a", "a"], sm.Categorical([0.0, 0.0], ["a"]), None, sm.LabelError, "to be a column of integers"),
    (["a", "a"], sm.Categorical([[0], [0]], ["a"]), None, sm.LabelError, "to be a column of integers"),
    (["a", "a"], sm.Categorical([0, 0], [NAN]), None, sm.LabelError, "`categories` at position 0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("y_true", "y_pred", "w", "error", "message"), BAD_BATCHES, ids=[row[-1][:40] for row in BAD_BATCHES]
)
@pytest.mark.parametrize("labels", [None, ["a", "b", "c", "d", 1, 2]], ids=["open", "fixed"])
def test_one_bad_row_rejects_the_batch(
    y_true: Any, y_pred: Any, w: Any, error: type[Exception], message: str, labels: Any
) -> None:
    """The error names argument and position, and nothing of the batch is counted."""
    state = started(labels=labels)
    before = state.to_bytes()

    with pytest.raises(error, match=message):
        state.update_many(y_true, y_pred, w)
    assert state.to_bytes() == before


@pytest.mark.parametrize(
    "column", [list, tuple, np.array, iter, pd.Series, pd.Categorical, lambda rows: sm.Categorical([0, 1], rows)]
)
@pytest.mark.parametrize("w", [None, [1, 1], [0, 0]], ids=["plain", "weighted", "weightless"])
def test_a_label_outside_the_fixed_set_is_named_with_its_position(column: Any, w: Any) -> None:
    """For any kind of column, the first row that is not allowed is named, and nothing is counted."""
    state = started(labels=["a", "b"])
    before = state.to_bytes()

    for batch in (
        {"y_pred": ["a", "a"], "y_true": column(["a", "z"])},
        {"y_true": ["a", "a"], "y_pred": column(["a", "z"])},
    ):
        argument = list(batch)[1]
        with pytest.raises(sm.LabelError, match=f"`{argument}` at position 1 to be one of the fixed labels .*got 'z'"):
            state.update_many(**batch, w=w)
    assert state.to_bytes() == before


@pytest.mark.parametrize("missing", [[None, None], pd.Categorical([None, None]), sm.Categorical([-1, -1], ["a"])])
@pytest.mark.parametrize("w", [None, [1, 1]], ids=["plain", "weighted"])
def test_the_truth_of_an_abstention_must_be_allowed(missing: Any, w: Any) -> None:
    """A true label outside the fixed set is refused also where there is no prediction."""
    state = sm.ConfusionMatrix(labels=["a"])

    for truth in (["a", "z"], np.array(["a", "z"]), pd.Categorical(["a", "z"])):
        with pytest.raises(sm.LabelError, match="`y_true` at position 1"):
            state.update_many(truth, missing, w)
    assert state.abstained == 0


def test_large_batches_equal_small_ones() -> None:
    """A million rows at once, in pieces, and in every width of integer, are the same bytes."""
    rng = np.random.default_rng(1)
    truth, predicted = rng.integers(0, 40, (2, 1_100_003))
    whole, pieces = sm.ConfusionMatrix(), sm.ConfusionMatrix()
    whole.update_many(truth, predicted)
    for piece in range(0, len(truth), 77_777):
        rows = slice(piece, piece + 77_777)
        pieces.update_many(truth[rows].astype(np.int8), predicted[rows].astype(np.uint16))

    expected = np.bincount(truth * 40 + predicted, minlength=1600).reshape(40, 40)
    assert np.array_equal(whole.matrix, expected)
    assert pieces == whole


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_runs_of_small_integers(dtype: Any) -> None:
    """Pairs below 16 are counted in runs, with what is left over; a number outside is seen wherever it stands."""
    g = np.random.default_rng(0)
    for n in (1, 255, 256, 257, 700, 5000):
        t, p = g.integers(0, 16, (2, n)).astype(dtype)
        low, table = count_integers(t, p)
        expected = np.bincount(16 * t.astype(int) + p, minlength=256).reshape(16, 16)

        assert low == 0
        np.testing.assert_array_equal(table, expected)
        for at in {0, n // 2, n - 1}:
            for column in (t, p):
                before, column[at] = int(column[at]), 16 if at else -1
                low, table = count_integers(t, p)
                counts = {(low + int(i), low + int(j)): int(table[i, j]) for i, j in np.argwhere(table)}
                assert counts == dict(Counter(zip(t.tolist(), p.tolist(), strict=True)))
                column[at] = before
