"""What can be read of counts at one moment: states of their own, one of each kind for each window.

Counts of several partitions are read at the same time: a partition that has fallen silent would otherwise show its own
last hour. One that is ahead of that time, since its clocks are wrong, is read at its own. Reading merges a few states
for each window and partition, where merging the counts themselves would merge every pane.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from stream_metrics.containers.groups import ByGroup
from stream_metrics.inputs.times import to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.counts.coverage import Covered
from stream_metrics.monitor.view.cutting import check_cut

if TYPE_CHECKING:
    from stream_metrics.monitor.counts.counting import Counts

__all__ = ["Reading", "read"]


@dataclass
class Reading:
    """A window at one moment, or the total; callers own the states and may change them."""

    state: MetricSet
    groups: ByGroup  # a ByGroup of ConfusionMatrix, empty if no pair has a group
    covered: Covered
    late: int  # pairs that came too late for the window since the process started
    partial: frozenset[Label | None] = frozenset()  # classes that only some partitions fold

    def equals(self, other: Self) -> bool:
        """Return whether both would show the same."""
        mine, theirs = self.covered, other.covered
        return (
            (self.state.n, self.late, self.partial) == (other.state.n, other.late, other.partial)
            and mine[:2] == theirs[:2]
            and np.array_equal(mine.delays, theirs.delays)
            and self.state == other.state
            and self.groups == other.groups
        )

    def merge(self, other: Self) -> Self:
        """Add what another partition has and return self."""
        self.state.merge(other.state)
        self.groups.merge(other.groups)
        mine, theirs = self.covered, other.covered
        self.covered = Covered(mine.due + theirs.due, mine.labelled + theirs.labelled, mine.delays + theirs.delays)
        self.late += other.late
        return self


def read(
    parts: Iterable[Counts], at: float | None = None, own: Iterable[float | None] | None = None
) -> dict[str, Reading]:
    """Return the merged counts of partitions by window, "total" first; {} for no partitions.

    `at` is the time in seconds, by default the latest event time of any; `own` has for each partition the time of its
    newest event, if that may be later. The counts stay as they are.
    """
    parts = list(parts)
    seen = [part.seen or 0 for part in parts]
    when = max(seen, default=0) if at is None else to_epoch_ns(at)
    later = [0] * len(parts) if own is None else [0 if time is None else to_epoch_ns(time) for time in own]
    times = [max(when, *each) for each in zip(seen, later, strict=True)]
    total: dict[str, Reading] = {}
    partial = _partial(parts)
    for part, time in zip(parts, times, strict=True):
        for name, reading in _read(part, time).items():
            total[name] = total[name].merge(reading) if name in total else reading
    for reading in total.values():
        reading.partial = partial
    return total


def _partial(parts: Sequence[Counts]) -> frozenset[Label | None]:
    """Return the classes that one partition counts apart and another does not."""
    if not any(part.classes.full for part in parts):
        return frozenset()
    classes = parts[0].classes.copy()
    for part in parts[1:]:
        classes.merge(part.classes)
    return classes.partial


def _read(counts: Counts, at: int) -> dict[str, Reading]:
    readings = {}
    for name, coverage in counts.coverage.items():
        check_cut()  # all panes are merged at the first reading
        if name in counts.windows:
            state, groups = counts.windows[name].merged(at), counts.groups[name].merged(at)
        else:
            state, groups = counts.total.copy(), counts.total_groups.copy()
        readings[name] = Reading(state, groups, coverage.read(at), counts.late.get(name, 0))
    return readings
