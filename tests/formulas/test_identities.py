"""The identities between the metrics, on random matrices; numbers are those of the formula reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluate import evaluate

Read = Callable[..., Any]
Same = Callable[..., bool]

COUNTS = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**6))
EXPONENTS = (-math.inf, -2.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 2.0, math.inf)
OF_COUNTS = [row for row in CATALOG.values() if row.state == "counts"]
WHOLE = [row.key for row in OF_COUNTS if row.kind == "whole" and row.default]
FEW = settings(max_examples=60, deadline=None)


def square(smallest: int = 1, largest: int = 5) -> st.SearchStrategy[list[list[int]]]:
    """Matrices of counts that are not empty."""
    sizes = st.integers(smallest, largest)
    rows = sizes.flatmap(lambda k: st.lists(st.lists(COUNTS, min_size=k, max_size=k), min_size=k, max_size=k))
    return rows.filter(lambda matrix: any(map(any, matrix)))


@FEW
@given(square())
def test_micro_averages_are_accuracy(value: Read, matrix: list[list[int]]) -> None:
    """1: micro precision, recall and F1 and weighted recall are the accuracy, to the bit."""
    keys = ("micro_precision", "micro_recall", "micro_f1", "weighted_recall")

    assert {value(key, matrix) for key in keys} == {value("accuracy", matrix)}


@FEW
@given(square())
def test_average_accuracy_follows_from_accuracy(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """2: average accuracy is 1 - 2 (1 - accuracy) / K, and the summed one-vs-all matrix has the cells it should."""
    k, n, c = len(matrix), sum(map(sum, matrix)), sum(matrix[i][i] for i in range(len(matrix)))
    sums = [value(key, matrix) for key in ("tp_sum", "fn_sum", "fp_sum", "tn_sum")]

    assert same(value("average_accuracy", matrix), 1 - 2 * (1 - value("accuracy", matrix)) / k)
    assert sums == [c, n - c, n - c, (k - 2) * n + c]
    assert sums == [sum(value(key, matrix)) for key in ("tp", "fn", "fp", "tn")]


@FEW
@given(square())
def test_weights_turn_balanced_accuracy_into_accuracy(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """3: weighted by support it is the accuracy, with equal weights balanced accuracy, which is macro recall."""
    support = [sum(row) for row in matrix]
    balanced = value("balanced_accuracy", matrix)

    assert same(value("weighted_balanced_accuracy", matrix, weights=support), value("accuracy", matrix))
    assert same(value("weighted_balanced_accuracy", matrix, weights=[3] * len(matrix)), balanced)
    assert value("weighted_balanced_accuracy", matrix) == balanced
    assert not all(support) or same(value("macro_recall", matrix), balanced)


@FEW
@given(square())
def test_kappa_lies_between_zero_and_mcc(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """4: kappa has the sign of MCC and is no farther from 0; equal totals of truth and prediction make them equal."""
    kappa, mcc = value("cohen_kappa", matrix), value("matthews_corrcoef", matrix)
    symmetric = (np.array(matrix) + np.array(matrix).T).tolist()

    assert abs(kappa) <= abs(mcc) * (1 + 1e-15)
    assert kappa * mcc >= 0
    assert same(value("cohen_kappa", symmetric), value("matthews_corrcoef", symmetric))


@FEW
@given(square(2, 2))
def test_two_classes_have_one_correlation(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """5: for two classes the determinant, Cramer's V up to the sign, chi-square and both one-vs-all values are MCC."""
    mcc, n = value("matthews_corrcoef", matrix), sum(map(sum, matrix))

    assert same(value("generalized_mcc", matrix), mcc)
    assert same(value("cramers_v", matrix), abs(mcc))
    assert same(value("chi2", matrix) / n, mcc**2)
    assert same(value("ova_matthews_corrcoef", matrix), [mcc, mcc])
    assert same(value("matthews_corrcoef_ovo", matrix), mcc)
    assert same(value("cohen_kappa_ovo", matrix), value("cohen_kappa", matrix))


