"""The adapter alone: its names, inputs, states and errors."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest
from river import (
    linear_model,
    metrics,
    utils,
)
from support.metric_classes import CLASSES
from support.river_outcomes import ADAPTED, fed, logistic, outcomes

import stream_metrics as sm
from stream_metrics.integrations.river import RiverMetric, RiverWindow, as_river

OPTIONS: dict[str, dict[str, Any]] = {
    "GeneralF1": {"average": "power", "p": 2.0},
    "GeneralFowlkesMallows": {"average": "power", "p": -1.0},
    "WeightedBalancedAccuracy": {"weights": {True: 1.0, False: 2.0}},
}


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("adapt", [False, True], ids=["as it is", "adapter"])
def test_every_metric_has_what_river_touches(name: str, adapt: bool) -> None:
    """Every class of the catalog: keyword updates, a float, `works_with`, clone, pickle, deep copy, repr, `Rolling`."""
    make = lambda: CLASSES[name](**OPTIONS.get(name, {}))  # noqa: E731
    metric = fed(as_river(make()) if adapt else make(), outcomes())
    value = metric.get()

    assert metric.works_with(logistic()) is True
    assert metric.works_with(linear_model.LinearRegression()) is False
    assert metric.works_with_weights is True
    assert isinstance(metric.bigger_is_better, bool)
    assert isinstance(metric.is_better_than(metric), bool)
    assert isinstance(value, int | float)
    assert value == value or not adapt
    assert repr(metric).startswith(type(metric).__name__)
    for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), metric.clone(include_attributes=True)):
        assert type(twin) is type(metric)
        assert repr(twin.get()) == repr(value)
    clone = metric.clone()
    assert type(clone) is type(metric)
    assert repr(clone.get()) == repr((as_river(make()) if adapt else make()).get())
    assert repr(fed(clone, outcomes()).get()) == repr(value)
    for truth, probabilities in outcomes()[::-1]:
        y_pred = max(probabilities, key=probabilities.get) if metric.requires_labels else probabilities
        metric.revert(y_true=truth, y_pred=y_pred)
    assert repr(metric.get()) == repr(metric.clone().get())


@pytest.mark.parametrize("make", ADAPTED)
def test_an_adapter_is_a_classification_metric(make: Any) -> None:
    """Its constructor's arguments are attributes, and its own class is river's."""
    metric = make()

    assert isinstance(metric, metrics.base.ClassificationMetric)
    assert not inspect.isabstract(type(metric))
    assert set(metric._get_params()) == {"metric", "key", "label", "undefined", "better", "context"}
    assert all(hasattr(metric, name) for name in inspect.signature(type(metric)).parameters)


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (as_river(sm.MCC()), "MCC"),
        (as_river(sm.LogLoss()), "LogLoss"),
        (as_river(sm.MetricSet()), "MetricSet(accuracy)"),
        (as_river(sm.MetricSet(["macro_f1"])), "MetricSet(macro_f1)"),
        (as_river(sm.MetricSet(), "recall", "spam"), "MetricSet(recall, 'spam')"),
        (as_river(sm.MCC(), max), "MCC(max)"),
        (as_river(sm.MCC(zero_division=1.0)), "MCC(zero_division=1.0)"),
    ],
)
def test_an_adapter_is_called_what_it_measures(metric: Any, name: str) -> None:
    """The class name is the metric with what differs from its defaults; printing it gives the name and the value."""
    assert type(metric).__name__ == name
    assert type(metric.clone()) is type(metric)


@pytest.mark.parametrize("make", ADAPTED)
def test_abstentions_are_in_no_value(make: Any) -> None:
    """None and {}, which some of river passes on, are counted apart and change nothing; reverting them neither."""
    metric = fed(make(), outcomes())
    value = metric.get()
    for nothing in (None, {}):
        metric.update(y_true=True, y_pred=nothing)
    assert (metric.get(), metric.snapshot().abstained) == (value, 2)

    for nothing in (None, {}):
        metric.revert(True, nothing, 1.0)
    assert (metric.get(), metric.snapshot().abstained) == (value, 0)


@pytest.mark.parametrize("make", ADAPTED)
def test_shards_merge_to_the_whole(make: Any) -> None:
    """Adapters of shards merge to the bytes of the whole; so do the ones that went through pickle."""
    shards = [fed(make(), outcomes()[at::3]) for at in range(3)]
    total = make()
    for shard in shards:
        total.get()  # what was kept does not outlive the merge
        assert total.merge(pickle.loads(pickle.dumps(shard))) is total
    whole = fed(make(), outcomes())

    assert total.get() == whole.get()
    assert total.live.to_bytes() == whole.live.to_bytes()


def test_an_adapter_feeds_a_copy() -> None:
    """What was counted before counts; the accumulator that was handed over stays as it was, and clones are empty."""
    mine = sm.Accuracy()
    mine.update("a", "a")
    metric = as_river(mine)
    metric.update("a", "b")

    assert (mine.n, metric.live.n, metric.get()) == (1, 2, 0.5)
    assert (metric.clone().live.n, metric.metric.n, metric.clone(include_attributes=True).live.n) == (0, 0, 2)


def test_values_are_kept_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value is computed once between updates; what is done to `live` directly is seen."""
    metric, calls = as_river(sm.MCC()), []
    read = RiverMetric._read
    monkeypatch.setattr(RiverMetric, "_read", lambda self: calls.append(1) or read(self))
    for truth, predicted in [("a", "a"), ("b", "b"), ("a", "b")]:
        metric.update(truth, predicted)
        assert metric.get() == metric.get() == fed_directly(metric)
    assert len(calls) == 3

    metric.revert("a", "b")
    assert metric.get() == 1.0
    live = metric.live
    assert metric.get() == 1.0
    live.update("a", "b")
    assert metric.get() == live.get() < 1.0


