"""merge, copy, reset: merging shards, and independent copies."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm


def counted(*samples: tuple[Any, ...], **configuration: Any) -> sm.ConfusionMatrix:
    """Return a state that counted the samples one by one."""
    state = sm.ConfusionMatrix(**configuration)
    for sample in samples:
        state.update(*sample)
    return state


def test_merge_adds_counts_and_returns_itself() -> None:
    """The counts of both are in the first, the second stays as it was."""
    first, second = counted(("a", "b"), ("a", None)), counted(("c", "b", 0.5), ("a", "b", 0))
    before = second.to_bytes()

    assert first.merge(second) is first
    assert first == counted(("a", "b"), ("a", None), ("c", "b", 0.5), ("x", "y", 0))
    assert second.to_bytes() == before


@pytest.mark.parametrize("classes", [3, 1000, 2000])
@pytest.mark.parametrize("w", [1, 0.5])
def test_a_state_can_be_merged_with_itself(classes: int, w: float) -> None:
    """Merged with itself, a state has everything twice."""
    labels = np.arange(classes)
    state, twice = sm.ConfusionMatrix(), sm.ConfusionMatrix()
    state.update_many(labels, labels[::-1], np.full(classes, w))
    for _ in range(2):
        twice.update_many(labels, labels[::-1], np.full(classes, w))

    assert state.merge(state) == twice


@pytest.mark.parametrize(("mine", "theirs"), [(5, 1500), (1500, 5), (1020, 1020), (1500, 1500)])
def test_square_and_sparse_tables_merge(mine: int, theirs: int) -> None:
    """How many classes a state has, and so how its cells are kept, does not show in a merge."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(start, start + k, (2, 3000)) for start, k in ((0, mine), (4, theirs))]
    first, second, both = sm.ConfusionMatrix(), sm.ConfusionMatrix(), sm.ConfusionMatrix()
    first.update_many(*columns[0])
    second.update_many(*columns[1])
    both.update_many(*np.hstack(columns))
    reading = both.copy()

    assert first.copy().merge(second).to_bytes() == second.copy().merge(first).to_bytes() == both.to_bytes()
    assert first.merge(second).subtract(second).merge(second) == both
    assert first.true_dot_predicted == reading.true_dot_predicted


@pytest.mark.parametrize(
    ("mine", "theirs", "message"),
    [
        ({}, {"labels": ["a"]}, r"`labels` to be the same in both, but got nothing in one and \('a',\) in"),
        ({"labels": ["a", "b"]}, {"labels": ["b", "a", "c"]}, r"`labels` .* \('a', 'b'\) in one and \('b', 'a', 'c'\)"),
        ({"labels": ["a", 1]}, {"labels": ["a", True]}, r"`labels` .* \('a', 1\) in one and \('a', True\)"),
        ({"labels": ["a"]}, {"labels": ["a"], "other": "z"}, r"`other` .* nothing in one and 'z'"),
        ({"labels": ["a"], "other": 1}, {"labels": ["a"], "other": 1.0}, r"`other` .* 1 in one and 1.0"),
    ],
)
def test_different_configurations_do_not_merge(mine: Any, theirs: Any, message: str) -> None:
    """A MergeError names what differs, with both values, and nothing changes."""
    state = counted(("a", "a"), **mine)
    before = state.to_bytes()

    with pytest.raises(sm.MergeError, match=message):
        state.merge(sm.ConfusionMatrix(**theirs))
    assert state.to_bytes() == before


@pytest.mark.parametrize("other", [None, 5, {}, sm.MetricSet(), sm.Accuracy()], ids=lambda other: type(other).__name__)
def test_only_states_of_the_same_kind_merge(other: Any) -> None:
    """What is no ConfusionMatrix raises a MergeError that says what it is."""
    with pytest.raises(sm.MergeError, match=f"merge a ConfusionMatrix, but got {type(other).__name__}"):
        sm.ConfusionMatrix().merge(other)


def test_merging_shards_makes_a_new_state() -> None:
    """`merge` of an iterable leaves the shards alone and does not mind their order or number."""
    shards = [counted(("a", "b")), counted(("b", "b", 3)), counted(("a", None))]
    before = [shard.to_bytes() for shard in shards]

    assert sm.merge(iter(shards)) == sm.merge(shards[::-1])
    assert sm.merge(shards[:1]) == shards[0]
    assert sm.merge(shards[:1]) is not shards[0]
    assert [shard.to_bytes() for shard in shards] == before


def test_merging_needs_states_that_fit() -> None:
    """No shard, or shards that differ, raise a MergeError; the shards stay as they were."""
    shards = [counted(("a", "b")), sm.ConfusionMatrix(labels=["a", "b"])]

    with pytest.raises(sm.MergeError, match="at least one state"):
        sm.merge([])
    with pytest.raises(sm.MergeError, match="`labels`"):
        sm.merge(shards)
    assert shards[0] == counted(("a", "b"))


@pytest.mark.parametrize("classes", [2, 1500])
@pytest.mark.parametrize("duplicate", [sm.ConfusionMatrix.copy, copy.copy, copy.deepcopy])
def test_copies_are_independent(classes: int, duplicate: Any) -> None:
    """Neither a state nor its copy moves when the other does, in either kind of table."""
    state = counted(*((i, i + 1, 0.5) for i in range(classes)), (1, None))
    twin = duplicate(state)
    before = state.to_bytes()
    twin.update("new", 0)
    twin.revert(0, 1, 0.5)

    assert state.to_bytes() == before
    assert twin.to_bytes() != before
    state.reset()
    assert twin.n == classes


def test_equality_is_that_of_configuration_and_counts() -> None:
    """States are equal if they would write the same bytes; other objects are not equal to them."""
    state = counted(("a", "b"))

    assert state == counted(("a", "b"))
    assert state != counted(("a", "b"), labels=["a", "b"])
    assert state != counted(("a", "b", 2))
    assert state != "a state"
    with pytest.raises(TypeError, match="unhashable"):
        hash(state)


@settings(max_examples=40)
@given(st.integers(1, 24), st.integers(1, 24), st.integers(0, 2**32), st.floats(0, 1))
def test_squares_whose_labels_came_in_any_order_add_up(mine: int, theirs: int, seed: int, empty: float) -> None:
    """Classes in any order, classes that only one state has or that have become empty, and cells without weight."""
    draw = np.random.default_rng(seed)
    expected = np.zeros((28, 28), np.int64)
    states = []
    for classes in (mine, theirs):
        labels = draw.permutation(28)[:classes]
        state = sm.ConfusionMatrix()
        for label in labels.tolist():  # every label has a place, in this order
            state.update(label, label)
        cells = draw.integers(1, 2**40, (classes, classes)) * (draw.random((classes, classes)) >= empty)
        for row, column in np.argwhere(cells).tolist():
            state.update(int(labels[row]), int(labels[column]), int(cells[row, column]))
        for label in labels.tolist():
            state.revert(label, label)
        expected[np.ix_(labels, labels)] += cells
        states.append(state)
    before = states[1].to_bytes()
    merged = states[0].copy().merge(states[1])
    assert np.array_equal(merged.matrix, expected[np.ix_(merged.labels, merged.labels)])
    assert int(merged.matrix.sum()) == int(expected.sum())
    assert merged.to_bytes() == states[1].copy().merge(states[0]).to_bytes()
    assert sm.from_bytes(merged.to_bytes()) == merged
    assert states[1].to_bytes() == before
    for row, column in np.argwhere(expected).tolist():  # as many samples as cells are counted
        merged.revert(row, column, int(expected[row, column]))
    assert not merged.matrix.any()
