"""Connections to SQLite files that a monitor or a collector wrote; files of other programs are refused."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import quote

from stream_metrics.monitor.store.locks import make_private
from stream_metrics.monitor.store.rows import EmptyStoreError, StoreError
from stream_metrics.monitor.store.schema import SCHEMA, check_version, statements_after
from stream_metrics.monitor.store.stored import Stored

__all__ = ["connect", "is_empty", "read_only", "stored_file"]

APPLICATION = 0x534D4F4E  # "SMON"
KIND = "state file of a monitor"
PAGE = 16_384  # bytes; with 4096, a large segment of the log takes half as long again to write
WAL_PAGES = 1000
CACHE_KB = 32_768
PATIENCE = 30.0


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
