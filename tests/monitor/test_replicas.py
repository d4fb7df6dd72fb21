"""Workers that share a store: each shows the whole model, one evaluates alerts, and another goes on when it dies."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from msgspec import structs
from support.command_line import until
from support.inner_monitor import StaleOwner
from support.monitor_events import NOW, events, offline, records
from support.monitor_worker import Processes, alerting
from support.stores import execute

from stream_metrics.monitor import Alerts, Config, Monitor, Record, config, open_store

STREAMS = [records(events(300, seed=part), part) for part in range(3)]


class Webhook(HTTPServer):
    """A receiver of alerts, which refuses them while it is not `open`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.open = True
        self.received: list[Any] = []
        self.refused: list[Any] = []
        self.address = f"http://127.0.0.1:{self.server_port}/alerts"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def states(self) -> list[str]:
        """The states that were received."""
        return [alert["state"] for alert in self.received]


class Receiver(BaseHTTPRequestHandler):
    """The answers of a webhook."""

    def do_POST(self) -> None:
        server: Any = self.server
        alert = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (server.received if server.open else server.refused).append(alert)
        self.send_response(200 if server.open else 503)
        self.end_headers()

    def log_message(self, *arguments: Any) -> None:
        pass


class Worker:
    """A monitor with alerts that shares a store."""

    def __init__(self, path: str, told: Config) -> None:
        self.monitor = Monitor(told, open_store(path, shared=True), lambda: NOW)
        self.alerts = Alerts(told, self.monitor)
        self.monitor.share()
        self.alerts.start()

    def look(self, whole: bool = False) -> Any:
        """Return the view, with the alerts that it shows."""
        view = self.monitor.view(whole)
        self.alerts.see(view)
        self.alerts.settle()
        return view

    def take(self, stream: list[Record]) -> None:
        """Count records, and store them."""
        self.monitor.step(stream)
        self.monitor.checkpoint()

    def whole(self, *streams: list[Record]) -> Any:
        """Return the view once it has all records of some streams."""
        until(lambda: self.look().records.read == sum(map(len, streams)))
        return self.look()

    def close(self) -> None:
        """End."""
        self.alerts.close()
        self.monitor.close()


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """The process that forks workers."""
    started = Processes()
    yield started
    started.close()


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    """What receives the alerts of all workers."""
    started = Webhook()
    yield started
    started.shutdown()
    started.server_close()


@pytest.fixture
def worker(store_path: str, webhook: Webhook) -> Iterator[Callable[..., Worker]]:
    """Make a worker, which is closed at the end."""
    workers: list[Worker] = []

    def made(posts: bool = False, **told: Any) -> Worker:
        workers.append(Worker(store_path, structs.replace(alerting(webhook.address if posts else ""), **told)))
        return workers[-1]

    yield made
    for each in workers:
        each.close()


@pytest.fixture
def other(processes: Processes, store_path: str, webhook: Webhook) -> Iterator[int]:
    """The process of another worker, which has partition 0, and has begun to count; it is killed at the end."""
    process = processes.start(state=store_path, webhook=webhook.address)
    until(lambda: webhook.received or webhook.refused)
    yield process
    os.kill(process, signal.SIGKILL)
    processes.wait(process)


def waits(path: str, alert: Any) -> bool:
    """Whether an alert is stored as one that was not delivered."""
    return any(alert["id"].encode() in bytes(body) for (body,) in execute(path, "select body from notes"))


def counted(view: Any) -> tuple[Any, ...]:
    """Return all of a view that must be the same at every worker."""
    windows = {name: structs.replace(part, comparisons={}) for name, part in view.by_window.items()}
    return windows, view.join, view.delays, view.records.read, view.records.rejected, view.event_time


