"""Tables of counts by score: the bytes are those of the samples, counted one by one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics import testing

SIZES: dict[str, Any] = {
    "exact": {},
    "few cells": {"buckets": 4, "sample": 2},
    "own class and rest": {"buckets": 4, "sample": 64, "pairs": False},
}


def one_by_one(table: list[tuple[Any, Any, int]], **configuration: Any) -> sm.RankSketch:
    """Return a state that has counted the samples of a table."""
    state = sm.RankSketch(**configuration)
    for score, truth, n in table:
        for _ in range(n):
            state.update(truth, score)
    return state


def columns(table: list[tuple[Any, Any, int]]) -> list[list[Any]]:
    """Return the columns of a table."""
    return [[row[i] for row in table] for i in range(3)]


truths = st.sampled_from([0, 1, True, False, 1.0, 0.0])
scores = st.one_of(testing.probabilities(), st.floats(-1e6, 1e6))
singles = st.lists(st.tuples(scores, truths, st.integers(0, 4)), max_size=25)
names = st.sampled_from(["a", "b", 1, True, 2.0])
mappings = st.lists(
    st.tuples(
        st.one_of(st.none(), st.dictionaries(names, testing.probabilities(), max_size=3)), names, st.integers(0, 4)
    ),
    max_size=25,
)


@given(table=st.one_of(singles, mappings), data=st.data())
@pytest.mark.parametrize("size", SIZES)
def test_the_bytes_are_those_of_the_samples(size: str, table: list[tuple[Any, Any, int]], data: st.DataObject) -> None:
    """Single scores, mappings and abstentions, in any order, and however the table is cut."""
    shuffled = data.draw(st.permutations(table))
    cut = data.draw(st.integers(0, len(table)))
    state = sm.RankSketch(**SIZES[size])
    for part in (shuffled[:cut], shuffled[cut:]):
        state.update_counts(*columns(part))

    assert state.to_bytes() == one_by_one(table, **SIZES[size]).to_bytes()
    assert sm.RankSketch.from_counts(*columns(table), **SIZES[size]) == state


@pytest.mark.parametrize("size", SIZES)
def test_tables_of_scores_have_a_column_a_class(size: str) -> None:
    """A row of a table of scores stands for several samples, too."""
    rng = np.random.default_rng(5)
    table = rng.integers(0, 20, (300, 3)) / 20
    truth, n = rng.integers(0, 3, 300), rng.integers(0, 4, 300)
    expected = sm.RankSketch(**SIZES[size])
    expected.update_many(np.repeat(truth, n), np.repeat(table, n, axis=0), classes=[0, 1, 2])

    assert sm.RankSketch.from_counts(table, truth, n, classes=[0, 1, 2], **SIZES[size]) == expected
    frame = pd.DataFrame(table, columns=[0, 1, 2])
    assert sm.RankSketch.from_counts(frame, truth, n, **SIZES[size]) == expected


def test_many_distinct_scores() -> None:
    """More scores than cells, where a batch estimates which scores are sampled."""
    rng = np.random.default_rng(6)
    scores, truth, n = rng.random(20_000), rng.random(20_000) < 0.3, rng.integers(1, 4, 20_000)
    expected = sm.RankSketch()
    expected.update_many(np.repeat(truth, n), np.repeat(scores, n))

    assert sm.RankSketch.from_counts(scores, truth, n) == expected
    assert sm.RankSketch.from_counts(scores, truth, n.astype(float)) == expected
    assert expected.n == n.sum()


def test_huge_counts_are_exact() -> None:
    """Counts no stream could have: the areas are those of the table."""
    state = sm.RankSketch.from_counts([0.2, 0.8, 0.8], [0, 0, 1], [2**60, 1, 2**60 + 1])
    assert state.n == 2**61 + 2
    assert state.snapshot().per_class["roc_auc"][1] == pytest.approx(1 - 2**-62, abs=0)


@pytest.mark.parametrize(
    ("scores", "truth", "n", "error", "field", "position"),
    [
        ([0.1, 0.2], [0, 1], [1, -1], sm.WeightError, "n", 1),
        ([0.1, 0.2], [0, 1], [Decimal("0.5"), 1], sm.WeightError, "n", 0),
        ([0.1, 0.2], [0, 1], [1], sm.WeightError, "n", None),
        ([0.1, float("nan")], [0, 1], [1, 1], sm.ScoreError, "scores", 1),
        ([None, "0.2"], [0, 1], [1, 1], sm.ScoreError, "scores", 1),
        ([0.1], [0, 1], [1, 1], sm.ScoreError, "scores", None),
        ([0.1, 0.2], [0, None], [1, 1], sm.LabelError, "y_true", 1),
        ([0.1, 0.2], ["spam", "ham"], [1, 1], sm.LabelError, "y_true", 0),
    ],
)
def test_tables_that_are_refused(
    scores: Any, truth: Any, n: Any, error: Any, field: str, position: int | None
) -> None:
    """One bad row rejects the table, and the error names it."""
    state = sm.RankSketch.from_counts([0.5], [1], [3])
    before = state.to_bytes()
    with pytest.raises(error) as caught:
        state.update_counts(scores, truth, n)

    assert (caught.value.argument, caught.value.position) == (field, position)
    assert state.to_bytes() == before


def test_samples_do_not_overflow() -> None:
    """On top of others, either; then nothing is counted."""
    state = sm.RankSketch.from_counts([0.5], [1], [2**62 - 1])
    before = state.to_bytes()
    with pytest.raises(sm.WeightError, match="the sum of all weights"):
        state.update_counts([0.5], [1], [2**62 - 1])

    assert state.to_bytes() == before
