"""Intervals of one model by folds of units: what they give, what they refuse, how often they hold the truth."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import find
from stream_metrics.formulas.stats.normal import t_quantile
from stream_metrics.inference.intervals.jackknife import jackknife
from stream_metrics.inference.intervals.methods import WITH_UNITS
from stream_metrics.metrics.folds import FOLDS
from stream_metrics.states.folds import fold_of

RUNS = 100


def customers(seed: int, units: int = 200, size: int = 10, scores: bool = False, **more: Any) -> tuple[Any, Any, Any]:
    """Return truth, predictions (or scores of True) and units; the correlation of errors of a unit is .5."""
    rng = np.random.default_rng(seed)
    y, unit = rng.random(units * size) < 0.4, np.repeat(np.arange(units), size) + 10**6 * seed
    right = rng.random(units * size) < np.repeat(rng.beta(0.8, 0.2, units), size)
    predicted = y == right
    if scores:
        predicted = np.clip(0.3 + 0.4 * predicted + 0.3 * rng.normal(0, 1, len(y)), 0, 1)
    return y, predicted, unit


def snapshot(y: Any, predicted: Any, unit: Any, w: Any = None, **options: Any) -> sm.Snapshot:
    """Return the snapshot of a set that has counted a batch."""
    state = sm.MetricSet(**options)
    state.update_many(y, predicted, w, unit=unit)
    return state.snapshot()


def covered(key: str, truth: float, snapshots: Any) -> float:
    """Return the share of intervals that hold the truth."""
    held = [one.low <= truth <= one.high for one in (taken.interval(key) for taken in snapshots)]
    return float(np.mean(held))


@pytest.mark.parametrize("key", ["accuracy", "macro_f1", "matthews_corrcoef"])
def test_clusters(key: str) -> None:
    """Customers that differ: folds hold the truth about as often as they say, unlike other methods."""
    large = np.array([[0.48, 0.12], [0.08, 0.32]]) * 1e6
    truth = sm.ConfusionMatrix.from_matrix(large.astype(int)).snapshot()[key]
    assert covered(key, truth, (snapshot(*customers(run)) for run in range(RUNS))) >= 0.90
    assert covered(key, truth, (snapshot(*customers(run)[:2], None) for run in range(RUNS))) <= 0.65


@pytest.mark.parametrize(("rho", "naive"), [(0.2, 0.94), (0.5, 0.85), (0.8, 0.65)])
def test_errors_in_runs_with_blocks_of_time(rho: float, naive: float) -> None:
    """Errors of rate .2 with a lag-1 correlation: an hour of samples is a unit, `unit=t // 3600`."""
    keyed, plain = [], []
    for run in range(RUNS):
        draws, wrong = np.random.default_rng(run).random(2000), [False]
        for draw in draws.tolist():
            wrong.append(draw < 0.2 + (0.8 * rho if wrong[-1] else -0.2 * rho))
        t = 10**9 + 10**6 * run + 60 * np.arange(2000)
        predicted = np.array(wrong[1:])
        keyed.append(snapshot(np.zeros(2000, bool), predicted, t // 3600))
        plain.append(snapshot(np.zeros(2000, bool), predicted, None))
    assert covered("accuracy", 0.8, keyed) >= 0.90
    assert naive >= covered("accuracy", 0.8, plain)


def test_weighted_samples() -> None:
    """Weights have an interval once every sample has a unit, and it holds the truth."""
    held = []
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        y, right, w = rng.random(300) < 0.5, rng.random(300) < 0.8, rng.exponential(1, 300)
        held.append(snapshot(y, y == right, np.arange(300) + 1000 * run, w))
    assert covered("accuracy", 0.8, held) >= 0.90
    y, predicted, _ = customers(0)
    with pytest.raises(ValueError, match="weight"):
        snapshot(y, predicted, None, np.full(len(y), 2.0)).interval("accuracy")


def test_the_interval_is_that_of_the_jackknife() -> None:
    """Each fold is left out by hand: value, standard error and Student's t are those of the definition."""
    y, predicted, unit = customers(3, units=70)
    folds = np.array([fold_of(int(one), FOLDS) for one in unit])
    used = np.unique(folds)
    rest = []
    for fold in used:
        state = sm.ConfusionMatrix()
        state.update_many(y[folds != fold], predicted[folds != fold])
        rest.append(state.snapshot()["macro_f1"])
    found = snapshot(y, predicted, unit).interval("macro_f1", 0.9)
    se = jackknife(np.array(rest))
    sizes = np.bincount(folds)[used].astype(float)
    reach = t_quantile(0.9, sizes.sum() ** 2 / (sizes**2).sum() - 1) * se / (found.value * (1 - found.value))
    assert found.se == se
    assert found.method == "folds"
    assert found.n == len(y)
    logit = math.log(found.value / (1 - found.value))
    assert found.low == pytest.approx(1 / (1 + math.exp(reach - logit)), abs=1e-12)
    assert found.high == pytest.approx(1 / (1 + math.exp(-reach - logit)), abs=1e-12)


