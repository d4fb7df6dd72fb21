"""What is shown while a worker with a store of its own has no partitions: the counts as they were last.

Kafka gives the partitions of a process that was killed to the next one only after the session timeout, 45 s by default.
Until then the page would show zeros where the store has counts. They are only shown: the partitions are loaded again,
and claimed, when they are assigned.
"""

from __future__ import annotations

import time

from stream_metrics.monitor.archive.writing import StoredPanes
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.partition import Partition
from stream_metrics.monitor.replicas import Other
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.store.unclaimed import stored_rows

__all__ = ["Unassigned"]


class Unassigned:
    """The partitions that are shown while none is assigned."""

    def __init__(self) -> None:
        self._partitions: list[tuple[Partition, float]] = []  # with the time of the checkpoint, by time.monotonic

    def load(self, config: Config, store: StateStore, panes: StoredPanes) -> None:
        """Show what a store has; ``StoreError`` if that is damaged."""
        now = time.monotonic()
        for row, age in stored_rows(store):
            partition = Partition(row.part, config, panes=panes)
            partition.load_counts(row)
            self._partitions.append((partition, now - age))

    def keep(self, partitions: list[Partition]) -> None:
        """Show partitions that were just taken away."""
        self._partitions = [(partition, time.monotonic()) for partition in partitions]

    def clear(self) -> None:
        """Show none: partitions are assigned."""
        self._partitions = []

    def others(self) -> list[Other]:
        """Return them as partitions without an owner."""
        now = time.monotonic()
        return [Other(partition, "", now - at) for partition, at in self._partitions]
