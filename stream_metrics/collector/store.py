"""The SQLite file of a collector: the state of each worker, and the base of those that are gone.

A batch of reports is one transaction (WAL, synchronous FULL), so a crash at any instant leaves all of it or nothing,
and reports are acknowledged after it. A worker that is retired keeps its state here until it is forgotten; only then
its counts are added to the stored base. So one that comes back from a long silence goes on as if it had not been away.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.store.sqlite import Lock, Locked, is_empty, make_private

Standing: TypeAlias = Literal["live", "retired", "finished"]

APPLICATION, SCHEMA = 0x534D434F, 1  # "SMCO"
KIND = "file of a collector"
PATIENCE = 30.0
CREATE = f"""
create table workers (name text primary key, epoch integer not null, sequence integer not null,
                      standing text not null, fold integer not null, seen real not null, state blob not null);
create table base (one integer primary key check (one = 0), state blob, lives integer not null, floor integer);
insert into base values (0, null, 0, null);
create table registered (name text primary key, epoch integer not null, at real not null);
pragma application_id = {APPLICATION};
pragma user_version = {SCHEMA}
"""


class Life(NamedTuple):
    """The newest numbers of a worker, how it stands, and when its state came, in seconds since 1970.

    It is "live", "retired" because it was silent, or "finished" because it said so. `fold` says that its state does not
    contain what earlier lives of it counted.
    """

    epoch: int
    sequence: int
    standing: Standing
    fold: bool
    seen: float


class Base(NamedTuple):
    """What workers counted that were forgotten or replaced: their sum, how many lives, and the largest epoch of them.

    `floor` is of those that were forgotten; epochs up to it of unknown workers are over, unless they are registered.
    """

    state: bytes | None = None
    lives: int = 0
    floor: int | None = None


class CollectorStore:
    """The file at `path`, made if there is none; ``StoreError`` if it is foreign, or in use by another process."""

    def __init__(self, path: str) -> None:
        self.path = str(path)
        try:
            self._lock = Lock(self.path, shared=False)
        except Locked as error:
            raise StoreError(str(error)) from None
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from None
        try:
            with self._named_errors():
                make_private(self.path)
                self._connection = _connect(self.path)
        except BaseException:
            self._lock.close()
            raise

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what is written inside one change, all of it or nothing."""
        with self._named_errors():
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def _read(self, statement: str, *values: object) -> list[Any]:
        with self._named_errors():
            return self._connection.execute(statement, values).fetchall()

    def lives(self) -> dict[str, Life]:
        """Return what there is of each worker, without the states."""
        rows = self._read("select name, epoch, sequence, standing, fold, seen from workers")
        return {row[0]: Life._make((*row[1:4], bool(row[4]), row[5])) for row in rows}

    def state(self, name: str) -> bytes:
        """Return the state of a worker."""
        return bytes(self._read("select state from workers where name = ?", name)[0][0])

    def write(self, name: str, life: Life, state: bytes) -> None:
        """Write a worker over what there was of it."""
        row = (name, *life, state)
        self._connection.execute("insert or replace into workers values (?, ?, ?, ?, ?, ?, ?)", row)
        self._connection.execute("delete from registered where name = ? and epoch <= ?", (name, life.epoch))

    def registered(self) -> dict[str, int]:
        """Return the epochs of workers that have not reported under them."""
        return dict(self._read("select name, epoch from registered order by at"))

    def register(self, name: str, epoch: int, at: float) -> None:
        """Write the epoch of a worker that starts."""
        statement = """
            insert into registered values (?, ?, ?)
            on conflict do update set epoch = max(epoch, excluded.epoch), at = excluded.at
        """
        self._connection.execute(statement, (name, epoch, at))

    def forget_registered(self, before: float) -> None:
        """Remove the epochs that were given out before a time, and were not used."""
        self._connection.execute("delete from registered where at < ?", (before,))

    def stand(self, name: str, standing: Standing) -> None:
        """Write how a worker stands."""
        self._connection.execute("update workers set standing = ? where name = ?", (standing, name))

    def forget(self, name: str) -> None:
        """Remove a worker."""
        self._connection.execute("delete from workers where name = ?", (name,))

    def base(self) -> Base:
        """Return the base."""
        return Base(*self._read("select state, lives, floor from base")[0])

    def write_base(self, base: Base) -> None:
        """Write the base."""
        self._connection.execute("update base set state = ?, lives = ?, floor = ?", base)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._lock.close()


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        is_empty(connection, path, APPLICATION, SCHEMA, KIND)  # before a file of others is changed
        for pragma in ("journal_mode = wal", "synchronous = full"):
            connection.execute(f"pragma {pragma}")
        connection.execute("begin immediate")
        if is_empty(connection, path, APPLICATION, SCHEMA, KIND):
            for statement in CREATE.split(";"):
                connection.execute(statement)
        connection.execute("commit")
    except BaseException:
        connection.close()
        raise
    return connection
