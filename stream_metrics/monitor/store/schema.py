"""The tables of a store, version by version, and how an older store is brought to this version.

`state` has a row for each partition, with crc; `parts` has its counts, with crc, in parts of which a checkpoint writes
those that have changed; `log` what came to and left the join with each checkpoint, with crc;
`pending` what waits but has outgrown the memory; `dead_letters` the last records that were rejected; `notes` plain data
of others, such as the state of alerts. If workers share a store, `workers` has the last report of each; earlier
versions used `leases`. `owner` is the worker that claimed a partition; `saved` is when its last
checkpoint was written, by the clock of the store; `revision` numbers its checkpoints, and
`parts` says of each with which one it was written, so that readers fetch what is new. For `panes` and `archives` see
`panes.py`.

Each text of `VERSIONS` takes a store from the version before to its own. They are written for SQLite; `for_postgres`
returns the same for PostgreSQL.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from stream_metrics.monitor.store.panes import PANES
from stream_metrics.monitor.store.rows import StoreError

__all__ = ["SCHEMA", "VERSIONS", "check_version", "for_postgres", "statements_after", "tables_of"]

VERSIONS = (
    """
create table state (part integer primary key, epoch integer not null, next blob not null, state blob not null,
                    crc integer not null, restored integer not null, written real not null);
create table parts (part integer not null, name text not null, body blob not null, crc integer not null,
                    primary key (part, name));
create table log (part integer not null, shelf integer not null, number integer not null, size integer not null,
                  last integer not null, body blob not null, crc integer not null, primary key (part, shelf, number));
create table pending (part integer not null, row integer not null, id blob not null, body blob not null,
                      primary key (part, row)) without rowid;
create unique index pending_id on pending (part, id);
create table dead_letters (topic text not null, partition integer not null, "offset" integer not null,
                           reason text not null, detail text not null, primary key (topic, partition, "offset"));
create table notes (name text primary key, body blob not null, crc integer not null)
""",
    """
alter table state add column owner text not null default '';
alter table state add column revision integer not null default 0;
alter table state add column saved real not null default 0;
alter table parts add column revision integer not null default 0;
create index parts_revision on parts (part, revision);
create table workers (name text primary key, seen real not null, report blob not null);
create table leases (name text primary key, holder text not null, epoch integer not null, ends real not null)
""",
    PANES,
)
SCHEMA = len(VERSIONS)
RUNNING = {"workers", "leases"}
POSTGRES = {
    r"\binteger\b": "bigint",
    r"\breal\b": "double precision",
    r"\bblob\b": "bytea",
    r"\) without rowid": ")",
    r"dead_letters \(": "dead_letters (rowid bigserial, ",  # which every table of SQLite has
}


def statements_after(version: int, schema: int = SCHEMA) -> Iterator[str]:
    """Yield the statements that bring a store of a version to another one, the newest by default."""
    for text in VERSIONS[version:schema]:
        yield from (statement.strip() for statement in text.split(";"))


def tables_of(schema: int) -> dict[str, dict[str, str]]:
    """Return the columns of each table of a version, with their types, but not the tables about running workers."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in statements_after(0, schema):
            connection.execute(statement)
        names = connection.execute("select name from sqlite_master where type = 'table' order by name").fetchall()
        return {
            table: {name: kind.lower() for _, name, kind, *_ in connection.execute(f"pragma table_info({table})")}
            for (table,) in names
            if table not in RUNNING
        }


def for_postgres(statement: str) -> str:
    """Return a statement of `VERSIONS` as PostgreSQL reads it."""
    for pattern, replacement in POSTGRES.items():
        statement = re.sub(pattern, replacement, statement)
    return statement


def check_version(name: str, version: int, newest: int = SCHEMA) -> None:
    """Raise ``StoreError`` for the store `name` if a later version of this program wrote it."""
    if version > newest:
        raise StoreError(f"{name}: expected schema {newest} or an earlier one, but it has schema {version}")
