"""The areas of all pairs of classes are those of their columns, whether columns are made or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.ranking.areas import roc_auc
from stream_metrics.ranking.classes import classes, directed_areas
from stream_metrics.ranking.protocol import UNDEFINED
from stream_metrics.ranking.remaining import RemainingRanks
from stream_metrics.ranking.resolve import dense_cells
from stream_metrics.ranking.table import pairs_of

KINDS = ("uniform", "cluster", "few", "zeros", "huge")
WEIGHTS = {"none": None, "whole": [1, 2, 3], "zero": [0, 1], "fractions": [0.5, 1.25], "wide": [2**29, 2**30]}


def counted(kind: str, weights: str, n: int, buckets: int, k: int, seed: int) -> sm.RankSketch:
    """Return a state of random scores, in the last of its classes without any of its own."""
    g = np.random.default_rng(seed)
    scores = {
        "uniform": lambda: g.random((n, k)),
        "cluster": lambda: 0.5 + 1e-9 * g.normal(size=(n, k)) + (g.random((n, k)) < 0.2) * g.random((n, k)),
        "few": lambda: g.choice([0.0, 0.25, 0.5, 1.0, -2.0], (n, k)),
        "zeros": lambda: g.random((n, k)) * (g.random((n, k)) < 0.2),
        "huge": lambda: g.choice([1e300, -1e300, 1e301, 0.0, 0.5], (n, k)),
    }[kind]()
    scores[:, -1] = 0.0
    state = sm.RankSketch(buckets=buckets, sample=64)
    w = None if WEIGHTS[weights] is None else g.choice(WEIGHTS[weights], n)
    state.update_many(g.integers(0, max(k - 1, 1), n), scores, w, classes=list(range(k)))
    return state


def of_columns(state: Any) -> list[list[Any]]:
    """Return the areas of columns that are read one by one."""
    return [
        [UNDEFINED if a == b or a not in classes(state) else roc_auc(state.column(a, a, b)) for b in state.labels]
        for a in state.labels
    ]


def same(state: Any) -> None:
    """Compare the areas of all pairs; by their text, since undefined ones are not equal."""
    assert repr(directed_areas(state)) == repr(of_columns(state))


@settings(max_examples=40)
@given(
    kind=st.sampled_from(KINDS),
    weights=st.sampled_from(list(WEIGHTS)),
    n=st.sampled_from([1, 5, 60, 400]),
    buckets=st.sampled_from([2, 8, 64, 1024]),
    k=st.integers(3, 5),
    seed=st.integers(0, 2**16),
)
def test_areas_of_all_pairs(kind: str, weights: str, n: int, buckets: int, k: int, seed: int) -> None:
    """The area of a pair, its interval and its error are those of its column, to the last bit."""
    same(counted(kind, weights, n, buckets, k, seed))


def test_later_classes() -> None:
    """A class that came after the cells of a column has no weight in them, nor has one without scores of its own."""
    state = counted("uniform", "none", 400, 64, 3, 0)
    state.update("late", {0: 0.0})
    state.update("scored late", {"scored late": 0.5})

    same(state)


@pytest.mark.parametrize(
    ("kind", "weights", "k", "read"),
    [
        ("uniform", "none", 4, False),
        ("uniform", "whole", 4, False),
        ("few", "none", 4, False),
        ("cluster", "none", 3, True),
        ("uniform", "fractions", 4, True),
    ],
)
def test_which_columns_are_read(kind: str, weights: str, k: int, read: bool) -> None:
    """A column is made for fractions and for cells with many sampled codes of both classes, and only for those."""
    state = counted(kind, weights, 400, 64, k, 1)
    column = state.column(0, 0, 1)
    crowded = len(dense_cells(column, pairs_of(column)[1].cells)) > 0
    parts = state.pairs_against(0, [1])

    assert (parts == [None]) == read
    assert crowded == (kind == "cluster")


def test_weights_beyond_int64() -> None:
    """Where twice the product of two weights does not fit into int64, the column is made of Python integers."""
    state = sm.RankSketch()
    for label, weight in ((0, 2**31), (1, 2**30), (2, 2**32)):
        state.update(label, {0: 0.25 * label, 1: 0.5}, weight)

    assert [parts is None for parts in state.pairs_against(0, [1, 2])] == [False, True]
    same(state)


def test_remaining_samples() -> None:
    """After samples are removed, pairs of classes have the same areas as columns read one by one."""
    state, removed = counted("uniform", "none", 400, 8, 4, 2), sm.RankSketch(buckets=8, sample=64)
    g = np.random.default_rng(2)
    scores = g.random((400, 4))
    scores[:, -1] = 0.0
    removed.update_many(g.integers(0, 3, 400)[:50], scores[:50], classes=list(range(4)))

    same(RemainingRanks(state, removed))
