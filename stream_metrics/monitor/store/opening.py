"""Opening the store at a path or an address."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from stream_metrics.monitor.store.files import read_panes
from stream_metrics.monitor.store.panes import PaneTables
from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.store.sqlite import Store
from stream_metrics.monitor.store.tables import StateStore

__all__ = ["is_address", "open_panes", "open_store"]

SCHEMES = "postgresql://", "postgres://"


def is_address(path: str) -> bool:
    """Tell whether a path is the address of a PostgreSQL database."""
    return path.startswith(SCHEMES)


def open_store(path: str, shared: bool = False) -> StateStore:
    """Return the PostgreSQL store at an address, or the state file at a path; ``StoreError`` if it cannot be used."""
    if not is_address(path):
        return Store(path, shared)
    try:
        from stream_metrics.monitor.store.postgres import PostgresStore
    except ImportError:
        raise StoreError('A postgresql:// store needs psycopg: pip install "stream-metrics[postgres]"') from None
    return PostgresStore(path)


@contextmanager
def open_panes(path: str) -> Iterator[PaneTables]:
    """Give the panes of a store as they are at one moment, also while monitors write it."""
    if is_address(path):
        with closing(open_store(path)) as store, store.all_panes() as panes:
            yield panes
        return
    if not os.path.exists(path):
        raise StoreError(f"{path}: there is no such state file")
    try:
        with read_panes(path) as panes:
            yield panes
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error
