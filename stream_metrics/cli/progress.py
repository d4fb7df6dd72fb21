"""A progress line on a terminal, redrawn by time (about four times a second) and never by count; silent elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from stream_metrics.report.layout import number

INTERVAL = 0.25  # seconds
BAR = 24  # characters


class Progress:
    """``read`` returns (records, work done so far); ``total`` is all the work in the same unit, None where unknown."""

    def __init__(
        self,
        read: Callable[[], tuple[int, float]],
        total: float | None,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stderr
        self._read = read
        self._total = total
        self._clock = clock
        self._began = clock()
        self._next = self._began + INTERVAL
        self._drawn = False
        self.live = self._stream is not None and self._stream.isatty()

    @property
    def tick(self) -> Callable[[], None] | None:
        """The function to call after each record; None if nothing is drawn."""
        return self._tick if self.live else None

    def clear(self) -> None:
        """Remove the line, so that something else can be printed."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False

    def _tick(self) -> None:
        if (now := self._clock()) >= self._next:
            self._next = now + INTERVAL
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + self._line(now - self._began)[:width] + "\x1b[K")
            self._stream.flush()
            self._drawn = True

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
