"""``stream-metrics monitor backup | restore | inspect``: copies of state files, and what is in one."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from stream_metrics.cli import options
from stream_metrics.cli.errors import CliError
from stream_metrics.errors import StreamMetricsError, quantity
from stream_metrics.report.layout import number

__all__ = ["add"]

BACKUP = """\
The copy is a state file itself and loses nothing, also while a monitor writes the
file. For PostgreSQL use pg_dump.

example:
  stream-metrics monitor backup monitor.sqlite backups/monitor-2024-05-07.sqlite"""
RESTORE = """\
BACKUP is a copy that 'monitor backup' made, or an export ([store] export), which
has the counts but not the predictions that waited for labels. The monitor must
not be running. The file that was there stays beside the new one, under another
name, which is printed.

example:
  stream-metrics monitor restore backups/monitor-2024-05-07.sqlite monitor.sqlite"""
INSPECT = """\
Prints what a state file holds: partitions, offsets, samples, and the panes of past
times. A monitor may be running.

example:
  stream-metrics monitor inspect monitor.sqlite --format json"""


def add(commands: options.Commands) -> None:
    """Add the commands to the parser."""
    parser = options.add_command(commands, "monitor backup", "copy the state file of a monitor", BACKUP)
    parser.add_argument("state", metavar="STATE", help="state file")
    parser.add_argument("target", metavar="BACKUP", help="file for the copy, which must not exist")
    parser.set_defaults(execute=execute_backup)
    parser = options.add_command(commands, "monitor restore", "put a backup or an export in its place", RESTORE)
    parser.add_argument("source", metavar="BACKUP", help="backup or export")
    parser.add_argument("state", metavar="STATE", help="state file to replace")
    parser.set_defaults(execute=execute_restore)
    parser = options.add_command(commands, "monitor inspect", "print what a state file of a monitor holds", INSPECT)
    parser.add_argument("state", metavar="STATE", help="state file")
    options.add_format(parser, "table", "json")
    parser.set_defaults(execute=execute_inspect)


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except StreamMetricsError as error:
        raise CliError(str(error)) from None


def execute_backup(arguments: argparse.Namespace) -> int:
    """Copy."""
    from stream_metrics.monitor.store.backups import back_up

    with _failures():
        back_up(arguments.state, arguments.target)
    print(f"{arguments.target}: {number(os.path.getsize(arguments.target))} bytes")
    return 0


def execute_restore(arguments: argparse.Namespace) -> int:
    """Put back."""
    from stream_metrics.monitor.store.backups import restore

    with _failures():
        aside = restore(arguments.state, arguments.source)
    print(f"{arguments.state}: restored from {arguments.source}")
    if aside is not None:
        print(f"{aside}: the file that was there")
    return 0


def execute_inspect(arguments: argparse.Namespace) -> int:
    """Read and print."""
    with _failures():
        try:
            contents = _inspected(arguments.state)
        except sqlite3.Error as error:
            raise CliError(f"{arguments.state}: {error}") from None
    if arguments.format == "json":
        print(json.dumps(contents, indent=2))
        return 0
    print(f"{arguments.state}: schema {contents['schema']}, {number(contents['bytes'])} bytes")
    for row in contents["partitions"]:
        following = ", ".join(f"{topic} {number(offset)}" for topic, offset in row["next"].items()) or "none"
        print(f"partition {row['partition']}: {quantity(row['samples'], 'sample', ' ')}; next offsets: {following}")
    for row in contents["panes"]:
        print(f"panes {row['name']!r} of {row['length']}: {number(row['panes'])}, {row['from']} to {row['to']}")
    return 0


def _inspected(path: str) -> dict[str, Any]:
    from stream_metrics.cli.query import iso
    from stream_metrics.inputs.times import format_duration
    from stream_metrics.metrics.metric_set import MetricSet
    from stream_metrics.monitor.store.files import read_only
    from stream_metrics.monitor.store.rows import StoreError, checksum
    from stream_metrics.wire import decoded

    if not os.path.exists(path):
        raise StoreError(f"{path}: there is no such state file")
    with closing(read_only(path)) as connection:
        connection.execute("begin")
        partitions = []
        states = connection.execute("select part, next, epoch from state order by part").fetchall()
        for part, following, epoch in states:
            statement = "select body, crc from parts where part = ? and name = 'total'"
            row = connection.execute(statement, (part,)).fetchone()
            if row is not None and checksum(row[0]) != row[1]:
                raise StoreError(f"{path}: the total of partition {part} is damaged")
            samples = 0 if row is None else MetricSet.from_bytes(row[0]).n
            partitions.append({"partition": part, "samples": samples, "epoch": epoch, "next": dict(decoded(following))})
        tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
        columns = "name, length, count(*), min(start), max(start + length)"
        statement = f"select {columns} from panes group by 1, 2 order by 1, 2"
        panes = connection.execute(statement).fetchall() if "panes" in tables else []
        (schema,) = connection.execute("pragma user_version").fetchone()
    return {
        "schema": schema,
        "bytes": os.path.getsize(path),
        "partitions": partitions,
        "panes": [
            {"name": name, "length": format_duration(length), "panes": n, "from": iso(first), "to": iso(last)}
            for name, length, n, first, last in panes
        ],
    }
