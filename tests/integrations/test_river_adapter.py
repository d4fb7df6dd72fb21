"""The adapter alone, and every metric in the hands of river: names, inputs, states and errors."""

from __future__ import annotations

import copy
import inspect
import pickle
import random
from functools import partial
from typing import Any

import pytest
from river import linear_model, metrics, utils
from support.refusals import all_refused
from support.river_outcomes import ADAPTED, every_class, fed, logistic, outcomes

import stream_metrics as sm
from stream_metrics.integrations.river import RiverMetric, RiverWindow, as_river

NAN = float("nan")
ARGUMENTS = ["metric", "key", "label", "undefined", "better", "context"]


def test_adapters_are_metrics_of_river() -> None:
    """Each is a classification metric whose arguments are attributes; abstentions are in no value; shards merge."""
    for make in ADAPTED:
        metric = fed(make(), outcomes())
        value, whole = metric.get(), metric.live.to_bytes()
        assert isinstance(metric, metrics.base.ClassificationMetric)
        assert not inspect.isabstract(type(metric))
        assert list(inspect.signature(type(metric)).parameters) == ARGUMENTS
        assert all(hasattr(metric, name) for name in ARGUMENTS)

        total = make()
        for shard in [fed(make(), outcomes()[at::3]) for at in range(3)]:
            total.get()  # what was kept does not outlive the merge
            assert total.merge(pickle.loads(pickle.dumps(shard))) is total
        assert (total.get(), total.live.to_bytes()) == (value, whole)

        for nothing in (None, {}):
            metric.update(y_true=True, y_pred=nothing)
        assert (metric.get(), metric.snapshot().abstained) == (value, 2)
        for nothing in (None, {}):
            metric.revert(True, nothing, 1.0)
        assert (metric.get(), metric.snapshot().abstained, metric.live.to_bytes()) == (value, 0, whole)


def test_an_adapter_is_called_what_it_measures() -> None:
    """The class name is the metric with what differs from its defaults; clones have the same class."""
    names = {
        "MCC": as_river(sm.MCC()),
        "LogLoss": as_river(sm.LogLoss()),
        "MetricSet(accuracy)": as_river(sm.MetricSet()),
        "MetricSet(macro_f1)": as_river(sm.MetricSet(["macro_f1"])),
        "MetricSet(recall, 'spam')": as_river(sm.MetricSet(), "recall", "spam"),
        "MCC(max)": as_river(sm.MCC(), max),
        "MCC(zero_division=1.0)": as_river(sm.MCC(zero_division=1.0)),
    }
    assert [type(metric).__name__ for metric in names.values()] == list(names)
    assert all(type(metric.clone()) is type(metric) for metric in names.values())


def test_an_adapter_feeds_a_copy() -> None:
    """What was counted before counts; the accumulator that was handed over stays as it was, and clones are empty."""
    mine = sm.Accuracy()
    mine.update("a", "a")
    metric = as_river(mine)
    metric.update("a", "b")

    assert (mine.n, metric.live.n, metric.get()) == (1, 2, 0.5)
    assert (metric.clone().live.n, metric.metric.n, metric.clone(include_attributes=True).live.n) == (0, 0, 2)


def test_values_are_kept_until_something_changes() -> None:
    """A value is computed once between updates; what is done to `live` directly is seen."""
    reads: list[int] = []
    metric = as_river(sm.MCC(), lambda snapshot: reads.append(snapshot.n) or snapshot["matthews_corrcoef"])
    plain = sm.MCC()
    for truth, predicted in [("a", "a"), ("b", "b"), ("a", "b")]:
        metric.update(truth, predicted)
        plain.update(truth, predicted)
        assert metric.get() == metric.get() == plain.get()
    assert reads == [1, 2, 3]

    metric.revert("a", "b")
    assert metric.get() == 1.0
    live = metric.live
    assert metric.get() == 1.0
    live.update("a", "b")
    assert metric.get() == live.get() < 1.0


def test_what_is_undefined_is_finite_and_wins_nothing() -> None:
    """An undefined value is the worst one, or what was asked for, in `get`; in print it is called undefined."""
    high = sm.BrierScore.row.high
    for metric, value in [
        (sm.ROCAUC(), 0.0), (sm.BrierScore(), high), (sm.LogLoss(), 36.0), (sm.MCC(zero_division=NAN), -1.0),
    ]:  # fmt: skip
        empty, trained = as_river(metric), as_river(metric)
        for truth, score in [(True, 0.9), (False, 0.2), (True, 0.4), (False, 0.6)]:
            trained.update(truth, score > 0.5 if trained.requires_labels else {True: score, False: 1 - score})

        assert empty.get() == value
        assert trained.is_better_than(empty)
        assert not empty.is_better_than(trained)
        assert repr(empty).endswith(": undefined")
        assert as_river(metric, undefined=0.25).clone().get() == 0.25


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


