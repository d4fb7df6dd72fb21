"""No data, one class, perfect predictions, very many classes and very large counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_metrics import ConfusionMatrix
from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluate import evaluate
from stream_metrics.formulas.arithmetic import LONG, inner

OF_COUNTS = [row for row in CATALOG.values() if row.state == "counts"]
DEFAULT = [row for row in OF_COUNTS if row.default]
NEVER_UNDEFINED = [row.key for row in DEFAULT if row.undefined_when == "never"]
PERFECT = {
    *("accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "general_f1_harmonic", "geometric_mean"),
    *("cohen_kappa", "matthews_corrcoef", "generalized_mcc", "pair_fowlkes_mallows", "average_accuracy"),
    *("matthews_corrcoef_ovo", "cohen_kappa_ovo", "f1_ovo", "general_fowlkes_mallows_geometric", "macro_f1_of_means"),
}


@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
def test_no_data(counts_class: Any, labels: Any, zero_division: float) -> None:
    """Without data counts are 0, p-values 1, and everything else is 0/0 and flagged as such."""
    counts = counts_class(labels)

    for row in DEFAULT:
        found, undefined = evaluate(row, counts, zero_division)
        if row.key in NEVER_UNDEFINED:
            assert not undefined
            assert not np.any(found) or (row.key.endswith("p_value") and found == 1.0), row.key
        elif row.kind == "per_class":
            assert undefined == list(labels or ()), row.key
            assert found.tolist() == pytest.approx([zero_division] * len(labels or ()), nan_ok=True)
        else:
            assert undefined is True, row.key
            assert found is None or found == pytest.approx(zero_division, nan_ok=True)


def test_default_of_a_loss(counts_class: Any) -> None:
    """Without data the error rate is nan unless the caller says otherwise: 0.0 would look perfect."""
    assert math.isnan(evaluate(CATALOG["zero_one_loss"], counts_class())[0])
    assert evaluate(CATALOG["accuracy"], counts_class())[0] == 0.0


def test_one_class(counts_class: Any) -> None:
    """One class, both true and predicted: right, but without any association to measure."""
    counts = counts_class.from_matrix([[5]])
    undefined = {row.key for row in DEFAULT if row.kind == "whole" and evaluate(row, counts)[1] is True}

    assert evaluate(CATALOG["accuracy"], counts)[0] == 1.0
    assert undefined == {
        *("balanced_accuracy_adjusted", "cohen_kappa", "matthews_corrcoef", "generalized_mcc", "cramers_v"),
        *("matthews_corrcoef_ovo", "accuracy_ovo", "cohen_kappa_ovo", "f1_ovo", "f1_ovo_first_positive"),
    }


@pytest.mark.parametrize("size", [3, 10**15 + 1, 3_333_333_333_333_333])
def test_perfect(counts_class: Any, size: int) -> None:
    """A perfect prediction is exactly 1.0, at any size."""
    counts = counts_class.from_matrix([[size, 0, 0], [0, size + 7, 0], [0, 0, 2 * size]])

    assert {key: evaluate(CATALOG[key], counts)[0] for key in PERFECT} == dict.fromkeys(PERFECT, 1.0)
    assert evaluate(CATALOG["cramers_v"], counts)[0] == pytest.approx(1.0, rel=1e-15)
    assert evaluate(CATALOG["ova_matthews_corrcoef"], counts)[0].tolist() == [1.0, 1.0, 1.0]
    assert evaluate(CATALOG["p4"], counts)[0].tolist() == [1.0, 1.0, 1.0]


def test_cancellation(value: Any) -> None:
    """Of a d - b c = 10^24 - (10^24 - 1) nothing is lost."""
    large = 10**12
    matrix = [[large, large + 1], [large - 1, large]]
    below = 4 * large**2 - 1

    assert value("matthews_corrcoef", matrix) == pytest.approx(1 / below, rel=1e-12)
    assert value("ova_matthews_corrcoef", matrix) == pytest.approx([1 / below] * 2, rel=1e-12)
    assert value("matthews_corrcoef_ovo", matrix) == pytest.approx(1 / below, rel=1e-12)
    assert value("cohen_kappa_ovo", matrix) == pytest.approx(value("cohen_kappa", matrix), rel=1e-12)
    assert value("cohen_kappa", matrix) == pytest.approx(2 / (8 * large**2), rel=1e-12)
    assert value("generalized_mcc", matrix) == pytest.approx(1 / below, rel=1e-12)
    assert value("chi2", matrix) == pytest.approx(4 * large / below**2, rel=1e-12)


def test_products_beyond_64_bits(value: Any) -> None:
    """Products of four counts of 10^12 are right to 12 digits."""
    a, b, c, d = 10**12, 3 * 10**11, 7 * 10**10, 9 * 10**11

    expected = 4 * a * d / (4 * a * d + (a + d) * (b + c))
    assert value("p4", [[a, b], [c, d]]) == pytest.approx([expected] * 2, rel=1e-12)
    assert value("fowlkes_mallows", [[a, b], [c, d]])[0] == pytest.approx(a / math.sqrt((a + b) * (a + c)), rel=1e-12)
    assert value("weighted_kappa_quadratic", [[a, b], [c, d]]) == value("cohen_kappa", [[a, b], [c, d]])


def test_fractional_weights_are_counts_of_a_finer_unit(counts_class: Any, same: Any) -> None:
    """Quarters give the values of the counts multiplied by four, where a metric does not depend on the scale."""
    cells = [[3, 1, 0], [0, 2, 2], [1, 0, 9]]
    whole, quarters = counts_class(labels=list("abc")), counts_class(labels=list("abc"))
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            whole.update("abc"[i], "abc"[j], cell)
            quarters.update("abc"[i], "abc"[j], cell / 4)
    scale = {"cov_true_pred": 16, "cov_pred_pred": 16, "cov_true_true": 16, "chi2": 4}
    scale |= dict.fromkeys(("tp_sum", "fn_sum", "fp_sum", "tn_sum", "support", "predicted_count"), 4)
    scale |= dict.fromkeys(("tp", "fn", "fp", "tn"), 4)

    for row in DEFAULT:
        if row.key != "majority_class" and not row.needs:
            a, b = (np.ravel(evaluate(row, counts)[0]) for counts in (whole, quarters))
            assert same(a.tolist(), (b * scale.get(row.key, 1)).tolist()), row.key


def test_every_class_against_the_rest(counts_class: Any, same: Any) -> None:
    """A per-class value is the value of class 0 of the table of that class against the rest."""
    counts = counts_class.from_matrix([[6, 0, 1, 0], [3, 9, 1, 0], [1, 0, 10, 0], [0, 2, 1, 0]], list("abcd"))
    for row in OF_COUNTS:
        if row.kind == "per_class" and row.class_name:
            for label, expected in zip("abcd", row.formula(counts).tolist(), strict=True):
                assert same(row.formula(counts.one_vs_rest(label)).tolist()[0], expected), (row.key, label)


def test_hundred_thousand_classes() -> None:
    """What needs the non-zero cells only is there for any number of classes; square tables are refused."""
    k = 100_000
    counts = ConfusionMatrix()
    for label in range(k):
        counts.update(label, label ^ 1 if label < 2000 else label)
    value = {row.key: evaluate(row, counts)[0] for row in OF_COUNTS if not row.quadratic and row.kind == "whole"}

    assert value["accuracy"] == 0.98
    assert value["chi2"] == pytest.approx(k * (k - 1), rel=1e-12)
    assert value["cramers_v"] == pytest.approx(1.0, rel=1e-12)
    assert value["weighted_kappa_linear"] == pytest.approx(1 - 6000 / (k * k - 1), rel=1e-15)
    assert [value["mcnemar"], value["mcnemar_p_value"]] == [0.0, 1.0]
    with pytest.raises(ValueError, match="at most 4096 classes for 'accuracy_ovo', but got 100000"):
        evaluate(CATALOG["accuracy_ovo"], counts)


@pytest.mark.parametrize("n", [3, LONG - 1, LONG, 3 * LONG])
def test_inner_products_of_short_and_long_vectors(n: int) -> None:
    """To rounding, on both sides of the length from which they are computed in one thread."""
    a, b = np.random.default_rng(n).standard_normal((2, n))

    assert inner(a, b) == pytest.approx(math.fsum((a * b).tolist()), abs=1e-13 * n)
