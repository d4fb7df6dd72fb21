"""Identities of options and of names of classes, on random matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.values import DEFAULT, same, snapshot

pytestmark = pytest.mark.quick
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


@given(square(), st.randoms(use_true_random=False))
def test_names_do_not_matter(matrix: list[list[int]], random: Any) -> None:
    """Renaming classes changes what depends on their order only."""
    order = random.sample(range(len(matrix)), len(matrix))
    taken, renamed = snapshot(matrix), snapshot([[matrix[i][j] for j in order] for i in order])

    for key in set(DEFAULT) - {"f1_ovo_first_positive", "majority_class", "majority_p_value"}:
        assert same(taken[key], renamed[key], 1e-9), key
