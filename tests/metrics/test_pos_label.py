"""Binary metrics take 0/1 and False/True unless `pos_label` names a class: every class, container and form of input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.errors import LabelError
from stream_metrics.metrics import classes
from stream_metrics.metrics.metric import METRIC_CLASSES

assert classes.__all__  # importing it fills METRIC_CLASSES
ONE_CLASS = sorted(key for key, kind in METRIC_CLASSES.items() if kind.row.kind == "per_class")
OF_LABELS = [key for key in ONE_CLASS if METRIC_CLASSES[key].row.state == "counts"]
OF_SCORES = [key for key in ONE_CLASS if METRIC_CLASSES[key].row.state == "ranks"]
LOSSES = sorted(key for key, kind in METRIC_CLASSES.items() if kind.row.state == "losses")
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "alone": lambda inner: inner,
    "rolling": lambda inner: sm.Rolling(inner, 3),
    "time": lambda inner: sm.TimeWindow(inner, 60, clock=lambda: 0.0),
    "fading": lambda inner: sm.Fading(inner, 10),
    "groups": sm.ByGroup,
    "rolling groups": lambda inner: sm.Rolling(sm.ByGroup(inner), 3),
}
REFUSED = [("spam", "ham"), (1, 2), (b"1", b"0"), ((1,), (0,)), (1.0, 2.0), (True, -1), (0, 10**20)]
TAKEN = [(1, 0), (True, False), (1.0, 0.0), (1, False)]
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "objects": lambda labels: np.array([*labels, None], object)[:-1],
    "array": np.array,
}


def columns(form: str, *labels: list[Any]) -> list[Any]:
    """Return columns in a form; a column of tuples, or of mixed types, is no plain array."""
    kinds = {type(label) for column in labels for label in column}
    plain = form == "array" and len(kinds) == 1 and tuple not in kinds
    return [FORMS[form](column) if plain or form != "array" else column for column in labels]


def grouped(metric: Any) -> dict[str, Any]:
    """Return the group that a container of groups needs."""
    inner = getattr(metric, "inner", metric)
    return {"group": "g"} if "ByGroup" in {type(metric).__name__, type(inner).__name__} else {}


def refuses(argument: str, call: Any, *arguments: Any, **keywords: Any) -> LabelError:
    """Check that a method raises and changes nothing."""
    metric = call.__self__
    before = metric.to_bytes()
    with pytest.raises(LabelError, match="pass pos_label=") as caught:
        call(*arguments, **keywords)
    assert caught.value.argument == argument
    assert metric.to_bytes() == before
    return caught.value


@pytest.mark.parametrize("wrap", CONTAINERS)
@pytest.mark.parametrize("key", OF_LABELS)
def test_metric_of_labels_takes_binary_labels_only_by_default(key: str, wrap: str) -> None:
    """Any other label raises at its first update, in truth and in prediction, one by one and in batches."""
    for positive, negative in REFUSED:
        metric = CONTAINERS[wrap](METRIC_CLASSES[key]())
        more = grouped(metric)
        bad = negative if positive in (0, 1) else positive
        refuses("y_true", metric.update, bad, 1, **more)
        refuses("y_pred", metric.update, 0, bad, **more)
        many = {name: [value] * 2 for name, value in more.items()}
        for form in FORMS:
            truth, other = columns(form, [1, bad] if form == "list" else [bad, bad], [0, 1])
            error = refuses("y_true", metric.update_many, truth, other, **many)
            assert error.position == (1 if form == "list" else 0)
            refuses("y_pred", metric.update_many, other, truth, **many)
    for _ in range(5):
        for positive, negative in TAKEN:
            metric.update(positive, negative, **more)
            metric.update_many(*columns("array", [positive, negative], [positive, positive]), **many)
    assert metric.n == (3 if wrap.startswith("rolling") else 60)


@pytest.mark.parametrize("key", OF_LABELS)
def test_class_that_was_chosen_stands_against_the_rest(key: str) -> None:
    """A `pos_label` that is no bool takes any other label, and equals the metric of 1 against 0."""
    truth, predicted = [0, 1, 2, 2, 1, 0, 2, 2], [0, 1, 2, 1, 2, 2, 2, 0]
    for names in ("abc", (0, 7, 1), (0.0, 3.0, 1.0), (b"x", (1, 2), "c")):
        metric, binary = METRIC_CLASSES[key](pos_label=names[2]), METRIC_CLASSES[key]()
        metric.update_many([names[i] for i in truth], [names[i] for i in predicted])
        binary.update_many([i == 2 for i in truth], [i == 2 for i in predicted])
        assert metric.get() == binary.get()


@pytest.mark.parametrize("key", OF_LABELS)
def test_impossible_class_raises_when_the_metric_is_made(key: str) -> None:
    """A positive class outside the fixed labels could never be seen, and `get` would always be 0."""
    kind = METRIC_CLASSES[key]
    for options in ({"labels": ["b", "c"]}, {"labels": ["b", "c"], "pos_label": "a"}, {"labels": [0, 2]}):
        with pytest.raises(LabelError, match="`pos_label` to be one of the fixed labels"):
            kind(**options)
    assert kind(labels=["b", "c"], other="a", pos_label="a").pos_label == "a"
    assert kind(labels=[0, 1]).pos_label is True


@pytest.mark.parametrize("wrap", CONTAINERS)
@pytest.mark.parametrize("key", OF_SCORES)
def test_metric_of_scores_of_one_class_takes_binary_labels_only_by_default(key: str, wrap: str) -> None:
    """Any other label raises, as a truth beside a number and in mappings and tables."""
    for positive, negative in REFUSED:
        metric = CONTAINERS[wrap](METRIC_CLASSES[key]())
        more = grouped(metric)
        bad, many = (negative if positive in (0, 1) else positive), {name: [value] * 2 for name, value in more.items()}
        refuses("y_true", metric.update, bad, 0.5, **more)
        refuses("scores", metric.update, 1, {1: 0.2, bad: 0.5}, **more)
        refuses("y_true", metric.update, bad, {0: 0.2, 1: 0.5}, **more)
        error = refuses("y_true", metric.update_many, [1, bad], [0.5, 0.25], **many)
        assert error.position == 1
        refuses("y_true", metric.update_many, [1, bad], np.array([0.5, 0.25]), **many)
        refuses("scores", metric.update_many, [1, 0], [{1: 0.5}, {bad: 0.5}], **many)
        table = np.array([[0.5, 0.5], [0.25, 0.75]])
        refuses("scores", metric.update_many, [1, 0], table, classes=[1, bad], **many)
    for _ in range(5):
        metric.update(1, 0.5, **more)
        metric.update_many([True, False], [0.5, 0.25], **many)
    assert metric.n == (3 if wrap.startswith("rolling") else 15)


def scored_set(**options: Any) -> sm.MetricSet:
    """Return a set that keeps scores."""
    return sm.MetricSet(scores=True, **options)


@pytest.mark.parametrize(
    "make",
    [*(METRIC_CLASSES[key] for key in LOSSES), sm.RankSketch, sm.ProbabilityLosses, scored_set, sm.MacroROCAUC],
)
def test_single_score_is_about_binary_labels_by_default(make: Callable[..., Any]) -> None:
    """A number alone is refused beside another truth; mappings and tables, whose classes are named, are not."""
    for bad, other in (("spam", "ham"), (2, 1), (0.5, 1), ((1,), (0,))):
        metric = make()
        refuses("y_true", metric.update, bad, 0.5)
        assert refuses("y_true", metric.update_many, [1, bad], [0.5, 0.75]).position == 1
        refuses("y_true", metric.update_many, [bad, bad], np.array([0.5, 0.75]))
        if bad != 0.5:
            metric.update(bad, {bad: 0.5, other: 0.5})
            refuses("y_true", metric.update, bad, 0.5)
            error = refuses("y_true", metric.update_many, [1, 1, bad], [{1: 1.0}, None, 0.5])
            assert error.position == 2
    for truth in (1, 0, True, False):
        metric.update(truth, 0.5)


@pytest.mark.parametrize("make", [sm.ROCAUC, sm.LogLoss, sm.RankSketch, scored_set])
def test_single_score_of_a_chosen_class(make: Callable[..., Any]) -> None:
    """A class that was chosen stands against the labels of its kind; a truth of another kind is a mistake."""
    metric = make(pos_label="spam")
    metric.update_many(["spam", "ham"], [0.75, 0.25])
    metric.update("spam", 0.25)
    assert metric.n == 3
    with pytest.raises(LabelError, match="of the type of pos_label='spam'"):
        metric.update(1, 0.5)


def test_state_read_from_bytes_keeps_the_rule() -> None:
    """Copies, bytes, resets and clones refuse what the metric refuses."""
    for key in ("recall", "roc_auc"):
        metric = METRIC_CLASSES[key]()
        metric.update(1, 1.0 if key == "recall" else 0.5)
        twins = [metric.copy(), sm.from_bytes(metric.to_bytes()), metric.clone(), metric.copy()]
        twins[3].reset()
        for twin in twins:
            with pytest.raises(LabelError, match="pass pos_label="):
                twin.update("a", 1 if key == "recall" else 0.5)
