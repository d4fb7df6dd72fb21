"""A PostgreSQL database (13 or later) that the replicas of a consumer group share.

The tables are those of the SQLite file, in the first schema of the search path; each model has a schema, or a database,
of its own. A checkpoint is one transaction at the isolation level READ COMMITTED: the swap of a partition's row locks
it, and a swap that waited for another owner's sees the row as that owner wrote it, and changes nothing.

A connection that breaks is opened again. If it breaks while a transaction is committed, the server is asked whether it
was, by the number of the transaction, before anything else happens. If no answer comes in `PATIENCE` seconds, the
checkpoint counts as failed; if it was written after all, the next one gets ``StaleOwner``, so nothing is counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Self, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stream_metrics.monitor.store.rows import Pane, PaneTables, PendingRow, Row, StoreError
from stream_metrics.monitor.store.tables import SCHEMA, StateStore, check_version, for_postgres, statements_after

DEFAULTS = {
    "target_session_attrs": "read-write",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "application_name": "stream-metrics monitor",
}


def shown_address(path: str) -> str:
    """Return the parts of an address that may be shown: user, host, port and database, never a password.

    ``StoreError`` if the address cannot be parsed.
    """
    try:
        parts = conninfo_to_dict(path)
        ports = str(parts.get("port") or "").split(",")
        known = path.partition("?")[0].count("@") <= 1 and all(not port or port.isdecimal() for port in ports)
    except psycopg.Error:
        known = False
    if not known:  # messages of the client would show what it parsed as port or host
        raise StoreError(
            "Expected an address such as postgresql://user@host:5432/database, with %40 for @ and %3A for : in a "
            "password, but it is none"
        ) from None
    user, host, port = (parts.get(name) for name in ("user", "host", "port"))
    place = f"{f'{user}@' if user else ''}{host or ''}{f':{port}' if port else ''}"
    return f"postgresql://{place}/{parts.get('dbname') or ''}"


def with_defaults(path: str) -> str:
    """Return an address with the parameters of `DEFAULTS` that it does not have."""
    return str(make_conninfo(path, **{k: v for k, v in DEFAULTS.items() if k not in conninfo_to_dict(path)}))


T = TypeVar("T")
PATIENCE = 20.0  # seconds, for a server that is away
NAP = 0.1
OLDEST = 130_000  # the version of the server
LOCK = 0x534D4F4E  # of those who create or change tables
LARGE = ("state", "state"), ("parts", "body"), ("log", "body")
PENDING = {"part": "integer", "row": "integer", "id": "blob", "body": "blob"}
TYPES = {"integer": "int8", "real": "float8", "text": "text", "blob": "bytea"}
ROWS = 100  # fetched at once; states are large
SETTINGS = (
    "set idle_in_transaction_session_timeout = '10s'",  # a worker that is stopped lets go of its rows
    "set lock_timeout = '15s'",
    "set client_min_messages = warning",
)


@cache
def _translated(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


class PostgresStore(StateStore):
    """The store at an address, `postgresql://user:password@host:port/database?parameter=value`.

    Tables are created where there are none, unless it is only `opened` to read or copy what is there. Raises
    ``StoreError`` if the server cannot be reached, or a later version of this program wrote the tables.
    """

    shared = True
    NOW = "extract(epoch from clock_timestamp())::float8"

    def __init__(self, path: str, worker: str | None = None, opened: bool = False) -> None:
        super().__init__(worker)
        self.name = shown_address(path)
        self._reader: PostgresStore | None = None  # for other threads
        self._address = with_defaults(path)
        with self._named_errors():
            self._connection = self._connected()
            try:
                if not opened:
                    self._again(self._prepare)
            except BaseException:
                self._connection.close()
                raise

    def another(self) -> Self:
        """Return another connection to the same store for the same worker."""
        return type(self)(self._address, self.worker)

    def _connected(self) -> psycopg.Connection:
        """Return a new connection; one that breaks as soon as it is there is tried again."""
        end = time.monotonic() + PATIENCE
        while True:
            connection = psycopg.connect(self._address, autocommit=True)
            try:
                return self._set_up(connection)
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(NAP)

    def _set_up(self, connection: psycopg.Connection) -> psycopg.Connection:
        try:
            if connection.info.server_version < OLDEST:
                raise StoreError(f"{self.name}: expected PostgreSQL 13 or later, but it is an earlier version")
            for setting in SETTINGS:
                connection.execute(setting)
            if connection.execute("show synchronous_commit").fetchone() == ("off",):
                connection.execute("set synchronous_commit = on")  # an acknowledged commit must be on a disk
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self) -> None:
        """Create the tables, or bring them to this version."""
        with self._begun():
            self.create(SCHEMA)

    def version(self) -> int:
        """Return the version of the tables, 0 if there are none; ``StoreError`` if it is a later one."""
        if self._run("select to_regclass('monitor_schema')").fetchone() == (None,):
            return 0
        version = sum(int(version) for (version,) in self._run("select version from monitor_schema").fetchall())
        check_version(self.name, version)
        return version

    def create(self, schema: int) -> int:
        """Create the tables of a version, or bring them to it, and return the one that they had; in a transaction."""
        self._run("select pg_advisory_xact_lock(?)", LOCK)
        self._run("create table if not exists monitor_schema (version bigint not null)")
        version = self.version()
        for statement in statements_after(version, schema):
            self._connection.execute(for_postgres(statement).encode())
        if not version:
            for table, column in LARGE:  # the server would take longer to compress them than to write them
                self._connection.execute(f"alter table {table} alter column {column} set storage external".encode())
        if version < schema:
            self._run("delete from monitor_schema")
            self._run("insert into monitor_schema values (?)", schema)
        return version

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, a few at a time; inside `reading`."""
        with self._connection.cursor("rows", binary=True) as cursor:
            cursor.itersize = ROWS
            cursor.execute(_translated(statement))
            yield from cursor

    def load(self, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> None:
        """Write rows into a table, of which `columns` has the types by name; inside `transaction`."""
        names = ", ".join(f'"{name}"' for name in columns)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"copy {table} ({names}) from stdin (format binary)".encode()) as copy,
        ):
            copy.set_types([TYPES[kind] for kind in columns.values()])
            for row in rows:
                copy.write_row(row)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the store in every error."""
        try:
            yield
        except (psycopg.Error, OSError) as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise StoreError(f"{self.name}: {text}") from error

    def _run(self, statement: str, *values: object) -> psycopg.Cursor[Any]:
        return self._connection.execute(_translated(statement), values, binary=True)

    def _run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_translated(statement), rows)

    def _reach(self) -> None:
        """Open the connection again if it is broken."""
        if self._connection.closed:
            self._connection = self._connected()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write the effects of all statements inside, or none."""
        with self._named_errors():
            self._reach()
            with self._begun():
                yield

    @contextmanager
    def _begun(self) -> Iterator[None]:
        """Commit the statements run inside, or roll them back; after a lost answer, find out which of both happened."""
        try:
            self._run("begin")
            (number,) = self._run("select pg_current_xact_id()::text").fetchone() or (None,)
            yield
        except BaseException:
            self._roll_back()
            raise
        try:
            self._run("commit")
        except psycopg.Error:
            if not self._connection.closed:
                self._roll_back()
                raise
            if not self._again(lambda: self._committed(str(number))):
                raise
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        with suppress(psycopg.Error):
            if not self._connection.closed:
                self._connection.execute("rollback")

    def _committed(self, number: str) -> bool:
        """Tell whether the transaction of a number was committed, once it has ended."""
        while True:
            try:
                (status,) = self._run("select pg_xact_status(?::text::xid8)", number).fetchone() or (None,)
            except psycopg.DataError:  # the server has restarted and does not know the number
                return False
            if status != "in progress":
                return bool(status == "committed")
            time.sleep(NAP)

    def _again(self, do: Callable[[], T]) -> T:
        """Return what `do` returns, over connections that are opened again for `PATIENCE` seconds."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self._reach()
                return do()
            except psycopg.Error:
                if time.monotonic() > end or not self._connection.closed:
                    raise
                time.sleep(NAP)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read everything inside as of one moment."""
        with self._named_errors():
            self._reach()
            try:
                self._run("begin isolation level repeatable read read only")
                yield
            finally:
                self._roll_back()

    @contextmanager
    def all_panes(self) -> Iterator[PaneTables]:
        """Give the panes of all partitions as they are at one moment; one other thread at a time may call it."""
        reader = self._reader = self._reader or self.another()
        with reader.reading():
            yield reader.pane_tables

    def pane(self, part: int, name: str, length: int, start: int) -> bytes | None:
        """Return the state of a pane as bytes, None without one; waits for a server that is away."""
        read = super().pane
        return self.patiently(lambda: read(part, name, length, start))

    def panes(self, part: int, start: int, end: int) -> list[Pane]:
        """Return the panes of a partition that overlap a range of time; waits for a server that is away."""
        read = super().panes
        return self.patiently(lambda: read(part, start, end))

    def archived(self, part: int) -> bytes | None:
        """Return the facts about the panes of a partition; waits for a server that is away."""
        read = super().archived
        return self.patiently(lambda: read(part))

    def patiently(self, do: Callable[[], T]) -> T:
        """Return what `do` returns, and repeat it while the server is away; it must be safe to repeat."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                with self._named_errors():
                    self._reach()
                return do()
            except StoreError as error:
                if not isinstance(error.__cause__, psycopg.OperationalError) or time.monotonic() > end:
                    raise
                time.sleep(NAP)

    def claim(self, part: int) -> Row:
        """Become the owner of a partition and return its stored state; ``StoreError`` if that is damaged."""
        return self.patiently(lambda: super(PostgresStore, self).claim(part))

    def _rows(self, statement: str, part: int, *values: object) -> list[PendingRow]:
        return self.patiently(lambda: super(PostgresStore, self)._rows(statement, part, *values))

    def _ids_query(self, part: int, ids: Sequence[bytes]) -> tuple[Any, ...]:
        return "select row, id, body from pending where part = ? and id = any(?)", part, list(ids)

    def _take_pending(self, part: int, rows: Sequence[int]) -> None:
        self._run("delete from pending where part = ? and row = any(?::bigint[])", part, list(rows))

    def _add_pending(self, rows: Sequence[tuple[int, int, bytes, bytes]]) -> None:
        self.load("pending", PENDING, rows)

    def close(self) -> None:
        """Close the connection."""
        if self._reader is not None:
            self._reader.close()
        with suppress(psycopg.Error):
            self._connection.close()