def test_what_cannot_be_adapted_is_refused() -> None:
    """A key that is no single number, and what is none of ours, is refused when the adapter is made."""
    all_refused(
        (partial(as_river, *arguments), error, message)
        for arguments, error, message in [
            ((sm.MetricSet(), "confusion_matrix_normalized"), KeyError, "key of a metric"),
            ((sm.MetricSet(scores=True), "roc_auc_ovo_pair"), ValueError, "'roc_auc_ovo_pair' is a matrix"),
            ((sm.MetricSet(), "no such"), KeyError, "key of a metric"),
            ((sm.MetricSet(), "roc_auc"), KeyError, "MetricSet(scores=True) keeps them"),
            ((sm.MCC(), "log_loss"), KeyError, "does not have"),
            ((metrics.Accuracy(),), TypeError, "of ours, but got Accuracy"),
            ((5,), TypeError, "of ours, but got int"),
            ((sm.MCC(), None, None, NAN), ValueError, "`undefined` to be a finite number, but got nan"),
        ]
    )


def test_a_context_gives_what_else_an_update_takes() -> None:
    """`context` is asked at every update; nothing can be reverted then, and river's windows say so."""
    asked = []
    metric = as_river(sm.MetricSet(scores=True), context=lambda: asked.append(1) or {"scores": {"a": 0.9, "b": 0.1}})
    metric.update("a", "b")

    assert isinstance(metric, RiverWindow)
    assert (metric.get(), metric.snapshot().scored, asked) == (0.0, 1, [1])
    with pytest.raises(ValueError, match="protocol"):  # river's words for what has no revert
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


def samples(labels: list[Any], weights: list[float], scored: bool) -> list[tuple[Any, Any, float]]:
    """Return random samples with weights; probabilities have many ties."""
    rng, stream = random.Random(f"{labels} {weights}"), []
    for _ in range(20):
        parts = [rng.choice([1, 1, 2, 5]) for _ in labels]
        p_of = {label: part / sum(parts) for label, part in zip(labels, parts, strict=True)}
        stream.append((rng.choice(labels), p_of if scored else rng.choice(labels), rng.choice(weights)))
    return stream


def shown(metric: Any) -> str:
    """Return the value of a metric as text, or why it has none."""
    try:
        return repr(metric.get())
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    ("labels", "weights"),
    [(["ant", "bee", "cat"], [0.1, 0.2, 0.7, 1 / 3, 0.0]), ([0, 1, 2], [0, 1, 2, 3]), (["ant"], [0.1, 0.2, 0.0])],
    ids=["text", "numbers", "one class"],
)
def test_a_window_of_river_is_a_fresh_metric(labels: list[Any], weights: list[float]) -> None:
    """In windows of 1, 2, 5 and 10 weighted samples every metric is, to the bit, a new one that was fed the window."""
    for _, cls, options in every_class(labels):
        stream = samples(labels, weights, not cls.requires_labels)
        for size in (1, 2, 5, 10):
            window = utils.Rolling(cls, size, **options)
            adapted = utils.Rolling(RiverMetric, size, metric=cls(**options))
            for at, sample in enumerate(stream, 1):
                window.update(*sample)
                adapted.update(*sample)
                fresh = cls(**options)
                for row in stream[max(0, at - size) : at]:
                    fresh.update(*row)
                assert window.obj.to_bytes() == fresh.to_bytes()
            assert shown(window) == shown(fresh)
            assert adapted.obj.live == fresh


@pytest.mark.parametrize("adapt", [False, True], ids=["as it is", "adapter"])
def test_every_metric_has_what_river_touches(adapt: bool) -> None:
    """Every class has keyword updates, a float, `works_with`, and copies and pickles with its value and its future."""
    for name, cls, options in every_class([True, False]):
        empty = as_river(cls(**options)) if adapt else cls(**options)
        metric = fed(empty.clone(), outcomes())
        value, later = metric.get(), fed(empty.clone(), [*outcomes(), *outcomes()[:9]]).get()

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
            assert (repr(twin), repr(twin.get())) == (repr(metric), repr(value)), name
            assert repr(fed(twin, outcomes()[:9]).get()) == repr(later), name
        clone = metric.clone()
        assert type(clone) is type(metric)
        assert repr(clone.get()) == repr(empty.get())
        assert repr(fed(clone, outcomes()).get()) == repr(value)
        for truth, probabilities in outcomes()[::-1]:
            y_pred = max(probabilities, key=probabilities.get) if metric.requires_labels else probabilities
            metric.revert(y_true=truth, y_pred=y_pred)
        assert repr(metric.get()) == repr(empty.get()), name
