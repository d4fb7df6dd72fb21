"""The monitor: records in, counts out; whatever the batches, checkpoints, restarts and owners."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import structs, to_builtins
from support.command_line import until
from support.inner_monitor import StoreError
from support.monitor_events import CONFIG, NOW, START, counted, events, offline, records
from support.stores import execute, failing, monitoring

from stream_metrics.monitor import MemorySource, Monitor, Store, config, open_store

STREAM = records(events(500))
WHOLE = counted(offline(STREAM))
BUSY = structs.replace(CONFIG, store=config.StoreTable(every_events=1))
PAIR = {"time": START, "truth": "cat", "prediction": "cat"}


@pytest.mark.quick
def test_records_of_other_partitions_are_refused() -> None:
    """A record of a partition that was not assigned is an error of the source, and nothing is counted."""
    monitor = offline(STREAM[:10])

    with pytest.raises(ValueError, match=r"partitions \[0\], but got some of \[7\]"):
        monitor.step([*STREAM[10:20], *records(events(3), 7)])
    assert monitor.view().records.read == 10


@pytest.mark.parametrize("size", [1, 51, 9000])
def test_a_partition_without_events_is_reported_and_stops_no_other(
    size: int, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A hundred records of something else: said until a good one comes; until then they are read again at the start."""
    stream = records([*["junk"] * 150, {"id": 1, **PAIR}], 1)
    with monitoring(path, BUSY, [0, 1]) as monitor:
        monitor.step(stream[:99])
        assert monitor.view().unreadable == []
        for at in range(99, 150, size):
            monitor.step(stream[at : min(at + size, 150)])
        monitor.step(records(events(20)))
        view = monitor.view()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    (said,) = view.unreadable
    assert said.endswith(
        "of partition 1 holds an event; the record at 0 of 't' is refused for its 'decode': not JSON: Expecting value "
        "at column 1"
    )
    assert view.join.pending + view.join.joined > 0
    with monitoring(path, BUSY, []) as again:
        assert set(again.assign([0, 1])) == {("t", 0)}
        assert again.view().unreadable == []
        before = again.stats().joined
        again.step(stream)
        assert again.view().unreadable == []
        assert again.view().records.rejected["decode"] >= 150
        assert again.stats().joined == before + 1
        again.checkpoint()
        again.lost([1])
        assert again.assign([1]) == {("t", 1): len(stream)}


def test_rejected_records_are_counted_stored_and_passed(path: str) -> None:
    """A record that cannot be counted is a number by reason, and a dead letter with place and cause, once."""
    bad: list[Any] = [
        "{",
        {"time": START, "truth": "cat"},
        {"id": 1, "time": NOW + 7200, "truth": "cat"},
        {"id": 1, "time": START, "truth": ["cat"]},
        {"id": 1, "time": START, "prediction": "cat", "scores": {"cat": 1.5}},
        {"id": 1, "time": START, "prediction": "cat", "weight": -1},
        {"id": 1, "time": START, "prediction": "\ud800", "scores": {"\ud800": 2}},
    ]
    stream = records([{"id": 0, **PAIR}, *bad])
    with monitoring(path) as monitor:
        monitor.step(stream)
        monitor.lost([0])  # before it was written
    with monitoring(path) as monitor:
        monitor.step(stream)
        monitor.step(stream)
        monitor.checkpoint()
        view = monitor.view()
    with monitoring(path) as again:
        stored = again.view().dead_letters

    assert sum(view.records.rejected.values()) == len(bad)
    assert view.records.rejected == {"decode": 1, "field": 1, "label": 1, "score": 2, "time": 1, "weight": 1}
    assert [letter.offset for letter in stored] == list(range(len(bad), 0, -1))
    assert (stored[-1].topic, stored[-1].partition, stored[-1].reason) == ("t", 0, "decode")
    assert stored[-1].detail.startswith("not JSON: ")
    assert [letter.offset for letter in view.dead_letters] == [letter.offset for letter in stored]


def test_a_partition_that_fails_in_a_step_is_not_written(path: str) -> None:
    """After any error while records are counted, their counts so far are dropped, and they are read again."""
    told = structs.replace(CONFIG, join=config.JoinTable(ttl="1h", max_pending=400, in_memory=5))
    with monitoring(path, told) as monitor:
        for at in range(0, 300, 50):
            monitor.step(STREAM[at : at + 50])
            monitor.checkpoint()
        execute(path, "alter table pending rename to gone")  # of predictions that have outgrown the memory
        with pytest.raises(StoreError):
            monitor.step(STREAM[300:])
        execute(path, "alter table gone rename to pending")

        assert monitor.partitions == []
        assert monitor.assign([0]) == {("t", 0): 300}
        monitor.step(STREAM[300:])
        assert counted(monitor) == counted(offline(STREAM, told))


