"""Backups: either store into one kind of file, and back into either, at one moment, over nothing that is there."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.monitor_events import CONFIG, NOW, counted, events, offline, records
from support.stores import TABLES, change, content, new_address

from stream_metrics.cli.main import main
from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import StoreError, backups
from stream_metrics.monitor.store.backups import back_up, restore
from stream_metrics.monitor.store.inspecting import inspected
from stream_metrics.monitor.store.opening import open_panes, open_store, open_stored
from stream_metrics.monitor.store.rows import EmptyStoreError, NotEmptyError
from stream_metrics.monitor.store.tables import StateStore

STREAM = records(events(600, seed=3))
LETTERS = [Rejected("t", 0, offset, "decode", f"no JSON: {offset}") for offset in (9, 3, 7)]
OTHER_COLUMNS = "part, epoch, owner, revision, saved"


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The path or the address of a store to restore to."""
    if request.param == "sqlite":
        return str(tmp_path / "restored.sqlite")
    return new_address(request.getfixturevalue("postgres_server"))


@pytest.fixture
def address(postgres_server: str) -> str:
    """The address of an empty schema."""
    return new_address(postgres_server)


def everything(store: StateStore) -> Any:
    """Return all that is in a store, and the order of the dead letters."""
    rows = store.run(f"select {OTHER_COLUMNS} from state order by part").fetchall()
    return content(store), [tuple(row) for row in rows], store.letters()


def filled(path: str) -> Any:
    """Write something into every table of a new store, and return all of it."""
    monitor = Monitor(CONFIG, open_store(path), lambda: NOW)
    monitor.assign([0])
    monitor.step(STREAM[:400])
    monitor.close()
    with closing(open_store(path)) as store:
        store.save([change(store.claim(7), 1, 7)], LETTERS, {"a": b"note"})
        store.run("delete from parts where part = 7 and name = 'total'")  # which are no counts
        assert all(content(store)[table] for table in TABLES)
        return everything(store)


def test_any_store_is_restored_to_any_store(store_path: str, target: str, tmp_path: Path) -> None:
    """Nothing is lost or added, and a monitor that reads on has the counts of one pass."""
    before, backup = filled(store_path), str(tmp_path / "backup")

    back_up(store_path, backup)
    assert restore(target, backup) is None

    with closing(open_store(target)) as store:
        assert everything(store) == before
    monitor = Monitor(CONFIG, open_store(target), lambda: NOW)
    monitor.assign([0])
    monitor.step(STREAM)
    assert counted(monitor)[:2] == counted(offline(STREAM))[:2]
    monitor.close()
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("backup?*"))


def test_the_backup_of_a_restored_store_is_the_same(store_path: str, target: str, tmp_path: Path) -> None:
    """And what is printed of either is the same, but for the name and the size."""
    filled(store_path)
    back_up(store_path, str(tmp_path / "first"))
    restore(target, str(tmp_path / "first"))
    back_up(target, str(tmp_path / "second"))

    shown = [inspected(path) for path in (store_path, str(tmp_path / "first"), target, str(tmp_path / "second"))]
    for each in shown:
        assert each.pop("bytes") > 10_000
        assert each.pop("name")
    assert shown[0]["partitions"][0]["next"] == {"t": 400}
    assert shown[0]["classes"] == {"apart": 3, "folded": False}
    assert shown[1:] == [shown[0]] * 3


