"""Statistics of partitions other than counts: the join, records, lag, offsets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stream_metrics.monitor.changes import changes_view
from stream_metrics.monitor.outcomes import JoinStats
from stream_metrics.monitor.partition import Partition

__all__ = ["statistics"]


def statistics(partitions: Sequence[Partition], lag: Mapping[tuple[str, int], int] | None) -> dict[str, Any]:
    """Return the numbers as the view has them; `lag` has the records behind by (topic, partition), None if unknown."""
    stats = JoinStats.total(partition.joiner.stats() for partition in partitions)
    times = [partition.event_time for partition in partitions if partition.event_time is not None]
    lags: Counter[int] = Counter()
    for (_, number), records in (lag or {}).items():
        lags[number] += records
    rejected: Counter[str] = Counter()
    for partition in partitions:
        rejected.update(partition.rejected)
    return {
        "event_time": max(times, default=None),
        "join": {name: value for name, value in stats._asdict().items() if isinstance(value, int)},
        "delays": stats.delays,
        "records": {
            "read": sum(partition.read for partition in partitions),
            "rejected": dict(sorted(rejected.items())),
        },
        "lag": {"records": None if lag is None else lags.total()},
        "partitions": [
            {"partition": each.number, "next": dict(each.next), "lag": None if lag is None else lags[each.number]}
            for each in partitions
        ],
        "changes": changes_view((each.number, each.changes) for each in partitions),
        "incomplete": [what for partition in partitions for what in partition.incomplete],
    }
