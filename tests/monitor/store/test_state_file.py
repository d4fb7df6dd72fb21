"""The state file: one writer, files of others, what is damaged or deleted, exports."""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from support.command_line import run_command
from support.inner_monitor import StoreError
from support.monitor_events import CONFIG, NOW, events, records
from support.refusals import all_refused, refused
from support.stores import execute, monitoring

from stream_metrics.monitor import Monitor, Store, config, open_store

STREAM = records(events(300))


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a state file."""
    return str(tmp_path / "state.sqlite")


def python(program: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a program in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True, **options)


def test_one_process_writes_a_file_or_several_share_it(path: str) -> None:
    """One process has the file for life, and is named; those who share it share it with each other; readers may read.

    After them anybody may have it.
    """
    with monitoring(path) as monitor:
        monitor.step(STREAM)
        monitor.checkpoint()
        for shared in (False, True):
            error = refused(lambda shared=shared: Store(path, shared), StoreError, "only writer, but it is in use by")
            assert f"by process {os.getpid()};" in str(error)
        assert run_command("monitor", "inspect", path).status == 0
    with monitoring(path, shared=True) as one, monitoring(path, parts=[1], shared=True) as two:
        refused(lambda: Store(path), StoreError, "in use by workers that share it")
        one.close()
        two.step(records(events(20), 1))
        two.checkpoint()
        refused(lambda: Store(path), StoreError, "in use by workers that share it")
    open_store(path).close()


OPEN_AND_CLOSE = "import sys; from stream_metrics.monitor import open_store; open_store(sys.argv[1], True).close()"
READ = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select part from state order by part").fetchall())
"""


def test_a_worker_that_leaves_does_not_take_the_log_away(path: str) -> None:
    """It closes the file while others have connections to it, which go on writing what all see."""
    with monitoring(path, parts=[0], shared=True) as one, monitoring(path, parts=[], shared=True) as two:
        one.share()
        assert python(OPEN_AND_CLOSE, path).communicate() == ("", None)
        one.step(STREAM)
        one.checkpoint()
        two.assign([1])
        seen, _ = python(READ, path).communicate()

    assert seen == "[(0,), (1,)]\n"


def test_a_file_that_is_deleted_or_replaced_is_reported(tmp_path: Path) -> None:
    """What is written to the file or its log would be lost, so it raises until that is back; then it is good again."""
    for suffix, shared in itertools.product(("-wal", ""), (False, True)):
        path = str(tmp_path / f"state{suffix}-{shared}")
        about = f"was deleted or replaced while it was in use, or its log {path}-wal"
        monitor = Monitor(CONFIG, Store(path, shared), lambda: NOW)
        monitor.assign([0])
        monitor.step(STREAM[:100])
        os.rename(path + suffix, tmp_path / "moved")
        refused(monitor.checkpoint, StoreError, about)
        Path(path + suffix).touch()
        refused(monitor.checkpoint, StoreError, about)
        os.replace(tmp_path / "moved", path + suffix)
        monitor.checkpoint()
        monitor.step(STREAM)
        os.remove(path + suffix)
        refused(monitor.close, StoreError, about)
        with monitoring(path) as again:
            again.step(STREAM)
        with monitoring(path) as again:
            assert again.assign([0]) == {("t", 0): len(STREAM)}


HOLD = """
import sys
from stream_metrics.monitor import open_store
store = open_store(sys.argv[1])
print("has it", flush=True)
sys.stdin.read()
"""


