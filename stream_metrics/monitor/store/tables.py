"""The tables of a store, version by version, and the operations on them, in SQL that SQLite and PostgreSQL both accept.

**Tables.** `state` has a row for each partition, with crc; `parts` has its counts, with crc, in parts of which a
checkpoint writes those that have changed; `log` what came to and left the join with each checkpoint, with crc;
`pending` what waits but has outgrown the memory; `dead_letters` the last records that were rejected; `notes` plain data
of others, such as the state of alerts. If workers share a store, `workers` has the last report of each; earlier
versions used `leases`. `owner` is the worker that claimed a partition; `saved` is when its last checkpoint was written,
by the clock of the store; `revision` numbers its checkpoints, and `parts` says of each with which one it was written,
so that readers fetch what is new. For `panes` and `archives` see `rows.py`.

Each text of `VERSIONS` takes a store from the version before to its own. They are written for SQLite; `for_postgres`
returns the same for PostgreSQL.

**Operations.** A checkpoint is one transaction, so a crash at any instant leaves the whole of one checkpoint or the
whole of the next. Whole states are written, never differences, and a row is swapped only if its epoch and its offsets
are those that this owner last wrote. An assignment of a partition raises its epoch: from then on, the earlier owner
gets ``StaleOwner``, even if no record came in between.

**Classes** that all workers of a store count apart are in a note of it. Where several workers share the store, a class
is admitted in a transaction of its own, before the first checkpoint that has it. If its worker dies before that, it has
no samples yet, and takes its place all the same. A worker that has the store to itself writes the note with its
checkpoints, so that it goes on counting while the disk is full.

A store of an earlier version has no such note; its classes are those that the stored counts have apart.
"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar

from stream_metrics.labels import Label
from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.counts.class_limit import Admitted, exempt_classes
from stream_metrics.monitor.counts.counting import stored_classes
from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.store.rows import (
    LETTERS,
    PANES,
    SHELVES,
    Pane,
    PaneTables,
    PartChange,
    PendingRow,
    Row,
    Segment,
    StaleOwner,
    StoreError,
    Written,
    checksum,
    offsets,
)
from stream_metrics.wire import decoded, encoded

VERSIONS = (
    """
create table state (part integer primary key, epoch integer not null, next blob not null, state blob not null,
                    crc integer not null, restored integer not null, written real not null);
create table parts (part integer not null, name text not null, body blob not null, crc integer not null,
                    primary key (part, name));
create table log (part integer not null, shelf integer not null, number integer not null, size integer not null,
                  last integer not null, body blob not null, crc integer not null, primary key (part, shelf, number));
create table pending (part integer not null, row integer not null, id blob not null, body blob not null,
                      primary key (part, row)) without rowid;
create unique index pending_id on pending (part, id);
create table dead_letters (topic text not null, partition integer not null, "offset" integer not null,
                           reason text not null, detail text not null, primary key (topic, partition, "offset"));
create table notes (name text primary key, body blob not null, crc integer not null)
""",
    """
alter table state add column owner text not null default '';
alter table state add column revision integer not null default 0;
alter table state add column saved real not null default 0;
alter table parts add column revision integer not null default 0;
create index parts_revision on parts (part, revision);
create table workers (name text primary key, seen real not null, report blob not null);
create table leases (name text primary key, holder text not null, epoch integer not null, ends real not null)
""",
    PANES,
)
SCHEMA = len(VERSIONS)
RUNNING = {"workers", "leases"}
POSTGRES = {
    r"\binteger\b": "bigint",
    r"\breal\b": "double precision",
    r"\bblob\b": "bytea",
    r"\) without rowid": ")",
    r"dead_letters \(": "dead_letters (rowid bigserial, ",  # which every table of SQLite has
}


def statements_after(version: int, schema: int = SCHEMA) -> Iterator[str]:
    """Yield the statements that bring a store of a version to another one, the newest by default."""
    for text in VERSIONS[version:schema]:
        yield from (statement.strip() for statement in text.split(";"))


def tables_of(schema: int) -> dict[str, dict[str, str]]:
    """Return the columns of each table of a version, with their types, but not the tables about running workers."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements_after(0, schema):
            connection.execute(statement)
        names = connection.execute("select name from sqlite_master where type = 'table' order by name").fetchall()
        return {
            table: {name: kind.lower() for _, name, kind, *_ in connection.execute(f"pragma table_info({table})")}
            for (table,) in names
            if table not in RUNNING
        }


def for_postgres(statement: str) -> str:
    """Return a statement of `VERSIONS` as PostgreSQL reads it."""
    for pattern, replacement in POSTGRES.items():
        statement = re.sub(pattern, replacement, statement)
    return statement


