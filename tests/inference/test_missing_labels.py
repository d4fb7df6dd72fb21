"""Bounds for missing labels hold every way in which they can arrive, and are reached where they can be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.rank_shapes import exact_auc
from support.values import snapshot

from stream_metrics import ConfusionMatrix, Snapshot
from stream_metrics.inference.missing_labels import area_bounds, class_label_bounds, label_bounds, mean_bounds

pytestmark = pytest.mark.quick

WHOLE = (
    "accuracy", "average_accuracy", "balanced_accuracy", "cohen_kappa", "macro_f1", "macro_jaccard", "macro_precision",
    "macro_recall", "matthews_corrcoef", "micro_jaccard", "weighted_recall", "zero_one_loss",
)  # fmt: skip
REACHED = ("accuracy", "micro_jaccard", "zero_one_loss")
CLASS = ("f1", "jaccard", "precision", "recall")
MOST = 3
ROUNDING = 1e-12


def counts(matrix: np.ndarray) -> Any:
    """The counts of a matrix."""
    return ConfusionMatrix.from_matrix(matrix)


def outcomes(matrix: np.ndarray, unlabelled: int) -> Iterator[Snapshot]:
    """Every matrix that at most so many more samples can make of one."""
    for more in range(unlabelled + 1):
        for cells in itertools.combinations_with_replacement(range(matrix.size), more):
            yield snapshot(matrix + np.bincount(cells, minlength=matrix.size).reshape(matrix.shape))


def matrices(k: int) -> st.SearchStrategy[np.ndarray]:
    """Matrices of k classes with some sample."""
    cells = st.lists(st.integers(0, 9), min_size=k * k, max_size=k * k).filter(any)
    return cells.map(lambda counts: np.array(counts).reshape(k, k))


@given(st.one_of(matrices(2), matrices(3)), st.integers(1, MOST))
def test_every_outcome_is_inside(matrix: np.ndarray, unlabelled: int) -> None:
    """For any missing labels, and any number of them that arrive, the values are between the bounds."""
    unlabelled = min(unlabelled, 5 - len(matrix))
    now = counts(matrix)
    ends = {key: bounds for key in WHOLE if (bounds := label_bounds(key, now, unlabelled)) is not None}
    rates = {key: class_label_bounds(key, now, unlabelled) for key in CLASS}
    assert set(ends) == set(WHOLE)
    values: dict[str, list[float]] = {key: [] for key in ends}
    classes: dict[str, list[list[float]]] = {key: [] for key in CLASS}
    for later in outcomes(matrix, unlabelled):
        for key in ends:
            values[key] += [] if key in later.undefined else [later[key]]
        for key in CLASS:
            undefined = set(later.undefined)
            classes[key].append([np.nan if (key, at) in undefined else x for at, x in later[key].items()])

    for key, (low, high) in ends.items():
        if values[key]:
            assert low - ROUNDING <= min(values[key]), key
            assert high + ROUNDING >= max(values[key]), key
        if key in REACHED:
            assert (low, high) == pytest.approx((min(values[key]), max(values[key])), abs=ROUNDING)
    for key, bounds in rates.items():
        assert bounds is not None
        assert np.nanmin(classes[key], axis=0) == pytest.approx(bounds[0], abs=ROUNDING), key
        assert np.nanmax(classes[key], axis=0) == pytest.approx(bounds[1], abs=ROUNDING), key


def test_bounds_are_nearly_reached() -> None:
    """Of two classes with many samples, hits or errors in some shares come close to both bounds."""
    matrix, unlabelled = np.array([[900, 100], [30, 170]]), 60
    splits = [(at, unlabelled - at) for at in range(unlabelled + 1)]
    right = [snapshot(matrix + np.diag(split)) for split in splits]
    wrong = [snapshot(matrix + np.fliplr(np.diag(split))) for split in splits]

    for key in ("balanced_accuracy", "cohen_kappa", "macro_f1", "macro_precision", "matthews_corrcoef"):
        low, high = label_bounds(key, counts(matrix), unlabelled) or (0.0, 0.0)
        assert min(one[key] for one in wrong) == pytest.approx(low, abs=0.004)
        assert max(one[key] for one in right) == pytest.approx(high, abs=0.004)


def test_any_number_of_labels_may_be_missing() -> None:
    """Bounds stay in the range; with next to no labels they are all of it; few missing ones leave little doubt."""
    for matrix in (np.array([[9000, 100], [40, 80]]), np.array([[50, 1, 1], [2, 30, 0], [0, 0, 9]])):
        for key in ("cohen_kappa", "matthews_corrcoef", "macro_f1", "balanced_accuracy"):
            for unlabelled in (1, 10**5, 10**12):
                low, high = label_bounds(key, counts(matrix), unlabelled) or (2.0, -2.0)
                assert -1 <= low <= snapshot(matrix)[key] <= high <= 1
                assert unlabelled < 10**12 or high - low > 0.99
    matrix = 90 * np.eye(5, dtype=int) + 2
    for key in ("cohen_kappa", "matthews_corrcoef"):
        low, high = label_bounds(key, counts(matrix), 25) or (0.0, 0.0)
        assert 0.8 < low < snapshot(matrix)[key] < high < 0.95


@given(st.lists(st.booleans(), min_size=4, max_size=9), st.integers(1, 3), st.randoms(use_true_random=False))
def test_areas_hold_every_label_and_score(truth: list[bool], unlabelled: int, random: Any) -> None:
    """Ranks of missing samples may be anything; the area is between its bounds."""
    assume(len(set(truth)) == 2)
    scores = [random.random() for _ in truth]
    area = exact_auc(np.array(scores), np.array(truth))
    low, high = area_bounds(area, area, sum(truth), len(truth) - sum(truth), unlabelled)
    for own, sign in itertools.product(range(unlabelled + 1), (2.0, -2.0)):
        more = [True] * own + [False] * (unlabelled - own)
        later = exact_auc(np.array(scores + [sign if one else -sign for one in more]), np.array(truth + more))
        assert low - ROUNDING <= later <= high + ROUNDING


def test_a_mean_of_bounded_losses() -> None:
    """A mean over samples has the missing ones at the ends of its range."""
    assert mean_bounds(0.5, 30, 10, (0.0, 2.0)) == (0.375, 0.875)
