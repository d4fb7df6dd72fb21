"""What a service logs, on stderr: one line a record, with time and level, as text or as JSON.

    2026-11-23T07:22:06.123Z INFO the page is at http://127.0.0.1:8765/
    {"time": "2026-11-23T07:22:06.123Z", "level": "info", "logger": "stream_metrics.monitor", "message": "..."}

A stderr that is closed ends nothing: what cannot be written is left out.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from stream_metrics.cli.errors import EXPECTED, CliError, explained

ALL = logging.getLogger("stream_metrics")
LEVELS = ("debug", "info", "warning", "error")


def add(add: Callable[..., object]) -> None:
    """Add the options of the log by what adds one."""
    add("--log-format", choices=("text", "json"), default="text", help="of stderr (default: text)")
    add("--log-level", choices=LEVELS, default="info", help="the least that is logged (default: info)")


def run(execute: Callable[[argparse.Namespace, LineHandler], int], arguments: argparse.Namespace) -> int:
    """Run a service; a problem that ends it is a line of the log too, where that is JSON."""
    lines = LineHandler(arguments.log_format, arguments.log_level)
    try:
        return execute(arguments, lines)
    except EXPECTED as error:
        if arguments.log_format != "json" or isinstance(error, BrokenPipeError):
            raise
        with lines.logged():
            ALL.error("%s", explained(error))
        return getattr(error, "status", CliError.status)


class Formatter(logging.Formatter):
    """A line of text or of JSON, `form`; an exception is its own text, without a traceback."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._json = form == "json"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        error = record.exc_info[1] if record.exc_info else None
        message = record.getMessage() + ("" if error is None else f": {error!r}")
        if not self._json:
            return f"{time} {record.levelname} {message}"
        return json.dumps({"time": time, "level": record.levelname.lower(), "logger": record.name, "message": message})


class LineHandler(logging.Handler):
    """Writes what is logged, by libraries too, to stderr."""

    def __init__(self, form: str = "text", level: str = "info") -> None:
        super().__init__()
        self._level = level.upper()
        self.setFormatter(Formatter(form))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        with suppress(OSError, ValueError):  # a closed stderr must not stop the thread that logs
            print(self.format(record), file=sys.stderr, flush=True)

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Write what is logged inside."""
        root, level = logging.getLogger(), ALL.level
        root.addHandler(self)
        ALL.setLevel(self._level)
        try:
            yield
        finally:
            root.removeHandler(self)
            ALL.setLevel(level)
