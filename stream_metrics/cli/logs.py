"""What commands say on stderr: a line of progress on a terminal, and the log of a service.

Progress is drawn about four times a second by a thread of its own, and silent elsewhere. A log has one line a record,
with time and level, as text or as JSON.

    2026-11-23T07:22:06.123Z INFO the page is at http://127.0.0.1:8765/
    {"time": "2026-11-23T07:22:06.123Z", "level": "info", "logger": "stream_metrics.monitor", "message": "..."}

A stderr that is closed ends nothing: what cannot be written is left out.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from stream_metrics.cli.errors import EXPECTED, CliError, explained
from stream_metrics.report.layout import number

INTERVAL = 0.25  # seconds
BAR = 24  # characters


class Progress:
    """Draws inside ``with``; ``read`` returns (records, work done so far), ``total`` is all work, None if unknown."""

    def __init__(self, read: Callable[[], tuple[int, float]], total: float | None) -> None:
        self._read, self._total = read, total
        self._began = time.monotonic()
        self._stopped = threading.Event()
        self._drawing = threading.Lock()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self) -> Progress:
        if sys.stderr is not None and sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self.clear()

    def clear(self) -> None:
        """Remove the line, so that something else can be printed."""
        if self._thread.ident is not None:
            with self._drawing:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _draw(self) -> None:
        while not self._stopped.wait(INTERVAL):
            width = shutil.get_terminal_size().columns - 1
            line = self._line(time.monotonic() - self._began)[:width]
            with self._drawing:
                if not self._stopped.is_set():
                    print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def _line(self, elapsed: float) -> str:
        records, done = self._read()
        rate = f"{number(records)} records  {number(round(records / elapsed))}/s"
        if not self._total:
            return rate
        share = min(done / self._total, 1.0)
        filled = round(share * BAR)
        left = f"  {_clock_face(elapsed * (1 - share) / share)} left" if share > 0 else ""
        return f"{share:4.0%} [{'#' * filled}{'.' * (BAR - filled)}]  {rate}{left}"


def _clock_face(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


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
