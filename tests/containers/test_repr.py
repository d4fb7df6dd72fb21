"""One line of a container shows the values that it has counted, in correct English."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm

pytestmark = pytest.mark.quick

CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "Rolling": lambda inner: sm.Rolling(inner, 10),
    "Fading": lambda inner: sm.Fading(inner, 10),
    "TimeWindow": lambda inner: sm.TimeWindow(inner, "1h"),
    "ByGroup": sm.ByGroup,
}
SAMPLES = [0, 1, 1, 0], [0, 1, 0, 0]


def feed(state: Any, y_true: Any, y_pred: Any) -> Any:
    """Count samples one by one, with a group and a time where these are needed."""
    more = {"group": "x"} if "ByGroup" in repr(state) else {}
    more |= {"t": 1e9} if "TimeWindow" in repr(state) else {}
    for truth, predicted in zip(y_true, y_pred, strict=True):
        state.update(truth, predicted, **more)
    return state


def test_the_values_are_those_of_the_samples() -> None:
    """What stands inside is the line of the state that the container reads; one of a kind is singular."""
    for name, make in CONTAINERS.items():
        for inner in (sm.Accuracy, sm.MacroF1, sm.MetricSet, sm.ConfusionMatrix):
            container = feed(make(inner()), *SAMPLES)
            read = container.merged() if hasattr(container, "merged") else feed(inner(), *SAMPLES)
            text = repr(container)
            assert text.startswith(f"{name}({read!r}, ")
            assert " 4 samples" in text
            assert "0 samples" not in text
            if inner is sm.Accuracy:
                assert text.startswith(f"{name}(Accuracy: {read.get():.6g}, ")
                assert read.get() > 0.7
    for state in (*(make(sm.Accuracy()) for make in CONTAINERS.values()), sm.ConfusionMatrix(), sm.MetricSet(),
                  sm.MetricSet(["accuracy"])):  # fmt: skip
        text = repr(feed(state, ["a"], ["a"]))
        assert "1 sample" in text
        assert not re.search(r"\b1 \w+s\b(?<!class)", text)


def test_containers_in_containers_show_values() -> None:
    """Windows of groups, groups of windows, and all workers of an aggregate show what they have counted."""
    inside = [sm.ByGroup(sm.TimeWindow(sm.Accuracy(), "1h")), sm.TimeWindow(sm.ByGroup(sm.Accuracy()), "1h")]
    assert all("Accuracy: 0.75" in repr(feed(state, *SAMPLES)) for state in inside)
    assert repr(feed(sm.ByGroup(sm.Rolling(sm.Accuracy(), 3)), *SAMPLES)) == "ByGroup(Rolling, 1 group, 3 samples)"
    folded = sm.ByGroup(sm.Accuracy(), 1)
    for key in "abc":
        folded.update(1, 1, group=key)
    assert repr(folded) == "ByGroup(Accuracy: 1, 1 group, 3 samples, 2 of them folded)"

    aggregate = sm.Aggregate()
    assert repr(aggregate) == "Aggregate(0 workers, 0 samples)"
    for worker, predicted in (("a", [1, 1]), ("b", [1, 0])):
        aggregate.put(worker, feed(sm.Accuracy(), [1, 1], predicted), 1)
    assert repr(aggregate) == "Aggregate(Accuracy: 0.75, 2 workers, 4 samples)"


def test_a_line_is_short() -> None:
    """Results fit a line, however many classes or points they have."""
    truth = list(range(300)) * 2
    taken, scored = sm.evaluate(truth, truth[::-1]), sm.evaluate([0, 1] * 500, scores=np.arange(1000) / 1000)
    for one in (taken, scored.roc_curve(), scored.pr_curve(), scored.det_curve(), sm.Fading(sm.Accuracy(), 10)):
        assert len(repr(one)) < 80
    assert len(repr(taken.interval("accuracy"))) < 120
    assert repr(scored.roc_curve()) == f"<ROCCurve of {len(scored.roc_curve().fpr)} points>"
