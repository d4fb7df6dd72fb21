"""The adapter alone, windows and groups in river's APIs, and river's matrices: names, inputs, states and errors."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import random
from functools import partial
from typing import Any

import pytest
from river import evaluate, metrics, utils
from support.refusals import all_refused, refused
from support.river_outcomes import ADAPTED, fed, logistic, outcomes, phishing

import stream_metrics as sm
from stream_metrics.integrations.river import RiverMetric, RiverWindow, as_river, from_river

pytestmark = pytest.mark.quick
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
    high = sm.BrierScore._row.high
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
    window = partial(utils.Rolling, RiverWindow, 5, metric=sm.MCC())
    refused(window, ValueError, "protocol")  # river's words for what has no revert


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


def no_time() -> float:
    """A clock that stands still."""
    return 0.0


def by_truth() -> dict[str, Any]:
    """The same group for every sample."""
    return {"group": "all"}


WINDOWS = {
    "Rolling(MCC, window=30)": lambda: sm.Rolling(sm.MCC(), 30),
    "Rolling(ROCAUC, window=30)": lambda: sm.Rolling(sm.ROCAUC(), 30),
    "Rolling(FBeta(beta=2.0), window=30)": lambda: sm.Rolling(sm.FBeta(2.0), 30),
    "Rolling(MetricSet(accuracy), window=30)": lambda: sm.Rolling(sm.MetricSet(scores=True), 30),
    "TimeWindow(F1, period='1h')": lambda: sm.TimeWindow(sm.F1(), "1h", clock=no_time),
    "TimeWindow(MetricSet(accuracy), period='1h', panes=1)": lambda: sm.TimeWindow(
        sm.MetricSet(), "1h", 1, clock=no_time
    ),
    "Fading(MacroF1, half_life=50)": lambda: sm.Fading(sm.MacroF1(), 50),
    "Fading(MetricSet(log_loss), half_life=50)": lambda: sm.Fading(sm.MetricSet(["log_loss"]), 50),
}
GROUPS = {
    "ByGroup(FBeta(beta=2.0))": lambda: sm.ByGroup(sm.FBeta(2.0)),
    "ByGroup(MetricSet(accuracy), max_groups=1)": lambda: sm.ByGroup(sm.MetricSet(), max_groups=1),
    "ByGroup(TimeWindow(MCC, period='1h'))": lambda: sm.ByGroup(sm.TimeWindow(sm.MCC(), "1h", clock=no_time)),
    "TimeWindow(ByGroup(MCC), period='1h')": lambda: sm.TimeWindow(sm.ByGroup(sm.MCC()), "1h", clock=no_time),
    "Rolling(ByGroup(ROCAUC), window=30)": lambda: sm.Rolling(sm.ByGroup(sm.ROCAUC()), 30),
}


def test_windows_and_groups_are_metrics_of_river() -> None:
    """Named after what they are, evaluated, cloned empty, pickled, copied, printed; windows have no `revert`."""
    for name, make in {**WINDOWS, **GROUPS}.items():
        metric = as_river(make(), context=by_truth if name in GROUPS else None)
        assert type(metric).__name__ == name
        assert isinstance(metric, RiverWindow)
        assert metric.revert is None
        rolled = partial(utils.Rolling, type(metric), 5, metric=make(), context=by_truth)
        refused(rolled, ValueError, "protocol")  # river's words for what has no revert

        evaluate.progressive_val_score(phishing(100), logistic(), metric)
        value = metric.get()
        assert 0 < value < 1
        assert repr(metric).startswith(f"{name}: ")
        twins = copy.deepcopy(metric), metric.clone(include_attributes=True), pickle.loads(pickle.dumps(metric))
        for twin in twins:
            assert type(twin) is type(metric)
            assert twin.live.to_bytes() == metric.live.to_bytes()
            assert twin.get() == value or "TimeWindow" in name  # which follows a clock
        assert (type(metric.clone()), metric.clone().live.n) == (type(metric), 0)


def test_groups_are_read_together_or_by_a_function() -> None:
    """The value is that of all groups together; a function reads what lies between them."""
    country = iter(["fr", "de"] * 60)

    def grouped() -> dict[str, Any]:
        return {"group": next(country)}

    metric = as_river(sm.ByGroup(sm.MetricSet()), "recall", True, context=grouped)
    gap = as_river(sm.ByGroup(sm.MetricSet()), widest, better="lower")
    plain, halves = sm.Recall(), [sm.Recall(), sm.Recall()]
    for at, (truth, probabilities) in enumerate(outcomes()):
        predicted = max(probabilities, key=probabilities.get)
        metric.update(truth, predicted)
        gap.update(truth, predicted, group=at % 2)
        for fresh in (plain, halves[at % 2]):
            fresh.update(truth, predicted)

    assert (metric.get(), metric.snapshot()["fr"].n) == (plain.get(), 60)
    with_options, beta = as_river(sm.ByGroup(sm.FBeta(2.0))), sm.FBeta(2.0)
    for truth, predicted in [(True, False), (True, False), (True, True), (False, True)]:
        with_options.update(truth, predicted, group=predicted)
        beta.update(truth, predicted)
    assert with_options.get() == beta.get() == 5 / 14
    assert gap.get() == abs(halves[0].get() - halves[1].get()) > 0
    assert not gap.bigger_is_better
    refused(partial(as_river, sm.ByGroup(sm.Rolling(sm.MCC(), 5))), ValueError, "the groups cannot be read together")


def widest(snapshot: Any) -> float:
    """Return the largest difference of recall between groups."""
    return float(snapshot.max_gap("recall", label=True))


def test_groups_go_into_a_window_of_river() -> None:
    """River's window takes groups back, where none are folded."""
    window = utils.Rolling(RiverMetric, 10, metric=sm.ByGroup(sm.Accuracy()))
    own = as_river(sm.Rolling(sm.ByGroup(sm.Accuracy()), 10))
    for at in range(40):
        for metric in (window, own):
            metric.update(at % 3, at % 2, group=at % 4)
        assert window.get() == own.get()


