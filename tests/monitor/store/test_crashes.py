"""Monitors that are killed, stopped, or run out of disk space: in the end every event is counted exactly once."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import postgres
from support.command_line import until
from support.inner_monitor import StoreError
from support.monitor_events import CONFIG, NOW, counted, events, lines, stored_panes
from support.monitor_worker import DIED, FAILED, STALE, Processes
from support.stores import columns, execute, monitoring, new_address

from stream_metrics.monitor import Monitor, config, make_source, open_store

KILLS = 20
DATA = b"".join(line + b"\n" for line in lines(events(1200, seed=3)))


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """The process that forks monitors."""
    started = Processes()
    yield started
    started.close()


@pytest.fixture
def file(tmp_path: Path) -> str:
    """The path of a file of events."""
    (tmp_path / "events.jsonl").write_bytes(DATA)
    return str(tmp_path / "events.jsonl")


@pytest.fixture
def order(store_path: str, file: str) -> dict[str, Any]:
    """The order to every monitor of a test, with a store of each kind."""
    return {"state": store_path, "file": file}


@pytest.fixture
def file_order(tmp_path: Path, file: str) -> dict[str, Any]:
    """The same with a state file."""
    return {"state": str(tmp_path / "state.sqlite"), "file": file}


@pytest.fixture
def database_order(postgres_server: str, file: str) -> dict[str, Any]:
    """The same with a database."""
    return {"state": new_address(postgres_server), "file": file}


def reached(state: str) -> int:
    """Return the offset that is stored."""
    monitor = Monitor(CONFIG, open_store(state), lambda: NOW)
    offset = monitor.stored_offsets().get(("events.jsonl", 0), 0)
    monitor.close()
    return offset


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """What one pass over the file counts, and its panes."""
    path = tmp_path_factory.mktemp("whole") / "events.jsonl"
    path.write_bytes(DATA)
    source, monitor = make_source(config.Source(path=str(path))), Monitor(CONFIG, clock=lambda: NOW)
    source.start(monitor)
    while records := source.poll(0):
        monitor.step(records)
    source.close()
    return counted(monitor), stored_panes(monitor)


@pytest.fixture
def check(whole: tuple[Any, Any]) -> Callable[[str], None]:
    """All that is stored is what one pass over the file gives, and the file is sound."""

    def checked(state: str) -> None:
        with monitoring(state) as monitor:
            assert monitor.assign([0]) == {("events.jsonl", 0): len(DATA)}
            assert counted(monitor) == whole[0]
            assert stored_panes(monitor) == whole[1]
        letters = execute(state, "select count(*) from dead_letters")
        assert letters == [(sum(whole[0][2].values()),)]
        assert state.startswith("postgresql") or execute(state, "pragma integrity_check") == [("ok",)]

    return checked


def test_twenty_kills_at_random_moments(
    processes: Processes, order: dict[str, Any], check: Callable[[str], None]
) -> None:
    """Killed after any processor time and started again, twenty times over: the counts are those of one pass."""
    chance, mean, kills, moments = random.Random(0), 0.05, 0, [0]
    while kills < KILLS:
        ended = processes.run(**order, cpu=chance.uniform(0.001, mean))
        assert ended in (-signal.SIGPROF, 0)
        kills += ended != 0
        moments.append(reached(order["state"]))
        mean *= 1.3 if moments[-1] == moments[-2] else 0.7
        if ended == 0:  # the end of the file: once more from the start
            check(order["state"])
            execute(order["state"], *(f"delete from {table}" for table in columns(order["state"])))

    assert processes.run(**order) == 0
    assert len(set(moments)) >= 3
    check(order["state"])


def test_a_death_before_every_statement(
    processes: Processes, file_order: dict[str, Any], check: Callable[[str], None]
) -> None:
    """From the tables to the last statement of a checkpoint and into the next: whatever was written is whole."""
    ends = [processes.run(**file_order, statement=statement) for statement in range(60)]

    assert ends.count(DIED) >= 50
    assert set(ends) <= {DIED, 0}
    assert processes.run(**file_order) == 0
    check(file_order["state"])


def test_a_death_in_the_middle_of_a_write(
    processes: Processes, file_order: dict[str, Any], check: Callable[[str], None]
) -> None:
    """The write that would make the log of the database longer than so many bytes kills, in the middle of a commit."""
    ends = [processes.run(**file_order, die=50_000 + 70_123 * at) for at in range(12)]

    assert ends.count(-signal.SIGXFSZ) >= 8
    assert set(ends) <= {-signal.SIGXFSZ, 0}
    assert processes.run(**file_order) == 0
    check(file_order["state"])


def state_of(process: int) -> str:
    """Return the state of a process: R, S, T if it is stopped, Z if it has ended."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_an_earlier_owner_that_wakes_up(
    processes: Processes, order: dict[str, Any], check: Callable[[str], None]
) -> None:
    """A monitor is stopped, another takes its partition and reads on; the first wakes up and is refused."""
    child = processes.start(**order, shared=True, stop=5)
    until(lambda: state_of(child) == "T")

    assert processes.run(**order, shared=True) == 0
    os.kill(child, signal.SIGCONT)
    assert processes.wait(child) == STALE
    check(order["state"])


