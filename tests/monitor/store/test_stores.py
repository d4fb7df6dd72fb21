"""SQLite and PostgreSQL: checkpoints are atomic, a partition has one owner, damage is detected, connections break."""

from __future__ import annotations

import itertools
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import structs
from support.command_line import run_command, until
from support.inner_monitor import StaleOwner, StoreError
from support.monitor_events import CONFIG, NOW, START, counted, events, lines, offline, records, stored_panes
from support.postgres import Proxy
from support.refusals import refused
from support.stores import blob, columns, content, execute, failing, monitoring

from stream_metrics.monitor import Monitor, Record, config, open_store

WAITING = structs.replace(
    CONFIG,
    join=config.JoinTable(ttl="10m", keep_joined="2m", keep_ids="1h", max_pending=400, in_memory=5),
    counting=config.CountingTable(scores=True, windows=("1h", "4h")),
    store=config.StoreTable(retention=("5s for 1m", "1m")),
)
STREAM = records([each for at, event in enumerate(events(600, seed=3)) for each in [event, "junk"][: 2 - at % 2]])
RANGE = f"from={START - 60}&to={START + 300}"


@contextmanager
def leading(path: str) -> Iterator[Monitor]:
    """Open the monitor that evaluates alerts, which writes notes, with something in every table."""
    with monitoring(path, WAITING) as monitor:
        monitor.attach("alerts", lambda: monitor.stats().joined)
        monitor.share()
        until(monitor.leads)
        for at in range(0, 300, 50):
            monitor.step(STREAM[at : at + 50])
            monitor.checkpoint()
        yield monitor


def test_a_fault_at_any_write_leaves_all_or_nothing(store_path: str) -> None:
    """Where any table refuses a row, the store is as it was; then it can be written, and all is counted."""
    refusals = {}
    with leading(store_path) as monitor:
        for number, (table, event) in enumerate(itertools.product(columns(store_path), ("insert", "update", "delete"))):
            monitor.step(STREAM[300 + 30 * number : 330 + 30 * number])
            before = content(store_path)
            with failing(store_path, table, event):
                try:
                    monitor.checkpoint()
                except StoreError as error:
                    refusals[table, event] = str(error)
            assert (table, event) not in refusals or content(store_path) == before
            monitor.checkpoint()
            assert content(store_path) != before
    with monitoring(store_path, WAITING) as again:
        again.step(STREAM)
        whole = offline(STREAM, WAITING)
        assert counted(again) == counted(whole)
        assert stored_panes(again) == stored_panes(whole)
    assert all("no space in this test" in each for each in refusals.values())
    assert {table for table, _ in refusals} == set(columns(store_path))
    assert len(refusals) >= 12


def test_damage_is_found(store_path: str) -> None:
    """A checksum of each stored state shows that it was changed; the error names the store and says what to do."""
    with leading(store_path):
        pass

    def read() -> None:
        with monitoring(store_path, WAITING) as monitor:
            status, answer = monitor.answer_range(RANGE)
            if status != 200:
                raise StoreError(json.loads(answer)["error"])

    for table, kinds in columns(store_path).items():
        for column in [name for name, kind in kinds.items() if kind in ("blob", "bytea") and table != "pending"]:
            execute(store_path, f"create table kept as select * from {table}")
            execute(store_path, f"update {table} set {column} = {blob(store_path, b'other')}")
            error = refused(read, StoreError, "damaged")
            assert str(error).startswith(("postgresql://test@", store_path)), (table, column)
            execute(store_path, f"delete from {table}", f"insert into {table} select * from kept", "drop table kept")
    with monitoring(store_path, WAITING) as again:
        again.step(STREAM)
        assert counted(again) == counted(offline(STREAM, WAITING))


def test_a_state_that_was_put_back_is_not_overwritten(store_path: str) -> None:
    """An owner is known by its offsets, too: a checkpoint that does not follow the stored one is refused whole."""
    with monitoring(store_path, parts=[0, 1]) as monitor:
        monitor.step([*STREAM[:100], *records(events(50), 1)])
        monitor.checkpoint()
        execute(store_path, f"update state set next = {blob(store_path, b'other')} where part = 0")
        before = content(store_path)
        monitor.step(STREAM[100:200])
        assert refused(monitor.checkpoint, StaleOwner).part == 0
        assert content(store_path) == before
        assert monitor.partitions == [1]


