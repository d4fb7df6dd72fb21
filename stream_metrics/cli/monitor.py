"""``stream-metrics monitor``: watch a model: predictions joined with late labels, counted, kept, served.

What runs a monitor is imported when one is run, since it would add a third to the time in which other commands start.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from stream_metrics.cli import logs, monitor_flags, options
from stream_metrics.cli.errors import CliError, UsageError, usage
from stream_metrics.cli.sources import STDIN, declared_format, without_suffix
from stream_metrics.monitor.config import Config, ConfigError
from stream_metrics.monitor.config.reading import configured, example, layered, resolved, tables_of


def add(commands: options.Commands, name: str) -> None:
    """Add the command to the parser."""
    parser = options.add_command(commands, name, execute)
    parser.usage = "%(prog)s [FILE] [--config FILE] [--TABLE-KEY VALUE ...] [options]"
    add = parser.add_argument
    add("file", nargs="?", metavar="FILE", help="JSON Lines; - is standard input")
    add("--config", metavar="FILE", help="TOML file with the keys below; flags override it")
    add("--follow", action="store_true", default=None, help="short for --source-follow")
    add("--stay", action="store_true", help="serve the page, after the end of a file too, until Ctrl-C")
    add("--once", action="store_true", help="read to the current end, print the report, exit; no page")
    add("--no-page", action="store_true", help="do not serve the page")
    about = "of the report (default: table; no report where the source has no end)"
    add("--format", choices=("table", "json"), help=about)
    logs.add(add)
    add("--print-config", action="store_true", help="print the configuration as TOML and exit")
    add("--schema", action="store_true", help="print the JSON Schema of the view (/api/snapshot) and exit")
    add("--config-schema", action="store_true", help="print the JSON Schema of the configuration and exit")
    monitor_flags.add(parser)


def execute(arguments: argparse.Namespace) -> int:
    """Watch a model: late labels, live page, alerts.

    Records are JSON: {"id": 1, "time": 1700000000, "y_pred": "cat", "y_true": "cat"}, or
    a prediction now and {"id": 1, "time": ..., "y_true": "cat"} hours later. Files that
    'run' reads are read as well: a record with both needs no id, and no time.

    A file is read to its end, and a report is printed. The page is served, by default at
    http://127.0.0.1:8765, with --follow, which waits for more, with --stay or a --serve
    flag, and while standard input or Kafka is read. An existing state file is continued; a file or pipe that is read
    once, without --config, leaves none unless --store-path names one. Ctrl-C, SIGTERM and
    SIGHUP write a last checkpoint and end the run: a changed configuration needs a restart.

    alert rules: VALUE < NUMBER [for 5m] [until > NUMBER] [with n >= 100]
      balanced_accuracy[1h] < 0.8 for 5m      recall["cat"][1h] < 0.7
      max_gap(recall, country)[1d] > 0.1      coverage[1h] < 0.9
      n[1h] < 100     delay_p90[1h] > 3600    lag > 10000     rejected > 0

    examples:
      stream-metrics monitor events.jsonl
      stream-metrics monitor events.jsonl --follow --alerts-rules 'accuracy[1h] < 0.8'
      stream-metrics monitor --print-config > monitor.toml
      stream-metrics monitor --config monitor.toml --serve-port 9000
      stream-metrics monitor --source-kind kafka --source-predictions answers
    """
    return logs.run(_execute, arguments)


def _execute(arguments: argparse.Namespace, lines: logs.LineHandler) -> int:
    if arguments.schema or arguments.config_schema:
        from stream_metrics.monitor.view.types import View, json_schema

        print(json_schema(View if arguments.schema else Config), end="")
        return 0
    if arguments.print_config:
        with usage():
            print(example(configured(_layered(arguments)[0])), end="")
        return 0
    _check_file(arguments.file)
    with usage():
        config, keeps = _configured(arguments)
    if arguments.stay and arguments.once:
        raise UsageError("--stay keeps the page and --once has none: use one of them")
    from stream_metrics.cli.monitor_watch import check, report, watch
    from stream_metrics.monitor.sources.make import make_source
    from stream_metrics.monitor.view.types import to_json

    endless = config.source.kind != "file" or config.source.follow  # else a page would end at once
    page = endless or arguments.stay or bool(monitor_flags.given(arguments).get("serve"))
    follows = endless and not arguments.once
    with usage():
        source = make_source(config.source)
    runner = watch(
        config,
        source,
        lines,
        keeps=keeps,
        page=page and not (arguments.once or arguments.no_page),
        stay=arguments.stay,
        once=arguments.once,
        last_view=arguments.format is not None or not follows,
        whole=arguments.format == "json",
    )
    if arguments.format == "json":
        print(json.dumps(json.loads(to_json(runner.latest)), indent=2))
    elif arguments.format or runner.ended or not follows:
        print(report(runner))
    check(runner)
    return 0 if runner.ended or follows else 130


def _check_file(path: str | None) -> None:
    """Refuse input that is no JSON Lines by its name."""
    if path == STDIN and sys.stdin is None:
        raise CliError("stdin: is closed")
    if path is None or path == STDIN:
        return
    form = declared_format(path)
    if form not in (None, "jsonl"):
        raise UsageError(
            f"{path} is {form} by its name, but a monitor reads JSON Lines: 'stream-metrics run' counts it"
        )
    if without_suffix(path) != path:
        raise UsageError(f"{path} is compressed by its name: decompress it to 'stream-metrics monitor -'")


def _configured(arguments: argparse.Namespace) -> tuple[Config, bool]:
    """Return the configuration, checked for a run, and whether there is a state file."""
    tables, flags = _layered(arguments)
    config = configured(resolved(tables))
    if config.source.kind == "file" and not config.source.path:
        raise ConfigError("Expected FILE, - for standard input, --source-kind kafka, or a --config that says it")
    if not config.store.path:
        raise ConfigError("Expected `path` in [store] to name a file, but got ''")
    asked = bool(arguments.config) or "path" in flags.get("store", {})
    return config, asked or config.source.kind == "kafka" or config.source.follow


def _layered(arguments: argparse.Namespace) -> tuple[dict[str, dict[str, Any]], Mapping[str, Mapping[str, Any]]]:
    """Return what is configured, flags over the file, and the flags."""
    flags = monitor_flags.given(arguments)
    source = flags.setdefault("source", {})
    if arguments.file is not None and source.get("kind", "file") not in ("file", "stdin"):
        raise ConfigError(f"Expected FILE or --source-kind {source['kind']}, but got both")
    if arguments.file is not None:
        source |= {"kind": "stdin" if arguments.file == STDIN else "file", "path": arguments.file}
    if arguments.follow:
        source["follow"] = True
    return layered(tables_of(arguments.config) if arguments.config else {}, flags), flags
