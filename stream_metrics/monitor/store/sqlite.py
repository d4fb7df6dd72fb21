"""One SQLite file holds everything that must not come apart: states, next offsets, what waits, what was rejected.

A checkpoint is one transaction (WAL, synchronous FULL), so a crash at any instant leaves the whole of one checkpoint
or the whole of the next. Whole states are written, never differences, and a row is swapped only if its owner's epoch
and its offsets are what this owner left there. To assign a partition raises its epoch: from then on, the earlier
owner gets ``StaleOwner``, also where no record came in between.

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
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from stream_metrics.monitor.records import Rejected
from stream_metrics.monitor.store.locks import Lock, Locked
from stream_metrics.monitor.store.rows import (
    LETTERS,
    SHELVES,
    Change,
    PendingRow,
    Row,
    Segment,
    StaleOwner,
    StoreError,
    Written,
    checksum,
    offsets,
)
from stream_metrics.monitor.store.schema import connect
from stream_metrics.wire import decoded

__all__ = ["Store"]


class Store:
    """The state file at `path`, made if there is none; `shared` if other workers of a group write it too.

    Raises ``StoreError`` if it is damaged, foreign, of a newer schema, or written by another process.
    """

    def __init__(self, path: str, shared: bool = False) -> None:
        self.path = str(path)
        self._epochs: dict[int, int] = {}  # of the partitions claimed
        self._identity: tuple[int, int] | None = None  # device and inode of the file
        try:
            self._lock = Lock(self.path, shared)
        except Locked as error:
            raise StoreError(str(error)) from None
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}") from None
        try:
            self._connection = self._opened()
            self._identity = self._found()
        except BaseException:
            self._lock.close()
            raise

    def _opened(self) -> sqlite3.Connection:
        with self._named_errors(), self._lock.turn():
            return connect(self.path)

    def _found(self) -> tuple[int, int] | None:
        """Return device and inode of what is at the path, None if nothing is."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _check_there(self) -> None:
        """Raise ``StoreError`` if the file is no longer at its path: what is written to it would be lost."""
        if self._found() != self._identity:
            raise StoreError(
                f"{self.path}: the state file was deleted or replaced while it was in use; what was counted cannot be "
                f"saved until it is put back, or the monitor is started again"
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
    def _transaction(self) -> Iterator[None]:
        with self._named_errors(), self._lock.turn():
            self._check_there()
            try:
                self._run("begin immediate")
                yield
                self._run("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def claim(self, part: int) -> Row:
        """Become the owner of a partition and return its stored state; ``StoreError`` if that is damaged."""
        with self._transaction():
            empty = offsets({}), b""
            self._run("insert or ignore into state values (?, 0, ?, ?, ?, 0, 0)", part, *empty, checksum(*empty))
            self._run("update state set epoch = epoch + 1 where part = ?", part)
            row = self._run("select * from state where part = ?", part).fetchone()
            parts = self._run("select name, body, crc from parts where part = ?", part).fetchall()
            logs = [
                self._run("select * from log where part = ? and shelf = ? order by number", part, shelf).fetchall()
                for shelf in range(SHELVES)
            ]
        _, epoch, following, state, crc, restored, written = row
        self._check_crc(f"the state of partition {part}", crc, following, state)
        for name, body, crc in parts:
            self._check_crc(f"{name!r} of partition {part}", crc, body)
        for log in logs:
            for _, _, number, _, _, body, crc in log:
                self._check_crc(f"segment {number} of the log of partition {part}", crc, body)
        waiting, done, ids = ([Segment(*entry[2:6]) for entry in log] for log in logs)
        bodies = {name: body for name, body, _ in parts}
        self._epochs[part] = epoch
        return Row(part, epoch, dict(decoded(following)), state, bodies, bool(restored), waiting, done, written, ids)

    def _check_crc(self, what: str, crc: int, *data: bytes) -> None:
        if checksum(*data) != crc:
            raise StoreError(
                f"{self.path}: {what} is damaged: expected crc {crc}, but it has {checksum(*data)}; an export can be "
                f"restored in its place"
            )

    def save(self, changes: Sequence[Change], letters: Sequence[Rejected], notes: Mapping[str, bytes]) -> None:
        """Write a checkpoint, all of it or nothing; ``StaleOwner`` if a partition has another owner by now."""
        with self._transaction():
            for change in changes:
                self._swap(change)
                self._write_parts(change)
                for shelf, written in enumerate((change.waiting, change.done, change.ids)):
                    self._write_log(change.part, shelf, written)
                self._move(change.part, change.waiting)
            if letters:
                self._run_many("insert or replace into dead_letters values (?, ?, ?, ?, ?)", map(_text, letters))
                self._run("delete from dead_letters where rowid <= (select max(rowid) from dead_letters) - ?", LETTERS)
            for name, body in notes.items():
                self._run("insert or replace into notes values (?, ?, ?)", name, body, checksum(body))

    def _swap(self, change: Change) -> None:
        done = self._run(
            "update state set next = ?, state = ?, crc = ?, restored = 0, written = ? "
            "where part = ? and epoch = ? and next = ?",
            change.next,
            change.state,
            checksum(change.next, change.state),
            change.written,
            change.part,
            change.epoch,
            change.previous,
        )
        if done.rowcount != 1:
            raise self._stale(change.part)

    def _stale(self, part: int) -> StaleOwner:
        return StaleOwner(f"{self.path}: partition {part} has another owner since it was assigned to this one", part)

    def _write_parts(self, change: Change) -> None:
        gone = ((change.part, name) for name in change.dropped)
        self._run_many("delete from parts where part = ? and name = ?", gone)
        rows = ((change.part, name, body, checksum(body)) for name, body in change.parts.items())
        self._run_many("insert or replace into parts values (?, ?, ?, ?)", rows)

    def _write_log(self, part: int, shelf: int, written: Written) -> None:
        self._run("delete from log where part = ? and shelf = ? and number < ?", part, shelf, written.first)
        if written.segment is not None:
            values = part, shelf, *written.segment, checksum(written.segment.body)
            self._run("insert into log values (?, ?, ?, ?, ?, ?, ?)", *values)

    def _move(self, part: int, written: Written) -> None:
        moves = written.moves
        self._run("delete from pending where part = ? and row < ?", part, moves.floor)
        self._run_many("delete from pending where part = ? and row = ?", ((part, row) for row in moves.taken))
        self._run_many("insert into pending values (?, ?, ?, ?)", ((part, *row) for row in moves.added))

    def rows_of(self, part: int, ids: Sequence[bytes]) -> list[PendingRow]:
        """Return the pending rows of these ids: row, id and entry; ``StaleOwner`` if they are another owner's."""
        marks = ",".join("?" * len(ids))  # left to itself, SQLite reads the whole partition for as many
        chosen = f"pending indexed by pending_id where part = ? and id in ({marks})"
        return self._rows(f"select row, id, body from {chosen}", part, *ids)

    def following(self, part: int, row: int, most: int) -> list[PendingRow]:
        """Return the first pending rows from a number on, in order; ``StaleOwner`` if they are another owner's."""
        return self._rows(
            "select row, id, body from pending where part = ? and row >= ? order by row limit ?", part, row, most
        )

    def _rows(self, statement: str, part: int, *values: object) -> list[PendingRow]:
        """Return pending rows; who owns them is asked after they were read, since he may change them from then on."""
        with self._named_errors():
            rows = self._run(statement, part, *values).fetchall()
            (epoch,) = self._run("select epoch from state where part = ?", part).fetchone() or (None,)
        if epoch != self._epochs.get(part):
            raise self._stale(part)
        return rows

    def letters(self, most: int = 100) -> list[Rejected]:
        """Return the last records that were rejected, the newest first."""
        with self._named_errors():
            rows = self._run("select * from dead_letters order by rowid desc limit ?", most)
            return [Rejected(*letter) for letter in rows]

    def notes(self) -> dict[str, bytes]:
        """Return what others have put beside the states."""
        with self._named_errors():
            rows = self._run("select name, body, crc from notes").fetchall()
        for name, body, crc in rows:
            self._check_crc(f"the note {name!r}", crc, body)
        return {name: body for name, body, _ in rows}

    def fill(self, rows: Iterable[tuple[int, Mapping[str, int], bytes, Mapping[str, bytes]]]) -> None:
        """Write partitions (number, next offsets, state, parts) of an export into a new file."""
        with self._transaction():
            for part, following, state, parts in rows:
                data = offsets(following), state
                self._run("insert into state values (?, 0, ?, ?, ?, 1, ?)", part, *data, checksum(*data), time.time())
                values = ((part, name, body, checksum(body)) for name, body in parts.items())
                self._run_many("insert into parts values (?, ?, ?, ?)", values)

    def close(self) -> None:
        """Close the file and release its lock."""
        with self._named_errors(), self._lock.turn():
            self._connection.close()
        self._lock.close()
        self._check_there()


def _text(letter: Rejected) -> tuple[object, ...]:
    """Return a letter without surrogates, which SQLite has no text for."""
    return (*letter[:4], letter.detail.encode(errors="replace").decode())
