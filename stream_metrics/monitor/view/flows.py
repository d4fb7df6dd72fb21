"""Counters that never fall: not by a correction, a restart, a crash, or a partition that moves.

Prometheus takes a counter that falls for one that was reset, and adds all of it once more. So only what grows is
counted here (records, joined labels, delays), and only what this process adds: a partition that comes from another
process brings nothing, and one that goes there takes nothing away. Counters are part of the checkpoint and are shown as
the last one has them, since a crash takes back what came later, and it is counted again.

Several processes that share a store have one set of notes in it, so there each counts from 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stream_metrics.monitor.counts.delays import BOUNDS, Delays
from stream_metrics.monitor.view.types import Flows

if TYPE_CHECKING:
    from stream_metrics.monitor.partition import Partition

__all__ = ["FlowCounters"]

Key = tuple[str, str]  # a name, and a reason or a cell
JOIN = (
    ("labels_joined", "joined"),
    ("labels_late", "labels_late"),
    ("labels_duplicate", "labels_duplicate"),
    ("predictions_duplicate", "predictions_duplicate"),
    ("predictions_expired", "predictions_expired"),
    ("predictions_expired_early", "expired_early"),
    ("ids_forgotten", "forgotten"),
    ("corrections", "corrections"),
    ("corrections_refused", "corrections_refused"),
)
READ, REJECTED, CELL, MICROSECONDS = "records_read", "rejected", "delay", "delay_microseconds"


class FlowCounters:
    """The counters of one process; `kept` is what `content` returned before its restart, ValueError if it is not."""

    def __init__(self, kept: Any = None) -> None:
        try:
            self._counts: Counter[Key] = Counter({(str(a), str(b)): int(n) for a, b, n in kept or ()})
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected counters as `content` returns them, but got others: {error}") from None
        self._before: dict[int, Counter[Key]] = {}  # of each partition, what is part of the counts

    def assign(self, partition: Partition) -> None:
        """Count from here on what a partition adds."""
        self._before[partition.number] = _read(partition)

    def content(self, partitions: Iterable[Partition]) -> list[list[object]]:
        """Return the counters as they are with what these partitions have added, as plain data."""
        return [[*key, number] for key, number in sorted(self._with(partitions).items())]

    def commit(self, partitions: Iterable[Partition]) -> None:
        """Note that a checkpoint has these partitions."""
        partitions = list(partitions)
        self._counts = self._with(partitions)
        self._before |= {each.number: _read(each) for each in partitions}

    def view(self, partitions: Iterable[Partition] = ()) -> Flows:
        """Return the counters as of the last `commit`, and what these partitions have added since."""
        counts = self._with(partitions)
        names = [READ, *(name for name, _ in JOIN)]
        return Flows(
            counts={name: counts[name, ""] for name in names},
            rejected={reason: number for (name, reason), number in sorted(counts.items()) if name == REJECTED},
            delays=Delays(
                BOUNDS,
                tuple(counts[CELL, str(at)] for at in range(len(BOUNDS) + 1)),
                counts[MICROSECONDS, ""] / 1e6,
            ),
        )

    def _with(self, partitions: Iterable[Partition]) -> Counter[Key]:
        counts = self._counts.copy()
        for partition in partitions:
            counts.update(_read(partition))
            counts.subtract(self._before[partition.number])
        return counts


def _read(partition: Partition) -> Counter[Key]:
    """Return what a partition has counted since its first record."""
    stats = partition.joiner.stats()
    counts: Counter[Key] = Counter({(name, ""): getattr(stats, field) for name, field in JOIN})
    counts[READ, ""] = partition.read
    counts.update({(REJECTED, reason): number for reason, number in partition.rejected.items()})
    counts.update({(CELL, str(at)): number for at, number in enumerate(stats.delays.counts)})
    counts[MICROSECONDS, ""] = round(stats.delays.sum * 1e6)
    return counts