def test_a_backup_is_of_one_moment(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that is written while tables are copied is not in it, not even in part."""
    filled(address)
    with closing(open_store(address)) as store:
        row = store.claim(7)
        before, number, select = everything(store), iter(range(2, 100)), backups._select

        def between(*arguments: Any) -> str:
            nonlocal row
            at = next(number)
            store.save([change(row, at, 7)], [Rejected("t", 1, at, "decode", "")], {"a": b"%d" % at})
            row = row._replace(next={"t": at})
            return select(*arguments)

        monkeypatch.setattr(backups, "_select", between)
        back_up(address, str(tmp_path / "backup"))
        assert everything(store) != before
    monkeypatch.undo()

    with closing(open_store(str(tmp_path / "backup"))) as copy:
        assert everything(copy) == before


def test_nothing_that_is_there_is_replaced(store_path: str, address: str, tmp_path: Path) -> None:
    """A file for a backup, and a database with any row, stay as they are."""
    filled(store_path)
    backup = str(tmp_path / "backup")
    back_up(store_path, backup)
    data = Path(backup).read_bytes()
    with closing(open_store(address)) as store:
        store.save([], [], {"a": b"1"})
        before = everything(store)

        with pytest.raises(NotEmptyError, match="expected an empty database, but 'notes' has rows"):
            restore(address, backup)
        assert everything(store) == before
    with pytest.raises(NotEmptyError, match="exists already"):
        back_up(store_path, backup)
    with pytest.raises(StoreError, match="Expected a file for the backup, but got the address of a database"):
        back_up(store_path, address)
    assert Path(backup).read_bytes() == data


@pytest.mark.parametrize("links", [True, False])
def test_of_two_backups_at_once_one_is_written(
    store_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """The one that ends first is whole, the other one is refused, and nothing else is left."""
    before, backup = filled(store_path), str(tmp_path / "backups" / "copy")
    (tmp_path / "backups").mkdir()
    name, others = backups._name, []

    def backed_up_meanwhile(part: str, target: str) -> None:
        if not others:
            others.append(part)
            back_up(store_path, backup)
        name(part, target)

    def refuse(*paths: str) -> None:
        raise PermissionError

    monkeypatch.setattr(backups, "_name", backed_up_meanwhile)
    if not links:
        monkeypatch.setattr(backups.os, "link", refuse)
    with pytest.raises(NotEmptyError, match="exists already"):
        back_up(store_path, backup)

    assert [path.name for path in (tmp_path / "backups").iterdir()] == ["copy"]
    with closing(open_store(backup)) as copy:
        assert everything(copy) == before


def test_an_empty_database_that_a_monitor_has_opened_is_restored_to(address: str, tmp_path: Path) -> None:
    """Its tables are there, and have no rows."""
    before = filled(str(tmp_path / "state"))
    open_store(address).close()

    restore(address, str(tmp_path / "state"))

    with closing(open_store(address)) as store:
        assert everything(store) == before


def test_what_fails_halfway_leaves_nothing(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a part of a file, nor a table; then it can be done."""
    filled(address)
    backup, select = str(tmp_path / "backup"), backups._select

    def fail(table: str, columns: Any) -> str:
        return select(table, columns) if table < "parts" else "select nothing"

    with monkeypatch.context() as patch:
        patch.setattr(backups, "_select", fail)
        with pytest.raises(StoreError, match=r"postgresql://.*nothing"):
            back_up(address, backup)
    assert list(tmp_path.iterdir()) == []
    back_up(address, backup)
    with closing(open_store(address)) as store:
        store.run("drop schema " + store.run("select current_schema()").fetchone()[0] + " cascade")
        store.run("create schema again")
    empty = address.rpartition("%3D")[0] + "%3Dagain"
    with monkeypatch.context() as patch:
        patch.setattr(backups, "_select", fail)
        with pytest.raises(StoreError, match=r"nothing"):
            restore(empty, backup)
    with pytest.raises(EmptyStoreError):
        inspected(empty)


@pytest.mark.parametrize("damage", ["cut", "text", "none"])
def test_a_damaged_backup_is_refused(address: str, tmp_path: Path, damage: str) -> None:
    path, backup = tmp_path / "state", tmp_path / "backup"
    filled(str(path))
    back_up(str(path), str(backup))
    if damage == "none":
        backup.unlink()
    else:
        data = backup.read_bytes()
        backup.write_bytes(data[: len(data) // 2] if damage == "cut" else b"no state" * 100)

    with pytest.raises(StoreError, match="backup"):
        restore(address, str(backup))
    with pytest.raises(EmptyStoreError):
        inspected(address)


def test_an_earlier_version_is_restored_as_it_was(address: str, tmp_path: Path) -> None:
    """A backup has the version of its store, and a monitor brings the restored one to its own."""
    path = tmp_path / "state.sqlite"
    path.write_bytes(gzip.decompress((Path(__file__).parent / "schema_1.sqlite.gz").read_bytes()))

    restore(address, str(path))
    back_up(address, str(tmp_path / "backup"))

    with open_stored(str(tmp_path / "backup")) as copied, open_stored(address) as stored:
        assert copied.schema == stored.schema == 1
        with pytest.raises(StoreError, match="is of an earlier version and has no panes yet"):
            stored.panes()
    assert inspected(address)["partitions"] == inspected(str(path))["partitions"] != []
    with closing(open_store(address)) as upgraded, closing(open_store(str(path))) as original:
        assert content(upgraded) == content(original)


def test_reading_a_database_creates_nothing(address: str, tmp_path: Path) -> None:
    """A mistaken address gets no tables from a query, an inspection or a backup."""
    reads: list[Callable[[], object]] = [
        lambda: inspected(address),
        lambda: open_panes(address).__enter__(),
        lambda: back_up(address, str(tmp_path / "backup")),
    ]
    for read in reads:
        with pytest.raises(EmptyStoreError, match="expected the tables of a monitor, but there are none"):
            read()
    with closing(open_store(address)) as store:
        assert store.run("select xmin from monitor_schema").fetchall() != []
        assert everything(store)[1:] == ([], [])


def test_the_commands_take_an_address_and_print_no_password(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named without secrets."""
    secret, backup = address.replace("test@", "test:hunter2@"), str(tmp_path / "backup")
    filled(address)
    commands = [["backup", secret, backup], ["inspect", secret], ["restore", backup, secret]]

    assert [main(["monitor", *command]) for command in commands] == [0, 0, 1]

    printed = capsys.readouterr()
    assert "partition 0: " in printed.out
    assert "3 classes apart" in printed.out
    assert "has rows" in printed.err
    assert "hunter2" not in printed.out + printed.err
