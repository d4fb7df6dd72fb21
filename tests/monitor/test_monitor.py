"""The monitor: records in, counts out; whatever the batches, checkpoints, restarts and owners."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from support.monitor_events import CONFIG, NOW, START, counted, events, offline, records

from stream_metrics.monitor import steps
from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.memory import MemorySource
from stream_metrics.monitor.store import StaleOwner, Store, StoreError
from stream_metrics.monitor.store.backups import restore
from stream_metrics.monitor.store.export import Export, read_export
from stream_metrics.monitor.view.types import DeadLetter, PartitionRow, to_json

STREAM = records(events(500))
WHOLE = counted(offline(STREAM))
BUSY = structs.replace(CONFIG, store=StoreConfig(every_events=1))


def opened(path: Path, config: Config = CONFIG, shared: bool = False) -> Monitor:
    """Return a monitor with the state file of a test."""
    return Monitor(config, Store(str(path / "state.sqlite"), shared), clock=lambda: NOW)


def test_the_stream_has_everything() -> None:
    """The stream of these tests has every outcome in it."""
    _, stats, rejected = WHOLE

    seldom = {"refused", "labels_refused", "corrections_refused", "forgotten", "ids_forgotten"}
    assert {name for name, value in vars(stats.counters).items() if not value} <= seldom
    assert rejected.keys() == {"decode", "field", "time"}
    assert stats.counters.joined > 300


@given(st.lists(st.integers(1, 300), min_size=3, max_size=12), st.lists(st.sampled_from("nnncr"), min_size=12))
def test_batches_checkpoints_and_restarts_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], then: list[str]
) -> None:
    """Cut anyhow, written and read again in between, read twice: bytes and counters are those of one pass."""
    path = tmp_path_factory.mktemp("m")
    monitor, at = opened(path), 0
    monitor.assign([0])
    for size, what in zip([*sizes, len(STREAM)], [*then, "n"], strict=False):
        monitor.step(STREAM[max(at - 50, 0) : at + size])
        at += size
        if what == "c":
            monitor.checkpoint()
        elif what == "r":
            monitor.close()
            monitor = opened(path)
            assert monitor.assign([0]) == {("t", 0): min(at, len(STREAM))}

    monitor.step(STREAM[at:])
    found = counted(monitor)
    monitor.close()
    again = opened(path)
    again.assign([0])
    assert found == WHOLE
    assert counted(again) == WHOLE
    again.close()


def test_what_was_not_written_is_read_again(tmp_path: Path) -> None:
    """A monitor that is lost has counted nothing that its successor does not count."""
    monitor = opened(tmp_path)
    monitor.assign([0])
    monitor.step(STREAM[:400])
    monitor.checkpoint()
    monitor.step(STREAM[400:600])
    monitor.lost([0])
    monitor.close()

    again = opened(tmp_path)
    offsets = again.assign([0])
    again.step(STREAM[offsets["t", 0] :])

    assert offsets == {("t", 0): 400}
    assert counted(again) == WHOLE
    again.close()


def test_partitions_come_and_go(tmp_path: Path) -> None:
    """Two workers share a file and pass partitions to each other; all of it together is all of it."""
    streams = {part: records(events(300, part), part) for part in range(3)}
    one, two = opened(tmp_path, BUSY, shared=True), opened(tmp_path, BUSY, shared=True)
    one.assign([0, 1])
    two.assign([2])
    one.step([*streams[0][:100], *streams[1]])
    two.step(streams[2][:150])
    one.revoke([0])
    offsets = two.assign([0])
    two.step([*streams[0][offsets["t", 0] :], *streams[2][150:]])

    total = one.counts().merge(two.counts())

    assert one.partitions == [1]
    assert offsets == {("t", 0): 100}
    assert total.to_bytes() == offline([record for stream in streams.values() for record in stream]).counts().to_bytes()
    one.close()
    two.close()


def test_a_zombie_is_refused(tmp_path: Path) -> None:
    """The previous owner of a partition cannot write it, even if no record was read since; it can write its others."""
    zombie, heir = opened(tmp_path, shared=True), opened(tmp_path, shared=True)
    other = records(events(50), 1)
    zombie.assign([0, 1])
    zombie.step([*STREAM[:500], *other])
    heir.assign([0])

    with pytest.raises(StaleOwner, match="partition 0 has another owner"):
        zombie.checkpoint()
    zombie.close()
    heir.step(STREAM)
    heir.checkpoint()

    assert zombie.partitions == [1]
    assert counted(heir) == WHOLE
    assert heir.assign([1]) == {("t", 1): len(other)}
    heir.close()


def test_a_zombie_is_refused_while_it_reads(tmp_path: Path) -> None:
    """The checkpoint that falls due in `step` refuses as well."""
    zombie, heir = opened(tmp_path, BUSY, shared=True), opened(tmp_path, shared=True)
    zombie.assign([0])
    heir.assign([0])

    with pytest.raises(StaleOwner):
        zombie.step(STREAM)

    assert zombie.partitions == []
    heir.close()
    zombie.close()


def test_records_of_other_partitions_are_refused() -> None:
    """A record of a partition that was not assigned is an error of the source."""
    monitor = offline(STREAM[:10])

    with pytest.raises(ValueError, match=r"partitions \[0\], but got some of \[7\]"):
        monitor.step(records(events(3), 7))


@pytest.mark.parametrize("chunk", [7, 99, 100, 101, 8192])
def test_a_partition_without_events_is_said_and_stops_no_other(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A hundred records of something else: said until a good one comes; until then they are read again at the start."""
    monkeypatch.setattr(steps, "CHUNK", chunk)
    monitor = opened(tmp_path, BUSY)
    monitor.assign([0, 1])
    stream = records([*["junk"] * 150, {"id": 1, "time": START, "truth": "cat", "prediction": "cat"}], 1)
    monitor.step(stream[:99])
    early = monitor.view().unreadable
    monitor.step([*stream[99:150], *records(events(20))])
    view = monitor.view()
    monitor.close()
    logged = [record.levelname for record in caplog.records]
    again = opened(tmp_path, BUSY)
    offsets = again.assign([0, 1])
    still = again.view().unreadable
    again.step(stream)

    assert early == []
    assert view.unreadable == [
        "none of the first 150 records of partition 1 holds an event; the record at 0 of 't' is refused for its "
        "'decode': not JSON: Expecting value at column 1"
    ]
    assert view.join.pending + view.join.joined > 0
    assert logged == ["ERROR"]
    assert set(offsets) == {("t", 0)}
    assert still == []
    assert again.view().unreadable == []
    assert again.view().records.rejected["decode"] >= 150
    assert again._partitions[1].good == 1
    again.close()


