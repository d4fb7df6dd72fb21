"""Clocks that are wrong: events in the future neither make others late nor let the join forget what it saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from stream_metrics.monitor._core.kernels import Votes
from stream_metrics.monitor.config import Config, Counting, Join
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.memory import records
from stream_metrics.monitor.store import Store

NOW = 1_700_000_000.0
CONFIG = Config(counting=Counting(windows=("5m", "1h"), panes=60), join=Join(ahead="365d"))


def events(n: int, wrong: float, skew: Any, seed: int = 1, rate: float = 10.0) -> list[dict[str, Any]]:
    """Return predictions with labels some seconds later, a share `wrong` of them with a time that is off by `skew`."""
    rng, both = np.random.default_rng(seed), []
    for at in range(n):
        time, truth = NOW + at / rate, "ab"[rng.integers(2)]
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


@pytest.mark.parametrize("skew", SKEWS.values(), ids=SKEWS.keys())
@pytest.mark.parametrize("at_once", [1, 500])
def test_one_clock_in_a_hundred_is_wrong(skew: Any, at_once: int) -> None:
    """Windows have what they would have without the wrong 1 %, to 2 %, and nothing that is right is late."""
    n = 8000 if at_once > 1 else 4000
    views = []
    for wrong in (0.0, 0.01):
        stream = records(events(n, wrong, skew))
        time = [NOW]
        monitor = Monitor(CONFIG, clock=lambda time=time: time[0])
        monitor.assign([0])
        for start in range(0, len(stream), at_once):
            time[0] = NOW + start / 20 + 10
            monitor.step(stream[start : start + at_once])
        monitor.report_lag({("memory", 0): 0})
        views.append(monitor.view())
    right, wrong_view = views

    assert wrong_view.by_window["total"].n == n
    for window in ("5m", "1h"):
        a, b = right.by_window[window], wrong_view.by_window[window]
        assert abs(a.n - b.n) <= 0.02 * a.n + 5
        assert b.late <= 0.011 * n
        assert b.metrics["accuracy"] == pytest.approx(a.metrics["accuracy"], abs=0.02)
    assert abs(wrong_view.event_time - right.event_time) < 10
    assert wrong_view.lag.seconds == pytest.approx(right.lag.seconds, abs=10)


def test_batches_and_restarts_change_nothing(tmp_path: Path) -> None:
    """The same records in the same order give the same bytes, with wrong clocks, corrections and any batches."""
    stream = events(1500, 0.03, SKEWS["anything"], seed=5)
    stream += [event | {"time": event["time"] + 9, "truth": "b"} for event in stream[-900::7] if "truth" in event]
    config = structs.replace(CONFIG, join=Join(ahead="365d", ttl="5s", keep_joined="60s", votes=32))
    results = []
    for at_once in (1, 7, 700, 10_000):
        path = str(tmp_path / f"state {at_once}")
        monitor = Monitor(config, Store(path), lambda: NOW + 10**6)
        monitor.assign([0])
        for start in range(0, len(stream), at_once):
            monitor.step(records(stream[start : start + at_once], start=start))
            if start % 1400 == 0:
                monitor.close()
                monitor = Monitor(config, Store(path), lambda: NOW + 10**6)
                monitor.assign([0])
        partition = monitor._partitions[0]
        results.append((monitor.counts().to_bytes(), monitor.stats(), partition.joiner.content()[:4]))
        monitor.close()

    assert results[1:] == results[:1] * 3
    assert results[0][1].corrections > 0
    assert results[0][1].predictions_expired > 0


def test_an_event_of_the_future_forgets_nothing(tmp_path: Path) -> None:
    """Pairs, then one event 59.5 min ahead, a restart, then the same pairs again: each is counted once."""
    config = structs.replace(CONFIG, join=Join(ahead="1h"))
    clock = NOW + 60
    stream = [{"id": at, "time": NOW + at / 20, "prediction": "a", "truth": "a"} for at in range(1000)]
    skewed = {"id": "skewed", "time": clock + 3570, "prediction": "a", "truth": "a"}
    monitor = Monitor(config, Store(str(tmp_path / "state")), lambda: clock)
    monitor.assign([0])
    monitor.step(records([*stream, skewed]))
    monitor.close()
    monitor = Monitor(config, Store(str(tmp_path / "state")), lambda: clock)
    monitor.assign([0])
    monitor.step(records(stream, start=1001))
    after = [{"id": f"after {at}", "time": NOW + 50 + at / 1000, "prediction": "a", "truth": "b"} for at in range(500)]
    monitor.step(records(after, start=2001))
    view = monitor.view()

    assert view.by_window["total"].n == 1501
    assert view.join.predictions_duplicate == 1000
    assert view.by_window["5m"].n == 1500
    assert view.by_window["5m"].late == 0
    monitor.close()


@settings(max_examples=60)
@given(st.integers(1, 40), st.lists(st.integers(0, 50).map(float), max_size=120), st.integers(0, 120))
def test_votes(most: int, times: list[float], cut: int) -> None:
    """The time is the largest that a quarter of the last events had reached, also if it is stored and read between."""
    votes, last, expected = Votes(most), list[float](), -np.inf
    for at, time in enumerate(times):
        if at == cut:
            again = Votes(most)
            again.load(votes.content(), votes.time)
            votes = again
        last = [*last, time][-most:]
        if len(last) >= min(8, most):
            expected = max(expected, sorted(last, reverse=True)[len(last) // 4])
        assert votes.see(time) == expected
        assert votes.content() == last


@pytest.mark.parametrize("most", [0, -1, 2**16 + 1])
def test_votes_that_cannot_be(most: int) -> None:
    """The number of votes is bounded, and the error says how."""
    with pytest.raises(ValueError, match=r"Expected `votes` to be from 1 to 65536"):
        Votes(most)


def test_a_state_without_votes_goes_on(tmp_path: Path) -> None:
    """A state of an earlier version has no votes: its time is where it was, and counts go on."""
    monitor = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW + 100)
    monitor.assign([0])
    stream = records(events(600, 0, lambda rng: 0.0))
    monitor.step(stream[:600])
    joiner = monitor._partitions[0].joiner
    counters, *rest = joiner.content()
    joiner.content = lambda moving=0: [counters, *rest[:5]]  # type: ignore[method-assign]
    monitor.close()
    again = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW + 100)
    again.assign([0])

    assert again._partitions[0].joiner.watermark == joiner.watermark
    assert again._partitions[0].joiner.votes.content() == []
    again.step(stream)
    assert again.view().by_window["total"].n == 600
    again.close()
