"""A view of a monitor: of its operation, and of what was counted in each window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.counts.counting import TOTAL, PartCounts
from stream_metrics.monitor.join.outcomes import JoinStats
from stream_metrics.monitor.view.group_view import ShownGroups
from stream_metrics.monitor.view.headline import headline
from stream_metrics.monitor.view.types import JoinCounts, Lag, PartitionRow, Records, View, WindowView
from stream_metrics.monitor.view.window_reading import Reading, read
from stream_metrics.monitor.view.window_view import snapshot_of, window_view

if TYPE_CHECKING:
    from stream_metrics.monitor.partition import Partition

__all__ = ["WindowViews", "operation_view", "view"]


class WindowViews:
    """The newest view of each window. It is computed only if counts have changed, so a silent source costs little.

    The same holds for each group.
    """

    def __init__(self) -> None:
        self._views: dict[str, tuple[Reading, tuple[object, ...], WindowView, ShownGroups]] = {}

    def view(
        self, name: str, reading: Reading, headline: Sequence[str], extra_metrics: Sequence[str], valid: str
    ) -> WindowView:
        """Return the view of a window, whose states are not copied; see `window_view`."""
        options = tuple(headline), tuple(extra_metrics), valid
        earlier = self._views.get(name)
        if earlier is not None and earlier[1] != options:
            earlier = None
        if earlier is not None and earlier[0].equals(reading):
            return structs.replace(earlier[2])
        groups = ShownGroups() if earlier is None else earlier[3]
        shown = window_view(reading, headline, extra_metrics, valid, groups)
        self._views[name] = reading, options, shown, groups
        return structs.replace(shown)


def view(
    readings: Mapping[str, Reading],
    config: CountingTable,
    operation: View,
    *,
    now: float,
    extra_metrics: Sequence[str] = (),
    windows: WindowViews | None = None,
) -> View:
    """Return `operation` with the windows that `read` returned, whose states are taken over.

    `now` is the time of the clock; `extra_metrics` are shown beside those that always are. Without readings the windows
    are those of empty counts. `windows` has the views of the last call.
    """
    readings = readings or read([PartCounts(config)])
    windows = windows or WindowViews()
    keys = config.metrics or headline(snapshot_of(readings[TOTAL].state))
    return structs.replace(
        operation,
        title=config.title,
        now=now,
        windows=list(readings),
        headline=list(keys),
        by_window={
            name: windows.view(name, reading, keys, extra_metrics, "anytime" if name == TOTAL else "fixed")
            for name, reading in readings.items()
        },
    )


def operation_view(partitions: Sequence[Partition], lag: Mapping[tuple[str, int], int] | None) -> View:
    """Return the part of a view that is not about counts: the join, records, offsets.

    `lag` has the number of records behind by (topic, partition), None if that is unknown.
    """
    stats = JoinStats.total(partition.joiner.stats() for partition in partitions)
    lags: Counter[int] = Counter()
    for (_, number), behind in (lag or {}).items():
        lags[number] += behind
    rejected: Counter[str] = Counter()
    for partition in partitions:
        rejected.update(partition.rejected)
    return View(
        event_time=max((each.arrivals.newest for each in partitions if each.arrivals.newest is not None), default=None),
        join=JoinCounts(*(getattr(stats, name) for name in JoinCounts.__struct_fields__)),
        delays=stats.delays,
        records=Records(sum(partition.read for partition in partitions), dict(sorted(rejected.items()))),
        lag=Lag(None if lag is None else lags.total()),
        partitions=[
            PartitionRow(each.number, dict(each.next), None if lag is None else lags[each.number])
            for each in partitions
        ],
        unreadable=[each.unreadable for each in partitions if each.unreadable is not None],
        incomplete=[what for partition in partitions for what in partition.incomplete],
    )
