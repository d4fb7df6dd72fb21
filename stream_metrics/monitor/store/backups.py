"""Backups of a store, also while monitors write it, how they are restored, and what a store has, in short.

A backup is a state file, whatever store it is of, and loses nothing: it includes the entries that wait in the join. The
tables of a PostgreSQL database are copied in one transaction, at the version that they have; a monitor brings a
restored store to its own version, as it does with any other. What says who is running is not copied.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from stream_metrics.containers.aggregate import merge
from stream_metrics.inputs.times import format_duration
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.store.opening import is_address, open_postgres, open_stored
from stream_metrics.monitor.store.rows import NotEmptyError, StoreError, checksum
from stream_metrics.monitor.store.sqlite import Lock, Locked, connect, make_private, read_only, stored_file
from stream_metrics.monitor.store.tables import CLASSES, Stored, tables_of
from stream_metrics.wire import decoded

PANES = "select name, length, count(*), min(start), max(start + length) from panes group by 1, 2 order by 1, 2"


def inspected(path: str) -> dict[str, Any]:
    """Return what the store at a path or an address has, as plain data; times are nanoseconds since 1970."""
    with open_stored(path) as stored:
        panes = stored.run(PANES).fetchall() if "panes" in tables_of(stored.schema) else []
        return {
            "name": stored.name,
            "schema": stored.schema,
            "bytes": stored.size,
            "partitions": _partitions(stored),
            "classes": _classes(stored),
            "panes": [
                {"name": name, "length": format_duration(length), "panes": n, "from": first, "to": last}
                for name, length, n, first, last in panes
            ],
        }


def stored_total(path: str) -> MetricSet | None:
    """Return the counts of all partitions since the start; None if there are none yet. Errors as `open_stored`."""
    with open_stored(path) as stored:
        totals = _totals(stored)
    return merge(totals.values()) if totals else None


def _totals(stored: Stored) -> dict[int, MetricSet]:
    """Return the counts of each partition."""
    rows = stored.run("select part, body, crc from parts where name = 'total' order by part").fetchall()
    checked = {part: _checked(stored, f"the total of partition {part}", *row) for part, *row in rows}
    return {part: MetricSet.from_bytes(body) for part, body in checked.items()}


def _partitions(stored: Stored) -> list[dict[str, Any]]:
    totals = _totals(stored)
    return [
        {
            "partition": part,
            "samples": totals[part].n if part in totals else 0,
            "epoch": epoch,
            "next": dict(decoded(following)),
        }
        for part, following, epoch in stored.run("select part, next, epoch from state order by part").fetchall()
    ]


def _classes(stored: Stored) -> dict[str, Any] | None:
    """Return how many classes are counted apart, and whether others are folded; None if the store does not say."""
    row = stored.run("select body, crc from notes where name = ?", CLASSES).fetchone()
    if row is None or not row[0]:
        return None
    labels, full = decoded(_checked(stored, f"the note {CLASSES!r}", *row))
    return {"apart": len(labels), "folded": full}


def _checked(stored: Stored, what: str, body: bytes, crc: int) -> bytes:
    if checksum(body) != crc:
        raise StoreError(f"{stored.name}: {what} is damaged")
    return body


FILES = ("", "-wal", "-shm")


def back_up(path: str, target: str) -> None:
    """Write a copy of a store into a file, as of one moment, whole or not at all; monitors may be writing the store.

    ``StoreError`` if it is no store, ``NotEmptyError`` if the target exists.
    """
    if is_address(target):
        raise StoreError("Expected a file for the backup, but got the address of a database: restore a backup there")
    if os.path.exists(target):
        raise _taken(target)
    if is_address(path):
        _dump(path, target)
    else:
        _copy(path, target)


def restore(path: str, source: str) -> str | None:
    """Write a backup into an empty database at an address, or to a path in place of a state file.

    Returns the new path of the file that was there, if there was one. ``StoreError`` if the source is damaged or the
    state file is in use, ``NotEmptyError`` if the database has anything; then nothing has changed.
    """
    if is_address(path):
        _load(path, source)
        return None
    new = f"{path}.restoring-{time.time_ns()}"
    try:
        _copy(source, new)
        return _swap(path, new)
    finally:
        for suffix in (*FILES, ".lock"):
            with suppress(FileNotFoundError):
                os.remove(new + suffix)


def _dump(address: str, target: str) -> None:
    """Copy the tables of a database into a new state file."""
    try:
        with open_stored(address) as stored, _new_file(target) as part, closing(connect(part, stored.schema)) as copy:
            copy.execute("pragma journal_mode = delete")
            copy.execute("begin")
            for table, columns in tables_of(stored.schema).items():
                marks = ", ".join("?" * len(columns))
                rows = stored.rows(_select(table, columns))
                copy.executemany(f"insert into {table} ({_quoted(columns)}) values ({marks})", rows)
            copy.execute("commit")
    except sqlite3.Error as error:
        raise StoreError(f"{target}: {error}") from error


def _load(address: str, source: str) -> None:
    """Copy the tables of a state file into an empty database, in one transaction."""
    with stored_file(source) as stored, closing(open_postgres(address, opened=True)) as store:
        _check_whole(source, stored.run)
        with store.transaction():
            version, tables = store.create(stored.schema), tables_of(stored.schema)
            if version > stored.schema:
                raise StoreError(f"{store.name}: expected schema {stored.schema} or no tables, but it has {version}")
            store.run("lock table state in access exclusive mode")
            for table in tables:
                if store.run(f"select 1 from {table} limit 1").fetchone():
                    raise NotEmptyError(f"{store.name}: expected an empty database, but {table!r} has rows")
            for table, columns in tables.items():
                store.load(table, columns, stored.rows(_select(table, columns)))


def _select(table: str, columns: Iterable[str]) -> str:
    order = " order by rowid" if table == "dead_letters" else ""  # by which the oldest are deleted
    return f"select {_quoted(columns)} from {table}{order}"


def _quoted(columns: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


@contextmanager
def _new_file(target: str) -> Iterator[str]:
    """Give the path of a new file, which gets its name once it is written whole; ``NotEmptyError`` if that is taken."""
    part = f"{target}.part-{os.getpid()}-{time.time_ns()}"  # of this backup: another may be written at the same time
    make_private(part)
    try:
        yield part
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        _name(part, target)
    except OSError as error:
        raise StoreError(f"{target}: {error}") from error
    finally:
        for suffix in (*FILES, "-journal"):
            with suppress(FileNotFoundError):
                os.remove(part + suffix)


def _name(part: str, target: str) -> None:
    """Give a file a name that no file has."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:  # a file system without links
        if os.path.exists(target):
            raise _taken(target) from None
        os.replace(part, target)