def test_a_checkpoint_that_fails_is_reported_and_nothing_is_lost(
    store_path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Counting goes on, the error is in the log once and in the view; later all of it is written."""
    clock = [NOW]
    store = open_store(store_path)
    monitor = Monitor(BUSY, store, lambda: clock[0])
    monitor.assign([0])
    assert monitor.view().checkpoint.age is None
    with failing(store_path, "state", "update"):
        monitor.step(STREAM[:100])
        until(lambda: monitor.step([]) or monitor.last_error)
        monitor.step(STREAM[100:700])
        clock[0] += 700
        with pytest.raises(StoreError):
            monitor.checkpoint()
        failed = monitor.view().checkpoint
        first = [record.levelname for record in caplog.records]
    monitor.checkpoint()
    clock[0] -= 86_400  # the clock is set back: the age grows from then on
    written = monitor.view().checkpoint
    clock[0] += 400
    assert "no space in this test" in str(failed.error)
    assert failed.error.startswith(store.name)
    assert failed.age == 700  # although nothing was ever written
    assert first == ["ERROR"]
    assert (written.error, written.age, monitor.view().checkpoint.age) == (None, 0, 400)
    assert written.bytes > 0
    clock[0] = NOW
    monitor.step(STREAM[700:])
    monitor.close()
    with monitoring(store_path) as again:
        assert counted(again) == WHOLE


def test_the_view_is_data_and_does_not_disturb(path: str) -> None:
    """A thread that reads all the time gets data that JSON can hold, and reading does not change the counts."""
    ended = threading.Event()
    with monitoring(path) as monitor, ThreadPoolExecutor() as threads:

        def look() -> set[int]:
            seen = set()
            while not ended.is_set():
                view = json.loads(json.dumps(to_builtins(monitor.view()), allow_nan=False))
                seen.add(view["records"]["read"])
            return seen

        looking = threads.submit(look)
        for at in range(0, len(STREAM), 100):
            monitor.step(STREAM[at : at + 100])
            monitor.checkpoint()
        ended.set()

        assert counted(monitor) == WHOLE
        assert looking.result() <= {*range(0, len(STREAM), 100), len(STREAM)}


def test_notes_are_written_with_the_states(path: str) -> None:
    """Plain data of alerts and sources is as it was at the last checkpoint; incomplete counts say so once, for good."""
    note = {"firing": ["a"], "since": 1.5, "nested": {"x": None}}
    store = Store(path)
    monitor = Monitor(CONFIG, store, lambda: NOW)
    monitor.assign([0])
    assert monitor.attach("alerts", lambda: note) is None
    monitor.step(STREAM[:10])
    for _ in range(3):
        monitor.mark_incomplete(0, "records 3 to 7 were gone")
    monitor.checkpoint()
    note["firing"] = []
    store.close()  # as a process that is killed
    with monitoring(path) as again:
        assert again.attach("alerts", dict) == {"firing": ("a",), "since": 1.5, "nested": {"x": None}}
        assert again.view().incomplete == ["records 3 to 7 were gone"]


@pytest.mark.quick
def test_a_source_in_memory_is_read_to_its_end() -> None:
    """Records are handed over in portions, and more may follow."""
    source, monitor = MemorySource(STREAM[:700], at_once=200), Monitor(CONFIG, clock=lambda: NOW)
    source.start(monitor)
    for _ in range(3):
        monitor.step(source.poll(0))
    assert source.lag() == {("t", 0): 100}
    source.add(STREAM[700:])
    while batch := source.poll(0):
        monitor.step(batch)
    source.close()

    assert source.ended
    assert counted(monitor) == WHOLE


def test_offsets_that_hold_no_records_are_skipped(path: str) -> None:
    """Also in a partition that was never read, and never back; what lies before is not read any more."""
    stream = records([{"id": at, **PAIR} for at in range(6)])
    with monitoring(path, parts=[0, 1]) as monitor:
        monitor.step(stream[:3])
        for offset in (5, 4):
            monitor.skip_to("t", 0, offset)
        monitor.skip_to("t", 1, 7)
    with monitoring(path) as monitor:
        assert monitor.assign([0, 1]) == {("t", 0): 5, ("t", 1): 7}
        monitor.step(stream)
        assert monitor.view().records.read == 4