def test_poison_is_counted_kept_and_passed(tmp_path: Path) -> None:
    """A record that cannot be counted is a number by reason, and a dead letter with place and cause, once."""
    bad: list[Any] = [
        "{",
        {"time": START, "truth": "cat"},
        {"id": 1, "time": START},
        {"id": 1, "time": NOW + 7200, "truth": "cat"},
        {"id": 1, "time": START, "truth": ["cat"]},
        {"id": 1, "time": START, "prediction": "cat", "scores": {"cat": 1.5}},
        {"id": 1, "time": START, "prediction": "cat", "weight": -1},
        '{"id": 1, "time": 1700000000, "prediction": "cat", "weight": NaN}',
    ]
    stream = records([{"id": 0, "time": START, "truth": "cat", "prediction": "dog"}, *bad])
    first = opened(tmp_path)
    first.assign([0])
    first.step(stream)
    first.lost([0])  # before it was written
    first.close()
    monitor = opened(tmp_path)
    monitor.assign([0])
    monitor.step(stream)
    monitor.step(stream)
    monitor.checkpoint()

    assert monitor.view().records.rejected == {
        "decode": 1, "field": 2, "label": 1, "score": 1, "time": 1, "weight": 2
    }  # fmt: skip
    assert monitor.store is not None
    letters = monitor.store.letters()
    assert [letter.offset for letter in letters] == list(range(len(stream) - 1, len(stream) - len(bad) - 1, -1))
    assert letters[-1].detail.startswith("not JSON: ")
    assert monitor.view().dead_letters[0] == DeadLetter(*letters[0])
    monitor.close()


