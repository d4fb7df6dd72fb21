"""One partition: every record counts once, the state reads back as written, memory is bounded."""

from __future__ import annotations

import sqlite3
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.monitor_events import CONFIG, NOW, START, events, offline, records
from support.pair_streams import earlier_parts

from stream_metrics.monitor.config import Config, Counting, Join
from stream_metrics.monitor.counts.counting import Counts
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import Store, StoreError

PLAIN = Config(counting=Counting(windows=()), join=Join(max_pending=10**6, in_memory=15_000, max_joined=1000))


def test_records_are_taken_once_whatever_the_gaps() -> None:
    """What is before the next offset of its topic was read; offsets may have gaps, topics may alternate."""
    monitor = Monitor(CONFIG, clock=lambda: NOW)
    monitor.assign([0])
    held = [
        record._replace(topic="ab"[at % 2], offset=at * 7, next=at * 7 + 1)
        for at, record in enumerate(records([{"id": at, "time": START, "truth": "cat"} for at in range(100)]))
    ]

    monitor.step(held[:60])
    monitor.step(held[20:])
    monitor.step(held)

    assert monitor.stats().counters.labels == 100
    assert monitor.view().partitions[0].next == {"a": 98 * 7 + 1, "b": 99 * 7 + 1}


def test_two_topics_are_one_partition() -> None:
    """Predictions of one topic meet the labels of another, with an offset for each."""
    monitor = Monitor(CONFIG, clock=lambda: NOW)
    monitor.assign([3])
    predictions = [{"id": at, "time": START + at, "prediction": "cat"} for at in range(10)]
    labels = [{"id": at, "time": START + at + 5, "truth": "cat"} for at in range(10)]

    monitor.step([*records(predictions, 3, "p"), *records(labels[:7], 3, "l")])

    assert monitor.stats()[:2] == (3, 7)
    assert monitor.assign([3]) == {("p", 3): 10, ("l", 3): 7}


def test_a_newer_format_is_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State of a later version is not guessed at."""
    monitor = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)
    monitor.assign([0])
    monitor.step(records(events(10)))
    monkeypatch.setattr("stream_metrics.monitor.partition.FORMAT", 2)
    monitor.close()
    monkeypatch.undo()
    again = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)

    with pytest.raises(StoreError, match="Expected partition 0 in format 1, but it is stored in 2"):
        again.assign([0])
    again.close()


def test_parts_of_an_earlier_version_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that were written with other names are read, written as now, and no longer there twice."""
    path, config = str(tmp_path / "state"), structs.replace(CONFIG, counting=Counting(windows=("5m",), panes=60))
    every = [{"id": at, "time": START + at, "truth": "cat", "prediction": "cat", "group": "de"} for at in range(60)]
    with monkeypatch.context() as patch:
        parts = Counts.parts
        patch.setattr(Counts, "parts", lambda self: earlier_parts(self, parts))
        monitor = Monitor(config, Store(path), lambda: NOW)
        monitor.assign([0])
        monitor.step(records(every[:40]))
        monitor.close()
    for _ in range(2):
        monitor = Monitor(config, Store(path), lambda: NOW)
        monitor.assign([0])
        monitor.step(records(every))
        counts = monitor.counts()
        monitor.close()
        with sqlite3.connect(path) as connection:
            names = {name for (name,) in connection.execute("select name from parts")}
        assert names == set(counts.parts())
        assert any(name.startswith("by_group/") for name in names)
        assert not any(name.startswith("groups/") for name in names)
        assert counts.total_groups.n == counts.total.n > 0


def test_entries_that_are_missing_are_noticed(tmp_path: Path) -> None:
    """A join buffer that lacks something is not gone on with as if it were whole."""
    monitor = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)
    monitor.assign([0])
    monitor.step(records(events(100)))
    monitor.checkpoint()
    assert monitor.store is not None
    monitor.store._run("delete from log where shelf = 1")
    monitor.close()
    again = Monitor(CONFIG, Store(str(tmp_path / "state")), lambda: NOW)

    with pytest.raises(StoreError, match=r"Expected \d+ waiting and \d+ joined entries in partition 0, but got \("):
        again.assign([0])
    again.close()


