"""MetricSet: many metrics of one state, of labels or of scores beside labels; options, labels of scores, thresholds."""

from __future__ import annotations

import json
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import every_case
from support.refusals import all_refused, refused
from support.state_checks import with_batch

import stream_metrics as sm
from stream_metrics.labels.pos_label import as_counted_before

pytestmark = pytest.mark.quick
NAN, INF = float("nan"), float("inf")
OUT = (NAN, -INF)
SCORES = [0.75, 0.25, 0.375, 0.625]
scored_set = partial(sm.MetricSet, scores=True)


def fed(metrics: Any) -> Any:
    """Return the set after a few samples."""
    metrics.update_many(["a", "a", "b", "c"], ["a", "b", "b", None], [1, 2, 0.5, 1])
    return metrics


def scored(metric: Any, truth: list[Any], form: str) -> Any:
    """Return a metric that has counted the scores one by one, in a list or in an array."""
    if form == "single":
        for row in zip(truth, SCORES, strict=True):
            metric.update(*row)
    else:
        scores = SCORES if form == "list" else np.array(SCORES)
        metric.update_many(truth if form == "list" else np.array(truth), scores)
    return metric


def test_metrics_are_all_of_labels_or_chosen_by_key_or_class() -> None:
    """Without keys there is every default metric of labels; chosen ones come once, in the order given."""
    metrics = fed(sm.MetricSet())
    snapshot, listed = metrics.snapshot(), sm.metrics()
    assert {(listed[key].kind, listed[key].reads) for key in [*snapshot, *snapshot.omitted]} == {("whole", "labels")}
    assert metrics.get()["accuracy"] == snapshot["accuracy"] == 1.5 / 3.5
    assert (metrics.n, metrics.abstained) == (3, 1)
    assert repr(metrics) == "MetricSet(every metric, 3 samples, 2 classes)"
    assert repr(sm.MetricSet(["accuracy"])) == "MetricSet(1 metric, 0 samples, 0 classes)"
    assert repr(sm.MetricSet(missing="wrong")) == "MetricSet(every metric, 0 samples, 0 classes, missing='wrong')"
    assert repr(sm.Accuracy(missing="raise", ignore_index=0)) == "Accuracy(missing='raise', ignore_index=0): 0"

    chosen = fed(sm.MetricSet(["recall", sm.Accuracy, "macro_f1", "accuracy"]))
    assert chosen.metrics == (*chosen.get(),) == (*chosen.snapshot(),) == ("recall", "accuracy", "macro_f1")
    assert chosen.get()["recall"] == chosen.snapshot().per_class["recall"]
    assert list(chosen.snapshot().per_class) == ["recall"]
    assert sm.MetricSet(["roc_auc"]).scored is not None
    assert sm.MetricSet(["accuracy"]).scored is None


def test_options_are_checked_when_they_are_given() -> None:
    """A bad option is refused at once; so is one of scores in a set that keeps none, and a class that has no score."""
    refused(partial(sm.MetricSet, ["acuracy"]), KeyError, "'accuracy'")
    refused(partial(sm.MetricSet, ["MCC"]), KeyError, "its key is 'matthews_corrcoef'")
    for metrics in ("accuracy", {"accuracy"}, 5):
        refused(partial(sm.MetricSet, metrics), ValueError, "`metrics` to be a sequence of keys")
    for unknown in (["accuracy", 5], [None], [["accuracy"]]):
        refused(partial(sm.MetricSet, unknown), KeyError, f"but got {unknown[-1]!r}")
    assert sm.MetricSet(["mcc", "matthews_corrcoef"]).metrics == ("matthews_corrcoef",)
    about: list[tuple[dict[str, Any], str]] = [
        *(({"zero_division": x}, "`zero_division` to be 0.0, 1.0 or nan") for x in (0.5, -1, "0", INF)),
        ({"scores": "yes"}, "`scores` to be True, False or 'any', but got 'yes'"),
        ({"scores": True, "threshold": "x"}, "`threshold` to be a number, but got 'x'"),
        *(({"scores": True, "threshold": x}, f"`threshold` to be a finite number or inf, but got {x}") for x in OUT),
        ({"scores": True, "labels": ["a"], "other": "z"}, "no `other` where scores are kept, but got 'z'"),
        ({"scores": True, "buckets": 1}, "buckets"),
        ({"scores": True, "sample": 0}, "sample"),
        ({"scores": True, "pos_label": NAN}, "`pos_label`"),
        ({"scores": True, "pos_label": "c", "labels": ["a", "b"]}, "`pos_label` to be one of the fixed labels"),
        *(
            ({"metrics": metrics, **options}, "in a set that keeps labels only")
            for options in ({"pos_label": "a"}, {"pos_label": 1}, {"pos_label": False}, {"threshold": 0.5})
            for metrics in (None, ["accuracy"], ["recall", "mcc"])
        ),
    ]
    all_refused((partial(sm.MetricSet, **options), ValueError, text) for options, text in about)
    refused(lambda: sm.Comparison(scores=True, pos_label="c", labels=["a", "b"]), sm.LabelError, "pos_label")
    for call in (
        partial(sm.MetricSet().revert, "a", scores={"a": 0.5}), partial(sm.MetricSet().update, "a", [1], classes=["a"]),
    ):  # fmt: skip
        refused(call, ValueError, "MetricSet(scores=True)")
    for metrics in (None, ["accuracy"], ["recall", "mcc"]):
        assert sm.MetricSet(metrics, pos_label=True, threshold=None).clone() == sm.MetricSet(metrics)
    assert sm.MetricSet(scores=1, threshold=1).scores is True  # type: ignore[arg-type]
    assert scored_set(threshold=1.0).merge(sm.MetricSet(scores=1, threshold=1)).n == 0  # type: ignore[arg-type]