def _taken(target: str) -> NotEmptyError:
    return NotEmptyError(f"{target}: exists already; a backup replaces no file")


def _copy(path: str, target: str) -> None:
    """Copy a state file by SQLite's backup, check the copy, and give it its name."""
    if not os.path.exists(path):
        raise StoreError(f"{path}: there is no such state file")
    try:
        with closing(read_only(path)) as source, _new_file(target) as part, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
            _check_whole(path, copy.execute)
            copy.execute("pragma journal_mode = delete")  # so that the copy is one file
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from error


def _check_whole(path: str, run: Callable[[str], sqlite3.Cursor]) -> None:
    problems = run("pragma integrity_check").fetchall()
    if problems != [("ok",)]:
        raise StoreError(f"{path}: is damaged: {problems[0][0]}")


def _swap(path: str, new: str) -> str | None:
    """Move a new file to `path`, and the old one aside."""
    try:
        lock = Lock(path, shared=False)
    except (Locked, OSError) as error:
        raise StoreError(str(error)) from None
    try:
        aside = None
        if os.path.exists(path):
            aside = f"{path}.replaced-{time.time_ns()}"
            for suffix in FILES:
                if os.path.exists(path + suffix):
                    os.rename(path + suffix, aside + suffix)
        os.replace(new, path)
        return aside
    finally:
        lock.close()
