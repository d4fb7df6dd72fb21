"""The store that a path or an address names."""

from __future__ import annotations

from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.store.sqlite import Store
from stream_metrics.monitor.store.tables import StateStore

__all__ = ["is_address", "open_store"]

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
