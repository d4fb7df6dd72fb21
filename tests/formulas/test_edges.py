"""No data, one class, perfect predictions, very many classes and very large counts."""

from __future__ import annotations

import math

import pytest
from support.refusals import refused
from support.values import OF_LABELS, snapshot, value

import stream_metrics as sm

pytestmark = pytest.mark.quick
METRICS = sm.metrics()
PERFECT = {
    *("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "general_f1_harmonic", "geometric_mean"),
    *("cohen_kappa", "matthews_corrcoef", "generalized_mcc", "pair_fowlkes_mallows", "average_accuracy"),
    *("matthews_corrcoef_ovo", "cohen_kappa_ovo", "f1_ovo", "general_fowlkes_mallows_geometric", "macro_f1_of_means"),
}


def test_no_data() -> None:
    """Without data and classes counts are 0, p-values 1, and everything else is 0/0 and listed as such."""
    failures = []
    for zero in (0.0, 1.0, math.nan):
        taken = sm.Snapshot(sm.ConfusionMatrix(), zero_division=zero)
        for key in taken.default_keys():
            info, actual = METRICS[key], taken.value(key)
            if info.kind == "per_class":
                good = actual == {}
            elif info.undefined == "never":
                good = key not in taken.undefined and actual == float(key.endswith("p_value"))
            else:
                good = key in taken.undefined and (actual is None or repr(actual) == repr(zero))
            failures += [] if good else [(zero, key, actual)]

    assert not failures
    assert math.isnan(sm.ConfusionMatrix().snapshot()["zero_one_loss"])  # 0.0 would look perfect
    assert sm.ConfusionMatrix().snapshot()["accuracy"] == 0.0


def test_perfect() -> None:
    """A perfect prediction is exactly 1.0, at any size."""
    for size in (3, 10**15 + 1, 3_333_333_333_333_333):
        taken = snapshot([[size, 0, 0], [0, size + 7, 0], [0, 0, 2 * size]])

        assert {key: taken[key] for key in PERFECT} == dict.fromkeys(PERFECT, 1.0)
        assert taken["cramers_v"] == pytest.approx(1.0, rel=1e-15)
        assert [*taken["ova_matthews_corrcoef"].values(), *taken["p4"].values()] == [1.0] * 6


def test_cancellation() -> None:
    """Of a d - b c = 10^24 - (10^24 - 1) nothing is lost in means over pairs, which are near 0."""
    large = 10**12
    matrix = [[large, large + 1], [large - 1, large]]

    assert value("matthews_corrcoef_ovo", matrix) == pytest.approx(1 / (4 * large**2 - 1), rel=1e-12)
    assert value("cohen_kappa_ovo", matrix) == pytest.approx(2 / (8 * large**2), rel=1e-12)


def test_whole_values_are_plain_numbers() -> None:
    """A whole value is a Python int or float, not a NumPy scalar, for whole and for fractional weights."""
    whole, fractional = snapshot([[20, 5], [10, 15]]), snapshot([[20.25, 5], [10, 15.1]])
    keys = [key for key in OF_LABELS if METRICS[key].kind == "whole"]
    types = {type(taken.value(key)) for taken in (whole, fractional) for key in keys if key not in taken.omitted}

    assert types == {int, float}


def test_hundred_thousand_classes() -> None:
    """What needs the non-zero cells only is there for any number of classes; square tables are refused."""
    k = 100_000
    state = sm.ConfusionMatrix()
    state.update_many(range(k), [label ^ 1 if label < 2000 else label for label in range(k)])
    taken = state.snapshot()

    assert taken["accuracy"] == 0.98
    assert taken["chi2"] == pytest.approx(k * (k - 1), rel=1e-12)
    assert taken["cramers_v"] == pytest.approx(1.0, rel=1e-12)
    assert taken["weighted_kappa_linear"] == pytest.approx(1 - 6000 / (k * k - 1), rel=1e-15)
    assert [taken["mcnemar"], taken["mcnemar_p_value"]] == [0.0, 1.0]
    refused(lambda: taken["accuracy_ovo"], ValueError, "4096 classes for 'accuracy_ovo'")