def test_readers_see_all_partitions_as_they_were_at_one_moment(store_path: str, tmp_path: Path) -> None:
    """Backups that are made while checkpoints are written have the counts of a whole number of checkpoints."""
    streams = [records(events(400, seed=part), part) for part in range(2)]
    backups: list[str] = []

    def write() -> None:
        for at in range(0, 500, 20):
            monitor.step([*streams[0][at : at + 20], *streams[1][at : at + 20]])
            monitor.checkpoint()

    with monitoring(store_path, parts=[0, 1]) as monitor, ThreadPoolExecutor() as threads:
        monitor.checkpoint()
        writing, last = threads.submit(write), False
        while not last:
            last = writing.done()
            backups.append(str(tmp_path / str(len(backups))))
            backed_up = run_command("monitor", "backup", store_path, backups[-1])
            assert backed_up.status == 0, backed_up.err
        writing.result()
    for backup in backups[:: max(len(backups) // 4, 1)] + backups[-1:]:
        with monitoring(backup, parts=[0, 1]) as copy:
            offsets = copy.assign([0, 1])
            read = offsets.get(("t", 0), 0)
            assert offsets == ({("t", 0): read, ("t", 1): read} if read else {})
            whole = offline([*streams[0][:read], *streams[1][:read]]) if read else copy
            assert copy.counts().parts() == whole.counts().parts()
            assert stored_panes(copy) == stored_panes(whole)
    assert read == 500


def test_dead_letters_are_bounded(store_path: str) -> None:
    """The last 10,000 stay, of which the view shows 100; they are in any text, and in the order in which they came."""
    good, bad = lines([{"id": 1, "time": START, "truth": "a"}, {"id": 1, "time": START, "scores": {"\0\ud800": 2}}])
    values = [good, *([bad, b"no JSON"] * 5025)]
    stream = [Record("t", 0, at, at + 1, None, None, value) for at, value in enumerate(values)]
    with monitoring(store_path) as monitor:
        monitor.step(stream[:6000])
        monitor.checkpoint()
        monitor.step(stream)
    with monitoring(store_path) as again:
        shown = again.view().dead_letters
    assert [letter.offset for letter in shown] == list(range(10_050, 9_950, -1))
    assert [letter.reason for letter in shown[:2]] == ["decode", "score"]
    first = 'select count(*), min("offset") from dead_letters'
    assert execute(store_path, first) == [(10_000, 51)]


def test_a_newer_schema_is_refused_with_both_numbers(store_path: str) -> None:
    """Neither a monitor nor a reader touches what a later version wrote."""
    with monitoring(store_path):
        pass
    newer = "update monitor_schema set version = 98" if "postgresql" in store_path else "pragma user_version = 98"
    execute(store_path, newer)
    before = content(store_path, owners=True)
    error = refused(lambda: open_store(store_path), StoreError, "or an earlier one, but it has schema 98")
    assert re.search(r"expected schema \d or", str(error))
    inspected = run_command("monitor", "inspect", store_path)

    assert inspected.status == 1
    assert "it has schema 98" in inspected.err
    assert content(store_path, owners=True) == before


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is not imported before it is needed."""
    for name in [name for name in sys.modules if name.startswith("stream_metrics.monitor.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    error = refused(lambda: open_store("postgresql://user@host/db"), StoreError, "needs psycopg: pip install ")
    assert "stream-metrics[postgres]" in str(error)


PAIRS = records(events(300))
PATIENCE = "stream_metrics.monitor.store.postgres.PATIENCE"
BREAK = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name like 'stream-metrics%'"


@pytest.fixture
def proxy(postgres_server: str, address: str) -> Iterator[Proxy]:
    """A socket in front of the server; its `monitor` reaches the server through it, and has a first checkpoint."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        started = Proxy(postgres_server, folder)
        with monitoring(address.replace(quote(postgres_server, safe=""), quote(folder, safe=""))) as monitor:
            monitor.step(PAIRS[:100])
            monitor.checkpoint()
            started.monitor = monitor
            yield started
        started.close()


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_whose_answer_is_lost(proxy: Any, address: str, cut: str) -> None:
    """If it was made, the checkpoint counts as written; if not, as failed, and it can be made again, also the last."""
    before, monitor = content(address), proxy.monitor
    monitor.step(PAIRS[100:200])
    proxy.cut = cut
    if cut == "before":
        refused(monitor.checkpoint, StoreError)
        assert content(address) == before
    monitor.checkpoint()
    assert proxy.cuts == 1
    assert content(address) != before
    monitor.step(PAIRS[200:])
    proxy.cut = cut
    monitor.close()
    assert proxy.cuts == 2
    with monitoring(address) as again:
        assert counted(again) == counted(offline(PAIRS))


def test_a_server_that_is_away_for_too_long(proxy: Any, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint whose answer was lost counts as failed; once the server is back, it is not written twice."""
    monkeypatch.setattr(PATIENCE, 0.2)
    proxy.monitor.step(PAIRS[100:200])
    proxy.cut, proxy.away = "after", True
    refused(proxy.monitor.checkpoint, StoreError)
    proxy.away = False
    monkeypatch.undo()
    refused(proxy.monitor.checkpoint, StaleOwner)
    assert proxy.monitor.assign([0]) == {("t", 0): 200}
    proxy.monitor.step(PAIRS)
    assert counted(proxy.monitor) == counted(offline(PAIRS))
    assert execute(address, "select count(*) from state") == [(1,)]


def test_a_connection_that_breaks_in_a_checkpoint(address: str) -> None:
    """The server ends it at a statement of the transaction, or while it commits: nothing is written, then all is."""
    end = "perform pg_terminate_backend(pg_backend_pid());"
    with monitoring(address) as monitor:
        monitor.step(PAIRS[:100])
        monitor.checkpoint()
        places = [("state", end), ("parts", end), ("panes", end), ("state", f"/*commit*/{end}")]
        for number, (table, do) in enumerate(places):
            monitor.step(PAIRS[100 + 50 * number : 150 + 50 * number])
            before = content(address)
            with failing(address, table, "insert or update", do):
                refused(monitor.checkpoint, StoreError)
            assert content(address) == before
            monitor.checkpoint()
        monitor.step(PAIRS)
        assert counted(monitor) == counted(offline(PAIRS))


def test_a_start_reads_again_after_its_connection_broke(address: str) -> None:
    """The server ended it between two statements, of which the client learns with the next one."""
    with monitoring(address) as first:
        first.step(PAIRS[:200])
    monitor = Monitor(CONFIG, open_store(address), lambda: NOW)
    for step in (monitor.stored_offsets, lambda: monitor.assign([0]), lambda: monitor.step(PAIRS), monitor.close):
        assert execute(address, BREAK) != []
        step()
    with monitoring(address) as again:
        assert counted(again) == counted(offline(PAIRS))


def test_no_message_has_a_password() -> None:
    """Neither that of a server that is not there, nor of an address that cannot be read."""
    failures = []
    for address in (
        "postgresql://user:hunter2@127.0.0.1:1/db?connect_timeout=2",
        "postgresql://user:hunter2@127.0.0.1:hunter2/db",
        "postgresql://user:hun%ter2@[::1/hunter2",
        "postgresql://user:pass@hunter2@127.0.0.1:1/db",
        "postgresql://user:pass@word:hunter2@127.0.0.1:1/db",
        "postgresql://user:hunter2@127.0.0.1:1/db?password=hunter2&connect_timeout=2",
        "postgresql://user@127.0.0.1:1/db?hunter2=hunter2",
    ):
        error = refused(lambda address=address: open_store(address), StoreError)
        texts = [str(error), repr(error), str(error.__cause__)]
        if any("hunter2" in text for text in texts):
            failures.append(texts)
    assert not failures
