"""What SQLite and PostgreSQL have in common: checkpoints are atomic, a partition has one owner, damage is detected."""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import structs
from support.command_line import run_command, until
from support.inner_monitor import StaleOwner, StoreError
from support.monitor_events import CONFIG, START, counted, events, lines, offline, records, stored_panes
from support.stores import blob, columns, content, execute, failing, monitoring

from stream_metrics.monitor import Monitor, Record, config, open_store

WAITING = structs.replace(
    CONFIG,
    join=config.Join(ttl="10m", keep_joined="2m", keep_ids="1h", max_pending=400, in_memory=5),
    counting=config.Counting(scores=True, windows=("1h", "4h")),
    store=config.Store(retention=("5s for 1m", "1m")),
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


def failure(call: Callable[[], object]) -> StoreError | None:
    """Return the error of the store that a call raises, None if it raises none."""
    try:
        call()
    except StoreError as error:
        return error
    return None


def read_all(path: str) -> None:
    """Read the state and the panes of a store."""
    with monitoring(path, WAITING, []) as monitor:
        monitor.assign([0])
        status, answer = monitor.answer_range(RANGE)
        if status != 200:
            raise StoreError(json.loads(answer)["error"])


def test_a_fault_at_any_write_leaves_all_or_nothing(store_path: str) -> None:
    """Where any table refuses a row, the store is as it was; then it can be written, and all is counted."""
    refused = set()
    with leading(store_path) as monitor:
        places = list(itertools.product(columns(store_path), ("insert", "update", "delete")))
        for number, (table, event) in enumerate(places):
            monitor.step(STREAM[300 + 30 * number : 330 + 30 * number])
            before = content(store_path)
            with failing(store_path, table, event):
                error = failure(monitor.checkpoint)
                if error is not None:
                    refused.add((table, event))
                    assert "no space in this test" in str(error)
                    assert content(store_path) == before
            monitor.checkpoint()
            assert content(store_path) != before
    with monitoring(store_path, WAITING) as again:
        again.step(STREAM)
        whole = offline(STREAM, WAITING)
        assert counted(again) == counted(whole)
        assert stored_panes(again) == stored_panes(whole)
    assert {table for table, _ in refused} == set(columns(store_path))
    assert len(refused) >= 12


def test_damage_is_found(store_path: str) -> None:
    """A checksum of each stored state shows that it was changed; the error names the store and says what to do."""
    with leading(store_path):
        pass
    unnoticed = []
    for table, kinds in columns(store_path).items():
        for column in [name for name, kind in kinds.items() if kind in ("blob", "bytea") and table != "pending"]:
            execute(store_path, f"create table kept as select * from {table}")
            execute(store_path, f"update {table} set {column} = {blob(store_path, b'other')}")
            error = failure(lambda: read_all(store_path))
            if "damaged" not in str(error) or not str(error).startswith(("postgresql://test@", store_path)):
                unnoticed.append((table, column, error))
            execute(store_path, f"delete from {table}", f"insert into {table} select * from kept", "drop table kept")
    assert not unnoticed
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
        with pytest.raises(StaleOwner) as stale:
            monitor.checkpoint()
        assert stale.value.part == 0
        assert content(store_path) == before
        assert monitor.partitions == [1]


def test_readers_see_all_partitions_as_they_were_at_one_moment(store_path: str, tmp_path: Path) -> None:
    """Backups that are made while checkpoints are written have the counts of a whole number of checkpoints."""
    streams = [records(events(400, seed=part), part) for part in range(2)]
    ended = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        try:
            for at in range(0, 500, 10):
                monitor.step([*streams[0][at : at + 10], *streams[1][at : at + 10]])
                monitor.checkpoint()
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    with monitoring(store_path, parts=[0, 1]) as monitor:
        monitor.checkpoint()
        writer = threading.Thread(target=write)
        writer.start()
        backups: list[str] = []
        last = False
        while not last:
            last = ended.is_set()
            backups.append(str(tmp_path / str(len(backups))))
            backed_up = run_command("monitor", "backup", store_path, backups[-1])
            assert backed_up.status == 0, backed_up.err
        writer.join()
    assert not failures
    reached = set()
    for backup in backups[:: max(len(backups) // 8, 1)] + backups[-1:]:
        with monitoring(backup, parts=[0, 1]) as copy:
            offsets = copy.assign([0, 1])
            read = offsets.get(("t", 0), 0)
            assert offsets in ({}, {("t", 0): read, ("t", 1): read})
            whole = offline([*streams[0][:read], *streams[1][:read]]) if read else None
            assert whole is None or copy.counts().to_bytes() == whole.counts().to_bytes()
            assert whole is None or stored_panes(copy) == stored_panes(whole)
            reached.add(read)
    assert max(reached) == 500


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
    with (
        pytest.raises(StoreError, match=r"expected schema \d or an earlier one, but it has schema 98"),
        monitoring(store_path),
    ):
        pass
    inspected = run_command("monitor", "inspect", store_path)

    assert inspected.status == 1
    assert "it has schema 98" in inspected.err
    assert content(store_path, owners=True) == before


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is not imported before it is needed."""
    for name in [name for name in sys.modules if name.startswith("stream_metrics.monitor.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(StoreError, match=r"needs psycopg: pip install .stream-metrics\[postgres\]"):
        open_store("postgresql://user@host/db")
