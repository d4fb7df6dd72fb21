"""Columns that do not fit the state: the error names argument, position and value, and nothing is counted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.input_states import LABELS, SCORED, SETS, beside
from support.refusals import all_refused, refused

import stream_metrics as sm

Call = tuple[Callable[[], Any], type[Exception], str]
AB = ["a", "b"]

# A state, the columns, the type of the error, and its text, or its argument, position and value.
REFUSED: list[tuple[Callable[[], Any], dict[str, Any], type[Exception], Any]] = [
    (sm.ConfusionMatrix, {"y_true": sm.Categorical(np.array([0, 7], np.uint8), AB), "y_pred": AB}, sm.LabelError,
     ("y_true", 1, 7)),
    (sm.ConfusionMatrix, {"y_true": sm.Categorical([0, 7], AB), "y_pred": AB, "w": [1, 2]}, sm.LabelError,
     ("y_true", 1, 7)),
    (sm.MetricSet, {"y_true": sm.Categorical([0, -1], AB), "y_pred": AB, "w": [1, 2]}, sm.LabelError,
     "`y_true` at position 1 to be a label"),
    (sm.MetricSet, {"y_true": AB, "y_pred": sm.Categorical([-1, -2], AB), "w": [1, 2]}, sm.LabelError,
     ("y_pred", 1, -2)),
    (sm.MetricSet, {"y_true": AB, "y_pred": AB, "unit": sm.Categorical([0, -1], AB)}, sm.LabelError,
     "`unit` at position 1"),
    (lambda: sm.MetricSet(scores=True, labels=AB),
     {"y_true": ["a"], "scores": np.ones((1, 2)) / 2, "classes": ["a", "c"]}, sm.LabelError,
     "the columns of `scores` to be of ['a', 'b'], but got ['a', 'c']"),
    (lambda: sm.ChangeDetector(0.2, arl=100), {"x": [0, 1], "y_pred": [0, 1]}, ValueError,
     "no `y_pred` for a detector of losses"),
    (lambda: sm.ChangeDetector(0.2, arl=100, of=sm.outcome("accuracy")), {"x": AB, "y_pred": ["a"]}, ValueError,
     "as many rows as `y_true`, 2, but got 1"),
    (lambda: sm.ChangeDetector(0.2, arl=100), {"x": [0, 1, 1.5]}, ValueError, "1.5 at position 2"),
    (lambda: sm.Comparison(scores=True), {"y_true": [True, False], "pred_a": [0.5, 0.5], "pred_b": [0.5]},
     sm.ScoreError, ("pred_b", None, 1)),
    (sm.MetricSet, {"y_true": AB, "y_pred": AB, "unit": ["u"]}, sm.LabelError,
     "`unit` to have as many rows as `y_true`, 2, but got 1"),
    (sm.Comparison, {"y_true": AB, "pred_a": AB, "pred_b": AB, "unit": ["u"]}, sm.LabelError, ("unit", None, 1)),
    (lambda: sm.ProbabilityLosses("a"), {"y_true": ["a", "b", 3], "scores": np.array([0.5] * 3)}, sm.LabelError,
     ("y_true", 2, 3)),
    (lambda: sm.Comparison(labels=AB), {"y_true": AB, "pred_a": ["a", "z"], "pred_b": AB}, sm.LabelError,
     ("pred_a", 1, "z")),
    (lambda: sm.MetricSet(scores=True), {"y_true": [1, 0], "y_pred": [1.5, 1.0], "scores": [None, 0.2]}, sm.ScoreError,
     ("scores", 0, 1.5)),
    (lambda: sm.MetricSet(scores=True, labels=AB),
     {"y_true": AB, "scores": [[0.5, 0.5], [0.5, np.nan]], "classes": ["a", "z"]}, sm.LabelError, "['a', 'z']"),
    (lambda: sm.MetricSet(scores=True, labels=AB),
     {"y_true": AB, "scores": [[np.nan, 0.5], [0.5, 0.5]], "classes": ["a", "z"]}, sm.ScoreError, "at position 0"),
    (sm.ROCAUC, {"y_true": [0], "y_pred": [{10: 0.0, 9: 0.0}]}, sm.LabelError, ("scores", None, 10)),
    (lambda: sm.MetricSet(scores=True), {"y_true": ["c", "a"], "y_pred": ["a", 0.5]}, sm.LabelError,
     ("y_true", 1, "a")),
    (sm.ConfusionMatrix, {"y_true": AB, "y_pred": pd.DataFrame({"a": AB})}, sm.LabelError, ("y_pred", None, None)),
    *((lambda kind=kind: sm.MetricSet(scores=kind), {"y_true": ["spam", "ham"], "y_pred": [0.9, 0.1]}, sm.LabelError,
       ("y_true", 0, "spam")) for kind in (True, "any")),
    (sm.ConfusionMatrix, {"y_true": [[10**5000]], "y_pred": ["a"]}, sm.LabelError, "`y_true` at position 0"),
]  # fmt: skip


@pytest.mark.quick
def test_nothing_is_counted() -> None:
    """A batch is refused as a whole."""
    for make, columns, kind, about in REFUSED:
        state = make()
        error: Any = refused(
            lambda: state.update_many(**columns),  # noqa: B023
            kind,
            about if isinstance(about, str) else "",
        )
        if not isinstance(about, str):
            assert (error.argument, error.position, error.got) == about
        assert state.to_bytes() == make().to_bytes()


@pytest.mark.quick
def test_sets_and_mappings_are_no_columns() -> None:
    """Which of their items belongs to which row is not said, in every argument that is a column."""
    good: list[tuple[dict[str, Callable[[], Any]], dict[str, Any]]] = [
        (LABELS, {"y_true": AB, "y_pred": AB, "w": [1, 2]}),
        (SCORED, {"y_true": [True, False], "y_pred": [0.25, 0.75], "w": [1, 2]}),
        (SETS, {"y_true": [True, False], "scores": [0.25, 0.75], "w": [1, 2]}),
        ({"units": sm.MetricSet}, {"y_true": AB, "y_pred": AB, "unit": [1, 2]}),
        ({"models": sm.Comparison}, {"y_true": AB, "pred_a": AB, "pred_b": AB, "unit": [1, 2]}),
        ({"models": lambda: sm.Comparison(scores=True)}, {"y_true": [1, 0], "pred_a": [0.5, 1], "pred_b": [0.5, 1]}),
        ({"groups": lambda: sm.ByGroup(sm.MetricSet())}, {"y_true": AB, "y_pred": AB, "group": AB}),
        ({"times": lambda: sm.TimeWindow(sm.MetricSet(), 60)}, {"y_true": AB, "y_pred": AB, "t": [1, 2]}),
    ]
    failures = []
    numbers = {0.25: 0.5, 0.75: 0.5}
    for bad in ({"a", "b"}, frozenset("ab"), {1, 2}, {"a": 1, "b": 2}, numbers, numbers.keys(), numbers.items()):
        for makes, columns in good:
            for (name, make), argument in product(makes.items(), columns):
                state = make()
                before = state.to_bytes()
                try:
                    state.update_many(**beside(state, range(2)) | columns | {argument: bad})
                    failures.append((name, argument, bad))
                except sm.StreamMetricsError as error:
                    if "to be a column" not in str(error) or state.to_bytes() != before:
                        failures.append((name, argument, bad, error))
        for arguments in ((bad, AB), (AB, bad)):
            refused(lambda: sm.evaluate(*arguments), sm.LabelError, "to be a column")  # noqa: B023

    assert not failures


@pytest.mark.quick
def test_rows_and_classes_without_an_order() -> None:
    """A set cannot be a row of scores, the names of its places, the labels of a state or the keys of a set."""
    calls: list[Call] = [
        (lambda: sm.ConfusionMatrix({"a", "b"}), sm.LabelError, "`labels` to be a sequence"),  # type: ignore[arg-type]
        (lambda: sm.MetricSet({"accuracy", "macro_f1"}), ValueError, "`metrics` to be a sequence"),  # type: ignore[arg-type]
    ]
    states = [(make(), make) for make in (lambda: sm.MetricSet(scores=True), sm.RankSketch)]
    row: Any = [0.25, 0.75]
    for state, _ in states:
        one, many = state.update, state.update_many
        calls += [
            (lambda one=one: one("a", {0.25, 0.75}, classes=["a", "b"]), sm.ScoreError, ""),
            (lambda one=one: one("a", row, classes={"a", "b"}), sm.LabelError, "`classes` to be a sequence"),
            (lambda many=many: many(["a"], [row], classes={"a", "b"}), sm.LabelError, "`classes` to be a sequence"),
        ]
    all_refused(calls)

    assert all(state == make() for state, make in states)
