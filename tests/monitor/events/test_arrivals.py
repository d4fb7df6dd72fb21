"""Time passes without events and changes no counts; wrong clocks make nothing late and nothing forgotten."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.monitor_runs import START, Alerts, Clock, Monitor, config, exported, feed, lines_of, started

from stream_metrics.monitor import Runner, make_source

RULES = ("n[6s] < 10", "accuracy[6s] < 0.8", 'recall["emu"][1h] < 0.5', "accuracy[1h] < 0.8 with n >= 1000", "lag > 5")
IDLE = 5.0  # seconds without an event, after which time passes also if records seem to wait


def monitor_of(clock: Clock, state: Path | None = None, **source: Any) -> tuple[Monitor, Alerts]:
    """Return a monitor of two windows, and its alerts."""
    how = config(source=source, counting={"windows": ["6s", "1h"]}, alerts={"rules": RULES, "log": False})
    monitor = started(how, state, clock)
    return monitor, Alerts(how, monitor)


def pairs(n: int, start: float = START, step: float = 0.02) -> list[dict[str, Any]]:
    """Return predictions with their labels."""
    return [{"id": f"{start}-{at}", "time": start + step * at, "truth": "a", "prediction": "a"} for at in range(n)]


def looked(monitor: Monitor, alerts: Alerts) -> tuple[Any, dict[str, tuple[str, str | None]]]:
    """Return a view, and the state and note of every rule."""
    view = monitor.view()
    alerts.see(view)
    return view, {alert.rule: (alert.state, alert.note) for alert in view.alerts}


def sizes(view: Any) -> list[int]:
    """Return the numbers of samples in the windows of 6 s and of an hour, and in all."""
    return [view.by_window[name].n for name in ("6s", "1h", "total")]


def test_windows_run_empty_when_events_stop() -> None:
    """25 s after the last event the window of 6 s is empty, rules fire or are unknown, counts are as before.

    If the source is away, its lag is unknown and not 0, and the reason is shown.
    """
    clock = Clock(START + 6)
    monitor, alerts = monitor_of(clock)
    feed(monitor, pairs(300))
    monitor.report_lag({("t", 0): 0})
    before, states_before = looked(monitor, alerts)
    bytes_before = monitor.counts().parts()
    clock.now += 25
    view, states = looked(monitor, alerts)

    assert (sizes(before), before.source.state) == ([300, 300, 300], "live")
    assert states_before["accuracy[6s] < 0.8"] == ("ok", None)
    assert (sizes(view), view.source.state, view.source.silence) == ([0, 300, 300], "silent", 25)
    assert view.lag.seconds == pytest.approx(25.02)
    assert states == {
        "n[6s] < 10": ("firing", None),
        "accuracy[6s] < 0.8": ("unknown", "no samples"),
        'recall["emu"][1h] < 0.5': ("unknown", "no class 'emu' so far"),
        "accuracy[1h] < 0.8 with n >= 1000": ("unknown", "300 of 1,000 samples"),
        "lag > 5": ("ok", None),
    }
    assert monitor.counts().parts() == bytes_before

    monitor.report_lag(None)
    monitor.report_source("broker: connection refused")
    clock.now += 35
    view, states = looked(monitor, alerts)
    metrics = exported(monitor)
    assert (view.source.state, view.source.problem, view.lag.records) == ("away", "broker: connection refused", None)
    assert (states["lag > 5"], states["n[6s] < 10"][0]) == (("unknown", "the source cannot be read"), "firing")
    assert "consumer_lag_records" not in metrics
    for line in ("source_up 0", 'alert_unknown{rule="lag > 5"} 1', "source_silence_seconds 60"):
        assert f"stream_metrics_{line}" in metrics


def test_a_source_that_never_gave_an_event_is_silent() -> None:
    """Silence counts from the start of the process: rules and what is exported know of it."""
    clock = Clock()
    how = config(source={"idle": "5m"}, alerts={"rules": ["silence > 200"], "log": False})
    monitor = started(how, clock=clock)
    alerts, states = Alerts(how, monitor), []
    for later in (0, 100, 201, 300):
        clock.now = START + later
        alerts.look()
        view = monitor.view()
        states.append((view.source.state, view.source.silence, view.alerts[0].state))

    expected = [("waiting", 0, "ok"), ("waiting", 100, "ok"), ("waiting", 201, "firing"), ("silent", 300, "firing")]
    assert states == expected
    assert "stream_metrics_source_silence_seconds 300" in exported(monitor)


@given(st.lists(st.tuples(st.floats(-1e8, 1e8), st.floats(0, 20)), min_size=1, max_size=4), st.floats(0, 1e4))
@example([(-86_400.0, 0.0)], 0.0)
@example([(1e7, 3.0), (-1e7, 3.0)], 10.0)
def test_time_passes_whatever_the_clock_does(jumps: list[tuple[float, float]], delay: float) -> None:
    """A clock is set forward and back while no event comes: windows run empty, the source is silent, rules say so."""
    clock = Clock(START + 6 + delay)
    monitor, alerts = monitor_of(clock)
    feed(monitor, pairs(300))
    monitor.report_lag({("t", 0): 0})
    monitor.checkpoint()
    for jump, wait in jumps:
        looked(monitor, alerts)
        clock.now += jump
        looked(monitor, alerts)
        clock.now += wait
    clock.now += 12.1
    view, states = looked(monitor, alerts)

    assert (view.source.state, sizes(view)[0]) == ("silent", 0)
    assert states["n[6s] < 10"] == ("firing", None)


@pytest.mark.parametrize("votes", [1, 4, 256])
def test_a_window_ends_at_the_time_that_is_shown(votes: int) -> None:
    """Few events may move the time if few votes do; then it is shown, however fresh they are beside the others."""
    monitor = started(config(counting={"windows": ["1h"]}, join={"votes": votes}), clock=Clock(START + 90_000))
    feed(monitor, [*pairs(300), *pairs(4, START + 7200, step=1)])
    monitor.report_source(None, True)
    view, moved = monitor.view(), votes < 256

    assert view.by_window["1h"].n == (4 if moved else 300)
    assert view.event_time == pytest.approx(START + (7203 if moved else 6), abs=4)


def test_a_restart_reads_the_windows_at_the_same_time(tmp_path: Path) -> None:
    """Whatever the clocks of the last events were, then and after further events."""
    for wrong, batch in product((3000.0, -3000.0), (1, 7, 50)):
        clock, path = Clock(START + 4), tmp_path / f"{wrong} {batch}"
        events = lines_of([*pairs(200), *pairs(6, START + 4 + wrong), *pairs(50, START + 4)])
        straight, monitor = monitor_of(clock)[0], monitor_of(clock, path)[0]
        for n, each in product(range(0, 206, batch), (straight, monitor)):
            each.step(events[n : min(n + batch, 206)])
        monitor.close()
        again, _ = monitor_of(clock, path)
        times = [each.view().source.time for each in (straight, again)]
        clock.now += 2
        for each in (straight, again):
            each.step(events[206:])
            times.append(each.view().source.time)
        assert times[::2] == times[1::2], (wrong, batch)
        again.close()


def test_time_stands_still_while_a_backlog_is_read_and_after_the_end() -> None:
    """Old records are the last hour while more wait; then the clock takes over, unless the source has ended."""
    clock = Clock(START + 7200)
    monitor, alerts = monitor_of(clock)
    monitor.report_lag({("t", 0): 1000})
    feed(monitor, pairs(300))
    clock.now += IDLE - 1
    behind, _ = looked(monitor, alerts)
    feed(monitor, pairs(300, START + 7200), start=300)
    monitor.report_lag({("t", 0): 0})
    clock.now += 100
    current, _ = looked(monitor, alerts)
    file, alerts = monitor_of(clock)
    feed(file, pairs(300)).report_source(ended=True)
    clock.now += 10**6
    ended, _ = looked(file, alerts)

    assert [sizes(view)[:2] for view in (behind, current, ended)] == [[300, 300], [0, 300], [300, 300]]
    assert current.source.time == pytest.approx(START + 7200 + IDLE - 1 + 100, abs=7)
    assert ended.source.state == "ended"


def test_a_runner_reports_its_source_and_lets_time_pass(tmp_path: Path) -> None:
    """A file that is gone is a problem that is shown; it is read once it is there, and its window runs empty."""
    log, clock, shown = tmp_path / "log", Clock(START + 6), list[Any]()
    monitor, alerts = monitor_of(clock, kind="file", path=str(log), follow=True)

    def show(view: Any) -> None:
        shown.append(view)
        clock.now += 2 * bool(view.by_window["total"].n)
        if view.source.state == "away" and not log.exists():
            log.write_bytes(b"".join((record.value or b"") + b"\n" for record in lines_of(pairs(300))))
        if sizes(view) == [0, 300, 300] or len(shown) > 300:
            runner.stop()

    runner = Runner(monitor.config, make_source(monitor.config.source), monitor, alerts, show=show)
    runner.run()

    away = next(view for view in shown if view.source.state == "away")
    assert (away.source.problem, away.lag.records) == (f"{log} does not exist", None)
    assert [300, 300, 300] in map(sizes, shown)
    assert sizes(shown[-1]) == [0, 300, 300]
    assert shown[-1].lag.records == 0


@pytest.mark.parametrize("lag", [0, None])
@pytest.mark.parametrize("skews", [(0, 0, 500), (500, 0.05), (500, 300), (500,), (-20, 500)])
def test_a_partition_that_is_ahead_does_not_move_the_others(skews: tuple[float, ...], lag: int | None) -> None:
    """All clocks of a partition are ahead: each partition shows its own last minute, and none is empty."""
    clock = Clock()
    monitor = started(config(counting={"windows": ["60s", "1h"]}), clock=clock, parts=range(len(skews)))
    for start in range(0, 200, 20):
        clock.now = START + start + 20
        for number, skew in enumerate(skews):
            feed(monitor, pairs(20, START + start + skew, step=1.0), start=start, partition=number)
    monitor.report_lag(None if lag is None else {("t", number): lag for number in range(len(skews))})
    view = monitor.view()

    assert view.by_window["total"].n == view.by_window["1h"].n == 200 * len(skews)
    assert len(skews) * 59 - 20 <= view.by_window["60s"].n <= len(skews) * 60
    assert view.source.time == pytest.approx(clock.now + max(min(skews), 0), abs=1.1)
    clock.now += 90
    silent = monitor.view()
    assert (silent.by_window["60s"].n, silent.by_window["1h"].n) == (0, 200 * len(skews))
    monitor.report_source(ended=True)
    assert monitor.view().by_window["60s"].n > 0


@pytest.mark.parametrize("rate", [0.01, 1.0, 1000.0])
def test_wrong_clocks_do_not_move_the_time(rate: float) -> None:
    """One event in a hundred is wrong by anything: the time at which windows are read stays right, at any rate."""
    for wrong in (3600.0, -3600.0, 5.0, -5.0):
        rng, clock, errors = np.random.default_rng(7), Clock(), []
        monitor = started(config(counting={"windows": []}, join={"ahead": "2d"}), clock=clock)
        for at in range(400):
            clock.now += rng.exponential(1 / rate)
            skew = wrong * rng.uniform() if rng.uniform() < 0.01 else 0.0
            time = clock.now - rng.exponential(0.5) + skew
            monitor.step(lines_of([{"id": at, "time": time, "truth": "a"}], at))
            if at >= 100 and at % 4 == 0:
                clock.now += IDLE
                errors.append(monitor.view().source.time - clock.now)
        assert -2 <= min(errors) <= max(errors) <= 0, wrong


@pytest.mark.parametrize("lag", [0, None])
def test_few_live_events_end_a_backlog_that_was_read_at_once(lag: int | None) -> None:
    """An hour old backlog comes at once, then an event a minute: the third one is in the windows."""
    clock = Clock()
    monitor, _ = monitor_of(clock)
    live = [{"id": str(at), "time": START + 60 * at, "truth": "a", "prediction": "a"} for at in (1, 2, 3)]
    read = lines_of([*pairs(400, start=START - 3600, step=0.1), *live])
    for minute, some in enumerate([read[:400], read[400:401], read[401:402], read[402:]]):
        clock.now = START + 60 * minute + 0.5
        monitor.step(some)
        monitor.report_lag(None if lag is None else {("t", 0): lag})

    view = monitor.view()
    assert (view.source.time, view.by_window["1h"].n, view.lag.seconds) == (START + 180, 3, 0.5)


@pytest.mark.parametrize("most", [1, 10, 400])
def test_one_wrong_clock_in_a_hundred_is_not_credible_however_events_come(most: int) -> None:
    """Events are ten minutes late, but for some that seem fresh; they come one by one, and in batches of any size."""
    random, clock, at = np.random.default_rng(most), Clock(), 0
    monitor = started(config(counting={"windows": []}), clock=clock)
    monitor.report_lag({("t", 0): 10**6})
    for size in (50, *random.integers(1, 1 + most, 200).tolist()):
        clock.now += 0.5
        times = clock.now - random.uniform(600, 660, size)
        fresh = (random.random(size) < 0.01) & (at > 0)
        times[fresh] = clock.now - random.uniform(0, 300, fresh.sum())
        feed(monitor, [{"id": at + n, "time": time, "truth": "a"} for n, time in enumerate(times.tolist())], start=at)
        at += size
        assert monitor.view().source.time <= clock.now - 600


COUNTING = {"windows": ["5m", "1h"], "panes": 60}


def skewed_events(n: int, wrong: float, skew: Any, seed: int = 1, rate: float = 10.0) -> list[dict[str, Any]]:
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
    stream, clock = lines_of(skewed_events(n, 0.01 if skew else 0.0, SKEWS.get(skew))), Clock()
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
