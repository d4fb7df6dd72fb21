"""Workers that share a store: each shows the whole model, one evaluates alerts, and another goes on when it dies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs
from support.monitor_events import CONFIG, NOW, events, offline, records

from stream_metrics.monitor import replicas
from stream_metrics.monitor.alerts.alerting import Alerts
from stream_metrics.monitor.alerts.engine import Change
from stream_metrics.monitor.alerts.outbox import Outbox
from stream_metrics.monitor.archive import trends
from stream_metrics.monitor.config import Alerts as AlertsConfig
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import StaleOwner
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.store.rows import Lease
from stream_metrics.monitor.store.sharing import Shared
from stream_metrics.monitor.view.types import View

RULE = "n < 100000"
ALERTING = structs.replace(CONFIG, alerts=AlertsConfig(rules=(RULE,), defaults=False, log=False))
STREAMS = [records(events(300, seed=part), part) for part in range(3)]
PATIENCE = 20.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have readings and leases pass in hundredths of a second."""
    monkeypatch.setattr(replicas, "EVERY", 0.01)
    monkeypatch.setattr(replicas, "SHARE", 0)
    monkeypatch.setattr(replicas, "LEASE", 0.5)


class Told:
    """A sink that tells at once; without `quick` it tells nothing."""

    def __init__(self, told: list[Change], quick: bool = True) -> None:
        self.outbox, self.changes, self.quick = Outbox("test"), told, quick

    def start(self) -> None:
        self.tell()

    def tell(self) -> None:
        while self.quick and (change := self.outbox.first()) is not None:
            self.changes.append(change)
            self.outbox.delivered(change)

    def close(self) -> None:
        self.quick = False


class Worker:
    """A monitor with alerts that shares a store."""

    def __init__(self, path: str, told: list[Change], quick: bool = True) -> None:
        self.monitor = Monitor(ALERTING, open_store(path, shared=True), lambda: NOW)
        self.sink = Told(told, quick)
        self.alerts = Alerts(ALERTING, self.monitor, {"test": self.sink})
        self.monitor.share()

    def look(self) -> View:
        """Return the view, with the alerts that it shows."""
        view = self.monitor.view()
        self.alerts.see(view)
        self.alerts.settle()
        return view

    def take(self, part: int, stream: list[Record]) -> None:
        """Count records of a partition, and store them."""
        self.monitor.step(stream)
        self.monitor.checkpoint()

    @property
    def leads(self) -> bool:
        """Whether it evaluates alerts."""
        return self.monitor.leads()

    def kill(self) -> None:
        """End as a process does that is killed: nothing is written, and no lease given back."""
        shared = self.monitor.replicas
        if shared is not None:
            shared._ended.set()
            shared._wanted.set()
            shared._thread.join()
            shared._shared.close()
            self.monitor._assignment.replicas = None
        assert self.monitor.store is not None
        self.monitor.store.close()

    def close(self) -> None:
        """End."""
        self.alerts.close()
        self.monitor.close()


@pytest.fixture
def told() -> list[Change]:
    """What the sinks of all workers have told."""
    return []


@pytest.fixture
def worker(store_path: str, told: list[Change]) -> Iterator[Callable[..., Worker]]:
    """Make a worker, which is closed at the end if it was not killed."""
    workers: list[Worker] = []

    def made(**options: Any) -> Worker:
        workers.append(Worker(store_path, told, **options))
        return workers[-1]

    yield made
    for each in workers:
        if each.monitor.replicas is not None:
            each.close()


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something to be so, and return it."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)
    return value


def counted(view: View) -> tuple[Any, ...]:
    """Return all of a view that must be the same at every worker."""
    windows = {name: structs.replace(part, comparisons={}) for name, part in view.by_window.items()}
    return windows, view.join, view.delays, view.records.read, view.records.rejected, view.event_time


def everything(view: View, streams: list[list[Record]]) -> bool:
    """Whether a view has all records of some streams."""
    return view.records.read == sum(map(len, streams))


def whole(worker: Worker, streams: list[list[Record]]) -> View:
    """Return the view of a worker once it has all records of some streams."""
    until(lambda: everything(worker.look(), streams))
    return worker.look()


