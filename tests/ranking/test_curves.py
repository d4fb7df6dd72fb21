"""Curves and the numbers read from them: equal to scikit-learn's at level 0, certified above."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    confusion_matrix,
    f1_score,
    matthews_corrcoef,
    precision_recall_curve,
    roc_auc_score,
)
from sklearn.metrics import (
    det_curve as sklearn_det,
)
from sklearn.metrics import (
    roc_curve as sklearn_roc,
)
from support.rank_oracle import RankOracle
from support.rank_shapes import random_hard

from stream_metrics.ranking.curves import (
    METRICS,
    best_threshold,
    det_curve,
    ks_statistic,
    partial_auc,
    pr_curve,
    precision_at_recall,
    roc_curve,
    tpr_at_fpr,
)
from stream_metrics.ranking.protocol import Certified


def rounded(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores with ties and zeros."""
    g = np.random.default_rng(seed)
    n = int(g.integers(3, 300))
    own = g.uniform(size=n) < g.uniform(0.1, 0.9)
    own[:2] = True, False
    return np.round(g.normal(size=n) + own, int(g.integers(0, 3))) + 0.0, own


def raw(scores: np.ndarray, own: np.ndarray) -> dict[str, Any]:
    """Return the exact values of everything that is read off a curve."""
    fpr, tpr, _ = sklearn_roc(own, scores, drop_intermediate=False)
    precision, recall, _ = precision_recall_curve(own, scores)
    enough = recall[:-1] >= 0.7
    return {
        "partial": roc_auc_score(own, scores, max_fpr=0.2),
        "tpr": tpr[fpr <= 0.15].max(),
        "precision": precision[:-1][enough].max(),
        "ks": np.abs(tpr - fpr).max(),
        "youden": (tpr - fpr).max(),
    }


def ours(column: Any) -> dict[str, Certified]:
    """Return our values of the same."""
    best = best_threshold(column)
    return {
        "partial": partial_auc(column, max_fpr=0.2),
        "tpr": tpr_at_fpr(column, fpr=0.15),
        "precision": precision_at_recall(column, recall=0.7),
        "ks": ks_statistic(column),
        "youden": Certified(best.value, best.value, best.high, 0.0),
    }


@pytest.mark.parametrize("seed", range(40))
def test_curves_at_level_0(seed: int) -> None:
    """Points and thresholds are scikit-learn's, all thresholds kept."""
    scores, own = rounded(seed)
    column = RankOracle().column(scores, own)
    roc, pr, det = roc_curve(column), pr_curve(column), det_curve(column)
    precision, recall, thresholds = precision_recall_curve(own, scores)
    expected = sklearn_roc(own, scores, drop_intermediate=False)

    for actual, wanted in zip(roc, expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)
    np.testing.assert_allclose(pr.recall, recall[::-1], rtol=1e-15)
    np.testing.assert_allclose(pr.precision, precision[::-1], rtol=1e-15)
    np.testing.assert_array_equal(pr.thresholds[1:], thresholds[::-1])
    assert roc.exact.all()
    fpr, fnr, _ = sklearn_det(own, scores)
    assert {(round(a, 12), round(b, 12)) for a, b in zip(fpr, fnr, strict=True)} <= {
        (round(a, 12), round(b, 12)) for a, b in zip(det.x.tolist(), det.y.tolist(), strict=True)
    }


@pytest.mark.parametrize("seed", range(40))
def test_values_at_level_0(seed: int) -> None:
    """Everything read off the curve is exact, with no room in its interval."""
    scores, own = rounded(seed)
    expected, actual = raw(scores, own), ours(RankOracle().column(scores, own))

    for key, value in expected.items():
        assert actual[key].value == pytest.approx(value, abs=1e-13), key
        assert actual[key].low == actual[key].value == actual[key].high, key


@pytest.mark.parametrize("seed", range(10))
def test_certified(seed: int) -> None:
    """Above level 0 the intervals hold the exact values in each of 500 hard random cases."""
    g = np.random.default_rng(2000 + seed)
    for _ in range(50):
        scores, own = random_hard(g, int(g.integers(10, 800)))
        column = RankOracle(int(g.choice([8, 32, 128])), 64).column(scores, own)
        expected, actual = raw(scores, own), ours(column)
        for key, value in expected.items():
            assert actual[key].low - 1e-13 <= value <= actual[key].high + 1e-13, key
            assert actual[key].low <= actual[key].value <= actual[key].high, key


