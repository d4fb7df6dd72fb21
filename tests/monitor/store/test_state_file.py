"""The state file: one writer, files of others, exports."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.stores import change

from stream_metrics.monitor.config import Config
from stream_metrics.monitor.config import Store as StoreConfig
from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import Row, Store, StoreError, locks, offsets
from stream_metrics.monitor.store.backups import restore
from stream_metrics.monitor.store.export import Export, Exported, read_export, write_export
from stream_metrics.monitor.store.files import read_only
from stream_metrics.monitor.store.rows import EmptyStoreError, checksum
from stream_metrics.monitor.store.schema import SCHEMA, VERSIONS


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a state file."""
    return str(tmp_path / "state.sqlite")


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    """A state file that is closed at the end."""
    made = Store(path)
    yield made
    made.close()


def test_a_second_writer_is_refused_at_the_start(store: Store, path: str) -> None:
    """One process has the file for life, and is named; readers are welcome."""
    store.save([change(store.claim(0), 1)], [], {})

    for shared in (False, True):
        with pytest.raises(StoreError, match=rf"only writer, but it is in use by process {os.getpid()}"):
            Store(path, shared)
    reader = read_only(path)
    assert reader.execute("select state from state").fetchall() == [(b"state 1",)]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader.execute("delete from state")
    reader.close()


def test_sharing_keeps_others_out(path: str) -> None:
    """Those who share a file share it with those who share it; after them anybody may have it."""
    one, two = Store(path, shared=True), Store(path, shared=True)

    with pytest.raises(StoreError, match="in use by workers that share it"):
        Store(path)
    one.close()
    two.save([change(two.claim(0), 1)], [], {})
    two.close()
    Store(path).close()


def test_a_worker_that_leaves_does_not_take_the_log_away(path: str) -> None:
    """It closes the file while another has two connections to it, which go on writing what all see."""
    one = Store(path, shared=True)
    two = one.another()
    program = "import sys; from stream_metrics.monitor.store import Store; Store(sys.argv[1], True).close()"
    subprocess.run([sys.executable, "-c", program, path], check=True)
    one.claim(0)
    two.claim(1)
    seen = subprocess.run([sys.executable, "-c", LOOKER, path], capture_output=True, text=True, check=True).stdout
    two.close()
    one.close()

    assert seen == "[(0,), (1,)]\n"


LOOKER = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select part from state order by part").fetchall())
"""


@pytest.mark.parametrize("shared", [False, True])
def test_a_log_that_is_deleted_is_said(path: str, shared: bool) -> None:
    """Writing to it would be lost, so it raises; the file is good again once it was opened again."""
    store = Store(path, shared)
    row = store.claim(0)
    os.remove(f"{path}-wal")
    with pytest.raises(StoreError, match=r"deleted or replaced while it was in use, or its log .*-wal"):
        store.save([change(row, 1)], [], {})
    with pytest.raises(StoreError, match="deleted or replaced"):
        store.close()
    again = Store(path, shared)
    again.save([change(again.claim(0), 2)], [], {})
    again.close()

    with closing(read_only(path)) as reader:
        assert reader.execute("select state from state").fetchall() == [(b"state 2",)]


HOLDER = """
import sys, time
from stream_metrics.monitor.store import Store
store = Store(sys.argv[1], shared=len(sys.argv) > 2)
if len(sys.argv) > 2:
    store._lock.turn().__enter__()
print("has it", flush=True)
time.sleep(60)
"""


def test_a_stopped_process_keeps_its_file_and_a_dead_one_does_not(path: str) -> None:
    """What hangs may wake up and write; what was killed will not."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "has it\n"
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(StoreError, match=f"process {holder.pid};"):
            Store(path)
        holder.kill()
        holder.wait()

    Store(path).close()


