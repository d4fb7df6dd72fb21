"""Values that cannot be computed are named alike everywhere: weighted samples, pairs of fractions, huge tables."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from support.refusals import refused
from support.values import html

import stream_metrics as sm

pytestmark = pytest.mark.quick
TESTS = ["nir_p_value", "majority_p_value", "mcnemar", "mcnemar_p_value"]


def counted(weight: float | None) -> sm.MetricSet:
    """Return a set after 300 samples of that weight; None: of weight 1, but one of weight 0."""
    metrics, rng = sm.MetricSet(), np.random.default_rng(5)
    w = np.ones(300) if weight is None else np.full(300, weight)
    if weight is None:
        w[7] = 0
    metrics.update_many(rng.integers(0, 2, 300), rng.integers(0, 2, 300), w)
    return metrics


@pytest.mark.parametrize("weight", [3, 1e-3, 10**6, 0.5, None])
def test_a_test_of_weighted_samples_is_refused(weight: float | None) -> None:
    """No p-value depends on the unit of weights: it is omitted, and asking for it by name raises with the reason."""
    snapshot = counted(weight).snapshot()
    for key in TESTS:
        about = f"samples of weight 1 for '{key}', but 300 samples weigh {snapshot.weight}"
        for read in (snapshot.__getitem__, snapshot.value, snapshot.estimate):
            refused(lambda key=key, read=read: read(key), ValueError, about)  # type: ignore[misc]
        assert key not in snapshot
        assert snapshot.omitted[key] == f"needs samples of weight 1, but 300 samples weigh {snapshot.weight}"

    pairs = ["pair_fowlkes_mallows"] if weight in (1e-3, 0.5) else []
    values, data = dict(snapshot), json.loads(snapshot.to_json())
    assert snapshot.omitted.keys() == {*TESTS, *pairs} == data["omitted"].keys()
    assert data["metrics"].keys() - values.keys() == {"majority_class"}  # whose value is a label
    assert len(snapshot) == len(values)
    for text in (snapshot.report(140), html(snapshot)):
        assert f"no p-value, which {snapshot.omitted['nir_p_value']}" in text


def test_abstentions_are_no_samples() -> None:
    """An abstention has no weight in the matrix, so that it changes no p-value, regardless of its weight."""
    metrics = counted(1)
    before = {key: metrics.get()[key] for key in TESTS}
    metrics.update(1, None, 5)
    metrics.update(0, None, 0.25)

    assert {key: metrics.get()[key] for key in TESTS} == before
    assert not metrics.get().omitted


def test_a_comparison_refuses_weights() -> None:
    """Neither McNemar's test nor evidence nor a difference in pairs of samples is given of weighted samples."""
    both = sm.Comparison("old", "new")
    for at in range(60):
        both.update(at % 2, 0, at % 3 % 2, w=3, unit=at)
    taken = both.snapshot()

    for call in (taken.mcnemar, taken.evidence, lambda: taken.difference("pair_fowlkes_mallows")):
        refused(call, ValueError, "samples of weight 1")


def test_get_returns_what_there_is_above_4096_classes() -> None:
    """`get` does not fail as a whole because of tables that are too large; it names them."""
    metrics, live = sm.MetricSet(), sm.GeneralizedMCC()
    for state in (metrics, live):
        state.update_many(np.arange(5000), np.arange(5000))
    values = metrics.get()

    assert values["accuracy"] == 1.0
    assert values.omitted["generalized_mcc"] == "needs at most 4096 classes, but got 5000"
    assert not values.keys() & values.omitted.keys()
    assert repr(values).endswith(f" without {values.omitted!r}")
    assert pickle.loads(pickle.dumps(values)) == values.copy() == values
    assert pickle.loads(pickle.dumps(values)).omitted == values.omitted
    refused(live.get, ValueError, "'generalized_mcc', but got 5000")
    assert repr(live) == "GeneralizedMCC: needs at most 4096 classes, but got 5000"


def test_a_key_without_its_state_is_omitted() -> None:
    """A key that reads scores is omitted in a snapshot of labels, and raises when it is asked for."""
    taken = sm.Snapshot(sm.ConfusionMatrix.from_matrix([[2, 1], [1, 3]]), keys=["accuracy", "roc_auc_ovr", "roc_auc"])

    assert list(taken) == ["accuracy"]
    assert list(taken.per_class) == []
    assert taken.omitted.keys() == {"roc_auc_ovr", "roc_auc"}
    assert taken.omitted["roc_auc"].startswith("needs scores")
    refused(lambda: taken["roc_auc"], KeyError, "'roc_auc' needs scores")


def test_chosen_keys_and_groups_say_what_they_leave_out() -> None:
    """A report of chosen keys names it with the reason; groups compare those that have a value, if any has."""
    metrics = sm.MetricSet(["accuracy", "mcnemar_p_value"])
    metrics.update_many([1, 0, 1], [1, 1, 1], [2, 2, 2])
    groups, halves = sm.ByGroup(sm.MetricSet(["pair_fowlkes_mallows"])), sm.ByGroup(sm.MetricSet())
    for at in range(40):
        groups.update(at % 2, at % 3 % 2, 1 if at % 2 else 0.3, group=("half", "one")[at % 2])
    halves.update("a", "a", 0.5, group="g")
    taken = groups.snapshot()

    for text in (metrics.snapshot().report(160), html(metrics.snapshot())):
        assert "differ in their totals needs samples of weight 1, but 3 samples weigh 6" in text
    assert dict(metrics.get()) == {"accuracy": 4 / 6}
    assert list(taken.values_of("pair_fowlkes_mallows")) == ["one"]
    assert "-: half: Fowlkes-Mallows over pairs of samples needs whole weights, but a weight" in taken.report(160)
    refused(lambda: taken["half"]["nir_p_value"], ValueError, "'nir_p_value'")
    refused(lambda: halves.snapshot().worst("pair_fowlkes_mallows"), ValueError, "'pair_fowlkes_mallows'")
