"""Intervals of almost no samples, and of very many."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.special import betaln

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.formulas.stats.normal import log_beta
from stream_metrics.inference.intervals.batched_counts import batch_of_one
from stream_metrics.inference.intervals.dispatch import class_bounds
from stream_metrics.inference.intervals.gradients import OF_CELLS, _step_cells
from stream_metrics.inference.intervals.methods import METHODS


@pytest.mark.parametrize("valid", ["fixed", "anytime"])
@pytest.mark.parametrize("seen", [(), (True,), (True, True), (True, False)])
def test_a_set_can_show_intervals_from_the_start(seen, valid):
    """No samples, one, or all of one class: reports and data are written, and no interval leaves out its value."""
    found = sm.MetricSet(scores=True)
    for truth in seen:
        found.update(truth, 0.9 if truth else 0.2)

    shown = found.snapshot().with_intervals(valid=valid)

    assert str(shown)
    assert shown.to_json()
    assert shown._repr_html_()
    for one in shown.to_dict()["intervals"]["metrics"].values():
        assert math.isnan(one["low"]) or one["low"] <= one["high"]


def test_one_class_says_nothing_of_average_precision():
    """Positives alone reach 1 with any scores: the interval is the whole range."""
    found = sm.MetricSet(scores=True)
    for at in range(30):
        found.update(True, at / 30)

    one = found.snapshot().interval("average_precision", label=True)

    assert (one.low, one.value, one.high) == (0.0, 1.0, 1.0)


def test_one_score_has_a_mean_over_pairs():
    """Of two classes with one score, Hand and Till's M is the ROC area, and so is its interval."""
    found, rng = sm.MetricSet(scores=True), np.random.default_rng(0)
    for at in range(80):
        found.update(at % 2 == 0, min(0.99, 0.3 * (at % 2 == 0) + 0.6 * rng.random()))

    area = found.snapshot().interval("roc_auc", label=True)
    mean = found.snapshot().interval("roc_auc_ovo")

    assert (mean.low, mean.high) == pytest.approx((area.low, area.high))


def test_what_has_one_look_only_is_left_out_of_all_looks():
    """A snapshot with such a metric shows the intervals of the others."""
    state = sm.MetricSet(scores=True)
    for at in range(40):
        state.update(at % 2 == 0, at / 40)
    snapshot = sm.Snapshot(**state.snapshot().evaluation.states, keys=("roc_auc", "ks_statistic"))

    data = snapshot.with_intervals(valid="anytime").to_dict()

    assert data["intervals"]["metrics"].keys() | data["intervals"]["per_class"].keys() == {"roc_auc"}


@pytest.mark.parametrize("options", [{"valid": "anytime"}, {"method": "bootstrap"}, {"method": "delta"}])
def test_no_samples_give_no_interval_of_a_class(options):
    """Fixed labels without samples have values that are 0/0."""
    found = sm.ConfusionMatrix(labels=["a", "b"]).snapshot().interval("p4", **options)

    assert all(math.isnan(one.low) and math.isnan(one.high) for one in found.values())


@pytest.mark.parametrize(("a", "b"), [(3.0, 1e17), (1e17, 3.0), (0.5, 2.0**60), (2.5, 1.5), (1e150, 1e-3)])
def test_the_logarithm_of_beta_where_one_argument_vanishes_beside_the_other(a, b):
    """It is that of SciPy."""
    assert log_beta(a, b) == pytest.approx(float(betaln(a, b)), rel=1e-12)


def test_counts_beyond_a_double_can_be_watched():
    """One hit beside 2^60 misses: the interval is narrow and holds the value."""
    recall = sm.ConfusionMatrix.from_matrix([[2**60, 1], [1, 2**58]]).snapshot().interval("recall", valid="anytime")

    assert all(one.low <= one.value <= one.high and one.high - one.low < 1e-15 for one in recall.values())


@pytest.mark.parametrize("matrix", [[[24, 2, 1], [3, 30, 4], [9, 5, 31]], [[3, 0], [1, 5]]])
@pytest.mark.parametrize("key", sorted(OF_CELLS))
def test_gradients_in_cells_are_those_of_complex_steps(key, matrix):
    """Up to a constant, which adds nothing to a variance."""
    counts = batch_of_one(sm.ConfusionMatrix.from_matrix(matrix).snapshot().evaluation.views["counts"])

    assert np.ptp(OF_CELLS[key](counts) - _step_cells(key, counts, 0.0)) == pytest.approx(0, abs=1e-14)