class CountsTwice:
    """A metric or a set that counts every sample twice."""

    def update(self, y_true: Any, y_pred: Any, w: Any = 1) -> None:
        super().update(y_true, y_pred, w)  # type: ignore[misc]
        super().update(y_true, y_pred, w)  # type: ignore[misc]


class TwiceMCC(CountsTwice, sm.MCC):
    """A metric that counts twice."""


class TwiceSet(CountsTwice, sm.MetricSet):
    """A set that counts twice."""


def test_a_subclass_may_override_update() -> None:
    """Its method is called, also after copies, bytes and pickle; a metric merges with its own kind alone."""
    for cls in (TwiceMCC, TwiceSet):
        metric = cls()
        twins = (metric, metric.copy(), pickle.loads(pickle.dumps(metric)), cls.from_bytes(metric.to_bytes()))
        for twin in twins:
            twin.update("a", "b")
            twin.update_many(["a"], ["b"])
            assert (type(twin), twin.n) == (cls, 3)
        assert (twins[0] + twins[1]).n == 6
    for mine, theirs in ((TwiceMCC(), sm.MCC()), (sm.MCC(), TwiceMCC())):
        error = refused(partial(mine.merge, theirs), sm.MergeError, "to merge a")
        assert all(name in str(error) for name in ("TwiceMCC", "MCC"))


def test_zero_division_reaches_every_metric() -> None:
    """It replaces each 0/0; None leaves each metric its own; bytes and clones have it, nan included."""
    keys = ["accuracy", "zero_one_loss"]
    own = {"accuracy": sm.Accuracy().get(), "zero_one_loss": sm.ZeroOneLoss().get()}
    assert sm.MetricSet(keys, zero_division=1.0).get() == dict.fromkeys(keys, 1.0)
    assert repr(sm.MetricSet(keys).get()) == repr(own)
    for options in ({"metrics": []}, {"labels": ["a"], "other": "rest", "zero_division": NAN}):
        metrics = fed(sm.MetricSet(**options))
        assert sm.from_bytes(metrics.to_bytes()) == metrics == fed(metrics.clone())


