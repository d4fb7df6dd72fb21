"""Single scores: labels in the spelling of the data, the class beside `pos_label`, options that need scores."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.labels.pos_label import counted_before

SCORES = [0.75, 0.25, 0.375, 0.625]


def fed(metric: Any, truth: list[Any], form: str) -> Any:
    """Return a metric that has counted the scores one by one, in a list or in an array."""
    if form == "single":
        for row in zip(truth, SCORES, strict=True):
            metric.update(*row)
    else:
        scores = SCORES if form == "list" else np.array(SCORES)
        metric.update_many(truth if form == "list" else np.array(truth), scores)
    return metric


@pytest.mark.parametrize("form", ["single", "list", "array"])
@pytest.mark.parametrize(("positive", "negative"), [(1, 0), (True, False), (1.0, 0.0)])
@pytest.mark.parametrize("options", [{}, {"pos_label": 1}, {"pos_label": True}])
def test_labels_are_spelled_as_in_the_data(form: str, positive: Any, negative: Any, options: Any) -> None:
    """What a single score implies is not seen: 0/1 stay 0/1 in labels, report, JSON, classes and curves."""
    snapshot = fed(sm.MetricSet(scores=True, **options), [positive, negative, positive, negative], form).snapshot()
    labels = (negative, positive)

    assert repr(snapshot.labels) == repr(labels)
    assert repr(list(snapshot.per_class["recall"])) == repr(list(labels))
    assert repr(list(snapshot.per_class["roc_auc"])) == repr([positive])
    assert json.loads(snapshot.to_json())["labels"] == [repr(label) for label in labels]
    others = {"True", "False", "1.0", "0.0"} - {repr(label) for label in labels}
    assert not [word for word in others if f" {word} " in str(snapshot) or f'"{word}"' in snapshot.to_json()]


def test_class_without_a_true_sample_is_spelled_like_the_other() -> None:
    """Only zeros were seen: class 1 is 1, and the bytes are as before."""
    metric = sm.ROCAUC()
    metric.update_many([0, 0], [0.25, 0.5])

    assert repr(metric.snapshot().labels) == "(0, 1)"
    assert sm.from_bytes(metric.to_bytes()) == metric


@pytest.mark.parametrize("form", ["list", "array"])
def test_other_class_is_the_only_other_label(form: str) -> None:
    """Without `labels` a score below the threshold stands for the only other label of the state or the batch."""
    truth = ["spam", "ham", "spam", "ham"]
    metrics = fed(sm.MetricSet(scores=True, pos_label="spam"), truth, form)
    named = fed(sm.MetricSet(scores=True, pos_label="spam", labels=["ham", "spam"]), truth, form)

    assert metrics.state.matrix.tolist() == named.state.matrix.tolist() == [[1, 1], [1, 1]]
    metrics.update("spam", 0.125)
    for shards in ([0, 1], [1, 0]):
        parts = [sm.MetricSet(scores=True, pos_label="spam") for _ in range(2)]
        for at in shards:
            parts[at].update_many(truth[2 * at : 2 * at + 2], SCORES[2 * at : 2 * at + 2])
        parts[0].merge(parts[1]).update("spam", 0.125)
        assert parts[0] == metrics
    before = metrics.to_bytes()
    with pytest.raises(sm.ScoreError, match="may be 'eggs' or 'ham'"):
        metrics.update("eggs", 0.125)
    assert metrics.to_bytes() == before
    metrics.revert("spam", 0.125)
    assert metrics == fed(sm.MetricSet(scores=True, pos_label="spam"), truth, form)


def test_table_takes_the_fixed_labels_in_their_order() -> None:
    """A table or a row without `classes` has a column for each of `labels`, also in windows."""
    table = np.array([[0.75, 0.25], [0.125, 0.875]])
    makers = (
        lambda: sm.MetricSet(scores=True, labels=["b", "a"]),
        lambda: sm.Rolling(sm.MetricSet(scores=True, labels=["b", "a"]), 5),
    )
    for make in makers:
        named, table_only, rows, single = make(), make(), make(), make()
        named.update_many(["b", "a"], scores=table, classes=["b", "a"])
        table_only.update_many(["b", "a"], scores=table)
        rows.update_many(["b", "a"], scores=table.tolist())
        for truth, row in zip(["b", "a"], table.tolist(), strict=True):
            single.update(truth, scores=row)
        assert named == table_only == rows == single
        assert named.snapshot()["accuracy"] == 1.0
        with pytest.raises(sm.ScoreError):
            make().update_many(["b"], scores=[[0.5, 0.25, 0.25]])


@pytest.mark.parametrize("options", [{"pos_label": "a"}, {"pos_label": 1}, {"pos_label": False}, {"threshold": 0.5}])
@pytest.mark.parametrize("metrics", [None, ["accuracy"], ["recall", "mcc"]])
def test_option_without_effect_raises(options: dict[str, Any], metrics: Any) -> None:
    """`pos_label` and `threshold` are about scores."""
    with pytest.raises(ValueError, match=r"Expected no `\w+` in a set that keeps labels only"):
        sm.MetricSet(metrics, **options)
    assert sm.MetricSet(metrics, pos_label=True, threshold=None).clone() == sm.MetricSet(metrics)


@pytest.mark.parametrize("threshold", [float("inf"), -float("inf"), float("nan")])
def test_threshold_must_be_finite(threshold: float) -> None:
    """Bytes of earlier versions, which let it pass, stay readable."""
    with pytest.raises(ValueError, match="`threshold` to be a finite number"):
        sm.MetricSet(scores=True, threshold=threshold)


def test_impossible_class_of_scores_raises() -> None:
    """A class that is none of `labels` has no score; the default is no choice."""
    for make in (lambda: sm.MetricSet(scores=True, pos_label="c", labels=["a", "b"]),
                 lambda: sm.Comparison(scores=True, pos_label="c", labels=["a", "b"])):  # fmt: skip
        with pytest.raises(sm.LabelError, match="`pos_label` to be one of the fixed labels"):
            make()
    assert sm.MetricSet(scores=True, labels=["a", "b"]).labels == ("a", "b")


def test_bytes_with_labels_that_are_refused_today_stay_readable() -> None:
    """States, metrics and windows of earlier versions are read, merged, reverted and written as they were."""
    makers = [
        (sm.ConfusionMatrix, (0.5, 1.5)),
        (sm.Recall, ("a", "b")),
        (sm.MetricSet, (0.25, 0.5)),
        (lambda: sm.Rolling(sm.MetricSet(), 3), (0.5, 1.5)),
        (lambda: sm.Rolling(sm.Recall(), 3), ("a", "b")),
        (lambda: sm.Rolling(sm.ROCAUC(), 3), ("a", 0.5)),
        (lambda: sm.Fading(sm.Recall(), 100), ("a", "b")),
        (lambda: sm.ByGroup(sm.Recall()), ("a", "b")),
        (sm.ROCAUC, ("a", 0.5)),
    ]
    for make, sample in makers:
        old, more = make(), {"group": "g"} if isinstance(make(), sm.ByGroup) else {}
        with counted_before():
            old.update(*sample, **more)
        data = old.to_bytes()
        read = sm.from_bytes(data)
        assert read.to_bytes() == data
        if isinstance(read, sm.Rolling):
            for _ in range(3):
                read.update(1, 1.0)
            assert read.n == 3
            continue
        assert read.merge(sm.from_bytes(data)).n == 2
        with pytest.raises(sm.LabelError):
            read.update("new", 0.75, **more)
        if hasattr(read, "revert") and not isinstance(read, sm.TimeWindow):
            read.revert(*sample, **more)
            assert read.to_bytes() == data