def test_a_partition_that_fails_by_halves_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any error while records are counted, their counts so far are dropped, and they are read again."""
    monitor = opened(tmp_path)
    monitor.assign([0])
    monitor.step(STREAM[:300])
    monkeypatch.setattr("stream_metrics.monitor.counts.counting.Counts.predictions", lambda self, times: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        monitor.step(STREAM[300:400])
    monkeypatch.undo()

    assert monitor.partitions == []
    offsets = monitor.assign([0])
    monitor.step(STREAM[offsets.get(("t", 0), 0) :])
    assert counted(monitor) == WHOLE
    monitor.close()


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No space: counting goes on, the error is in the log once and in the view; with space all of it is written."""
    monitor = opened(tmp_path, BUSY)
    monitor.assign([0])
    monitor.step(STREAM[:100])
    monitor.checkpoint()
    assert monitor.store is not None
    limit = monitor.store._run("pragma max_page_count").fetchone()[0]
    monitor.store._run("pragma max_page_count = 1")

    for at in range(100, 700, 100):
        monitor._checkpoints._ended = 0.0  # as if a while ago
        monitor.step(STREAM[at : at + 100])
    with pytest.raises(StoreError, match=r"state.sqlite: database or disk is full"):
        monitor.checkpoint()
    said = monitor.view().checkpoint.error
    monitor.store._run(f"pragma max_page_count = {limit}")
    monitor.step(STREAM[700:])
    monitor.close()
    again = opened(tmp_path)
    again.assign([0])

    assert "disk is full" in said
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert monitor.last_error is None
    assert counted(again) == WHOLE
    again.close()