def test_a_window_of_time_is_read_by_its_clock() -> None:
    """No value is kept where time alone changes it; `t` and `group` can be given by hand too."""
    now = [0.0]
    metric = as_river(sm.TimeWindow(sm.Accuracy(), 60, 6, clock=lambda: now[0]))
    metric.update("a", "a")
    assert metric.get() == 1.0
    now[0] = 120.0
    assert (metric.get(), metric.snapshot().n) == (0.0, 0)

    timed = as_river(sm.TimeWindow(sm.Accuracy(), 60, 6))
    for t, predicted in [(0.0, "b"), (65.0, "a")]:
        timed.update("a", predicted, t=t)
    assert timed.get() == 1.0


def test_wrong_input_is_refused() -> None:
    """Labels and weights that are no such thing raise and leave the value as it was; None is an abstention."""
    metric = as_river(sm.Accuracy())
    for predicted in ("a", "b", None):
        metric.update("a", predicted)
    bad = [(("a", math.inf), sm.LabelError), ((NAN, "a"), sm.LabelError), (("a", "a", -1), sm.WeightError)]
    all_refused((partial(metric.update, *sample), error, "") for sample, error in bad)
    assert (metric.get(), metric.snapshot().labels, metric.snapshot().abstained) == (0.5, ("a", "b"), 1)
    of_one_class = [(sm.ROCAUC(), {"a": 0.5, "b": 0.5}), (sm.F1(), "b"), (sm.LogLoss(), 0.9)]
    all_refused((partial(as_river(each).update, "a", p), sm.LabelError, "pass pos_label=") for each, p in of_one_class)


def test_a_matrix_has_a_value_and_a_report_is_data() -> None:
    """A confusion matrix is read as its accuracy; its report is data, prints mixed labels, and bears abstentions."""
    metric = as_river(sm.ConfusionMatrix())
    for sample in [("a", "a"), (1, "a"), (("x", 2), "a"), ("a", None)]:
        metric.update(*sample)

    assert (metric.get(), metric.snapshot().to_dict()["abstained"]) == (1 / 3, 1)
    assert "accuracy" in str(metric.snapshot()).lower()


