"""A line of progress on a terminal, drawn about four times a second by a thread of its own; silent elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable

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