def check_version(name: str, version: int, newest: int = SCHEMA) -> None:
    """Raise ``StoreError`` for the store `name` if a later version of this program wrote it."""
    if version > newest:
        raise StoreError(f"{name}: expected schema {newest} or an earlier one, but it has schema {version}")


class Stored(NamedTuple):
    """What a store has at one moment; `name` is without secrets, `schema` the version of its tables, `size` in bytes.

    `run` executes a query and returns the cursor; `rows` yields its rows, of which only a few are in memory.
    """

    name: str
    schema: int
    size: int
    run: Callable[..., Any]
    rows: Callable[[str], Iterable[tuple[Any, ...]]]

    def panes(self) -> PaneTables:
        """Return the panes; ``StoreError`` if an earlier version of this program wrote the store."""
        if self.schema < SCHEMA:
            raise StoreError(f"{self.name}: is of an earlier version and has no panes yet: start the monitor once")
        return PaneTables(self.name, self.run, _refuse)


def _refuse(statement: str, rows: Iterable[object]) -> NoReturn:
    raise StoreError(f"Expected to read, but got {statement!r}")


T = TypeVar("T")
STATE = "part, epoch, next, state, crc, written"
SET_STATE = """update state set next = ?, state = ?, crc = ?, restored = 0, written = ?, revision = revision + 1,
               saved = {now} where part = ? and epoch = ? and next = ?"""
PUT_PART = """insert into parts (part, name, body, crc, revision)
              values (?, ?, ?, ?, (select revision from state where part = ?)) on conflict (part, name) do update
              set body = excluded.body, crc = excluded.crc, revision = excluded.revision"""
PUT_LETTER = """insert into dead_letters (topic, partition, "offset", reason, detail) values (?, ?, ?, ?, ?)
                on conflict (topic, partition, "offset") do update
                set reason = excluded.reason, detail = excluded.detail"""
PUT_NOTE = """insert into notes (name, body, crc) values (?, ?, ?)
              on conflict (name) do update set body = excluded.body, crc = excluded.crc"""
PUT_LOG = """insert into log (part, shelf, number, size, last, body, crc) values (?, ?, ?, ?, ?, ?, ?)
             on conflict (part, shelf, number) do update
             set size = excluded.size, last = excluded.last, body = excluded.body, crc = excluded.crc"""
PUT_STATE = "insert into state (part, epoch, next, state, crc, restored, written) values (?, ?, ?, ?, ?, ?, ?)"


