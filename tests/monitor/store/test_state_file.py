"""The state file: one writer, files of others, what is damaged or deleted, backups."""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run_command
from support.inner_monitor import StoreError
from support.monitor_events import CONFIG, NOW, events, records
from support.refusals import all_refused, refused
from support.stores import execute, monitoring

from stream_metrics.monitor import Monitor, Store

STREAM = records(events(300))


OPEN = """
import sys
from stream_metrics.monitor import open_store
store = open_store(sys.argv[1], bool(sys.argv[2]))
print("has it", flush=True)
sys.stdin.read()
store.close()
"""
READ = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select part from state order by part").fetchall())
"""


def python(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a program in a process of its own."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", program, *arguments], text=True, **pipes)


def test_one_process_writes_a_file_or_several_share_it(path: str) -> None:
    """One process has the file for life, and is named; those who share it share it with each other; readers may read.

    After them anybody may have it. What is stopped may wake up and write; what was killed will not.
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
    with python(OPEN, path, "") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "has it\n"
        holder.send_signal(signal.SIGSTOP)
        refused(lambda: Store(path), StoreError, f"process {holder.pid};")
        holder.kill()
        holder.wait()
    with closing(Store(path)) as store:
        assert store.run("pragma journal_mode").fetchone() == ("wal",)
        assert store.run("pragma synchronous").fetchone() == (2,)  # FULL: a checkpoint is on the disk once it returns


def test_a_worker_that_leaves_does_not_take_the_log_away(path: str) -> None:
    """It closes the file while others have connections to it, which go on writing what all see."""
    with monitoring(path, parts=[0], shared=True) as one, monitoring(path, parts=[], shared=True) as two:
        one.share()
        assert python(OPEN, path, "shared").communicate() == ("has it\n", None)
        one.step(STREAM)
        one.checkpoint()
        two.assign([1])
        assert python(READ, path).communicate() == ("[(0,), (1,)]\n", None)


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


def test_a_turn_that_does_not_end_is_reported(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is stopped in the middle of a transaction holds up the others; they say so, and go on after it."""
    monkeypatch.setattr("stream_metrics.monitor.store.sqlite.PATIENCE", 0.2)
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


def test_a_backup_takes_the_place_of_a_damaged_file(path: str, tmp_path: Path) -> None:
    """It is read before anything is moved, and no file that is in use is replaced."""
    backup = tmp_path / "backup"
    with monitoring(path) as monitor:
        monitor.step(STREAM)
        monitor.checkpoint()
        assert run_command("monitor", "backup", path, backup).status == 0
        in_use, counts = run_command("monitor", "restore", backup, path), monitor.counts().parts()
    good, before = backup.read_bytes(), Path(path).read_bytes()
    for data in (good[:-5000], b"SMET", b""):
        backup.write_bytes(data)
        damaged = run_command("monitor", "restore", backup, path)
        assert (damaged.status, str(backup) in damaged.err) == (1, True), damaged.err

    assert in_use.status == 1
    assert "in use by process" in in_use.err
    assert Path(path).read_bytes() == before
    assert not list(tmp_path.glob("*replaced*")) + list(tmp_path.glob("*restoring*"))
    backup.write_bytes(good)
    Path(path).write_bytes(b"junk" * 5000)
    refused(lambda: Store(path), StoreError, "file is not a database")
    restored = run_command("monitor", "restore", backup, path)
    (aside,) = tmp_path.glob("state.sqlite.*replaced*")
    assert restored.status == 0
    assert str(aside) in restored.out + restored.err
    assert aside.read_bytes() == b"junk" * 5000
    with monitoring(path) as again:
        assert again.assign([0]) == {("t", 0): len(STREAM)}
        assert again.counts().parts() == counts
