"""The runner: it reads to the end or until it is stopped, stores its counts, and stops all threads after an error."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from stream_metrics.monitor import config
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.runner import Runner, stopped_by_signals
from stream_metrics.monitor.sources.file import FileSource
from stream_metrics.monitor.sources.kafka_options import SourceError
from stream_metrics.monitor.sources.memory import MemorySource, records
from stream_metrics.monitor.store import StaleOwner, Store
from stream_metrics.monitor.view.types import View
from stream_metrics.snapshots.snapshot import Snapshot

NOW = 1_700_000_000.0
PATIENCE = 20.0


def events(n: int) -> list[dict[str, Any]]:
    """Return predictions with their labels."""
    return [{"id": at, "time": NOW + at, "truth": "ab"[at % 2], "prediction": "a"} for at in range(n)]


class Serving:
    """A server that only records its calls."""

    def __init__(self, serve: config.Serve, view: Callable[[], Any], **asked: Callable[[], bool]) -> None:
        self.view, self.asked = view, asked
        self.published = 0
        self.events = list[str]()

    def start(self) -> str:
        self.events.append("start")
        return "http://here"

    def publish(self) -> None:
        self.published += 1

    def close(self) -> None:
        self.events.append("close")


def made(
    source: Any, rules: tuple[str, ...] = (), kind: str = "memory", store: Store | None = None, **more: Any
) -> Runner:
    """Return a runner of a monitor whose clock stands still."""
    settings = Config(source=config.Source(kind=kind), alerts=config.Alerts(rules=rules))
    monitor = Monitor(settings, store, lambda: NOW + 3600)
    return Runner(settings, source, monitor, Alerts(settings, monitor), **more)


def started(runner: Runner) -> threading.Thread:
    """Run in a thread."""
    thread = threading.Thread(target=runner.run)
    thread.start()
    return thread


def until(condition: Callable[[], Any]) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_a_source_that_ends_is_counted_whole(tmp_path) -> None:
    """All is counted and in the last view and state file, rules are evaluated, and it says that it ended."""
    log = tmp_path / "log"
    log.write_bytes(b"".join(record.value + b"\n" for record in records(events(1000)) if record.value))
    runner = made(FileSource(str(log)), ("accuracy < 0.9",), "file", Store(str(tmp_path / "state")))

    runner.run()

    assert runner.ended
    assert runner.latest.by_window["total"].n == 1000
    assert runner.counts is not None
    assert runner.counts.total.n == 1000
    assert [alert.state for alert in runner.latest.alerts] == ["firing"]
    again = made(FileSource(str(log)), ("accuracy < 0.9",), "file", Store(str(tmp_path / "state")))
    again.run()
    assert again.latest.by_window["total"].n == 1000
    assert again.latest.alerts == runner.latest.alerts


def test_a_start_is_no_alert(tmp_path) -> None:
    """What came while the process was down is counted before rules are evaluated; without a record they soon are."""
    rules, states = ("n[1h] < 100",), list[str]()
    first = made(MemorySource(records(events(300))), rules, store=Store(str(tmp_path / "state")), once=True)
    first.run()
    source = MemorySource(records([{**each, "time": NOW + 90_000} for each in events(600)[300:]], start=300))
    again = made(source, rules, store=Store(str(tmp_path / "state")), once=True)
    again.monitor.clock = lambda: NOW + 90_001
    again._show = lambda view: states.extend(alert.state for alert in view.alerts)
    again.run()
    empty = made(MemorySource(()), rules, once=True)
    empty.run()

    assert [alert.state for alert in first.latest.alerts] == ["ok"]
    assert states[-1] == "ok"
    assert "firing" not in states
    assert [alert.state for alert in empty.latest.alerts] == ["firing"]


def test_it_serves_until_it_is_stopped() -> None:
    """The server has the newest view and knows that it lives; views come while records do; the end closes it."""
    source = MemorySource(records(events(10)))
    served: list[Serving] = []
    said: list[str | None] = []
    shown: list[int] = []
    runner = made(
        source,
        server=lambda *args, **asked: served.append(Serving(*args, **asked)) or served[0],
        started=said.append,
        show=lambda view: shown.append(view.by_window["total"].n),
    )
    thread = started(runner)
    until(lambda: 10 in shown)
    source.add(records(events(30)[10:], start=10))
    until(lambda: 30 in shown)

    assert served[0].view() is runner.latest
    assert set(served[0].asked.pop("routes").posted) == {"/api/annotations", "/api/reference"}
    assert {name: answer() for name, answer in served[0].asked.items()} == {
        "alive": True,
        "ready": True,
        "not_ready": None,
    }
    assert served[0].published > 0
    runner.stop()
    thread.join(PATIENCE)

    assert said == ["http://here"]
    assert served[0].events == ["start", "close"]
    assert not runner.ended
    assert source.ended


def test_once_ends_where_the_source_is_away() -> None:
    """Nothing could be read, and there is no limit of time."""

    class Away(MemorySource):
        problem = "no broker"

    with pytest.raises(SourceError, match="no broker"):
        made(Away(), once=True).run()


def test_stay_and_once() -> None:
    """With `stay` the end of the source is no end; with `once` a source without end ends when it has no more."""
    source = MemorySource(records(events(10)))
    source.ended = True
    staying = made(source, stay=True)
    thread = started(staying)
    until(staying.alive)
    until(lambda: staying.ended)
    assert thread.is_alive()
    staying.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()

    once = made(MemorySource(records(events(2500))), once=True)
    once.run()
    assert once.latest.by_window["total"].n == 2500
    assert once.ended


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_stop_it(number: int) -> None:
    """They let it end as `stop` does, and handlers are as before afterwards."""
    signals = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    before = [signal.getsignal(each) for each in signals]
    source = MemorySource(records(events(10)))
    runner = made(source, show=lambda view: view.records.read and os.kill(os.getpid(), number))

    with stopped_by_signals(runner):
        runner.run()

    assert runner.latest.by_window["total"].n == 10
    assert [signal.getsignal(each) for each in signals] == before


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As SIGHUP is under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        runner = made(MemorySource(), once=True, show=lambda view: os.kill(os.getpid(), signal.SIGHUP))
        with stopped_by_signals(runner):
            runner.run()
    finally:
        signal.signal(signal.SIGHUP, before)

    assert runner.ended


def test_an_interrupt_that_is_ignored_stays_so() -> None:
    """As in the background of a script, also after another signal has stopped it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        runner = made(MemorySource(), show=lambda view: os.kill(os.getpid(), signal.SIGTERM))
        with stopped_by_signals(runner):
            runner.run()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_view_that_fails_ends_it(tmp_path) -> None:
    """No page stays old in silence: the error comes out of `run`, and what was counted is kept."""

    def show(view: View) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise ZeroDivisionError("drawn wrongly")

    runner = made(MemorySource(records(events(10))), store=Store(str(tmp_path / "state")), show=show)

    with pytest.raises(ZeroDivisionError, match="drawn wrongly"):
        runner.run()

    kept = made(MemorySource(), store=Store(str(tmp_path / "state")), once=True)
    kept.run()
    assert kept.latest.by_window["total"].n == 10