def test_a_stopped_process_keeps_its_file_and_a_dead_one_does_not(path: str) -> None:
    """What hangs may wake up and write; what was killed will not."""
    with python(HOLD, path, stdin=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "has it\n"
        holder.send_signal(signal.SIGSTOP)
        refused(lambda: Store(path), StoreError, f"process {holder.pid};")
        holder.kill()
        holder.wait()

    Store(path).close()


def test_a_turn_that_does_not_end_is_reported(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is stopped in the middle of a transaction holds up the others; they say so, and go on after it."""
    monkeypatch.setattr("stream_metrics.monitor.store.locks.PATIENCE", 0.2)
    with monitoring(path, shared=True) as monitor:
        monitor.step(STREAM)
        with open(f"{path}.turn", "rb") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            refused(monitor.checkpoint, StoreError, "another worker has been writing for 0 s")
        monitor.checkpoint()
        assert execute(path, "select count(*) from state where revision > 0") == [(1,)]


def test_other_files_are_refused(tmp_path: Path) -> None:
    """A database of another program, a text, a folder, half of a state file: none is overwritten; an empty file is."""
    execute(str(tmp_path / "other"), "create table t (x)")
    (tmp_path / "text").write_bytes(b"not a database, but long enough to be one " * 100)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    with monitoring(str(tmp_path / "half")) as monitor:
        monitor.step(records(events(2000)))
    os.truncate(tmp_path / "half", 50_000)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    def use(name: str) -> Any:
        with monitoring(str(tmp_path / name)) as monitor:
            return monitor.view()

    all_refused(
        [
            (lambda: use("other"), StoreError, "other: expected the state file of a monitor, but it is a database of"),
            (lambda: use("text"), StoreError, "text: file is not a database"),
            (lambda: use("folder"), StoreError, "folder: unable to open"),
            (lambda: use("nowhere/state"), StoreError, "o such file"),
            (lambda: use("half"), StoreError, "malformed"),
        ]
    )
    assert all(path.read_bytes() == data for path, data in before.items() if path.name != "half")
    inspected = run_command("monitor", "inspect", tmp_path / "empty")
    assert (inspected.status, "nothing has been written to it yet" in inspected.err) == (1, True)
    assert use("empty").records.read == 0


def failing(*arguments: Any) -> None:
    """Fail as a full disk does."""
    raise OSError(28, "no space")


def exported(path: Path) -> Monitor:
    """Return a monitor that has exported its counts."""
    monitor = Monitor(structs.replace(CONFIG, store=config.Store(export=str(path))), clock=lambda: NOW)
    monitor.assign([0])
    monitor.step(STREAM)
    monitor.export()
    return monitor


def test_an_export_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault while it is written leaves the one before, and nothing beside it; it has all that was counted."""
    path = tmp_path / "export"
    monitor = exported(path)
    first = path.read_bytes()
    monitor.step(records(events(400)))
    for step in ("fsync", "replace", "chmod"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, failing)
            refused(monitor.export, StoreError, "export: no space")
        assert path.read_bytes() == first
    assert os.listdir(tmp_path) == ["export"]
    monitor.export()
    assert path.stat().st_mode & 0o777 == 0o600
    assert run_command("monitor", "restore", path, tmp_path / "state").status == 0
    with monitoring(str(tmp_path / "state")) as again:
        assert again.counts().to_bytes() == monitor.counts().to_bytes()
    refused(lambda: exported(tmp_path / "nowhere" / "export"), StoreError, "No such file or directory")


def test_an_export_replaces_only_exports(tmp_path: Path) -> None:
    """The file of the source, the state file or any other are refused at the start, and stay as they are."""
    path = tmp_path / "file"
    for there in (b'{"id": 1}\n', b"SQLite format 3\0", b"SMET\x01....\x92\xa9MetricSet\x90"):
        path.write_bytes(there)
        refused(lambda: exported(path), StoreError, "file: expected no file, or an earlier export")
        assert path.read_bytes() == there
    path.write_bytes(b"")
    assert exported(path).counts().to_bytes() == exported(path).counts().to_bytes()


def test_a_damaged_export_changes_nothing(path: str, tmp_path: Path) -> None:
    """It is read before anything is moved; nor is a file that is in use replaced."""
    export = tmp_path / "export"
    exported(export)
    with monitoring(path) as monitor:
        monitor.step(STREAM[:50])
        in_use = run_command("monitor", "restore", export, path)
    before = Path(path).read_bytes()
    export.write_bytes(export.read_bytes()[:-1])
    damaged = run_command("monitor", "restore", export, path)

    assert (in_use.status, damaged.status) == (1, 1)
    assert "in use by process" in in_use.err
    assert "export: Expected the checksum to match" in damaged.err
    assert Path(path).read_bytes() == before
    assert not list(tmp_path.glob("*replaced*")) + list(tmp_path.glob("*restoring*"))


def test_a_checkpoint_is_on_the_disk_before_it_is_acknowledged(path: str) -> None:
    """The write-ahead log is forced to disk with every commit; the file is private to its owner."""
    for name in (path, f"{path}.lock"):
        Path(name).touch(0o644)
    with closing(Store(path)) as store:
        assert store.run("pragma journal_mode").fetchone() == ("wal",)
        assert store.run("pragma synchronous").fetchone() == (2,)  # FULL
        modes = {os.stat(path + suffix).st_mode & 0o777 for suffix in ("", "-wal", "-shm", ".lock")}
    assert modes == {0o600}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
        assert reader.execute("pragma integrity_check").fetchall() == [("ok",)]
