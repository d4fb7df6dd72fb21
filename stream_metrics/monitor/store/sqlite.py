"""One SQLite file with everything that must stay consistent: states, next offsets, waiting and rejected records.

**Locks.** One process writes the file for as long as it lives, or several take turns. The locks use `flock` on two
files beside it: `.lock`, exclusive or shared, for the life of the process; and, if several write, `.turn` for each
transaction. A lock is released when its process ends for any reason; a stopped process keeps its locks.

Files of other programs are refused. A checkpoint is one transaction (WAL, synchronous FULL).

**Who may write.** SQLite before 3.51.3 (3.50.7, 3.44.6) can lose what was committed when one connection commits while
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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Self
from urllib.parse import quote

from stream_metrics.monitor.store.rows import EmptyStoreError, PaneTables, StoreError
from stream_metrics.monitor.store.tables import SCHEMA, StateStore, Stored, check_version, statements_after

try:
    import fcntl
except ImportError:  # not on Windows, where a state file cannot be opened for writing
    fcntl = None  # type: ignore[assignment]


PRIVATE = 0o600  # of files that hold predictions of people

PATIENCE = 30.0
NAP = 0.002


def make_private(path: str) -> None:
    """Create a file that only its owner can read, or restrict an existing one, regardless of the umask.

    A file that cannot be created or changed is left as it is: opening it later raises the error. An existing file is
    not opened: to close it would release the POSIX locks of other connections of this process, and another process
    could then delete the log that they write (sqlite.org/howtocorrupt.html, 2.2).
    """
    path = os.path.realpath(path)  # as SQLite names the log
    with suppress(OSError):
        os.close(_opened(path, os.O_EXCL))
    for each in (path, f"{path}-wal", f"{path}-shm"):  # later logs get the mode of the file
        if os.path.isfile(each):
            with suppress(OSError):
                os.chmod(each, PRIVATE)


def _opened(path: str, flags: int = 0) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | flags, PRIVATE)
    with suppress(PermissionError):  # it belongs to another user, who chose its mode
        os.fchmod(handle, PRIVATE)
    return handle


class Locked(Exception):
    """Another process has the lock."""


class Lock:
    """The right to write a state file; ``Locked`` if another process has it."""

    def __init__(self, path: str, shared: bool) -> None:
        if fcntl is None:
            raise Locked(f"{path}: expected a system with flock, which keeps two processes from writing one file")
        self._path = path
        self._life = _opened(f"{path}.lock")
        self._turn = -1
        try:
            fcntl.flock(self._life, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._life, 20, 0).decode(errors="replace").strip()
            os.close(self._life)
            by = f"process {holder}" if holder else "workers that share it"
            raise Locked(
                f"{path}: expected to be its only writer, but it is in use by {by}; readers open it with mode=ro"
            ) from None
        os.ftruncate(self._life, 0)
        if shared:
            self._turn = _opened(f"{path}.turn")
        else:
            os.pwrite(self._life, str(os.getpid()).encode(), 0)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Lock the file for one transaction; ``Locked`` if the others do not release it in time."""
        if self._turn < 0:
            yield
            return
        end = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise Locked(f"{self._path}: another worker has been writing for {PATIENCE:.0f} s") from None
                time.sleep(NAP)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the file."""
        for handle in (self._life, self._turn):
            if handle >= 0:
                os.close(handle)
        self._life = self._turn = -1


APPLICATION = 0x534D4F4E  # "SMON"
KIND = "state file of a monitor"
PAGE = 16_384  # bytes; with 4096, a large segment of the log takes half as long again to write
WAL_PAGES = 1000
CACHE_KB = 32_768


def connect(path: str, schema: int = SCHEMA) -> sqlite3.Connection:
    """Open a state file for writing; create it if it does not exist, and upgrade one of an earlier version.

    `schema` is the version that it then has. ``StoreError`` if it is a file of another program, or of a later version.
    """
    make_private(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        is_empty(connection, path, APPLICATION, SCHEMA, KIND)
        for pragma in (f"page_size = {PAGE}", "journal_mode = wal", "synchronous = full", f"cache_size = -{CACHE_KB}"):
            connection.execute(f"pragma {pragma}")
        connection.execute(f"pragma wal_autocheckpoint = {WAL_PAGES}")
        connection.execute("begin immediate")
        version = _number(connection, "user_version")
        for statement in statements_after(version, schema):
            connection.execute(statement)
        if version < schema:
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute(f"pragma user_version = {schema}")
        connection.execute("commit")
    except BaseException:
        connection.close()
        raise
    return connection


def read_only(path: str) -> sqlite3.Connection:
    """Open a state file for reading, also while a monitor writes it; ``StoreError`` if this version cannot read it."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        if is_empty(connection, path, APPLICATION, SCHEMA, KIND):
            raise EmptyStoreError(f"{path}: expected the {KIND}, but nothing has been written to it yet")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def stored_file(path: str) -> Iterator[Stored]:
    """Give what a state file has at one moment; errors as of `read_only`, also if there is no such file."""
    if not os.path.exists(path):
        raise StoreError(f"{path}: there is no such state file")
    try:
        with closing(read_only(path)) as connection:
            connection.execute("begin")

            def run(statement: str, *values: object) -> sqlite3.Cursor:
                return connection.execute(statement, values)

            yield Stored(path, _number(connection, "user_version"), os.path.getsize(path), run, run)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error


def is_empty(connection: sqlite3.Connection, path: str, application: int, schema: int, kind: str) -> bool:
    """Tell whether nothing was written to a database; ``StoreError`` if it is another kind of file, or newer."""
    of, number = _number(connection, "application_id"), _number(connection, "user_version")
    if not (of or number or connection.execute("select 1 from sqlite_master").fetchone()):
        return True
    if of != application:
        raise StoreError(f"{path}: expected the {kind}, but it is a database of another kind")
    check_version(path, number, schema)
    return False


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (number,) = connection.execute(f"pragma {pragma}").fetchone()
    return int(number)


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
