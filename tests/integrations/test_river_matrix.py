"""River's confusion matrices, read as ours."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from river import metrics, utils
from support.refusals import all_refused

import stream_metrics as sm
from stream_metrics.integrations.river import from_river

pytestmark = pytest.mark.quick
NAN = float("nan")
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


def test_it_goes_on_like_any_state() -> None:
    """What came from river merges with what was counted here, takes more samples and gives them back."""
    theirs, ours = filled(["a", "b"], [1.0])
    state = from_river(theirs).merge(ours)
    state.update("a", "c")
    state.revert("a", "c")

    assert state == ours.copy().merge(ours)
    assert sm.from_bytes(state.to_bytes()) == state


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
