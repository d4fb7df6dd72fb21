"""Metrics of counts against definitions in fractions, for weights from 2^-60 to 2^50, and identities of options."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.exact_metrics import REFERENCES, Bound, Exact
from support.oracle import exact_weight
from support.refusals import refused
from support.values import OF_LABELS, plain, same, snapshot

import stream_metrics as sm

pytestmark = pytest.mark.quick
METRICS = sm.metrics()
OF_SAMPLES = {"nir_p_value", "majority_p_value", "mcnemar", "mcnemar_p_value"}
LARGEST_SUM = 300  # samples; tails of more are in `test_distributions`

small = st.integers(0, 6)
large = st.integers(0, 2**50)
powers = st.builds(math.ldexp, st.integers(1, 2**53 - 1), st.integers(-113, -3))
tidy = st.sampled_from([0, 0.1, 0.25, 0.5, 1e-3, 1e-9, 1.0, 2.0**-60, 2.0**50, 1e13 + 0.5])
weights = st.one_of(small, small, st.one_of(small, large), st.one_of(small, powers), st.one_of(powers, tidy, large))


@st.composite
def matrices(draw: st.DrawFn) -> list[list[Any]]:
    """Square matrices: counts of a few samples, or weights of one kind, or of all kinds; some outer products."""
    k = draw(st.integers(1, 4))
    cells = draw(st.sampled_from([small, weights, st.one_of(st.just(0), weights), powers, large]))
    if draw(st.integers(0, 7)) == 0:  # truth and prediction are independent
        rows, columns = (draw(st.lists(st.integers(0, 9), min_size=k, max_size=k)) for _ in range(2))
        scale = draw(st.sampled_from([1, 0.125, 2.0**-20]))
        return [[a * b * scale for b in columns] for a in rows]
    return draw(st.lists(st.lists(cells, min_size=k, max_size=k), min_size=k, max_size=k))


def test_every_row_has_a_reference() -> None:
    """A metric of counts that is added to the catalog needs a reference here; there is none for anything else."""
    assert REFERENCES.keys() == set(OF_LABELS)


def check(key: str, actual: Any, reference: Any, zero: float, bound: Bound) -> None:
    """Assert that a value is its reference within the bound, and in the range of its row; a 0/0 is what replaces it."""
    if isinstance(reference, list):
        assert len(actual) == len(reference), key
        for mine, theirs in zip(actual, reference, strict=True):
            check(key, mine, theirs, zero, bound)
        return
    if reference is None:
        assert actual == zero or (math.isnan(actual) and math.isnan(zero)), (key, actual)
        return
    low, high = METRICS[key].range
    assert key == "majority_class" or low <= actual <= high, (key, actual)
    if bound == Bound():
        assert actual == (int(reference) if isinstance(actual, int) else float(reference)), (key, actual, reference)
        return
    exact = Fraction(reference)
    slack = Fraction(bound.relative) * abs(exact) + Fraction(bound.absolute) + Fraction(2.0**-1070)
    assert abs(Fraction(np.asarray(actual).item()) - exact) <= slack, (key, actual, float(exact))
    assert bound.absolute or (actual > 0, actual < 0) == (exact > 0, exact < 0), (key, actual, float(exact))


@given(matrices(), st.sampled_from([0.0, 1.0, math.nan]))
@example([[0.0, 1e-3], [0.0, 1e13 + 0.5]], 0.0)
@example([[0.925, 0.0], [0.966, 0.117]], 0.0)
@example([[0.1 * 0.3, 0.1 * 0.7], [0.3, 0.7]], 0.0)
@example([[2**62, 0, 0], [0, 2**61, 2**59], [1, 0, 2**60]], math.nan)
@example([[2.0**-64, 0], [2.0**-64, 2.0**62]], 0.0)
@example([[5]], 0.0)
@example([[0, 0], [0, 0]], math.nan)
@example([[6, 9], [4, 6]], 0.0)  # independent
@example([[1, 2, 0], [0, 1, 2], [2, 0, 1]], 0.0)  # MCC is 0, but not chi-square
@example([[20, 0, 5], [0, 0, 0], [10, 0, 15]], 0.0)
@example([[40, 0], [10, 0]], math.nan)
@example([[0, 1, 0], [1, 0, 0], [1, 0, 0]], math.nan)
@example([[10**12, 10**12 + 1], [10**12 - 1, 10**12]], 1.0)
@example([[10**12, 3 * 10**11], [7 * 10**10, 9 * 10**11]], 1.0)
def test_every_metric_is_its_definition(matrix: list[list[Any]], zero: float) -> None:
    """The nearest float where a value is a ratio of sums of counts, else within a few roundings; 0/0 where it is."""
    exact = Exact([[Fraction(exact_weight(w)) for w in row] for row in matrix], zero)
    whole = all(x.denominator == 1 for row in exact.cells for x in row)
    counts = sm.ConfusionMatrix.from_matrix(np.array(matrix, object))
    taken = sm.Snapshot(counts, keys=OF_LABELS, zero_division=zero)
    undefined = set(taken.undefined)
    assert taken.omitted.keys() == (set() if whole else {*OF_SAMPLES, "pair_fowlkes_mallows"})
    for key in OF_LABELS:
        if key in OF_SAMPLES and whole and exact.total > LARGEST_SUM:
            continue
        if key in taken.omitted:
            refused(partial(taken.value, key), ValueError, f"for '{key}'")
            continue
        read, bound = REFERENCES[key]
        reference = read(exact)
        if reference is NotImplemented:
            continue
        if METRICS[key].kind != "matrix":
            lost = [(key, i) for i, x in enumerate(reference) if x is None] if isinstance(reference, list) else []
            assert {place for place in undefined if key in (place, place[0])} == {
                *lost,
                *[key] * (reference is None),
            }, key
        value = plain(taken.value(key))
        if key == "majority_class" and reference is None:
            assert value is None
        else:
            check(key, value, reference, zero, bound)


@given(st.floats(0, 200), st.lists(weights, min_size=2, max_size=4))
def test_any_beta_keeps_the_range(beta: float, diagonal: list[Any]) -> None:
    """F-beta of a perfect prediction is at most 1, and at least 1 less a few roundings, whatever beta."""
    counts = sm.ConfusionMatrix.from_matrix(np.diag(np.array(diagonal, object)))
    values = sm.Snapshot(counts, zero_division=1.0).value("fbeta", beta=beta).values()

    assert 1 - 1e-15 <= min(values) <= max(values) <= 1


COUNTS = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**6))
EXPONENTS = (-math.inf, -2.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0, 2.0, math.inf)


def square() -> st.SearchStrategy[list[list[int]]]:
    """Matrices of counts that are not empty."""
    rows = st.integers(1, 5).flatmap(
        lambda k: st.lists(st.lists(COUNTS, min_size=k, max_size=k), min_size=k, max_size=k)
    )
    return rows.filter(lambda matrix: any(map(any, matrix)))


@given(square(), st.sampled_from([0.0, 1.0, math.nan]))
def test_power_means(matrix: list[list[int]], zero: float) -> None:
    """F1, Fowlkes-Mallows and P4 are power means, which grow with p, whatever 0/0 is; and so of 2K rates."""
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


@given(square())
def test_weights_of_classes(matrix: list[list[int]]) -> None:
    """Weighted by the true totals, balanced accuracy is the accuracy; equal weights change nothing."""
    taken, support = snapshot(matrix), [sum(row) for row in matrix]

    assert same(taken.value("weighted_balanced_accuracy", weights=support), taken["accuracy"])
    assert same(taken.value("weighted_balanced_accuracy", weights=[3] * len(matrix)), taken["balanced_accuracy"])
