"""One SQLite file with everything that must stay consistent: states, next offsets, waiting and rejected records.

A checkpoint is one transaction (WAL, synchronous FULL).

Who may write. SQLite before 3.51.3 (3.50.7, 3.44.6) can lose what was committed when one connection commits while
another copies the WAL back (sqlite.org/wal.html, "WAL-reset bug"), and compare-and-swap needs all owners of a group to
reach one file. So either one process has the file for as long as it lives (the default; a second one is refused at
start, also while the first is stopped), or, `shared`, several take turns: each transaction, with the copying back that
may be part of it, is made under a lock, so that two connections never write at the same time, which the bug needs.
Rejected: the rollback journal where files are shared, which takes 16 to 20 ms for a checkpoint instead of 4; a file
for each partition, since its new owner could not start while the old one hangs. Readers open the file with mode=ro:
they cannot copy back. Not on network file systems, where locks are no locks.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

from stream_metrics.monitor.store.files import connect, stored_file
from stream_metrics.monitor.store.locks import Lock, Locked
from stream_metrics.monitor.store.panes import PaneTables
from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.store.tables import StateStore

__all__ = ["Store"]


class Store(StateStore):
    """The state file at `path`, made if there is none; `shared` if other workers of a group write it too.

    Raises ``StoreError`` if it is damaged, foreign, of a newer schema, or written by another process.
    """

    NOW = "(julianday('now') - 2440587.5) * 86400.0"

    def __init__(self, path: str, shared: bool = False, worker: str | None = None) -> None:
        super().__init__(worker)
        self.path = self.name = str(path)
        self.shared = shared
        self._identities: list[tuple[str, int, int]] = []  # paths, devices and inodes, while it is open
        try:
            self._lock = Lock(self.path, shared)
        except Locked as error:
            raise StoreError(str(error)) from None
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from None
        try:
            self._connection = self._opened()
            self._identities = self._identify()
        except BaseException:
            self._lock.close()
            raise

    def another(self) -> Self:
        """Return another connection to the same file, which must be shared, for the same worker."""
        return type(self)(self.path, self.shared, self.worker)

    def _opened(self) -> sqlite3.Connection:
        with self._named_errors(), self._lock.turn():
            return connect(self.path)

    def _identify(self) -> list[tuple[str, int, int]]:
        """Return device and inode of the file and of its log, as far as they are at their paths."""
        identities = []
        for path in (self.path, f"{os.path.realpath(self.path)}-wal"):
            with suppress(OSError):
                status = os.stat(path)
                identities.append((path, status.st_dev, status.st_ino))
        return identities

    def _check_there(self, identities: list[tuple[str, int, int]]) -> None:
        """Raise ``StoreError`` if the file or its log is no longer at its path: what is written there would be lost."""
        if identities != self._identities:
            raise StoreError(
                f"{self.path}: the state file was deleted or replaced while it was in use, or its log {self.path}-wal; "
                f"what was counted cannot be saved until it is put back, or the monitor is started again"
            )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the file in every error."""
        try:
            yield
        except (sqlite3.Error, Locked, OSError) as error:
            raise StoreError(f"{self.path}: {error}") from error

    def _run(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write the effects of all statements inside, or none."""
        with self._named_errors(), self._lock.turn():
            self._check_there(self._identify())
            with self._begun("begin immediate"):
                yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read everything inside as of one moment."""
        with self._named_errors(), self._begun("begin"):
            yield

    @contextmanager
    def all_panes(self) -> Iterator[PaneTables]:
        """Give the panes of all partitions as they are at one moment; any thread may call it."""
        with stored_file(self.path) as stored:
            yield stored.panes()

    @contextmanager
    def _begun(self, how: str) -> Iterator[None]:
        try:
            self._run(how)
            yield
            self._run("commit")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("rollback")
            raise

    def _ids_query(self, part: int, ids: Sequence[bytes]) -> tuple[Any, ...]:
        marks = ",".join("?" * len(ids))  # left to itself, SQLite reads the whole partition for as many
        chosen = f"pending indexed by pending_id where part = ? and id in ({marks})"
        return f"select row, id, body from {chosen}", part, *ids

    def close(self) -> None:
        """Close the file and release its lock; nothing happens if that was done before."""
        if not self._identities:
            return
        with self._named_errors(), self._lock.turn():
            identities = self._identify()  # before the last one to close deletes the log
            self._connection.close()
        self._lock.close()
        try:
            self._check_there(identities)
        finally:
            self._identities = []
