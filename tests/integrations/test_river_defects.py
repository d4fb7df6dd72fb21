"""Defects of river 0.26.1: for each, a test that our metrics do not have it."""

from __future__ import annotations

import math
import random
import tracemalloc
from functools import partial
from typing import Any

import pytest
from river import metrics, utils
from sklearn import metrics as sk
from support.metric_classes import CLASSES
from support.refusals import all_refused
from support.river_outcomes import every_class

import stream_metrics as sm
from stream_metrics.integrations.river import as_river

NAN = float("nan")
SEVEN = list("abcdefg")


def fed(metric: Any, samples: Any) -> Any:
    """Return the metric after the samples."""
    for sample in samples:
        metric.update(*sample)
    return metric


def pairs(labels: list[Any], n: int, seed: int) -> list[tuple[Any, Any]]:
    """Return random pairs of labels, half of them right."""
    rng = random.Random(seed)
    truths = [rng.choice(labels) for _ in range(n)]
    return [(truth, truth if rng.random() < 0.5 else rng.choice(labels)) for truth in truths]


def test_01_any_label_may_be_the_positive_one() -> None:
    """A perfect prediction is 1.0 for any positive label, and F1 of class 0 is not that of class 1."""
    for positive, negative in [("spam", "ham"), (0, 1), (False, True), (7, 8)]:
        for cls in (sm.Precision, sm.Recall, sm.F1, sm.Jaccard):
            assert fed(as_river(cls(pos_label=positive)), [(positive, positive), (negative, negative)]).get() == 1.0
        assert fed(sm.ROCAUC(pos_label=positive), [(positive, 0.9), (negative, 0.1)]).get() == 1.0

    samples = [(0, 0), (0, 1), (1, 1), (0, 0), (1, 0)]
    expected = sk.f1_score(*zip(*samples, strict=True), pos_label=0)
    assert fed(sm.F1(pos_label=0), samples).get() == pytest.approx(expected, abs=1e-12)
    assert fed(sm.F1(pos_label=0), samples).get() != fed(sm.F1(pos_label=1), samples).get()


def test_02_weights_leave_no_residue_in_a_window() -> None:
    """Windows with fractional weights, river's around ours and ours, are fresh metrics after every sample."""
    for cls in (sm.MacroPrecision, sm.MacroRecall, sm.MacroF1, sm.MacroJaccard, sm.BalancedAccuracy):
        rng = random.Random(cls.__name__)
        samples = [(rng.choice(SEVEN), rng.choice(SEVEN), rng.choice([0.1, 0.2, 0.7, 1 / 3])) for _ in range(150)]
        theirs, own = utils.Rolling(cls, 10), as_river(sm.Rolling(cls(), 10))
        for at, sample in enumerate(samples, 1):
            theirs.update(*sample)
            own.update(*sample)
            fresh = fed(cls(), samples[max(0, at - 10) : at])
            assert theirs.get() == own.get() == fresh.get()
            assert theirs.state.labels == fresh.state.labels


def test_03_ties_are_worth_half() -> None:
    """The area of a window with ties is scikit-learn's, on scores of few values and on 0 and 1."""
    rng = random.Random(3)
    for values in ([0.0, 1.0], [0.25, 0.5, 0.75]):
        samples = [(rng.random() < 0.4, rng.choice(values)) for _ in range(200)]
        window = as_river(sm.Rolling(sm.ROCAUC(), 40))
        for at, (truth, score) in enumerate(samples, 1):
            window.update(truth, {True: score, False: 1 - score})
            recent = samples[max(0, at - 40) : at]
            if at % 7 == 0 and 0 < sum(t for t, _ in recent) < len(recent):
                assert window.get() == pytest.approx(sk.roc_auc_score(*zip(*recent, strict=True)), abs=1e-12)


def test_04_a_window_of_areas_goes_into_metrics() -> None:
    """A list of metrics with windows of areas takes updates, which river feeds with a weight."""
    both = as_river(sm.Rolling(sm.ROCAUC(), 50)) + as_river(sm.Rolling(sm.AveragePrecision(), 50)) + metrics.Accuracy()
    fed(both, [(truth, {True: p, False: 1 - p}) for truth, p in [(True, 0.9), (False, 0.3), (True, 0.2)]])
    assert both.get() == [0.5, pytest.approx(5 / 6), pytest.approx(2 / 3)]


