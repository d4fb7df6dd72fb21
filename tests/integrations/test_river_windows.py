"""Windows, fading states and groups in river's APIs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from river import evaluate, forest, metrics, model_selection, utils
from support.refusals import refused
from support.river_outcomes import fed, logistic, outcomes, phishing

import stream_metrics as sm
from stream_metrics.integrations.river import RiverMetric, RiverWindow, as_river


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


@pytest.mark.parametrize("name", [*WINDOWS, *GROUPS])
def test_they_are_metrics_of_river(name: str) -> None:
    """Named after what they are, evaluated, cloned empty, pickled, copied, printed; windows have no `revert`."""
    make = {**WINDOWS, **GROUPS}[name]
    metric = as_river(make(), context=by_truth if name in GROUPS else None)
    assert type(metric).__name__ == name
    assert isinstance(metric, RiverWindow)
    assert metric.revert is None
    rolled = partial(utils.Rolling, type(metric), 5, metric=make(), context=by_truth)
    refused(rolled, ValueError, "protocol")  # river's words for what has no revert

    evaluate.progressive_val_score(phishing(100), logistic(), metric)
    value = metric.get()
    assert 0 < value < 1
    for twin in (copy.deepcopy(metric), metric.clone(include_attributes=True)):
        assert (type(twin), twin.get()) == (type(metric), value)
    assert (type(metric.clone()), metric.clone().live.n) == (type(metric), 0)
    assert repr(metric).startswith(f"{name}: ")
    revived = pickle.loads(pickle.dumps(metric))
    assert type(revived) is type(metric)
    assert revived.live.to_bytes() == metric.live.to_bytes()


def test_a_window_is_that_of_river() -> None:
    """After every sample our window has the value of river's window around the same metric."""
    for cls in (sm.MCC, sm.ROCAUC, sm.LogLoss, sm.MacroF1):
        ours, theirs = as_river(sm.Rolling(cls(), 20), undefined=-1.0), utils.Rolling(cls, 20)
        for truth, probabilities in outcomes():
            y_pred = max(probabilities, key=probabilities.get) if ours.requires_labels else probabilities
            for metric in (ours, theirs):
                metric.update(y_true=truth, y_pred=y_pred)
            expected = theirs.get()
            assert ours.get() == (pytest.approx(expected, abs=1e-12) if expected == expected else -1.0)


def test_windows_are_compared_and_composed() -> None:
    """Halving and forests hold windows, whose clones stay windows; `+` puts them beside metrics of river."""
    window = as_river(sm.Rolling(sm.Accuracy(), 25))
    chooser = model_selection.SuccessiveHalvingClassifier([logistic(), logistic()], window, budget=400)
    trees = forest.ARFClassifier(2, metric=window, seed=1)
    both = metrics.Accuracy() + window + as_river(sm.TimeWindow(sm.LogLoss(), "1h", clock=no_time))
    for model in (chooser, trees):
        evaluate.progressive_val_score(phishing(100), model, both)
        inside = vars(model)["_metrics"]
        assert {type(m).__name__ for m in inside} == {"Rolling(Accuracy, window=25)"}
        assert {m.snapshot().n + m.snapshot().abstained for m in inside} == {25}
    assert both[1].snapshot().n == 25
    assert both[2].snapshot().n == 199  # the first prediction of the forest is {}, which river leaves out


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


def test_shards_of_windows_of_time_merge() -> None:
    """Adapters of windows of time merge pane by pane; those of the last samples say why they do not."""
    times: Iterator[int] = iter(range(1000))
    whole, shards = as_river(sm.TimeWindow(sm.MCC(), 60)), [as_river(sm.TimeWindow(sm.MCC(), 60)) for _ in range(2)]
    for truth, probabilities in outcomes():
        t = next(times)
        for metric in (whole, shards[t % 2]):
            metric.update(truth, max(probabilities, key=probabilities.get), t=t)

    assert shards[0].merge(shards[1]).get() == whole.get() != 0
    assert shards[0].live == whole.live
    rolling = as_river(sm.Rolling(sm.MCC(), 5))
    refused(partial(rolling.merge, rolling.clone()), sm.MergeError, "TimeWindow merges")


def test_abstentions_take_a_place_in_a_window() -> None:
    """None and {} push the oldest sample out of a window, as any sample does."""
    metric = fed(as_river(sm.Rolling(sm.Accuracy(), 3)), [(True, {True: 0.9, False: 0.1})] * 3)
    for nothing in (None, {}):
        metric.update(y_true=False, y_pred=nothing)

    assert (metric.snapshot().n, metric.snapshot().abstained, metric.get()) == (1, 2, 1.0)
