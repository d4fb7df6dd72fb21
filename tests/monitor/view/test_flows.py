"""Counters for Prometheus: whatever happens to labels, processes and partitions, they never fall and count once."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.inner_monitor import StoreError
from support.monitor_runs import START, Clock, Monitor, config, crash, exported, feed, pair, read, started
from support.refusals import refused
from support.stores import execute, failing

STORED = {"every_seconds": 1e6, "every_events": 10**6}
COUNTERS = ("_total", "_bucket", "_sum", "_count")


def counters(monitor: Monitor) -> dict[str, float]:
    """Return what a monitor exports that must not fall, by series."""
    lines = [line.rpartition(" ") for line in exported(monitor).splitlines() if not line.startswith("#")]
    return {series: float(n) for series, _, n in lines if series.partition("{")[0].endswith(COUNTERS)}


def stream(seed: int) -> list[Any]:
    """Return predictions, labels, corrections, repeats and records that are none."""
    chance, events = random.Random(seed), list[Any]()
    for at in range(120):
        time = START + at
        events.append({"id": at, "time": time, "y_pred": chance.choice("ab")})
        events += [{"id": at, "time": time + chance.random() * 40, "y_true": "a"}] * chance.choice([0, 1, 1, 2])
        if chance.random() < 0.4:
            events.append({"id": chance.randrange(at + 1), "time": time, "y_true": "b"})
        if chance.random() < 0.1:
            events.append({"id": at, "time": "never"})
    return events


class Process:
    """A monitor over some of the partitions 0 and 1, with one stream each, that is killed and started again."""

    def __init__(self, path: Path, parts: Iterable[int] = (0, 1), **store: bool) -> None:
        self.how, self.path, self.parts, self.store = config(store=STORED | store), path, parts, store
        self.streams = {number: stream(number) for number in (0, 1)}
        self.start()

    def start(self) -> None:
        """Begin where the last checkpoint is."""
        self.monitor = started(self.how, self.path, Clock(START + 300), (), **self.store)
        self.at: dict[int, int] = {}
        self.assign(self.parts)

    def assign(self, numbers: Iterable[int]) -> None:
        """Take partitions, and read on where their state is."""
        following = self.monitor.assign(numbers)
        self.at |= {number: following.get(("t", number), 0) for number in numbers}

    def step(self, number: int, size: int = 10**6) -> None:
        """Read some records of a partition that is assigned."""
        events = self.streams[number][self.at[number] : self.at[number] + size]
        feed(self.monitor, events, size, self.at[number], number)
        self.at[number] += len(events)


@pytest.mark.parametrize("seed", range(2))
def test_counters_never_fall(tmp_path: Path, seed: int) -> None:
    """Through corrections, restarts, crashes, lost and returned partitions; in the end they are those of one pass."""
    chance, process = random.Random(seed), Process(tmp_path / "a")
    before: dict[str, float] = {}

    def check() -> None:
        """Compare the counters with those before."""
        counted = counters(process.monitor)
        assert all(counted[name] >= value for name, value in before.items())
        before.update(counted)

    for _ in range(40):
        what, number = chance.choice(["step"] * 5 + ["checkpoint", "restart", "kill", "move"]), chance.randrange(2)
        if what == "step":
            process.step(number, chance.randrange(1, 30))
        elif what == "checkpoint":
            process.monitor.checkpoint()
        elif what == "move":
            chance.choice([process.monitor.revoke, process.monitor.lost])([number])
            check()
            process.assign([number])
        else:
            process.monitor.close() if what == "restart" else crash(process.monitor)
            process.start()
        check()
    once = started(config(), clock=Clock(START + 300), parts=(0, 1))
    for number in (0, 1):
        process.step(number)
        feed(once, process.streams[number], partition=number)
    process.monitor.checkpoint()

    counted = counters(once)
    assert counters(process.monitor) == counted
    delays = counted["stream_metrics_label_delay_seconds_count"]
    assert delays == counted["stream_metrics_labels_joined_total"] == once.view().join.joined > 50
    process.monitor.close()


def test_workers_of_one_store_add_up(tmp_path: Path) -> None:
    """Where a partition moves between two workers, their counters together count each record once."""
    first, second = (Process(tmp_path / "s", parts, shared=True) for parts in ((0, 1), ()))
    first.step(0, 50)
    first.monitor.revoke([0])
    second.assign([0])
    second.step(0)
    first.step(1)
    numbers = []
    for worker in (first, second):
        worker.monitor.checkpoint()
        numbers.append(counters(worker.monitor)["stream_metrics_records_read_total"])
        worker.monitor.close()

    assert sum(numbers) == len(stream(0)) + len(stream(1))


def test_a_checkpoint_that_fails_shows_nothing_new(tmp_path: Path) -> None:
    """What is in no checkpoint is not shown, since a crash would take it back; the next checkpoint has all of it."""
    process, name = Process(tmp_path / "a"), "stream_metrics_records_read_total"
    process.step(0, 10)
    with failing(str(tmp_path / "a"), "state", "update"):
        with pytest.raises(StoreError):
            process.monitor.checkpoint()
        during = counters(process.monitor)[name]
    process.monitor.checkpoint()

    assert (during, counters(process.monitor)[name]) == (0, 10)
    assert counters(read([pair(1, "a", "a")]))[name] == 1  # without a store there is no crash to come back from
    process.monitor.close()


def test_damaged_notes_are_refused(tmp_path: Path) -> None:
    """Counters, annotations or a reference that no checkpoint could have are an error when they are read."""
    other = {"began": 1.0, "stored": (1, "5m", 1.0, b"other")}
    notes: list[tuple[str, str, Any]] = [("annotations", "annotations", [[1.0]]), ("reference", "a reference", other)]
    notes += [("flows", "counters", note) for note in (7, [1], [["a", "b"]], [["a", "b", "c"]], "abc")]
    for at, (name, what, note) in enumerate(notes):
        path = str(tmp_path / str(at))
        monitor = started(config(), path)
        monitor.attach("other", lambda note=note: note)
        feed(monitor, [pair(1, "a", "a")]).close()
        renamed = f"update notes set name = '{name}' where name = 'other'"
        execute(path, f"delete from notes where name = '{name}'", renamed)
        refused(lambda path=path: started(config(), path), ValueError, f"Expected {what}")
