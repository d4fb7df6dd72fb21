"""Counters for Prometheus: whatever happens to labels, processes and partitions, they never fall and count once."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.prometheus_text import unlabelled

from stream_metrics.monitor.config import Config, Counting, Serve
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.serve.prometheus import text
from stream_metrics.monitor.store import Store, StoreError
from stream_metrics.monitor.view.flows import FlowCounters
from stream_metrics.monitor.view.types import Flows

NOW = 1_700_000_000.0
COUNTERS = ("_total", "_bucket", "_sum", "_count")


def samples(monitor: Monitor) -> dict[str, float]:
    """The samples of an export by series."""
    lines = (line for line in unlabelled(text(monitor.view(), Serve())).splitlines() if not line.startswith("#"))
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines)}


def counters(found: dict[str, float]) -> dict[str, float]:
    """Those that must not fall."""
    return {series: value for series, value in found.items() if series.partition("{")[0].endswith(COUNTERS)}


def stream(seed: int) -> list[bytes]:
    """Predictions, labels, corrections, repeats and records that are none."""
    chance, events = random.Random(seed), []
    for at in range(120):
        time = NOW + at
        events.append({"id": at, "time": time, "y_pred": chance.choice("ab")})
        events += [{"id": at, "time": time + chance.random() * 40, "y_true": "a"}] * chance.choice([0, 1, 1, 2])
        if chance.random() < 0.4:
            events.append({"id": chance.randrange(at + 1), "time": time, "y_true": "b"})
        if chance.random() < 0.1:
            events.append({"id": at, "time": "never"})
    return [json.dumps(event).encode() for event in events]


def flat(flows: Flows) -> dict[str, float]:
    """The counters by name."""
    cells = {f"delay {at}": number for at, number in enumerate(flows.delays.counts)}
    return {**flows.counts, **flows.rejected, **cells, "sum": flows.delays.sum}


class Process:
    """A monitor over some of the partitions 0 and 1, with one stream each, that is killed and started again."""

    def __init__(self, path: Path, shared: bool = False, numbers: Sequence[int] = (0, 1)) -> None:
        self._numbers = numbers
        self.config = Config(store=StoreConfig(path=str(path), every_seconds=1e6, every_events=10**6, shared=shared))
        self.streams = {number: stream(number) for number in (0, 1)}
        self.start()

    def start(self) -> None:
        """Begin where the last checkpoint is."""
        self.monitor = Monitor(self.config, Store(self.config.store.path, self.config.store.shared), lambda: NOW + 300)
        self.at: dict[int, int] = {}
        self.assign(self._numbers)

    def assign(self, numbers: Iterable[int]) -> None:
        """Take partitions, and read on where their state is."""
        following = self.monitor.assign(numbers)
        self.at |= {number: following.get(("t", number), 0) for number in numbers}

    def step(self, number: int, size: int) -> None:
        """Read some records of a partition that is assigned."""
        at = self.at[number]
        values = self.streams[number][at : at + size]
        self.monitor.step([Record("t", number, at + i, at + i + 1, None, None, each) for i, each in enumerate(values)])
        self.at[number] += len(values)

    def kill(self) -> None:
        """End without a checkpoint."""
        assert self.monitor.store is not None
        self.monitor.store.close()


@pytest.mark.parametrize("seed", range(3))
def test_counters_never_fall(tmp_path: Path, seed: int) -> None:
    """Through corrections, restarts, crashes, lost and returned partitions; in the end they are those of one pass."""
    chance, process = random.Random(seed), Process(tmp_path / "a")
    before: dict[str, float] = {}
    for _ in range(40):
        what, number = chance.choice(["step"] * 5 + ["checkpoint", "restart", "kill", "move"]), chance.randrange(2)
        if what == "step":
            process.step(number, chance.randrange(1, 30))
        elif what == "checkpoint":
            process.monitor.checkpoint()
        elif what == "move":
            chance.choice([process.monitor.revoke, process.monitor.lost])([number])
            counted = flat(process.monitor._assignment.flows.view())
            assert all(counted[name] >= value for name, value in before.items())
            before = counted
            process.assign([number])
        else:
            (process.monitor.close if what == "restart" else process.kill)()
            process.start()
        counted = flat(process.monitor._assignment.flows.view())
        assert all(counted[name] >= value for name, value in before.items())
        before = counted
    for number in (0, 1):
        process.step(number, 10**6)
    process.monitor.checkpoint()
    once = Monitor(Config(), None, lambda: NOW + 300)
    once.assign([0, 1])
    for number, values in process.streams.items():
        once.step([Record("t", number, at, at + 1, None, None, value) for at, value in enumerate(values)])

    assert counters(samples(process.monitor)) == counters(samples(once))
    process.monitor.close()


def test_counts_of_classes_are_exact_after_corrections(tmp_path: Path) -> None:
    """A thousand right, 600 of them corrected: 400 of a, 600 of b, also after a restart; the total has no other."""
    process = Process(tmp_path / "a")
    events: list[dict[str, Any]] = [{"id": at, "time": NOW, "y_pred": "a", "y_true": "a"} for at in range(1000)]
    events += [{"id": at, "time": NOW, "y_true": "b"} for at in range(600)]
    process.streams[0] = [json.dumps(event).encode() for event in events]
    process.step(0, 1000)
    before = samples(process.monitor)
    process.step(0, 600)
    corrected = samples(process.monitor)
    process.monitor.close()
    process.start()
    after = samples(process.monitor)
    process.monitor.close()
    name = 'stream_metrics_class_{}{{class="{}",window="total"}}'

    assert before[name.format("support", "a")] == before[name.format("true_positives", "a")] == 1000
    for found in (corrected, after):
        assert found[name.format("support", "a")] == found[name.format("true_positives", "a")] == 400
        assert (found[name.format("support", "b")], found[name.format("true_positives", "b")]) == (600, 0)
        assert found[name.format("false_positives", "a")] == 600
        assert found['stream_metrics_accuracy_ratio{window="total"}'] == 0.4
    assert after["stream_metrics_corrections_total"] == 600
    assert after["stream_metrics_labels_joined_total"] == 1000


def test_workers_of_one_store_add_up(tmp_path: Path) -> None:
    """Where a partition moves between two workers, their counters together count each record once."""
    first, second = Process(tmp_path / "s", True), Process(tmp_path / "s", True, ())
    first.step(0, 50)
    first.monitor.revoke([0])
    second.assign([0])
    second.step(0, 10**6)
    first.step(1, 10**6)
    for worker in (first, second):
        worker.monitor.checkpoint()
    together: Counter[str] = Counter()
    for worker in (first, second):
        together.update(counters(samples(worker.monitor)))
        worker.monitor.close()

    assert together["stream_metrics_records_read_total"] == len(stream(0)) + len(stream(1))


def test_a_checkpoint_that_fails_shows_nothing_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in no checkpoint is not shown, since a crash would take it back; the next checkpoint has all of it."""
    process = Process(tmp_path / "a")
    process.step(0, 10)
    with monkeypatch.context() as patch:
        patch.setattr(process.monitor.store, "save", lambda *_: (_ for _ in ()).throw(StoreError("full")))
        with pytest.raises(StoreError):
            process.monitor.checkpoint()
        during = samples(process.monitor)["stream_metrics_records_read_total"]
    process.monitor.checkpoint()

    assert (during, samples(process.monitor)["stream_metrics_records_read_total"]) == (0, 10)
    process.monitor.close()


@pytest.mark.parametrize("kept", [7, [1], [["a", "b"]], [["a", "b", "c"]], "abc"])
def test_other_data_is_refused(kept: object) -> None:
    """What a checkpoint could not have is an error that says so."""
    with pytest.raises(ValueError, match="Expected counters as `content` returns them"):
        FlowCounters(kept)


def test_counters_without_a_store_are_shown_at_once() -> None:
    """Without a store there is no crash to come back from."""
    monitor = Monitor(Config(counting=Counting()), None, lambda: NOW)
    monitor.assign([0])
    monitor.step([Record("t", 0, 0, 1, None, None, b'{"id": 1, "time": 1700000000, "y_pred": "a"}')])

    assert samples(monitor)["stream_metrics_records_read_total"] == 1
