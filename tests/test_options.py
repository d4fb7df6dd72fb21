"""Options belong to the metric: its snapshot, intervals, groups and windows compute with them, and so do its bytes."""

from __future__ import annotations

import inspect
import json
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.refusals import refused

import stream_metrics as sm

pytestmark = pytest.mark.quick

OPTIONS: dict[str, dict[str, Any]] = {
    "BalancedAccuracy": {"adjusted": True},
    "WeightedBalancedAccuracy": {"weights": {0: 0.9, 1: 0.1}},
    "MacroF1": {"variant": "f1_of_means"},
    "MacroFBeta": {"beta": 3.0},
    "MicroFBeta": {"beta": 3.0},
    "WeightedFBeta": {"beta": 3.0},
    "GeneralF1": {"average": "geometric"},
    "GeneralFowlkesMallows": {"average": "geometric"},
    "WeightedKappa": {"weights": "quadratic"},
    "GeneralizedMCC": {"alpha": 1.0},
    "OvO": {"metric": "precision"},
    "FBeta": {"beta": 3.0},
    "SingleScoreAUC": {"direction": "down"},
    "PartialROCAUC": {"max_fpr": 0.3},
    "TPRAtFPR": {"fpr": 0.01},
    "PrecisionAtRecall": {"recall": 0.5},
    "ExpectedCalibrationError": {"bins": 4},
    "MaximumCalibrationError": {"bins": 4},
    "DebiasedCalibrationError": {"bins": 4},
    "MacroCalibrationError": {"bins": 4},
    "LogLoss": {"normalize": False},
    "BrierScore": {"scale_by_half": False},
    "TopKAccuracy": {"k": 1},
}
ANY_VALUE = {"micro_fbeta", "weighted_kappa"}  # of two classes and one label a sample, these options change nothing
rng = np.random.default_rng(5)
TRUTH = rng.integers(0, 2, 240)
SCORES = np.clip(TRUTH * 0.35 + rng.random(240) * 0.65, 0, 1)
LABELS = (SCORES > 0.6).astype(int)


def metrics_with_options() -> list[sm.Metric]:
    """Return a metric of every class that has options, each with other options than its defaults."""
    return [getattr(sm, name)(**options) for name, options in OPTIONS.items()]


def predictions_of(metric: sm.Metric) -> Any:
    """Return what a metric reads."""
    return LABELS if metric._reads == "labels" else SCORES


def own_value(metric: sm.Metric, snapshot: sm.Snapshot) -> Any:
    """Return the value that `get` of the metric is in its snapshot."""
    return snapshot[metric.key, 1] if sm.metrics()[metric.key].kind == "per_class" else snapshot[metric.key]


def test_every_class_with_options_is_in_the_table() -> None:
    """A class whose constructor takes more than what is counted has options, and is tested here."""
    counted = {"labels", "other", "pos_label", "buckets", "sample", "zero_division", "missing", "ignore_index"}
    classes = {info.class_name for info in sm.metrics().values() if info.class_name}
    with_options = {name for name in classes if inspect.signature(getattr(sm, name)).parameters.keys() - counted}
    assert with_options - {"BrierScore", "CrossEntropy"} == OPTIONS.keys() - {"BrierScore"}


def test_a_snapshot_has_the_value_of_its_metric() -> None:
    """Through bytes, pickles, chosen keys, windows, fading and groups; JSON names the options."""
    failed = []
    for metric in metrics_with_options():
        metric.update_many(TRUTH, predictions_of(metric))
        rolling = sm.Rolling(metric._emptied(), 1000)
        window, fading = sm.TimeWindow(metric._emptied(), 60, 2), sm.Fading(metric._emptied(), "1h")
        groups = sm.ByGroup(metric._emptied())
        rolling.update_many(TRUTH, predictions_of(metric))
        for timed in (window, fading):
            timed.update_many(TRUTH, predictions_of(metric), t=0.0)
        groups.update_many(TRUTH, predictions_of(metric), group="x")
        expected = metric.get()
        snapshot = metric.snapshot()
        plain = type(metric)()
        plain.update_many(TRUTH, predictions_of(metric))
        snapshots = {
            "metric": snapshot,
            "bytes": sm.from_bytes(metric.to_bytes()).snapshot(),
            "pickle": pickle.loads(pickle.dumps(snapshot)),
            "keys": snapshot.with_keys([metric.key]),
            "intervals": snapshot.with_intervals(),
            "rolling": rolling.snapshot(),
            "window": window.snapshot(),
            "group": groups.snapshot()["x"],
            "all groups": groups.snapshot().overall,
        }
        failed += [(metric.key, name) for name, each in snapshots.items() if own_value(metric, each) != expected]
        failed += [(metric.key, "fading")] * (own_value(metric, fading.snapshot()) != fading.get())
        failed += [(metric.key, "not read")] * (plain.get() == expected and metric.key not in ANY_VALUE)
        failed += [(metric.key, "equal to defaults")] * (plain.snapshot() == snapshot)
        data = json.loads(snapshot.with_keys([metric.key]).to_json())
        failed += [(metric.key, "JSON")] * (data["options"].keys() != {metric.key})
        failed += [(metric.key, "JSON of defaults")] * ("options" in plain.snapshot().to_dict())
    assert not failed


