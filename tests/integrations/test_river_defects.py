"""Defects of river 0.26.1: for each, a test that our metrics do not have it."""

from __future__ import annotations

import math
import random
import tracemalloc
from functools import partial
from typing import Any

import pytest
from river import metrics
from support.metric_classes import CLASSES
from support.refusals import all_refused

import stream_metrics as sm
from stream_metrics.integrations.river import as_river

pytestmark = pytest.mark.quick
NAN = float("nan")


def fed(metric: Any, samples: Any) -> Any:
    """Return the metric after the samples."""
    for sample in samples:
        metric.update(*sample)
    return metric


def test_01_any_label_may_be_the_positive_one() -> None:
    """A perfect prediction is 1.0 for any positive label, and F1 of class 0 is not that of class 1."""
    for positive, negative in [("spam", "ham"), (0, 1), (False, True), (7, 8)]:
        for cls in (sm.Precision, sm.Recall, sm.F1, sm.Jaccard):
            assert fed(as_river(cls(pos_label=positive)), [(positive, positive), (negative, negative)]).get() == 1.0
        assert fed(sm.ROCAUC(pos_label=positive), [(positive, 0.9), (negative, 0.1)]).get() == 1.0
    samples = [(0, 0), (0, 1), (1, 1), (0, 0), (1, 0)]
    assert [fed(sm.F1(pos_label=label), samples).get() for label in (0, 1)] == [2 / 3, 0.5]


def test_05_a_true_label_without_probability_is_not_perfect() -> None:
    """The log loss of a mapping that lacks the true label is that of probability 0, with its floor."""
    metric = fed(as_river(sm.LogLoss()), [("a", {"b": 0.5, "c": 0.5})])

    assert metric.get() == pytest.approx(-math.log(2.0**-52), abs=0.01)
    assert metric.get() == fed(sm.LogLoss(), [("a", {"a": 0.0, "b": 0.5, "c": 0.5})]).get()


def test_06_adapters_of_one_state_do_not_count_for_each_other() -> None:
    """Eight samples count as eight however many values are read from one accumulator."""
    shared, samples = sm.ConfusionMatrix(), list(zip("abcdefga", "abdcefab", strict=True))
    children = [as_river(shared, key) for key in ("accuracy", "macro_f1", "matthews_corrcoef")]
    fed(metrics.base.Metrics(children), samples)

    assert [child.snapshot().n for child in children] == [8, 8, 8]
    assert [child.get() for child in children] == [
        fed(metric, samples).get() for metric in (sm.Accuracy(), sm.MacroF1(), sm.MCC())
    ]


def test_07_a_window_survives_clone_and_compositions() -> None:
    """The clone of a window is a window, it stays one in a list, and a snapshot in a step does not move."""
    window = as_river(sm.Rolling(sm.Accuracy(), 3)).clone()
    fed(window, [("a", "b")] * 5 + [("a", "a")] * 3)
    assert window.get() == 1.0

    both = (window + as_river(sm.MCC())).clone() + as_river(sm.Rolling(sm.Accuracy(), 2)) + metrics.Accuracy()
    fed(both, [("a", "a"), ("a", "b"), ("a", "a"), ("a", "a")])
    assert both.get() == [2 / 3, 0.0, 1.0, 0.75]
    areas = as_river(sm.Rolling(sm.ROCAUC(), 50)) + as_river(sm.Rolling(sm.AveragePrecision(), 50)) + metrics.Accuracy()
    fed(areas, [(truth, {True: p, False: 1 - p}) for truth, p in [(True, 0.9), (False, 0.3), (True, 0.2)]])
    assert areas.get() == [0.5, pytest.approx(5 / 6), pytest.approx(2 / 3)]

    snapshot = fed(window, [("a", "a")]).snapshot()
    fed(window, [("a", "b")] * 3)
    assert (snapshot["accuracy"], window.get()) == (1.0, 0.0)