def test_many_classes_are_refused_before_they_are_counted_for_hours():
    """The error names the limit, and a snapshot that shows intervals leaves the metric out."""
    state = sm.ConfusionMatrix()
    state.update_many(np.arange(200), np.arange(200))
    snapshot = sm.Snapshot(state, keys=("generalized_mcc", "accuracy"))

    with pytest.raises(ValueError, match="at most 128 classes for an interval of 'generalized_mcc', but got 200"):
        snapshot.interval("generalized_mcc")
    assert snapshot.with_intervals().to_dict()["intervals"]["metrics"].keys() == {"accuracy"}


@pytest.mark.parametrize("method", ["bootstrap", "delta"])
def test_a_function_of_no_samples(method):
    """Its interval is undefined, as its value is."""
    empty = sm.ConfusionMatrix().snapshot()

    found = empty.interval(lambda c: c.hits / c.total if c.total else math.nan, method=method)

    assert all(math.isnan(x) for x in (found.value, found.low, found.high))


def test_a_detector_at_one_moment_can_be_copied():
    """By pickle and by copy."""
    snapshot = sm.ChangeDetector(0.1).snapshot()

    for twin in (copy.copy(snapshot), copy.deepcopy(snapshot), pickle.loads(pickle.dumps(snapshot))):
        assert twin.to_dict() == snapshot.to_dict()


@pytest.mark.parametrize("options", [{"bets": 3}, {"of": 3}, {"of": ("recall", "a", "b")}])
def test_options_of_a_detector_that_are_nothing_of_the_kind(options):
    """The error names the option."""
    with pytest.raises(ValueError, match=f"`{next(iter(options))}`"):
        sm.ChangeDetector(0.1, **options)


@pytest.mark.parametrize("options", [{"rate": 0.5, "valid": "anytime", "t_opt": 0}, {"key": "recall"}])
def test_plans_that_say_too_little(options):
    """The error names what is missing."""
    snapshot = None if "rate" in options else sm.ConfusionMatrix.from_matrix([[9, 1], [2, 8]]).snapshot()

    with pytest.raises(ValueError, match=r"`t_opt`|`label`"):
        sm.samples_needed(0.1, snapshot=snapshot, **options)


def test_a_comparison_without_samples():
    """Every difference is undefined, and the report writes no nan."""
    snapshot = sm.Comparison().snapshot()

    assert math.isnan(snapshot.difference("generalized_mcc").value)
    assert "nan" not in str(snapshot)
    with pytest.raises(ValueError, match="`level`"):
        snapshot.report(2)


def test_the_bootstrap_of_a_difference_holds_it():
    """Also where all draws are on one side of a biased metric."""
    state = sm.Comparison()
    for label in "abc" * 30:
        state.update(label, label, "a")

    found = state.snapshot().difference("pair_fowlkes_mallows", method="bootstrap", draws=20)

    assert found.low <= found.value <= found.high


@pytest.mark.parametrize("n", [0, 1, 25, 2000])
@pytest.mark.parametrize(("units", "valid"), [(False, "fixed"), (False, "anytime"), (True, "fixed")])
def test_bounds_of_classes_are_those_of_their_intervals(n, units, valid):
    """To the last bit, for every metric of classes, also of classes without samples or predictions."""
    rng, state = np.random.default_rng(n), sm.MetricSet(labels=list("abcdefg"))
    truths = rng.choice(list("abcdef"), n, p=[0.4, 0.3, 0.2, 0.08, 0.015, 0.005])
    predictions = np.where(rng.random(n) < 0.8, truths, rng.choice(list("abcdeg"), n))
    state.update_many(truths, predictions, **({"unit": rng.integers(0, 50, n)} if units else {}))
    snapshot = state.snapshot()

    for key in (key for key in METHODS if CATALOG[key].kind == "per_class" and CATALOG[key].state == "counts"):
        bounds = class_bounds(snapshot.evaluation, key, 0.99, valid=valid, draws=100)
        each = snapshot.interval(key, 0.99, valid=valid, draws=100)
        assert list(each) == list(snapshot.labels)
        np.testing.assert_array_equal(bounds.low, [one.low for one in each.values()], key)
        np.testing.assert_array_equal(bounds.high, [one.high for one in each.values()], key)
        assert bounds.notes == [one.note for one in each.values()]


def test_bounds_of_classes_are_refused_as_intervals_are():
    """A metric without intervals, one that is not of classes, weights, and looks at a metric of one look."""
    snapshot = sm.evaluate(list("abab"), list("abba"))
    for key in ("expected_accuracy_term", "accuracy", "roc_auc", "unheard_of"):
        with pytest.raises((ValueError, KeyError)):
            class_bounds(snapshot.evaluation, key)
    with pytest.raises(ValueError, match="the weight 1"):
        class_bounds(sm.evaluate(["a", "b"], ["a", "b"], w=[2, 1]).evaluation, "recall")
