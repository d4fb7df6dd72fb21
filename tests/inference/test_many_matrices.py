"""Intervals of many matrices at once are those of each alone, but for the last digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.values import OF_LABELS

import stream_metrics as sm
from stream_metrics.inference.intervals.dispatch import class_bounds
from stream_metrics.inference.intervals.many_matrices import ManyMatrices

WHOLE = [key for key in OF_LABELS if sm.metrics()[key].kind == "whole"]


def some_matrices(seed: int) -> list[sm.Snapshot]:
    """Return matrices of 1 to 30 classes, with few and many samples, with classes never predicted or never true."""
    rng = np.random.default_rng(seed)
    snapshots = []
    for _ in range(60):
        k, n = int(rng.choice([1, 2, 2, 3, 5, 30])), int(rng.choice([1, 5, 40, 300, 5000]))
        truth = rng.choice(k, n, p=rng.dirichlet(np.full(k, rng.choice([0.2, 5.0]))))
        right = rng.random(n) < rng.choice([0.0, 0.5, 0.9, 0.99, 1.0])
        fixed = list(range(k + 1)) if rng.random() < 0.3 else None
        state = sm.ConfusionMatrix(fixed)
        state.update_many(truth, np.where(right, truth, rng.integers(0, k, n)))
        snapshots.append(state.snapshot())
    return snapshots


@pytest.mark.parametrize(("level", "seed", "valid"), [(0.95, 1, "fixed"), (0.999, 2, "fixed"), (0.95, 3, "anytime")])
def test_intervals_are_those_of_one_matrix(level: float, seed: int, valid: Any) -> None:
    """Ends and notes; what has no entry is drawn from a posterior, or undefined, or of another kind of metric."""
    snapshots, failures = some_matrices(seed), []
    many = ManyMatrices([each.evaluation for each in snapshots], level, valid)
    ends = {key: many.whole(key) for key in WHOLE}
    for key, at in ((key, at) for key in WHOLE if ends[key] for at in range(len(snapshots))):
        one: Any = snapshots[at].interval(key, level, valid=valid)
        actual = ends[key].get(at)
        if actual is not None:
            alike = tuple(actual)[:2] == pytest.approx((one.low, one.high), abs=1e-12, nan_ok=True)
            failures += [] if alike and actual.note == one.note else [(key, at, actual, one)]
        elif valid == "fixed" and not (one.method == "posterior" or math.isnan(one.low) or "occurred" in one.note):
            failures.append((key, at, None, one))

    assert not failures
    assert sum(len(each) > 5 for each in ends.values()) > 10
    assert many.whole("cramers_v") == many.whole("p4") == many.whole("geometric_mean") == {}


@pytest.mark.parametrize("valid", ["fixed", "anytime"])
def test_means_over_some_classes_are_those_of_their_intervals_together(valid: Any) -> None:
    """Each class has the level that all need together, and the ends of the mean are the means of the ends."""
    evaluations = [each.evaluation for each in some_matrices(4)]
    classes = {at: np.flatnonzero(each.views["counts"].true_totals) for at, each in enumerate(evaluations) if at % 7}
    many = ManyMatrices(evaluations, 0.95, valid)
    for key in ("precision", "recall", "specificity", "f1", "jaccard"):
        ends = many.mean_of_classes(key, classes)
        assert ends.keys() == classes.keys()
        for at, own in classes.items():
            low, high, _ = class_bounds(evaluations[at], key, 1 - 0.05 / len(own), valid=valid)
            expected = [math.fsum(end[own].tolist()) / len(own) for end in (low, high)]
            assert tuple(ends[at])[:2] == pytest.approx(expected, abs=1e-12, nan_ok=True)
