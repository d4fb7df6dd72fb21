"""Clocks that are wrong: events in the future neither make others late nor let the join forget what it saw."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.monitor_runs import START, Clock, config, feed, lines_of, started

COUNTING = {"windows": ["5m", "1h"], "panes": 60}


def events(n: int, wrong: float, skew: Any, seed: int = 1, rate: float = 10.0) -> list[dict[str, Any]]:
    """Return predictions with labels some seconds later, a share `wrong` of them with a time that is off by `skew`."""
    rng, both = np.random.default_rng(seed), []
    for at in range(n):
        time, truth = START + at / rate, "ab"[rng.integers(2)]
        off = float(skew(rng)) if rng.random() < wrong else 0.0
        said = truth if rng.random() < 0.8 else "a"
        both.append((time, {"id": at, "time": time + off, "prediction": said}))
        after = rng.exponential(3.0)
        both.append((time + after, {"id": at, "time": time + after + off, "truth": truth}))
    return [event for _, event in sorted(both, key=lambda pair: pair[0])]


SKEWS = {
    "anything": lambda rng: rng.choice([-1, 1]) * 10 ** rng.uniform(0, 6),
    "an hour ahead": lambda rng: 3500.0,
    "days ahead": lambda rng: 86400.0 * rng.integers(1, 300),
    "behind": lambda rng: -(10 ** rng.uniform(0, 6)),
}


@cache
def view_of(n: int, at_once: int, skew: str = "") -> Any:
    """Return the view after events of which 1 % are wrong, if so."""
    stream, clock = lines_of(events(n, 0.01 if skew else 0.0, SKEWS.get(skew))), Clock()
    monitor = started(config(counting=COUNTING, join={"ahead": "365d"}), clock=clock)
    for start in range(0, len(stream), at_once):
        clock.now = START + start / 20 + 10
        monitor.step(stream[start : start + at_once])
    monitor.report_lag({("t", 0): 0})
    return monitor.view()


@pytest.mark.parametrize(("skew", "n", "at_once"), [*((skew, 8000, 500) for skew in SKEWS), ("days ahead", 1000, 1)])
def test_one_clock_in_a_hundred_is_wrong(skew: str, n: int, at_once: int) -> None:
    """Windows have what they would have without the wrong 1 %, to 2 %, and nothing that is right is late."""
    right, skewed = view_of(n, at_once), view_of(n, at_once, skew)

    assert skewed.by_window["total"].n == n
    for name in COUNTING["windows"]:
        a, b = right.by_window[name], skewed.by_window[name]
        assert abs(a.n - b.n) <= 0.02 * a.n + 5
        assert b.late <= 0.011 * n
        assert b.metrics["accuracy"] == pytest.approx(a.metrics["accuracy"], abs=0.02)
    assert abs(skewed.event_time - right.event_time) < 10
    assert skewed.lag.seconds == pytest.approx(right.lag.seconds, abs=10)


def test_an_event_of_the_future_forgets_nothing(tmp_path: Path) -> None:
    """Pairs, then one event 59.5 min ahead, a restart, then the same pairs again: each is counted once."""
    how, now = config(counting=COUNTING, join={"ahead": "1h"}), START + 60
    pairs = [{"id": at, "time": START + at / 20, "prediction": "a", "truth": "a"} for at in range(1000)]
    skewed = {"id": "skewed", "time": now + 3570, "prediction": "a", "truth": "a"}
    monitor = started(how, tmp_path / "state", clock=Clock(now))
    feed(monitor, [*pairs, skewed]).close()
    monitor = feed(started(how, tmp_path / "state", clock=Clock(now)), pairs, start=1001)
    after = [{"id": f"after {at}", "time": now - 10 + at / 1000, "prediction": "a", "truth": "b"} for at in range(500)]
    view = feed(monitor, after, start=2001).view()

    assert view.join.predictions_duplicate == 1000
    assert (view.by_window["total"].n, view.by_window["5m"].n, view.by_window["5m"].late) == (1501, 1500, 0)
    monitor.close()