def test_each_worker_shows_the_whole_model(worker: Callable[..., Worker]) -> None:
    """Two have a partition each and one none: all three show what one that reads both would, and whose is what."""
    one, two, idle = worker(), worker(), worker()
    one.monitor.assign([0])
    two.monitor.assign([1])
    one.take(STREAMS[0])
    two.take(STREAMS[1])
    alone = offline(STREAMS[0] + STREAMS[1]).view()
    views = [each.whole(*STREAMS[:2]) for each in (one, two, idle)]

    assert all(counted(view) == counted(alone) for view in views)
    assert all(len(view.dead_letters) == min(sum(alone.records.rejected.values()), 100) for view in views)
    names = [each.monitor.store.worker for each in (one, two, idle)]  # type: ignore[union-attr]
    owners = [{row.partition: row.owner for row in view.partitions} for view in views]
    assert owners == [{0: None, 1: names[1]}, {0: names[0], 1: None}, {0: names[0], 1: names[1]}]
    assert all((row.age is None) == (row.owner is None) and (row.age or 0) < 60 for row in views[0].partitions)
    until(lambda: [len(row.partitions) for row in idle.look().replicas] == [0, 1, 1])
    shown = idle.look().replicas
    assert {row.worker: (row.this, row.partitions) for row in shown} == {
        names[0]: (False, [0]),
        names[1]: (False, [1]),
        names[2]: (True, []),
    }
    assert [row.worker for row in shown if row.alerts] == [names[0]]


def test_all_workers_draw_the_same_lines(worker: Callable[..., Worker]) -> None:
    """Those of the stored counts of both partitions; only the last point is that of the look."""
    workers = [worker(store=config.Store(retention=("10s",))) for _ in range(3)]
    for number, each in enumerate(workers[:2]):
        each.monitor.assign([number])
        each.take(STREAMS[number])
    for each in workers:
        each.whole(*STREAMS[:2])
    lines = [
        [line[:-1] for name in ("1h", "4h") for line in each.look(whole=True).history[name].values()]
        for each in workers
    ]

    assert all(len(line) > 5 for line in lines[0])
    assert lines[0] == lines[1] == lines[2]


def test_nothing_is_missing_or_twice_while_a_partition_moves(worker: Callable[..., Worker]) -> None:
    """It is given back, no worker has it, another claims it: every view of a third has all of it once."""
    one, two, third = worker(), worker(), worker()
    one.monitor.assign([0])
    one.take(STREAMS[0][:200])
    third.whole(STREAMS[0][:200])

    def read_by(*workers: Worker) -> set[int]:
        return {each.look().records.read for each in workers for _ in range(5)}

    one.monitor.revoke([0])
    assert read_by(one, third) == {200}
    assert two.monitor.assign([0]) == {("t", 0): 200}
    assert read_by(one, two, third) == {200}
    two.take(STREAMS[0][200:])

    assert counted(third.whole(STREAMS[0])) == counted(one.whole(STREAMS[0])) == counted(offline(STREAMS[0]).view())


def test_another_worker_goes_on_after_one_that_was_killed(
    worker: Callable[..., Worker], other: int, webhook: Webhook, store_path: str
) -> None:
    """Its partition is shown as of its last checkpoint, with a growing age; its alert goes on and is not sent again."""
    two = worker(posts=True)
    two.whole(STREAMS[0])
    until(lambda: two.look().alerts[0].state == "firing")
    until(lambda: not waits(store_path, webhook.received[0]))
    since = two.look().alerts[0].since
    assert since == webhook.received[0]["at"]
    assert not two.monitor.leads()
    os.kill(other, signal.SIGKILL)
    until(lambda: two.look() and two.monitor.leads())
    age = two.look().partitions[0].age
    until(lambda: two.look().partitions[0].age > age + 0.1)

    assert two.look().records.read == len(STREAMS[0])
    assert (two.look().alerts[0].state, two.look().alerts[0].since) == ("firing", since)
    assert webhook.states == ["firing"]
    assert two.monitor.assign([0]) == {("t", 0): len(STREAMS[0])}
    assert two.look().partitions[0].owner is None
    assert counted(two.look()) == counted(offline(STREAMS[0]).view())


