"""The tables of panes: `panes` has a row for each name, length and start in each partition, with crc.

`archives` has the facts about them. The index has all columns but the states, which are long, so panes are listed
without reading states. SQLite and PostgreSQL both accept the statements.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from stream_metrics.monitor.store.rows import Extent, Pane, PaneChange, StoreError, checksum

__all__ = ["PANES", "PaneTables", "TemporaryPanes"]

PANES = """
create table panes (part integer not null, name text not null, length integer not null, start integer not null,
                    crc integer not null, body blob not null, primary key (part, name, length, start));
create index pane_times on panes (name, length, start, part, crc);
create table archives (part integer primary key, about blob not null, crc integer not null)
"""
PUT = """insert into panes (part, name, length, start, crc, body) values (?, ?, ?, ?, ?, ?)
         on conflict (part, name, length, start) do update set crc = excluded.crc, body = excluded.body"""
PUT_ABOUT = """insert into archives (part, about, crc) values (?, ?, ?)
               on conflict (part) do update set about = excluded.about, crc = excluded.crc"""
KEY = "part = ? and name = ? and length = ? and start = ?"
OVERLAP = "name = ? and length = ? and start < ? and start > ?"


class PaneTables:
    """Panes in a database; `run` executes a statement with its values, `run_many` one for each of many rows.

    `store` names the database in errors. Everything is written in the transaction of the caller.
    """

    def __init__(
        self, store: str, run: Callable[..., Any], run_many: Callable[[str, Iterable[Sequence[object]]], object]
    ) -> None:
        self._store, self._run, self._run_many = store, run, run_many

    def write(self, part: int, change: PaneChange) -> None:
        """Write what a checkpoint changes in the panes of a partition."""
        rows = ((part, pane.name, *pane[:2], checksum(pane.body), pane.body) for pane in change.written)
        self._run_many(PUT, rows)
        self._run_many(f"delete from panes where {KEY}", ((part, *key) for key in change.deleted))
        if change.before is not None:
            self._run("delete from panes where part = ? and start + length <= ?", part, change.before)
        self._run(PUT_ABOUT, part, change.about, checksum(change.about))

    def archived(self, part: int) -> bytes | None:
        """Return what is stored beside the panes of a partition; None if nothing is."""
        row = self._run("select about, crc from archives where part = ?", part).fetchone()
        return None if row is None else self._checked(f"what is known of the panes of partition {part}", *row)

    def pane(self, part: int, name: str, length: int, start: int) -> bytes | None:
        """Return the state of a pane as bytes; None if there is no such pane."""
        row = self._run(f"select body, crc from panes where {KEY}", part, name, length, start).fetchone()
        return None if row is None else self._checked(_pane(part, name, length, start), *row)

    def panes(self, part: int, start: int, end: int) -> list[Pane]:
        """Return the panes of a partition that overlap a range of time."""
        panes = []
        for name, length in self._all("select distinct name, length from panes where part = ?", part):
            statement = f"select start, body, crc from panes where part = ? and {OVERLAP} order by start"
            for at, body, crc in self._all(statement, part, name, length, end, start - length):
                panes.append(Pane(length, at, name, self._checked(_pane(part, name, length, at), body, crc)))
        return panes

    def archives(self) -> dict[int, bytes | None]:
        """Return the facts about the panes of each partition, None where none are stored."""
        parts = self._all("select part from archives union select part from state where length(state) > 0 order by 1")
        return {part: self.archived(part) for (part,) in parts}

    def names(self) -> list[str]:
        """Return the names of panes."""
        return [name for (name,) in self._all("select distinct name from panes order by name")]

    def bounds(self, name: str) -> tuple[int, int] | None:
        """Return the start of the first pane of a name and the end of the last; None if there is none."""
        ((first, last),) = self._all("select min(start), max(start + length) from panes where name = ?", name)
        return None if first is None else (first, last)

    def extents(self, name: str, start: int, end: int) -> list[Extent]:
        """Return which panes of a name overlap a range."""
        statement = f"select part, length, start, crc from panes where {OVERLAP}"
        lengths = self._lengths(name)
        return [Extent(*row) for long in lengths for row in self._all(statement, name, long, end, start - long)]

    def bodies(self, name: str, start: int, end: int) -> Iterator[bytes]:
        """Yield the states of the panes of a name that overlap a range."""
        statement = f"select part, start, body, crc from panes where {OVERLAP} order by start, part"
        for length in self._lengths(name):
            for part, at, body, crc in self._all(statement, name, length, end, start - length):
                yield self._checked(_pane(part, name, length, at), body, crc)

    def _lengths(self, name: str) -> list[int]:
        return [length for (length,) in self._all("select distinct length from panes where name = ?", name)]

    def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._run(statement, *values).fetchall()
        return rows

    def _checked(self, what: str, body: bytes, crc: int) -> bytes:
        if checksum(body) != crc:
            raise StoreError(f"{self._store}: {what} is damaged: expected crc {crc}, but it has {checksum(body)}")
        return body


def _pane(part: int, name: str, length: int, start: int) -> str:
    return f"the pane {name!r} from {start / 1e9:.0f} for {length / 1e9:.0f} s of partition {part}"


class TemporaryPanes:
    """Panes of a monitor without a state file, in a temporary database that SQLite moves to a file if it grows."""

    def __init__(self) -> None:
        self._connection = connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in [*PANES.split(";"), "create table state (part integer, state blob)"]:
            connection.execute(statement)
        self._lock = threading.Lock()
        self._tables = PaneTables(
            "the panes", lambda statement, *values: connection.execute(statement, values), connection.executemany
        )

    def archived(self, part: int) -> bytes | None:
        """Return what is stored beside the panes of a partition; None if nothing is."""
        with self._lock:
            return self._tables.archived(part)

    def pane(self, part: int, name: str, length: int, start: int) -> bytes | None:
        """Return the state of a pane as bytes; None if there is no such pane."""
        with self._lock:
            return self._tables.pane(part, name, length, start)

    def panes(self, part: int, start: int, end: int) -> list[Pane]:
        """Return the panes of a partition that overlap a range of time."""
        with self._lock:
            return self._tables.panes(part, start, end)

    def save(self, changes: Mapping[int, PaneChange]) -> None:
        """Write what a checkpoint changes in the panes of partitions."""
        with self._lock:
            self._connection.execute("begin")
            for part, change in changes.items():
                self._tables.write(part, change)
            self._connection.execute("commit")

    def forget(self, part: int) -> None:
        """Delete the panes of a partition that is counted again from its start."""
        with self._lock:
            self._connection.execute("delete from panes where part = ?", (part,))
            self._connection.execute("delete from archives where part = ?", (part,))

    @contextmanager
    def all_panes(self) -> Iterator[PaneTables]:
        """Give the panes of all partitions as they are at one moment; any thread may call it."""
        with self._lock:
            yield self._tables

    def close(self) -> None:
        """Delete all panes."""
        self._connection.close()