def test_05_a_true_label_without_probability_is_not_perfect() -> None:
    """The log loss of a mapping that lacks the true label is that of probability 0, with its floor."""
    metric = fed(as_river(sm.LogLoss()), [("a", {"b": 0.5, "c": 0.5})])

    assert metric.get() == pytest.approx(-math.log(2.0**-52), abs=0.01)
    assert metric.get() == fed(sm.LogLoss(), [("a", {"a": 0.0, "b": 0.5, "c": 0.5})]).get()


def test_06_adapters_of_one_state_do_not_count_for_each_other() -> None:
    """Eight samples count as eight however many values are read from one accumulator."""
    shared, samples = sm.ConfusionMatrix(), pairs(SEVEN, 8, 6)
    children = [as_river(shared, key) for key in ("accuracy", "macro_f1", "matthews_corrcoef")]
    fed(metrics.base.Metrics(children), samples)

    assert [child.snapshot().n for child in children] == [8, 8, 8]
    assert [child.get() for child in children] == [
        fed(CLASSES[n](), samples).get() for n in ("Accuracy", "MacroF1", "MCC")
    ]


def test_07_a_window_survives_clone_and_compositions() -> None:
    """The clone of a window is a window, it stays one in a list, and a snapshot in a step does not move."""
    window = as_river(sm.Rolling(sm.Accuracy(), 3)).clone()
    fed(window, [("a", "b")] * 5 + [("a", "a")] * 3)
    assert window.get() == 1.0

    both = (window + as_river(sm.MCC())).clone() + as_river(sm.Rolling(sm.Accuracy(), 2))
    fed(both, [("a", "a"), ("a", "b"), ("a", "a"), ("a", "a")])
    assert both.get() == [2 / 3, 0.0, 1.0]

    snapshot = fed(window, [("a", "a")]).snapshot()
    fed(window, [("a", "b")] * 3)
    assert (snapshot["accuracy"], window.get()) == (1.0, 0.0)


def test_08_reverting_several_outputs_takes_them_back() -> None:
    """What was counted for several outputs and reverted is gone."""
    average = metrics.multioutput.MacroAverage(as_river(sm.ConfusionMatrix()))
    average.update({0: True, 1: False}, {0: True, 1: True})
    average.revert({0: True, 1: False}, {0: True, 1: True})

    assert [metric.snapshot().n for metric in average.metrics.values()] == [0, 0]


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


def test_10_true_negatives_and_mcc_of_many_classes() -> None:
    """True negatives are all samples neither of the class nor predicted as it; MCC is scikit-learn's for any labels."""
    for labels in (SEVEN, [0, 1, 2], ["x", "y"]):
        samples = pairs(labels, 300, 10)
        negatives = fed(sm.MetricSet(["tn"]), samples).snapshot().per_class["tn"][labels[0]]
        assert negatives == sum(labels[0] not in sample for sample in samples)
        expected = sk.matthews_corrcoef(*zip(*samples, strict=True))
        assert fed(as_river(sm.MCC()), samples).get() == pytest.approx(expected, abs=1e-12)


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


def test_12_seven_classes_of_text() -> None:
    """On text labels log loss is scikit-learn's; a metric of one class asks which it is."""
    samples = pairs(SEVEN, 200, 12)
    soft = [(t, {label: 0.4 if label == p else 0.1 for label in SEVEN}) for t, p in samples]
    table = [[scores[label] for label in SEVEN] for _, scores in soft]
    expected = sk.log_loss([t for t, _ in samples], table, labels=SEVEN)
    assert fed(sm.LogLoss(), soft).get() == pytest.approx(expected, abs=1e-9)

    one_class = [(sm.ROCAUC(), soft[0]), (sm.F1(), samples[0]), (sm.LogLoss(), ("spam", 0.9))]
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


def test_14_a_weight_of_two_is_a_sample_twice() -> None:
    """Every metric of labels treats a weight of 2 as two samples; tests, which are about samples, refuse it."""
    samples = pairs(["a", "b", "c"], 30, 14)
    for name, cls, options in every_class(["a", "b", "c"], scored=False):
        if cls.row.needs != "samples":
            weighted = fed(cls(**options), [(*sample, 2.0) for sample in samples])
            twice = fed(cls(**options), samples + samples).get()
            assert weighted.get() == pytest.approx(twice, abs=1e-12, nan_ok=True), name


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