@pytest.fixture
def closed(webhook: Webhook) -> None:
    """Have the webhook refuse alerts at first."""
    webhook.open = False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_an_alert_that_was_not_delivered_is_delivered_once(
    closed: None, worker: Callable[..., Worker], other: int, webhook: Webhook, store_path: str, number: int
) -> None:
    """A worker is killed or stopped before it could: the one that is elected does, with the id that the alert had.

    A worker that wakes up evaluates and delivers nothing.
    """
    until(lambda: waits(store_path, webhook.refused[0]))
    os.kill(other, number)
    webhook.open = True
    two = worker(posts=True)
    until(lambda: two.look() and webhook.received)
    if number == signal.SIGSTOP:
        os.kill(other, signal.SIGCONT)
        until(lambda: [row.state for row in two.look().replicas if not row.this and row.age < 1] == ["live"])
        two.take([])
        assert two.monitor.leads()
        assert [row.alerts for row in two.look().replicas] == [True, False]

    assert webhook.states == ["firing"]
    assert webhook.received[0]["id"] == webhook.refused[0]["id"]


def test_counts_that_cannot_be_read_are_reported(worker: Callable[..., Worker], store_path: str) -> None:
    """A state is damaged: what is shown lacks it, and says so, until it can be read."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(STREAMS[0])
    two.whole(STREAMS[0])
    ((crc,),) = execute(store_path, "select crc from state where part = 0")
    execute(store_path, "update state set crc = 0, revision = revision + 1 where part = 0")
    until(lambda: any("state of partition 0 is damaged" in what for what in two.look().incomplete))
    assert two.look().records.read == len(STREAMS[0])
    execute(store_path, f"update state set crc = {crc}, revision = revision + 1 where part = 0")

    until(lambda: not two.look().incomplete)
    assert two.monitor.counts().to_bytes() == offline(STREAMS[0]).counts().to_bytes()


def test_a_worker_that_evaluates_nothing_leaves_alerts_to_another(
    worker: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process lives and reports itself, but its views hang: another one evaluates the rules."""
    one, two = worker(), worker()
    until(one.monitor.leads)
    monkeypatch.setattr("stream_metrics.monitor.replicas.HUNG", 0.3)

    until(lambda: two.look() and two.monitor.leads())


def test_a_reference_that_one_worker_takes_is_that_of_all(worker: Callable[..., Worker]) -> None:
    """The next one, taken by another, replaces it everywhere; what is read late of the store changes nothing."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(STREAMS[0])
    two.whole(STREAMS[0])
    for taker, reader, window in ((two, one, "4h"), (one, two, "1h")):
        taker.monitor.take_reference(window)
        taker.monitor.checkpoint()
        assert taker.look().reference.window == window
        until(lambda each=reader, name=window: getattr(each.look().reference, "window", None) == name)
        assert reader.look().reference == taker.look().reference


def test_annotations_of_two_workers_at_once_are_both_there(worker: Callable[..., Worker]) -> None:
    """Each writes its own before it has read the other's, so that the second one is written over the first."""
    one, two = worker(), worker()
    for each, text in ((one, "deployed"), (two, "rolled back")):
        each.monitor.annotate(text)
        each.monitor.checkpoint()

    def texts(each: Worker) -> set[str]:
        each.look()
        each.monitor.checkpoint()
        return {row.text for row in each.monitor.annotations.rows}

    until(lambda: texts(one) == texts(two) == {"deployed", "rolled back"})
    assert one.monitor.annotations.rows == two.monitor.annotations.rows


def test_a_worker_that_lost_a_partition_shows_what_the_new_owner_counts(worker: Callable[..., Worker]) -> None:
    """Also if it has counted on: its next checkpoint is refused, and it reads the other's."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(STREAMS[0][:100])
    two.monitor.assign([0])
    two.take(STREAMS[0][100:])
    one.monitor.step(STREAMS[0][100:150])
    with pytest.raises(StaleOwner):
        one.monitor.checkpoint()

    assert counted(one.whole(STREAMS[0])) == counted(offline(STREAMS[0]).view())