def worker_name() -> str:
    """Return a name for this process, which no other one that shares its store has."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(2).hex()}"


class StateStore(ABC):
    """States, next offsets, waiting entries and rejected records of partitions, which `worker` can claim.

    `name` identifies the store without secrets; `shared` is whether several workers use it at the same time. All errors
    are ``StoreError``. One thread at a time.
    """

    name: str
    shared: bool
    NOW: ClassVar[str]  # the clock of the store, in seconds since 1970, as a part of statements

    def __init__(self, worker: str | None = None) -> None:
        self.worker = worker_name() if worker is None else worker
        self._epochs: dict[int, int] = {}  # of the partitions claimed

    @abstractmethod
    def _run(self, statement: str, *values: object) -> Any:
        """Execute a statement with its values in the place of question marks, and return the cursor."""

    @abstractmethod
    def _run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each row of values."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Write the effects of all statements inside, or none."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Read everything inside as of one moment."""

    @abstractmethod
    def _named_errors(self) -> AbstractContextManager[None]:
        """Turn the errors of the database into ``StoreError`` that name the store."""

    @abstractmethod
    def another(self) -> Self:
        """Return another connection to the same store for the same worker, for another thread."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, and release what it holds."""

    def patiently(self, do: Callable[[], T]) -> T:
        """Return what `do` returns; a store that may be away for a while repeats it, so it must be safe to repeat."""
        return do()

    def run(self, statement: str, *values: object) -> Any:
        """Execute a statement, inside `transaction` or `reading` or alone."""
        with self._named_errors():
            return self._run(statement, *values)

    def claim(self, part: int) -> Row:
        """Become the owner of a partition and return its stored state; ``StoreError`` if that is damaged."""
        with self.transaction():
            empty = offsets({}), b""
            values = part, 0, *empty, checksum(*empty), 0, 0.0
            self._run(f"{PUT_STATE} on conflict (part) do nothing", *values)
            self._run("update state set epoch = epoch + 1, owner = ? where part = ?", self.worker, part)
            state = self._run(f"select {STATE} from state where part = ?", part).fetchone()
            parts = self._run("select name, body, crc from parts where part = ?", part).fetchall()
            logs = [self._run(*self._log_query(part, shelf)).fetchall() for shelf in range(SHELVES)]
            row = self.checked_row(state, parts, logs)  # a damaged one keeps its owner
        self._epochs[part] = row.epoch
        return row

    @staticmethod
    def _log_query(part: int, shelf: int) -> tuple[str, int, int]:
        columns = "number, size, last, body, crc"
        return f"select {columns} from log where part = ? and shelf = ? order by number", part, shelf

    def checked_row(self, state: Sequence[Any], parts: Iterable[Any], logs: Iterable[Iterable[Any]] = ()) -> Row:
        """Return the row of a partition from the values that were read; ``StoreError`` if any of them is damaged."""
        part, epoch, following, body, crc, written = state
        self.check_crc(f"the state of partition {part}", crc, following, body)
        bodies: dict[str, bytes] = {}
        for name, bodies[name], crc in parts:
            self.check_crc(f"{name!r} of partition {part}", crc, bodies[name])
        shelves: list[list[Segment]] = [[] for _ in range(SHELVES)]
        for shelf, log in zip(shelves, logs, strict=False):
            for number, size, last, data, crc in log:
                self.check_crc(f"segment {number} of the log of partition {part}", crc, data)
                shelf.append(Segment(number, size, last, data))
        waiting, done, ids = shelves
        return Row(part, epoch, dict(decoded(following)), body, bodies, waiting, done, written, ids)

    def check_crc(self, what: str, crc: int, *data: bytes) -> None:
        """Raise ``StoreError`` if the checksum of stored data is another."""
        if checksum(*data) != crc:
            raise StoreError(
                f"{self.name}: {what} is damaged: expected crc {crc}, but it has {checksum(*data)}; a backup can be "
                f"restored in its place"
            )

    def save(
        self,
        changes: Sequence[PartChange],
        letters: Sequence[Rejected],
        notes: Mapping[str, bytes],
    ) -> None:
        """Write a checkpoint, all of it or nothing; ``StaleOwner`` if a partition has another owner by now."""
        with self.transaction():
            for change in changes:
                self._swap(change)
                self._write_parts(change)
                for shelf, written in enumerate((change.waiting, change.done, change.ids)):
                    self._write_log(change.part, shelf, written)
                self._move(change.part, change.waiting)
                if change.panes is not None:
                    self.pane_tables.write(change.part, change.panes)
            if letters:
                self._run_many(PUT_LETTER, map(_text, letters))
                self._run("delete from dead_letters where rowid <= (select max(rowid) from dead_letters) - ?", LETTERS)
            for name, body in notes.items():
                self._run(PUT_NOTE, name, body, checksum(body))

    def _swap(self, change: PartChange) -> None:
        data = change.next, change.state, checksum(change.next, change.state), change.written
        statement, key = SET_STATE.replace("{now}", self.NOW), (change.part, change.epoch, change.previous)
        if self._run(statement, *data, *key).rowcount != 1:
            raise self._stale(change.part)

    def _stale(self, part: int) -> StaleOwner:
        return StaleOwner(f"{self.name}: partition {part} has another owner since it was assigned to this one", part)

    def _write_parts(self, change: PartChange) -> None:
        part = change.part
        self._run_many("delete from parts where part = ? and name = ?", ((part, name) for name in change.dropped))
        rows = ((part, name, body, checksum(body), part) for name, body in change.parts.items())
        self._run_many(PUT_PART, rows)

    def _write_log(self, part: int, shelf: int, written: Written) -> None:
        self._run("delete from log where part = ? and shelf = ? and number < ?", part, shelf, written.first)
        if written.segment is not None:
            self._run(PUT_LOG, part, shelf, *written.segment, checksum(written.segment.body))

    def _move(self, part: int, written: Written) -> None:
        moves = written.moves
        self._run("delete from pending where part = ? and row < ?", part, moves.floor)
        if moves.taken:
            self._take_pending(part, moves.taken)
        if moves.added:
            self._add_pending([(part, *row) for row in moves.added])

    def _take_pending(self, part: int, rows: Sequence[int]) -> None:
        self._run_many("delete from pending where part = ? and row = ?", ((part, row) for row in rows))

    def _add_pending(self, rows: Sequence[tuple[int, int, bytes, bytes]]) -> None:
        self._run_many("insert into pending (part, row, id, body) values (?, ?, ?, ?)", rows)

    def rows_of(self, part: int, ids: Sequence[bytes]) -> list[PendingRow]:
        """Return the pending rows of these ids: row, id and entry; ``StaleOwner`` if they are another owner's."""
        return self._rows(*self._ids_query(part, ids))

    @abstractmethod
    def _ids_query(self, part: int, ids: Sequence[bytes]) -> tuple[Any, ...]:
        """Return a statement that selects the pending rows of some ids, the partition, and the other values."""

    def following(self, part: int, row: int, most: int) -> list[PendingRow]:
        """Return the first pending rows from a number on, in order; ``StaleOwner`` if they are another owner's."""
        return self._rows(
            "select row, id, body from pending where part = ? and row >= ? order by row limit ?", part, row, most
        )

    def _rows(self, statement: str, part: int, *values: object) -> list[PendingRow]:
        """Return pending rows; the owner is checked after they were read, since a new one may change them before."""
        with self._named_errors():
            rows = self._run(statement, part, *values).fetchall()
            (epoch,) = self._run("select epoch from state where part = ?", part).fetchone() or (None,)
        if epoch != self._epochs.get(part):
            raise self._stale(part)
        return list(rows)

    def letters(self, most: int = 100) -> list[Rejected]:
        """Return the last records that were rejected, the newest first."""
        query = 'select topic, partition, "offset", reason, detail from dead_letters order by rowid desc limit ?'
        return [Rejected(*letter) for letter in self.patiently(lambda: self.run(query, most).fetchall())]

    def notes(self) -> dict[str, bytes]:
        """Return the notes by name; earlier versions also wrote their trend lines, which are not read."""
        query = "select name, body, crc from notes where name <> 'history'"
        rows = self.patiently(lambda: self.run(query).fetchall())
        for name, body, crc in rows:
            self.check_crc(f"the note {name!r}", crc, body)
        return {name: body for name, body, _ in rows}

    @property
    def pane_tables(self) -> PaneTables:
        """The panes, in the transaction that has begun; errors of the database are not converted."""
        return PaneTables(self.name, self._run, self._run_many)

    def archived(self, part: int) -> bytes | None:
        """Return the facts about the panes of a partition; None if none are stored."""
        with self._named_errors():
            return self.pane_tables.archived(part)

    def pane(self, part: int, name: str, length: int, start: int) -> bytes | None:
        """Return the state of a pane as bytes; None if there is no such pane."""
        with self._named_errors():
            return self.pane_tables.pane(part, name, length, start)

    def panes(self, part: int, start: int, end: int) -> list[Pane]:
        """Return the panes of a partition that overlap a range of time."""
        with self._named_errors():
            return self.pane_tables.panes(part, start, end)

    @abstractmethod
    def all_panes(self) -> AbstractContextManager[PaneTables]:
        """Give the panes of all partitions as of one moment; one other thread at a time may call it."""


