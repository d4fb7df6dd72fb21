"""Workers of one store count the same classes apart; a store without the note has those that its counts have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support import monitor_events
from support.command_line import run_command
from support.monitor_events import START
from support.stores import execute, monitoring

from stream_metrics.monitor import Config, Monitor, Record, config, open_store

MOST = 4
CONFIG = Config(counting=config.CountingTable(windows=("1h",), panes=6, max_classes=MOST))
NAMES = [[f"c{(part * 3 + at) % 9}" for at in range(30)] for part in range(2)]


def records(part: int, classes: list[str]) -> list[Record]:
    """Return records of a partition, right predictions of these classes and one wrong one in three."""
    rows = [
        {"id": f"{part}/{at}", "time": START + at, "prediction": name if at % 3 else "c0", "truth": name}
        for at, name in enumerate(classes)
    ]
    return monitor_events.records(rows, part)


STREAMS = [records(part, names) for part, names in enumerate(NAMES)]


@pytest.fixture
def opened(store_path: str) -> Iterator[Callable[..., Monitor]]:
    """Start a monitor on a shared store; all are left open, as processes that are killed leave them."""
    stores: list[Any] = []

    def start(parts: list[int], told: Config = CONFIG) -> Monitor:
        stores.append(open_store(store_path, shared=True))
        monitor = Monitor(told, stores[-1], lambda: START + 100)
        monitor.assign(parts)
        return monitor

    yield start
    for store in stores:
        store.close()


def classes(monitor: Monitor) -> dict[str, float]:
    """Return the classes that a monitor counts apart, with the number of samples of each."""
    rows = monitor.view().by_window["total"].classes
    return {row.label: row.support for row in rows if row.label.startswith(("c", "t"))}


def shown(path: str) -> Any:
    """Return what a command prints of the classes of a store: how many are apart, and whether others are folded."""
    return json.loads(run_command("monitor", "inspect", path, "--format", "json").out)["classes"]


def test_workers_at_the_same_time_agree(opened: Callable[..., Monitor], store_path: str) -> None:
    """Of the first classes of six threads, so many are admitted as there is room for, the same for each."""
    told = replace(CONFIG, counting=replace(CONFIG.counting, max_classes=10))
    workers = [opened([part], told) for part in range(6)]

    def count(part: int) -> None:
        for record in records(part, [f"t{part}-{at}" for at in range(3)] * 2):
            workers[part].step([record])
        workers[part].checkpoint()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(count, range(6)))
    whole = classes(opened(list(range(6)), told))

    assert len(whole) == 10
    assert shown(store_path) == {"apart": 10, "folded": True}
    for worker in workers:
        assert {*classes(worker)} <= {*whole}


@pytest.mark.parametrize("folded", [False, True])
def test_a_store_without_the_note_has_the_classes_of_all_partitions(
    opened: Callable[..., Monitor], store_path: str, folded: bool
) -> None:
    """A worker that has one partition only leaves room for the classes of the other one, which it has not read."""
    names = [["c0", "c1"], ["c2", "c3", *(["c4"] if folded else [])]]
    first = opened([0, 1])
    for part, each in enumerate(names):
        first.step(records(part, each))
    first.checkpoint()
    execute(store_path, "delete from notes where name = 'classes'")

    worker = opened([0])
    worker.step(records(0, [*names[0], "c7", "c8", "c3"]))
    worker.checkpoint()
    whole = opened([0, 1])
    window = whole.view().by_window["total"]

    assert {*classes(whole)} == {"c0", "c1", "c2", "c3"}
    assert window.classes_folded == 2 + folded
    assert shown(store_path) == (None if folded else {"apart": 4, "folded": True})
    assert not any("another store" in warning for warning in window.warnings)


def test_a_worker_alone_writes_its_classes_with_its_checkpoints(tmp_path: Path) -> None:
    """Its store is written no more often; a partition that it takes later finds the same classes."""
    path = str(tmp_path / "state.sqlite")
    with monitoring(path, CONFIG, [0, 1], now=START + 100) as first:
        first.step(records(1, ["c5", "c6"]))
        assert shown(path) is None
    with monitoring(path, CONFIG, [0], now=START + 100) as second:
        second.step(STREAMS[0])
        second.assign([0, 1])
        apart = classes(second)
        assert len(apart) == MOST
        assert {"c5", "c0", "c6"} < {*apart}
    with monitoring(path, CONFIG, [0, 1], now=START + 100) as third:
        assert classes(third) == apart


def test_the_limit_may_change(opened: Callable[..., Monitor], store_path: str) -> None:
    """A larger one lets further classes in until one was folded; a smaller one takes no class away."""
    steps = [(2, ["c0", "c1"], 2, False), (3, ["c2"], 3, False), (2, [], 3, False), (2, ["c3"], 3, True),
             (9, ["c4", "c5"], 3, True)]  # fmt: skip
    read: list[str] = []
    for most, names, admitted, full in steps:
        worker = opened([0], replace(CONFIG, counting=replace(CONFIG.counting, max_classes=most)))
        read += names
        worker.step(records(0, read))
        worker.checkpoint()
        assert shown(store_path) == {"apart": admitted, "folded": full}
