"""The state file: one writer, files of others, what is damaged or deleted, exports."""

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
from msgspec import structs
from support.command_line import run_command
from support.inner_monitor import StoreError
from support.monitor_events import CONFIG, NOW, events, offline, records
from support.refusals import all_refused, refused
from support.stores import execute, monitoring

from stream_metrics.monitor import Monitor, Store, config

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


def exported(path: Path, at_once: int = 777) -> Monitor:
    """Return a monitor that has exported its counts."""
    monitor = offline(STREAM, structs.replace(CONFIG, store=config.StoreTable(export=str(path))), at_once)
    monitor.export()
    return monitor


def test_an_export_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault while it is written leaves the one before, and nothing beside it; it has all that was counted."""

    def failing(*arguments: Any) -> None:
        raise OSError(28, "no space")

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
    assert run_command("monitor", "restore", path, tmp_path / "state").status == 0
    with monitoring(str(tmp_path / "state")) as again:
        assert again.counts().to_bytes() == monitor.counts().to_bytes()


def test_an_export_replaces_only_exports(tmp_path: Path) -> None:
    """Any other file is refused at the start, and stays as it is; equal streams have equal exports, in any batches."""
    path = tmp_path / "file"
    for there in (b'{"id": 1}\n', b"SQLite format 3\0", b"SMET\x01....\x92\xa9MetricSet\x90"):
        path.write_bytes(there)
        refused(lambda: exported(path), StoreError, "file: expected no file, or an earlier export")
        assert path.read_bytes() == there
    path.write_bytes(b"")
    exported(path)
    first = path.read_bytes()
    exported(path, 50)
    assert path.read_bytes() == first
    refused(lambda: exported(tmp_path / "nowhere" / "export"), StoreError, "No such file or directory")


def test_an_export_takes_the_place_of_a_damaged_file(path: str, tmp_path: Path) -> None:
    """It has the counts and offsets of its moment; what waited then has expired, which the partition says.

    It is read before anything is moved, and no file that is in use is replaced.
    """
    export = tmp_path / "export"
    with monitoring(path, structs.replace(CONFIG, store=config.StoreTable(export=str(export)))) as monitor:
        monitor.step(STREAM[:50])
        monitor.export()
        in_use = run_command("monitor", "restore", export, path)
        monitor.step(STREAM)
        counts, counters = monitor.counts().to_bytes(), monitor.stats().counters
    good = export.read_bytes()  # which close has written
    before = Path(path).read_bytes()
    export.write_bytes(good[:-1])
    damaged = run_command("monitor", "restore", export, path)

    assert (in_use.status, damaged.status) == (1, 1)
    assert "in use by process" in in_use.err
    assert "export: Expected the checksum to match" in damaged.err
    assert Path(path).read_bytes() == before
    assert not list(tmp_path.glob("*replaced*")) + list(tmp_path.glob("*restoring*"))
    export.write_bytes(good)
    Path(path).write_bytes(b"junk" * 5000)
    refused(lambda: Store(path), StoreError, "file is not a database")
    restored = run_command("monitor", "restore", export, path)
    (aside,) = tmp_path.glob("state.sqlite.*replaced*")
    assert restored.status == 0
    assert str(aside) in restored.out + restored.err
    assert aside.read_bytes() == b"junk" * 5000
    with monitoring(path) as again:
        assert again.assign([0]) == {("t", 0): len(STREAM)}
        assert again.counts().to_bytes() == counts
        assert again.stats().pending == 0
        assert again.stats().counters.predictions_expired == counters.pending + counters.predictions_expired
        assert again.view().incomplete[0].startswith("restored from an export: ")
        again.step(records(events(20)))
    with monitoring(path) as third:
        assert third.assign([0]) == {("t", 0): len(STREAM)}
