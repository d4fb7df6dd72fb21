"""Errors of sums of losses: each names argument, position and value, and nothing is counted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_metrics.errors import DecodeError, LabelError, MergeError, ScoreError, WeightError
from stream_metrics.states.losses import ProbabilityLosses


def fed(*samples: tuple[Any, ...]) -> ProbabilityLosses:
    """Return a state that has counted the samples one by one."""
    state = ProbabilityLosses()
    for sample in samples:
        state.update(*sample)
    return state


@pytest.mark.parametrize(
    ("y_true", "scores", "error", "message"),
    [
        ("a", {"a": 1.1}, ScoreError, r"`scores` to be probabilities from 0 to 1, but got 1.1 for 'a'"),
        ("a", {"a": -0.1}, ScoreError, r"got -0.1 for 'a'"),
        ("a", {"a": math.nan}, ScoreError, r"got nan for 'a'"),
        ("a", {"b": math.inf}, ScoreError, r"got inf for 'b'"),
        ("a", {"a": "0.5"}, ScoreError, r"got '0.5' for 'a'"),
        ("a", {"a": None}, ScoreError, r"got None for 'a'"),
        ("a", {math.nan: 0.5}, LabelError, r"`scores` to be a str"),
        ("a", {None: 0.5}, LabelError, r"`scores` to be a str"),
        (None, {"a": 0.5}, LabelError, r"`y_true` to be a str"),
        (math.nan, 0.5, LabelError, r"`y_true` to be a str"),
        (True, math.nan, ScoreError, r"got nan for True"),
        (True, 1.5, ScoreError, r"got 1.5 for True"),
        (True, "0.5", ScoreError, r"got '0.5' for True"),
        ("spam", 0.5, LabelError, r"to be 0 or 1, False or True, but got 'spam'; pass pos_label="),
        ("a", [0.5, 0.5], ScoreError, r"`classes` to say which class"),
    ],
)
def test_refused(y_true: Any, scores: Any, error: type[Exception], message: str) -> None:
    """What is no probability or no label is named, and nothing is counted, one by one, in a revert and in a batch."""
    state = fed((True, 0.25))
    before = state.to_bytes()
    with pytest.raises(error, match=message):
        state.update(y_true, scores)
    with pytest.raises(error, match=message):
        state.revert(y_true, scores)
    with pytest.raises(error, match=r"at position 1|classes"):
        state.update_many([True, y_true], [0.5 if isinstance(scores, float) else {"a": 0.5}, scores])

    assert state.to_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0, 1], np.array([[0.5, 0.5], [0.5, 7.0]])), ScoreError, "position 1 .* got 7.0 for 1"),
        (([0, 1], np.array([[math.nan, 0.5], [0.5, 0.5]])), ScoreError, "position 0 .* got nan for 0"),
        (([0, 1], np.array([[0.5, 0.5]])), ScoreError, "as many rows as `y_true`, 2, but got 1"),
        (([0], np.array([[0.2, 0.3, 0.5]])), ScoreError, "2 columns, one a class, but got 3"),
        (([0], np.zeros((1, 1, 1))), ScoreError, "one or two dimensions"),
        (([0], np.array(["x"])), ScoreError, "but got the type"),
        (([0], 0.5), ScoreError, "a column or a table"),
        (([0], "0"), ScoreError, "a column or a table"),
        (([0, 1], np.array([0.5, 1.5])), ScoreError, "position 1 .* got 1.5 for True"),
        (([0, "x"], np.array([0.5, 0.5])), LabelError, "`y_true` at position 1 to be 0 or 1, False or True"),
        (([0, None], np.array([0.5, 0.5])), LabelError, "`y_true` at position 1"),
        (([0, 1], np.array([0.5, 0.5]), [1, -1]), WeightError, "`w` at position 1"),
        (([0, 1], np.array([0.5, 0.5]), [1]), WeightError, "2 weights"),
        (([0, 1], np.array([0.5, 0.5]), [2**62, 2**62]), WeightError, "stay below"),
        (([0, 1], np.full((2, 2), 0.5), [2**62, 2**62]), WeightError, "position 1"),
        (([0, 1], [{0: 0.5}, {1: 0.5}], [2**62, 2**62]), WeightError, "position 1"),
    ],
)
def test_refused_batch(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    """One bad row rejects the batch, which is left uncounted."""
    state = ProbabilityLosses(classes=[0, 1])
    with pytest.raises(error, match=message):
        state.update_many(*arguments)

    assert state == ProbabilityLosses(classes=[0, 1])


def test_classes_of_a_table_are_distinct() -> None:
    """A class has one column."""
    with pytest.raises(LabelError, match="`classes` to be distinct"):
        ProbabilityLosses().update_many([0], np.array([[0.5, 0.5]]), classes=[0, 0])


def test_revert_of_what_was_not_counted() -> None:
    """A sample that the sums cannot hold is refused, and nothing changes."""
    state = fed(("a", {"a": 0.5, "b": 0.5}))
    before = state.to_bytes()
    for sample in (
        ("b", {"a": 0.5, "b": 0.5}),
        ("a", {"a": 0.9, "b": 0.1}),
        ("a", None),
        ("a", {"a": 0.5, "b": 0.5}, 2),
    ):
        with pytest.raises(WeightError, match="a sample that was counted"):
            state.revert(*sample)

    assert state.to_bytes() == before


def test_subtract_refuses_what_is_not_there() -> None:
    """A state that holds other samples cannot be taken out."""
    with pytest.raises(WeightError, match="all counted here"):
        fed((True, 0.5)).subtract(fed((True, 0.5), (False, 0.5)))


def test_merge_names_the_configurations() -> None:
    """States with another pos_label do not merge."""
    with pytest.raises(MergeError, match=r"`pos_label` .* True in one and 'a' in the other"):
        ProbabilityLosses().merge(ProbabilityLosses("a"))
    with pytest.raises(MergeError, match="got a int"):
        ProbabilityLosses().merge(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", range(2, 20))
@pytest.mark.parametrize("value", [-1, "1", 1 << 200])
def test_impossible_bytes(place: int, value: Any) -> None:
    """Numbers that cannot have been counted are refused on the way in."""
    content = fed((True, 0.3), ("a", {"a": 0.1, "b": 0.5, "c": 0.4}))._content()
    content[place] = value
    with pytest.raises(DecodeError):
        ProbabilityLosses.from_content(tuple(content))