def test_09_a_window_takes_bounded_memory_and_survives_none() -> None:
    """Without any reading in between, memory does not grow with the stream; a prediction of None does no harm."""
    window, rng = as_river(sm.Rolling(sm.ROCAUC(), 100)), random.Random(9)

    def feed(n: int) -> None:
        for _ in range(n):
            window.update(rng.random() < 0.5, {True: rng.random()})

    feed(2000)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    feed(5000)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000

    window.update(True, None)
    assert 0 < window.get() < 1


def test_11_labels_leave_with_their_samples() -> None:
    """A window over ever new labels keeps those in it; reading a class adds none; a fixed set of labels is obeyed."""
    window = as_river(sm.Rolling(sm.Accuracy(), 100))
    for at in range(5000):
        window.update(f"label {at}", f"label {at}")
    state = window.live.state.state
    assert len(state.labels) == 100

    snapshot = window.snapshot()
    assert snapshot.per_class["recall"].get("never seen") is None
    assert len(state.labels) == len(snapshot.labels) == 100
    with pytest.raises(sm.LabelError):
        as_river(sm.Accuracy(labels=["a", "b"])).update("c", "a")


def test_12_wrong_input_is_refused() -> None:
    """Labels and weights that are no such thing raise and leave the value as it was; None is an abstention."""
    wrong = {
        sm.LabelError: [("a", math.inf), (NAN, "a"), (None, "a")],
        sm.WeightError: [("a", "a", NAN), ("a", "a", -1), ("a", "a", math.inf)],
    }
    for metric in (sm.Accuracy(), as_river(sm.Accuracy())):
        fed(metric, [("a", "a"), ("b", "a"), ("b", None)])
        all_refused((partial(metric.update, *sample), error, "") for error in wrong for sample in wrong[error])
        assert (metric.get(), metric.snapshot().labels, metric.snapshot().abstained) == (0.5, ("a", "b"), 1)
    one_class = [(sm.ROCAUC(), ("a", {"a": 0.5, "b": 0.5})), (sm.F1(), ("a", "b")), (sm.LogLoss(), ("spam", 0.9))]
    all_refused(
        (partial(as_river(metric).update, *sample), sm.LabelError, "pass pos_label=") for metric, sample in one_class
    )


def test_13_without_data_nothing_is_better() -> None:
    """A metric of scores without samples, or of one class, is no better than one that was fed, and not a silent 0."""
    samples = [(True, {True: 0.9, False: 0.1}), (False, {True: 0.2, False: 0.8}), (True, {True: 0.4, False: 0.6})]
    for cls in (cls for cls in CLASSES.values() if not cls.requires_labels):
        empty, trained = as_river(cls()), fed(as_river(cls()), samples)
        assert repr(empty).endswith(": undefined")
        assert math.isnan(cls().get())
        assert not empty.is_better_than(trained)
        assert not cls().is_better_than(trained)
    assert math.isnan(fed(sm.ROCAUC(), [(True, 0.3), (True, 0.9)]).get())


def test_15_the_geometric_mean_is_of_true_classes() -> None:
    """A class that is only ever predicted takes no part."""
    samples = list(zip("aaabbbbba", "acabcabba", strict=True))

    assert fed(sm.GeometricMean(), samples).get() == pytest.approx(math.sqrt(3 / 4 * 3 / 5), abs=1e-12)


def test_16_a_matrix_has_a_value_and_a_report_is_data() -> None:
    """A confusion matrix can be read in a loop; its report is data, prints mixed labels, and bears abstentions."""
    metric = as_river(sm.ConfusionMatrix())
    fed(metric, [("a", "a"), (1, "a"), (("x", 2), "a"), ("a", None)])
    data = metric.snapshot().to_dict()

    assert metric.get() == 1 / 3
    assert data["abstained"] == 1
    assert "accuracy" in str(metric.snapshot()).lower()


def test_17_a_first_weight_of_zero() -> None:
    """A sample without weight at the beginning is none."""
    metric = as_river(sm.LogLoss())
    metric.update(True, {True: 0.5}, 0)
    assert repr(metric) == "LogLoss: undefined"

    metric.update(True, {True: 0.5, False: 0.5})
    assert metric.get() == pytest.approx(math.log(2))
