"""How far estimates from a default sketch are from the raw scores, by shape, and whether they say so.

The columns are those of the compiled sketch, which `states/test_ranks_oracle.py` shows to be the plain one's, to the
bit. `benchmarks/certificates.py` asks the same of a million scores a shape, and of ten thousand random trials.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from support.rank_shapes import FEW, HARD, ORDINARY, WITH_ATOM, draw, exact_auc, random_hard

from stream_metrics.ranking.areas import delong_se, roc_auc
from stream_metrics.ranking.average_precision import average_precision
from stream_metrics.ranking.protocol import Certified, RankColumn
from stream_metrics.states.ranks import RankSketch

N = 200_000
COSINE = {"cosine", "cosine float32"}


def sketched(scores: np.ndarray, own: np.ndarray) -> RankColumn:
    """Return the column of a default sketch."""
    sketch = RankSketch()
    sketch.update_many(own, scores)
    return sketch.column(True)


@cache
def column(name: str, seed: int) -> tuple[RankColumn, float]:
    """Return the default sketch of a shape, and the exact ROC area."""
    scores, own = draw(name, N, seed)
    return sketched(scores, own), exact_auc(scores, own)


def errors(name: str, seeds: int = 2) -> list[tuple[float, Certified]]:
    """Return the error and the estimate of the ROC area for several seeds."""
    found = []
    for seed in range(seeds):
        sketch, exact = column(name, seed)
        area = roc_auc(sketch)
        assert area.low <= exact <= area.high
        found.append((abs(area.value - exact), area))
    return found


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [
        *((name, 4e-6) for name in ORDINARY),
        *((name, 3e-5) for name in WITH_ATOM),
        *((name, 0.0) for name in FEW),
        *((name, 3e-4 if name in COSINE else 4e-2) for name in HARD),
    ],
)
def test_ceiling(name: str, ceiling: float) -> None:
    """No shape is off by more than twice what the specification measured (ordinary: at five times this n)."""
    assert max(error for error, _ in errors(name)) <= ceiling


def test_hard_shapes_together() -> None:
    """Half of the trials on hard shapes are off by less than 5e-3, and none by more than three standard errors."""
    trials = [trial for name in HARD for trial in errors(name)]

    assert np.median([error for error, _ in trials]) < 5e-3
    assert all(error <= 3 * area.se for error, area in trials)


@pytest.mark.parametrize("seed", range(4))
def test_announced(seed: int) -> None:
    """On random hard shapes the error is within three sketch standard errors in 99% of trials, and never surprising."""
    g = np.random.default_rng(100 + seed)
    ratios = []
    for _ in range(50):
        scores, own = random_hard(g, 20_000)
        area, exact = roc_auc(sketched(scores, own)), exact_auc(scores, own)
        error = abs(area.value - exact)
        ratios.append(error / area.se if area.se else 0.0)

        assert area.low <= exact <= area.high
        assert error <= 1e-2 or area.se > 3e-3
        assert error <= 1e-2 or area.se > error / 5
    assert np.mean(np.array(ratios) <= 3) >= 0.98


@pytest.mark.parametrize("name", [*ORDINARY, *WITH_ATOM, *HARD])
def test_average_precision(name: str) -> None:
    """Average precision is within 2e-3 on ordinary shapes and 5e-2 on hard ones, and always inside its interval."""
    scores, own = draw(name, N, 0)
    exact = average_precision_score(own, scores)
    found = average_precision(column(name, 0)[0])

    assert found.low <= exact <= found.high
    assert found.value == pytest.approx(exact, abs=5e-2 if name in HARD else 2e-3)


@pytest.mark.parametrize("name", ["logit", "gauss", "60% atom", "cosine", "cluster 1e-3, 2% tail", "cluster 1e-9"])
def test_delong(name: str) -> None:
    """DeLong's error from the cells is that of the raw scores within 2%."""
    scores, own = draw(name, N, 0)
    _, index = np.unique(scores, return_inverse=True)
    rest, mine = (np.bincount(index[chosen], minlength=index.max() + 1) for chosen in (~own, own))
    below = (np.cumsum(rest) - rest / 2)[index[own]] / rest.sum()
    above = 1 - (np.cumsum(mine) - mine / 2)[index[~own]] / mine.sum()
    expected = np.sqrt(below.var(ddof=1) / len(below) + above.var(ddof=1) / len(above))

    assert delong_se(column(name, 0)[0]) == pytest.approx(expected, rel=0.02)
