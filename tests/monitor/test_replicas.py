"""Workers that share a store: each shows the whole model, and one evaluates alerts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs
from support.command_line import until
from support.monitor_events import CONFIG, NOW, events, offline, records
from support.stores import execute

from stream_metrics.monitor import Alerts, Config, Monitor, Record, config, open_store

RULES = config.AlertsTable(rules=("n < 100000",), defaults=False, log=False)
STREAMS = [records(events(300, seed=part), part) for part in range(3)]


class Worker:
    """A monitor with alerts that shares a store."""

    def __init__(self, path: str, told: Config) -> None:
        self.monitor = Monitor(told, open_store(path, shared=True), lambda: NOW)
        self.alerts = Alerts(told, self.monitor)
        self.monitor.share()

    def look(self, whole: bool = False) -> Any:
        """Return the view, with the alerts that it shows."""
        view = self.monitor.view(whole)
        self.alerts.see(view)
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


@pytest.fixture
def worker(store_path: str) -> Iterator[Callable[..., Worker]]:
    """Make a worker, which is closed at the end."""
    workers: list[Worker] = []

    def made(**told: Any) -> Worker:
        workers.append(Worker(store_path, structs.replace(CONFIG, **{"alerts": RULES, **told})))
        return workers[-1]

    yield made
    for each in workers:
        each.close()


def counted(view: Any) -> tuple[Any, ...]:
    """Return all of a view that must be the same at every worker."""
    windows = {name: structs.replace(part, comparisons={}) for name, part in view.by_window.items()}
    return windows, view.join, view.delays, view.records.read, view.records.rejected, view.event_time


def test_each_worker_shows_the_whole_model(worker: Callable[..., Worker]) -> None:
    """Two have a partition each and one none: all three show what one that reads both would, and whose is what.

    They draw the same lines of the stored counts; only the last point is that of the look.
    """
    one, two, idle = workers = [worker(store=config.StoreTable(retention=("10s",))) for _ in range(3)]
    for number, each in enumerate((one, two)):
        each.monitor.assign([number])
        each.take(STREAMS[number])
    alone = offline(STREAMS[0] + STREAMS[1], one.monitor.config).view()
    views = [each.whole(*STREAMS[:2]) for each in workers]

    assert all(counted(view) == counted(alone) for view in views)
    assert all(len(view.dead_letters) == min(sum(alone.records.rejected.values()), 100) for view in views)
    names = [each.monitor.store.worker for each in workers]  # type: ignore[union-attr]
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
    histories = [each.look(whole=True).history for each in workers]
    lines = [[line[:-1] for name in ("1h", "4h") for line in each[name].values()] for each in histories]
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
    assert two.monitor.counts().parts() == offline(STREAMS[0]).counts().parts()


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


def test_one_worker_sends_alerts(worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture) -> None:
    """The one with the lowest partition; when it ends, the next goes on, and sends nothing again."""
    telling = structs.replace(RULES, rules=("n > 60",), log=True)
    one, two, idle = workers = [worker(alerts=telling) for _ in range(3)]
    one.monitor.assign([0])
    two.monitor.assign([1])
    one.take(STREAMS[0][:100])
    until(lambda: [each.monitor.leads() for each in workers] == [True, False, False])
    assert [each.whole(STREAMS[0][:100]).alerts[0].state for each in workers] == ["ok"] * 3
    one.take(STREAMS[0][100:200])
    assert [each.whole(STREAMS[0][:200]).alerts[0].state for each in workers] == ["firing"] * 3
    one.close()
    until(lambda: two.look() and two.monitor.leads() and not idle.monitor.leads())
    assert [message.split(" (")[0] for message in caplog.messages] == ["firing: n > 60"]


def test_a_change_that_the_leader_did_not_see_is_sent(
    worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies, a rule fires before another worker leads, and that one sends it."""
    monkeypatch.setattr("stream_metrics.monitor.replicas.SILENT", 1.0)
    telling = structs.replace(RULES, rules=("n > 60",), log=True)
    one, two = worker(alerts=telling), worker(alerts=telling)
    one.monitor.assign([0])
    two.monitor.assign([1])
    until(lambda: [each.monitor.leads() for each in (one, two)] == [True, False] and two.look())
    monkeypatch.setattr(one.monitor.replicas._shared, "report", lambda report: None)  # type: ignore[union-attr]
    two.monitor.step(STREAMS[1])
    assert two.look().alerts[0].state == "firing"
    assert "firing" not in caplog.text
    until(lambda: two.look() and "firing: n > 60" in caplog.text)
    assert caplog.text.count("firing") == 1
