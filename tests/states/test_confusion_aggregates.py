"""Aggregates that formulas read: exact sums, correctly rounded ratios, means that do not depend on order."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import Oracle
from support.refusals import refused
from support.state_checks import FORMS, counted, fed

import stream_metrics as sm

pytestmark = pytest.mark.quick
NAN = float("nan")
RECALL, PRECISION = FORMS[:2]
RATIOS = [*FORMS, ((1, -1, -1, 1), (0, 0, 0, 1))]
WHOLE = np.array([[6, 0, 1, 2], [3, 9, 1, 1], [1, 0, 10, 2], [1, 2, 1, 12]])  # Grandini et al. 2020, Fig. 1
state_of = sm.ConfusionMatrix.from_matrix


def test_arrays_of_totals_and_cells() -> None:
    """Totals are read-only, and an int where halves add up to one; cells are the matrix in row-major order."""
    state, halves = state_of(WHOLE), state_of([[0.5, 0.5], [0.5, 0.5]])
    for array in (state.true_totals, state.predicted_totals, state.diagonal):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    rows, columns, values = state.cells()
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [tuple(x) for x in np.argwhere(WHOLE).tolist()]
    assert values.tolist() == WHOLE[rows, columns].tolist()
    assert {array.dtype for array in (halves.true_totals, halves.diagonal, halves.matrix)} == {np.dtype(float)}
    assert (type(halves.total), halves.total, type(halves.hits), halves.hits) == (int, 2, int, 1)


def test_a_ratio_is_nan_exactly_where_its_denominator_is_zero() -> None:
    """0/0 is decided on exact counts: a tiny denominator is not zero."""
    state = counted(("a", "a", 2**60), ("b", "a", 2.0**-64), labels=["a", "b", "c"])

    assert np.isnan(state.ratios(*RECALL)).tolist() == [False, False, True]
    assert np.isnan(state.ratios(*PRECISION)).tolist() == [False, True, True]
    assert np.isnan(state.ratios((0, 0, 0, 1), (1, -1, 0, 0))).tolist() == [True, False, True]


def test_means_do_not_depend_on_arrival() -> None:
    """The same samples in another order, with other indices behind the labels, give the same bits."""
    rng = random.Random(2)
    for w in (1, 0.3):
        names = "abcdefghijklmnop"
        samples = [(rng.choice(names), rng.choice(names), w * rng.randint(1, 9)) for _ in range(300)]
        means = set()
        for _ in range(10):
            rng.shuffle(samples)
            state = fed(sm.ConfusionMatrix(), samples)
            forms = FORMS[:4]
            means.add(tuple((state.mean_ratio(*f, 0.0), state.mean_ratio(*f, NAN, by_support=True)) for f in forms))
        assert len(means) == 1


four = st.lists(st.integers(0, 2**58), min_size=4, max_size=4)


@settings(max_examples=20)
@given(st.lists(four, min_size=4, max_size=4), st.sampled_from(RATIOS))
def test_ratios_and_means_of_any_counts(cells: list[list[int]], form: Any) -> None:
    """Numerator and denominator are exact before they become doubles, and so are sums of means."""
    for matrix in (cells, (WHOLE * (cells[0][0] % 2**56 + 1)).tolist(), WHOLE.repeat(8, 0).repeat(8, 1).tolist()):
        state, exact = state_of(matrix), Oracle.from_matrix(matrix)
        got, expected = state.ratios(*form), exact.ratios(*form)
        assert np.isnan(got).tolist() == np.isnan(expected).tolist()
        assert all(abs(a - b) <= 2 * math.ulp(b) for a, b in zip(got, expected, strict=True) if not math.isnan(b))
        for undefined, by_support in ((0.0, False), (1.0, False), (NAN, False), (0.0, True), (NAN, True)):
            mean = exact.mean_ratio(*form, undefined, by_support)
            assert state.mean_ratio(*form, undefined, by_support) == pytest.approx(mean, rel=2**-51, nan_ok=True)


def test_what_has_no_samples() -> None:
    """The mean of no class is nan or `undefined`; a label without samples has no positives; a form has four numbers."""
    fixed, state = sm.ConfusionMatrix(labels=["a", "b"]), counted(("a", "b", 2.5), "zz")
    state.revert("z", "z")
    for undefined in (0.0, 1.0, NAN):
        assert math.isnan(sm.ConfusionMatrix().mean_ratio(*RECALL, undefined))
        assert math.isnan(fixed.mean_ratio(*RECALL, undefined, by_support=True))
        assert repr(fixed.mean_ratio(*RECALL, undefined)) == repr(undefined)
    for label in ("z", "never", 5, ("a",)):
        assert state.one_vs_rest(label).matrix.tolist() == [[0, 0], [0, 2.5]]
    refused(lambda: state.one_vs_rest(NAN), sm.LabelError)
    for form in ((1, 2, 3), (1, 2, 3, 4, 5), (1, NAN, 0, 0), (1, "x", 0, 0)):
        with pytest.raises((TypeError, ValueError)):
            state.ratios(form, (0, 0, 0, 1))
