"""ConfusionMatrix, sample by sample: what is counted, what is refused, and that a refusal counts nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm

LIMIT = 2**63 - 2  # the largest sum of weights


def counted(*samples: tuple[Any, ...], **configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that counted the samples one by one."""
    state = sm.ConfusionMatrix(**configuration)
    for sample in samples:
        state.update(*sample)
    return state


def test_an_empty_state() -> None:
    """A new state has no classes, no samples and no weight."""
    state = sm.ConfusionMatrix()

    assert (state.n, state.weight, state.correct, state.abstained, state.k) == (0, 0, 0, 0, 0)
    assert (state.labels, state.matrix.shape, state.fixed_labels, state.other) == ((), (0, 0), None, None)


def test_rows_are_true_and_columns_predicted() -> None:
    """A sample is counted in the row of its true and the column of its predicted label."""
    state = counted(("a", "b"), ("a", "b"), ("b", "b"))

    assert state.labels == ("a", "b")
    assert state.matrix.tolist() == [[0, 2], [0, 1]]
    assert (state.n, state.weight, state.correct) == (3, 3, 1)


def test_arguments_have_names() -> None:
    """The arguments are y_true, y_pred and w, by keyword too, and update returns nothing."""
    state = sm.ConfusionMatrix()

    assert state.update(y_true="a", y_pred="b", w=2) is None
    assert state.update_many(y_true=["a"], y_pred=["b"], w=[2]) is None
    assert state.revert(y_true="a", y_pred="b", w=2) is None
    assert state == counted(("a", "b", 2))


@pytest.mark.parametrize("nothing", [None, {}, type("Empty", (dict,), {})()], ids=["None", "dict", "subclass"])
def test_an_abstention_is_counted_apart(nothing: Any) -> None:
    """No prediction is an abstention: no sample, no weight, no class, regardless of the weight."""
    state = counted(("a", nothing), ("a", nothing, 7))

    assert (state.abstained, state.n, state.weight, state.k) == (2, 0, 0, 0)
    state.revert("z", nothing)
    assert state.abstained == 1


def test_an_abstention_needs_a_true_label_and_a_weight() -> None:
    """Also without a prediction, truth and weight are checked."""
    state = sm.ConfusionMatrix(labels=["a"])

    for bad in [("z", None), (None, None)]:
        with pytest.raises(sm.LabelError, match="`y_true`"):
            state.update(*bad)
    with pytest.raises(sm.WeightError, match="`w`"):
        state.update("a", None, -1)
    assert state.abstained == 0