def test_the_label_of_scores() -> None:
    """The largest score, the first of equal ones, `pos_label` from the threshold on; all forms of input agree."""
    ham, spam = ({"pos_label": name, "labels": ["ham", "spam"]} for name in ("ham", "spam"))
    cases: list[tuple[dict[str, Any], Any, Any]] = [
        ({}, {"b": 0.5, "a": 0.5}, "a"), ({}, {"b": 0.4, "a": 0.4, "c": 0.2}, "a"), ({}, {2: 0.5, 10: 0.5}, 2),
        ({}, {"x": 0.5, 3: 0.5, True: 0.5}, True), ({}, {"z": 0.0, "y": 0.0, "x": -0.0}, "x"),
        ({}, {"b": 0.6, "a": 0.4}, "b"), ({}, 0.5, True), ({}, 0.49999999, False), ({"threshold": 0.7}, 0.7, True),
        ({"threshold": 0.7}, 0.7 - 2**-53, False), ({"threshold": 0.0}, 0.0, True), ({"threshold": 2}, 1.0, False),
        ({"threshold": -1}, 0.0, True), ({"pos_label": 1}, 0.2, 0), ({"pos_label": 0}, 0.2, 1),
        ({"pos_label": False}, 0.2, True), (spam, 0.2, "ham"), (ham, 0.2, "spam"), (ham, 0.9, "ham"),
        ({"pos_label": "spam", "labels": ["a", "b", "spam"]}, 0.9, "spam"),
    ]  # fmt: skip
    with every_case() as case:
        for options, scores, label in cases:
            with case((options, scores)):
                single, rows, column = (scored_set(**options) for _ in range(3))
                single.update(label, scores)
                rows.update_many([label], [scores])
                if isinstance(scores, dict):
                    column.update_many([label], np.array([[*scores.values()]]), classes=[*scores])
                else:
                    column.update_many([label], np.array([scores]))
                expected = sm.ConfusionMatrix(options.get("labels"))
                expected.update(label, label)
                assert single == rows == column
                assert single.state == expected
                assert single.snapshot()["accuracy"] == 1.0


def test_a_single_score_needs_a_second_class() -> None:
    """Where the other class is not known, a score below the threshold is refused and nothing is counted."""
    for labels in (None, ["a", "b", "spam"]):
        metrics = scored_set(pos_label="spam", labels=labels)
        metrics.update("spam", 0.9)
        before, two = metrics.to_bytes(), ["spam", "spam"]
        batches = (partial(metrics.update_many, two, form([0.9, 0.2])) for form in (list, np.array))
        for call in (partial(metrics.update, "spam", 0.2), *batches):
            error = refused(call, sm.ScoreError, "`labels` with two classes")
            assert "may be 'a'" in str(error) if labels else "'spam' is not known" in str(error)
            assert "0.2" in str(error)
            assert metrics.to_bytes() == before


def test_the_other_class_is_the_only_other_label() -> None:
    """Without `labels` a score below the threshold stands for the only other label of the state or the batch."""
    truth = ["spam", "ham", "spam", "ham"]
    for form in ("list", "array"):
        metrics = scored(scored_set(pos_label="spam"), truth, form)
        named = scored(scored_set(pos_label="spam", labels=["ham", "spam"]), truth, form)
        assert metrics.state.matrix.tolist() == named.state.matrix.tolist() == [[1, 1], [1, 1]]
        metrics.update("spam", 0.125)
        for shards in ([0, 1], [1, 0]):
            parts = [scored_set(pos_label="spam") for _ in range(2)]
            for at in shards:
                parts[at].update_many(truth[2 * at : 2 * at + 2], SCORES[2 * at : 2 * at + 2])
            parts[0].merge(parts[1]).update("spam", 0.125)
            assert parts[0] == metrics
        before = metrics.to_bytes()
        refused(partial(metrics.update, "eggs", 0.125), sm.ScoreError, "may be 'eggs' or 'ham'")
        assert metrics.to_bytes() == before
        metrics.revert("spam", 0.125)
        assert metrics == scored(scored_set(pos_label="spam"), truth, form)


def test_labels_are_spelled_as_in_the_data() -> None:
    """What a single score implies is not seen: 0/1 stay 0/1 in labels, report, JSON, classes and curves."""
    ways = [(form, options) for form in ("single", "list", "array") for options in ({}, {"pos_label": 1})]
    with every_case() as case:
        for positive, negative in ((1, 0), (True, False), (1.0, 0.0)):
            for form, options in ways:
                with case((positive, form, options)):
                    truth, names = [positive, negative] * 2, (negative, positive)
                    snapshot = scored(scored_set(**options), truth, form).snapshot()
                    assert repr(snapshot.labels) == repr(names)
                    assert repr(list(snapshot.per_class["recall"])) == repr(list(names))
                    assert repr(list(snapshot.per_class["roc_auc"])) == repr([positive])
                    assert json.loads(snapshot.to_json())["labels"] == [repr(label) for label in names]
                    others = {"True", "False", "1.0", "0.0"} - {repr(label) for label in names}
                    shown = f"{snapshot} ", snapshot.to_json()
                    assert not [x for x in others if f" {x} " in shown[0] or f'"{x}"' in shown[1]]
    zeros = with_batch(sm.ROCAUC(), [0, 0], [0.25, 0.5])
    assert repr(zeros.snapshot().labels) == "(0, 1)"
    assert sm.from_bytes(zeros.to_bytes()) == zeros


