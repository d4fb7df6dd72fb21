"""Time passes without events, by the clock of the monitor, and changes nothing that is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.prometheus_text import unlabelled

from stream_metrics.monitor import config
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.events.arrivals import IDLE, Arrivals, reading_time
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.runner import Runner
from stream_metrics.monitor.serve.prometheus import text
from stream_metrics.monitor.sources.file import FileSource
from stream_metrics.monitor.sources.memory import MemorySource, records
from stream_metrics.monitor.store import Store
from stream_metrics.monitor.view.types import View

NOW = 1_700_000_000.0
RULES = ("n[6s] < 10", "accuracy[6s] < 0.8", 'recall["emu"][1h] < 0.5', "accuracy[1h] < 0.8 with n >= 1000", "lag > 5")


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def monitor_of(clock: Clock, path: Path | None = None, **source: Any) -> tuple[Monitor, Alerts]:
    """Return a monitor of two windows, and its alerts."""
    counting = config.Counting(windows=("6s", "1h"))
    settings = Config(source=config.Source(**source), counting=counting, alerts=config.Alerts(rules=RULES, log=False))
    monitor = Monitor(settings, None if path is None else Store(str(path)), clock)
    return monitor, Alerts(settings, monitor)


def pairs(n: int, start: float = NOW, step: float = 0.02) -> list[dict[str, Any]]:
    """Return predictions with their labels."""
    return [{"id": f"{start}-{at}", "time": start + step * at, "truth": "a", "prediction": "a"} for at in range(n)]


def looked(monitor: Monitor, alerts: Alerts) -> tuple[View, dict[str, tuple[str, str | None]]]:
    """Return a view, and the state and note of every rule."""
    view = monitor.view()
    alerts.see(view)
    return view, {alert.rule: (alert.state, alert.note) for alert in view.alerts}


def test_windows_run_empty_when_events_stop() -> None:
    """25 s after the last event nothing is in the window of 6 s, rules fire or are unknown, counts are as before."""
    clock = Clock(NOW + 6)
    monitor, alerts = monitor_of(clock)
    monitor.assign([0])
    monitor.step(records(pairs(300)))
    monitor.report_lag({("memory", 0): 0})
    before, states_before = looked(monitor, alerts)
    counted = monitor.counts().to_bytes()
    clock.now += 25
    view, states = looked(monitor, alerts)

    assert before.by_window["6s"].n == 300
    assert before.source.state == "live"
    assert states_before["accuracy[6s] < 0.8"] == ("ok", None)
    assert (view.by_window["6s"].n, view.by_window["1h"].n, view.by_window["total"].n) == (0, 300, 300)
    assert view.source.state == "silent"
    assert view.source.silence == 25
    assert view.lag.seconds == pytest.approx(25.02)
    assert states == {
        "n[6s] < 10": ("firing", None),
        "accuracy[6s] < 0.8": ("unknown", "no samples"),
        'recall["emu"][1h] < 0.5': ("unknown", "no class 'emu' so far"),
        "accuracy[1h] < 0.8 with n >= 1000": ("unknown", "300 of 1,000 samples"),
        "lag > 5": ("ok", None),
    }
    assert monitor.counts().to_bytes() == counted


@given(st.lists(st.tuples(st.floats(-1e8, 1e8), st.floats(0, 20)), min_size=1, max_size=4), st.floats(0, 1e4))
@example([(-86_400.0, 0.0)], 0.0)
@example([(1e7, 3.0), (-1e7, 3.0)], 10.0)
def test_time_passes_whatever_the_clock_does(jumps: list[tuple[float, float]], delay: float) -> None:
    """A clock is set forward and back while no event comes: windows run empty, the source is silent, rules say so."""
    clock = Clock(NOW + 6 + delay)
    monitor, alerts = monitor_of(clock)
    monitor.assign([0])
    monitor.step(records(pairs(300)))
    monitor.report_lag({("memory", 0): 0})
    monitor.checkpoint()
    for jump, wait in jumps:
        looked(monitor, alerts)
        clock.now += jump
        looked(monitor, alerts)
        clock.now += wait
    clock.now += 12.1
    view, states = looked(monitor, alerts)

    assert view.source.state == "silent"
    assert view.by_window["6s"].n == 0
    assert states["n[6s] < 10"] == ("firing", None)


def test_late_events_are_counted_after_time_has_passed() -> None:
    """What comes after a silence is counted in its own time, as if no one had looked meanwhile."""
    clock = Clock(NOW + 6)
    looked_at, unseen = monitor_of(clock), monitor_of(clock)
    for monitor, alerts in (looked_at, unseen):
        monitor.assign([0])
        monitor.step(records(pairs(300)))
        clock.now += 3000
        if monitor is looked_at[0]:
            looked(monitor, alerts)
        monitor.step(records(pairs(50, NOW + 7), start=300))
        clock.now -= 3000

    assert looked_at[0].counts().to_bytes() == unseen[0].counts().to_bytes()
    assert looked_at[0].counts().windows["6s"].snapshot().n == unseen[0].counts().windows["6s"].snapshot().n > 0


@pytest.mark.parametrize("votes", [1, 4, 256])
def test_a_window_ends_at_the_time_that_is_shown(votes: int) -> None:
    """Few events may move the time if few votes do; then it is shown, however fresh they are beside the others."""
    clock = Clock(NOW + 90_000)
    settings = Config(counting=config.Counting(windows=("1h",)), join=config.Join(votes=votes))
    monitor = Monitor(settings, clock=clock)
    monitor.assign([0])
    monitor.step(records([*pairs(300), *pairs(4, NOW + 7200, step=1)]))
    monitor.report_source(None, True)
    view = monitor.view()

    moved = votes < 256
    assert view.by_window["1h"].n == (4 if moved else 300)
    assert view.event_time == pytest.approx(NOW + (7203 if moved else 6), abs=4)


def test_time_passes_over_a_restart(tmp_path: Path) -> None:
    """A monitor that starts an hour after the last event shows an empty hour at once, and how long nothing came."""
    clock = Clock(NOW + 8)
    monitor, _ = monitor_of(clock, tmp_path / "state")
    monitor.assign([0])
    monitor.step(records(pairs(300)))
    monitor.close()
    clock.now += 4000
    again, _ = monitor_of(clock, tmp_path / "state")
    again.assign([0])
    view = again.view()

    assert view.source.state == "silent"
    assert view.source.silence == pytest.approx(4000, abs=0.1)
    assert (view.by_window["1h"].n, view.by_window["total"].n) == (0, 300)
    again.close()


@pytest.mark.parametrize("after", [1, 5, 50, 200])
def test_time_passes_over_a_restart_after_a_pause(tmp_path: Path, after: int) -> None:
    """Events before a pause do not make those after it look too fresh: the last hour is that of the clock."""
    clock = Clock(NOW + 4)
    monitor, _ = monitor_of(clock, tmp_path / "state")
    monitor.assign([0])
    monitor.step(records(pairs(206)))
    clock.now = NOW + 8 * 3600
    monitor.step(records(pairs(after, clock.now - 2, step=0.01), start=206))
    monitor.close()
    clock.now += 10
    again, _ = monitor_of(clock, tmp_path / "state")
    again.assign([0])
    again.report_lag({("memory", 0): 0})
    view = again.view()

    assert view.source.time is not None
    assert -3 <= view.source.time - clock.now <= 0
    assert (view.by_window["6s"].n, view.by_window["1h"].n) == (0, after)
    again.close()


@pytest.mark.parametrize("batch", [1, 7, 50])
@pytest.mark.parametrize("wrong", [3000.0, -3000.0])
def test_a_restart_reads_the_windows_at_the_same_time(tmp_path: Path, wrong: float, batch: int) -> None:
    """Whatever the clocks of the last events were, then and after further events."""
    clock = Clock(NOW + 4)
    straight, _ = monitor_of(clock)
    monitor, _ = monitor_of(clock, tmp_path / "state")
    events = records([*pairs(200), *pairs(6, NOW + 4 + wrong), *pairs(50, NOW + 4)])
    for each in (straight, monitor):
        each.assign([0])
        for n in range(0, 206, batch):
            each.step(events[n : min(n + batch, 206)])
    monitor.close()
    again, _ = monitor_of(clock, tmp_path / "state")
    again.assign([0])

    assert again.view().source.time == straight.view().source.time
    clock.now += 2
    for each in (straight, again):
        each.step(events[206:])
    assert again.view().source.time == straight.view().source.time
    again.close()


def test_time_stands_still_while_a_backlog_is_read() -> None:
    """Records of two hours ago are shown as the last hour while more wait; the clock takes over at the end of them."""
    clock = Clock(NOW + 7200)
    monitor, alerts = monitor_of(clock)
    monitor.assign([0])
    monitor.report_lag({("memory", 0): 1000})
    monitor.step(records(pairs(300)))
    clock.now += IDLE - 1
    behind, _ = looked(monitor, alerts)
    monitor.step(records(pairs(300, NOW + 7200), start=300))
    monitor.report_lag({("memory", 0): 0})
    clock.now += 100
    current, _ = looked(monitor, alerts)

    assert behind.by_window["6s"].n == 300
    assert current.by_window["6s"].n == 0
    assert current.by_window["1h"].n == 300
    assert current.source.time == pytest.approx(NOW + 7200 + IDLE - 1 + 100, abs=7)


def test_an_ended_source_lets_no_time_pass() -> None:
    """A file that was read to its end shows its last hour, however long the page stays open."""
    clock = Clock(NOW + 10**6)
    monitor, alerts = monitor_of(clock)
    monitor.assign([0])
    monitor.step(records(pairs(300)))
    monitor.report_source(ended=True)
    clock.now += 10**6
    view, _ = looked(monitor, alerts)

    assert view.source.state == "ended"
    assert view.by_window["6s"].n == 300


def test_a_source_that_is_away_is_in_view_metrics_and_rules() -> None:
    """Lag is unknown and not 0, the reason is shown, and time passes."""
    clock = Clock(NOW + 6)
    monitor, alerts = monitor_of(clock)
    monitor.assign([0])
    monitor.step(records(pairs(300)))
    monitor.report_lag(None)
    monitor.report_source("broker: connection refused")
    clock.now += 60
    view, states = looked(monitor, alerts)
    metrics = unlabelled(text(view, config.Serve()))

    assert (view.source.state, view.source.problem) == ("away", "broker: connection refused")
    assert view.lag.records is None
    assert states["lag > 5"] == ("unknown", "the source cannot be read")
    assert states["n[6s] < 10"][0] == "firing"
    assert "stream_metrics_source_up 0" in metrics
    assert "consumer_lag_records" not in metrics
    assert 'stream_metrics_alert_unknown{rule="lag > 5"} 1' in metrics
    assert "stream_metrics_source_silence_seconds 60" in metrics


def test_a_runner_reports_the_problem_of_its_source(tmp_path: Path) -> None:
    """A file that is gone is a problem that is shown; lag is unknown; still ready."""
    log = tmp_path / "log"
    monitor, alerts = monitor_of(Clock(), kind="file")
    source = FileSource(str(log), follow=True)
    runner = Runner(monitor.config, source, monitor, alerts)
    source.start(monitor)
    runner._polled = 10.0**12
    source.poll(0)
    runner._report()
    gone, reason = monitor.view(), f"{log} does not exist"
    assert runner.not_ready() is None
    log.write_text("")
    source.poll(0)
    runner._report()

    assert (gone.source.state, gone.source.problem, gone.lag.records) == ("away", reason, None)
    assert monitor.view().source.state == "waiting"
    assert monitor.view().lag.records == 0
    source.close()


def test_the_runner_lets_time_pass() -> None:
    """With a real clock, the window of a second is empty soon after the last event, without any new record."""
    monitor, alerts = monitor_of(Clock(), kind="memory")
    shown: list[int] = []
    source = MemorySource(records(pairs(300)))
    clock = monitor.clock
    assert isinstance(clock, Clock)
    clock.now = NOW + 6

    def show(view: View) -> None:
        clock.now += 2
        shown.append(view.by_window["6s"].n)
        if len(shown) > 50 or (300 in shown and shown[-1] == 0):
            runner.stop()

    runner = Runner(monitor.config, source, monitor, alerts, show=show)
    runner.run()

    assert 300 in shown
    assert 0 in shown[shown.index(300) :]


@pytest.mark.parametrize("lag", [0, None])
@pytest.mark.parametrize("skews", [(0, 0, 500), (500, 0.05), (500, 300), (500,), (-20, 500)])
def test_a_partition_that_is_ahead_does_not_move_the_others(skews: tuple[float, ...], lag: int | None) -> None:
    """All clocks of a partition are ahead: each partition shows its own last minute, and none is empty."""
    clock = Clock()
    monitor = Monitor(Config(counting=config.Counting(windows=("60s", "1h"))), None, clock)
    monitor.assign(range(len(skews)))
    for start in range(0, 200, 20):
        clock.now = NOW + start + 20
        for number, skew in enumerate(skews):
            batch = records(pairs(20, NOW + start + skew, step=1.0), start=start)
            monitor.step([record._replace(partition=number) for record in batch])
    monitor.report_lag(None if lag is None else {("memory", number): lag for number in range(len(skews))})
    view = monitor.view()

    assert view.by_window["total"].n == view.by_window["1h"].n == 200 * len(skews)
    assert len(skews) * 59 - 20 <= view.by_window["60s"].n <= len(skews) * 60
    assert view.source.time == pytest.approx(clock.now + max(min(skews), 0), abs=1.1)
    clock.now += 90
    silent = monitor.view()
    assert (silent.by_window["60s"].n, silent.by_window["1h"].n) == (0, 200 * len(skews))
    monitor.report_source(ended=True)
    assert monitor.view().by_window["60s"].n > 0


@pytest.mark.parametrize("wrong", [3600.0, -3600.0, 86400.0, 5.0, -5.0])
@pytest.mark.parametrize("rate", [0.01, 1.0, 1000.0])
def test_wrong_clocks_do_not_move_the_time(wrong: float, rate: float) -> None:
    """One event in a hundred is wrong by anything: the time at which windows are read stays right, at any rate."""
    rng = np.random.default_rng(7)
    arrivals, now, errors = Arrivals(), NOW, []
    for _ in range(3000):
        now += rng.exponential(1 / rate)
        delay = rng.exponential(0.5)
        skew = wrong * rng.uniform() if rng.uniform() < 0.01 else 0.0
        arrivals.note([now - delay + skew], now)
        time = reading_time([arrivals], now + IDLE, None, ended=False)
        assert time is not None
        errors.append(time - (now + IDLE))

    assert max(errors[100:]) <= 0
    assert min(errors[100:]) >= -2


@pytest.mark.parametrize("lag", [0, None])
def test_few_live_events_end_a_backlog_that_was_read_at_once(lag: int | None) -> None:
    """An hour old backlog comes at once, then an event a minute: the third one is in the windows."""
    clock = Clock()
    monitor, _ = monitor_of(clock)
    monitor.assign([0])
    backlog = pairs(400, start=NOW - 3600, step=0.1)
    live = [{"id": str(at), "time": NOW + 60 * at, "truth": "a", "prediction": "a"} for at in (1, 2, 3)]
    read = records([*backlog, *live])
    for minute, some in enumerate([read[:400], read[400:401], read[401:402], read[402:]]):
        clock.now = NOW + 60 * minute + 0.5
        monitor.step(some)
        monitor.report_lag(None if lag is None else {("memory", 0): lag})

    view = monitor.view()
    assert view.source.time == NOW + 180
    assert view.by_window["1h"].n == 3
    assert view.lag.seconds == 0.5


@pytest.mark.parametrize("most", [1, 3, 10, 50, 400])
def test_one_wrong_clock_in_a_hundred_is_not_credible_however_events_come(most: int) -> None:
    """Events are ten minutes late, but for some that seem fresh; they come one by one, and in batches of any size."""
    random, arrivals, now = np.random.default_rng(most), Arrivals(), NOW
    arrivals.note((now - random.uniform(600, 660, 50)).tolist(), now)
    for size in random.integers(1, 1 + most, 500).tolist():
        now += 0.5
        times = now - random.uniform(600, 660, size)
        fresh = random.random(size) < 0.01
        times[fresh] = now - random.uniform(0, 300, fresh.sum())
        arrivals.note(times.tolist(), now)
        assert arrivals.newest is not None
        assert arrivals.newest <= now - 600