def test_an_abstention_fits_always() -> None:
    """An abstention weighs nothing, so it is counted when the sum of weights is full."""
    state = counted(("a", "a", LIMIT // 2 - 1000), ("a", "a", LIMIT // 2 - 1000), ("a", None, LIMIT // 2))

    assert state.abstained == 1


@pytest.mark.parametrize(
    ("w", "total"),
    [
        (3, 3),
        (2**53 + 1, 2**53 + 1),
        (2.0, 2),
        (0.1, Fraction(0.1)),
        (Fraction(1, 4), Fraction(1, 4)),
        (Decimal("0.5"), Fraction(1, 2)),
        (True, 1),
        (np.True_, 1),
        (np.int8(3), 3),
        (np.uint64(2**61), 2**61),
        (np.float32(0.5), Fraction(1, 2)),
        (np.float64(1e-12), Fraction(round(Fraction(1e-12) * 2**64), 2**64)),
        (np.array(3), 3),
        (np.array(0.5), Fraction(1, 2)),
        (0, 0),
        (0.0, 0),
        (1e-30, 0),
    ],
)
def test_a_weight_is_counted_exactly(w: Any, total: int | Fraction) -> None:
    """A weight may be any real number; it is counted without rounding, down to units of 2**-64."""
    state = counted(("a", "a", w), ("a", "a", w), ("a", "b", w))

    assert state.total == 3 * total
    assert state.hits == 2 * total
    assert state.weight == (state.total if isinstance(state.total, int) else float(3 * total))


def test_a_weight_of_zero_is_a_sample_of_no_class() -> None:
    """A sample without weight is counted as a sample and makes no class."""
    state = counted(("a", "b", 0), ("c", "d", 0.0))

    assert (state.n, state.weight, state.k) == (2, 0, 0)


def test_tenths_leave_no_residue() -> None:
    """Ten tenths are as much as they are exactly, and taken away they leave nothing."""
    state = counted(*[("a", "a", 0.1)] * 10)

    assert state.total == 10 * Fraction(0.1)
    for _ in range(10):
        state.revert("a", "a", 0.1)
    assert state == sm.ConfusionMatrix()
    assert state.labels == ()


BAD_SAMPLES = [
    ("nan", float("nan"), "a", 1, sm.LabelError),
    ("fraction", "a", 0.25, 1, sm.LabelError),
    ("inf truth", float("inf"), "a", 1, sm.LabelError),
    ("no truth", None, "a", 1, sm.LabelError),
    ("unhashable", "a", ["a"], 1, sm.LabelError),
    ("new and bad", "new", [1], 1, sm.LabelError),
    ("array", "a", np.array([1, 2]), 1, sm.LabelError),
    ("bad score", "new", {"a": float("nan")}, 1, sm.ScoreError),
    ("negative", "new", "newer", -1, sm.WeightError),
    ("negative fraction", "new", "newer", -0.5, sm.WeightError),
    ("weight nan", "new", "newer", float("nan"), sm.WeightError),
    ("weight inf", "new", "newer", float("inf"), sm.WeightError),
    ("text", "new", "newer", "1", sm.WeightError),
    ("none", "new", "newer", None, sm.WeightError),
    ("complex", "new", "newer", 1j, sm.WeightError),
    ("weights", "new", "newer", np.array([1, 2]), sm.WeightError),
    ("huge int", "new", "newer", 2**63, sm.WeightError),
    ("huge float", "new", "newer", 2.0**63, sm.WeightError),
    ("googol", "new", "newer", 10**400, sm.WeightError),
    ("huge fraction", "new", "newer", Fraction(10**400), sm.WeightError),
    ("sum too large", "new", "newer", LIMIT - 2000, sm.WeightError),
]


@pytest.mark.parametrize(
    ("y_true", "y_pred", "w", "error"), [case[1:] for case in BAD_SAMPLES], ids=lambda x: str(x)[:20]
)
@pytest.mark.parametrize("labels", [None, ["a", "b", "new", "newer"]], ids=["open", "fixed"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_bad_sample_changes_nothing(
    labels: Any, sparse: bool, y_true: Any, y_pred: Any, w: Any, error: type[Exception]
) -> None:
    """A sample that is refused leaves the bytes as they were, and the next one is counted as ever."""
    labels = labels and labels + list(range(2000 * sparse))
    state = counted(("a", "b", 5000), ("b", "b", 2**53), ("a", None), labels=labels)
    for label in range(2000 * sparse):
        state.update(label, label)
    before = state.to_bytes()

    with pytest.raises(error, match=r"^Expected .*, but got "):
        state.update(y_true, y_pred, w)
    assert state.to_bytes() == before
    state.update("a", "b")
    state.revert("a", "b")
    assert state.to_bytes() == before


def test_the_sum_of_weights_has_a_limit() -> None:
    """The sum of all weights stays below 2**63 - 1: one more is refused, however it comes."""
    half = 2**62
    full = counted(("a", "a", half), ("a", "b", half - 2000), ("b", "a", 1998))
    before = full.to_bytes()

    assert full.total == LIMIT
    for attempt in (
        lambda: full.update("a", "a"),
        lambda: full.update("c", "d", 1.5),
        lambda: full.update_many(["a"], ["a"]),
        lambda: full.update_many(["a"], ["a"], [0.25]),
        lambda: full.merge(counted(("z", "z"))),
        lambda: full.merge(full),
    ):
        with pytest.raises(sm.WeightError, match="the sum of all weights"):
            attempt()
        assert full.to_bytes() == before


@pytest.mark.parametrize("bits", [24, 31, 32, 53, 60])
def test_counts_are_exact_at_any_size(bits: int) -> None:
    """Beyond 2^24, 2^31 and 2^53 one more is one more."""
    state = counted(("a", "a", 2**bits), ("a", "a"), ("a", "b", 2**bits), ("a", "b", 0.5))

    assert state.total == 2 ** (bits + 1) + Fraction(3, 2)
    assert state.true_dot_true == state.total**2
    state.revert("a", "b", 0.5)
    assert state.matrix[0].tolist() == [2**bits + 1, 2**bits]
    assert state.true_totals.tolist() == [2 ** (bits + 1) + 1, 0]


def test_fixed_labels_keep_their_order_and_are_classes_without_samples() -> None:
    """A fixed set is reported as it was given, absent labels included."""
    state = counted(("b", "a"), labels=["b", "c", "a"])

    assert state.labels == state.fixed_labels == ("b", "c", "a")
    assert state.matrix.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("argument", ["y_true", "y_pred"])
def test_a_label_outside_the_fixed_set_is_refused(argument: str) -> None:
    """An unknown label raises a LabelError that names the argument and the allowed labels."""
    state = sm.ConfusionMatrix(labels=["a", "b"])
    sample = {"y_true": "a", "y_pred": "a"} | {argument: "z"}

    with pytest.raises(sm.LabelError, match=rf"`{argument}` to be one of the fixed labels \['a', 'b'\], but got 'z'"):
        state.update(**sample)
    with pytest.raises(sm.LabelError, match=rf"`{argument}` at position 1 to be one of"):
        state.update_many(**{key: ["a", label] for key, label in sample.items()})
    assert state == sm.ConfusionMatrix(labels=["a", "b"])


@pytest.mark.parametrize("labels", [["a", "b", "rest"], ["a", "b"]], ids=["walk_inner", "outside"])
def test_labels_outside_the_fixed_set_can_be_counted_as_other(labels: list[str]) -> None:
    """`other` takes the place of every label outside the set; it is a class like any other, itself named or not."""
    state = counted(("a", "z"), ("y", "x"), ("a", {"q": 0.9, "a": 0.1}), ("b", None), labels=labels, other="rest")

    assert state.labels == ("a", "b", "rest")
    assert state.matrix.tolist() == [[0, 0, 2], [0, 0, 0], [0, 0, 1]]
    assert state.abstained == 1
    state.revert("new", "newer")
    assert state.matrix.sum() == 2


def test_other_needs_fixed_labels() -> None:
    """`other` alone would mean nothing, and must be a label."""
    with pytest.raises(sm.LabelError, match="`other` only together with `labels`"):
        sm.ConfusionMatrix(other="rest")
    with pytest.raises(sm.LabelError, match="`other`"):
        sm.ConfusionMatrix(labels=["a"], other=float("nan"))


def test_a_hundred_thousand_classes() -> None:
    """Many classes cost memory for the occupied cells only, and read as few do."""
    k = 100_000
    state = sm.ConfusionMatrix()
    state.update_many(np.arange(k), (np.arange(k) * 7) % k)

    assert (state.k, state.n, state.correct) == (k, k, 2)
    assert state.true_dot_predicted == k
    assert len(state.to_bytes()) < 20 * k
    assert state.labels == tuple(range(k))
    with pytest.raises(ValueError, match="at most 4096 classes"):
        state.matrix  # noqa: B018
    rows, columns, values = state.cells()
    assert rows.tolist() == list(range(k))
    assert columns.tolist() == [(7 * row) % k for row in range(k)]
    assert set(values.tolist()) == {1}


def test_repr_says_how_much_was_counted() -> None:
    """The repr names samples and classes."""
    assert repr(counted(("a", "b"))) == "ConfusionMatrix(1 sample, 2 classes)"