def test_a_source_that_fails_ends_it(tmp_path) -> None:
    """An error of the source comes out, after the last checkpoint and with the server closed."""

    class Broken(MemorySource):
        def poll(self, timeout: float) -> list[Record]:
            found = super().poll(timeout)
            if not found:
                raise OSError("gone")
            return found

    served: list[Serving] = []
    runner = made(
        Broken(records(events(10))),
        store=Store(str(tmp_path / "state")),
        server=lambda *args, **asked: served.append(Serving(*args, **asked)) or served[0],
    )

    with pytest.raises(OSError, match="gone"):
        runner.run()

    assert served[0].events == ["start", "close"]
    kept = made(MemorySource(), store=Store(str(tmp_path / "state")), once=True)
    kept.run()
    assert kept.latest.by_window["total"].n == 10


class Partitions(MemorySource):
    """Records of two partitions, of which the first is taken by another monitor before they are handed over."""

    def __init__(self, path: str) -> None:
        found = [record._replace(partition=at % 2) for at, record in enumerate(records(events(20)))]
        super().__init__(found)
        self._path = path

    def poll(self, timeout: float) -> list[Record]:
        """Let the other monitor take a partition, then return the records."""
        if not self._at:
            other = Store(self._path, shared=True)
            other.claim(0)
            other.close()
        return super().poll(timeout)