def test_reading_with_options_is_reading_a_metric_that_has_them() -> None:
    """`value`, `estimate`, `interval` and comparisons of groups take the options of the key that they read."""
    failed = []
    for metric in metrics_with_options():
        plain = type(metric)()
        options = OPTIONS[type(metric).__name__]
        for each in (metric, plain):
            each.update_many(TRUTH, predictions_of(metric))
        groups = [sm.ByGroup(each._emptied()) for each in (metric, plain)]
        for each in groups:
            each.update_many(TRUTH, predictions_of(metric), group=np.arange(240) % 3)
        with_own, without = metric.snapshot(), plain.snapshot()
        label = {"label": 1} if sm.metrics()[metric.key].kind == "per_class" else {}
        of_groups = [each.snapshot() for each in groups]

        def readings(snapshot: sm.Snapshot, group: sm.GroupSnapshot, **given: Any) -> list[Any]:
            read: list[Any] = [
                snapshot.value(metric.key, **label, **given),  # noqa: B023
                snapshot.estimate(metric.key, **label, **given),  # noqa: B023
                group.values_of(metric.key, **label, **given),  # noqa: B023
                group.gap(metric.key, **label, **given),  # noqa: B023
            ]
            try:
                read.append(snapshot.interval(metric.key, draws=50, **label, **given))  # noqa: B023
            except ValueError as error:
                read.append(str(error))
            return read

        own = readings(with_own, of_groups[0])
        failed += [metric.key] * (own != readings(without, of_groups[1], **options))
        if isinstance(interval := own[-1], sm.Interval):
            failed += [(metric.key, "interval")] * (not interval.low <= interval.value == own[0] <= interval.high)
    assert not failed


def test_two_models_are_compared_with_options() -> None:
    """The values are those of metrics of each model, in the interval of every method; defaults change nothing."""
    failed: list[Any] = []
    other = np.clip(TRUTH * 0.5 + rng.random(240) * 0.5, 0, 1)
    predicted = LABELS, (other > 0.7).astype(int)
    by_labels, by_units, by_scores = sm.Comparison(), sm.Comparison(), sm.Comparison(scores=True)
    by_labels.update_many(TRUTH, *predicted)
    by_units.update_many(TRUTH, *predicted, unit=np.arange(240) % 60)
    by_scores.update_many(TRUTH, SCORES, other)
    for metric in metrics_with_options():
        options = OPTIONS[type(metric).__name__]
        both = [metric, metric.copy()]
        scored = metric._reads != "labels"
        for each, columns in zip(both, (SCORES, other) if scored else predicted, strict=True):
            each.update_many(TRUTH, columns)
        label = {"label": 1} if sm.metrics()[metric.key].kind == "per_class" else {}
        defaults = {name: inspect.signature(type(metric)).parameters[name].default for name in options}
        for state in [by_scores] if scored else [by_labels, by_units]:
            read = partial(state.snapshot().difference, metric.key, **label, draws=50)
            try:
                plain, fixed, always = read(), read(**options), read(valid="anytime", **options)
            except ValueError:
                failed += [(metric.key, "refused")] * (metric.key not in ("roc_auc_single_score", "log_loss"))
                continue
            failed += [(metric.key, "defaults")] * (repr(read(**defaults)) != repr(plain))
            failed += [(metric.key, "value")] * ([fixed.a, fixed.b] != pytest.approx([each.get() for each in both]))
            for each in (fixed, always):
                failed += [(metric.key, "interval", each)] * (not each.note and not each.low <= each.value <= each.high)
        refused(lambda: read(wrong=1), ValueError)  # noqa: B023
    assert not failed


def test_defaults_can_be_asked_for_again() -> None:
    """An option that is given wins over that of the metric; what shows values names the options."""
    metric = sm.TopKAccuracy(k=3)
    rows = np.eye(4)[[0, 1, 2, 3, 0]] * 0.6 + 0.1
    metric.update_many([0, 2, 2, 1, 3], scores=rows, classes=[0, 1, 2, 3])
    snapshot = metric.snapshot()
    assert snapshot.value("top_k_accuracy", k=1) == 0.4 != snapshot["top_k_accuracy"]
    assert "Accuracy of the 3 largest" in str(snapshot)
    adjusted = sm.BalancedAccuracy(adjusted=True)
    adjusted.update_many(TRUTH, LABELS)
    assert "Balanced accuracy (adjusted=True)" in str(adjusted.snapshot())
    assert "(adjusted=True)" in adjusted.snapshot().to_frame("metrics").loc["balanced_accuracy", "title"]


def test_intervals_of_units_with_options_hold_the_certified_bounds() -> None:
    """A coarse sketch leaves a value open, with the options of the metric as with those that are given."""
    coarse = {"buckets": 2, "sample": 1}
    own, plain = sm.PartialROCAUC(max_fpr=0.3, **coarse), sm.PartialROCAUC(**coarse)
    for metric in (own, plain):
        metric.update_many(TRUTH, scores=SCORES, unit=np.arange(240) % 40)
    estimate = own.snapshot().estimate("partial_roc_auc")
    assert estimate.low < estimate.high
    for interval in (
        own.snapshot().interval("partial_roc_auc", label=1),
        plain.snapshot().interval("partial_roc_auc", label=1, max_fpr=0.3),
    ):
        assert isinstance(interval, sm.Interval)
        assert interval.low <= estimate.low <= estimate.high <= interval.high
