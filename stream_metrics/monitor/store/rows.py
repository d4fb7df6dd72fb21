"""Rows that a store has of a partition, and the changes that a checkpoint writes.

Of stored panes, the table `panes` has a row for each name, length and start in each partition, with crc.

`archives` has the facts about them. The index has all columns but the states, which are long, so panes are listed
without reading states. SQLite and PostgreSQL both accept the statements.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from stream_metrics.errors import StreamMetricsError
from stream_metrics.labels import Label
from stream_metrics.wire import encoded

LETTERS = 10_000
SHELVES = 3  # waiting entries, joined ones, ids
PendingRow: TypeAlias = tuple[int, bytes, bytes]  # number, id and entry


class StoreError(StreamMetricsError):
    """A store cannot be read or written; the message says why."""


class EmptyStoreError(StoreError):
    """A store that a monitor has created, or is creating, but not yet written."""


class NotEmptyError(StoreError):
    """A backup would replace something that is stored already."""


class OtherSourceError(StoreError):
    """A store has counts of another source: `stored` is its name, `given` that of the one to be read now."""

    def __init__(self, stored: str, given: str, store: str) -> None:
        super().__init__(
            f"{store}: Expected counts of {given}, but it has those of {stored}, and what was read already would be "
            f"counted again: give {given} a state file of its own"
        )
        self.stored, self.given = stored, given


class StaleOwner(StoreError):
    """Another process has taken over the partition `part`, and counts its records since the last checkpoint."""

    def __init__(self, message: str, part: int) -> None:
        super().__init__(message)
        self.part = part


class Segment(NamedTuple):
    """What one checkpoint adds to the log: its number, how many entries, the last one's number, and the bytes."""

    number: int
    size: int
    last: int
    body: bytes


class Moves(NamedTuple):
    """What a checkpoint does to the pending rows: all before `floor` and those `taken` go, others are added."""

    floor: int = 0
    taken: tuple[int, ...] = ()
    added: tuple[PendingRow, ...] = ()


class Written(NamedTuple):
    """What a checkpoint writes of a shelf, and what the shelf has to do when it is written."""

    segment: Segment | None  # replaces one of the same number
    first: int  # segments before this number are deleted
    moves: Moves
    logged: int  # entries of events before this number are in the log, or gone
    spilled: list[Label]


NO_IDS = Written(None, 0, Moves(), 0, [])


class Pane(NamedTuple):
    """A stored pane: its length and start in nanoseconds, what it counts, and the state as bytes."""

    length: int
    start: int
    name: str
    body: bytes


class Extent(NamedTuple):
    """Which pane a partition has stored: without the state, but with its checksum."""

    part: int
    length: int
    start: int
    crc: int


class PaneChange(NamedTuple):
    """What a checkpoint does to the panes of a partition: those that end by `before` are deleted, too.

    `about` has the facts about them.
    """

    written: list[Pane]
    deleted: list[tuple[str, int, int]]  # name, length and start
    before: int | None
    about: bytes


class Row(NamedTuple):
    """The stored state of a partition."""

    part: int
    epoch: int
    next: dict[str, int]
    state: bytes
    parts: dict[str, bytes]
    waiting: list[Segment]
    done: list[Segment]
    written: float  # as the change that was written last says
    ids: list[Segment]


class PartChange(NamedTuple):
    """What a checkpoint changes in a partition whose next offsets were `previous`."""

    part: int
    epoch: int
    previous: bytes
    next: bytes
    state: bytes
    parts: dict[str, bytes]  # of the counts, those that have changed
    dropped: list[str]  # the names of parts that are gone
    waiting: Written
    done: Written
    written: float = 0.0  # the time of the clock when the last event came
    ids: Written = NO_IDS
    panes: PaneChange | None = None

    @property
    def size(self) -> int:
        """How many bytes it writes, those that outgrow the memory left out."""
        segments = [written.segment for written in (self.waiting, self.done, self.ids)]
        bodies = [segment.body for segment in segments if segment is not None]
        bodies += [] if self.panes is None else [pane.body for pane in self.panes.written]
        return sum(map(len, [self.state, *self.parts.values(), *bodies]))


def offsets(following: Mapping[str, int]) -> bytes:
    """Return the next offset of each topic as bytes, which are equal if the offsets are."""
    return encoded(sorted(following.items()))


def checksum(*data: bytes) -> int:
    """Return the CRC-32 of some bytes, one after the other."""
    total = 0
    for part in data:
        total = zlib.crc32(part, total)
    return total


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
