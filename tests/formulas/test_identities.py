"""The identities between the metrics, on random matrices; numbers are those of the formula reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.values import DEFAULT, same, snapshot, value

import stream_metrics as sm

pytestmark = pytest.mark.quick
COUNTS = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**6))
EXPONENTS = (-math.inf, -2.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 2.0, math.inf)


def square(smallest: int = 1, largest: int = 5) -> st.SearchStrategy[list[list[int]]]:
    """Matrices of counts that are not empty."""
    sizes = st.integers(smallest, largest)
    rows = sizes.flatmap(lambda k: st.lists(st.lists(COUNTS, min_size=k, max_size=k), min_size=k, max_size=k))
    return rows.filter(lambda matrix: any(map(any, matrix)))


@given(square())
def test_identities_of_accuracy(matrix: list[list[int]]) -> None:
    """1 to 3, 15: micro averages are the accuracy; weights turn balanced accuracy into it; guesses have their order."""
    taken, k, support = snapshot(matrix), len(matrix), [sum(row) for row in matrix]
    n, c = sum(support), sum(matrix[i][i] for i in range(k))
    sums = [taken[key] for key in ("tp_sum", "fn_sum", "fp_sum", "tn_sum")]
    keys = ("micro_precision", "micro_recall", "micro_f1", "weighted_recall")

    assert {taken[key] for key in keys} == {taken["accuracy"]}
    assert same(taken["average_accuracy"], 1 - 2 * (1 - taken["accuracy"]) / k)
    assert sums == [c, n - c, n - c, (k - 2) * n + c] == [sum(taken[x].values()) for x in ("tp", "fn", "fp", "tn")]
    assert same(taken.value("weighted_balanced_accuracy", weights=support), taken["accuracy"])
    assert same(taken.value("weighted_balanced_accuracy", weights=[3] * k), taken["balanced_accuracy"])
    assert not all(support) or same(taken["macro_recall"], taken["balanced_accuracy"])
    assert taken["no_information_rate"] >= taken["baseline_stratified_accuracy"] - 1e-15
    assert taken["baseline_stratified_accuracy"] >= taken["baseline_uniform_accuracy"] - 2e-15


@given(square())
def test_identities_of_agreement(matrix: list[list[int]]) -> None:
    """4, 13, 14: kappa between 0 and MCC, which is its triple sum; equal totals make rates and coefficients equal."""
    taken, c, k = snapshot(matrix), matrix, range(len(matrix))
    n, true, predicted = sum(map(sum, c)), [sum(row) for row in c], [sum(column) for column in zip(*c, strict=True)]
    kappa, mcc = taken["cohen_kappa"], taken["matthews_corrcoef"]
    above = sum(c[a][a] * c[b][d] - c[a][b] * c[d][a] for a in k for b in k for d in k)
    below = math.sqrt(sum(t * (n - t) for t in true)) * math.sqrt(sum(p * (n - p) for p in predicted))
    symmetric = snapshot(np.array(matrix) + np.array(matrix).T)
    rates = [list(symmetric[key].values()) for key in ("precision", "recall", "f1", "fowlkes_mallows")]

    assert abs(kappa) <= abs(mcc) * (1 + 1e-15)
    assert kappa * mcc >= 0
    assert same(mcc, above / below if below else 0.0)
    assert same(symmetric["cohen_kappa"], symmetric["matthews_corrcoef"])
    assert all(same(rate, rates[0]) for rate in rates)


@given(square(2, 2))
def test_two_classes_have_one_correlation(matrix: list[list[int]]) -> None:
    """5: the determinant, Cramer's V up to the sign, chi-square and both one-vs-all values are MCC."""
    taken = snapshot(matrix)
    mcc = taken["matthews_corrcoef"]

    assert same([taken["generalized_mcc"], taken["matthews_corrcoef_ovo"]], [mcc, mcc])
    assert same([taken["cramers_v"], taken["chi2"] / taken.n], [abs(mcc), mcc**2])
    assert same(list(taken["ova_matthews_corrcoef"].values()), [mcc, mcc])
    assert same(taken["cohen_kappa_ovo"], taken["cohen_kappa"])


