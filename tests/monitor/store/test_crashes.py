"""Monitors that are killed, stopped, or run out of disk space: in the end every event is counted exactly once."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import postgres
from support.monitor_events import CONFIG, NOW, counted, events, lines, offline, stored_panes
from support.monitor_worker import CRASHED, STALE
from support.stores import TABLES, new_address

from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources.lines import Lines
from stream_metrics.monitor.store import Store
from stream_metrics.monitor.store.opening import is_address, open_store
from stream_metrics.wire import decoded

KILLS = 20
DATA = b"".join(line + b"\n" for line in lines(events(1200, seed=3)))
OFFLINE = offline(Lines("events.jsonl", 0).add(DATA))
WHOLE, PANES = counted(OFFLINE), stored_panes(OFFLINE)


class Processes:
    """A process that forks monitors."""

    def __init__(self) -> None:
        tests = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            [sys.executable, str(tests / "support" / "monitor_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])},
        )

    def start(self, **order: Any) -> int:
        """Have a monitor forked, and return its process, or what else is answered."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._answer())

    def end(self) -> int:
        """Return how the last monitor ended, once it has."""
        return int(self._answer())

    def running(self, child: int) -> bool:
        """Whether a monitor has not ended; the process that forked it asks later how it did."""
        return "Z (" not in Path(f"/proc/{child}/status").read_text()

    def run(self, **order: Any) -> int:
        """Have a monitor forked, and return how it ended."""
        self.start(**order)
        return self.end()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """The process that forks monitors."""
    made = Processes()
    yield made
    made.close()


@pytest.fixture
def order(store_path: str, tmp_path: Path) -> dict[str, Any]:
    """The order to every monitor of a test, with a store of each kind."""
    (tmp_path / "events.jsonl").write_bytes(DATA)
    return {"state": store_path, "file": str(tmp_path / "events.jsonl")}


@pytest.fixture
def file_order(tmp_path: Path) -> dict[str, Any]:
    """The same with a state file."""
    (tmp_path / "events.jsonl").write_bytes(DATA)
    return {"state": str(tmp_path / "state.sqlite"), "file": str(tmp_path / "events.jsonl")}


def reached(state: str) -> int:
    """Return the offset that is stored."""
    store = open_store(state)
    found = store._run("select next from state").fetchone()
    store.close()
    return dict(decoded(found[0])).get("events.jsonl", 0) if found else 0


def check(state: str) -> None:
    """All that is stored is what one pass over the file gives, and the file is sound."""
    monitor = Monitor(CONFIG, open_store(state), lambda: NOW)
    offsets = monitor.assign([0])
    found = counted(monitor)
    assert monitor.store is not None
    sound = is_address(state) or monitor.store._run("pragma integrity_check").fetchall() == [("ok",)]
    panes = stored_panes(monitor)
    letters = {letter.offset for letter in monitor.store.letters(1000)}
    monitor.close()

    assert offsets == {("events.jsonl", 0): len(DATA)}
    assert found == WHOLE
    assert panes == PANES
    assert sound
    assert len(letters) == sum(WHOLE[2].values())


def emptied(state: str) -> None:
    """Have nothing in a store."""
    store = open_store(state)
    for table in TABLES:
        store._run(f"delete from {table}")
    store.close()


def test_twenty_kills_at_random_moments(processes: Processes, order: dict[str, Any]) -> None:
    """SIGKILL whenever, start again, twenty times over: the counts are those of an offline recount, byte for byte."""
    chance, mean, kills, moments = random.Random(0), 0.1, 0, [0]
    while kills < KILLS:
        child = processes.start(**order, pause=0.01, wait=False)
        time.sleep(chance.uniform(0, mean))
        os.kill(child, signal.SIGKILL)
        ended = processes.start(end=child)
        assert ended in (-signal.SIGKILL, 0)
        kills += ended != 0
        moments.append(reached(order["state"]))
        mean *= 1.3 if moments[-1] == moments[-2] else 0.7
        if ended == 0:  # the end of the file: once more from the start
            check(order["state"])
            emptied(order["state"])

    assert processes.run(**order) == 0
    assert len(set(moments)) >= 3
    check(order["state"])


