"""Backups of a state file, also while a monitor writes it, and how they are restored.

A backup is a state file itself and loses nothing: it includes the entries that wait in the join. An export has only the
counts.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress

from stream_metrics.monitor.store.export import read_export
from stream_metrics.monitor.store.files import read_only
from stream_metrics.monitor.store.locks import Lock, Locked, make_private
from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.store.sqlite import Store

__all__ = ["back_up", "restore"]

SQLITE = b"SQLite format 3\0"
FILES = ("", "-wal", "-shm")


def back_up(path: str, target: str) -> None:
    """Write a copy of a state file as of one moment, whole or not at all; a monitor may be writing the file.

    ``StoreError`` if it is no state file, or the target exists.
    """
    if not os.path.exists(path):
        raise StoreError(f"{path}: there is no such state file")
    if os.path.exists(target):
        raise StoreError(f"{target}: exists already; a backup replaces no file")
    _copy(path, target)


def restore(path: str, source: str) -> str | None:
    """Replace the state file at `path` by a backup or an export; return the new path of the old file, if there was one.

    ``StoreError`` if the source is damaged or the state file is in use; then nothing has changed.
    """
    new = f"{path}.restoring-{time.time_ns()}"
    try:
        if _starts(source).startswith(SQLITE):
            _copy(source, new)
        else:
            content = read_export(source)
            with closing(Store(new)) as store:
                store.fill(content.partitions)
        return _swap(path, new)
    finally:
        for suffix in (*FILES, ".lock"):
            with suppress(FileNotFoundError):
                os.remove(new + suffix)


def _starts(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from None


def _copy(path: str, target: str) -> None:
    """Copy a database by SQLite's backup, check the copy, and give it its name."""
    part = f"{target}.part"
    make_private(part)
    try:
        with closing(read_only(path)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
            problems = copy.execute("pragma integrity_check").fetchall()
            if problems != [("ok",)]:
                raise StoreError(f"{path}: is damaged: {problems[0][0]}")
            copy.execute("pragma journal_mode = delete")  # so that the copy is one file
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(part, target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: {error}") from error
    finally:
        with suppress(FileNotFoundError):
            os.remove(part)


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
