"""A view of a monitor: of its operation, and of what was counted in each window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import structs

from stream_metrics.monitor.changes import changes_view
from stream_metrics.monitor.config import Counting
from stream_metrics.monitor.counting import TOTAL, Counts
from stream_metrics.monitor.headline import headline
from stream_metrics.monitor.outcomes import JoinStats
from stream_metrics.monitor.partition import Partition
from stream_metrics.monitor.view_types import JoinCounts, Lag, PartitionRow, Records, View
from stream_metrics.monitor.window_reading import Reading, read
from stream_metrics.monitor.window_view import snapshot_of, window_view

__all__ = ["operation_view", "view"]


def view(
    readings: Mapping[str, Reading],
    config: Counting,
    operation: View,
    *,
    now: float,
    extra_metrics: Sequence[str] = (),
) -> View:
    """Return `operation` with the windows that `read` returned, whose states are taken over.

    `now` is the time of the clock; `extra_metrics` are shown beside those that always are. Without readings the windows
    are those of empty counts.
    """
    readings = readings or read([Counts(config)])
    keys = config.metrics or headline(snapshot_of(readings[TOTAL].state))
    return structs.replace(
        operation,
        title=config.title,
        now=now,
        windows=list(readings),
        headline=list(keys),
        by_window={
            name: window_view(reading, keys, extra_metrics, "anytime" if name == TOTAL else "fixed")
            for name, reading in readings.items()
        },
    )


def operation_view(partitions: Sequence[Partition], lag: Mapping[tuple[str, int], int] | None) -> View:
    """Return the part of a view that is not about counts: the join, records, offsets, changes.

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
        changes=changes_view((each.number, each.changes) for each in partitions),
        unreadable=[each.unreadable for each in partitions if each.unreadable is not None],
        incomplete=[what for partition in partitions for what in partition.incomplete],
    )
