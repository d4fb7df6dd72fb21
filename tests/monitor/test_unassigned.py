"""A process that waits for partitions shows what its store has, says that it waits, and raises no alert."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from support.monitor_events import CONFIG, NOW, records
from support.stores import execute, monitoring

from stream_metrics.monitor import Alerts, Config, MemorySource, Monitor, Record, Runner, Store, config

EVENTS = [{"id": at, "time": NOW - 60 + at / 10, "truth": "cat", "prediction": "cat"} for at in range(300)]
RULES = config.AlertsTable(rules=("n < 1", "n[1h] < 200", "accuracy < 0.9"), defaults=False)
TOLD = Config(source=config.SourceTable(kind="kafka"), alerts=RULES)


class Late(MemorySource):
    """A source that gives partitions only once it is told to, as Kafka after a SIGKILL."""

    def __init__(self, given: list[Record]) -> None:
        super().__init__(given)
        self.given = threading.Event()
        self.waiting: Monitor | None = None

    def start(self, monitor: Monitor) -> None:
        self.waiting = monitor

    def poll(self, timeout: float) -> list[Record]:
        if not self.given.wait(0.01):
            return []
        if self.waiting is not None:
            super().start(self.waiting)
            self.waiting = None
        return super().poll(timeout)

    def lag(self) -> Any:
        return super().lag() if self.waiting is None else None


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a state file with counts of 300 events."""
    path = str(tmp_path / "state")
    with monitoring(path, TOLD) as monitor:
        monitor.step(records(EVENTS))
    return path


def test_stored_counts_are_shown_until_partitions_come(path: str) -> None:
    """Counts and windows are as stored and marked as waiting; not ready; then it goes on without an alert."""
    views: list[Any] = []
    reasons: list[Any] = []
    source = Late(records([*EVENTS, *({**event, "id": 1000 + at} for at, event in enumerate(EVENTS))]))

    def show(view: Any) -> None:
        views.append(view)
        reasons.append(runner.not_ready())
        if len(views) == 2:
            source.given.set()
        if view.by_window["total"].n == 600:
            runner.stop()

    monitor = Monitor(TOLD, Store(path), lambda: NOW)
    runner = Runner(TOLD, source, monitor, Alerts(TOLD, monitor), show=show)
    runner.run()

    waiting = views[1]
    assert {view.by_window["total"].n for view in views} == {300, 600}
    assert waiting.by_window["1h"].n == 300
    assert waiting.by_window["total"].metrics["accuracy"] == 1.0
    assert waiting.records.read == 300
    assert (waiting.source.state, waiting.source.up, waiting.source.silence) == ("unassigned", False, 0.0)
    assert [(row.partition, row.owner, row.next) for row in waiting.partitions] == [(0, "", {"t": 300})]
    assert waiting.source.problem.startswith("no partition is assigned")
    assert reasons[1] == f"waiting for partitions: {waiting.source.problem}"
    assert runner.latest.source.state != "unassigned"
    assert {alert.state for view in views for alert in view.alerts} <= {"ok", "unknown"}
    assert not runner.latest.firings


def test_what_is_shown_is_not_claimed(path: str) -> None:
    """Nothing is written before partitions are assigned, and counts are not doubled by what was shown."""
    with monitoring(path, TOLD, []) as monitor:
        monitor.share()
        before = monitor.view()
        monitor.checkpoint()
        assert execute(path, "select part, epoch from state") == [(0, 1)]
        monitor.assign([0])
        after = monitor.view()

    assert before.by_window["total"].n == after.by_window["total"].n == 300
    assert (before.source.state, after.source.state) == ("unassigned", "live")
    assert (before.partitions[0].owner, after.partitions[0].owner) == ("", None)


def test_a_rebalance_shows_no_zeros(tmp_path: Path) -> None:
    """Between the loss of the last partition and the next assignment, the counts stay, and only those of the last."""
    with monitoring(str(tmp_path / "state"), CONFIG, [0, 1]) as monitor:
        monitor.step([*records(EVENTS), *records(EVENTS[:100], partition=1)])
        monitor.revoke([0, 1])
        between = monitor.view()
        monitor.assign([1])
        fewer = monitor.view()

    assert (between.by_window["total"].n, between.source.state) == (400, "unassigned")
    assert (fewer.by_window["total"].n, fewer.source.state) == (100, "live")
