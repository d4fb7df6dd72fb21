"""Where records come from: objects that return lists of records and can resume at stored offsets.

Not here: what is in a record (`events/`), and where offsets are stored (`store/`).
"""

from __future__ import annotations

from typing import Protocol

from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.monitor import Monitor

__all__ = ["Source"]


class Source(Protocol):
    """A source of records, used by one thread. `ended` is true when no more will come."""

    ended: bool

    def start(self, monitor: Monitor) -> None:
        """Assign partitions to the monitor, and resume where it stopped."""

    def poll(self, timeout: float) -> list[Record]:
        """Return the next records; an empty list if there are none within `timeout` seconds."""

    def lag(self) -> dict[tuple[str, int], int] | None:
        """Return how many records of each (topic, partition) are still to be read; None if that cannot be known."""

    def close(self) -> None:
        """Close the source."""
