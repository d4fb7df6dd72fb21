"""Backups: either store into one kind of file, and back into either, over nothing that is there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from support.command_line import run_command, start_command
from support.monitor_events import counted, events, offline, records
from support.stores import content, execute, failing, monitoring, new_address

from stream_metrics.monitor import open_store

STREAM = records(events(600, seed=3))
OLD = Path(__file__).parent / "schema_1.sqlite.gz"


def run(command: str, *arguments: Any, fails: str = "") -> str:
    """Run a command about a store, which must fail with a message if that is given, and return what it prints."""
    result = run_command(*([] if command == "query" else ["monitor"]), command, *arguments)
    assert result.status == bool(fails), result.err
    assert fails in result.err
    return result.out


def filled(path: str) -> dict[str, list[Any]]:
    """Write something into every table of a new store, and return all of it."""
    with monitoring(path, parts=[0, 7]) as monitor:
        monitor.annotate("deployed")
        monitor.step([*STREAM[:400], *records(events(50), 7)])
        monitor.checkpoint()
    execute(path, "delete from parts where part = 7 and name = 'total'")  # which are no counts
    execute(path, "insert into pending values (7, 1, 'x', 'y')" if "postgresql" in path else "select 1")
    return content(path, owners=True)


def test_a_store_is_backed_up_and_restored(store_path: str, tmp_path: Path) -> None:
    """Nothing is lost or added, and a backup of the copy is the same; `inspect` prints the same for all."""
    before, paths = filled(store_path), [store_path, *(str(tmp_path / name) for name in ("first", "copy", "second"))]
    run("backup", store_path, paths[1])
    run("restore", paths[1], paths[2])
    run("backup", paths[2], paths[3])

    assert [content(path, owners=True) for path in paths] == [before] * 4
    shown = [json.loads(run("inspect", path, "--format", "json")) for path in paths]
    assert all(each.pop("bytes") > 10_000 for each in shown)
    assert shown[0]["partitions"][0]["next"] == {"t": 400}
    assert shown[0]["classes"] == {"apart": 3, "folded": False}
    assert shown[1:] == [shown[0]] * 3
    assert Path(paths[1]).stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("first?*"))


def test_nothing_that_is_there_is_replaced(store_path: str, address: str, tmp_path: Path) -> None:
    """A file for a backup, and a database with any row, stay as they are; an opened database without rows is filled.

    A monitor that reads on from what was restored has all counts.
    """
    before, backup = filled(store_path), tmp_path / "backup"
    run("backup", store_path, backup)
    data = backup.read_bytes()
    with monitoring(address, parts=[]):
        pass
    execute(address, "insert into notes values ('a', 'b', 1)")
    run("restore", backup, address, fails="expected an empty database, but 'notes' has rows")
    run("backup", store_path, backup, fails="exists already")
    run("backup", store_path, address, fails="Expected a file for the backup, but got the address of a database")
    assert {table for table, rows in content(address).items() if rows} == {"notes"}
    assert backup.read_bytes() == data

    execute(address, "delete from notes")
    for path in (address, str(tmp_path / "restored")):
        run("restore", backup, path)
        assert content(path, owners=True) == before
        with monitoring(path) as monitor:
            assert [row.text for row in monitor.annotations.rows] == ["deployed"]
            monitor.step(STREAM)
            monitor.lost([7])
            assert counted(monitor)[:2] == counted(offline(STREAM))[:2]


def test_of_backups_at_once_one_is_written(store_path: str, tmp_path: Path) -> None:
    """The one that ends first is whole, the others are refused, and nothing else is left."""
    before, folder = filled(store_path), tmp_path / "backups"
    folder.mkdir()
    processes = [start_command("monitor", "backup", store_path, folder / "copy") for _ in range(3)]
    errors = [process.communicate()[1].decode() for process in processes]

    assert sorted(process.returncode for process in processes) == [0, 1, 1]
    assert sum("exists already" in error for error in errors) == 2
    assert [path.name for path in folder.iterdir()] == ["copy"]
    assert content(str(folder / "copy"), owners=True) == before


def test_a_backup_or_restore_that_fails_leaves_nothing(postgres_server: str, address: str, tmp_path: Path) -> None:
    """Neither part of a file, nor table, nor row, also from a damaged backup or none; then it can be done."""
    before, backup = filled(address), tmp_path / "backups" / "copy"
    backup.parent.mkdir()
    execute(address, "alter table notes rename to gone")
    run("backup", address, backup, fails="notes")
    assert list(backup.parent.iterdir()) == []
    execute(address, "alter table gone rename to notes")
    run("backup", address, backup)

    execute(address, *(f"delete from {table}" for table in before))
    with failing(address, "panes", "insert"):
        run("restore", backup, address, fails="no space in this test")
    assert not any(content(address).values())
    data, new = backup.read_bytes(), new_address(postgres_server)
    for damaged in (data[: len(data) // 2], b"no state" * 100, None):
        backup.unlink() if damaged is None else backup.write_bytes(damaged)
        run("restore", backup, new, fails="backup")
        run("inspect", new, fails="expected the tables of a monitor, but there are none")
    backup.write_bytes(data)
    run("restore", backup, address)
    assert content(address, owners=True) == before


def test_an_earlier_version_is_restored_as_it_was(address: str, tmp_path: Path) -> None:
    """A backup has the version of its store, and a monitor brings the restored one to its own."""
    path = tmp_path / "state.sqlite"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    run("restore", path, address)
    run("backup", address, tmp_path / "backup")

    shown = [json.loads(run("inspect", each, "--format", "json")) for each in (path, address, tmp_path / "backup")]
    assert [each["schema"] for each in shown] == [1, 1, 1]
    assert shown[0]["partitions"] == shown[1]["partitions"] == shown[2]["partitions"] != []
    run("query", address, fails="is of an earlier version and has no panes yet")
    for each in (address, str(path)):
        open_store(each).close()
    assert content(address) == content(str(path))


def test_reading_a_database_creates_nothing(address: str, tmp_path: Path) -> None:
    """A mistaken address gets no tables from a query, an inspection or a backup, and no message has its password."""
    secret = address.replace("test@", "test:hunter2@")
    for command in (["inspect", secret], ["query", secret], ["backup", secret, tmp_path / "backup"]):
        run(*command, fails="expected the tables of a monitor, but there are none")
    assert content(address) == {}
    filled(address)
    printed = [run_command("monitor", *each) for each in (
        ["backup", secret, tmp_path / "backup"], ["inspect", secret], ["restore", tmp_path / "backup", secret]
    )]  # fmt: skip
    assert [result.status for result in printed] == [0, 0, 1]
    assert "partition 0: " in printed[1].out
    assert "3 classes apart" in printed[1].out
    assert not any("hunter2" in result.out + result.err for result in printed)
