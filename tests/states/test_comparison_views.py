"""Comparisons that count the same merge in any order of labels, and take other names, labels, or less."""

from __future__ import annotations

from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.errors import OptionError

HARD = [("a", "a", "b"), ("b", "b", "b"), ("b", None, "a"), ("a", "b", "a")]
SOFT = [
    ("a", {"a": 0.9, "b": 0.1}, {"a": 0.2, "b": 0.8}),
    ("b", {"a": 0.5, "b": 0.5}, {"b": 1.0}),
    ("a", {}, {"a": 1.0}),
]


def fed(state: sm.Comparison, units: bool = False) -> sm.Comparison:
    """Return the comparison after some samples."""
    for at, sample in enumerate(SOFT if state.scores else HARD):
        state.update(*sample, **({"unit": at % 2} if units else {}))
    return state


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"labels": ["a", "b"]}, {"labels": ["b", "a"]}),
        ({"labels": ["a", "b"]}, {"labels": ["c", "b", "a"]}),
        ({"labels": ["c", "a", "b"]}, {"labels": ["a", "b"]}),
        ({"labels": ["a", "b"], "scores": True}, {"labels": ["b", "c", "a"], "scores": True}),
        ({}, {"labels": ["b", "a"]}),
        ({"labels": ["b", "a"]}, {}),
        ({"a": "old", "b": "new"}, {"a": "control", "b": "treatment"}),
    ],
)
def test_a_comparison_with_other_options(before: dict[str, Any], after: dict[str, Any], units: bool) -> None:
    """It is what one with these options would have counted, and merges with one."""
    state, direct = fed(sm.Comparison(**before), units), fed(sm.Comparison(**after), units)
    unchanged = state.to_bytes()
    again = state.reconfigured(**{"labels": None} | after)

    assert again.to_bytes() == direct.to_bytes()
    assert (again + direct) == fed(direct.copy(), units)
    assert state.to_bytes() == unchanged


def test_the_order_of_fixed_labels_does_not_matter() -> None:
    """The left one says in which order they are shown, also of the scores that only the other one has."""
    for scores in (False, True):
        mine, theirs = (sm.Comparison(labels=labels, scores=scores) for labels in (["a", "b"], ["b", "a"]))
        total = mine + fed(theirs)
        assert total == fed(sm.Comparison(labels=["a", "b"], scores=scores))
        assert sm.from_bytes(total.to_bytes()).labels == ("a", "b")
        assert theirs + fed(mine) == fed(fed(sm.Comparison(labels=["b", "a"], scores=scores)))


def test_scores_are_dropped_on_request() -> None:
    """What is left is the comparison of labels; whatever else was counted stays as it was."""
    scored = fed(sm.Comparison(scores=True, pos_label="a"))
    labels = scored.reconfigured(scores=False)
    assert labels.snapshot().difference("accuracy") == scored.snapshot().difference("accuracy")
    assert labels.to_bytes() == sm.Comparison().merge(labels).to_bytes()
    with pytest.raises(
        sm.MergeError, match=r"`scores` .* True in one and False in the other; reconfigured\(scores=\.\.\.\)"
    ):
        scored.merge(sm.Comparison())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": True}, "`scores` .* True in place of False"),
        ({"folds": 8}, "`folds` .* 8 in place of 32"),
        ({"labels": ["a"]}, "`labels` .* 'b' was counted"),
    ],
)
def test_what_does_not_follow_is_refused(options: dict[str, Any], message: str) -> None:
    """Unless nothing was counted."""
    with pytest.raises(OptionError, match=message):
        fed(sm.Comparison()).reconfigured(**options)
    assert sm.Comparison().reconfigured(**options) == sm.Comparison(**options)
