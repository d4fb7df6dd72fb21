"""Columns that do not fit the state: the error names argument, position and value, and nothing is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm

WIDE = np.arange(65)  # more classes than pairs are kept of

REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], type[Exception], str]] = {
    "too many classes in pairs": (
        sm.HandTillAUC,
        {"y_true": WIDE, "scores": np.zeros((65, 2)), "classes": [0, 1]},
        sm.ScoreError,
        "at most 64 classes for a metric that compares pairs of classes, but got 64 beyond them",
    ),
    "code beyond the categories": (
        sm.ConfusionMatrix,
        {"y_true": sm.Categorical(np.array([0, 7], np.uint8), ["a", "b"]), "y_pred": ["a", "b"]},
        sm.LabelError,
        "the codes of `y_true` from -1 to 1, but got 7 at position 1",
    ),
    "classes that the set does not have": (
        lambda: sm.MetricSet(scores=True, labels=["a", "b"]),
        {"y_true": ["a"], "scores": np.array([[0.5, 0.5]]), "classes": ["a", "c"]},
        sm.LabelError,
        r"the columns of `scores` to be of \['a', 'b'\], but got \['a', 'c'\]",
    ),
    "prediction for a detector of losses": (
        lambda: sm.ChangeDetector(0.2, arl=100),
        {"x": [0, 1], "y_pred": [0, 1]},
        ValueError,
        "no `y_pred` for a detector of losses",
    ),
    "fewer predictions than truths": (
        lambda: sm.ChangeDetector(0.2, arl=100, of=sm.outcome("accuracy")),
        {"x": ["a", "b"], "y_pred": ["a"]},
        ValueError,
        "as many predictions as truths, 2, but got 1",
    ),
    "loss out of range": (
        lambda: sm.ChangeDetector(0.2, arl=100),
        {"x": [0, 1, 1.5]},
        ValueError,
        "1.5 at position 2",
    ),
    "fewer scores of a model": (
        lambda: sm.Comparison(scores=True),
        {"y_true": [True, False], "pred_a": [0.5, 0.5], "pred_b": [0.5]},
        sm.ScoreError,
        "`pred_b` to have as many rows as `y_true`, 2, but got 1",
    ),
    "fewer units": (
        sm.MetricSet,
        {"y_true": ["a", "b"], "y_pred": ["a", "b"], "unit": ["u"]},
        sm.LabelError,
        "`unit` to have as many rows as `y_true`, 2, but got 1",
    ),
    "fewer units of two models": (
        sm.Comparison,
        {"y_true": ["a", "b"], "pred_a": ["a", "b"], "pred_b": ["a", "b"], "unit": ["u"]},
        sm.LabelError,
        "`unit` to have as many rows as `y_true`, 2, but got 1",
    ),
    "truth of another type": (
        lambda: sm.ProbabilityLosses("a"),
        {"y_true": ["a", "b", 3], "scores": np.array([0.5, 0.5, 0.5])},
        sm.LabelError,
        "`y_true` at position 2 to be of the type of pos_label='a'",
    ),
    "label outside a fixed set": (
        lambda: sm.Comparison(labels=["a", "b"]),
        {"y_true": ["a", "b"], "pred_a": ["a", "z"], "pred_b": ["a", "b"]},
        sm.LabelError,
        "`pred_a` at position 1 .*'z'",
    ),
    "an int of too many digits to show": (
        sm.ConfusionMatrix,
        {"y_true": [[10**5000]], "y_pred": ["a"]},
        sm.LabelError,
        "`y_true` at position 0",
    ),
}


@pytest.mark.parametrize(("make", "columns", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_nothing_is_counted(
    make: Callable[[], Any], columns: dict[str, Any], error: type[Exception], message: str
) -> None:
    """The batch is refused as a whole."""
    state = make()
    with pytest.raises(error, match=message):
        state.update_many(**columns)

    assert state.to_bytes() == make().to_bytes()