def test_a_turn_that_does_not_end_is_said(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is stopped in the middle of a transaction holds up the others; they say so, and go on after it."""
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    one, two = Store(path, shared=True), Store(path, shared=True)
    row = one.claim(0)
    with two._lock.turn(), pytest.raises(StoreError, match="another worker has been writing for 0 s"):
        one.save([change(row, 1)], [], {})

    one.save([change(row, 1)], [], {})

    assert two.claim(0).next == {"t": 1}
    one.close()
    two.close()


def test_a_newer_schema_is_refused_with_both_numbers(path: str) -> None:
    """What a later version wrote is not touched."""
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"pragma user_version = {SCHEMA + 1}")
    connection.close()

    said = f"expected schema {SCHEMA} or an earlier one, but it has schema {SCHEMA + 1}"
    for opened in (Store, read_only):
        with pytest.raises(StoreError, match=said):
            opened(path)


def test_a_file_of_the_first_schema_is_brought_to_this_one(path: str) -> None:
    """Its content stays, it can be written, and a reader of this version reads it before and after."""
    with sqlite3.connect(path) as connection:
        for statement in VERSIONS[0].split(";"):
            connection.execute(statement)
        data = offsets({"t": 5}), b"state"
        connection.execute("insert into state values (0, 3, ?, ?, ?, 0, 1.5)", (*data, checksum(*data)))
        connection.execute("insert into parts values (0, 'total', ?, ?)", (b"t", checksum(b"t")))
        connection.execute("insert into dead_letters values ('t', 0, 3, 'decode', 'no JSON')")
        connection.execute("pragma application_id = 0x534D4F4E")
        connection.execute("pragma user_version = 1")
    connection.close()
    read_only(path).close()

    store = Store(path)
    row = store.claim(0)
    store.save([change(row, 6)], [], {})

    assert row == Row(0, 4, {"t": 5}, b"state", {"total": b"t"}, False, [], [], 1.5, [])
    assert store.letters() == [Rejected("t", 0, 3, "decode", "no JSON")]
    assert store.claim(0).parts == {"total": b"6", "pane/6": b"p"}
    store.close()
    assert sqlite3.connect(path).execute("pragma user_version").fetchone() == (SCHEMA,)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    """A database of another program, a text, a folder: none is overwritten."""
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("create table t (x)")
    connection.close()
    (tmp_path / "text").write_bytes(b"not a database, but long enough to be one " * 100)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()

    with pytest.raises(StoreError, match="other: expected the state file of a monitor, but it is a database of ano"):
        Store(str(tmp_path / "other"))
    with pytest.raises(StoreError, match="text: file is not a database"):
        Store(str(tmp_path / "text"))
    with pytest.raises(StoreError, match="folder: unable to open"):
        Store(str(tmp_path / "folder"))
    with pytest.raises(StoreError, match=r"no such file|No such file"):
        Store(str(tmp_path / "nowhere" / "state"))
    with pytest.raises(EmptyStoreError, match="nothing has been written to it yet"):
        read_only(str(tmp_path / "empty"))
    Store(str(tmp_path / "empty")).close()


def test_a_file_cut_short_is_refused(path: str) -> None:
    """Half of a state file is none."""
    store = Store(path)
    store.save([change(store.claim(0), 1)], [], {"big": b"x" * 100_000})
    store.close()
    os.truncate(path, 30_000)

    def use() -> None:
        cut = Store(path)
        try:
            cut.claim(0)
            cut.notes()
        finally:
            cut.close()

    with pytest.raises(StoreError, match=r"malformed|not a database"):
        use()


def test_an_export_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault while it is written leaves the one before, and nothing beside it."""
    path = str(tmp_path / "export")
    first = Export(1.0, [Exported(0, {"t": 5}, b"s", {"total": b"x"})])
    write_export(path, first)
    for step in ("fsync", "replace", "chmod"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, _failing)
            with pytest.raises(StoreError, match="export: no space"):
                write_export(path, Export(2.0, []))

    assert read_export(path) == first
    assert os.listdir(tmp_path) == ["export"]
    with pytest.raises(StoreError, match="No such file or directory"):
        write_export(str(tmp_path / "nowhere" / "export"), first)


@pytest.mark.parametrize("there", [b'{"id": 1}\n', b"SQLite format 3\0", b"SMET\x01....\x92\xa9MetricSet\x90"])
def test_an_export_replaces_only_exports(tmp_path: Path, there: bytes) -> None:
    """The file of the source, the state file or any other are refused at the start, and stay as they are."""
    path = tmp_path / "file"
    config = Config(store=StoreConfig(export=str(path)))
    path.write_bytes(there)
    with pytest.raises(StoreError, match=r"file: expected no file, or an earlier export"):
        Monitor(config)
    assert path.read_bytes() == there
    path.write_bytes(b"")
    for _ in range(2):
        monitor = Monitor(config, Store(str(tmp_path / "state")))
        monitor.assign([0])
        monitor.close()

    assert len(read_export(str(path)).partitions) == 1


def _failing(*arguments: Any) -> None:
    raise OSError(28, "no space")


def test_a_damaged_export_changes_nothing(store: Store, path: str, tmp_path: Path) -> None:
    """It is read before anything is moved; nor is a file that is in use replaced."""
    export = tmp_path / "export"
    write_export(str(export), Export(1.0, []))
    with pytest.raises(StoreError, match="in use by process"):
        restore(path, str(export))
    export.write_bytes(export.read_bytes()[:-1])
    store.close()

    with pytest.raises(StoreError, match="export: Expected the checksum to match"):
        restore(path, str(export))
    assert not [name for name in os.listdir(tmp_path) if "damaged" in name]
    store.__init__(path)  # type: ignore[misc]


def test_a_checkpoint_is_on_the_disk_before_it_is_acknowledged(path: str, tmp_path: Path) -> None:
    """The write-ahead log is forced to disk with every commit."""
    store = Store(path)

    assert store._run("pragma journal_mode").fetchone() == ("wal",)
    assert store._run("pragma synchronous").fetchone() == (2,)  # FULL
    store.save([change(store.claim(0), 1)._replace(written=1.5e9)], [], {})
    assert store._run("select written from state").fetchone()[0] == 1.5e9
    store.close()
