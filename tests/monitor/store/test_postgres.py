"""PostgreSQL alone: connections that break, a commit whose answer is lost, addresses and passwords, several models."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from support.inner_monitor import StaleOwner, StoreError
from support.monitor_events import CONFIG, NOW, counted, events, offline, records
from support.postgres import Proxy
from support.stores import content, execute, failing, monitoring, new_address

from stream_metrics.monitor import Monitor, open_store

psycopg = pytest.importorskip("psycopg", reason="needs psycopg, the client of PostgreSQL")
STREAM = records(events(300))
PATIENCE = "stream_metrics.monitor.store.postgres.PATIENCE"
BREAK = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name like 'stream-metrics%'"


@pytest.fixture
def address(postgres_server: str) -> str:
    """The address of an empty schema."""
    return new_address(postgres_server)


@pytest.fixture
def proxy(postgres_server: str) -> Iterator[Proxy]:
    """A socket in front of the server."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        started = Proxy(postgres_server, folder)
        started.folder = folder
        yield started
        started.close()


@pytest.fixture
def monitor(address: str, postgres_server: str, proxy: Any) -> Iterator[Monitor]:
    """A monitor that reaches the server through the proxy, with a first checkpoint."""
    through = address.replace(quote(postgres_server, safe=""), quote(proxy.folder, safe=""))
    with monitoring(through) as opened:
        opened.step(STREAM[:100])
        opened.checkpoint()
        yield opened


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_whose_answer_is_lost(monitor: Monitor, proxy: Proxy, address: str, cut: str) -> None:
    """If it was made, the checkpoint counts as written; if not, as failed, and it can be made again."""
    before = content(address)
    monitor.step(STREAM[100:200])
    proxy.cut = cut
    if cut == "before":
        with pytest.raises(StoreError):
            monitor.checkpoint()
        assert content(address) == before
    monitor.checkpoint()
    assert proxy.cuts == 1
    assert content(address) != before
    monitor.step(STREAM[200:])
    monitor.close()
    with monitoring(address) as again:
        assert counted(again) == counted(offline(STREAM))


def test_a_server_that_is_away_for_too_long(
    monitor: Monitor, proxy: Proxy, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint whose answer was lost counts as failed; once the server is back, it is not written twice."""
    monkeypatch.setattr(PATIENCE, 0.2)
    monitor.step(STREAM[100:200])
    proxy.cut, proxy.away = "after", True
    with pytest.raises(StoreError):
        monitor.checkpoint()
    proxy.away = False
    monkeypatch.undo()
    with pytest.raises(StaleOwner):
        monitor.checkpoint()
    assert monitor.assign([0]) == {("t", 0): 200}
    monitor.step(STREAM)
    assert counted(monitor) == counted(offline(STREAM))
    assert execute(address, "select count(*) from state") == [(1,)]


def test_the_last_checkpoint_is_tried_again(monitor: Monitor, proxy: Proxy, address: str) -> None:
    """A monitor that ends while a connection breaks has written everything."""
    monitor.step(STREAM)
    proxy.cut = "before"
    monitor.close()

    assert proxy.cuts == 1
    with monitoring(address) as again:
        assert counted(again) == counted(offline(STREAM))


def test_a_connection_that_breaks_in_a_checkpoint(address: str) -> None:
    """The server ends it at a statement of the transaction, or while it commits: nothing is written, then all is."""
    end = "perform pg_terminate_backend(pg_backend_pid());"
    with monitoring(address) as monitor:
        monitor.step(STREAM[:100])
        monitor.checkpoint()
        places = [("state", end), ("parts", end), ("panes", end), ("state", f"/*commit*/{end}")]
        for number, (table, do) in enumerate(places):
            monitor.step(STREAM[100 + 50 * number : 150 + 50 * number])
            before = content(address)
            with failing(address, table, "insert or update", do), pytest.raises(StoreError):
                monitor.checkpoint()
            assert content(address) == before
            monitor.checkpoint()
        monitor.step(STREAM)
        assert counted(monitor) == counted(offline(STREAM))


def test_a_start_reads_again_after_its_connection_broke(address: str) -> None:
    """The server ended it between two statements, of which the client learns with the next one."""
    with monitoring(address) as first:
        first.step(STREAM[:200])
    monitor = Monitor(CONFIG, open_store(address), lambda: NOW)
    steps: list[Callable[[], Any]] = [
        monitor.stored_offsets,
        lambda: monitor.assign([0]),
        lambda: monitor.step(STREAM),
        monitor.close,
    ]
    for step in steps:
        assert execute(address, BREAK) != []
        step()
    with monitoring(address) as again:
        assert counted(again) == counted(offline(STREAM))


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
        with pytest.raises(StoreError) as raised:
            open_store(address)
        texts = [str(raised.value), repr(raised.value), str(raised.value.__cause__)]
        if any("hunter2" in text for text in texts):
            failures.append(texts)
    assert not failures


def test_models_of_one_database_are_apart(postgres_server: str, address: str) -> None:
    """Each has a schema of its own; the name of the store shows the user and the database."""
    with monitoring(address) as one, monitoring(new_address(postgres_server)) as other:
        one.step(STREAM)
        one.checkpoint()
        assert other.stored_offsets() == {}
        assert one.store is not None
        assert one.store.name.startswith("postgresql://test@")
        assert one.store.name.endswith("/postgres")
