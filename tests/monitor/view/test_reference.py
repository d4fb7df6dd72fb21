"""The reference is taken once, and later windows are compared with it; a change is called so if it is no chance."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from support.inner_views import Earlier, WindowView, compared
from support.monitor_runs import Clock, config, feed, pair, started
from support.refusals import all_refused

import stream_metrics as sm


class Stream:
    """A monitor with a clock of its own, fed with one pair a second of which some are wrong."""

    def __init__(self, reference: str = "", path: Path | None = None, clock: Clock | None = None) -> None:
        counting = {"windows": ["1m", "5m"], "reference": reference}
        self.clock = clock or Clock()
        self.monitor = started(config(counting=counting, source={"idle": "1d"}), path, self.clock)
        self.offset = self.monitor.assign([0]).get(("t", 0), 0)

    def feed(self, seconds: int, wrong: int) -> Any:
        """Count pairs of which one in `wrong` is wrong, half a minute at a time, and return the last view."""
        for _ in range(seconds // 30):
            events = []
            for at in range(self.offset, self.offset + 30):
                self.clock.now += 1
                truth = "cat" if at % 3 else "dog"
                events.append(pair(at, truth, truth if at % wrong else "cow", time=self.clock.now))
            feed(self.monitor, events, start=self.offset)
            self.offset += 30
            self.monitor.checkpoint()
            view = self.monitor.view(whole=True)
        return view


def verdicts(view: Any, window: str = "1m") -> dict[str, str | None]:
    """Return what is said of the accuracy, by what it is compared with."""
    return {row.against: row.verdict for row in view.by_window[window].comparisons["accuracy"]}


def test_the_first_full_window_is_the_reference(tmp_path: Path) -> None:
    """It is taken when the window is full, not before, and stays the same however long the model is bad.

    It is part of the checkpoint, and so is the wait for a full window: restarts in between change nothing.
    """
    clock, views = Clock(), list[Any]()
    for seconds, wrong in ((180, 20), (60, 20), (120, 20), (600, 2)):
        stream = Stream("5m", tmp_path / "state", clock)
        views.append(stream.feed(seconds, wrong))
        stream.monitor.close()
    _, early, full, bad = views

    assert early.reference is None
    assert (full.reference.window, full.reference.at - full.reference.start) == ("5m", 300.0)
    assert full.reference.n == pytest.approx(300, abs=10)
    assert bad.reference == full.reference
    assert bad.reference.metrics["accuracy"] == pytest.approx(0.95, abs=0.01)
    assert verdicts(bad) == {"before": None, "reference": "worse"}  # one window ago it was as bad
    assert verdicts(bad, "total")["reference"] == "worse"


def test_a_reference_is_taken_on_request() -> None:
    """Without a configured one there is none until it is asked for; the next request replaces it."""
    stream = Stream()
    before = stream.feed(300, 20)
    stream.monitor.take_reference("5m")
    bad = stream.feed(300, 2)
    stream.monitor.take_reference("1m")
    again = stream.feed(30, 2)

    assert before.reference is None
    assert verdicts(bad)["reference"] == "worse"
    assert again.reference.window == "1m"
    assert verdicts(again)["reference"] is None


def test_a_window_without_samples_is_refused() -> None:
    """So is one that is not counted; the reference stays as it was."""
    empty, stream = Stream(), Stream()
    stream.feed(60, 20)
    all_refused([
        (lambda: empty.monitor.take_reference("5m"), ValueError, "windows that have samples, []"),
        (lambda: stream.monitor.take_reference("total"), ValueError, "['1m', '5m'], but got 'total'"),
        (lambda: Stream("7d"), ValueError, "`reference` to be one of the windows"),
    ])  # fmt: skip
    assert stream.monitor.view().reference is None


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