def test_each_worker_shows_the_whole_model(worker: Callable[..., Worker]) -> None:
    """Two have a partition each and one none: all three show what one that reads both would, and whose is what."""
    one, two, idle = worker(), worker(), worker()
    one.monitor.assign([0])
    two.monitor.assign([1])
    one.take(0, STREAMS[0])
    two.take(1, STREAMS[1])
    alone = offline(STREAMS[0] + STREAMS[1]).view()
    views = [whole(each, STREAMS[:2]) for each in (one, two, idle)]

    assert all(counted(view) == counted(alone) for view in views)
    assert all(len(view.dead_letters) == min(sum(alone.records.rejected.values()), 100) for view in views)
    names = [each.monitor.store.worker for each in (one, two, idle)]  # type: ignore[union-attr]
    owners = [{row.partition: row.owner for row in view.partitions} for view in views]
    assert owners == [{0: None, 1: names[1]}, {0: names[0], 1: None}, {0: names[0], 1: names[1]}]
    assert all((row.age is None) == (row.owner is None) and (row.age or 0) < PATIENCE for row in views[0].partitions)
    until(lambda: [len(row.partitions) for row in idle.look().replicas] == [0, 1, 1])
    shown = idle.look().replicas
    assert {row.worker: (row.this, row.partitions) for row in shown} == {
        names[0]: (False, [0]),
        names[1]: (False, [1]),
        names[2]: (True, []),
    }
    assert [row.worker for row in shown if row.alerts] == [names[0]]


