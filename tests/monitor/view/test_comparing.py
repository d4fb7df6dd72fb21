"""A change is called better or worse only where it is more than chance, however rare a class is."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from support.inner_views import Earlier, WindowView, compared

import stream_metrics as sm

KEYS = ("accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef")


def window(rng: np.random.Generator, n: int, positives: float, recall: float, fpr: float) -> WindowView:
    """Return a window of a model of two classes."""
    true = rng.binomial(n, positives)
    hits, alarms = rng.binomial(true, recall), rng.binomial(n - true, fpr)
    state = sm.ConfusionMatrix()
    state.update_counts([1, 1, 0, 0], [1, 0, 1, 0], [hits, true - hits, alarms, n - true - alarms])
    snapshot = state.snapshot()
    intervals = {key: snapshot.interval(key) for key in KEYS}
    return WindowView(
        metrics={key: snapshot[key] for key in KEYS},
        better=dict.fromkeys(KEYS, "higher"),
        intervals={key: (each.low, each.high) for key, each in intervals.items()},
        interval_notes={key: each.note for key, each in intervals.items() if each.note},
    )


def earlier(part: WindowView) -> Earlier:
    """Return what a later window is compared with."""
    ends = {key: bounds for key, bounds in part.intervals.items() if key not in part.interval_notes}
    return Earlier("before", 10.0, part.metrics, ends)


@pytest.mark.parametrize(("n", "positives"), [(10_000, 0.002), (800, 0.02), (1_000, 0.5)])
def test_a_model_that_stays_as_it_is_has_no_changes(n: int, positives: float) -> None:
    """At most 5 % of the looks at a stationary model have a verdict on any metric of the headline."""
    rng = np.random.default_rng(11)
    parts = [window(rng, n, positives, 0.7, 0.0005) for _ in range(121)]
    looks = [compared(now, KEYS, [earlier(then)]) for then, now in pairwise(parts)]

    changed = [look for look in looks if any(row.verdict for rows in look.values() for row in rows)]
    assert len(looks) == 120
    assert len(changed) <= 6  # a change by sqrt(2/n) was reported in 109 of 126


@pytest.mark.quick
def test_what_a_verdict_needs() -> None:
    """The direction of the metric decides, and without one, or an interval to trust on both sides, the reason is said.

    The difference is there all the same, and nothing where either value is missing.
    """
    now = WindowView(metrics=dict.fromkeys("abc", 0.9) | {"d": None, "loss": 0.1, "n": 9})
    now.better = {**dict.fromkeys("abcd", "higher"), "loss": "lower", "n": None}
    now.intervals = {"a": None, "b": (0.89, 0.91), "c": (0.89, 0.91), "loss": (0.09, 0.11), "n": (8, 10)}
    now.interval_notes = {"c": "only one class has samples"}
    bounds = {"a": (0.09, 0.11), "c": (0.09, 0.11), "loss": (0.28, 0.32), "n": (0, 2)}
    then = Earlier("before", 5.0, dict.fromkeys("abcd", 0.1) | {"loss": 0.3, "n": 1}, bounds)

    rows = {key: row for key, (row,) in compared(now, tuple(now.metrics), [then]).items()}

    assert {key: (row.verdict, row.reason) for key, row in rows.items()} == {
        "a": (None, "no interval now"),
        "b": (None, "no interval then"),
        "c": (None, "the interval is not to be trusted: only one class has samples"),
        "loss": ("better", ""),
        "n": (None, ""),
    }
    assert all(rows[key].difference == pytest.approx(0.8) for key in "abc")
    scale = NormalDist().inv_cdf(1 - 0.05 / 2 / 6) / NormalDist().inv_cdf(0.975)  # for six metrics
    ends = -0.2 - scale * math.hypot(0.01, 0.02), -0.2 + scale * math.hypot(0.01, 0.02)
    assert (rows["loss"].low, rows["loss"].high) == pytest.approx(ends)
