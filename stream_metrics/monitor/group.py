"""What all workers of a group have at one moment, for a view of the whole model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.partition import Partition
from stream_metrics.monitor.replicas import Replicas, Report
from stream_metrics.monitor.unassigned import Unassigned
from stream_metrics.monitor.view.types import DeadLetter, View

__all__ = ["Group"]

LETTERS = 100


class Group:
    """The partitions, lag, dead letters and problems of all workers of a group at one moment.

    Without `replicas` the group is this worker; `unassigned` are then shown while it has no partitions.
    """

    def __init__(
        self,
        replicas: Replicas | None,
        mine: Mapping[int, Partition],
        lag: Mapping[tuple[str, int], int] | None,
        letters: Sequence[Rejected],
        problem: str | None,
        unassigned: Unassigned,
    ) -> None:
        self._replicas, self._letters = replicas, letters
        if replicas is not None:
            self._others = replicas.others(mine)
        else:
            self._others = [] if mine else unassigned.others()
        reports = [] if replicas is None else replicas.reports()
        numbered = {**mine, **{other.partition.number: other.partition for other in self._others}}
        self.partitions = [partition for _, partition in sorted(numbered.items())]
        self.lag = _merged_lag(lag, mine, reports)
        self.problem = "; ".join(dict.fromkeys(filter(None, [problem, *(each.problem for each in reports)]))) or None
        self._rejected = [report.rejected_share for report in reports if report.rejected_share is not None]
        self.others_per_second = sum(report.per_second for report in reports)

    def rejected_share(self, mine: float | None) -> float | None:
        """Return the largest share of recent records that a worker rejected."""
        return max([*self._rejected, *([] if mine is None else [mine])], default=None)

    def mark(self, operation: View) -> None:
        """Add the owners of partitions, the other workers and the dead letters of all to a view."""
        others = {other.partition.number: other for other in self._others}
        for row in operation.partitions:
            if row.partition in others:
                row.owner, row.age = others[row.partition].owner, others[row.partition].age
        letters = {letter[:3]: letter for letter in reversed(self._letters)}
        if self._replicas is not None:
            operation.replicas = self._replicas.view()
            if self._replicas.problem is not None:
                operation.incomplete.append(f"what other workers count cannot be read: {self._replicas.problem}")
            letters |= {letter[:3]: letter for letter in self._replicas.letters() if letter[:3] not in letters}
        operation.dead_letters = [DeadLetter(*letter) for letter in islice(letters.values(), LETTERS)]


def _merged_lag(
    mine: Mapping[tuple[str, int], int] | None, partitions: Collection[int], reports: Sequence[Report]
) -> dict[tuple[str, int], int] | None:
    """Return how many records are to be read by (topic, partition); None if a worker that has partitions is unsure."""
    if mine is None and (partitions or not reports):
        return None
    lag = dict(mine or {})
    for report in reports:
        if report.lag is None and report.partitions:
            return None
        lag |= {(topic, part): records for topic, part, records in report.lag or ()}
    return lag
