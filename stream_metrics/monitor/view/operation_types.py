"""What is shown of the operation: the join, records, the source, checkpoints, partitions, and other workers."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from stream_metrics.monitor.counts.delays import Delays

__all__ = [
    "Checkpoint",
    "DeadLetter",
    "Flows",
    "JoinCounts",
    "Lag",
    "PartitionRow",
    "Records",
    "ReplicaRow",
    "SourceState",
    "WorkerRow",
    "Workers",
]


class JoinCounts(Struct):
    """Outcomes of predictions and labels since the start; `pending` is how many predictions wait now.

    `expired_early` are those of `predictions_expired` that were given up because too many waited; `forgotten` are ids
    that were forgotten because there were too many, so that they would be counted again.
    """

    pending: int = 0
    joined: int = 0
    labels_unmatched: int = 0
    labels_late: int = 0
    labels_duplicate: int = 0
    predictions_duplicate: int = 0
    predictions_expired: int = 0
    corrections: int = 0
    corrections_refused: int = 0
    expired_early: int = 0
    forgotten: int = 0


class Flows(Struct):
    """Counters that never fall, also over restarts; they are those of the last checkpoint.

    `counts` are numbers of records, labels and predictions by what became of them, `rejected` of records by reason.
    """

    counts: dict[str, int] = {}
    rejected: dict[str, int] = {}
    delays: Delays = msgspec.field(default_factory=Delays)


class Records(Struct):
    """Records read, those rejected by reason, and the rate over the last seconds.

    `rejected_share` is the share rejected in the last 5 minutes, or of the last 1,000 records if these took longer.
    """

    read: int = 0
    rejected: dict[str, int] = {}
    per_second: float | None = None
    rejected_share: float | None = None


class SourceState(Struct):
    """How the source does.

    `state` is "waiting" before the first event, "live", "silent" after `idle` seconds without an event, "away" while
    the source cannot be read, "unassigned" while it has given no partitions to this process, or "ended". `problem` is
    why nothing can be read. `silence` is how long ago the last event came, or before the first one the process
    started, in seconds; `time` is the time at which windows end: it passes also without events.
    """

    state: str = "waiting"
    problem: str | None = None
    silence: float | None = None
    idle: float | None = None
    time: float | None = None

    @property
    def up(self) -> bool:
        """Whether records can come."""
        return self.state not in ("away", "unassigned")


class Lag(Struct):
    """How many records are still to be read, None if that is unknown, and the age of the newest event."""

    records: int | None = None
    seconds: float | None = None


class Checkpoint(Struct):
    """The last checkpoint: its age, how long it took, its size in bytes, and why it failed, if it did."""

    age: float | None = None
    duration: float | None = None
    bytes: int | None = None
    error: str | None = None


class PartitionRow(Struct):
    """One partition: the next offset of each topic, and how many records are still to be read.

    `owner` is None for those of the worker that shows it. Those of others are as of their last checkpoints, `age`
    seconds ago; the owner is "" while no worker has the partition.
    """

    partition: int
    next: dict[str, int]
    lag: int | None
    owner: str | None = None
    age: float | None = None


class ReplicaRow(Struct):
    """A worker of the group that shares the store: "live", or "silent" if it has not reported for long.

    `this` is whether this worker made the view, `alerts` whether it evaluates the rules. `age` is the time since its
    report, `lag` the number of records it has still to read, `problem` why it cannot read any.
    """

    worker: str
    state: str
    this: bool
    alerts: bool
    age: float
    partitions: list[int]
    lag: int | None
    problem: str | None


class DeadLetter(Struct):
    """A record that was rejected."""

    topic: str
    partition: int
    offset: int
    reason: str
    detail: str


class WorkerRow(Struct):
    """A worker of a collector: "live", "silent", or "missing" if it is expected and has not reported.

    `age` is the time since its newest state came, `n` the samples of that state. `accepted`, `duplicate`, `stale` and
    `fenced` are how many states of it had each outcome since the collector was started.
    """

    worker: str
    state: str
    n: int = 0
    age: float | None = None
    accepted: int = 0
    duplicate: int = 0
    stale: int = 0
    fenced: int = 0


class Workers(Struct):
    """The workers of a collector: how many there are in each state, and those that need attention most.

    `expected` is how many should report, None if that is unknown, and `retired` how many lives of workers are over
    whose counts stay. `outcomes` are the states that came since the start, by what became of them, `refused` those that
    could not be used, by reason. `omitted` is how many workers have no row.
    """

    live: int = 0
    silent: int = 0
    missing: int = 0
    retired: int = 0
    expected: int | None = None
    outcomes: dict[str, int] = {}
    refused: dict[str, int] = {}
    rows: list[WorkerRow] = []
    omitted: int = 0
