"""A change is called better or worse only where it is more than chance, however rare a class is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from stream_metrics import ConfusionMatrix
from stream_metrics.monitor.view.comparing import Earlier, compared
from stream_metrics.monitor.view.types import WindowView
from stream_metrics.monitor.view.window_view import snapshot_view
from stream_metrics.snapshots.snapshot import Snapshot

KEYS = ("accuracy", "balanced_accuracy", "macro_f1", "matthews_corrcoef")


def window(rng: np.random.Generator, n: int, positives: float, recall: float, fpr: float) -> WindowView:
    """Return a window of a model of two classes."""
    true = rng.binomial(n, positives)
    hits, alarms = rng.binomial(true, recall), rng.binomial(n - true, fpr)
    state = ConfusionMatrix()
    state.update_counts([1, 1, 0, 0], [1, 0, 1, 0], [hits, true - hits, alarms, n - true - alarms])
    return snapshot_view(Snapshot(state), KEYS)


def earlier(part: WindowView, against: str = "before") -> Earlier:
    """Return what a later window is compared with."""
    ends = {key: bounds for key, bounds in part.intervals.items() if key not in part.interval_notes}
    return Earlier(against, 10.0, part.metrics, ends)


@pytest.mark.parametrize(("n", "positives"), [(10_000, 0.002), (800, 0.02), (1_000, 0.5)])
def test_a_model_that_stays_as_it_is_has_no_changes(n: int, positives: float) -> None:
    """At most 5 % of the looks at a stationary model have a verdict on any metric of the headline."""
    rng = np.random.default_rng(11)
    parts = [window(rng, n, positives, 0.7, 0.0005) for _ in range(121)]

    looks = [compared(now, KEYS, [earlier(then)]) for then, now in pairwise(parts)]
    changed = [look for look in looks if any(row.verdict for rows in look.values() for row in rows)]

    assert len(looks) == 120
    assert len(changed) <= 6  # a change by sqrt(2/n) was reported in 109 of 126


@pytest.mark.parametrize(("positives", "recall"), [(0.02, 0.3), (0.5, 0.6)])
def test_a_model_that_changed_is_told(positives: float, recall: float) -> None:
    """A recall that falls from 0.9 is worse, and one that comes back is better; the interval holds the difference."""
    rng = np.random.default_rng(3)
    good, bad = window(rng, 8_000, positives, 0.9, 0.001), window(rng, 8_000, positives, recall, 0.001)

    fell, rose = (compared(now, KEYS, [earlier(then)]) for now, then in ((bad, good), (good, bad)))

    assert {row.verdict for rows in fell.values() for row in rows} == {"worse"}
    assert {row.verdict for rows in rose.values() for row in rows} == {"better"}
    for (row,) in fell.values():
        assert row.low is not None
        assert row.high is not None
        assert row.low < row.difference < row.high < 0


def test_a_lower_loss_is_better() -> None:
    """The direction of a metric decides; a metric without one has no verdict."""
    now = WindowView(metrics={"loss": 0.1, "n": 9}, intervals={"loss": (0.09, 0.11), "n": (8, 10)})
    now.better = {"loss": "lower", "n": None}
    then = Earlier("before", 0.0, {"loss": 0.3, "n": 1}, {"loss": (0.28, 0.32), "n": (0, 2)})

    rows = compared(now, ("loss", "n"), [then])

    assert [rows[key][0].verdict for key in ("loss", "n")] == ["better", None]


def test_without_an_interval_that_can_be_trusted_there_is_no_verdict() -> None:
    """An interval that is missing now or then, or has a note, leaves the difference and says why."""
    now = WindowView(metrics={"a": 0.9, "b": 0.9, "c": 0.9, "d": None}, better=dict.fromkeys("abcd", "higher"))
    now.intervals = {"a": None, "b": (0.89, 0.91), "c": (0.89, 0.91)}
    now.interval_notes = {"c": "only one class has samples"}
    then = Earlier("before", 5.0, dict.fromkeys("abcd", 0.1), {"a": (0.09, 0.11), "c": (0.09, 0.11)})

    rows = compared(now, tuple("abcd"), [then])

    assert set(rows) == {"a", "b", "c"}
    assert {row.verdict for (row,) in rows.values()} == {None}
    assert [row.reason for (row,) in rows.values()] == [
        "no interval now",
        "no interval then",
        "the interval is not to be trusted: only one class has samples",
    ]
    assert all(row.difference == pytest.approx(0.8) for (row,) in rows.values())