def test_connections_that_break_at_any_moment(
    processes: Processes, database_order: dict[str, Any], check: Callable[[str], None]
) -> None:
    """The server ends them, also while a checkpoint is committed: none is lost, and none is written twice."""
    import psycopg

    select = "from pg_stat_activity where pid <> pg_backend_pid() and application_name like 'stream%'"
    broken, child = 0, processes.start(**database_order)
    with psycopg.connect(database_order["state"], autocommit=True) as connection:
        while state_of(child) != "Z":
            before = reached(database_order["state"])
            broken += len(connection.execute(f"select pg_terminate_backend(pid) {select}").fetchall())
            until(lambda before=before: reached(database_order["state"]) != before or state_of(child) == "Z")

    assert processes.wait(child) in (0, FAILED)  # where some checkpoints have failed
    assert broken > 5
    assert processes.run(**database_order) == 0
    check(database_order["state"])


def test_a_server_that_crashes_is_waited_for(
    processes: Processes, database_order: dict[str, Any], postgres_server: str, check: Callable[[str], None]
) -> None:
    """It is started again while a monitor counts, three times; nothing is lost, and nothing counted twice."""
    folder = postgres.binaries()
    assert folder is not None
    for stop in (1, 5, 9):
        order = database_order | {"state": new_address(postgres_server)}
        child = processes.start(**order, stop=stop)
        until(lambda child=child: state_of(child) == "T")
        os.kill(child, signal.SIGCONT)
        postgres.crash(folder, postgres_server)
        assert processes.wait(child) in (0, FAILED)
        assert processes.run(**order) == 0
        check(order["state"])


def test_a_limit_on_files_is_reported_and_survived(
    processes: Processes, file_order: dict[str, Any], check: Callable[[str], None]
) -> None:
    """No checkpoint can be written for a while; counting goes on, and all is there once it can."""
    assert processes.run(**file_order, limit=100_000) == 0
    check(file_order["state"])
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY  # that of another process


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


def test_a_full_disk_is_reported_and_survived(
    tmp_path: Path, file: str, small: Callable[[str], None], check: Callable[[str], None]
) -> None:
    """The disk is full; counting goes on; there is space again, and everything is written."""
    state = str(tmp_path / "small" / "state")
    source, problems = make_source(config.Source(path=file)), []
    with monitoring(state) as monitor:
        source.start(monitor)
        records = source.poll(0)
        for at in range(0, len(records) - 300, 100):
            monitor.step(records[at : at + 100])
            try:
                monitor.checkpoint()
            except StoreError as error:
                problems.append(str(error))
        small("100m")
        monitor.step(records)
        assert source.poll(0) == []
    source.close()
    assert problems
    assert all("full" in problem or "disk I/O error" in problem for problem in problems)
    check(state)
