"""Panes in stores of both kinds: written with a checkpoint or not at all, read as they were at one moment."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.monitor_events import CONFIG, NOW, START, events, offline, records
from support.stores import change

from stream_metrics.monitor.archive.reading import complete
from stream_metrics.monitor.archive.writing import COUNTS
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import PaneChange, StaleOwner, Store, StoreError
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.store.rows import Extent, Pane, Row, checksum
from stream_metrics.monitor.store.schema import SCHEMA
from stream_metrics.monitor.store.tables import StateStore

SCHEMA_1 = Path(__file__).with_name("schema_1.sqlite.gz")  # half of `events(400, seed=5)`, by the version before panes
PANES = [
    Pane(60, 0, "a", b"one"),
    Pane(60, 60, "a", b"two"),
    Pane(3600, 3600, "a", b"three"),
    Pane(60, 0, "b", b"four"),
]


@pytest.fixture
def store(store_path: str) -> Iterator[StateStore]:
    """A store of each kind, closed at the end."""
    opened = open_store(store_path)
    yield opened
    opened.close()


def save(store: StateStore, row: Row, number: int, panes: PaneChange) -> None:
    store.save([change(row, number)._replace(panes=panes)], [], {})


def test_panes_are_written_read_replaced_and_deleted(store: StateStore) -> None:
    row = store.claim(0)
    assert store.archived(0) is store.pane(0, "a", 60, 0) is None
    save(store, row, 1, PaneChange(PANES, [], None, b"about"))
    assert store.archived(0) == b"about"
    assert store.pane(0, "a", 60, 60) == b"two"
    assert store.pane(1, "a", 60, 60) is store.pane(0, "a", 3600, 0) is None
    assert sorted(store.panes(0, 60, 3601)) == [PANES[1], PANES[2]]
    assert sorted(store.panes(0, 59, 60)) == [PANES[0], PANES[3]]

    row = row._replace(next={"t": 1})
    save(store, row, 2, PaneChange([Pane(60, 60, "a", b"2")], [("a", 60, 0), ("a", 60, 9)], None, b"more"))
    assert (store.archived(0), store.pane(0, "a", 60, 0), store.pane(0, "a", 60, 60)) == (b"more", None, b"2")
    save(store, row._replace(next={"t": 2}), 3, PaneChange([], [], 120, b"more"))
    assert store.panes(0, 0, 10**6) == [PANES[2]]


def test_readers_see_all_partitions_as_they_were_at_one_moment(store: StateStore) -> None:
    one, two = store.claim(0), store.claim(1)
    save(store, one, 1, PaneChange(PANES, [], None, b"about"))
    store.save([change(two, 1, 1)], [], {})
    with store.all_panes() as panes:
        before = panes.extents("a", 0, 3600)
        save(store, one._replace(next={"t": 1}), 2, PaneChange([Pane(60, 0, "a", b"new")], [("a", 60, 60)], None, b""))
        assert sorted(panes.extents("a", 0, 3600)) == sorted(before)
        assert sorted(panes.bodies("a", 0, 3600)) == [b"one", b"two"]
        assert panes.archives() == {0: b"about", 1: None}
        assert panes.names() == ["a", "b"]
        assert panes.bounds("a") == (0, 7200)
        assert panes.bounds("c") is None
    assert sorted(before) == [Extent(0, 60, at, checksum(body)) for at, body in ((0, b"one"), (60, b"two"))]
    with store.all_panes() as panes:
        assert list(panes.bodies("a", 0, 3600)) == [b"new"]


def test_a_stale_owner_changes_no_panes(store: StateStore) -> None:
    row = store.claim(0)
    save(store, row, 1, PaneChange(PANES, [], None, b"about"))
    with pytest.raises(StaleOwner):
        save(store, row, 2, PaneChange([], [("a", 60, 0)], 10**6, b"stale"))
    assert (store.archived(0), len(store.panes(0, 0, 10**6))) == (b"about", 4)


READINGS: dict[str, Callable[[Any], object]] = {
    "archives": lambda panes: panes.archives(),
    "archived": lambda panes: panes.archived(0),
    "bodies": lambda panes: list(panes.bodies("a", 0, 60)),
    "pane": lambda panes: panes.pane(0, "a", 60, 0),
    "panes": lambda panes: panes.panes(0, 0, 60),
}


@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)
def test_damage_is_detected(store: StateStore, read: Callable[[Any], object]) -> None:
    save(store, store.claim(0), 1, PaneChange(PANES[:1], [], None, b"about"))
    with store.transaction():
        store._run("update panes set body = ?", b"other")
        store._run("update archives set about = ?", b"other")
    with store.all_panes() as panes, pytest.raises(StoreError, match="damaged"):
        read(panes)


def test_a_file_of_the_first_schema_is_migrated_and_goes_on(tmp_path: Path) -> None:
    """What it counted stays, the rest is counted, and queries say that panes are complete from the migration on."""
    path = tmp_path / "state.sqlite"
    path.write_bytes(gzip.decompress(SCHEMA_1.read_bytes()))
    whole = records(events(400, seed=5))
    config = structs.replace(
        CONFIG, counting=Counting(windows=("1h", "4h")), store=StoreConfig(retention=("1m",))
    )
    monitor = Monitor(config, Store(str(path)), lambda: NOW)
    half = monitor.assign([0])[("t", 0)]
    assert half == len(whole) // 2
    monitor.step(whole)
    monitor.checkpoint()
    once = offline(whole, config)
    found, expected = (
        {name: part for name, part in each.counts().parts().items() if not name.startswith("by_group/")}
        for each in (monitor, once)
    )  # the panes of groups were longer then
    assert found == expected
    assert monitor.stats() == once.stats()
    with monitor.panes.all_panes() as panes:
        since = complete(panes, COUNTS)
        assert since is not None
        assert since > START * 1e9
        stored = [list(panes.bodies(name, 0, 2**62)) for name in panes.names()]
    monitor.close()
    once.checkpoint()
    with once.panes.all_panes() as panes:
        assert [list(panes.bodies(name, since, 2**62)) for name in panes.names()] == stored
    assert all(stored)
    assert sqlite3.connect(path).execute("pragma user_version").fetchone() == (SCHEMA,)
