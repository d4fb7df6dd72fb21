"""Intervals of one model by folds of units: what they give, what they refuse, how often they hold the truth."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused, refused
from support.values import html

import stream_metrics as sm
from stream_metrics.states.score_labels import fold_of

METRICS = sm.metrics()
FOLDS = sm.Comparison().folds


def customers(seed: int, units: int = 200, size: int = 10, scores: bool = False) -> tuple[Any, Any, Any]:
    """Return truth, predictions (or scores of True) and units; the correlation of errors of a unit is .5."""
    rng = np.random.default_rng(seed)
    y, unit = rng.random(units * size) < 0.4, np.repeat(np.arange(units), size) + 10**6 * seed
    right = rng.random(units * size) < np.repeat(rng.beta(0.8, 0.2, units), size)
    predicted = y == right
    if scores:
        predicted = np.clip(0.3 + 0.4 * predicted + 0.3 * rng.normal(0, 1, len(y)), 0, 1)
    return y, predicted, unit


def taken(y: Any, predicted: Any, unit: Any, w: Any = None, **options: Any) -> Any:
    """Return the snapshot of a set that has counted a batch."""
    state = sm.MetricSet(**options)
    state.update_many(y, predicted, w, unit=unit)
    return state.snapshot()


@pytest.mark.parametrize(
    ("key", "runs"),
    [("macro_f1", 50), *(pytest.param(x, 100, marks=pytest.mark.nightly) for x in ("accuracy", "matthews_corrcoef"))],
)
def test_clusters(key: str, runs: int) -> None:
    """Customers that differ: folds hold the truth about as often as they say, unlike other methods."""
    large = np.array([[0.48, 0.12], [0.08, 0.32]]) * 1e6
    truth, hits = sm.ConfusionMatrix.from_matrix(large.astype(int)).snapshot()[key], np.zeros(2)
    for run in range(runs):
        y, predicted, unit = customers(run)
        intervals = [taken(y, predicted, each).interval(key) for each in (unit, None)]
        hits += [one.low <= truth <= one.high for one in intervals]

    assert hits[0] >= 0.90 * runs
    assert hits[1] <= 0.65 * runs


def test_weighted_samples() -> None:
    """Weights have an interval once every sample has a unit, and it holds the truth."""
    hits, (y, predicted, _) = 0, customers(0)
    for run in range(50):
        rng = np.random.default_rng(run)
        truth, right, w = rng.random(300) < 0.5, rng.random(300) < 0.8, rng.exponential(1, 300)
        one = taken(truth, truth == right, np.arange(300) + 1000 * run, w).interval("accuracy")
        hits += one.low <= 0.8 <= one.high

    assert hits >= 45
    refused(lambda: taken(y, predicted, None, np.full(len(y), 2.0)).interval("accuracy"), ValueError, "weight")


@pytest.mark.quick
def test_the_interval_is_that_of_the_jackknife() -> None:
    """Each fold is left out by hand: value, standard error and Student's t are those of the definition."""
    stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle here and is not installed")
    y, predicted, unit = customers(3, units=70)
    folds = np.array([fold_of(int(one), FOLDS) for one in unit])
    used, sizes = np.unique(folds, return_counts=True)
    rest = [taken(y[folds != fold], predicted[folds != fold], None)["macro_f1"] for fold in used]
    actual = taken(y, predicted, unit).interval("macro_f1", 0.9)
    se = math.sqrt((len(rest) - 1) * np.var(rest))
    t = stats.t.ppf(0.95, sizes.sum() ** 2 / (sizes**2).sum() - 1)
    reach, logit = t * se / (actual.value * (1 - actual.value)), math.log(actual.value / (1 - actual.value))

    assert actual.se == pytest.approx(se, rel=1e-12)
    assert (actual.method, actual.n) == ("folds", len(y))
    assert tuple(actual) == pytest.approx([1 / (1 + math.exp(-sign * reach - logit)) for sign in (-1, 1)], abs=1e-9)


@pytest.mark.quick
def test_every_metric_holds_its_value() -> None:
    """Low and high enclose the value, within the range; nothing is degenerate; areas and losses need no formula."""
    y, p, unit = customers(7, units=60, scores=True)
    keyed, failures, count = taken(y, p, unit, scores=True), [], 0
    for key, (low, high) in ((key, info.range) for key, info in METRICS.items()):
        try:
            actual = keyed.interval(key)
        except ValueError as error:
            failures += [] if "has none" in str(error) or key == "top_k_accuracy" else [(key, str(error))]
            continue
        count += 1
        for one in actual.values() if isinstance(actual, dict) else [actual]:
            inside = low <= one.low <= one.value <= one.high <= high and one.low < one.high
            failures += [] if inside and one.method == "folds" else [(key, one)]
    y, p, unit = customers(1, units=1000, size=1, scores=True)
    one, other = (taken(y, p, each, scores=True).interval("roc_auc", label=True) for each in (unit, None))

    assert not failures
    assert count > 70
    assert keyed.interval("fbeta", label=True, beta=2.0).value == keyed.value("fbeta", label=True, beta=2.0)
    function = keyed.interval(lambda c: c.hits / c.total)
    assert function.se == pytest.approx(keyed.interval("accuracy").se, rel=1e-12)
    assert 0.5 < (one.high - one.low) / (other.high - other.low) < 2