LABELS = [["a", "b", "c"], [True, False], [0, 1, 2.0], ["x", 1, (1, "y")]]


def filled(labels: list[Any], weights: list[float], n: int = 200) -> tuple[metrics.ConfusionMatrix, sm.ConfusionMatrix]:
    """Return river's matrix and ours of the same random samples."""
    rng = random.Random(str(labels))
    theirs, ours = metrics.ConfusionMatrix(), sm.ConfusionMatrix()
    for _ in range(n):
        sample = rng.choice(labels), rng.choice(labels), rng.choice(weights)
        theirs.update(*sample)
        ours.update(*sample)
    return theirs, ours


def test_counts_and_weights_are_those_of_river() -> None:
    """Plain counts become the very state of the samples; with weights cells, labels, numbers and values agree."""
    for labels in LABELS:
        theirs, ours = filled(labels, [1.0])
        assert from_river(theirs) == ours

        for weights in ([0.0, 2.0, 3.0], [0.5, 0.25, 1.0]):
            theirs, ours = filled(labels, weights)
            state = from_river(theirs)
            assert (state.labels, state.n, state.weight) == (ours.labels, ours.n, ours.weight)
            assert state.matrix.tolist() == ours.matrix.tolist()
            assert state.snapshot()["macro_f1"] == ours.snapshot()["macro_f1"]
    assert from_river(metrics.ConfusionMatrix()) == sm.ConfusionMatrix()


def test_metrics_of_river_bring_their_matrix() -> None:
    """The matrix of a metric of river's, also of one inside a window, is found; a binary one holds True and False."""
    accuracy, recall = metrics.Accuracy(), metrics.Recall(pos_val="spam")
    window = utils.Rolling(metrics.MacroF1, window_size=2)
    for sample in [("spam", "ham"), ("spam", "spam"), ("ham", "ham")]:
        for metric in (accuracy, recall, window):
            metric.update(*sample)

    assert from_river(accuracy).labels == ("ham", "spam")
    assert from_river(recall).snapshot().per_class["recall"][True] == 0.5
    assert from_river(window).n == 2
    assert from_river(window).correct == 2


def test_what_reverts_have_left_is_no_class() -> None:
    """The residue of weights in a window of river's does not become a class."""
    window = utils.Rolling(metrics.MacroPrecision, window_size=3)
    rng = random.Random(1)
    for at in range(300):
        label = f"class_{rng.randrange(5) if at < 290 else 9}"
        window.update(label, label, rng.choice([0.1, 0.2, 0.7]))
    state = from_river(window)

    assert len(window.cm.classes) > 1
    assert state.labels == ("class_9",)


def test_none_is_an_abstention() -> None:
    """River counts a prediction of None as a class; here it is an abstention."""
    theirs = metrics.ConfusionMatrix()
    for sample in [("a", None), ("a", "a"), ("b", None)]:
        theirs.update(*sample)
    state = from_river(theirs)

    assert (state.n, state.abstained, state.labels) == (1, 2, ("a",))


def test_what_river_should_not_have_counted() -> None:
    """A truth of None, labels that are nan, and cells that are negative or nan are refused, and so is no matrix."""
    calls = []
    for sample, error, argument in [
        ((None, "a", 1), sm.LabelError, "y_true"),
        ((NAN, "a", 1), sm.LabelError, "y_true"),
        (("a", NAN, 1), sm.LabelError, "y_pred"),
        (("a", "b", -1), sm.WeightError, "w"),
        (("a", "b", NAN), sm.WeightError, "w"),
    ]:
        theirs = metrics.ConfusionMatrix()
        theirs.update(*sample)
        calls.append((partial(from_river, theirs), error, f"`{argument}`"))
    for other in (metrics.MAE(), 5, metrics.multioutput.MultiLabelConfusionMatrix(), sm.MCC()):
        calls.append((partial(from_river, other), TypeError, f"but got {type(other).__name__}"))
    all_refused(calls)
