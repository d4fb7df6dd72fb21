"""``stream-metrics query``: print metrics of any past range of time that a monitor has stored."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from stream_metrics.cli import options
from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.output import check_intervals, csv_text, print_snapshot, view, with_intervals
from stream_metrics.inputs.times import parse_duration
from stream_metrics.report.layout import number
from stream_metrics.report.table import ReportColumn, Table

DEFAULT = "accuracy", "macro_f1"
NO_SCORES = "the monitor counts none: 'scores' of [counting]"
LABELS_ONLY = "of groups a monitor counts labels only"


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, name, execute)
    parser.add_argument("state", metavar="STATE", help="state file of a monitor, or postgresql:// address")
    parser.add_argument("--from", dest="start", metavar="TIME", help="begin of the range (default: what is stored)")
    parser.add_argument("--to", dest="end", metavar="TIME", help="end of the range (default: what is stored)")
    parser.add_argument("--by", metavar="FIELD", help="by group: the name of the field, or 'group'")
    parser.add_argument("--every", metavar="LENGTH", help="a row for each piece of this length, such as 1h")
    options.add_format(parser, "table", "json", "csv")
    options.add(parser, "--metrics", "--intervals", "--anytime")


def execute(arguments: argparse.Namespace) -> int:
    """Print the metrics of a past range of time.

    STATE is the state file of a monitor, which may be running, or the address of its
    PostgreSQL database. Times are ISO 8601 (UTC without an offset), seconds since
    1970, "now", or a length of time before now. Counts are stored in panes of a
    minute, an hour or a day, which become longer with age: a range begins and ends
    where a pane does, and the report says where. --every prints a row for each piece
    of the range.

    examples:
      stream-metrics query monitor.sqlite --from -7d
      stream-metrics query monitor.sqlite --from 2024-05-07 --to 2024-05-08 --by country
      stream-metrics query monitor.sqlite --from -7d --every 1d --metrics accuracy,roc_auc_ovr
      stream-metrics query monitor.sqlite --from -1h --format json --intervals
    """
    from stream_metrics.monitor.archive.reading import complete, cut_every, pieces
    from stream_metrics.monitor.store.opening import open_panes

    if arguments.every and arguments.by:
        raise UsageError("--every is of all samples and --by of one piece: use one of them")
    try:
        with open_panes(arguments.state) as panes:
            name = _name(panes, arguments.by)
            start, end = _range(panes, name, arguments)
            every = None if arguments.every is None else parse_duration(arguments.every, "--every")
            if every is not None and (end - start) // every > 100_000:
                raise UsageError("--every is too short for this range: expected at most 100,000 rows")
            cut = pieces(panes, name, [start, end] if every is None else cut_every(start, end, every))
            since = complete(panes, name)
            facts = {"from": iso(cut[0].start), "to": iso(cut[-1].end)}
            if since is not None and since > cut[0].start:
                facts["complete_from"] = iso(min(since, cut[-1].end))
            if every is None:
                _print_one(panes, name, cut[0], arguments, facts)
            else:
                _print_rows(panes, name, cut, arguments, facts)
            if arguments.format == "csv":  # which has no place for it
                print(f"stream-metrics: {_sentence(facts)}", file=sys.stderr)
    except ValueError as error:  # a time or a length of time that is none
        raise UsageError(str(error)) from None
    return 0


def _name(panes: Any, by: str | None) -> str:
    """Return the name of the panes to read."""
    from stream_metrics.monitor.archive.writing import COUNTS, by_group

    if by is None:
        return COUNTS
    names = panes.names()
    groups = [name for name in names if name != COUNTS]
    if by == "group" and by_group(by) not in names and len(groups) == 1:
        return str(groups[0])
    if by_group(by) not in names:
        fields = ", ".join(name.partition("/")[2] for name in groups) or "no field"
        raise UsageError(f"--by {by}: the panes have groups of {fields}")
    return by_group(by)


def _range(panes: Any, name: str, arguments: argparse.Namespace) -> tuple[int, int]:
    """Return the range that is asked for, in nanoseconds."""
    from stream_metrics.monitor.archive.writing import moment

    bounds, now = panes.bounds(name), time.time()
    if bounds is None:
        raise CliError(f"{arguments.state}: no panes are stored yet")
    start = bounds[0] if arguments.start is None else moment(arguments.start, "--from", now)
    end = max(bounds[1], start + 1) if arguments.end is None else moment(arguments.end, "--to", now)
    if start >= end:
        raise UsageError("--to is not after --from")
    if end <= bounds[0] or start >= bounds[1]:
        raise CliError(f"nothing was counted then: panes are stored from {iso(bounds[0])} to {iso(bounds[1])}")
    return start, end


def iso(t: int) -> str:
    """Return a time in nanoseconds since 1970 as ISO 8601 text."""
    from stream_metrics.inputs.times import text_of

    return text_of(t / 1e9).replace(".000000Z", "Z")


def _sentence(facts: Mapping[str, str]) -> str:
    text = f"{facts['from']} to {facts['to']}"
    return text + (f"; complete from {facts['complete_from']} on" if "complete_from" in facts else "")


def _print_one(panes: Any, name: str, piece: Any, arguments: argparse.Namespace, facts: Mapping[str, str]) -> None:
    from stream_metrics.monitor.archive.reading import merged

    state = merged(panes, name, piece.start, piece.end)
    if state is None:
        raise CliError(f"nothing was counted in {_sentence(facts)}")
    check_intervals(state, arguments)
    taken = view(state, arguments.metrics, NO_SCORES if arguments.by is None else LABELS_ONLY)
    if arguments.format == "table":
        print(f"{_sentence(facts)}\n")
    note = _absent_classes(taken, arguments.metrics)
    print_snapshot(with_intervals(taken, arguments), arguments.format, {**facts, "note": note} if note else facts)
    if note and arguments.format != "json":
        print(f"{note}.", file=sys.stdout if arguments.format == "table" else sys.stderr)


def _absent_classes(taken: Any, keys: Sequence[str] | None) -> str:
    """Return a note that names the groups whose macro means count absent classes; "" if there are none."""
    from stream_metrics.monitor.view.group_view import MEANS, classes_present
    from stream_metrics.snapshots.groups import GroupSnapshot

    if not isinstance(taken, GroupSnapshot) or (keys is not None and not any(key in MEANS for key in keys)):
        return ""
    names = [str(group) for group, each in taken.items() if each.n and len(classes_present(each)) < len(each.labels)]
    if not names:
        return ""
    return (
        f"Macro means count a class without true samples as 0: in {', '.join(names[:10])}"
        f"{f' and {len(names) - 10} more groups' if len(names) > 10 else ''}; their gaps may come from that alone"
    )


def _print_rows(panes: Any, name: str, cut: Any, arguments: argparse.Namespace, facts: Mapping[str, str]) -> None:
    """Print a row for each piece."""
    from stream_metrics.monitor.archive.reading import merged, values_of

    keys = arguments.metrics or DEFAULT
    rows = []
    for piece in cut:
        values = values_of(merged(panes, name, piece.start, piece.end) if piece.panes else None, keys)
        rows.append({"from": iso(piece.start), "to": iso(piece.end), **values})
    if arguments.format == "json":
        print(json.dumps({**facts, "points": rows}, indent=2))
    elif arguments.format == "csv":
        lines = [["from", "to", "n", *(f"{key}{end}" for key in keys for end in ("", "_low", "_high"))]]
        for row in rows:
            ends = [row[part].get(key) for key in keys for part in ("values", "low", "high")]
            lines.append([row["from"], row["to"], row["n"], *ends])
        print(csv_text(lines))
    else:
        columns = [ReportColumn("samples", "n", [number(row["n"]) for row in rows])]
        for at, key in enumerate(keys):
            cells = ["\u2013" if row["values"][key] is None else f"{row['values'][key]:.4f}" for row in rows]
            columns.append(ReportColumn(key, key, cells, at))
        print(_sentence(facts), *Table("from", [row["from"] for row in rows], columns).fit(200).lines(), sep="\n")
