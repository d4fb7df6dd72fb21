"""Values that cannot be computed are named alike everywhere: weighted samples, pairs of fractions, huge tables."""

from __future__ import annotations

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.snapshots.snapshot import Snapshot

TESTS = [row.key for row in CATALOG.values() if row.family == "Tests"]
WEIGHTS = {"three": 3, "thousandth": 1e-3, "million": 10**6, "zero beside one": None}


def counted(weight: float | None) -> sm.MetricSet:
    """Return a set after 300 samples of that weight; None: of weight 1, but one of weight 0."""
    metrics, rng = sm.MetricSet(), np.random.default_rng(5)
    w = np.ones(300) if weight is None else np.full(300, weight)
    if weight is None:
        w[7] = 0
    metrics.update_many(rng.integers(0, 2, 300), rng.integers(0, 2, 300), w)
    return metrics


def test_every_test_of_the_catalog_is_about_samples() -> None:
    """The rows of the family of tests, and no other, need samples of weight 1."""
    assert [row.key for row in CATALOG.values() if row.needs == "samples"] == TESTS
    assert len(TESTS) == 4


@pytest.mark.parametrize("key", TESTS)
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_a_test_of_weighted_samples_is_refused(key: str, weight: float | None) -> None:
    """No p-value depends on the unit of weights: it is omitted, and asking for it by name raises with the reason."""
    metrics = counted(weight)
    snapshot = metrics.snapshot()
    message = f"Expected samples of weight 1 for '{key}', but 300 samples weigh {snapshot.weight}"
    for read in (lambda: snapshot[key], lambda: snapshot.value(key), lambda: snapshot.estimate(key)):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read()

    assert key not in snapshot
    assert snapshot.omitted[key] == f"needs samples of weight 1, but 300 samples weigh {snapshot.weight}"


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
    snapshot = both.snapshot()
    for call in (snapshot.mcnemar, snapshot.evidence, lambda: snapshot.difference("pair_fowlkes_mallows")):
        with pytest.raises(ValueError, match="samples of weight 1"):
            call()


@pytest.mark.parametrize("make", [counted(3).snapshot, counted(0.5).snapshot], ids=["whole", "fractions"])
def test_everything_that_is_listed_can_be_read(make: Any) -> None:
    """Iteration, `in`, length, get, data and report agree on what there is, and name the rest."""
    snapshot = make()
    values = {key: snapshot[key] for key in snapshot}
    data = json.loads(snapshot.to_json())

    assert all(key in snapshot for key in values)
    assert len(snapshot) == len(values)
    assert snapshot.omitted.keys() == {*TESTS, *(["pair_fowlkes_mallows"] if snapshot.weight == 150 else [])}
    assert data["omitted"] == snapshot.omitted
    assert data["metrics"].keys() == values.keys()
    for text in (snapshot.report(140), snapshot._repr_html_()):
        assert f"no p-value, which {snapshot.omitted['nir_p_value']}" in text


def test_get_returns_what_there_is_above_4096_classes() -> None:
    """`get` does not fail as a whole because of tables that are too large; it names them."""
    metrics = sm.MetricSet()
    metrics.update_many(np.arange(5000), np.arange(5000))
    values = metrics.get()

    assert values["accuracy"] == 1.0
    assert values.omitted["generalized_mcc"] == "needs at most 4096 classes, but got 5000"
    rows = [row for row in CATALOG.values() if row.default and row.kind == "whole" and row.state == "counts"]
    assert values.omitted.keys() == {row.key for row in rows if row.quadratic}
    assert {*values, *values.omitted} == {row.key for row in rows}
    assert repr(values).endswith(f" without {values.omitted!r}")
    for twin in (pickle.loads(pickle.dumps(values)), values.copy()):
        assert twin == values
    assert pickle.loads(pickle.dumps(values)).omitted == values.omitted
    live = sm.GeneralizedMCC()
    live.state.merge(metrics.state)
    with pytest.raises(ValueError, match="Expected at most 4096 classes for 'generalized_mcc', but got 5000"):
        live.get()
    assert repr(live) == "GeneralizedMCC: needs at most 4096 classes, but got 5000"


def test_a_key_without_its_state_is_omitted() -> None:
    """A key that reads scores is listed as omitted in a snapshot of labels, and raises when it is asked for."""
    snapshot = Snapshot(counted(1).state, keys=["accuracy", "roc_auc_ovr", "roc_auc"])

    assert list(snapshot) == ["accuracy"]
    assert list(snapshot.per_class) == []
    assert snapshot.omitted.keys() == {"roc_auc_ovr", "roc_auc"}
    assert snapshot.omitted["roc_auc"].startswith("needs scores")
    with pytest.raises(KeyError, match="'roc_auc' needs scores, which this snapshot does not have"):
        snapshot["roc_auc"]


def test_chosen_keys_are_named_in_a_report() -> None:
    """A report of chosen keys says which it leaves out, and why."""
    metrics = sm.MetricSet(["accuracy", "mcnemar_p_value"])
    metrics.update_many([1, 0, 1], [1, 1, 1], [2, 2, 2])
    note = "differ in their totals needs samples of weight 1, but 3 samples weigh 6"

    assert note in metrics.snapshot().report(160)
    assert note in metrics.snapshot()._repr_html_()
    assert dict(metrics.get()) == {"accuracy": 4 / 6}


def test_groups_that_cannot_compute_a_metric_are_left_out() -> None:
    """A comparison of groups is of those that have a value; where none has, the error says why."""
    groups = sm.ByGroup(sm.MetricSet(["pair_fowlkes_mallows"]))
    for at in range(40):
        groups.update(at % 2, at % 3 % 2, 1 if at % 2 else 0.3, group=("half", "one")[at % 2])
    snapshot = groups.snapshot()

    assert list(snapshot.values_of("pair_fowlkes_mallows")) == ["one"]
    assert "-: half: Fowlkes-Mallows over pairs of samples needs whole weights, but a weight" in snapshot.report(160)
    with pytest.raises(ValueError, match="samples of weight 1 for 'nir_p_value'"):
        sm.ByGroup.snapshot(groups)["half"]["nir_p_value"]
    halves = sm.ByGroup(sm.MetricSet())
    halves.update("a", "a", 0.5, group="g")
    with pytest.raises(ValueError, match="whole weights for 'pair_fowlkes_mallows'"):
        halves.snapshot().worst("pair_fowlkes_mallows")