@FEW
@given(square(2))
def test_singular_values(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """6: the largest singular value of M is 1; the others give the determinant and Cramer's V."""
    assume(all(map(any, matrix)) and all(map(any, zip(*matrix, strict=True))))
    first, *others = np.linalg.svd(np.array(value("generalized_mcc_matrix", matrix)), compute_uv=False).tolist()
    phi, det, k = value("cramers_v", matrix), value("generalized_mcc", matrix), len(matrix)

    assert same(first, 1.0)
    assert same(abs(det), math.prod(others), 1e-10)
    assert same(phi**2, sum(s * s for s in others) / (k - 1), 1e-10)
    assert abs(det) <= phi ** (k - 1) + 1e-12


@FEW
@given(square())
def test_diagonal_of_the_normalised_matrix(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """7: the diagonal of M holds the Fowlkes-Mallows values, its mean is their arithmetic mean."""
    diagonal = np.diag(value("generalized_mcc_matrix", matrix)).tolist()

    assert same(diagonal, value("fowlkes_mallows", matrix))
    assert same(sum(diagonal) / len(matrix), value("general_fowlkes_mallows", matrix))


@FEW
@given(square(), st.sampled_from([0.0, 1.0, math.nan]))
def test_power_means_of_precision_and_recall(value: Read, same: Same, matrix: list[list[int]], zd: float) -> None:
    """8: p = -1 is F1, p = 0 Fowlkes-Mallows, the power mean grows with p, F1 <= Fowlkes-Mallows."""
    means = np.array([value("power_mean_precision_recall", matrix, zero_division=zd, p=p) for p in EXPONENTS])

    assert same(means[EXPONENTS.index(-1.0)].tolist(), value("f1", matrix, zero_division=zd))
    assert same(means[EXPONENTS.index(0.0)].tolist(), value("fowlkes_mallows", matrix, zero_division=zd))
    assert not (np.diff(means, axis=0) < -1e-12).any()
    for key in ("general_f1", "general_f1_geometric", "general_f1_harmonic", "general_f1_power_2"):
        assert value(key, matrix) <= value(key.replace("f1", "fowlkes_mallows"), matrix) + 1e-12


@FEW
@given(square(), st.sampled_from([0.0, 1.0, math.nan]))
def test_general_means_of_all_rates(value: Read, same: Same, matrix: list[list[int]], zd: float) -> None:
    """9: harmonic general F1 and geometric general Fowlkes-Mallows are power means of the 2K rates, whatever 0/0 is."""
    for p, key in ((-1.0, "general_f1_harmonic"), (0.0, "general_fowlkes_mallows_geometric")):
        all_rates = value("power_mean_all_precision_recall", matrix, zero_division=zd, p=p)

        assert same(all_rates, value(key, matrix, zero_division=zd))


@FEW
@given(square())
def test_the_two_macro_f1(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """10: the F1 of the means is no less than the mean of the F1s; the printed eq. 16 is it times both means."""
    keys = ("macro_precision", "macro_recall", "macro_f1_of_means", "macro_f1", "macro_f1_eq16_literal")
    precision, recall, of_means, of_f1, printed = (value(key, matrix) for key in keys)

    assert of_means >= of_f1 - 1e-15
    assert same(printed, precision * recall * of_means)


@FEW
@given(square(), st.sampled_from([0.0, 1.0, math.nan]))
def test_p4_is_a_power_mean(value: Read, same: Same, matrix: list[list[int]], zd: float) -> None:
    """11: the power mean of the four rates with p = -1 is P4, whatever 0/0 is."""
    p4 = value("p4", matrix, zero_division=zd)

    assert same(value("power_mean_four_rates", matrix, zero_division=zd, p=-1.0), p4)


@FEW
@given(st.lists(st.integers(0, 50), min_size=2, max_size=4), st.lists(st.integers(0, 50), min_size=2, max_size=4))
def test_independence_gives_zero(value: Read, true: list[int], predicted: list[int]) -> None:
    """12: where prediction and truth are independent, MCC, kappa and chi-square are exactly 0."""
    k = min(len(true), len(predicted))
    matrix = [[t * p for p in predicted[:k]] for t in true[:k]]
    assume(any(map(any, matrix)))

    assert [value(key, matrix) for key in ("matthews_corrcoef", "cohen_kappa", "chi2")] == [0.0, 0.0, 0.0]


@FEW
@given(square(1, 4))
def test_mcc_is_the_triple_sum(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """13: the closed form of R_K is the triple sum that defines it."""
    c, k = matrix, range(len(matrix))
    n = sum(map(sum, c))
    true, predicted = [sum(row) for row in c], [sum(column) for column in zip(*c, strict=True)]
    above = sum(c[a][a] * c[b][d] - c[a][b] * c[d][a] for a in k for b in k for d in k)
    below = math.sqrt(sum(t * (n - t) for t in true)) * math.sqrt(sum(p * (n - p) for p in predicted))

    assert same(value("matthews_corrcoef", c), above / below if below else 0.0)


@FEW
@given(square())
def test_equal_totals_make_the_rates_equal(value: Read, same: Same, matrix: list[list[int]]) -> None:
    """14: with equal totals of truth and prediction, precision, recall, F1 and Fowlkes-Mallows are the same."""
    symmetric = (np.array(matrix) + np.array(matrix).T).tolist()
    rates = [value(key, symmetric) for key in ("precision", "recall", "f1", "fowlkes_mallows")]

    assert all(same(rate, rates[0]) for rate in rates)


@FEW
@given(square())
def test_order_of_the_baselines(value: Read, matrix: list[list[int]]) -> None:
    """15: no-information rate >= stratified guessing >= uniform guessing."""
    keys = ("no_information_rate", "baseline_stratified_accuracy", "baseline_uniform_accuracy")
    best, stratified, uniform = (value(key, matrix) for key in keys)

    assert best >= stratified - 1e-15
    assert stratified >= uniform - 1e-15


@FEW
@given(square(), st.randoms(use_true_random=False))
def test_names_of_classes_do_not_matter(value: Read, same: Same, matrix: list[list[int]], random: Any) -> None:
    """16: renaming the classes changes no whole value but those that depend on the order of the labels."""
    order = list(range(len(matrix)))
    random.shuffle(order)
    renamed = [[matrix[i][j] for j in order] for i in order]
    dependent = {"f1_ovo_first_positive", "majority_class", "majority_p_value"}

    for key in set(WHOLE) - dependent:
        assert same(value(key, matrix), value(key, renamed), 1e-9), key


@FEW
@given(square(), st.integers(2, 1000))
def test_scale_of_the_counts_does_not_matter(value: Read, same: Same, matrix: list[list[int]], factor: int) -> None:
    """16: multiplying every count changes only counts, covariances, chi-square, statistics and the index over pairs."""
    scaled = [[factor * cell for cell in row] for row in matrix]
    powers = {"cov_true_pred": 2, "cov_pred_pred": 2, "cov_true_true": 2, "chi2": 1}
    powers |= dict.fromkeys(("tp_sum", "fn_sum", "fp_sum", "tn_sum"), 1)
    sized = {"pair_fowlkes_mallows", "mcnemar", "mcnemar_p_value", "nir_p_value", "majority_p_value"}

    for key in set(WHOLE) - sized:
        expected = value(key, matrix) * factor ** powers[key] if key in powers else value(key, matrix)
        assert same(value(key, scaled), expected, 1e-9), key


@FEW
@given(square(3, 3), square(3, 3))
def test_a_merged_state_has_the_metrics_of_the_sum(counts_class: Any, same: Same, a: Any, b: Any) -> None:
    """19: every value of a merged state is the value of the summed matrix."""
    merged = counts_class.from_matrix(a).merge(counts_class.from_matrix(b))
    together = counts_class.from_matrix((np.array(a) + np.array(b)).tolist())

    for key in WHOLE:
        assert same(evaluate(CATALOG[key], merged)[0], evaluate(CATALOG[key], together)[0], 0.0), key


@FEW
@given(square(1, 4), st.sampled_from([0.0, 1.0, math.nan]))
@example([[10**15, 0], [0, 10**15]], 0.0)
@example([[0]], math.nan)
def test_values_stay_in_their_range(counts_class: Any, matrix: list[list[int]], zd: float) -> None:
    """No value leaves the range that its row states, but for a 0/0 and printed mistakes."""
    counts = counts_class.from_matrix(matrix)

    for row in OF_COUNTS:
        if row.default and row.key != "majority_class":
            found, undefined = evaluate(row, counts, zd)
            defined = np.ravel(found)[~np.isnan(np.ravel(found).astype(float))]
            assert undefined is True or ((defined >= row.low) & (defined <= row.high)).all(), row.key


def test_independence_does_not_follow_from_zero(value: Read, same: Same) -> None:
    """12, the other way round: this matrix has MCC = kappa = 0, and yet an association."""
    matrix = [[1, 2, 0], [0, 1, 2], [2, 0, 1]]

    assert [value("matthews_corrcoef", matrix), value("cohen_kappa", matrix)] == [0.0, 0.0]
    assert same(value("cramers_v", matrix), 1 / math.sqrt(3))
    assert same(value("generalized_mcc", matrix), 1 / 3)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[0, 0, 1], [1, 0, 0], [0, 1, 0]], {"generalized_mcc": 1, "cramers_v": 1, "accuracy": 0, "cohen_kappa": -0.5}),
        ([[0, 7], [3, 0]], {"cramers_v": 1, "matthews_corrcoef": -1}),
        ([[0, 1], [1, 8]], {"matthews_corrcoef": -1 / 9, "accuracy": 0.8}),
        ([[60, 0], [40, 0]], {"accuracy": 0.6, "cohen_kappa": 0, "matthews_corrcoef": 0}),
    ],
)
def test_counter_examples(value: Read, matrix: list[list[int]], expected: dict[str, float]) -> None:
    """The counter-examples that the reference keeps have the values it gives."""
    assert {key: value(key, matrix) for key in expected} == expected