def test_areas_losses_options_and_functions() -> None:
    """Folds need no formula of their own; a mean of areas is narrower than by the bound that has no units."""
    y, p, unit = customers(1, units=1000, size=1, scores=True)
    keyed, plain = snapshot(y, p, unit, scores=True), snapshot(y, p, None, scores=True)
    for key in ("roc_auc", "average_precision", "log_loss", "brier_score", "roc_auc_micro", "roc_auc_ovr"):
        found = keyed.interval(key)
        one = found[True] if isinstance(found, dict) else found
        assert row_range(key)[0] <= one.low < one.value < one.high <= row_range(key)[1]
        assert one.value == keyed[key]
    area, other = keyed.interval("roc_auc", label=True), plain.interval("roc_auc", label=True)
    assert 0.5 < (area.high - area.low) / (other.high - other.low) < 2
    assert keyed.interval("fbeta", label=True, beta=2.0).value == keyed.value("fbeta", beta=2.0)[True]
    function = keyed.interval(lambda c: c.hits / c.total)
    assert function.se == pytest.approx(keyed.interval("accuracy").se, rel=1e-12)


def row_range(key: str) -> tuple[float, float]:
    """Return the range of a metric."""
    row = find(key)
    return row.low, row.high


def test_mean_of_areas_is_not_too_wide() -> None:
    """Scores of one sample depend on each other over the classes; folds see that."""
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 5, 1500), rng.normal(0, 1, (1500, 5))
    z[np.arange(1500), y] += 1
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    widths = []
    for unit in (np.arange(1500), None):
        state = sm.MetricSet(scores=True)
        state.update_many(y, scores=p, classes=range(5), unit=unit)
        found = state.snapshot().interval("roc_auc_ovr")
        widths.append(found.high - found.low)
    assert widths[0] < 0.75 * widths[1]


@pytest.mark.parametrize("key", sorted(WITH_UNITS - {"top_k_accuracy"}))
def test_every_metric_holds_its_value(key: str) -> None:
    """Low and high enclose the value, within the range; nothing is degenerate."""
    found = TAKEN.interval(key)
    for one in found.values() if isinstance(found, dict) else [found]:
        low, high = row_range(key)
        assert low <= one.low <= one.value <= one.high <= high
        assert one.low < one.high


TAKEN = snapshot(*customers(7, units=60, scores=True), scores=True)


def test_a_perfect_value_is_not_certain() -> None:
    """A fold without an error counts as one sample without one; so does one with nothing but errors."""
    y, _, unit = customers(2)
    perfect, wrong = snapshot(y, y, unit), snapshot(y, ~y, unit)
    one = perfect.interval("accuracy")
    assert (one.value, one.high) == (1, 1)
    assert 0.80 < one.low < 0.025 ** (1 / 32) + 1e-12
    one = wrong.interval("accuracy")
    assert (one.value, one.low) == (0, 0)
    assert 1 - 0.025 ** (1 / 32) - 1e-12 < one.high < 0.2


def test_few_units_have_a_note() -> None:
    """One fold says nothing, a few say little, one unit that is most of the stream counts as such."""
    y, predicted, unit = customers(0)
    alone = snapshot(y, predicted, np.zeros(len(y), int)).interval("accuracy")
    assert (alone.low, alone.high) == (0, 1)
    assert alone.note
    few = snapshot(y, predicted, unit % 5).interval("accuracy")
    most = snapshot(y, predicted, np.where(np.arange(len(y)) % 10, 0, unit)).interval("accuracy")
    assert "a few units have most samples" in few.note
    assert "a few units have most samples" in most.note
    assert not snapshot(y, predicted, unit).interval("accuracy").note
    rare = np.where(np.arange(len(y)) < 20, "rare", np.where(y, "a", "b"))
    found = snapshot(rare, np.where(predicted, "a", "b"), unit)
    assert "a class occurs in" in found.interval("macro_f1").note
    assert not found.interval("recall", label="a").note


