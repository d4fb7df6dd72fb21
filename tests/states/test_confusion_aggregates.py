"""Aggregates that formulas read: exact sums, correctly rounded ratios, means that do not depend on order."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracle import Oracle

import stream_metrics as sm

NAN = float("nan")
RECALL = (1, 0, 0, 0), (0, 1, 0, 0)
PRECISION = (1, 0, 0, 0), (0, 0, 1, 0)
F1 = (2, 0, 0, 0), (0, 1, 1, 0)
JACCARD = (1, 0, 0, 0), (-1, 1, 1, 0)
SPECIFICITY = (1, -1, -1, 1), (0, -1, 0, 1)
FORMS = [RECALL, PRECISION, F1, JACCARD, SPECIFICITY, ((1, -1, -1, 1), (0, 0, 0, 1))]
MATRIX = [[6, 0, 1, 2], [3, 9, 1, 1], [1, 0, 10, 2], [1, 2, 1, 12]]  # Grandini et al. 2020, Fig. 1


def state_of(matrix: Any) -> sm.ConfusionMatrix:
    """Return the state of a matrix."""
    return sm.ConfusionMatrix.from_matrix(matrix)


def test_totals_are_read_only_arrays() -> None:
    """Row, column and diagonal sums are int64 arrays that cannot be written to."""
    state = state_of(MATRIX)

    assert state.true_totals.tolist() == [9, 14, 13, 16]
    assert state.predicted_totals.tolist() == [11, 11, 13, 17]
    assert state.diagonal.tolist() == [6, 9, 10, 12]
    for array in (state.true_totals, state.predicted_totals, state.diagonal):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_totals_with_fractions_are_floats() -> None:
    """While the weight of a cell has a fraction every array is float64."""
    state = state_of([[0.5, 0.5], [0.5, 0.5]])

    for array in (state.true_totals, state.predicted_totals, state.diagonal, state.matrix, state.cells()[2]):
        assert array.dtype == np.float64
    assert (type(state.total), state.total, type(state.hits), state.hits) == (int, 2, int, 1)


def test_inner_products_are_exact_beyond_64_bits() -> None:
    """Sums of squares of counts are Python integers of any size."""
    cells = [[2**60 + 1, 3], [5, 2**61 + 7]]
    state = state_of(cells)
    true, predicted = [sum(row) for row in cells], [sum(column) for column in zip(*cells, strict=True)]

    assert state.true_dot_true == sum(t * t for t in true) > 2**64
    assert state.true_dot_predicted == sum(t * p for t, p in zip(true, predicted, strict=True))
    assert state.predicted_dot_predicted == sum(p * p for p in predicted)


def test_inner_products_of_fractions_are_exact() -> None:
    """Fractional weights are summed and multiplied without rounding."""
    weights = [0.1, 1 / 3, 1e-9, 2.0**40 + 0.7]
    state = state_of([weights[:2], weights[2:]])
    exact = [Fraction(round(Fraction(w) * 2**64), 2**64) for w in weights]
    true, predicted = [exact[0] + exact[1], exact[2] + exact[3]], [exact[0] + exact[2], exact[1] + exact[3]]

    assert state.total == sum(exact)
    assert state.hits == exact[0] + exact[3]
    assert state.true_dot_true == sum(t * t for t in true)
    assert state.true_dot_predicted == sum(t * p for t, p in zip(true, predicted, strict=True))
    assert state.true_totals.tolist() == [float(t) for t in true]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_ratios_by_hand(form: Any) -> None:
    """A ratio is the division of two exact numbers, rounded once."""
    state, expected = state_of(MATRIX), []
    for k in range(4):
        parts = MATRIX[k][k], sum(MATRIX[k]), sum(row[k] for row in MATRIX), 52
        above, below = (sum(a * b for a, b in zip(side, parts, strict=True)) for side in form)
        expected.append(above / below)

    assert state.ratios(*form).tolist() == expected


@pytest.mark.parametrize("scale", [1, 2**20, 2**45, 2**56])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_ratios_at_any_size(form: Any, scale: int) -> None:
    """A common factor of all counts changes no ratio, however large they get."""
    assert state_of(np.array(MATRIX) * scale).ratios(*form).tolist() == state_of(MATRIX).ratios(*form).tolist()


def test_a_ratio_is_nan_exactly_where_its_denominator_is_zero() -> None:
    """0/0 is decided on exact counts: a tiny denominator is none that is zero."""
    state = sm.ConfusionMatrix(labels=["a", "b", "c"])
    state.update("a", "a", 2**60)
    state.update("b", "a", 2.0**-64)

    assert np.isnan(state.ratios(*RECALL)).tolist() == [False, False, True]
    assert np.isnan(state.ratios(*PRECISION)).tolist() == [False, True, True]
    assert np.isnan(state.ratios((0, 0, 0, 1), (1, -1, 0, 0))).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("undefined", "by_support", "expected"),
    [(0.0, False, 2 / 4), (1.0, False, 3 / 4), (NAN, False, 2 / 3), (0.0, True, 3 / 4), (NAN, True, 3 / 4)],
)
def test_mean_ratio_by_hand(undefined: float, by_support: bool, expected: float) -> None:
    """A class that is 0/0 counts as `undefined` or is left out; `by_support` weights by true totals."""
    state = sm.ConfusionMatrix(labels=["a", "b", "c", "d"])
    for truth, predicted in ["aa", "aa", "bc", "cc"]:
        state.update(truth, predicted)

    assert state.mean_ratio(*RECALL, undefined, by_support) == expected


@pytest.mark.parametrize(("undefined", "mean"), [(0.0, 0.0), (1.0, 1.0), (NAN, NAN)])
def test_the_mean_of_nothing(undefined: float, mean: float) -> None:
    """No class, and no weight, have no mean; classes that are all 0/0 have that of `undefined`."""
    empty, fixed = sm.ConfusionMatrix(), sm.ConfusionMatrix(labels=["a", "b"])

    assert math.isnan(empty.mean_ratio(*RECALL, undefined))
    assert math.isnan(fixed.mean_ratio(*RECALL, undefined, by_support=True))
    assert repr(fixed.mean_ratio(*RECALL, undefined)) == repr(mean)


@pytest.mark.parametrize("w", [1, 0.3], ids=["whole", "fractions"])
@pytest.mark.parametrize("form", FORMS[:4], ids=str)
def test_means_do_not_depend_on_arrival(form: Any, w: float) -> None:
    """The same samples in another order, with other indices behind the labels, give the same bits."""
    rng = random.Random(2)
    samples = [
        (rng.choice("abcdefghijklmnop"), rng.choice("abcdefghijklmnop"), w * rng.randint(1, 9)) for _ in range(300)
    ]
    means = set()
    for _ in range(10):
        state = sm.ConfusionMatrix()
        rng.shuffle(samples)
        for sample in samples:
            state.update(*sample)
        means.add((state.mean_ratio(*form, 0.0), state.mean_ratio(*form, NAN, by_support=True)))

    assert len(means) == 1


def test_a_mean_is_within_two_roundings_of_the_exact_one() -> None:
    """The mean of many rounded ratios is as close to the exact one as a sum in doubles could not be."""
    rng = np.random.default_rng(3)
    matrix = rng.integers(0, 50, (30, 30))
    state, exact = state_of(matrix), Oracle.from_matrix(matrix.tolist())

    for form in (RECALL, PRECISION, F1):
        for by_support in (False, True):
            mean = exact.mean_ratio(*form, 0.0, by_support)
            assert abs(state.mean_ratio(*form, 0.0, by_support) - mean) <= 2 * math.ulp(mean)


def test_cells_and_matrix_agree() -> None:
    """Cells are the non-zero entries of the matrix in row-major order."""
    state = state_of(MATRIX)
    rows, columns, values = state.cells()

    assert np.array_equal(state.matrix, MATRIX)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [tuple(x) for x in np.argwhere(MATRIX).tolist()]
    assert values.tolist() == state.matrix[rows, columns].tolist()


@pytest.mark.parametrize("scale", [1, 0.125, 2**50])
def test_one_vs_rest(scale: float) -> None:
    """A class against the rest is a table of two, with the same total and diagonal cell."""
    state = state_of((np.array(MATRIX) * scale).tolist())

    for k in range(4):
        tp, t, p = MATRIX[k][k], sum(MATRIX[k]), sum(row[k] for row in MATRIX)
        two = state.one_vs_rest(k)
        assert two.k == 2
        assert two.total == state.total == 52 * scale
        assert (two.matrix / scale).tolist() == [[tp, t - tp], [p - tp, 52 - t - p + tp]]
        assert two.ratios(*F1)[0] == state.ratios(*F1)[k]


def test_one_vs_rest_of_a_label_without_samples() -> None:
    """A label that was never seen, or has left, has no positives; what is no label is refused."""
    state = sm.ConfusionMatrix()
    state.update("a", "b", 2.5)
    state.update("z", "z")
    state.revert("z", "z")

    for label in ("z", "never", 5, ("a",)):
        assert state.one_vs_rest(label).matrix.tolist() == [[0, 0], [0, 2.5]]
    with pytest.raises(sm.LabelError, match="nan"):
        state.one_vs_rest(NAN)


@pytest.mark.parametrize("form", [(1, 2, 3), (1, 2, 3, 4, 5), (1, NAN, 0, 0), (1, "x", 0, 0)])
def test_a_form_has_four_numbers(form: Any) -> None:
    """A form that is none is refused."""
    with pytest.raises((TypeError, ValueError)):
        state_of(MATRIX).ratios(form, (0, 0, 0, 1))


@given(
    st.lists(st.lists(st.integers(0, 2**58), min_size=4, max_size=4), min_size=4, max_size=4),
    st.sampled_from(FORMS[:4]),
)
def test_ratios_of_any_counts_are_as_exact_as_two_roundings_allow(cells: list[list[int]], form: Any) -> None:
    """Numerator and denominator are exact before they become doubles, so the ratio is off by less than 2 ulp."""
    got, expected = state_of(cells).ratios(*form), Oracle.from_matrix(cells).ratios(*form)

    assert np.isnan(got).tolist() == np.isnan(expected).tolist()
    assert all(abs(a - b) <= 2 * math.ulp(b) for a, b in zip(got, expected, strict=True) if not math.isnan(b))
