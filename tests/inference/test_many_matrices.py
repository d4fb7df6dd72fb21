"""Intervals of many matrices at once are those of each alone, but for the last digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.inference.intervals.dispatch import class_bounds
from stream_metrics.inference.intervals.gradients import ANALYTIC
from stream_metrics.inference.intervals.many_matrices import Ends, ManyMatrices
from stream_metrics.inference.intervals.methods import SHARES
from stream_metrics.snapshots.snapshot import Snapshot

WHOLE = sorted(ANALYTIC)
RATES = ("precision", "recall", "specificity", "f1", "jaccard")
CLOSE = 1e-12


def some_matrices(seed: int) -> list[Snapshot]:
    """Return matrices of 1 to 30 classes, with few and many samples, with classes never predicted or never true."""
    rng = np.random.default_rng(seed)
    snapshots = []
    for _ in range(60):
        k, n = int(rng.choice([1, 2, 2, 3, 5, 30])), int(rng.choice([1, 5, 40, 300, 5000]))
        share = rng.dirichlet(np.full(k, rng.choice([0.2, 5.0])))
        truth = rng.choice(k, n, p=share)
        right = rng.random(n) < rng.choice([0.0, 0.5, 0.9, 0.99, 1.0])
        predicted = np.where(right, truth, rng.integers(0, k, n))
        fixed = [f"c{at}" for at in range(k + 1)] if rng.random() < 0.3 else None
        state = sm.ConfusionMatrix(fixed)
        state.update_many([f"c{at}" for at in truth], [f"c{at}" for at in predicted])
        snapshots.append(Snapshot(state))
    return snapshots


def check(ends: Ends, low: float, high: float) -> None:
    assert ends.low == pytest.approx(low, abs=CLOSE, nan_ok=True)
    assert ends.high == pytest.approx(high, abs=CLOSE, nan_ok=True)


@pytest.mark.parametrize(("level", "seed"), [(0.95, 1), (0.999, 2)])
def test_delta_intervals_and_shares_are_those_of_one_matrix(level: float, seed: int) -> None:
    snapshots = some_matrices(seed)
    many = ManyMatrices([each.evaluation for each in snapshots], level, "fixed")
    for key in WHOLE:
        ends = many.whole(key)
        for at, snapshot in enumerate(snapshots):
            if at in ends:
                interval = snapshot.interval(key, level)
                check(ends[at], interval.low, interval.high)
                assert (ends[at].note, key in SHARES or interval.method == "delta") == (interval.note, True)
            else:
                interval = snapshot.interval(key, level)
                assert interval.method == "posterior" or math.isnan(interval.low)
        assert len(ends) > 5


def test_intervals_for_all_looks_are_those_of_one_matrix() -> None:
    snapshots = some_matrices(3)
    many = ManyMatrices([each.evaluation for each in snapshots], 0.95, "anytime")
    methods = set()
    for key in WHOLE:
        for at, ends in many.whole(key).items():
            interval = snapshots[at].interval(key, valid="anytime")
            check(ends, interval.low, interval.high)
            assert ends.note == interval.note
            methods.add((interval.method, bool(interval.note)))
    assert methods == {("asymptotic", False), ("asymptotic", True), ("beta_binomial", False)}


@pytest.mark.parametrize("valid", ["fixed", "anytime"])
def test_means_over_some_classes_are_those_of_their_intervals_together(valid: str) -> None:
    snapshots = some_matrices(4)
    evaluations = [each.evaluation for each in snapshots]
    classes = {at: np.flatnonzero(each.views["counts"].true_totals) for at, each in enumerate(evaluations) if at % 7}
    many = ManyMatrices(evaluations, 0.95, valid)
    for key in RATES:
        ends = many.mean_of_classes(key, classes)
        assert ends.keys() == classes.keys()
        for at, own in classes.items():
            low, high, _ = class_bounds(evaluations[at], key, 1 - 0.05 / len(own), valid=valid)
            check(ends[at], *(math.fsum(end[own].tolist()) / len(own) for end in (low, high)))


def test_metrics_of_other_kinds_are_left_to_the_interval_of_one() -> None:
    many = ManyMatrices([each.evaluation for each in some_matrices(5)[:3]], 0.95, "fixed")
    assert many.whole("cramers_v") == many.whole("p4") == many.whole("geometric_mean") == {}
