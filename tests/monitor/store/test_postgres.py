"""PostgreSQL alone: a commit whose answer is lost, addresses and passwords, older servers, several models."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.monitor_events import CONFIG, NOW, events, records
from support.stores import change, content, new_address

from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.store import StoreError
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.store.schema import SCHEMA
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.store.unclaimed import stored_offsets

pytest.importorskip("psycopg", reason="needs psycopg, the client of PostgreSQL")


@pytest.fixture
def address(postgres_server: str) -> str:
    """The address of an empty schema."""
    return new_address(postgres_server)


@pytest.fixture
def store(address: str) -> Iterator[Any]:
    """A store, closed at the end."""
    opened = open_store(address)
    yield opened
    opened.close()


@pytest.mark.parametrize("arrives", [True, False], ids=["arrives", "does not arrive"])
def test_a_commit_whose_answer_is_lost(store: Any, arrives: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it was made, the checkpoint counts as written; if not, as failed, and it can be made again."""
    import psycopg

    row = store.claim(0)
    store.save([change(row, 1)], [], {})
    before, run = content(store), store._run

    def cut(statement: str, *values: object) -> Any:
        if statement != "commit":
            return run(statement, *values)
        if arrives:
            run(statement)
        store._connection.close()
        raise psycopg.OperationalError("the connection is lost")

    with monkeypatch.context() as patch:
        patch.setattr(store, "_run", cut)
        if arrives:
            store.save([change(row._replace(next={"t": 1}), 2)], [], {})
        else:
            with pytest.raises(StoreError, match="the connection is lost"):
                store.save([change(row._replace(next={"t": 1}), 2)], [], {})
    if not arrives:
        store._reach()
        assert content(store) == before
        store.save([change(row._replace(next={"t": 1}), 2)], [], {})

    assert store.claim(0).next == {"t": 2}
    assert [row[5] for row in content(store)["log"]] == [b"w2", b"d1", b"d2"]


def test_a_server_that_is_away_for_too_long(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint whose answer was lost counts as failed; once the server is back, it is not written twice."""
    import psycopg

    from stream_metrics.monitor.store import StaleOwner, postgres

    monkeypatch.setattr(postgres, "PATIENCE", 0.2)
    row = store.claim(0)
    run, connected = store._run, store._connected

    def away() -> Any:
        raise psycopg.OperationalError("no server")

    def cut(statement: str, *values: object) -> Any:
        cursor = run(statement, *values)
        if statement == "commit":
            store._connection.close()
            raise psycopg.OperationalError("the connection is lost")
        return cursor

    with monkeypatch.context() as patch:
        patch.setattr(store, "_run", cut)
        patch.setattr(store, "_connected", away)
        with pytest.raises(StoreError, match="no server"):
            store.save([change(row, 1)], [], {})
    with pytest.raises(StaleOwner):
        store.save([change(row, 2)], [], {})
    assert store._connected == connected
    assert store.claim(0).next == {"t": 1}


def test_the_last_checkpoint_is_tried_again(store: Any, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A monitor that ends while a connection breaks has written everything."""
    import psycopg

    monitor = Monitor(CONFIG, store, lambda: NOW)
    monitor.assign([0])
    stream = records(events(50))
    monitor.step(stream)
    run, breaks = store._run, iter([True])

    def cut(statement: str, *values: object) -> Any:
        if statement == "commit" and next(breaks, False):
            store._connection.close()
            raise psycopg.OperationalError("the connection is lost")
        return run(statement, *values)

    monkeypatch.setattr(store, "_run", cut)
    monitor.close()

    again = open_store(address)
    assert next(breaks, None) is None
    assert again.claim(0).next == {"t": len(stream)}
    again.close()


@pytest.mark.parametrize(
    "read",
    [
        stored_offsets,
        lambda store: store.claim(0),
        lambda store: store.archived(0),
        lambda store: store.panes(0, 0, 1),
        lambda store: store.pane(0, "", 1, 0),
    ],
    ids=["offsets", "partition", "archive", "panes", "pane"],
)
def test_a_start_reads_again_after_its_connection_broke(
    store: Any, address: str, read: Callable[[StateStore], Any]
) -> None:
    """The server ended it between two statements, of which the client learns with the next one."""
    store.claim(0)
    (process,) = store.run("select pg_backend_pid()").fetchone()
    other = open_store(address)
    other.run("select pg_terminate_backend(?::int, 5000)", process)
    other.close()

    read(store)

    assert store.run("select pg_backend_pid()").fetchone() != (process,)


def test_no_message_has_a_password() -> None:
    """Neither that of a server that is not there, nor of an address that cannot be read."""
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
        assert not any("hunter2" in text for text in texts), texts


def test_the_name_is_without_secrets(store: StateStore) -> None:
    assert store.name.startswith("postgresql://test@")
    assert store.name.endswith("/postgres")


def test_a_newer_schema_is_refused_with_both_numbers(store: Any, address: str) -> None:
    store._run("update monitor_schema set version = ?", SCHEMA + 1)

    with pytest.raises(StoreError, match=f"expected schema {SCHEMA} or an earlier one, but it has schema {SCHEMA + 1}"):
        open_store(address)


def test_schemas_are_apart(store: Any, postgres_server: str) -> None:
    """Each model has its own in one database."""
    other = open_store(new_address(postgres_server))
    store.save([change(store.claim(0), 1)], [], {})

    assert other.claim(0).next == {}
    other.close()


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is not imported before it is needed."""
    opening = importlib.import_module("stream_metrics.monitor.store.opening")
    monkeypatch.setitem(sys.modules, "stream_metrics.monitor.store.postgres", None)

    with pytest.raises(StoreError, match=r"needs psycopg: pip install .stream-metrics\[postgres\]"):
        opening.open_store("postgresql://user@host/db")