def test_a_table_takes_the_fixed_labels_in_their_order() -> None:
    """A table or a row without `classes` has a column for each of `labels`, also in windows."""
    table = np.array([[0.75, 0.25], [0.125, 0.875]])
    for wrap in (lambda state: state, lambda state: sm.Rolling(state, 5)):
        single = wrap(scored_set(labels=["b", "a"]))
        named = with_batch(single.copy(), ["b", "a"], scores=table, classes=["b", "a"])
        others = [with_batch(single.copy(), ["b", "a"], scores=scores) for scores in (table, table.tolist())]
        for truth, row in zip("ba", table.tolist(), strict=True):
            single.update(truth, scores=row)
        assert [named, *others] == [single] * 3
        assert named.snapshot()["accuracy"] == 1.0
        refused(partial(named.update_many, ["b"], scores=[[0.5, 0.25, 0.25]]), sm.ScoreError)


def test_the_best_threshold_has_its_value_as_a_threshold() -> None:
    """Whether scores are tied, narrow or in coarse cells, weighted or not, in a batch or one by one."""
    keys = {"f1": "f1", "accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "mcc": "matthews_corrcoef"}
    g = np.random.default_rng(2)
    with every_case() as case:
        for trial in range(80):
            n, key, buckets = int(g.integers(2, 60)), list(keys)[trial % 4], (4, 1024)[trial // 4 % 2]
            scores = g.uniform(size=n).round(int(g.integers(1, 9))).astype((np.float32, np.float64)[trial // 8 % 2])
            own, w = g.uniform(size=n) < scores, None if trial // 16 % 2 else g.integers(1, 9, n)
            own[:2] = True, False
            with case((trial, key, buckets, scores.dtype)):
                first = with_batch(scored_set(buckets=buckets, sample=4), own, scores=scores, w=w)
                best = first.snapshot().best_threshold(metric=key)
                single = scored_set(threshold=best.threshold)
                again = with_batch(single.copy(), own, scores=scores.astype(float), w=w)
                for row in range(n):
                    single.update(bool(own[row]), scores=scores[row], w=1 if w is None else int(w[row]))
                snapshot = again.snapshot()
                value = snapshot.per_class[key][True] if key == "f1" else snapshot[keys[key]]
                assert value == best.value <= best.high
                assert single == again


def test_bytes_with_labels_that_are_refused_today_stay_readable() -> None:
    """States, metrics and windows of earlier versions are read, merged, reverted and written as they were."""
    rolling = partial(partial, sm.Rolling, window=3)
    makers: list[tuple[Any, tuple[Any, Any]]] = [
        (sm.ConfusionMatrix, (0.5, 1.5)), (sm.Recall, ("a", "b")), (sm.MetricSet, (0.25, 0.5)),
        (rolling(sm.MetricSet()), (0.5, 1.5)), (rolling(sm.Recall()), ("a", "b")), (rolling(sm.ROCAUC()), ("a", 0.5)),
        (partial(sm.Fading, sm.Recall(), 100), ("a", "b")), (partial(sm.ByGroup, sm.Recall()), ("a", "b")),
        (sm.ROCAUC, ("a", 0.5)),
    ]  # fmt: skip
    for make, sample in makers:
        old, more = make(), {"group": "g"} if isinstance(make(), sm.ByGroup) else {}
        as_counted_before(old.update, *sample, **more)
        data = old.to_bytes()
        read = sm.from_bytes(data)
        assert read.to_bytes() == data
        if isinstance(read, sm.Rolling):
            for _ in range(3):
                read.update(1, 1.0)
            assert read.n == 3
            continue
        assert read.merge(sm.from_bytes(data)).n == 2
        refused(partial(read.update, "new", 0.75, **more), sm.LabelError)
        if hasattr(read, "revert"):
            read.revert(*sample, **more)
            assert read.to_bytes() == data