def test_all_workers_draw_the_same_lines(worker: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the stored counts of both partitions; only the last point is that of the look."""
    for pause in ("LEAST", "SHARE", "STEADY"):
        monkeypatch.setattr(trends, pause, 0)
    monkeypatch.setitem(globals(), "ALERTING", structs.replace(ALERTING, store=StoreConfig(retention=("10s",))))
    workers = [worker(), worker(), worker()]
    for number, each in enumerate(workers[:2]):
        each.monitor.assign([number])
        each.take(number, STREAMS[number])
        each.monitor.checkpoint()
    for each in workers:
        whole(each, STREAMS[:2])

    def drawn(each: Worker) -> list[Any]:
        lines = [line for name in ("1h", "4h") for line in each.look().history[name].values()]
        return [line[:-1] for line in lines]

    until(lambda: all(len(line) > 5 for each in workers for line in drawn(each)))
    until(lambda: drawn(workers[0]) == drawn(workers[1]) == drawn(workers[2]))


def test_nothing_is_missing_or_twice_while_a_partition_moves(worker: Callable[..., Worker]) -> None:
    """It is given back, no worker has it, another claims it: every view of a third has all of it once."""
    one, two, third = worker(), worker(), worker()
    one.monitor.assign([0])
    one.take(0, STREAMS[0][:200])
    until(lambda: third.look().records.read == 200)

    def read_by(*workers: Worker) -> set[int]:
        return {each.look().records.read for each in workers for _ in range(5)}

    one.monitor.revoke([0])
    assert read_by(one, third) == {200}
    assert two.monitor.assign([0]) == {("t", 0): 200}
    assert read_by(one, two, third) == {200}
    two.take(0, STREAMS[0][200:])
    until(lambda: third.look().records.read == len(STREAMS[0]))
    until(lambda: one.look().records.read == len(STREAMS[0]))

    assert counted(third.look()) == counted(offline(STREAMS[0]).view())


def test_what_a_dead_worker_has_counted_stays(worker: Callable[..., Worker]) -> None:
    """Its partitions are shown as of its last checkpoint, with their age, until another one reads on."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(0, STREAMS[0])
    until(lambda: everything(two.look(), STREAMS[:1]))
    one.kill()
    ages = [two.look().partitions[0].age]
    until(lambda: (two.look().partitions[0].age or 0) > (ages[0] or 0) + 0.1)

    assert everything(two.look(), STREAMS[:1])
    two.monitor.assign([0])
    assert two.look().partitions[0].owner is None
    assert counted(two.look()) == counted(offline(STREAMS[0]).view())


def test_one_worker_evaluates_alerts_and_another_goes_on(worker: Callable[..., Worker], told: list[Change]) -> None:
    """A rule fires once for all workers; all show it; after a kill it goes on firing and is not sent again."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(0, STREAMS[0])
    until(lambda: one.look() and two.look() and told)
    for _ in range(10):
        for each in (one, two):
            until(lambda each=each: each.look().alerts[0].state == "firing")
            assert each.look().alerts[0].since == told[0].at
    assert not (one.leads and two.leads)
    assert [change.state for change in told] == ["firing"]

    leader, other = (one, two) if one.leads else (two, one)
    leader.monitor.checkpoint()  # which knows that it was told
    leader.kill()
    died = time.monotonic()
    until(lambda: other.look() and other.leads)
    taken = time.monotonic() - died
    for _ in range(10):
        other.look()

    assert taken < replicas.LEASE + 1
    assert [change.state for change in told] == ["firing"]
    assert other.look().alerts[0].state == "firing"


def test_what_a_dead_worker_did_not_tell_is_told(worker: Callable[..., Worker], told: list[Change]) -> None:
    """An alert that was stored and not delivered is delivered by who is elected, with the id that it had."""
    one = worker(quick=False)
    one.monitor.assign([0])
    one.take(0, STREAMS[0])
    until(lambda: one.look() and len(one.sink.outbox))
    waiting = one.sink.outbox.state()["waiting"]
    two = worker()
    one.kill()
    until(lambda: (two.look() and two.sink.start()) or told)

    assert [list(change) for change in told] == [row[:7] for row in waiting]


def test_a_worker_that_was_stopped_tells_nothing_when_it_wakes(
    worker: Callable[..., Worker], told: list[Change]
) -> None:
    """It had an alert to deliver when it was stopped; another has been elected and delivered it."""
    one = worker(quick=False)
    one.monitor.assign([0])
    one.take(0, STREAMS[0])
    until(lambda: one.look() and len(one.sink.outbox))
    shared = one.monitor.replicas
    assert shared is not None
    shared._ended.set()  # as if the process were stopped
    shared._wanted.set()
    shared._thread.join()
    two = worker()
    until(lambda: (two.look() and two.sink.start()) or told)
    one.sink.quick = True
    one.sink.tell()
    one.alerts.see(one.monitor.view())
    one.alerts.settle()

    assert len(told) == 1
    assert not one.leads


def test_counts_that_cannot_be_read_are_said(worker: Callable[..., Worker]) -> None:
    """A worker counts otherwise, or its state is damaged: what is shown lacks it, and says so, until it can be read."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(0, STREAMS[0])
    until(lambda: everything(two.look(), STREAMS[:1]))
    store = one.monitor.store
    assert store is not None
    ((crc,),) = store.run("select crc from state where part = 0").fetchall()
    store.run("update state set crc = 0, revision = revision + 1 where part = 0")
    until(lambda: any("state of partition 0 is damaged" in what for what in two.look().incomplete))
    assert everything(two.look(), STREAMS[:1])
    store.run("update state set crc = ?, revision = revision + 1 where part = 0", crc)

    until(lambda: not two.look().incomplete)
    assert two.monitor.counts().to_bytes() == offline(STREAMS[0]).counts().to_bytes()


def test_a_worker_that_evaluates_nothing_leaves_the_lease(
    worker: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process lives and reports itself, but its views hang: another one evaluates the rules."""
    one, two = worker(), worker()
    until(lambda: one.leads)
    monkeypatch.setattr(replicas, "HUNG", 0.3)

    until(lambda: two.look() and two.leads)


def test_a_reference_that_one_worker_takes_is_that_of_all(worker: Callable[..., Worker]) -> None:
    """Also if it does not evaluate alerts; the next one that is taken, by another, replaces it everywhere."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(0, STREAMS[0])
    until(lambda: everything(two.look(), STREAMS[:1]))
    for taker, other, window in ((two, one, "4h"), (one, two, "1h")):
        taker.monitor.take_reference(window)
        taker.monitor.checkpoint()
        until(lambda each=other, name=window: getattr(each.look().reference, "window", None) == name)
        assert other.look().reference == taker.look().reference


def test_an_earlier_reference_that_is_read_late_changes_nothing(worker: Callable[..., Worker]) -> None:
    """What a worker knows of the store may be older than its own checkpoint."""
    one = worker()
    one.monitor.assign([0])
    one.take(0, STREAMS[0])
    one.monitor.take_reference("4h")
    one.monitor.checkpoint()
    assert one.monitor.store is not None
    earlier = one.monitor.store.notes()
    one.monitor.take_reference("1h")
    one.monitor.checkpoint()
    one.monitor.note = earlier.get  # type: ignore[method-assign]
    reference = one.look().reference

    assert reference is not None
    assert reference.window == "1h"


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


def test_notes_of_a_worker_that_was_replaced_are_not_written(store_path: str) -> None:
    """The epoch of its lease is over: its checkpoint is written, what it says of alerts is not."""
    one, two = open_store(store_path, shared=True), open_store(store_path, shared=True)
    first, second = Shared(one), Shared(two)
    lease = first.report([], "alerts", 0.0)
    time.sleep(0.01)

    assert lease == Lease("alerts", 1)
    assert second.report([], "alerts", 60.0) == Lease("alerts", 2)
    assert first.report([], "alerts", 60.0) is None
    assert not one.save([], [], {"alerts": b"old"}, lease)
    assert two.save([], [], {"alerts": b"new"}, Lease("alerts", 2))
    assert one.notes() == {"alerts": b"new"}
    second.leave("alerts")
    assert first.report([], "alerts", 60.0) == Lease("alerts", 3)
    for each in (first, second, one, two):
        each.close()


def test_a_worker_that_lost_a_partition_shows_what_the_new_owner_counts(worker: Callable[..., Worker]) -> None:
    """Also if it has counted on: its next checkpoint is refused, and it reads the other's."""
    one, two = worker(), worker()
    one.monitor.assign([0])
    one.take(0, STREAMS[0][:100])
    two.monitor.assign([0])
    two.take(0, STREAMS[0][100:])
    one.monitor.step(STREAMS[0][100:150])
    with pytest.raises(StaleOwner):
        one.monitor.checkpoint()

    until(lambda: everything(one.look(), STREAMS[:1]))
    assert counted(one.look()) == counted(offline(STREAMS[0]).view())
