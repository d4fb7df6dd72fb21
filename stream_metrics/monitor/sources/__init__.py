"""Where records come from: whatever hands over lists of them, and can be told from where to go on."""

from __future__ import annotations

from typing import Protocol

from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.records import Record

__all__ = ["Source"]


class Source(Protocol):
    """A source of records, for one thread. `ended` says that there will be no more."""

    ended: bool

    def start(self, monitor: Monitor) -> None:
        """Have the monitor assigned its partitions, and go on where it stopped."""

    def poll(self, timeout: float) -> list[Record]:
        """Return the next records; an empty list if there are none within `timeout` seconds."""

    def lag(self) -> dict[tuple[str, int], int] | None:
        """Return how many records of each (topic, partition) are still to be read; None if that cannot be known."""

    def close(self) -> None:
        """Let go of what it reads."""
