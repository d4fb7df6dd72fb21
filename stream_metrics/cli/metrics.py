"""``stream-metrics metrics``: list the metrics of the catalog."""

from __future__ import annotations

import argparse
import json
import shutil
import sys

from stream_metrics.catalog.table import MetricInfo, MetricTable, format_range
from stream_metrics.cli import options
from stream_metrics.cli.errors import CliError
from stream_metrics.cli.output import csv_text
from stream_metrics.labels.json_names import json_data

WIDTH = 80
KEY, RANGE = 30, 11  # characters of the columns; the longest keys take more


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, name, execute)
    parser.add_argument("text", nargs="?", default="", metavar="TEXT", help="list only metrics that have this text")
    options.add_format(parser, "table", "json", "csv")


def execute(arguments: argparse.Namespace) -> int:
    """List the metrics: keys, titles, ranges, other names.

    A key is what --metrics takes; so are the other names, such as mcc. Lists every
    metric that has TEXT in its key, title, other names, source or description; JSON
    and CSV also have formula, source, and when a value is 0/0.

    examples:
      stream-metrics metrics
      stream-metrics metrics f1
      stream-metrics metrics mcc --format json
      stream-metrics metrics --format csv > metrics.csv
    """
    text, infos = arguments.text.lower(), []
    for info in MetricTable().values():
        names = (info.key, info.title, info.class_name or "", *info.aliases, info.source, info.summary)
        if any(text in name.lower() for name in names):
            infos.append(info)
    if not infos:
        raise CliError(f"no metric has {arguments.text!r}; 'stream-metrics metrics' lists all")
    if arguments.format == "json":
        print(json.dumps([json_data(info) for info in infos], indent=2))
    elif arguments.format == "csv":
        rows = [info._replace(aliases=" ".join(info.aliases), range=format_range(info.range)) for info in infos]  # type: ignore[arg-type]
        print(csv_text([MetricInfo._fields, *rows]))
    else:
        columns = shutil.get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else sys.maxsize
        print(f"{'key':<{KEY}}  {'range':<{RANGE}}  title (other names of the key)")
        for info in infos:
            others = f" ({', '.join(info.aliases)})" if info.aliases else ""
            line = f"{info.key:<{KEY}}  {format_range(info.range):<{RANGE}}  {info.title}{others}"
            print(line if len(line) <= columns else f"{line[: columns - 3]}...")
    return 0
