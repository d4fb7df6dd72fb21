"""The runner: it reads to the end or until it is stopped, stores its counts, and stops all threads after an error."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import until
from support.inner_monitor import SourceError, StaleOwner, stopped_by_signals
from support.monitor_events import records
from support.refusals import refused

from stream_metrics.monitor import Alerts, Config, MemorySource, Monitor, Record, Runner, Store, config, make_source

NOW = 1_700_000_000.0
PATIENCE = 60.0
Source = config.SourceTable


def events(n: int, start: int = 0) -> list[Record]:
    """Return records of predictions with their labels, from an offset on."""
    rows = [{"id": at, "time": NOW + at, "truth": "ab"[at % 2], "prediction": "a"} for at in range(n)]
    return records(rows)[start:]


class Serving:
    """A server that only records its calls."""

    def __init__(self, serve: config.ServeTable, view: Callable[[], Any], **asked: Any) -> None:
        self.view, self.asked, self.published = view, asked, 0
        self.events: list[str] = []

    def start(self) -> str:
        self.events.append("start")
        return "http://here"

    def publish(self) -> None:
        self.published += 1

    def close(self) -> None:
        self.events.append("close")


class Served(list[Serving]):
    """Makes servers, and has them."""

    def __call__(self, *arguments: Any, **asked: Any) -> Serving:
        self.append(Serving(*arguments, **asked))
        return self[-1]


def made(
    source: Any, rules: tuple[str, ...] = (), told: Source | None = None, path: Path | None = None, **more: Any
) -> Runner:
    """Return a runner of a monitor whose clock stands still, or is `clock`, with the state file in a folder."""
    settings = Config(source=told or Source(kind="memory"), alerts=config.AlertsTable(rules=rules))
    clock = more.pop("clock", lambda: NOW + 3600)
    monitor = Monitor(settings, None if path is None else Store(str(path / "state")), clock)
    return Runner(settings, source, monitor, Alerts(settings, monitor), **more)


def started(runner: Runner) -> threading.Thread:
    """Run in a thread."""
    thread = threading.Thread(target=runner.run)
    thread.start()
    return thread


def stop(runner: Runner, thread: threading.Thread) -> None:
    """Stop a runner, and wait until it has ended."""
    runner.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def stored(path: Path) -> int:
    """Return the number of samples in the state file in a folder."""
    runner = made(MemorySource(), path=path, once=True)
    runner.run()
    return int(runner.latest.by_window["total"].n)


def test_a_source_that_ends_is_counted_whole(tmp_path: Path) -> None:
    """All is counted and in the last view and state file, rules are evaluated, and it says that it ended."""
    log = tmp_path / "log"
    log.write_bytes(b"".join((record.value or b"") + b"\n" for record in events(1000)))
    told, latest = Source(kind="file", path=str(log)), []
    for _ in range(2):
        stored: list[int] = []  # up to which byte, at each view
        show = lambda view: stored.append(sum(runner.monitor.stored_offsets().values()))  # noqa: B023, E731
        runner = made(make_source(told), ("accuracy < 0.9",), told, tmp_path, show=show)
        runner.run()
        assert stored[-1] == log.stat().st_size  # also if the process is killed while it makes its report
        assert runner.ended
        assert runner.latest.by_window["total"].n == 1000
        assert runner.counts is not None
        assert runner.counts.total.n == 1000
        latest.append(runner.latest.alerts)

    assert [alert.state for alert in latest[0]] == ["firing"]
    assert latest[1] == latest[0]


def test_a_start_is_no_alert(tmp_path: Path) -> None:
    """What came while the process was down is counted before rules are evaluated; without a record they soon are."""
    rules = ("n[1h] < 100",)
    states: list[str] = []
    first = made(MemorySource(events(300)), rules, path=tmp_path, once=True)
    first.run()
    rows = [{"id": at, "time": NOW + 90_000, "truth": "a", "prediction": "a"} for at in range(600)]
    later = events(300) + records(rows)[300:]
    again = made(
        MemorySource(later),
        rules,
        path=tmp_path,
        once=True,
        clock=lambda: NOW + 90_001,
        show=lambda view: states.extend(alert.state for alert in view.alerts),
    )
    again.run()
    empty = made(MemorySource(()), rules, once=True)
    empty.run()

    assert [alert.state for alert in first.latest.alerts] == ["ok"]
    assert states[-1] == "ok"
    assert "firing" not in states
    assert [alert.state for alert in empty.latest.alerts] == ["firing"]


def test_it_serves_until_it_is_stopped() -> None:
    """The server has the newest view and knows that it lives; views come while records do; the end closes it."""
    source, served = MemorySource(events(10)), Served()
    said: list[str | None] = []
    shown: list[int] = []
    runner = made(source, server=served, started=said.append, show=lambda view: shown.append(view.by_window["total"].n))
    thread = started(runner)
    until(lambda: 10 in shown)
    source.add(events(30, 10))
    until(lambda: 30 in shown)

    (server,) = served
    assert server.view() is runner.latest
    assert set(server.asked.pop("routes").posted) == {"/api/annotations", "/api/reference"}
    answers = {name: answer() for name, answer in server.asked.items()}
    assert answers == {"alive": True, "ready": True, "not_ready": None}
    assert server.published > 0
    stop(runner, thread)

    assert said == ["http://here"]
    assert server.events == ["start", "close"]
    assert not runner.ended
    assert source.ended


def test_stay_and_once() -> None:
    """With `stay` the end of the source is no end; with `once` a source without end ends when it has no more.

    Where the source is away nothing could be read, and there is no limit of time: `once` ends with the reason.
    """
    source = MemorySource(events(10))
    source.ended = True
    staying = made(source, stay=True)
    thread = started(staying)
    until(lambda: staying.alive() and staying.ended)
    assert thread.is_alive()
    stop(staying, thread)

    once = made(MemorySource(events(2500)), once=True)
    once.run()
    assert once.latest.by_window["total"].n == 2500
    assert once.ended
    away = MemorySource()
    away.problem = "no broker"
    refused(made(away, once=True).run, SourceError, "no broker")


def test_signals_stop_it_unless_they_are_ignored() -> None:
    """SIGTERM and SIGHUP let it end as `stop` does; handlers are as before afterwards; what is ignored stays so.

    SIGHUP is ignored under nohup, and SIGINT in the background of a script, also after another signal has stopped it.
    """
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    for ignored, number in (
        *((None, signal.SIGTERM), (None, signal.SIGHUP), (signal.SIGINT, signal.SIGTERM)),
        (signal.SIGHUP, signal.SIGHUP),
    ):
        ends = number == ignored
        before = {each: signal.SIG_IGN if each == ignored else handler for each, handler in usual.items()}
        previous = {each: signal.signal(each, handler) for each, handler in before.items()}
        try:
            runner = made(
                MemorySource(events(10)),
                once=ends,
                show=lambda view, number=number: view.records.read and os.kill(os.getpid(), number),
            )
            with stopped_by_signals(runner):
                runner.run()
            assert runner.latest.by_window["total"].n == 10
            assert runner.ended == ends
            assert {each: signal.getsignal(each) for each in usual} == before
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)


class Broken(MemorySource):
    """A source that fails once everything was read."""

    def poll(self, timeout: float) -> list[Record]:
        batch = super().poll(timeout)
        if not batch:
            raise OSError("gone")
        return batch


def test_a_source_or_a_view_that_fails_ends_it(tmp_path: Path) -> None:
    """The error comes out of `run`, after the last checkpoint and with the server closed: no page stays old."""

    def show(view: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise OSError("gone")

    for kind, more in ((Broken, {}), (MemorySource, {"show": show})):
        folder, served = tmp_path / kind.__name__, Served()
        folder.mkdir()
        runner = made(kind(events(10)), path=folder, server=served, **more)
        with pytest.raises(OSError, match="gone"):
            runner.run()
        assert served[0].events == ["start", "close"]
        assert stored(folder) == 10


class Claimed(MemorySource):
    """Records of two partitions, one of which is taken by another monitor before they are handed over."""

    def __init__(self, path: str) -> None:
        super().__init__([Record("t", at % 2, *record[2:]) for at, record in enumerate(events(20))])
        self.path, self.done = path, False

    def poll(self, timeout: float) -> list[Record]:
        if not self.done:
            self.done, other = True, Monitor(Config(), Store(self.path, shared=True), lambda: NOW)
            other.assign([0])
            other.close()
        return super().poll(timeout)


@pytest.mark.parametrize("kind", ["kafka", "file"])
def test_a_partition_lost_to_another_worker(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """From Kafka the records of the other partitions in the same batch are counted all the same; a file ends it."""
    path = str(tmp_path / "state")
    settings = Config(source=Source(kind=kind), store=config.StoreTable(path=path, every_events=1))
    monitor = Monitor(settings, Store(path, shared=True), lambda: NOW + 3600)
    runner = Runner(settings, Claimed(path), monitor, Alerts(settings, monitor), once=True)
    if kind == "file":
        with pytest.raises(StaleOwner):
            runner.run()
        return
    runner.run()

    assert monitor.partitions == [1]
    assert runner.latest.by_window["total"].n == 10
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_rules_do_not_wait_for_a_view_that_costs_much(caplog: pytest.LogCaptureFixture) -> None:
    """A view that takes long is followed by nine times as long without one, in which rules are evaluated."""
    shown: list[int] = []

    def show(view: Any) -> None:
        n = view.by_window["total"].n if view.by_window else 0
        shown.append(n)
        end = time.thread_time() + 1.0 * (n == 10)
        while time.thread_time() < end:
            pass

    caplog.set_level(logging.INFO)
    source = MemorySource(events(10))
    runner = made(source, ("n > 15",), show=show)
    thread = started(runner)
    until(lambda: 10 in shown)
    source.add(events(20, 10))
    until(lambda: "n > 15" in caplog.text)
    assert 20 not in shown
    assert 0 < runner.share < 1
    stop(runner, thread)


@pytest.mark.parametrize("first", [True, False])
def test_a_stop_does_not_wait_for_a_view(tmp_path: Path, first: bool) -> None:
    """Neither for the first one nor for those in their thread: the view is cut short, and all is stored."""
    made(MemorySource(events(10)), path=tmp_path, once=True).run()
    stops: list[int] = []
    shown: list[int] = []
    begun: list[bool] = []

    class Begun(MemorySource):
        """A source that notes its start, which comes before the first view."""

        def start(self, monitor: Monitor) -> None:
            super().start(monitor)
            begun.append(True)

    def clock() -> float:
        """Stop when the view begins to be made."""
        if threading.current_thread().name == "views" or (first and begun):
            runner.stop()
            stops.append(len(shown))
        return NOW + 3600

    show = lambda view: shown.append(view.records.read)  # noqa: E731
    runner = made(Begun(events(20, 10)), path=tmp_path, last_view=False, clock=clock, show=show)
    thread = started(runner)
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert runner.counts is None
    assert stops
    assert stops[0] == len(shown)
    assert stored(tmp_path) == (10 if first else 20)
