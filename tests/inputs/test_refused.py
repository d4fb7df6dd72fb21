"""Columns that do not fit the state: the error names argument, position and value, and nothing is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused, refused

import stream_metrics as sm

Call = tuple[Callable[[], Any], type[Exception], str]
WIDE = np.arange(65)  # more classes than pairs are kept of

# A state, the columns, the type of the error, and its text, or its argument, position and value.
REFUSED: list[tuple[Callable[[], Any], dict[str, Any], type[Exception], Any]] = [
    (
        sm.HandTillAUC,
        {"y_true": WIDE, "scores": np.zeros((65, 2)), "classes": [0, 1]},
        sm.ScoreError,
        "at most 64 classes for a metric that compares pairs of classes, but got 64 beyond them",
    ),
    (
        sm.ConfusionMatrix,
        {"y_true": sm.Categorical(np.array([0, 7], np.uint8), ["a", "b"]), "y_pred": ["a", "b"]},
        sm.LabelError,
        ("y_true", 1, 7),
    ),
    (
        lambda: sm.MetricSet(scores=True, labels=["a", "b"]),
        {"y_true": ["a"], "scores": np.array([[0.5, 0.5]]), "classes": ["a", "c"]},
        sm.LabelError,
        "the columns of `scores` to be of ['a', 'b'], but got ['a', 'c']",
    ),
    (
        lambda: sm.ChangeDetector(0.2, arl=100),
        {"x": [0, 1], "y_pred": [0, 1]},
        ValueError,
        "no `y_pred` for a detector of losses",
    ),
    (
        lambda: sm.ChangeDetector(0.2, arl=100, of=sm.outcome("accuracy")),
        {"x": ["a", "b"], "y_pred": ["a"]},
        ValueError,
        "as many predictions as truths, 2, but got 1",
    ),
    (lambda: sm.ChangeDetector(0.2, arl=100), {"x": [0, 1, 1.5]}, ValueError, "1.5 at position 2"),
    (
        lambda: sm.Comparison(scores=True),
        {"y_true": [True, False], "pred_a": [0.5, 0.5], "pred_b": [0.5]},
        sm.ScoreError,
        ("pred_b", None, 1),
    ),
    (
        sm.MetricSet,
        {"y_true": ["a", "b"], "y_pred": ["a", "b"], "unit": ["u"]},
        sm.LabelError,
        "`unit` to have as many rows as `y_true`, 2, but got 1",
    ),
    (
        sm.Comparison,
        {"y_true": ["a", "b"], "pred_a": ["a", "b"], "pred_b": ["a", "b"], "unit": ["u"]},
        sm.LabelError,
        ("unit", None, 1),
    ),
    (
        lambda: sm.ProbabilityLosses("a"),
        {"y_true": ["a", "b", 3], "scores": np.array([0.5, 0.5, 0.5])},
        sm.LabelError,
        ("y_true", 2, 3),
    ),
    (
        lambda: sm.Comparison(labels=["a", "b"]),
        {"y_true": ["a", "b"], "pred_a": ["a", "z"], "pred_b": ["a", "b"]},
        sm.LabelError,
        ("pred_a", 1, "z"),
    ),
    (sm.ConfusionMatrix, {"y_true": [[10**5000]], "y_pred": ["a"]}, sm.LabelError, "`y_true` at position 0"),
]


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
    y, p, s, w = ["a", "b"], ["a", "a"], [0.25, 0.75], [1, 2]
    labels = (sm.ConfusionMatrix, sm.MetricSet, sm.MacroF1, lambda: sm.Rolling(sm.MetricSet(), 5))
    with_scores = (lambda: sm.MetricSet(scores=True), lambda: sm.Rolling(sm.MetricSet(scores=True), 5))
    several = (sm.RankSketch, sm.ProbabilityLosses, sm.ROCAUC, sm.LogLoss, lambda: sm.Fading(sm.ROCAUC(), 4))
    calls: list[tuple[Callable[[], Any], dict[str, Any]]] = []
    for bad in ({"a", "b"}, frozenset("ab"), {"a": 1, "b": 2}, {"a": 1, "b": 2}.keys(), {"a": 1, "b": 2}.items()):
        numbers = {0.25, 0.75} if isinstance(bad, set) else {0.25: 0.5, 0.75: 0.5}
        for make in labels:
            for columns in ((bad, p, None), (y, bad, None), (y, p, bad), ({1, 2}, p, None), (y, p, {1, 2})):
                calls.append((make, dict(zip(("y_true", "y_pred", "w"), columns, strict=True))))
        for make in with_scores:
            for columns in ((bad, None, w, s), (y, bad, w, s), (y, None, bad, s), (y, None, w, bad), (y, bad, w, None)):
                calls.append((make, dict(zip(("y_true", "y_pred", "w", "scores"), columns, strict=True))))
        for make in (*with_scores, *several):
            calls.append((make, {"y_true": [True, False], "y_pred": numbers}))
            calls.append((make, {"y_true": [True, False], "y_pred": s, "w": {1: 1, 2: 1}}))
        for scores in (False, True):
            make = lambda scores=scores: sm.Comparison(scores=scores)  # noqa: E731
            calls.append((make, {"y_true": [True, False], "pred_a": bad, "pred_b": s}))
            calls.append((make, {"y_true": [True, False], "pred_a": s, "pred_b": s, "unit": bad}))
        calls.append((sm.MetricSet, {"y_true": y, "y_pred": p, "unit": bad}))
        calls.append((lambda: sm.ByGroup(sm.MetricSet()), {"y_true": y, "y_pred": p, "group": bad}))
        calls.append((lambda: sm.TimeWindow(sm.MetricSet(), 60), {"y_true": y, "y_pred": p, "t": bad}))
        refused(lambda: sm.evaluate(bad, y), sm.LabelError, "`y_true` to be a column")  # noqa: B023
        refused(lambda: sm.evaluate(y, bad), sm.LabelError, "`y_pred` to be a column")  # noqa: B023
    failures = []
    for make, given in calls:
        state = make()
        try:
            state.update_many(**given)
            failures.append((state, given))
        except sm.StreamMetricsError as error:
            if "to be a column" not in str(error) or state != make():
                failures.append((state, given, error))

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