@given(square(2))
def test_singular_values(matrix: list[list[int]]) -> None:
    """6, 7: of M the largest is 1, the others give the determinant and Cramer's V; its diagonal is Fowlkes-Mallows."""
    assume(all(map(any, matrix)) and all(map(any, zip(*matrix, strict=True))))
    taken, k = snapshot(matrix), len(matrix)
    normalised = taken["generalized_mcc_matrix"]
    first, *others = np.linalg.svd(normalised, compute_uv=False).tolist()
    phi, det = taken["cramers_v"], taken["generalized_mcc"]

    assert same(first, 1.0)
    assert same(abs(det), math.prod(others), 1e-10)
    assert same(phi**2, sum(s * s for s in others) / (k - 1), 1e-10)
    assert same(np.diag(normalised).tolist(), list(taken["fowlkes_mallows"].values()))
    assert same(float(np.diag(normalised).mean()), taken["general_fowlkes_mallows"])


@given(square(), st.sampled_from([0.0, 1.0, math.nan]))
def test_power_means(matrix: list[list[int]], zero: float) -> None:
    """8 to 11: F1, Fowlkes-Mallows and P4 are power means, which grow with p, whatever 0/0 is; and so of 2K rates."""
    taken = snapshot(matrix, zero_division=zero)
    means = np.array([[*taken.value("power_mean_precision_recall", p=p).values()] for p in EXPONENTS])
    rates = [taken.value("power_mean_all_precision_recall", p=p) for p in (-1.0, 0.0)]

    assert same(means[EXPONENTS.index(-1.0)].tolist(), list(taken["f1"].values()))
    assert same(means[EXPONENTS.index(0.0)].tolist(), list(taken["fowlkes_mallows"].values()))
    assert not (np.diff(means, axis=0) < -1e-12).any()
    assert same(rates, [taken["general_f1_harmonic"], taken["general_fowlkes_mallows_geometric"]])
    assert same(list(taken.value("power_mean_four_rates", p=-1.0).values()), list(taken["p4"].values()))
    if zero == 0:
        assert taken["macro_f1_of_means"] >= taken["macro_f1"] - 1e-15


@given(st.lists(st.integers(0, 50), min_size=2, max_size=4), st.lists(st.integers(0, 50), min_size=2, max_size=4))
def test_independence_gives_zero(true: list[int], predicted: list[int]) -> None:
    """12: where prediction and truth are independent, MCC, kappa and chi-square are exactly 0; not the other way."""
    k = min(len(true), len(predicted))
    matrix = [[t * p for p in predicted[:k]] for t in true[:k]]
    assume(any(map(any, matrix)))

    for cells in (matrix, [[1, 2, 0], [0, 1, 2], [2, 0, 1]]):
        assert [value(key, cells) for key in ("matthews_corrcoef", "cohen_kappa")] == [0.0, 0.0]
    assert value("chi2", matrix) == 0.0


@given(square(), st.randoms(use_true_random=False), st.integers(2, 1000))
def test_names_and_scale_do_not_matter(matrix: list[list[int]], random: Any, factor: int) -> None:
    """16: renaming classes changes what depends on their order only; a factor only amounts and statistics."""
    order = list(range(len(matrix)))
    random.shuffle(order)
    taken, renamed = snapshot(matrix), snapshot([[matrix[i][j] for j in order] for i in order])
    scaled = snapshot([[factor * cell for cell in row] for row in matrix])
    powers = {"cov_true_pred": 2, "cov_pred_pred": 2, "cov_true_true": 2, "chi2": 1}
    powers |= dict.fromkeys(("tp_sum", "fn_sum", "fp_sum", "tn_sum"), 1)
    sized = {"pair_fowlkes_mallows", "mcnemar", "mcnemar_p_value", "nir_p_value", "majority_p_value", "majority_class"}

    for key in set(DEFAULT) - {"f1_ovo_first_positive", "majority_class", "majority_p_value"}:
        assert same(taken[key], renamed[key], 1e-9), key
    for key in set(DEFAULT) - sized:
        assert same(scaled[key], taken[key] * factor ** powers.get(key, 0), 1e-9), key


@given(square(3, 3), square(3, 3))
def test_a_merged_state_has_the_metrics_of_the_sum(a: Any, b: Any) -> None:
    """19: every value of a merged state is the value of the summed matrix."""
    merged = sm.ConfusionMatrix.from_matrix(a).merge(sm.ConfusionMatrix.from_matrix(b)).snapshot()

    assert merged == snapshot(np.array(a) + np.array(b))
    assert dict(merged) == dict(snapshot(np.array(a) + np.array(b)))