@pytest.mark.quick
def test_mean_of_areas_is_not_too_wide() -> None:
    """Scores of one sample depend on each other over the classes; folds see that."""
    rng, widths = np.random.default_rng(0), []
    y, z = rng.integers(0, 5, 1500), rng.normal(0, 1, (1500, 5))
    p = np.exp(z + np.eye(5)[y])
    for unit in (np.arange(1500), None):
        state = sm.MetricSet(scores=True)
        state.update_many(y, scores=p / p.sum(axis=1, keepdims=True), classes=range(5), unit=unit)
        low, high = state.snapshot().interval("roc_auc_ovr")  # type: ignore[misc]
        widths.append(high - low)
    assert widths[0] < 0.75 * widths[1]


@pytest.mark.quick
def test_a_perfect_value_is_not_certain() -> None:
    """A fold without an error counts as one sample without one; so does one with nothing but errors."""
    y, _, unit = customers(2)
    right, wrong = (taken(y, predicted, unit).interval("accuracy") for predicted in (y, ~y))

    assert (right.value, right.high, wrong.value, wrong.low) == (1, 1, 0, 0)
    assert 0.80 < right.low < 0.025 ** (1 / 32) + 1e-12
    assert wrong.high == pytest.approx(1 - right.low, abs=1e-12)


@pytest.mark.quick
def test_few_units_have_a_note() -> None:
    """One fold says nothing, a few say little, one unit that is most of the stream counts as such."""
    y, predicted, unit = customers(0)
    rare = np.where(np.arange(len(y)) < 20, "rare", np.where(y, "a", "b"))
    alone, few, most, whole = (
        taken(y, predicted, units).interval("accuracy")
        for units in (np.zeros(len(y), int), unit % 5, np.where(np.arange(len(y)) % 10, 0, unit), unit)
    )
    actual = taken(rare, np.where(predicted, "a", "b"), unit)

    assert (alone.low, alone.high, whole.note) == (0, 1, "")
    assert alone.note
    assert "a few units have most samples" in few.note
    assert "a few units have most samples" in most.note
    assert "a class occurs in" in actual.interval("macro_f1").note
    assert not actual.interval("recall", label="a").note


@pytest.mark.quick
def test_what_cannot_be_asked_is_refused() -> None:
    """Some samples without a unit, other methods, all looks, metrics that folds do not serve; no data."""
    y, predicted, unit = customers(0)
    state, empty = sm.MetricSet(), sm.MetricSet(labels=["a", "b", "c"])
    state.update_many(y, predicted, unit=unit)
    view = state.snapshot()
    calls = [
        (lambda: view.interval("accuracy", valid="anytime"), ValueError, "samples with a `unit`"),
        (lambda: view.with_intervals(valid="anytime"), ValueError, "valid='fixed' for samples with a `unit`"),
        (lambda: view.interval("accuracy", label=True), KeyError, "no label"),
    ]
    keys = ("cramers_v", "tp", "majority_p_value", "confusion_matrix")
    all_refused([*calls, *((lambda key=key: view.interval(key), ValueError, "has none") for key in keys)])  # type: ignore[misc]
    state.update(True, None)
    assert state.snapshot().interval("accuracy") == view.interval("accuracy")
    state.update(True, True)
    refused(lambda: state.snapshot().interval("accuracy"), ValueError, "2000 of 2001 samples have a unit")
    empty.update("a", None, unit=1)
    assert math.isnan(empty.snapshot().interval("accuracy").low)  # type: ignore[union-attr]
    empty.update_many(["a", "b"], ["b", "b"], unit=[1, 2])
    assert math.isnan(empty.snapshot().interval("recall")["c"].low)  # type: ignore[index]


@pytest.mark.quick
def test_the_report_says_the_method_and_the_folds() -> None:
    """Text, HTML and JSON say how intervals came about."""
    view = taken(*customers(0))
    shown, one = view.with_intervals(), view.interval("accuracy")
    said = "95 % intervals, valid for this one look, of independent units, by leaving out each of 32 folds"
    data = shown.to_dict()["intervals"]

    assert said in " ".join(str(shown).split())
    assert said in html(shown)
    assert data["folds"] == 32
    assert data["metrics"]["accuracy"] == {"low": one.low, "high": one.high, "method": "folds"}
    assert "cramers_v" not in data["metrics"]
    assert pickle.loads(pickle.dumps(shown)).interval("accuracy") == one
