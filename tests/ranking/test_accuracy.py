"""How far estimates from coarse sketches are from the raw scores, by shape, and whether they say so.

The cells are those of the compiled sketch, which `states/test_ranks.py` shows to be the plain one's, to the bit.
`benchmarks/certificates.py` asks the same of a million scores a shape, and of ten thousand random trials.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cell_oracle
from support.rank_reading import check_area, estimate, sketched
from support.rank_shapes import FEW, HARD, ORDINARY, WITH_ATOM, draw, exact_auc, random_hard

import stream_metrics as sm

N = 200_000
COSINE = {"cosine", "cosine float32"}
SMOKE = {"gauss", "60% atom", "three decimals", "cosine", "cluster 1e-9"}
CEILINGS = {
    **dict.fromkeys(ORDINARY, 4e-6),
    **dict.fromkeys(WITH_ATOM, 3e-5),
    **dict.fromkeys(FEW, 0.0),
    **{name: 3e-4 if name in COSINE else 4e-2 for name in HARD},
}
SHAPES = [pytest.param(name, marks=[] if name in SMOKE else pytest.mark.nightly) for name in CEILINGS]


def delong(scores: np.ndarray, own: np.ndarray) -> float:
    """Return DeLong's standard error of the raw scores."""
    _, index = np.unique(scores, return_inverse=True)
    rest, mine = (np.bincount(index[chosen], minlength=index.max() + 1) for chosen in (~own, own))
    below = (np.cumsum(rest) - rest / 2)[index[own]] / rest.sum()
    above = 1 - (np.cumsum(mine) - mine / 2)[index[~own]] / mine.sum()
    return float(np.sqrt(below.var(ddof=1) / len(below) + above.var(ddof=1) / len(above)))


@pytest.mark.parametrize("name", SHAPES)
def test_a_default_sketch_is_as_accurate_as_stated(name: str) -> None:
    """No area is off by more than twice what the specification measured; nor average precision and DeLong's error."""
    from sklearn.metrics import average_precision_score

    scores, own = draw(name, N, 0)
    state, exact = sketched(scores, own), exact_auc(scores, own)
    area, precision = (estimate(state, key) for key in ("roc_auc", "average_precision"))
    expected = average_precision_score(own, scores)

    assert area.low <= exact <= area.high
    assert abs(area.value - exact) <= min(CEILINGS[name], 3 * area.se if name in HARD else math.inf)
    assert precision.low <= expected <= precision.high
    assert precision.value == pytest.approx(expected, abs=5e-2 if name in HARD else 2e-3)
    assert state.snapshot().delong_se(True) == pytest.approx(delong(scores, own), rel=0.02)


@pytest.mark.parametrize("trials", [40, pytest.param(400, marks=pytest.mark.nightly)])
def test_errors_are_announced(trials: int) -> None:
    """On random hard shapes the error is within three sketch standard errors in 98% of trials, and never surprising."""
    g = np.random.default_rng(100)
    ratios = []
    for _ in range(trials):
        scores, own = random_hard(g, 20_000)
        area, exact = estimate(sketched(scores, own), "roc_auc"), exact_auc(scores, own)
        error = abs(area.value - exact)
        ratios.append(error / area.se if area.se else 0.0)

        assert area.low <= exact <= area.high
        assert error <= 1e-2 or area.se > max(3e-3, error / 5)
    assert np.mean(np.array(ratios) <= 3) >= 0.98


def test_crowded_cells_are_read_as_in_numpy() -> None:
    """Clusters, tails and atoms, with weights of every size, give missed atoms and tilted samples too."""
    kinds = set()
    for name in HARD:
        state = sketched(*draw(name, 20_000, 0), None, 256)
        seen = check_area(estimate(state, "roc_auc"), state.column(True))
        assert seen, name
        kinds |= seen
    for seed in range(25):
        g = np.random.default_rng(seed)
        scores, own = random_hard(g, 3000)
        w = (None, g.integers(1, 5, 3000), g.random(3000), g.random(3000) * 1e-12, g.integers(1, 2**40, 3000))[seed % 5]
        state = sketched(scores, own, w, 64, int(g.choice([64, 512])))
        kinds |= check_area(estimate(state, "roc_auc"), state.column(True))

    assert {atom for atom, _ in kinds} == {calibrated for _, calibrated in kinds} == {False, True}


SCORES = {
    "uniform": lambda g, shape: g.random(shape),
    "cluster": lambda g, shape: 0.5 + 1e-9 * g.normal(size=shape) + (g.random(shape) < 0.2) * g.random(shape),
    "few": lambda g, shape: g.choice([0.0, 0.25, 0.5, 1.0, -2.0], shape),
    "zeros": lambda g, shape: g.random(shape) * (g.random(shape) < 0.2),
    "huge": lambda g, shape: g.choice([1e300, -1e300, 1e301, 0.0, 0.5], shape),
}
WEIGHTS = {"none": None, "whole": [1, 2, 3], "zero": [0, 1], "fractions": [0.5, 1.25], "wide": [2**29, 2**30]}


def check_pairs(state: sm.RankSketch) -> None:
    """Compare the areas of all pairs of classes with those of their columns."""
    snapshot = state.snapshot()
    for a in state.labels:
        for b in state.labels:
            area = snapshot.estimate("roc_auc_ovo_directed", a, b)
            column = None if a == b else state.column(a, a, b)
            if column is None or not all(column.totals):
                assert math.isnan(area.value), (a, b)
            else:
                check_area(area, column)


@given(
    kind=st.sampled_from([*SCORES]),
    weights=st.sampled_from([*WEIGHTS]),
    n=st.sampled_from([5, 60, 400]),
    buckets=st.sampled_from([2, 8, 64, 1024]),
    k=st.integers(3, 5),
    seed=st.integers(0, 2**16),
)
def test_areas_of_all_pairs_are_those_of_their_columns(
    kind: str, weights: str, n: int, buckets: int, k: int, seed: int
) -> None:
    """Whether a column is made for them or not; the last class has no samples, others come late."""
    g = np.random.default_rng(seed)
    scores = SCORES[kind](g, (n, k))
    scores[:, -1] = 0.0
    state = sm.RankSketch(buckets, 64)
    w = None if WEIGHTS[weights] is None else g.choice(WEIGHTS[weights], n)
    state.update_many(g.integers(0, k - 1, n), scores, w, classes=list(range(k)))
    check_pairs(state)
    if seed % 2:
        state.update("late", {0: 0.0})
        state.update("scored late", {"scored late": 0.5})
        check_pairs(state)


def test_pairs_of_crowded_cells_and_of_weights_beyond_int64() -> None:
    """Where a sample decides, and where twice the product of two weights does not fit into int64."""
    g = np.random.default_rng(1)
    crowded, heavy = sm.RankSketch(64, 64), sm.RankSketch()
    crowded.update_many(g.integers(0, 3, 2000), SCORES["cluster"](g, (2000, 3)), classes=[0, 1, 2])
    for label, weight in ((0, 2**31), (1, 2**30), (2, 2**32)):
        heavy.update(label, {0: 0.25 * label, 1: 0.5}, weight)

    check_pairs(crowded)
    check_pairs(heavy)
    assert cell_oracle.roc_auc(crowded.column(0, 0, 1)).kinds