def test_a_first_checkpoint_that_fails_has_an_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule about `checkpoint_age` fires also if nothing was ever written."""
    monitor, clock = opened(tmp_path, BUSY), [NOW]
    monitor.clock = lambda: clock[0]
    monitor.assign([0])
    assert monitor.view().checkpoint.age is None

    def full(*_: object) -> None:
        raise StoreError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(monitor.store, "save", full)
        monitor._checkpoints._ended = 0.0  # as if a while ago
        monitor.step(STREAM[:100])
    clock[0] += 700
    failing = monitor.view().checkpoint
    monitor.checkpoint()

    assert failing.error == "disk full"
    assert failing.age == 700
    assert monitor.view().checkpoint.age == 0
    monitor.close()


def test_the_age_of_a_checkpoint_grows_after_a_clock_was_set_back(tmp_path: Path) -> None:
    """From then on: it is not 0 until the clock is where it was."""
    monitor, clock = opened(tmp_path, BUSY), [NOW]
    monitor.clock = lambda: clock[0]
    monitor.assign([0])
    monitor.step(STREAM[:100])
    monitor.checkpoint()
    ages = []
    for clock[0] in (NOW - 86_400, NOW - 86_000):
        ages.append(monitor.view().checkpoint.age)

    assert ages == [0, 400]
    monitor.close()


def test_the_view_is_data_and_does_not_disturb(tmp_path: Path) -> None:
    """Threads that read all the time get data that JSON can hold, and reading does not change the counts."""
    monitor, seen, ended = opened(tmp_path), [], threading.Event()
    monitor.assign([0])

    def look() -> None:
        while not ended.is_set():
            seen.append(json.loads(to_json(monitor.view())))

    watchers = [threading.Thread(target=look) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    for at in range(0, len(STREAM), 100):
        monitor.step(STREAM[at : at + 100])
        monitor.checkpoint()
    ended.set()
    for watcher in watchers:
        watcher.join()

    last = monitor.view()
    assert counted(monitor) == WHOLE
    assert {view["records"]["read"] for view in seen} <= set(range(0, len(STREAM) + 101, 100)) | {len(STREAM)}
    assert last.join.joined == WHOLE[1].joined
    assert sum(last.delays.counts) == WHOLE[1].joined
    assert last.partitions == [PartitionRow(0, {"t": len(STREAM)}, None)]
    assert last.checkpoint.age == 0.0
    assert last.checkpoint.bytes > 0
    monitor.close()


def test_what_others_keep_is_written_with_the_states(tmp_path: Path) -> None:
    """Plain data of alerts and sources comes back after a restart, as it was at the last checkpoint."""
    monitor, kept = opened(tmp_path), {"firing": ["a"], "since": 1.5, "nested": {"x": None}}
    monitor.assign([0])
    assert monitor.attach("alerts", lambda: kept) is None
    monitor.step(STREAM[:10])
    monitor.checkpoint()
    kept["firing"] = []
    monitor.lost([0])
    monitor.store.close()  # type: ignore[union-attr]

    again = opened(tmp_path)

    assert again.attach("alerts", dict) == {"firing": ("a",), "since": 1.5, "nested": {"x": None}}
    again.close()


def test_incomplete_counts_say_so_for_good(tmp_path: Path) -> None:
    """What the counts lack stays in the view, once, over restarts."""
    monitor = opened(tmp_path)
    monitor.assign([0])
    monitor.step(STREAM[:50])
    for _ in range(3):
        monitor.mark_incomplete(0, "records 3 to 7 were gone")
    monitor.close()
    again = opened(tmp_path)
    again.assign([0])

    assert again.view().incomplete == ["records 3 to 7 were gone"]
    again.close()


def test_an_export_can_take_the_place_of_a_damaged_file(tmp_path: Path) -> None:
    """It has the counts and offsets of its moment; what waited then has expired, which the partition says."""
    config = structs.replace(CONFIG, store=StoreConfig(export=str(tmp_path / "export")))
    monitor = opened(tmp_path, config)
    monitor.assign([0])
    monitor.step(STREAM[:500])
    monitor.export()
    then = monitor.stats().counters
    monitor.step(STREAM[500:])
    monitor.close()
    held = read_export(str(tmp_path / "export"))
    (tmp_path / "state.sqlite").write_bytes(b"junk" * 5000)

    with pytest.raises(StoreError, match="file is not a database"):
        opened(tmp_path)
    assert held.counts(CONFIG.counting).to_bytes() == counted(monitor)[0]  # the last one was written by close
    held.partitions = held.partitions[:1]
    assert Export.from_bytes(held.to_bytes()) == held
    aside = restore(str(tmp_path / "state.sqlite"), str(tmp_path / "export"))
    again = opened(tmp_path)
    assert again.assign([0]) == {("t", 0): len(STREAM)}
    counters = again.stats().counters
    assert Path(aside or "").read_bytes() == b"junk" * 5000
    assert again.counts().to_bytes() == WHOLE[0]
    assert counters.pending == 0
    assert counters.predictions_expired == WHOLE[1].counters.pending + WHOLE[1].counters.predictions_expired
    assert again.view().incomplete[0].startswith("restored from an export: ")
    assert then.predictions == 0 or again.stats().predictions_expired > 0
    again.step(records(events(20)))
    again.close()
    third = opened(tmp_path)
    assert third.assign([0])
    third.close()


def test_a_configuration_that_counts_otherwise_is_refused(tmp_path: Path) -> None:
    """State that was counted with another limit of groups is not gone on with; the error names both."""
    monitor = opened(tmp_path)
    monitor.assign([0])
    monitor.step(STREAM[:50])
    monitor.close()
    counting = Counting(scores=True, windows=("1h", "4h"), max_groups=2)
    other = opened(tmp_path, structs.replace(CONFIG, counting=counting))

    with pytest.raises(Exception, match="max_groups"):
        other.assign([0])
    other.close()


def test_a_source_in_memory_is_read_to_its_end() -> None:
    """Records are handed over in portions, and more may follow."""
    source, monitor = MemorySource(STREAM[:700], at_once=200), Monitor(CONFIG, clock=lambda: NOW)
    source.start(monitor)
    for _ in range(3):
        monitor.step(source.poll(0))
    assert source.lag() == {("t", 0): 100}
    source.add(STREAM[700:])
    while found := source.poll(0):
        monitor.step(found)
    source.close()

    assert source.ended
    assert counted(monitor) == WHOLE


def test_offsets_that_hold_no_records_are_skipped(tmp_path: Path) -> None:
    """Also in a partition that was never read, and never back; what lies before is not read any more."""
    path = str(tmp_path / "state")
    stream = records([{"id": at, "time": START, "prediction": "a", "truth": "a"} for at in range(6)])
    with closing(Monitor(CONFIG, Store(path), lambda: NOW)) as monitor:
        monitor.assign([0, 1])
        monitor.step(stream[:3])
        for offset in (5, 4):
            monitor.skip_to("t", 0, offset)
        monitor.skip_to("t", 1, 7)
    with closing(Monitor(CONFIG, Store(path), lambda: NOW)) as monitor:
        following = monitor.assign([0, 1])
        monitor.step(stream)
        read = monitor.view().records.read

    assert following == {("t", 0): 5, ("t", 1): 7}
    assert read == 4
