"""Reliability and calibration errors: direct computation at level 0, certified above."""

from __future__ import annotations

import numpy as np
import pytest
from support.rank_oracle import RankOracle

from stream_metrics.ranking.calibration import (
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    reliability_curve,
)


def direct(scores: np.ndarray, own: np.ndarray, bins: int) -> tuple[float, float, np.ndarray]:
    """Return ECE, MCE, and (mean score, share, weight) of each bin."""
    place = np.clip(np.searchsorted(np.linspace(0, 1, bins + 1), scores, side="left") - 1, 0, bins - 1)
    rows = [(scores[place == k].mean(), own[place == k].mean(), (place == k).sum()) for k in np.unique(place)]
    table = np.array(rows)
    gaps = np.abs(table[:, 0] - table[:, 1])
    return float((gaps * table[:, 2]).sum() / len(scores)), float(gaps.max()), table


def unbiased(scores: np.ndarray, own: np.ndarray, bins: int) -> float:
    """Return the root of the mean squared distance less the variance of the mean of each bin."""
    place = np.clip(np.searchsorted(np.linspace(0, 1, bins + 1), scores, side="left") - 1, 0, bins - 1)
    parts = [own[place == k] - scores[place == k] for k in range(bins) if (place == k).sum() > 1]
    total = sum(len(d) * (d.mean() ** 2 - d.var(ddof=1) / len(d)) for d in parts) / len(scores)
    return float(np.sqrt(max(total, 0.0)))


def probabilities(g: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return badly calibrated probabilities with 0 and 1 among them, some in narrow clusters or atoms."""
    p = g.beta(g.uniform(0.3, 4), g.uniform(0.3, 4), n)
    own = g.uniform(size=n) < p ** g.uniform(0.5, 2)
    if g.uniform() < 0.3:
        p = np.where(g.uniform(size=n) < 0.5, g.choice([0.2, 0.4, 0.37]) + 1e-7 * g.normal(size=n), p)
    p = np.where(g.uniform(size=n) < 0.1, g.choice([0.0, 1.0, 0.2, 1 / 3], n), p)
    return p, own


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bins", [1, 10, 15])
def test_exact_at_level_0(seed: int, bins: int) -> None:
    """With few scores the curve and both errors are those of the raw scores."""
    scores, own = probabilities(np.random.default_rng(seed), 300)
    column = RankOracle().column(scores, own)
    ece, mce, table = direct(scores, own, bins)
    found = expected_calibration_error(column, bins=bins), maximum_calibration_error(column, bins=bins)

    one = debiased_calibration_error(column, bins=bins)

    assert one.value**2 == pytest.approx(unbiased(scores, own, bins) ** 2, abs=1e-13)
    assert one.low <= one.value <= one.high <= one.low + 2e-5
    assert [error.value for error in found] == pytest.approx([ece, mce], abs=1e-13)
    assert [error.low for error in found] == [error.high for error in found] == [error.value for error in found]
    np.testing.assert_allclose(np.array(reliability_curve(column, bins=bins)).T, table, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("seed", range(100))
def test_certified(seed: int) -> None:
    """Above level 0 the intervals hold the exact errors."""
    g = np.random.default_rng(3000 + seed)
    scores, own = probabilities(g, 3000)
    column = RankOracle(int(g.choice([16, 64, 256])), 64).column(scores, own)
    ece, mce, _ = direct(scores, own, 15)
    found = expected_calibration_error(column), maximum_calibration_error(column), debiased_calibration_error(column)

    assert column.level > 0
    for error, exact in zip(found, (ece, mce, unbiased(scores, own, 15)), strict=True):
        assert error.low - 1e-12 <= exact <= error.high + 1e-12
        assert error.low <= error.value <= error.high


def test_close() -> None:
    """A default sketch gives ECE to 2e-3 with an interval of 5e-2; bins of equal mass are good to 1e-7."""
    g = np.random.default_rng(9)
    scores = g.beta(2, 3, 100_000)
    own = g.uniform(size=100_000) < scores**1.3
    column = RankOracle().column(scores, own)
    found = expected_calibration_error(column)
    equal = expected_calibration_error(column, strategy="quantile")
    curve = reliability_curve(column, strategy="quantile")

    assert found.value == pytest.approx(direct(scores, own, 15)[0], abs=2e-3)
    assert found.high - found.low < 5e-2
    assert equal.high - equal.low < 1e-7
    assert len(curve.weights) == 15
    assert curve.weights.min() > 0.8 * curve.weights.max()
    assert float(curve.scores @ curve.weights) == pytest.approx(scores.sum(), rel=1e-7)


def test_undefined() -> None:
    """Scores outside [0, 1] are no probabilities, and nothing has no error; unknown options are refused."""
    for scores in ([], [-0.1, 0.5], [0.5, 1.1]):
        column = RankOracle().column(scores, [True] * len(scores))

        assert np.isnan(expected_calibration_error(column)).all()
        assert np.isnan(maximum_calibration_error(column)).all()
        assert len(reliability_curve(column).weights) == 0
    with pytest.raises(ValueError, match="strategy"):
        reliability_curve(RankOracle().column([0.5], [1]), strategy="equal")
    with pytest.raises(ValueError, match="bins"):
        reliability_curve(RankOracle().column([0.5], [1]), bins=0)