def _text(letter: Rejected) -> tuple[object, ...]:
    """Return a letter as databases take text: without surrogates and zeros."""
    return (*letter[:4], letter.detail.encode(errors="replace").decode().replace("\0", "?"))


CLASSES = "classes"
NO_NOTE = b"", checksum(b"")
SELECT_NOTE = "select body, crc from notes where name = ?"
LOCK_NOTE = f"{PUT_NOTE.partition('do update')[0]} do update set name = excluded.name"


class StoredClasses:
    """The registry of a store, for the thread that writes its checkpoints."""

    def __init__(self, store: StateStore, config: CountingTable) -> None:
        self._store, self._exempt = store, exempt_classes(config)

    def read(self) -> Admitted:
        """Return the classes admitted so far; ``StoreError`` if they cannot be read."""
        return self._store.patiently(self._read)

    def _read(self) -> Admitted:
        with self._store.reading():
            row = self._store.run(SELECT_NOTE, CLASSES).fetchone()
            return self._admitted(*(row or NO_NOTE))

    def admit(self, labels: Sequence[Label], most: int | None) -> Admitted:
        """Admit classes for all workers, and return all that are admitted; ``StoreError`` if that cannot be done."""
        return self._store.patiently(lambda: self._admit(labels, most))

    def _admit(self, labels: Sequence[Label], most: int | None) -> Admitted:
        store = self._store
        with store.transaction():
            store.run(LOCK_NOTE, CLASSES, *NO_NOTE)  # another worker waits here
            body, crc = store.run(SELECT_NOTE, CLASSES).fetchone()
            admitted = self._admitted(body, crc)
            after = admitted.plus(labels, most)
            if after != admitted or not body:
                body = encoded(after)
                store.run(PUT_NOTE, CLASSES, body, checksum(body))
        return after

    def _admitted(self, body: bytes, crc: int) -> Admitted:
        self._store.check_crc(f"the note {CLASSES!r}", crc, body)
        return Admitted(*decoded(body)) if body else self._counted()

    def _counted(self) -> Admitted:
        """Return the classes of all stored counts."""
        rows = self._store.run("select part, name, body, crc from parts where name in ('total', 'classes')").fetchall()
        by_part: dict[int, dict[str, bytes]] = {}
        for part, name, body, crc in rows:
            self._store.check_crc(f"{name!r} of partition {part}", crc, body)
            by_part.setdefault(part, {})[name] = body
        admitted = Admitted()
        for _, parts in sorted(by_part.items()):
            labels, full = stored_classes(parts)
            admitted = admitted.plus([label for label in labels if label not in self._exempt], None)
            admitted = admitted._replace(full=admitted.full or full)
        return admitted
