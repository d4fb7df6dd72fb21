"""Opening the store at a path or an address, to use it or to read what it has at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from stream_metrics.monitor.store.rows import EmptyStoreError, PaneTables, StoreError
from stream_metrics.monitor.store.sqlite import Store, stored_file
from stream_metrics.monitor.store.tables import StateStore, Stored, tables_of

if TYPE_CHECKING:
    from stream_metrics.monitor.store.postgres import PostgresStore


SCHEMES = "postgresql://", "postgres://"


def is_address(path: str) -> bool:
    """Tell whether a path is the address of a PostgreSQL database."""
    return path.startswith(SCHEMES)


def shown_name(path: str) -> str:
    """Return a path as it is, and an address without secrets."""
    if not is_address(path):
        return path
    from stream_metrics.monitor.store.postgres import shown_address

    return shown_address(path)


def open_store(path: str, shared: bool = False) -> StateStore:
    """Return the PostgreSQL store at an address, or the state file at a path; ``StoreError`` if it cannot be used."""
    return open_postgres(path) if is_address(path) else Store(path, shared)


def open_postgres(path: str, opened: bool = False) -> PostgresStore:
    """Return the PostgreSQL store at an address, without creating or changing its tables if it is only `opened`."""
    try:
        from stream_metrics.monitor.store.postgres import PostgresStore
    except ImportError:
        raise StoreError('A postgresql:// store needs psycopg: pip install "stream-metrics[postgres]"') from None
    return PostgresStore(path, opened=opened)


@contextmanager
def open_stored(path: str) -> Iterator[Stored]:
    """Give what a store has at one moment, also while monitors write it; nothing is created or changed.

    ``StoreError`` if it is no store, ``EmptyStoreError`` if nothing was ever written to it.
    """
    with _from_postgres(path) if is_address(path) else stored_file(path) as stored:
        yield stored


@contextmanager
def _from_postgres(path: str) -> Iterator[Stored]:
    with closing(open_postgres(path, opened=True)) as store, store.reading():
        schema = store.version()
        if not schema:
            raise EmptyStoreError(f"{store.name}: expected the tables of a monitor, but there are none")
        names = ", ".join(f"('{table}')" for table in tables_of(schema))
        statement = f"select sum(pg_total_relation_size(name::regclass))::bigint from (values {names}) as tables (name)"
        (size,) = store.run(statement).fetchone()
        yield Stored(store.name, schema, size, store.run, store.stream)


@contextmanager
def open_panes(path: str) -> Iterator[PaneTables]:
    """Give the panes of a store as they are at one moment, also while monitors write it; errors as `open_stored`."""
    with open_stored(path) as stored:
        yield stored.panes()