def test_exact_points() -> None:
    """Points at the edges of cells are those of the raw scores, at their thresholds; the others rise between them."""
    g = np.random.default_rng(8)
    own = g.uniform(size=20_000) < 0.4
    scores = np.where(g.uniform(size=20_000) < 0.1, g.uniform(size=20_000), 0.3 + 1e-7 * (g.normal(size=20_000) + own))
    scores[g.uniform(size=20_000) < 0.05] = 0.0
    curve = roc_curve(RankOracle(256, 512).column(scores, own))
    rates = [((scores[own] >= t).mean(), (scores[~own] >= t).mean()) for t in curve.thresholds[curve.exact]]

    assert (~curve.exact).sum() > 0
    np.testing.assert_allclose(curve.y[curve.exact], [tpr for tpr, _ in rates], rtol=1e-13)
    np.testing.assert_allclose(curve.x[curve.exact], [fpr for _, fpr in rates], rtol=1e-13)
    assert (np.diff(curve.x) >= 0).all()
    assert (np.diff(curve.y) >= 0).all()
    assert (np.diff(curve.thresholds) <= 0).all()
    inner = [((scores[own] >= t).mean(), (scores[~own] >= t).mean()) for t in curve.thresholds[~curve.exact]]
    assert np.abs(curve.y[~curve.exact] - [tpr for tpr, _ in inner]).max() < 0.1


@pytest.mark.parametrize("metric", METRICS)
def test_best_threshold(metric: str) -> None:
    """The threshold reaches its stated value, no other does better, and above level 0 the bound holds."""
    direct = {
        "youden": lambda y, p: p[y].mean() - p[~y].mean(),
        "f1": f1_score,
        "accuracy": lambda y, p: (y == p).mean(),
        "balanced_accuracy": lambda y, p: (p[y].mean() + 1 - p[~y].mean()) / 2,
        "mcc": matthews_corrcoef,
    }[metric]
    for seed in range(5):
        scores, own = rounded(seed)
        values = [direct(own, scores >= t) for t in [*np.unique(scores), math.inf]]
        best = best_threshold(RankOracle().column(scores, own), metric)
        coarse = best_threshold(RankOracle(8, 64).column(scores, own), metric)

        assert best.value == best.high == pytest.approx(max(values))
        assert direct(own, scores >= best.threshold) == pytest.approx(best.value)
        assert direct(own, scores >= coarse.threshold) == pytest.approx(coarse.value)
        assert coarse.value - 1e-12 <= max(values) <= coarse.high + 1e-12


def test_own_metric() -> None:
    """A function of the four counts is as good as a name."""
    scores, own = rounded(3)
    column = RankOracle().column(scores, own)
    threshold, value, _ = best_threshold(column, lambda tp, fn, fp, tn: tp - 5 * fp)
    (_, fp), (_, tp) = confusion_matrix(own, scores >= threshold)

    assert value == tp - 5 * fp
    with pytest.raises(ValueError, match="metric"):
        best_threshold(column, "f2")


def test_undefined() -> None:
    """Everything is nan without own or rest, except precision at recall, which needs own only."""
    own, rest, nothing = (RankOracle().column(s, o) for s, o in (([0.1, 0.2], [1, 1]), ([0.1], [0]), ([], [])))

    for column in (own, rest, nothing):
        for found in (partial_auc(column), tpr_at_fpr(column), ks_statistic(column), best_threshold(column)):
            assert np.isnan(found).all()
    assert precision_at_recall(own).value == 1.0
    assert np.isnan(precision_at_recall(rest)).all()
    assert np.isnan(roc_curve(own).x).all()


@pytest.mark.parametrize("bad", [-0.1, 1.5, math.nan])
def test_options(bad: float) -> None:
    """Rates outside [0, 1] are refused."""
    column = RankOracle().column([0.1, 0.2], [0, 1])
    with pytest.raises(ValueError, match="max_fpr"):
        partial_auc(column, max_fpr=bad)
    with pytest.raises(ValueError, match="fpr"):
        tpr_at_fpr(column, fpr=bad)
    with pytest.raises(ValueError, match="recall"):
        precision_at_recall(column, recall=bad)
