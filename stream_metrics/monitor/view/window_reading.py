"""What can be read of counts at one moment: states of their own, one of each kind for each window.

Counts of several partitions are read at the same time: a partition that has fallen silent would otherwise show its own
last hour. One that is ahead of that time, since its clocks are wrong, is read at its own. Reading merges a few states
for each window and partition, where merging the counts themselves would merge every pane.

`read` copies what still changes, and merges nothing: a `Reading` does so when it is asked for a state, while the counts
go on. The first reading of all merges every pane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import numpy as np

from stream_metrics.containers.groups import ByGroup
from stream_metrics.inputs.times import to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.counts.coverage import Covered
from stream_metrics.monitor.view.cutting import check_cut

if TYPE_CHECKING:
    from stream_metrics.monitor.counts.counting import PartCounts

__all__ = ["Reading", "read"]


State = TypeVar("State", MetricSet, ByGroup)


class _Part(NamedTuple):
    """What one partition has of a window; the functions return states of their own, and any thread may call them."""

    state: Callable[[], MetricSet]
    groups: Callable[[], ByGroup]  # a ByGroup of ConfusionMatrix, empty if no pair has a group
    covered: Covered
    late: int


class Reading:
    """A window at one moment, or the total; callers own the states and may change them."""

    def __init__(self, parts: Sequence[_Part], partial: frozenset[Label | None] = frozenset()) -> None:
        self._states, self._groups = [part.state for part in parts], [part.groups for part in parts]
        due, labelled, delays = zip(*(part.covered for part in parts), strict=True)
        self.covered = Covered(sum(due), sum(labelled), sum(delays))
        self.late = sum(part.late for part in parts)  # pairs too late for the window since the process started
        self.partial = partial  # classes that only some partitions fold

    @cached_property
    def state(self) -> MetricSet:
        """The samples."""
        return _merged(self._states)

    @cached_property
    def groups(self) -> ByGroup:
        """The samples by group."""
        return _merged(self._groups)

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


def _merged(parts: list[Callable[[], State]]) -> State:
    """Return the merge of the states of partitions, which are forgotten; ViewCut, and nothing is lost, if it is cut."""
    while len(parts) > 1:
        check_cut()  # the first reading merges all panes
        state: State = parts[0]().merge(parts[1]())
        parts[:2] = [lambda state=state: state]  # type: ignore[misc]
    check_cut()
    state = parts[0]()
    parts.clear()
    return state


def read(
    parts: Iterable[PartCounts], at: float | None = None, own: Iterable[float | None] | None = None
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
    windows: dict[str, list[_Part]] = {}
    for part, time in zip(parts, times, strict=True):
        for name in part.coverage:
            windows.setdefault(name, []).append(_part(part, name, time))
    partial = _partial(parts)
    return {name: Reading(of_window, partial) for name, of_window in windows.items()}


def _partial(parts: Sequence[PartCounts]) -> frozenset[Label | None]:
    """Return the classes that one partition counts apart and another does not."""
    if not any(part.classes.full for part in parts):
        return frozenset()
    classes = parts[0].classes.copy()
    for part in parts[1:]:
        classes.merge(part.classes)
    return classes.partial


def _part(counts: PartCounts, name: str, at: int) -> _Part:
    covered, late = counts.coverage[name].read(at), counts.late.get(name, 0)
    if name in counts.windows:
        return _Part(counts.windows[name].parts(at), counts.groups[name].parts(at), covered, late)
    state, groups = counts.total.copy(), counts.total_groups.copy()
    return _Part(lambda: state, lambda: groups, covered, late)