def test_what_cannot_be_asked_is_refused() -> None:
    """Some samples without a unit, other methods, all looks, metrics that folds do not serve."""
    y, predicted, unit = customers(0)
    state = sm.MetricSet()
    state.update_many(y, predicted, unit=unit)
    taken = state.snapshot()
    for options in ({"method": "wilson"}, {"valid": "anytime"}):
        with pytest.raises(ValueError, match="samples with a `unit`"):
            taken.interval("accuracy", **options)
    with pytest.raises(ValueError, match="valid='fixed' for samples with a `unit`"):
        taken.with_intervals(valid="anytime")
    with pytest.raises(ValueError, match="for the method 'folds', but got none"):
        snapshot(y, predicted, None).interval("accuracy", method="folds")
    for key in ("cramers_v", "tp", "majority_p_value", "confusion_matrix"):
        with pytest.raises(ValueError, match="has none"):
            taken.interval(key)
    with pytest.raises(KeyError, match="no label"):
        taken.interval("accuracy", label=True)
    assert taken.interval("accuracy", method="folds") == taken.interval("accuracy")
    state.update(True, None)
    assert state.snapshot().interval("accuracy") == taken.interval("accuracy")
    state.update(True, True)
    with pytest.raises(ValueError, match="2000 of 2001 samples have a unit"):
        state.snapshot().interval("accuracy")


def test_nothing_counted() -> None:
    """A class that is gone, and a state in which all samples abstain, have no interval."""
    state = sm.MetricSet(labels=["a", "b", "c"])
    state.update("a", None, unit=1)
    assert math.isnan(state.snapshot().interval("accuracy").low)
    state.update("a", "b", unit=1)
    state.update("b", "b", unit=2)
    assert math.isnan(state.snapshot().interval("recall")["c"].low)


def test_the_report_says_the_method_and_the_folds() -> None:
    """Text, HTML and JSON; all looks, and samples some of which have no unit, have a reason instead."""
    taken = snapshot(*customers(0))
    shown = taken.with_intervals()
    text = " ".join(str(shown).split())
    said = "95 % intervals, valid for this one look, of independent units, by leaving out each of 32 folds"
    assert said in text
    assert said in shown._repr_html_()
    data = shown.to_dict()["intervals"]
    one = taken.interval("accuracy")
    assert data["folds"] == 32
    assert data["metrics"]["accuracy"] == {"low": one.low, "high": one.high, "method": "folds"}
    assert "cramers_v" not in data["metrics"]
    assert pickle.loads(pickle.dumps(shown)).interval("accuracy") == one


def test_windows_and_groups() -> None:
    """The interval is that of a set fed with the same samples."""
    y, predicted, unit = customers(4)
    rolling, timed, groups = (
        sm.Rolling(sm.MetricSet(), 500),
        sm.TimeWindow(sm.MetricSet(), 100, 10),
        sm.ByGroup(sm.MetricSet()),
    )
    rolling.update_many(y, predicted, unit=unit)
    timed.update_many(y, predicted, t=np.arange(len(y)) / 10, unit=unit)
    groups.update_many(y, predicted, group=y.tolist(), unit=unit)
    last = snapshot(y[-500:], predicted[-500:], unit[-500:]).interval("macro_f1")
    assert rolling.snapshot().interval("macro_f1") == last
    assert timed.snapshot().interval("macro_f1") == snapshot(*(x[-1000:] for x in (y, predicted, unit))).interval(
        "macro_f1"
    )
    assert groups.snapshot()[True].interval("accuracy") == snapshot(y[y], predicted[y], unit[y]).interval("accuracy")


def test_the_order_of_shards_does_not_matter() -> None:
    """The interval is the same to the bit."""
    y, predicted, unit = customers(5)
    shards = []
    for part in range(3):
        state = sm.MetricSet()
        state.update_many(y[part::3], predicted[part::3], unit=unit[part::3])
        shards.append(state)
    found = {
        sm.MetricSet().merge(a).merge(b).merge(c).snapshot().interval("macro_f1")
        for a, b, c in itertools.permutations(shards)
    }
    assert found == {snapshot(y, predicted, unit).interval("macro_f1")}
