"""Weights of scores of any size: equal ones change nothing, rounded ones are counted, none vanishes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.states.ranks import RankSketch


def stream(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels, scores, and weights from 2^-80 to 2^40."""
    g = np.random.default_rng(seed)
    scores = g.uniform(size=n).round(3)
    return g.uniform(size=n) < scores, scores, 2.0 ** g.uniform(-80, 40, n)


@pytest.mark.parametrize("buckets", [64, 1024])
@pytest.mark.parametrize("weight", [1 / 3_000_000, 1e-15, 0.1, 2.0**-64, 1.5])
def test_equal_weights_give_the_values_of_none(weight: float, buckets: int) -> None:
    """Sample weights that sum to 1, and any others that are all the same."""
    same = pytest.approx if buckets == 64 else float
    own, scores, _ = stream(20_000)
    plain, weighted = (sm.MetricSet(scores=True, buckets=buckets) for _ in range(2))
    plain.update_many(own, scores=scores)
    weighted.update_many(own, scores=scores, w=np.full(len(own), weight))
    a, b = plain.snapshot(), weighted.snapshot()

    for key in ("roc_auc", "average_precision", "ks_statistic", "accuracy"):
        one, other = (x.per_class[key][True] if key in x.per_class else x[key] for x in (a, b))
        assert one == same(other), key
    for key in ("roc_auc", "average_precision", "gini") if buckets == 1024 else ():
        assert b.estimate(key).low <= a.estimate(key).value <= b.estimate(key).high


@pytest.mark.parametrize("buckets", [8, 1024])
def test_any_split_gives_the_same_bytes(buckets: int) -> None:
    """In any order and tree, one by one and in batches, through bytes; what was rounded is counted once."""
    own, scores, w = stream(600)
    whole = RankSketch(buckets, 8)
    whole.update_many(own, scores, w)
    g = np.random.default_rng(1)
    for _ in range(5):
        shards = [RankSketch(buckets, 8) for _ in range(4)]
        for row in g.permutation(len(own)).tolist():
            shards[int(g.integers(4))].update(bool(own[row]), float(scores[row]), float(w[row]))
        shards[0].merge(RankSketch.from_bytes(shards[1].to_bytes()))
        total = shards[2].merge(shards[3]).merge(shards[0])
        assert total.to_bytes() == whole.to_bytes()
    assert whole.rounded == sum(x < 2.0**-11 and x * 2.0**64 % 1 != 0 for x in w.tolist()) > 0
    assert RankSketch.from_bytes(whole.to_bytes()) == whole


def test_revert_restores_the_bytes() -> None:
    """Also the number of binary places, and of rounded samples."""
    own, scores, w = stream(200)
    sketch = RankSketch()
    sketch.update(True, 0.5, 0.25)
    bytes_of = [sketch.to_bytes()]
    rows = list(zip(own.tolist(), scores.tolist(), w.tolist(), strict=True))
    for row in rows:
        sketch.update(*row)
        bytes_of.append(sketch.to_bytes())
    for row in rows[::-1]:
        assert sketch.to_bytes() == bytes_of.pop()
        sketch.revert(*row)
    assert sketch.to_bytes() == bytes_of.pop()


@pytest.mark.parametrize("w", [0.5, 0.25, 2.0**-30])
def test_revert_splits_fractions_that_were_written_as_a_whole(w: float) -> None:
    """Equal scores whose weights add up to whole numbers leave the others behind, also after they were read."""
    sketch, expected = RankSketch(), RankSketch()
    for row in [(True, 0.5, 1 - w), (False, 0.25, 1)]:
        sketch.update(*row)
        expected.update(*row)
    sketch.update(True, 0.5, w)
    again = RankSketch.from_bytes(sketch.to_bytes())
    again.revert(True, 0.5, w)
    sketch.revert(True, 0.5, w)

    assert sketch == again == expected


def test_a_window_holds_what_its_samples_give() -> None:
    """Weights that leave a window leave nothing behind."""
    own, scores, w = stream(300, 2)
    window = sm.Rolling(sm.ROCAUC(), 40)
    for row in zip(own.tolist(), scores.tolist(), w.tolist(), strict=True):
        window.update(*row)
    fresh = sm.ROCAUC()
    fresh.update_many(own[-40:], scores[-40:], w[-40:])

    again = sm.from_bytes(window.to_bytes())
    assert again.state.to_bytes() == window.state.to_bytes()
    assert window.get() == fresh.get()
    assert window.snapshot().estimate("roc_auc") == fresh.snapshot().estimate("roc_auc")


@pytest.mark.parametrize("w", [2.0**-64 - 2.0**-117, 2.0**-65, 1e-300, 5e-324])
def test_no_weight_vanishes(w: float) -> None:
    """Below 2^-64 a weight counts as 2^-64, whatever it comes in; what is then known of an area is nothing."""
    single, rows, array = (RankSketch() for _ in range(3))
    for label, score in ((True, 0.5), (False, 0.25)):
        single.update(label, score, w)
    rows.update_many([True, False], [0.5, 0.25], [w, w])
    array.update_many([True, False], np.array([0.5, 0.25]), np.array([w, w]))

    assert single == rows == array
    assert (single.weight, single.rounded) == (2.0**-63, 2)
    estimate = single.snapshot().estimate("roc_auc")
    assert (estimate.low, estimate.value, estimate.high) == (0.0, 1.0, 1.0)
    single.revert(True, 0.5, w)
    single.revert(False, 0.25, w)
    assert single == RankSketch()


@pytest.mark.parametrize("buckets", [2, 3, 8, 64, 512, 1024])
@pytest.mark.parametrize("beyond", [3.0, 1 + 2**-52, 1e300, None])
def test_calibration_needs_probabilities_at_any_level(buckets: int, beyond: Any) -> None:
    """One score above 1 makes the calibration error nan, wherever it comes and however the sketch coarsens."""
    g = np.random.default_rng(3)
    for n in (5, 100, 5000):
        scores = g.uniform(size=n) ** 4
        scores[:2] = 1.0, 0.0
        order = g.permutation(n)
        if beyond is not None:
            scores[order[0]] = beyond
        sketches = [RankSketch(buckets, 16) for _ in range(3)]
        own, half = np.arange(n) % 2 == 0, n // 2
        sketches[0].update_many(own[order], scores[order])
        for row in order.tolist():
            sketches[1].update(bool(own[row]), float(scores[row]))
        sketches[2].update_many(own[:half], scores[:half])
        sketches[2].merge(RankSketch.from_bytes(sketches[0].copy().to_bytes()))
        for sketch in sketches:
            again = RankSketch.from_bytes(sketch.to_bytes())
            value = again.snapshot().estimate("expected_calibration_error").value
            assert (value != value) == (beyond is not None), (n, sketch.column(True).level)
        assert sketches[0].to_bytes() == sketches[1].to_bytes()
