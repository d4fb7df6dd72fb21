"""Stores of both kinds for tests: their addresses, monitors that use them, and plain connections to their tables."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from stream_metrics.monitor import Config, Monitor, open_store
from support import postgres
from support.monitor_events import CONFIG, NOW

NUMBERS = itertools.count()
RUNNING = {"workers", "leases", "monitor_schema"}  # tables of what runs now
OWNERS = {"owner", "epoch", "saved", "written", "revision"}  # columns of who wrote what, and when


@contextmanager
def server() -> Iterator[str]:
    """Start a PostgreSQL server, and skip the test where there is none; the value is the folder of its socket."""
    pytest.importorskip("psycopg", reason="needs psycopg, the client of PostgreSQL")
    binaries = postgres.binaries()
    if binaries is None:
        pytest.skip("needs the programs of a PostgreSQL server, initdb and pg_ctl")
    with postgres.server(binaries) as connection:
        yield dict(pair.split("=") for pair in connection.split())["host"]


def new_address(folder: str) -> str:
    """Return the address of a schema of its own at a server."""
    import psycopg

    name = f"s{next(NUMBERS)}"
    with psycopg.connect(f"host={folder} user=test dbname=postgres", autocommit=True) as connection:
        connection.execute(f"create schema {name}")
    return f"postgresql://test@/postgres?host={quote(folder, safe='')}&options=-csearch_path%3D{name}"


@contextmanager
def monitoring(
    path: str, told: Config = CONFIG, parts: Iterable[int] = (0,), *, shared: bool = False, now: float = NOW
) -> Iterator[Monitor]:
    """Open a monitor with the store at a path, assign it partitions, and close it in the end."""
    store = open_store(path, shared)
    try:
        monitor = Monitor(told, store, lambda: now)
    except BaseException:
        store.close()
        raise
    try:
        monitor.assign(parts)
        yield monitor
    finally:
        monitor.close()


def execute(path: str, *statements: str) -> list[Any]:
    """Execute statements by the client of the database itself, and return the rows of the last one."""
    if not path.startswith("postgresql"):
        connection: Any = sqlite3.connect(path, isolation_level=None)
    else:
        import psycopg

        connection = psycopg.connect(path, autocommit=True)
    with closing(connection):
        for statement in statements:
            cursor = connection.execute(statement)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


def columns(path: str) -> dict[str, dict[str, str]]:
    """Return the columns of all tables that are stored for good, with their types."""
    if path.startswith("postgresql"):
        schema = "from information_schema.columns where table_schema = current_schema()"
        rows = execute(path, f"select table_name, column_name, udt_name {schema}")
    else:
        names = "from sqlite_master as t, pragma_table_info(t.name) as c where t.type = 'table'"
        rows = execute(path, f"select t.name, c.name, lower(c.type) {names}")
    tables: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        if table not in RUNNING:
            tables.setdefault(table, {})[column] = kind
    return tables


def content(path: str, owners: bool = False) -> dict[str, list[Any]]:
    """Return all rows that are stored for good, dead letters in order; with `owners`, also who wrote them, and when."""
    tables = {}
    for table, kinds in columns(path).items():
        names = ", ".join(f'"{name}"' for name in sorted({*kinds} - {"rowid"}) if owners or name not in OWNERS)
        letters = table == "dead_letters"
        rows = execute(path, f"select {names} from {table}" + " order by rowid" * letters)
        tables[table] = rows if letters else sorted(rows, key=repr)
    return tables


@contextmanager
def failing(path: str, table: str, event: str, do: str = "") -> Iterator[None]:
    """Have the database refuse each insert, update or delete of a table, or `do` something in PL/pgSQL instead."""
    if not path.startswith("postgresql"):
        refuse = "begin select raise(abort, 'no space in this test'); end"
        create, drop = [f"create trigger broken before {event} on {table} {refuse}"], "drop trigger broken"
    else:
        do = do or "raise exception 'no space in this test';"
        late = "constraint trigger broken after" if "commit" in do else "trigger broken before"
        when = "deferrable initially deferred" if "commit" in do else ""
        create = [
            f"create function broken() returns trigger language plpgsql as $$ begin {do} return new; end $$",
            f"create {late} {event} on {table} {when} for each row execute function broken()",
        ]
        drop = "drop function broken() cascade"
    execute(path, *create)
    try:
        yield
    finally:
        execute(path, drop)


def blob(path: str, data: bytes) -> str:
    """Return bytes as a literal of the database at a path."""
    return f"'\\x{data.hex()}'::bytea" if path.startswith("postgresql") else f"x'{data.hex()}'"
