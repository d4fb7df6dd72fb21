"""Stores of both kinds for tests: their addresses, and all that is in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest

from stream_metrics.monitor.store.rows import Change, Moves, Row, Segment, Written, offsets
from stream_metrics.monitor.store.tables import StateStore
from support import postgres

__all__ = ["TABLES", "change", "content", "new_address", "server"]

TABLES = {
    "state": "part, next, state, crc",
    "parts": "part, name, body, crc",
    "log": "part, shelf, number, size, last, body, crc",
    "pending": "part, row, id, body",
    "dead_letters": 'topic, partition, "offset", reason, detail',
    "notes": "name, body, crc",
    "panes": "part, name, length, start, crc, body",
    "archives": "part, about, crc",
}
NUMBERS = itertools.count()


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


def change(row: Row, number: int, part: int = 0) -> Change:
    """Return a change that writes something everywhere, all of it numbered."""
    added = ((number, b"id", b"entry %d" % number),)
    waiting = Written(Segment(number, 2, number, b"w%d" % number), number, Moves(number, (), added), number, [])
    done = Written(Segment(number, 1, number, b"d%d" % number), max(number - 1, 0), Moves(), number, [])
    parts, gone = {"total": b"%d" % number, f"pane/{number}": b"p"}, [f"pane/{number - 1}"]
    following = offsets({"t": number})
    return Change(part, row.epoch, offsets(row.next), following, b"state %d" % number, parts, gone, waiting, done)


def content(store: StateStore) -> dict[str, list[Any]]:
    """Return all that is in a store but times, owners and epochs."""
    return {
        table: [tuple(row) for row in store._run(f"select {columns} from {table} order by 1, 2, 3").fetchall()]
        for table, columns in TABLES.items()
    }