def fed_directly(metric: RiverMetric) -> float:
    """Return the value without the adapter's memory."""
    return float(metric._live.get())


@pytest.mark.parametrize(
    ("metric", "worst"),
    [
        (sm.ROCAUC(), 0.0),
        (sm.BrierScore(), sm.BrierScore.row.high),
        (sm.LogLoss(), 36.0),
        (sm.MCC(zero_division=float("nan")), -1.0),
    ],
)
def test_what_is_undefined_is_finite_and_wins_nothing(metric: Any, worst: float) -> None:
    """An undefined value is the worst one, or what was asked for, in `get`; in print it is called undefined."""
    empty = as_river(metric)
    trained = as_river(metric)
    for truth, score in [(True, 0.9), (False, 0.2), (True, 0.4), (False, 0.6)]:
        trained.update(truth, score > 0.5 if trained.requires_labels else {True: score, False: 1 - score})

    assert empty.get() == worst
    assert trained.is_better_than(empty)
    assert not empty.is_better_than(trained)
    assert repr(empty).endswith(": undefined")
    assert as_river(metric, undefined=0.25).clone().get() == 0.25
    with pytest.raises(ValueError, match="`undefined` to be a finite number, but got nan"):
        as_river(metric, undefined=float("nan"))


def test_a_function_of_the_snapshot() -> None:
    """Any number that can be computed from a snapshot can be what river reads."""
    metric = as_river(sm.MetricSet(), worst_recall, better="higher")
    for truth, predicted in [("a", "a"), ("b", "b"), ("b", "a"), ("c", "c")]:
        metric.update(truth, predicted)

    assert (metric.get(), type(metric).__name__) == (0.5, "MetricSet(worst_recall)")
    assert as_river(sm.MetricSet(), worst_recall, better="lower").bigger_is_better is False
    assert pickle.loads(pickle.dumps(metric)).get() == 0.5


def worst_recall(snapshot: sm.Snapshot) -> float:
    """Return the smallest recall of a class."""
    return min(snapshot.per_class["recall"].get(label, 1.0) for label in snapshot.labels)


def test_new_parameters_of_a_clone() -> None:
    """A clone may read something else, and is then called that."""
    metric = as_river(sm.MetricSet(scores=True), "accuracy")
    other = metric.clone({"key": "log_loss"})

    assert (type(other).__name__, other.bigger_is_better, other.get()) == ("MetricSet(log_loss)", False, 36.0)
    assert sm.FBeta(2.0).clone({"beta": 0.5}).beta == 0.5
    counts = sm.MetricSet(["roc_auc"], pos_label="a", buckets=64)
    counts.update("a", {"a": 0.4, "b": 0.6})
    assert counts.clone() == sm.MetricSet(["roc_auc"], pos_label="a", buckets=64)
    assert counts.clone(include_attributes=True) == counts
    assert (counts.clone({"threshold": 0.7}).threshold, counts.n) == (0.7, 1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((sm.MetricSet(), "confusion_matrix_normalized"), KeyError, "key of a metric"),
        ((sm.MetricSet(scores=True), "roc_auc_ovo_pair"), ValueError, "'roc_auc_ovo_pair' is a matrix"),
        ((sm.MetricSet(), "no such"), KeyError, "key of a metric"),
        ((sm.MetricSet(), "roc_auc"), KeyError, "MetricSet.scores=True. keeps them"),
        ((sm.MCC(), "log_loss"), KeyError, "does not have"),
        ((metrics.Accuracy(),), TypeError, "of ours, but got Accuracy"),
        ((5,), TypeError, "of ours, but got int"),
    ],
)
def test_what_cannot_be_adapted_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    """A key that is no single number, and what is none of ours, is refused when the adapter is made."""
    with pytest.raises(error, match=message):
        as_river(*arguments)


def test_a_context_gives_what_else_an_update_takes() -> None:
    """`context` is asked at every update; nothing can be reverted then, and river's windows say so."""
    asked = []
    metric = as_river(sm.MetricSet(scores=True), context=lambda: asked.append(1) or {"scores": {"a": 0.9, "b": 0.1}})
    metric.update("a", "b")

    assert isinstance(metric, RiverWindow)
    assert (metric.get(), metric.snapshot().scored, asked) == (0.0, 1, [1])
    with pytest.raises(ValueError, match="protocol"):
        utils.Rolling(RiverWindow, 5, metric=sm.MCC())


def test_an_int_is_a_score_where_scores_are_kept() -> None:
    """The score 0 of an anomaly detector is counted as a score by a set, and taken back as one."""
    metric = as_river(sm.MetricSet(scores=True), "roc_auc")
    empty = metric.live.to_bytes()
    metric.update(False, 0)
    assert metric.snapshot().scored == 1

    metric.revert(False, 0)
    assert metric.live.to_bytes() == empty


def test_the_class_that_is_read_and_how_it_is_printed() -> None:
    """A value of one class is that of `pos_label` unless `label` says another; shares are printed in per cent."""
    counts = sm.MetricSet(scores=True, pos_label="a")
    for truth, score in [("a", 0.9), ("b", 0.6), ("b", 0.2)]:
        counts.update(truth, {"a": score, "b": 1 - score})
    lines = [str(as_river(counts, "precision", label)) for label in (None, "b")]

    assert lines == ["MetricSet(precision): 50.00%", "MetricSet(precision, 'b'): 100.00%"]
    assert str(as_river(counts, "log_loss")) == f"MetricSet(log_loss): {counts.snapshot()['log_loss']:.6g}"
