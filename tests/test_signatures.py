"""`update` and `update_many` mean the same everywhere: the same names, in the same order, however they are passed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.metrics.metric import METRIC_CLASSES

TRUTH, LABELS, WEIGHTS = [1, 0, 1, 1], [1, 1, 0, 1], [1, 2, 1, 0.5]
SCORES = np.array([0.9, 0.2, 0.4, 0.7])
TABLE = np.column_stack([1 - SCORES, SCORES])
MADE: dict[str, Callable[[], Any]] = {
    "ConfusionMatrix": sm.ConfusionMatrix,
    "RankSketch": sm.RankSketch,
    "ProbabilityLosses": sm.ProbabilityLosses,
    "MetricSet": sm.MetricSet,
    "MetricSet of scores": lambda: sm.MetricSet(scores=True),
    **{f"{kind.__name__}": kind for kind in METRIC_CLASSES.values()},
    **{
        f"{name} of {inner.__name__}": lambda make=make, inner=inner: make(inner())
        for name, make in {
            "Rolling": lambda inner: sm.Rolling(inner, 4),
            "TimeWindow": lambda inner: sm.TimeWindow(inner, "1h", clock=lambda: 0),
            "Fading": lambda inner: sm.Fading(inner, 10),
            "ByGroup": sm.ByGroup,
        }.items()
        for inner in (sm.Accuracy, sm.ROCAUC, sm.LogLoss, sm.MetricSet)
    },
}
EXTRA = {"unit", "t", "group"}


def arguments(state: Any) -> dict[str, Any]:
    """Return what a state needs beside samples."""
    return {"group": "g"} if isinstance(state, sm.ByGroup) else {}


def reads(state: Any) -> str:
    """Tell whether a state reads labels, scores or both."""
    inner = getattr(state, "inner", state)
    if isinstance(inner, sm.MetricSet):
        return "both" if inner.scored else "labels"
    counted = getattr(inner, "state", inner)
    return "labels" if isinstance(counted, sm.ConfusionMatrix) else "scores"


@pytest.mark.parametrize("name", MADE)
def test_signatures(name: str) -> None:
    """Positional arguments are truth, prediction and weight, scores and classes are keywords; others are extra."""
    for method in ("update", "update_many", "revert"):
        call = getattr(MADE[name](), method, None)
        if call is None or (name.startswith(("ByGroup", "Fading", "TimeWindow")) and method == "revert"):
            continue
        parameters = inspect.signature(call).parameters.values()
        positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}

        assert [p.name for p in positional] == ["y_true", "y_pred", "w"]
        assert positional[2].default == (None if method == "update_many" else 1)
        assert {"scores", "classes"} <= keywords <= {"scores", "classes"} | EXTRA
        assert len(positional) + len(keywords) == len(parameters)


@pytest.mark.parametrize("name", MADE)
def test_positions_and_names_give_the_same_bytes(name: str) -> None:
    """Scores may be passed as `y_pred` or as `scores`, one by one and in a batch."""
    predicted = LABELS if reads(MADE[name]()) == "labels" else SCORES.tolist()
    by_name = "y_pred" if reads(MADE[name]()) == "labels" else "scores"
    states = [MADE[name]() for _ in range(5)]
    more = arguments(states[0])
    for y, p, w in zip(TRUTH, predicted, WEIGHTS, strict=True):
        states[0].update(y, p, w, **more)
        states[1].update(y_true=y, y_pred=p, w=w, **more)
        states[2].update(y, w=w, **{by_name: p}, **more)
    states[3].update_many(TRUTH, predicted, WEIGHTS, **more)
    states[4].update_many(TRUTH, w=WEIGHTS, **{by_name: predicted}, **more)

    assert len({state.to_bytes() for state in states[:3]}) == 1
    assert states[3].to_bytes() == states[4].to_bytes()
    assert states[3].n == states[0].n


@pytest.mark.parametrize("name", [name for name in MADE if reads(MADE[name]()) != "labels"])
def test_a_table_of_scores_has_classes(name: str) -> None:
    """`classes` names the columns of a table, and the items of a row, wherever the scores are."""
    states = [MADE[name]() for _ in range(4)]
    more = arguments(states[0])
    states[0].update_many(TRUTH, TABLE, classes=[0, 1], **more)
    states[1].update_many(TRUTH, scores=TABLE, classes=[0, 1], **more)
    for y, row in zip(TRUTH, TABLE.tolist(), strict=True):
        states[2].update(y, row, classes=[0, 1], **more)
        states[3].update(y, scores=row, classes=[0, 1], **more)

    assert states[0].to_bytes() == states[1].to_bytes()
    assert states[2].to_bytes() == states[3].to_bytes()
    assert states[0].n == states[2].n > 0


@pytest.mark.parametrize("name", [name for name in MADE if reads(MADE[name]()) == "labels"])
def test_labels_refuse_scores(name: str) -> None:
    """The message names classes that take them, and nothing is counted."""
    state = MADE[name]()
    more = arguments(state)
    for call in (
        lambda: state.update(1, 1, scores=0.5, **more),
        lambda: state.update(1, scores=0.5, **more),
        lambda: state.update_many(TRUTH, LABELS, scores=SCORES, **more),
        lambda: state.update_many(TRUTH, scores=SCORES, **more),
    ):
        with pytest.raises(ValueError, match=r"MetricSet\(scores=True\)"):
            call()
    with pytest.raises((TypeError, sm.LabelError)):
        state.update(1, **more)
    assert state == MADE[name]()


@pytest.mark.parametrize("name", [name for name in MADE if reads(MADE[name]()) == "scores"])
def test_scores_are_passed_once(name: str) -> None:
    """What reads scores only has no use for a label beside them."""
    state = MADE[name]()
    more = arguments(state)
    with pytest.raises(sm.ScoreError, match="one of `y_pred` and `scores`"):
        state.update_many(TRUTH, LABELS, scores=SCORES, **more)
    with pytest.raises(sm.ScoreError, match="one of `y_pred` and `scores`"):
        state.update(1, 1, scores=0.5, **more)
    assert state == MADE[name]()


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("word", ["sample_weight", "sample_weights", "weights"])
def test_a_weight_by_another_name_is_w(name: str, word: str) -> None:
    """The message points to `w` and names the public class."""
    state = MADE[name]()
    with pytest.raises(TypeError, match=rf"^{type(state).__name__}\.update_many\(\) .*'{word}'; did you mean `w`\?"):
        state.update_many(TRUTH, LABELS, **{word: WEIGHTS})
    with pytest.raises(TypeError, match=rf"^{type(state).__name__}\.update_many\(\) .*'nothing'; it has `y_true`"):
        state.update_many(TRUTH, LABELS, nothing=1)
    with pytest.raises(TypeError, match=word):
        state.update(1, 1, **{word: 1})
    assert state == MADE[name]()


SCORED = (sm.ROCAUC(pos_label="a"), sm.HandTillAUC(), sm.LogLoss(), sm.RankSketch(), sm.MetricSet(scores=True))


@pytest.mark.parametrize(
    ("container", "more"),
    [
        (sm.TimeWindow(sm.Accuracy(), "1h"), {"t": 0}),
        (sm.ByGroup(sm.Accuracy()), {"group": 1}),
        (sm.TimeWindow(sm.ByGroup(sm.Accuracy()), "1h"), {"t": 0, "group": 1}),
        (sm.ByGroup(sm.TimeWindow(sm.Accuracy(), "1h")), {"t": 0, "group": 1}),
        (sm.Fading(sm.Accuracy(), 5), {}),
        (sm.Rolling(sm.Accuracy(), 5), {}),
        *((of_scores, {}) for of_scores in SCORED),
        *((sm.Rolling(of_scores, 5), {}) for of_scores in SCORED),
        *((sm.TimeWindow(of_scores, "1h"), {"t": 0}) for of_scores in SCORED),
        *((sm.ByGroup(of_scores), {"group": 1}) for of_scores in SCORED),
        *((sm.Fading(of_scores, 5), {}) for of_scores in SCORED),
    ],
)
@pytest.mark.parametrize("counted", [0, 1])
def test_a_sample_without_a_prediction_is_a_call_with_too_few_arguments(
    container: Any, more: dict[str, Any], counted: int
) -> None:
    """As for a metric, in the first call and where the labels are known."""
    state = container.copy()
    for _ in range(counted):
        state.update("a", {"a": 1.0}, **more)
    before = state.to_bytes()
    with pytest.raises(TypeError, match=r"needs a prediction"):
        state.update("a", **more)
    assert state.to_bytes() == before
    for spelled in ({"y_pred": None}, {"y_pred": {}}, {"scores": None}):
        state.update("a", **spelled, **more)
    assert state.abstained == 3


def test_a_sample_without_a_prediction_is_not_reverted() -> None:
    """It cannot have been counted."""
    for make in (sm.Accuracy, sm.ROCAUC, sm.LogLoss, sm.RankSketch, lambda: sm.MetricSet(scores=True)):
        state = make()
        state.update(1, None)
        with pytest.raises(TypeError, match=r"needs a prediction"):
            state.revert(1)
        assert state.abstained == 1
        state.revert(1, scores=None)
        assert state.abstained == 0
