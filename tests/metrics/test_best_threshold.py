"""One convention for thresholds: what `best_threshold` finds, `threshold=` repeats, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stream_metrics as sm

KEYS = {"f1": "f1", "accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "mcc": "matthews_corrcoef"}


def value(snapshot: sm.Snapshot, key: str) -> Any:
    """Return the value of the positive class, or of all."""
    return snapshot.per_class[key][True] if key == "f1" else snapshot[KEYS[key]]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("buckets", [4, 1024])
def test_the_best_threshold_has_its_value_as_a_threshold(key: str, kind: Any, buckets: int) -> None:
    """Whether scores are tied, narrow or in coarse cells, weighted or not, in a batch or one by one."""
    g = np.random.default_rng(2)
    for trial in range(20):
        n = int(g.integers(2, 60))
        scores = g.uniform(size=n).round(int(g.integers(1, 9))).astype(kind)
        own, w = g.uniform(size=n) < scores, None if trial % 2 else g.integers(1, 9, n)
        own[:2] = True, False
        first = sm.MetricSet(scores=True, buckets=buckets, sample=4)
        first.update_many(own, scores=scores, w=w)
        best = first.snapshot().best_threshold(metric=key)
        again, single = (sm.MetricSet(scores=True, threshold=best.threshold) for _ in range(2))
        again.update_many(own, scores=scores.astype(float), w=w)
        for row in range(n):
            single.update(bool(own[row]), scores=scores[row], w=1 if w is None else int(w[row]))

        assert value(again.snapshot(), key) == best.value <= best.high
        assert single == again


def test_a_threshold_of_a_curve_repeats_its_point() -> None:
    """Every finite threshold of the ROC curve has the rates of its point; the first one, infinity, is no option."""
    g = np.random.default_rng(3)
    scores, own = g.uniform(size=50).round(1), np.arange(50) % 3 == 0
    curves = sm.MetricSet(scores=True)
    curves.update_many(own, scores=scores)
    curve = curves.snapshot().roc_curve()

    assert (curve.x[0], curve.y[0], curve.thresholds[0]) == (0.0, 0.0, np.inf)
    with pytest.raises(ValueError, match="`threshold` to be a finite number, but got inf"):
        sm.MetricSet(scores=True, threshold=np.inf)
    for x, y, threshold in zip(curve.x[1:], curve.y[1:], curve.thresholds[1:], strict=True):
        state = sm.MetricSet(scores=True, threshold=float(threshold))
        state.update_many(own, scores=scores)
        snapshot = state.snapshot()
        rates = 1 - snapshot.per_class["specificity"][True], snapshot.per_class["recall"][True]
        assert rates == pytest.approx((x, y), abs=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_thresholds_fall_strictly_after_infinity(seed: int) -> None:
    """Also where scores share the largest code, in cells that are looked into."""
    g = np.random.default_rng(seed)
    n = 5000
    scores = np.where(g.uniform(size=n) < 0.5, 10.0 ** g.uniform(200, 308, n), 1.7e308) * g.choice([-1, 1], n)
    state = sm.RankSketch(buckets=4, sample=512)
    state.update_many(g.uniform(size=n) < 0.5, scores)
    thresholds = state.snapshot().roc_curve().thresholds

    assert thresholds[0] == np.inf
    assert np.isfinite(thresholds[1:]).all()
