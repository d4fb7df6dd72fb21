"""revert and subtract: samples that were counted can be removed, and no others."""

from __future__ import annotations

import tracemalloc
from collections import deque
from typing import Any

import pytest

import stream_metrics as sm


def counted(*samples: tuple[Any, ...], **configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that counted the samples one by one."""
    state = sm.ConfusionMatrix(**configuration)
    for sample in samples:
        state.update(*sample)
    return state


def test_revert_undoes_update() -> None:
    """Classes that are left without samples are gone."""
    state = counted(("a", "b"), ("c", "b", 2.5))
    state.revert("c", "b", 2.5)

    assert state == counted(("a", "b"))
    assert state.labels == ("a", "b")


@pytest.mark.parametrize(
    "sample",
    [
        ("a", "b", 4),
        ("a", "b", 3.5),
        ("b", "a"),
        ("z", "a"),
        ("a", "z"),
        ("a", "b", 2.0**-64),
        ("a", "a", 1),
        ("b", "b", 0.75),
        ("a", "c", 2**62),
    ],
)
@pytest.mark.parametrize("others", [0, 1500], ids=["square", "sparse"])
def test_what_was_not_counted_cannot_be_reverted(sample: tuple[Any, ...], others: int) -> None:
    """A revert of more than a cell holds raises and leaves the bytes as they were."""
    state = counted(("a", "b"), ("a", "b"), ("a", "b"), ("b", "b", 0.5), ("a", "c"), *((i, i) for i in range(others)))
    if sample == ("a", "b", 2.0**-64):
        state.revert("a", "b", 3)
    before = state.to_bytes()

    with pytest.raises(sm.WeightError, match=f"counted, but got y_true='{sample[0]}', y_pred='{sample[1]}', w="):
        state.revert(*sample)
    assert state.to_bytes() == before


@pytest.mark.parametrize("sample", [("a", "a"), ("a", None), ("a", "a", 0)])
def test_an_empty_state_has_nothing_to_revert(sample: tuple[Any, ...]) -> None:
    """Not a sample, not an abstention, not one without weight."""
    state = sm.ConfusionMatrix()

    with pytest.raises(sm.WeightError, match="a sample that was counted"):
        state.revert(*sample)
    assert state == sm.ConfusionMatrix()


@pytest.mark.parametrize("sample", [("a", None), (float("nan"), "a"), ("a", "a", -1), ("a", {"a": "x"}), ("z", "a")])
def test_revert_checks_its_arguments(sample: tuple[Any, ...]) -> None:
    """What update refuses, revert refuses, and counts nothing."""
    state = counted(("a", "a"), labels=["a"])
    before = state.to_bytes()

    with pytest.raises((sm.LabelError, sm.ScoreError, sm.WeightError)):
        state.revert(*sample)
    assert state.to_bytes() == before


def test_revert_resolves_what_update_resolved() -> None:
    """Scores, abstentions, equal numbers and labels outside a fixed set are taken back under their label."""
    state = counted((1, {1: 0.9, 2: 0.1}), (2, {}), (3, 9), (2, True, 0), labels=[1, 2], other=0)
    for sample in [(1.0, {True: 3, 2: 2}), (1, None), (7, 8), (2, 1, 0)]:
        state.revert(*sample)

    assert state == sm.ConfusionMatrix(labels=[1, 2], other=0)


def test_a_fraction_can_be_taken_from_a_whole() -> None:
    """What is left of a whole number is exact, also if no weight had a fraction before."""
    state = counted(("a", "a", 1), ("a", "a", 2), ("b", "b", 1))
    state.revert("a", "a", 0.25)

    assert state.diagonal.tolist() == [2.75, 1.0]
    assert state.total == 3.75


def test_readings_do_not_remember_what_was_taken_back() -> None:
    """Counts that are whole again are read as whole numbers."""
    state = counted(("a", "b", 3), ("a", "b", 0.5))
    state.revert("a", "b", 0.5)
    fresh = counted(("a", "b", 3))

    assert state.true_totals.dtype == fresh.true_totals.dtype
    assert state.matrix.dtype == fresh.matrix.dtype
    assert state.snapshot().to_json().replace('"n": 1', "") == fresh.snapshot().to_json().replace('"n": 1', "")


def test_labels_that_left_a_window_cost_nothing() -> None:
    """A hundred thousand distinct labels through a window of ten leave ten classes and no memory behind."""
    state, window = sm.ConfusionMatrix(), deque()  # type: ignore[var-annotated]
    sizes, most = [], 0
    tracemalloc.start()
    for i in range(100_000):
        label = f"user {i}"
        state.update(label, label)
        window.append(label)
        if len(window) > 10:
            old = window.popleft()
            state.revert(old, old)
        if i % 20_000 == 19_999:
            sizes.append(tracemalloc.get_traced_memory()[0])
            most = max(most, state.k)
    tracemalloc.stop()

    assert most == 10
    assert state.labels == tuple(sorted(window))
    assert max(sizes) - sizes[0] < 20_000
    assert len(state.to_bytes()) < 300


def test_an_index_given_back_is_a_clean_one() -> None:
    """A class that takes the place of one that left starts from zero, in every reading."""
    state = sm.ConfusionMatrix()
    for start in range(0, 3000, 200):
        for i in range(start, start + 200):
            state.update(i, float(i + 1), 0.5)
        for i in range(start, start + 200):
            state.revert(i, float(i + 1), 0.5)
    state.update("a", "b")

    assert state.to_bytes()[9:] != b""
    assert (state.labels, state.matrix.tolist()) == (("a", "b"), [[0, 1], [0, 0]])
    assert state == counted(("a", "b"))


def test_subtract_takes_a_part_out() -> None:
    """A state without one of its parts is the merge of the others."""
    parts = [counted(("a", "b"), ("a", None), (1, True)), counted(("c", "b", 0.5), (1.0, 1)), counted(("a", "b", 2))]
    whole = sm.merge(parts)

    assert whole.copy().subtract(parts[1]) == sm.merge([parts[0], parts[2]])
    assert whole.subtract(whole) == sm.ConfusionMatrix()


@pytest.mark.parametrize(
    "other",
    [
        [("a", "b", 3)],
        [("b", "a")],
        [("z", "z")],
        [("a", "b"), ("a", "b"), ("a", "b")],
        [("a", None), ("a", None)],
        [("a", "a", 0)] * 2000,
        [("a", "b", 2), ("a", "c", 1.5)],
        [("a", "b", 0.1), ("a", "c", 1 + 2.0**-40)],
    ],
)
@pytest.mark.parametrize("others", [0, 1500], ids=["square", "sparse"])
def test_only_a_part_can_be_subtracted(other: list[Any], others: int) -> None:
    """A state that holds more than this one, in any cell or count, is refused, and nothing changes."""
    state = counted(("a", "b", 2), ("a", "c"), ("a", None), *((i, i) for i in range(others)))
    before = state.to_bytes()

    with pytest.raises(sm.WeightError, match="to subtract a state whose samples are all counted here"):
        state.subtract(counted(*other))
    assert state.to_bytes() == before


def test_subtract_needs_the_same_configuration() -> None:
    """Different labels, or another kind, raise a MergeError."""
    with pytest.raises(sm.MergeError, match="`labels`"):
        sm.ConfusionMatrix().subtract(sm.ConfusionMatrix(labels=["a"]))
    with pytest.raises(sm.MergeError, match="subtract a ConfusionMatrix, but got MCC"):
        sm.ConfusionMatrix().subtract(sm.MCC())