def test_a_partition_lost_to_another_worker(tmp_path, monkeypatch, caplog) -> None:
    """From Kafka the records of the other partitions in the same batch are counted all the same; a file ends it."""
    monkeypatch.setattr("stream_metrics.monitor.steps.CHUNK", 1)
    path = str(tmp_path / "state")
    every = config.Store(path=path, every_events=1)
    for kind in ("kafka", "file"):
        settings = Config(source=config.Source(kind=kind), store=every)
        monitor = Monitor(settings, Store(path, shared=True), lambda: NOW + 3600)
        monkeypatch.setattr("stream_metrics.monitor.checkpoints.SHARE", 0)
        runner = Runner(settings, Partitions(path), monitor, Alerts(settings, monitor), once=True)
        if kind == "file":
            with pytest.raises(StaleOwner):
                runner.run()
        else:
            runner.run()
            assert monitor.partitions == [1]
            assert runner.latest.by_window["total"].n == 10
            assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_views_are_made_less_often_when_they_cost_more(monkeypatch) -> None:
    """A view that takes long is followed by nine times as long without one, so their share stays bounded."""
    waits: list[float] = []
    runner = made(MemorySource(records(events(10))))
    runner.source.start(runner.monitor)
    runner._views.look()
    looks, views = [], []
    monkeypatch.setattr(runner._views, "evaluate", lambda: looks.append(runner.monitor.step([])) or 0.2)
    monkeypatch.setattr(runner._views, "look", lambda: views.append(1) or 5.0)

    class Clock:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return len(waits) == 4

    monkeypatch.setattr(runner._views, "_looks", Clock())
    runner._views._run()

    assert waits == [0.25, pytest.approx(1.8), 0.75, pytest.approx(1.8)]
    assert (len(looks), len(views)) == (2, 1)  # rules do not wait for a view that costs more
    assert 0 < runner.share < 1


@pytest.mark.parametrize("first", [True, False])
def test_a_stop_does_not_wait_for_a_view(tmp_path, monkeypatch, first) -> None:
    """Neither for the first one nor for those in their thread: no further interval is computed, and all is stored."""
    path = str(tmp_path / "state")
    made(MemorySource(records(events(10))), store=Store(path), once=True).run()
    source = MemorySource()
    runner = made(source, store=Store(path), last_view=False)
    stopped, computing = list[bool](), threading.Event()

    def interval(*args: object, **options: object) -> None:
        stopped.append(runner._stop.is_set())
        computing.set()
        runner._stop.wait(PATIENCE)
        raise ValueError

    if first:
        monkeypatch.setattr(Snapshot, "interval", interval)
    thread = started(runner)
    if not first:
        until(lambda: runner.latest.records.read == 10)
        monkeypatch.setattr(Snapshot, "interval", interval)
        source.add(records(events(20)[10:], start=10))
    until(computing.is_set)
    runner.stop()
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert stopped == [False]
    assert runner.counts is None
    monkeypatch.undo()
    again = made(MemorySource(), store=Store(path), once=True)
    again.run()
    assert again.latest.by_window["total"].n == (10 if first else 20)


def test_rules_are_evaluated_in_the_end_without_a_view() -> None:
    """They see what the last view does not show."""
    source = MemorySource(records(events(10)))
    runner = made(source, ("n < 15",), last_view=False)
    runner._views.look = lambda: 0.0
    thread = started(runner)
    until(lambda: [alert.state for alert in runner.alerts.engine.shown()] == ["firing"])
    runner._views._looks.wait = lambda seconds: runner._stop.wait(PATIENCE)
    source.add(records(events(20)[10:], start=10))
    until(lambda: runner.monitor.counts().total.n == 20)
    runner.stop()
    thread.join(PATIENCE)

    assert [alert.state for alert in runner.alerts.engine.shown()] == ["ok"]


def test_a_checkpoint_comes_before_the_last_view(tmp_path) -> None:
    """A process that is killed while it makes its report has stored all counts."""
    stored = list[bool]()
    runner = made(
        MemorySource(records(events(10))),
        store=Store(str(tmp_path / "state")),
        once=True,
        show=lambda view: stored.append(runner.monitor.checkpointed is not None),
    )
    runner.run()

    assert not stored[0]
    assert stored[-1]
