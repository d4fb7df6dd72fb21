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
    """Without data counts are 0, p-values 1, and everything else is 0/0 and listed as such."""
    failures = []
    for labels in (None, ["a", "b", "c"]):
        for zero in (0.0, 1.0, math.nan):
            taken = sm.Snapshot(sm.ConfusionMatrix(labels), zero_division=zero)
            for key in taken.default_keys():
                info, actual = METRICS[key], taken.value(key)
                if info.kind == "per_class":
                    defined = info.undefined == "never"
                    expected = repr(0.0 if defined else zero)
                    good = [repr(float(x)) for x in actual.values()] == [expected] * len(labels or ())
                    good = good and (not labels or defined is not ((key, "a") in taken.undefined))
                elif info.undefined == "never":
                    good = key not in taken.undefined and actual == float(key.endswith("p_value"))
                else:
                    good = key in taken.undefined and (actual is None or repr(actual) == repr(zero))
                failures += [] if good else [(labels, zero, key, actual)]

    assert not failures
    assert math.isnan(sm.ConfusionMatrix().snapshot()["zero_one_loss"])  # 0.0 would look perfect
    assert sm.ConfusionMatrix().snapshot()["accuracy"] == 0.0


def test_one_class() -> None:
    """One class, both true and predicted: right, but without any association to measure."""
    taken = snapshot([[5]])

    assert taken["accuracy"] == 1.0
    assert {key for key in taken.undefined if isinstance(key, str)} == {
        *("balanced_accuracy_adjusted", "cohen_kappa", "matthews_corrcoef", "generalized_mcc", "cramers_v"),
        *("matthews_corrcoef_ovo", "accuracy_ovo", "cohen_kappa_ovo", "f1_ovo", "f1_ovo_first_positive"),
    }


def test_perfect() -> None:
    """A perfect prediction is exactly 1.0, at any size."""
    for size in (3, 10**15 + 1, 3_333_333_333_333_333):
        taken = snapshot([[size, 0, 0], [0, size + 7, 0], [0, 0, 2 * size]])

        assert {key: taken[key] for key in PERFECT} == dict.fromkeys(PERFECT, 1.0)
        assert taken["cramers_v"] == pytest.approx(1.0, rel=1e-15)
        assert [*taken["ova_matthews_corrcoef"].values(), *taken["p4"].values()] == [1.0] * 6


def test_cancellation() -> None:
    """Of a d - b c = 10^24 - (10^24 - 1) nothing is lost."""
    large = 10**12
    matrix = [[large, large + 1], [large - 1, large]]
    below = 4 * large**2 - 1

    for key in ("matthews_corrcoef", "matthews_corrcoef_ovo", "generalized_mcc"):
        assert value(key, matrix) == pytest.approx(1 / below, rel=1e-12)
    assert value("ova_matthews_corrcoef", matrix) == pytest.approx([1 / below] * 2, rel=1e-12)
    assert value("cohen_kappa", matrix) == pytest.approx(2 / (8 * large**2), rel=1e-12)
    assert value("cohen_kappa_ovo", matrix) == pytest.approx(value("cohen_kappa", matrix), rel=1e-12)
    assert value("chi2", matrix) == pytest.approx(4 * large / below**2, rel=1e-12)


def test_products_beyond_64_bits() -> None:
    """Products of four counts of 10^12 are right to 12 digits."""
    a, b, c, d = 10**12, 3 * 10**11, 7 * 10**10, 9 * 10**11
    expected = 4 * a * d / (4 * a * d + (a + d) * (b + c))

    assert value("p4", [[a, b], [c, d]]) == pytest.approx([expected] * 2, rel=1e-12)
    assert value("fowlkes_mallows", [[a, b], [c, d]])[0] == pytest.approx(a / math.sqrt((a + b) * (a + c)), rel=1e-12)
    assert value("weighted_kappa_quadratic", [[a, b], [c, d]]) == value("cohen_kappa", [[a, b], [c, d]])


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