def test_a_death_before_every_statement(processes: Processes, order: dict[str, Any]) -> None:
    """From the claim to the last statement of a checkpoint and into the next: whatever was written is whole."""
    for crash in range(32):
        assert processes.run(**order, crash=crash) in (CRASHED, 0)

    assert processes.run(**order) == 0
    check(order["state"])


def test_a_death_in_the_middle_of_a_write(processes: Processes, file_order: dict[str, Any]) -> None:
    """The write that would make the log of the database longer than so many bytes kills, in the middle of a commit."""
    ends = [processes.run(**file_order, die=50_000 + 70_123 * at) for at in range(12)]

    assert ends.count(-signal.SIGXFSZ) >= 8
    assert set(ends) <= {-signal.SIGXFSZ, 0}
    assert processes.run(**file_order) == 0
    check(file_order["state"])


def test_a_zombie_wakes_up(processes: Processes, order: dict[str, Any]) -> None:
    """A monitor is stopped, another takes its partition and reads on; the first wakes up and is refused."""
    child = processes.start(**order, shared=True, stop=5, wait=False)
    while "T (" not in Path(f"/proc/{child}/status").read_text():
        time.sleep(0.01)

    assert processes.run(**order, shared=True) == 0
    os.kill(child, signal.SIGCONT)
    assert processes.start(end=child) == STALE
    check(order["state"])


@pytest.fixture
def database_order(postgres_server: str, tmp_path: Path) -> dict[str, Any]:
    """The order to every monitor of a test, with a database."""
    (tmp_path / "events.jsonl").write_bytes(DATA)
    return {"state": new_address(postgres_server), "file": str(tmp_path / "events.jsonl")}


def test_connections_that_break_at_any_moment(
    processes: Processes, database_order: dict[str, Any], postgres_server: str
) -> None:
    """The server ends them, also while a checkpoint is committed: none is lost, and none is written twice."""
    import psycopg

    ends, broken = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()", 0
    chance, child = random.Random(1), 0
    with psycopg.connect(f"host={postgres_server} user=test dbname=postgres", autocommit=True) as connection:
        child = processes.start(**database_order, pause=0.01, wait=False)
        while processes.running(child):
            broken += len(connection.execute(f"{ends} and application_name like 'stream%'").fetchall())
            time.sleep(chance.uniform(0.0, 0.1))

    assert processes.start(end=child) == 0
    assert broken > 5
    assert processes.run(**database_order) == 0
    check(database_order["state"])


def test_a_server_that_crashes_is_waited_for(
    processes: Processes, database_order: dict[str, Any], postgres_server: str
) -> None:
    """It is started again three times while a monitor counts; nothing is lost, and nothing counted twice."""
    folder = postgres.binaries()
    assert folder is not None
    child = processes.start(**database_order, pause=0.03, wait=False)
    for _ in range(3):
        time.sleep(0.3)
        postgres.crash(folder, postgres_server)

    assert processes.start(end=child) == 0
    check(database_order["state"])


def test_a_limit_on_files_is_said_and_survived(processes: Processes, file_order: dict[str, Any]) -> None:
    """No checkpoint can be written for a while; counting goes on, and all is there once it can."""
    assert processes.run(**file_order, limit=100_000) == 0
    check(file_order["state"])


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """A file system of 600 kB at `tmp_path / "small"`; calling it with a size gives it another."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o"]
    if subprocess.run([*mount, "size=600k", "small", str(folder)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield lambda size: subprocess.run([*mount, f"remount,size={size}", str(folder)], check=True)
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_and_survived(
    file_order: dict[str, Any], small: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    """The disk is full; counting goes on; there is space again, and everything is written."""
    state = str(Path(file_order["state"]).parent / "small" / "state")
    monitor, records = Monitor(CONFIG, Store(state), lambda: NOW), Lines("events.jsonl", 0).add(DATA)
    monitor.assign([0])

    def steps(some: list[Record]) -> None:
        for start in range(0, len(some), 100):
            monitor._checkpoints._ended = -1000.0  # long ago
            monitor.step(some[start : start + 100])

    steps(records[:-300])
    problem = monitor.last_error
    small("100m")
    steps(records[-300:])
    monitor.close()

    assert problem is not None
    assert "full" in problem or "disk I/O error" in problem
    assert problem in caplog.text
    assert monitor.last_error is None
    check(state)


def test_limits_are_as_before() -> None:
    """These tests limit other processes only."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
