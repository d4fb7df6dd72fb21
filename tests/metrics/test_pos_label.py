"""Binary metrics take 0/1 and False/True unless `pos_label` names a class: every class, container and form of input."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import every_case
from support.metric_classes import CLASSES
from support.refusals import all_refused, refused

import stream_metrics as sm

ONE_CLASS = [cls for cls in CLASSES.values() if sm.metrics()[cls.key].kind == "per_class"]
OF_LABELS = [cls for cls in ONE_CLASS if cls.requires_labels]
OF_SCORES = [cls for cls in ONE_CLASS if not cls.requires_labels]
LOSSES = [cls for cls in dict.fromkeys(CLASSES.values()) if isinstance(cls().state, sm.ProbabilityLosses)]
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "alone": lambda inner: inner, "rolling": lambda inner: sm.Rolling(inner, 3),
    "time": lambda inner: sm.TimeWindow(inner, 60, clock=lambda: 0.0), "fading": lambda inner: sm.Fading(inner, 10),
    "groups": sm.ByGroup, "rolling groups": lambda inner: sm.Rolling(sm.ByGroup(inner), 3),
}  # fmt: skip
REFUSED = [("spam", "ham"), (1, 2), (b"1", b"0"), ((1,), (0,)), (1.0, 2.0), (True, -1), (0, 10**20)]
TAKEN = [(1, 0), (True, False), (1.0, 0.0), (1, False)]


def columns(form: str, *labels: list[Any]) -> list[Any]:
    """Return columns in a form; a column of tuples, or of mixed types, is no plain array."""
    kinds = {type(label) for column in labels for label in column}
    if form == "array" and len(kinds) == 1 and tuple not in kinds:
        return [np.array(column) for column in labels]
    return [np.array([*column, None], object)[:-1] if form == "objects" else column for column in labels]


def refuses(argument: str, position: int | None, call: Any, *arguments: Any, **keywords: Any) -> None:
    """Assert that a method raises with the argument and row, and changes nothing."""
    before = call.__self__.to_bytes()
    error: Any = refused(partial(call, *arguments, **keywords), sm.LabelError, "pass pos_label=")
    assert (error.argument, error.position) == (argument, position)
    assert call.__self__.to_bytes() == before


def test_metrics_of_one_class_take_binary_labels_only_by_default() -> None:
    """Any other label raises, in truth, prediction, mapping and table, one by one and in batches."""
    with every_case() as case:
        for cls in ONE_CLASS:
            of_labels = cls in OF_LABELS
            for wrap, contained in CONTAINERS.items():
                more = {"group": "g"} if "group" in wrap else {}
                many = {"group": ["g", "g"]} if more else {}
                for positive, negative in REFUSED if wrap == "alone" else REFUSED[:2]:
                    metric, bad = contained(cls()), negative if positive in (0, 1) else positive
                    with case((cls, wrap, bad)):
                        (refuses_labels if of_labels else refuses_scores)(metric, bad, more, many)
                with case((cls, wrap)):
                    for at in range(8):
                        positive, negative = TAKEN[at % 4]
                        metric.update(positive, negative if of_labels else 0.5, **more)
                        second = [positive] * 2 if of_labels else [0.5, 0.25]
                        metric.update_many(*columns("array", [positive, negative], second), **many)
                    assert metric.n == (3 if wrap.startswith("rolling") else 24)


def refuses_labels(metric: Any, bad: Any, more: dict[str, Any], many: dict[str, Any]) -> None:
    """Assert that a metric of labels does not take a label."""
    refuses("y_true", None, metric.update, bad, 1, **more)
    refuses("y_pred", None, metric.update, 0, bad, **more)
    for form in ("list", "objects", "array"):
        truth, other = columns(form, [1, bad] if form == "list" else [bad, bad], [0, 1])
        position = 1 if form == "list" else 0
        refuses("y_true", position, metric.update_many, truth, other, **many)
        refuses("y_pred", position, metric.update_many, other, truth, **many)


def refuses_scores(metric: Any, bad: Any, more: dict[str, Any], many: dict[str, Any]) -> None:
    """Assert that a metric of scores does not take a label, as a truth or a class with a score."""
    table = np.array([[0.5, 0.5], [0.25, 0.75]])
    refuses("y_true", None, metric.update, bad, 0.5, **more)
    refuses("scores", None, metric.update, 1, {1: 0.2, bad: 0.5}, **more)
    refuses("y_true", None, metric.update, bad, {0: 0.2, 1: 0.5}, **more)
    refuses("y_true", 1, metric.update_many, [1, bad], [0.5, 0.25], **many)
    refuses("y_true", 1, metric.update_many, [1, bad], np.array([0.5, 0.25]), **many)
    refuses("scores", None, metric.update_many, [1, 0], [{1: 0.5}, {bad: 0.5}], **many)
    refuses("scores", None, metric.update_many, [1, 0], table, classes=[1, bad], **many)


@pytest.mark.quick
def test_a_class_that_was_chosen_stands_against_the_rest() -> None:
    """A `pos_label` that is no bool takes any other label, and equals the metric of 1 against 0."""
    truth, predicted = [0, 1, 2, 2, 1, 0, 2, 2], [0, 1, 2, 1, 2, 2, 2, 0]
    with every_case() as case:
        for cls in OF_LABELS:
            for names in ("abc", (0, 7, 1), (0.0, 3.0, 1.0), (b"x", (1, 2), "c")):
                with case((cls, names)):
                    metric, binary = cls(pos_label=names[2]), cls()
                    metric.update_many([names[i] for i in truth], [names[i] for i in predicted])
                    binary.update_many([i == 2 for i in truth], [i == 2 for i in predicted])
                    assert metric.get() == binary.get()


@pytest.mark.quick
def test_an_impossible_class_raises_when_the_metric_is_made() -> None:
    """A positive class outside the fixed labels could never be seen, and `get` would always be 0."""
    impossible: list[dict[str, Any]] = [
        {"labels": ["b", "c"]}, {"labels": ["b", "c"], "pos_label": "a"}, {"labels": [0, 2]}
    ]  # fmt: skip
    about = "`pos_label` to be one of the fixed labels"
    all_refused((partial(cls, **options), sm.LabelError, about) for cls in OF_LABELS for options in impossible)
    for cls in OF_LABELS:
        assert cls(labels=["b", "c"], other="a", pos_label="a").pos_label == "a"
        assert cls(labels=[0, 1]).pos_label is True


scored_set = partial(sm.MetricSet, scores=True)


@pytest.mark.quick
def test_a_single_score_is_about_binary_labels_by_default() -> None:
    """A number alone is refused beside another truth; mappings and tables, whose classes are named, are not."""
    with every_case() as case:
        for make in (*LOSSES, sm.RankSketch, sm.ProbabilityLosses, scored_set, sm.MacroROCAUC):
            for bad, other in (("spam", "ham"), (2, 1), (0.5, 1), ((1,), (0,))):
                with case((make, bad)):
                    metric = make()
                    refuses("y_true", None, metric.update, bad, 0.5)
                    refuses("y_true", 1, metric.update_many, [1, bad], [0.5, 0.75])
                    refuses("y_true", 0, metric.update_many, [bad, bad], np.array([0.5, 0.75]))
                    if bad != 0.5:
                        metric.update(bad, {bad: 0.5, other: 0.5})
                        refuses("y_true", None, metric.update, bad, 0.5)
                        refuses("y_true", 2, metric.update_many, [1, 1, bad], [{1: 1.0}, None, 0.5])
                    for truth in (1, 0, True, False):
                        metric.update(truth, 0.5)
    for make in (sm.ROCAUC, sm.LogLoss, sm.RankSketch, scored_set):
        metric = make(pos_label="spam")  # stands against the labels of its kind
        metric.update_many(["spam", "ham"], [0.75, 0.25])
        metric.update("spam", 0.25)
        assert metric.n == 3
        refused(partial(metric.update, 1, 0.5), sm.LabelError, "of the type of pos_label='spam'")


@pytest.mark.quick
def test_a_state_read_from_bytes_keeps_the_rule() -> None:
    """Copies, bytes, resets and clones refuse what the metric refuses, also of groups."""
    for metric, score in ((sm.Recall(), 1), (sm.ROCAUC(), 0.5), (sm.ByGroup(sm.Precision()), 1)):
        more = {"group": "g"} if isinstance(metric, sm.ByGroup) else {}
        metric.update(1, score, **more)
        reset = metric.copy()
        reset.reset()
        clones = [metric.clone()] if isinstance(metric, sm.Metric) else []
        for twin in (metric.copy(), sm.from_bytes(metric.to_bytes()), reset, *clones):
            refuses("y_true", None, twin.update, "a", score, **more)
