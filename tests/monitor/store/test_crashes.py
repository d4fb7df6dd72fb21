"""Monitors that are killed, stopped, or run out of disk space: in the end every event is counted exactly once."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import postgres
from support.command_line import until
from support.monitor_events import CONFIG, NOW, counted, events, lines, stored_panes
from support.monitor_worker import DIED, FAILED, STALE, Processes, state_of
from support.stores import columns, execute, monitoring, new_address

from stream_metrics.monitor import Monitor, config, make_source

KILLS = 10
SQLITE, POSTGRES = (pytest.mark.parametrize("store_path", [kind], indirect=True) for kind in ("sqlite", "postgres"))
DATA = b"".join(line + b"\n" for line in lines(events(1200, seed=3)))


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """The process that forks monitors."""
    started = Processes()
    yield started
    started.close()


@pytest.fixture
def order(store_path: str, tmp_path: Path) -> dict[str, Any]:
    """The order to every monitor of a test, with a store of each kind, to read a file of events."""
    (tmp_path / "events.jsonl").write_bytes(DATA)
    return {"state": store_path, "file": str(tmp_path / "events.jsonl")}


def reached(state: str) -> int:
    """Return the offset that is stored."""
    with monitoring(state, parts=[]) as monitor:
        return monitor.stored_offsets().get(("events.jsonl", 0), 0)


@cache
def whole() -> tuple[Any, Any]:
    """Return what one pass over the file counts, and its panes."""
    monitor = Monitor(CONFIG, clock=lambda: NOW)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        path.write_bytes(DATA)
        source = make_source(config.SourceTable(path=str(path)))
        source.start(monitor)
        while records := source.poll(0):
            monitor.step(records)
        source.close()
    return counted(monitor), stored_panes(monitor)


def check(state: str) -> None:
    """All that is stored is what one pass over the file gives, and the file is sound."""
    with monitoring(state) as monitor:
        assert monitor.assign([0]) == {("events.jsonl", 0): len(DATA)}
        assert (counted(monitor), stored_panes(monitor)) == whole()
    letters = execute(state, "select count(*) from dead_letters")
    assert letters == [(sum(whole()[0][2].values()),)]
    assert state.startswith("postgresql") or execute(state, "pragma integrity_check") == [("ok",)]


def test_kills_at_random_moments(processes: Processes, order: dict[str, Any]) -> None:
    """Killed after any processor time and started again, ten times over: the counts are those of one pass."""
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


DEATHS = {
    "statement": ([{"statement": at} for at in range(60)], DIED, 50),
    "write": ([{"die": 50_000 + 70_123 * at} for at in range(12)], -signal.SIGXFSZ, 8),
}


@SQLITE
@pytest.mark.parametrize("case", DEATHS)
def test_a_death_at_every_place(processes: Processes, order: dict[str, Any], case: str) -> None:
    """Before each statement from the tables into the second checkpoint, or in a write that makes the log so long."""
    deaths, status, least = DEATHS[case]
    ends = [processes.run(**order, **death) for death in deaths]

    assert ends.count(status) >= least
    assert set(ends) <= {status, 0}
    assert processes.run(**order) == 0
    check(order["state"])


def test_an_earlier_owner_that_wakes_up(processes: Processes, order: dict[str, Any]) -> None:
    """A monitor is stopped, another takes its partition and reads on; the first wakes up and is refused."""
    child = processes.start(**order, shared=True, stop=5)
    until(lambda: state_of(child) == "T")

    assert processes.run(**order, shared=True) == 0
    os.kill(child, signal.SIGCONT)
    assert processes.wait(child) == STALE
    check(order["state"])


@POSTGRES
def test_a_server_that_crashes_is_waited_for(processes: Processes, order: dict[str, Any], postgres_server: str) -> None:
    """It is started again while a monitor counts, three times; nothing is lost, and nothing counted twice."""
    folder = postgres.binaries()
    assert folder is not None
    for stop in (1, 5, 9):
        order["state"] = new_address(postgres_server)
        child = processes.start(**order, stop=stop)
        until(lambda child=child: state_of(child) == "T")
        os.kill(child, signal.SIGCONT)
        postgres.crash(folder, postgres_server)
        assert processes.wait(child) in (0, FAILED)
        assert processes.run(**order) == 0
        check(order["state"])


@SQLITE
def test_a_limit_on_files_is_reported_and_survived(processes: Processes, order: dict[str, Any]) -> None:
    """No checkpoint can be written for a while; counting goes on, and all is there once it can."""
    assert processes.run(**order, limit=100_000) == 0
    check(order["state"])