def test_equal_partitions_are_written_alike() -> None:
    """The state of a partition is a function of its records."""
    stream = records(events(300))
    one, two = offline(stream, at_once=50), offline(stream, at_once=1000)

    assert one._partitions[0].state() == two._partitions[0].state()
    assert one._partitions[0].counts.to_bytes() == two._partitions[0].counts.to_bytes()


def predictions(start: int, n: int) -> list[Record]:
    """Return records of predictions, the ids of which come in no order."""
    held = []
    for at in range(start, start + n):
        key = at * 2654435761 % 2**32
        value = b'{"id": "%08x-%08x", "time": %.3f, "prediction": "cat"}' % (key, at, START + at / 1000)
        held.append(Record("t", 0, at, at + 1, None, None, value))
    return held


def test_memory_is_bounded_and_recovery_is_quick(tmp_path: Path) -> None:
    """Far more pending predictions than fit into memory: they are in the file, found there, not read at the start."""
    n, path = 60_000, str(tmp_path / "state")
    monitor = Monitor(PLAIN, Store(path), lambda: NOW)
    monitor.assign([0])
    for start in range(0, n, 10_000):
        monitor.step(predictions(start, 10_000))
        monitor.checkpoint()
    monitor.close()

    tracemalloc.start()
    started = time.process_time()
    again = Monitor(PLAIN, Store(path), lambda: NOW)
    again.assign([0])
    spent, (held, _) = time.process_time() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    labels = [
        record._replace(topic="l", value=record.value.replace(b'"prediction"', b'"truth"'))  # type: ignore[union-attr]
        for record in predictions(0, n)[::7]
    ]
    again.step(labels)
    again.checkpoint()

    partition = again._partitions[0]
    assert again.stats()[:2] == (n - len(labels), len(labels))
    assert len(partition.joiner.waiting.entries) <= PLAIN.join.in_memory
    assert partition.joiner.spill is not None
    assert partition.joiner.spill.n == again.store._run("select count(*) from pending").fetchone()[0]  # type: ignore[union-attr]
    assert spent < 2
    assert held < 40e6
    again.close()


def test_the_oldest_expire_wherever_they_are(tmp_path: Path) -> None:
    """By number and by age, in the file or in memory, and whatever was taken from among them."""
    config = structs.replace(PLAIN, join=Join(ttl="100s", max_pending=3000, in_memory=100, max_joined=50))
    stream = []
    for at, record in enumerate(predictions(0, 8000)):
        stream.append(record._replace(offset=at * 2, next=at * 2 + 1))
        if at % 3 == 0:
            other = predictions(max(at - 1500 - at % 1000, 0), 1)[0]
            value: Any = other.value.replace(b'"prediction"', b'"truth"')  # type: ignore[union-attr]
            stream.append(record._replace(offset=at * 2 + 1, next=at * 2 + 2, value=value))
    monitor = Monitor(config, Store(str(tmp_path / "state")), lambda: NOW)
    monitor.assign([0])
    for start in range(0, len(stream), 800):
        monitor.step(stream[start : start + 800])
        monitor.checkpoint()

    expected = offline(stream, config)
    assert monitor.stats() == expected.stats()
    assert monitor.stats().counters.expired_early > 1000
    assert monitor.counts().to_bytes() == expected.counts().to_bytes()
    monitor.close()


def test_the_log_of_a_slow_stream_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One prediction for each checkpoint, for a long time: what is old is in rows, not in a segment for each second."""
    monitor = Monitor(PLAIN, Store(str(tmp_path / "state")), lambda: NOW)
    monitor.assign([0])
    monkeypatch.setattr("stream_metrics.monitor.join.entry_log.SEGMENTS", 10)
    for record in predictions(0, 40):
        monitor.step([record])
        monitor.checkpoint()

    assert monitor.store is not None
    assert monitor.store._run("select count(*) from log").fetchone()[0] <= 11
    assert monitor.stats().pending == 40
    assert monitor.store._run("select count(*) from pending").fetchone()[0] >= 29
    monitor.close()
