"""``stream-metrics monitor backup | restore | inspect``: copies of states, and what is in one."""

from __future__ import annotations

import argparse
import json
import os

from stream_metrics.cli import options
from stream_metrics.errors import quantity
from stream_metrics.report.layout import number


def add(commands: options.Commands, name: str) -> None:
    """Add one of the commands to the parser."""
    state = "state file, or postgresql:// address"
    if name == "monitor backup":
        parser = options.add_command(commands, name, execute_backup)
        parser.add_argument("state", metavar="STATE", help=state)
        parser.add_argument("target", metavar="BACKUP", help="file for the copy, which must not exist")
    elif name == "monitor restore":
        parser = options.add_command(commands, name, execute_restore)
        parser.add_argument("source", metavar="BACKUP", help="file that 'monitor backup' wrote")
        parser.add_argument("state", metavar="STATE", help="state file to replace, or address of an empty database")
    else:
        parser = options.add_command(commands, name, execute_inspect)
        parser.add_argument("state", metavar="STATE", help=state)
        options.add_format(parser, "table", "json")


def execute_backup(arguments: argparse.Namespace) -> int:
    """Copy the state of a monitor.

    STATE is a state file, or the postgresql:// address of the database that workers
    share. The copy is a state file in both cases. It is of one moment and loses
    nothing, also while monitors write the state.

    examples:
      stream-metrics monitor backup monitor.sqlite backups/monitor-2024-05-07.sqlite
      stream-metrics monitor backup postgresql://monitor@db/models models.sqlite
    """
    from stream_metrics.monitor.store.backups import back_up

    back_up(arguments.state, arguments.target)
    print(f"{arguments.target}: {number(os.path.getsize(arguments.target))} bytes")
    return 0


def execute_restore(arguments: argparse.Namespace) -> int:
    """Put a backup in place of a state.

    BACKUP is a copy that 'monitor backup' made, of a file or of a database. No monitor
    must be running. A file that was there stays beside the new one, under another
    name, which is printed. A database must be empty.

    examples:
      stream-metrics monitor restore backups/monitor-2024-05-07.sqlite monitor.sqlite
      stream-metrics monitor restore models.sqlite postgresql://monitor@db/models
    """
    from stream_metrics.monitor.store.backups import restore
    from stream_metrics.monitor.store.opening import shown_name

    aside = restore(arguments.state, arguments.source)
    print(f"{shown_name(arguments.state)}: restored from {arguments.source}")
    if aside is not None:
        print(f"{aside}: the file that was there")
    return 0


def execute_inspect(arguments: argparse.Namespace) -> int:
    """Print what the state of a monitor has.

    Prints what a state has: partitions, offsets, samples, and the panes of past times.
    Monitors may be running.

    example:
      stream-metrics monitor inspect monitor.sqlite --format json
    """
    from stream_metrics.cli.query import iso
    from stream_metrics.monitor.store.backups import inspected

    contents = inspected(arguments.state)
    name = contents.pop("name")
    for row in contents["panes"]:
        row["from"], row["to"] = iso(row["from"]), iso(row["to"])
    if arguments.format == "json":
        print(json.dumps(contents, indent=2))
        return 0
    print(f"{name}: schema {contents['schema']}, {number(contents['bytes'])} bytes")
    for row in contents["partitions"]:
        following = ", ".join(f"{topic} {number(offset)}" for topic, offset in row["next"].items()) or "none"
        print(f"partition {row['partition']}: {quantity(row['samples'], 'sample', ' ')}; next offsets: {following}")
    if (classes := contents["classes"]) is not None:
        print(f"{quantity(classes['apart'], 'class')} apart{', all others as one' if classes['folded'] else ''}")
    for row in contents["panes"]:
        print(f"panes {row['name']!r} of {row['length']}: {number(row['panes'])}, {row['from']} to {row['to']}")
    return 0
