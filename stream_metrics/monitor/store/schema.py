"""The tables of a state file, and how a connection to it is opened.

`state` has a row for each partition, with crc; `parts` has its counts, with crc, in parts of which a checkpoint writes
those that have changed; `log` what came to and left the join with each checkpoint, with crc;
`pending` what waits but has outgrown the memory; `dead_letters` the last records that were rejected; `notes` plain data
of others, such as the state of alerts. `user_version` is the number of this schema.
"""

from __future__ import annotations

import sqlite3
from urllib.parse import quote

from stream_metrics.monitor.store.locks import make_private
from stream_metrics.monitor.store.rows import EmptyStoreError, StoreError

__all__ = ["SCHEMA", "connect", "is_empty", "read_only"]

APPLICATION = 0x534D4F4E  # "SMON"
SCHEMA = 1
KIND = "state file of a monitor"
PAGE = 16_384  # bytes; with 4096, a large segment of the log takes half as long again to write
WAL_PAGES = 1000
CACHE_KB = 32_768
PATIENCE = 30.0
CREATE = """
create table state (part integer primary key, epoch integer not null, next blob not null, state blob not null,
                    crc integer not null, restored integer not null, written real not null);
create table parts (part integer not null, name text not null, body blob not null, crc integer not null,
                    primary key (part, name));
create table log (part integer not null, shelf integer not null, number integer not null, size integer not null,
                  last integer not null, body blob not null, crc integer not null, primary key (part, shelf, number));
create table pending (part integer not null, row integer not null, id blob not null, body blob not null,
                      primary key (part, row)) without rowid;
create unique index pending_id on pending (part, id);
create table dead_letters (topic text not null, partition integer not null, offset integer not null,
                           reason text not null, detail text not null, primary key (topic, partition, offset));
create table notes (name text primary key, body blob not null, crc integer not null)
"""


def connect(path: str) -> sqlite3.Connection:
    """Open a state file for writing, and make one if there is none; ``StoreError`` if it is not ours to write."""
    make_private(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        is_empty(connection, path, APPLICATION, SCHEMA, KIND)
        for pragma in (f"page_size = {PAGE}", "journal_mode = wal", "synchronous = full", f"cache_size = -{CACHE_KB}"):
            connection.execute(f"pragma {pragma}")
        connection.execute(f"pragma wal_autocheckpoint = {WAL_PAGES}")
        connection.execute("begin immediate")
        if not _number(connection, "application_id"):
            for statement in CREATE.split(";"):
                connection.execute(statement)
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute(f"pragma user_version = {SCHEMA}")
        connection.execute("commit")
    except BaseException:
        connection.close()
        raise
    return connection


def read_only(path: str) -> sqlite3.Connection:
    """Open a state file for reading, also while a monitor writes it; ``StoreError`` if it is none that we can read."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        if is_empty(connection, path, APPLICATION, SCHEMA, KIND):
            raise EmptyStoreError(f"{path}: expected the {KIND}, but nothing has been written to it yet")
    except BaseException:
        connection.close()
        raise
    return connection


def is_empty(connection: sqlite3.Connection, path: str, application: int, schema: int, kind: str) -> bool:
    """Tell whether nothing was written to a database; ``StoreError`` unless it is this `kind` of file and schema."""
    of, number = _number(connection, "application_id"), _number(connection, "user_version")
    if not (of or number or connection.execute("select 1 from sqlite_master").fetchone()):
        return True
    if of != application:
        raise StoreError(f"{path}: expected the {kind}, but it is a database of another kind")
    if number != schema:
        raise StoreError(f"{path}: expected schema {schema}, but the file has schema {number}")
    return False


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (number,) = connection.execute(f"pragma {pragma}").fetchone()
    return int(number)
