"""Values computed by hand, with their arithmetic, of metrics that the golden file does not cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stream_metrics.formulas.means import combine

FIG2 = [[20, 5], [10, 15]]  # precision 20/30, 15/20; recall 20/25, 15/25
FIG9 = [[40, 0], [10, 0]]  # the second class is never predicted
SMALL = [[2, 1], [0, 1]]
ORDERED = [[2, 1, 0], [0, 2, 1], [1, 0, 3]]  # totals 3, 3, 4 both ways
DOERING = [[35, 0, 0, 5, 5], [0, 9, 0, 1, 0], [0, 5, 10, 0, 0], [0, 0, 2, 23, 0], [2, 2, 0, 0, 1]]
NAN = math.nan


@pytest.mark.parametrize(
    ("key", "matrix", "options", "expected"),
    [
        ("fbeta", FIG2, {"beta": 2}, [5 * 20 / (4 * 25 + 30), 5 * 15 / (4 * 25 + 20)]),
        ("fbeta", FIG2, {"beta": 0.5}, [1.25 * 20 / (0.25 * 25 + 30), 1.25 * 15 / (0.25 * 25 + 20)]),
        ("fbeta", FIG2, {"beta": 0}, [20 / 30, 15 / 20]),
        ("fbeta", FIG2, {"beta": math.inf}, [20 / 25, 15 / 25]),
        ("fbeta", FIG2, {"beta": 1000}, [1000001 * 20 / (25000030), 1000001 * 15 / 25000020]),
        ("macro_fbeta", FIG2, {"beta": 2}, (100 / 130 + 75 / 120) / 2),
        ("weighted_fbeta", [[1, 1], [1, 5]], {"beta": 2}, (2 * (5 / 10) + 6 * (25 / 30)) / 8),
        ("micro_fbeta", FIG2, {"beta": 2}, 35 / 50),
        ("jaccard", FIG2, {}, [20 / 35, 15 / 30]),
        ("macro_jaccard", FIG2, {}, (4 / 7 + 1 / 2) / 2),
        ("micro_jaccard", FIG2, {}, 35 / 65),
        ("weighted_jaccard", [[1, 1], [1, 5]], {}, (2 * (1 / 3) + 6 * (5 / 7)) / 8),
        ("macro_specificity", FIG2, {}, (15 / 25 + 20 / 25) / 2),
        ("weighted_kappa_linear", ORDERED, {}, 1 - 10 * 4 / 90),
        ("weighted_kappa_quadratic", ORDERED, {}, 1 - 10 * 6 / 138),
        ("weighted_kappa", FIG2, {}, 0.4),
        ("balanced_accuracy_adjusted", FIG2, {}, (0.7 - 0.5) / 0.5),
        ("balanced_accuracy_adjusted", [[3, 1, 0], [0, 0, 0], [0, 0, 2]], {}, (0.875 - 0.5) / 0.5),
        ("geometric_mean", FIG2, {}, math.sqrt(0.8 * 0.6)),
        ("geometric_mean", [[3, 1, 0], [0, 0, 0], [0, 0, 2]], {}, math.sqrt(0.75 * 1)),
        ("pair_fowlkes_mallows", SMALL, {}, 2 / math.sqrt(4 * 6)),
        ("general_f1", SMALL, {"average": min}, 2 / 3),
        ("general_f1", SMALL, {"average": "power", "p": math.inf}, 4 / 5),
        ("ovo", ORDERED, {"metric": "precision"}, ((1 + 2 / 3) + (2 / 3 + 1) + (1 + 3 / 4)) / 6),
        ("ovo", SMALL, {"metric": "p4"}, 4 * 2 * 1 / (4 * 2 * 1 + 3 * 1)),
        ("ovo", SMALL, {"metric": "fowlkes_mallows"}, (math.sqrt(2 / 3) + math.sqrt(1 / 2)) / 2),
        ("baseline_accuracy", SMALL, {"prior": {0: 1, 1: 3}}, 0.75 * 0.25 + 0.25 * 0.75),
        ("baseline_accuracy", SMALL, {"strategy": "most_frequent"}, 0.75),
        ("baseline_precision", SMALL, {"prior": [0, 5]}, [0, 0.25]),
        ("baseline_recall", SMALL, {"prior": {0: 1, 1: 3}}, [0.25, 0.75]),
        ("baseline_f1", SMALL, {"prior": {0: 1, 1: 3}}, [2 * 0.75 * 0.25, 2 * 0.25 * 0.75]),
        ("baseline_matrix", SMALL, {"prior": {0: 1, 1: 3}}, [[0.75, 2.25], [0.25, 0.75]]),
        ("nir_p_value", [[1, 1], [0, 1]], {}, 3 * (4 / 9) * (1 / 3) + 8 / 27),
        ("majority_p_value", [[1, 1], [0, 1]], {}, 3 / 4),
        ("mcnemar", [[10, 8], [2, 20]], {}, (8 - 2 - 1) ** 2 / 10),
        ("mcnemar", [[10, 8], [2, 20]], {"correction": False}, (8 - 2) ** 2 / 10),
        ("mcnemar_p_value", [[10, 8], [2, 20]], {}, math.erfc(math.sqrt(2.5 / 2))),
        ("mcnemar_p_value", [[10, 8], [2, 20]], {"exact": True}, 2 * (45 + 10 + 1) / 1024),
        ("mcnemar", [[10, 5], [5, 20]], {}, 0),
        ("mcnemar_p_value", [[10, 5], [5, 20]], {}, 1),
        ("mcnemar_p_value", [[10, 5], [5, 20]], {"exact": True}, 1),
        ("mcnemar", [[9, 3, 0], [1, 9, 0], [2, 0, 9]], {}, (3 - 1) ** 2 / 4 + 2**2 / 2),
        ("mcnemar_p_value", [[9, 3, 0], [1, 9, 0], [2, 0, 9]], {}, math.exp(-3 / 2)),
        ("generalized_mcc", SMALL, {"alpha": 1}, (3 * 2 - 2 * 1) / math.sqrt(5 * 3 * 4 * 4)),
        ("weighted_balanced_accuracy", FIG2, {"weights": {0: 3, 1: 1, 7: 9}}, (3 * 0.8 + 0.6) / 4),
        ("weighted_accuracy_literal", SMALL, {}, 3),
    ],
)
def test_value(value: Any, same: Any, key: str, matrix: Any, options: dict[str, Any], expected: Any) -> None:
    """The value is the one worked by hand."""
    assert same(value(key, matrix, **options), expected)


def test_published_values(value: Any) -> None:
    """The p-value that R caret prints for Doering's matrix, and the index over pairs of Grandini's Fig. 2."""
    assert f"{value('nir_p_value', DOERING):.3e}" == "1.637e-11"
    assert f"{value('pair_fowlkes_mallows', FIG2):.6f}" == "0.571548"


@pytest.mark.parametrize(
    ("key", "options", "by_zero_division"),
    [
        ("precision", {}, ([0.8, 0.0], [0.8, 1.0], [0.8, NAN])),
        ("macro_precision", {}, (0.4, 0.9, 0.8)),
        ("weighted_precision", {}, (0.64, (40 * 0.8 + 10) / 50, 0.8)),
        ("macro_f1", {}, (4 / 9, 4 / 9, 4 / 9)),
        ("macro_f1_of_means", {}, (4 / 9, 2 * 0.9 * 0.5 / 1.4, 2 * 0.8 * 0.5 / 1.3)),
        ("fowlkes_mallows", {}, ([math.sqrt(0.8), 0], [math.sqrt(0.8), 0], [math.sqrt(0.8), 0])),
        ("power_mean_precision_recall", {"p": 1.0}, ([0.9, 0.0], [0.9, 0.5], [0.9, NAN])),
        ("power_mean_precision_recall", {"p": -1.0}, ([8 / 9, 0], [8 / 9, 0], [8 / 9, 0])),
        ("power_mean_all_precision_recall", {"p": 1.0}, (1.8 / 4, 2.8 / 4, 1.8 / 3)),
        ("power_mean_all_precision_recall", {"p": 0.0}, (0, 0, 0)),
        ("matthews_corrcoef", {}, (0.0, 1.0, NAN)),
        ("matthews_corrcoef_ovo", {}, (0.0, 1.0, NAN)),
        ("ova_balanced_accuracy", {}, ([0.5, 0.5], [0.5, 0.5], [0.5, 0.5])),
        ("p4", {}, ([0, 0], [0, 0], [0, 0])),
        ("balanced_accuracy", {}, (0.5, 0.5, 0.5)),
        ("cramers_v", {}, (0, 0, 0)),
    ],
)
def test_components_that_are_undefined(value: Any, same: Any, key: str, options: Any, by_zero_division: Any) -> None:
    """A 0/0 inside an average counts as 0 or 1, or is left out: here the precision of a class never predicted."""
    actual = [value(key, FIG9, zero_division=zd, **options) for zd in (0.0, 1.0, NAN)]

    assert same(actual, list(by_zero_division))


def test_f1_ovo_leaves_out_half_a_pair(value: Any, same: Any) -> None:
    """With zero_division=nan a pair with one defined F1 counts with that one alone, and an empty pair not at all."""
    matrix = [[4, 0, 0], [0, 0, 0], [0, 0, 0]]

    assert value("f1_ovo", matrix, zero_division=NAN) == 1.0
    assert same(value("f1_ovo", matrix, zero_division=0.0), (0.5 + 0.5 + 0) / 3)
    assert value("f1_ovo_first_positive", matrix, zero_division=NAN) == 1.0


def test_determinant_reduces_the_classes(value: Any, same: Any) -> None:
    """Classes neither true nor predicted are dropped; one that is never predicted, or a lone class, leaves 0/0."""
    padded = [[20, 0, 5], [0, 0, 0], [10, 0, 15]]

    assert value("generalized_mcc", padded) == value("generalized_mcc", FIG2)
    assert value("cramers_v", padded) == value("cramers_v", FIG2)
    assert same(value("cramers_v", [[0, 1, 0], [1, 0, 0], [1, 0, 0]]), math.sqrt(1 / 2))
    assert math.isnan(value("generalized_mcc", FIG9, zero_division=NAN))
    assert math.isnan(value("generalized_mcc", [[5]], zero_division=NAN))


def test_determinant_of_integers_and_of_floats_agree(counts_class: Any, same: Any) -> None:
    """The exact determinant, used up to eight classes, agrees with the one of floating-point numbers."""
    matrix = [[(7 * i + 3 * j * j) % 11 + (9 if i == j else 0) for j in range(8)] for i in range(8)]
    whole, fractional = counts_class.from_matrix(matrix), counts_class(labels=range(8))
    for i, row in enumerate(matrix):
        for j, cell in enumerate(row):
            fractional.update(i, j, cell + 0.5)
    smoothed = counts_class.from_matrix([[2 * cell + 1 for cell in row] for row in matrix])

    from stream_metrics.formulas.association import generalized_mcc

    assert same(generalized_mcc(fractional), generalized_mcc(smoothed))
    assert same(generalized_mcc(whole), generalized_mcc(whole, alpha=1e-13), 1e-10)


@pytest.mark.parametrize(
    ("p", "expected"), [(math.inf, [3.0, 0.5]), (-math.inf, [1.0, 0.25]), (max, [3.0, 0.5]), (min, [1.0, 0.25])]
)
def test_means_of_rows(p: Any, expected: list[float]) -> None:
    """The largest and the smallest value of each row, as an exponent and as a function; nan is left out."""
    rows = np.array([[1.0, 3.0, 2.0], [0.5, math.nan, 0.25]])

    assert combine(rows, p, math.nan).tolist() == expected  # type: ignore[union-attr]
