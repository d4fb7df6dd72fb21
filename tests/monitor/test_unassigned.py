"""A process that waits for partitions shows what its store has, says that it waits, and raises no alert."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from support.monitor_events import CONFIG, NOW, records

from stream_metrics.monitor import config, view_thread
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.runner import Runner
from stream_metrics.monitor.sources.memory import MemorySource
from stream_metrics.monitor.store import Store
from stream_metrics.monitor.view.summary import summary
from stream_metrics.monitor.view.types import View

EVENTS = [{"id": at, "time": NOW - 60 + at / 10, "truth": "cat", "prediction": "cat"} for at in range(300)]
RULES = ("n < 1", "n[1h] < 200", "accuracy < 0.9")


class Late(MemorySource):
    """A source that gives partitions only once it is told to, as Kafka after a SIGKILL."""

    def __init__(self, given: list[Record]) -> None:
        super().__init__(given)
        self.given, self._monitor = threading.Event(), None

    def start(self, monitor: Monitor) -> None:
        self._monitor = monitor

    def poll(self, timeout: float) -> list[Record]:
        if not self.given.wait(0.01):
            return []
        if self._monitor is not None:
            super().start(self._monitor)
            self._monitor = None
        return super().poll(timeout)

    def lag(self) -> dict[tuple[str, int], int] | None:
        return super().lag() if self._monitor is None else None


def opened(path: Path) -> Monitor:
    """Return a monitor with the state file of a test."""
    settings = Config(source=config.Source(kind="kafka"), alerts=config.Alerts(rules=RULES, defaults=False))
    return Monitor(settings, Store(str(path / "state")), lambda: NOW)


def counted(path: Path) -> None:
    """Count events into a state file."""
    monitor = opened(path)
    monitor.assign([0])
    monitor.step(records(EVENTS))
    monitor.close()


def test_stored_counts_are_shown_until_partitions_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and windows are as stored and marked as waiting; not ready; then it goes on without an alert."""
    monkeypatch.setattr(view_thread, "LOOK", 0.02)
    monkeypatch.setattr(view_thread, "IDLE", 0.05)
    counted(tmp_path)
    monitor, views, reasons = opened(tmp_path), list[View](), list[str | None]()
    more = [{**event, "id": 1000 + at} for at, event in enumerate(EVENTS)]
    source = Late(records([*EVENTS, *more]))

    def show(view: View) -> None:
        views.append(view)
        reasons.append(runner.not_ready())
        if len(views) == 3:
            source.given.set()
        if view.by_window["total"].n == 600:
            runner.stop()

    alerts = Alerts(monitor.config, monitor)
    runner = Runner(monitor.config, source, monitor, alerts, show=show)
    runner.run()

    waiting = views[1]
    assert {view.by_window["total"].n for view in views} == {300, 600}
    assert waiting.by_window["1h"].n == 300
    assert waiting.by_window["total"].metrics["accuracy"] == 1.0
    assert waiting.records.read == 300
    assert (waiting.source.state, waiting.source.up, waiting.source.silence) == ("unassigned", False, 0.0)
    assert [(row.partition, row.owner, row.next) for row in waiting.partitions] == [(0, "", {"t": 300})]
    assert "waiting" in summary(waiting)
    assert "for partitions: no partition is assigned" in summary(waiting)
    assert reasons[2] is not None
    assert "waiting for partitions" in reasons[2]
    assert runner.latest.source.state != "unassigned"
    assert {alert.state for view in views for alert in view.alerts} <= {"ok", "unknown"}
    assert not runner.latest.firings


def test_partitions_that_come_late_are_read_before_rules(tmp_path: Path) -> None:
    """What waits in them gets its five seconds from when they come, however long that took."""
    monitor = opened(tmp_path)
    source = Late([])
    source.lag = lambda: None  # type: ignore[method-assign]
    runner = Runner(monitor.config, source, monitor, Alerts(monitor.config, monitor))
    runner._began -= 40
    before = runner._nothing_waits()
    monitor.assign([0])
    first = runner._nothing_waits()
    assert runner._had is not None
    runner._had -= 6
    later = runner._nothing_waits()
    monitor.close()

    assert (before, first, later) == (False, False, True)


def test_what_is_shown_is_not_claimed(tmp_path: Path) -> None:
    """Nothing is written before partitions are assigned, and counts are not doubled by what was shown."""
    counted(tmp_path)
    monitor = opened(tmp_path)
    monitor.share()
    before = monitor.view()
    monitor.checkpoint()
    epochs = monitor.store.run("select part, epoch from state").fetchall() if monitor.store is not None else []
    monitor.assign([0])
    after = monitor.view()
    monitor.close()

    assert epochs == [(0, 1)]
    assert before.by_window["total"].n == after.by_window["total"].n == 300
    assert (before.source.state, after.source.state) == ("unassigned", "live")
    assert (before.partitions[0].owner, after.partitions[0].owner) == ("", None)


def test_a_rebalance_shows_no_zeros(tmp_path: Path) -> None:
    """Between the loss of the last partition and the next assignment, the counts stay, and only those of the last."""
    monitor = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)
    monitor.assign([0, 1])
    monitor.step([*records(EVENTS), *records(EVENTS[:100], partition=1)])
    monitor.revoke([0, 1])
    between = monitor.view()
    monitor.assign([1])
    fewer = monitor.view()
    monitor.close()

    assert (between.by_window["total"].n, between.source.state) == (400, "unassigned")
    assert (fewer.by_window["total"].n, fewer.source.state) == (100, "live")
