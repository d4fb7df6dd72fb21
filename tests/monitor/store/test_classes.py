"""Workers of one store count the same classes apart; a store without the note has those that its counts have."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stream_metrics.monitor.config import Config, Counting
from stream_metrics.monitor.counts.class_pool import ANOTHER, OTHER, Admitted, ClassPool
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import StoreError
from stream_metrics.monitor.store.backups import restore
from stream_metrics.monitor.store.classes import CLASSES, StoredClasses
from stream_metrics.monitor.store.export import Export, Exported, write_export
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.store.tables import StateStore

MOST = 4
START = 1_700_000_000.0
COUNTING = Counting(windows=("1h",), panes=6, max_classes=MOST)
CONFIG = Config(counting=COUNTING)


def records(part: int, classes: list[str]) -> list[Record]:
    """Return records of a partition, right predictions of these classes and one wrong one in three."""
    values = []
    for at, name in enumerate(classes):
        said = name if at % 3 else "c0"
        values.append(json.dumps({"id": f"{part}/{at}", "time": START + at, "prediction": said, "truth": name}))
    return [Record("t", part, at, at + 1, None, None, value.encode()) for at, value in enumerate(values)]


STREAMS = [records(part, [f"c{(part * 3 + at) % 9}" for at in range(30)]) for part in range(2)]


@pytest.fixture
def opened(store_path: str) -> Iterator[Callable[[], Monitor]]:
    """Start a monitor on a shared store; all are left open, as processes that are killed leave them."""
    stores: list[StateStore] = []

    def start(config: Config = CONFIG) -> Monitor:
        stores.append(open_store(store_path, shared=True))
        return Monitor(config, stores[-1], lambda: START + 100)

    yield start
    for store in stores:
        store.close()


def recount(classes: tuple[Any, ...], full: bool, streams: list[list[Record]]) -> bytes:
    """Return the counts of all partitions by one monitor that knows the classes from the start."""
    monitor = Monitor(CONFIG, clock=lambda: START + 100)
    monitor._assignment.classes = ClassPool(COUNTING, admitted=Admitted(classes, full))
    monitor.assign(range(len(streams)))
    for stream in streams:
        monitor.step(stream)
    return monitor.counts().to_bytes()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_workers_and_a_restart_fold_the_same_classes(opened: Callable[[], Monitor], order: tuple[int, int]) -> None:
    """One dies before its checkpoint, and its classes keep their places; the counts are those of one worker."""
    workers = [opened(), opened()]
    for part, worker in enumerate(workers):
        worker.assign([part])
    for part in order:
        workers[part].step(STREAMS[part][:2])
    workers[order[0]] = again = opened()
    again.assign([order[0]])
    for start in range(0, 30, 3):
        for part in order[::-1]:
            workers[part].step(STREAMS[part][start : start + 3])
            workers[part].checkpoint()
    last = opened()
    last.assign([0, 1])

    counts = last.counts()
    admitted = last._assignment.classes.admitted
    assert len(admitted.labels) == MOST
    assert admitted.full
    first = f"c{order[0] * 3}"  # of the worker that died
    assert admitted.labels[0] == first
    assert counts.to_bytes() == recount(admitted.labels, True, STREAMS)
    window = last.view().by_window["total"]
    apart = {*admitted.labels}
    truths = [(f"c{(part * 3 + at) % 9}", at) for part in range(2) for at in range(30)]
    folded = sum(name not in apart or (at % 3 == 0 and "c0" not in apart) for name, at in truths)
    assert {row.label for row in window.classes} - {OTHER, ANOTHER} == apart
    assert window.classes_folded == folded
    assert not any("another store" in warning for warning in window.warnings)


def test_workers_at_the_same_time_agree(store_path: str) -> None:
    """Of the first classes of eight threads, so many are admitted as there is room for, the same for each."""
    asked = [[f"t{number}-{at}" for at in range(3)] for number in range(6)]
    answers: list[Admitted] = []

    def ask(labels: list[str]) -> None:
        store = open_store(store_path, shared=True)
        registry = StoredClasses(store, COUNTING)
        for label in labels:
            answer = registry.admit([label], 10)
        answers.append(answer)
        store.close()

    threads = [threading.Thread(target=ask, args=(labels,)) for labels in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    full = [answer for answer in answers if answer.full]
    assert full
    assert set(full) == {full[0]}
    assert len(full[0].labels) == 10
    assert all(answer.labels == full[0].labels[: len(answer.labels)] for answer in answers)


@pytest.mark.parametrize("folded", [False, True])
def test_a_store_without_the_note_has_the_classes_of_all_partitions(
    opened: Callable[[], Monitor], folded: bool
) -> None:
    """A worker that has one partition only leaves room for the classes of the other one, which it has not read."""
    names = [["c0", "c1"], ["c2", "c3", *(["c4"] if folded else [])]]
    first = opened()
    first.assign([0, 1])
    for part, each in enumerate(names):
        first.step(records(part, each))
    first.checkpoint()
    assert first.store is not None
    first.store.run("delete from notes where name = ?", CLASSES)

    worker = opened()
    worker.assign([0])
    worker.step(records(0, [*names[0], "c7", "c8", "c3"]))
    worker.checkpoint()
    other = opened()
    other.assign([0, 1])

    assert other._assignment.classes.admitted == Admitted(("c0", "c1", "c2", "c3"), True)
    assert other.counts().classes.partial == frozenset()
    assert len(other.view().by_window["total"].classes) <= MOST + 2


def test_an_export_is_restored_with_its_classes(tmp_path: Path) -> None:
    """It has counts alone, and the note is made of them."""
    path, export = str(tmp_path / "state.sqlite"), str(tmp_path / "counts.export")
    monitor = Monitor(CONFIG, clock=lambda: START + 100)
    monitor.assign([0, 1])
    for stream in STREAMS:
        monitor.step(stream)
    partitions = [monitor._partitions[part] for part in (0, 1)]
    rows = [Exported(each.number, dict(each.next), each.state(), each.counts.parts()) for each in partitions]
    write_export(export, Export(START, rows))
    restore(path, export)

    restored = Monitor(CONFIG, open_store(path), lambda: START + 100)

    assert restored._assignment.classes.admitted.full
    assert set(restored._assignment.classes.admitted.labels) == set(monitor._assignment.classes.admitted.labels)
    restored.close()


def test_a_worker_alone_writes_its_classes_with_its_checkpoints(tmp_path: Path) -> None:
    """Its store is written no more often; a partition that it takes later finds the same classes."""
    path = str(tmp_path / "state.sqlite")
    first = Monitor(CONFIG, open_store(path), lambda: START + 100)
    first.assign([0, 1])
    first.step(records(1, ["c5", "c6"]))
    first.checkpoint()
    first.close()
    second = Monitor(CONFIG, open_store(path), lambda: START + 100)
    second.assign([0])
    second.step(STREAMS[0])
    second.assign([0, 1])

    assert second._assignment.classes.admitted.labels[:3] == ("c5", "c0", "c6")
    assert len(second._assignment.classes.admitted.labels) == MOST
    assert second.counts().classes.partial == frozenset()
    second.close()
    third = Monitor(CONFIG, open_store(path), lambda: START + 100)
    assert third._assignment.classes.admitted == second._assignment.classes.admitted
    third.close()


def test_damage_is_said(opened: Callable[[], Monitor]) -> None:
    """The note has a checksum, as everything has."""
    worker = opened()
    worker.assign([0])
    worker.step(STREAMS[0][:3])
    assert worker.store is not None
    worker.store.run("update notes set body = ? where name = ?", b"\0", CLASSES)

    with pytest.raises(StoreError, match="the note 'classes' is damaged"):
        worker.step(STREAMS[0][3:])
    with pytest.raises(StoreError, match="the note 'classes' is damaged"):
        opened()


def test_the_limit_may_change(opened: Callable[..., Monitor]) -> None:
    """A larger one lets further classes in until one was folded; a smaller one takes no class away."""
    steps = [(2, ["c0", "c1"], 2, False), (3, ["c2"], 3, False), (2, [], 3, False), (2, ["c3"], 3, True),
             (9, ["c4", "c5"], 3, True)]  # fmt: skip
    read: list[str] = []
    for most, names, admitted, full in steps:
        worker = opened(replace(CONFIG, counting=replace(COUNTING, max_classes=most)))
        worker.assign([0])
        read += names
        worker.step(records(0, read))
        worker.checkpoint()
        classes = worker._assignment.classes.admitted
        assert (len(classes.labels), classes.full) == (admitted, full)
