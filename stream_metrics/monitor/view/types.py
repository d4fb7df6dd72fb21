"""What is shown of a monitor, as types: the one contract of page, API, exporter and alerts.

Field names are those of the JSON that page and API give. Labels, groups and windows are text. A number is None where it
is unknown, 0/0 or infinite. Times are seconds since 1970, lengths of time are seconds. Counts are sums of weights where
the samples have weights: whole numbers as long as all weights are.

They come by subject: alerts and what happened to the model; the operation (join, records, source, checkpoints,
partitions, workers); windows (metrics, classes, matrix, curves, groups, and what they are compared with).
"""

from __future__ import annotations

import inspect
import json
from typing import TypeAlias

import msgspec
from msgspec import Struct

from stream_metrics.labels.json_names import json_data
from stream_metrics.monitor.counts.coverage import Delays


class Alert(Struct, omit_defaults=True):
    """An alert rule: "ok", "pending", "firing" or "unknown", since when, and its value.

    A rule is unknown if its value is, unless it fires already: a value that goes missing ends no alert. `note` says
    why, or how a rule about changes stands.
    """

    rule: str
    state: str
    since: float | None
    value: float | None
    note: str | None = None


class Undelivered(Struct):
    """An alert that was not delivered, and why."""

    sink: str
    rule: str
    state: str
    at: float
    problem: str = ""


class Firing(Struct):
    """One firing of a rule: when it began and ended (None while it fires), and the value at the beginning."""

    rule: str
    began: float
    ended: float | None
    value: float


class Annotation(Struct):
    """An event in the life of the model, such as a deployment."""

    at: float
    text: str


class DetectorRow(Struct):
    """The drift detector of one rule and partition; `before` is how many alarms it had raised when it was loaded.

    `outcomes` were seen in all, `since` of them after the last alarm. `holds` is whether that alarm is still recent.
    """

    partition: int
    outcomes: int
    since: int
    evidence: float | None
    alarms: int
    before: int
    holds: bool


class DriftRow(Struct):
    """The drift detectors of one rule in all partitions; an alarm is raised where `evidence` reaches `arl`."""

    rule: str
    arl: int
    evidence: float | None
    alarms: int
    holds: bool
    note: str
    partitions: list[DetectorRow]


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


GAP_SAMPLES = 30  # of a group, from which it is compared with others
Number: TypeAlias = int | float
Bounds: TypeAlias = tuple[float, float]  # low and high


class WindowComparison(Struct):
    """The difference of a metric of a window from an earlier value: of the window one length ago, or of the reference.

    `difference` is the value now less the earlier `value`; it lies between `low` and `high`, None where one of the two
    values has no interval. `verdict` is "better" or "worse" where 0 is outside of them, else None. `reason` says why
    nothing can be said. `at` is the time of the earlier value, of events; `covers` is how many seconds before it that
    value covers, where it is not the reference: those of the window, or more where stored counts are coarser.
    """

    against: str
    at: float
    value: Number
    difference: float
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    reason: str = ""
    covers: float | None = None


class Ends(Struct):
    """The interval that certainly contains what the raw scores would give."""

    low: float | None
    high: float | None


class IntervalMeaning(Struct):
    """The confidence level, whether intervals hold for one look ("fixed") or all ("anytime"), and what they assume."""

    level: float = 0.95
    valid: str = "fixed"
    assumption: str = ""


class ClassRow(Struct):
    """One class: counts of the true and the predicted label and of both, ratios, and their intervals by metric."""

    label: str
    support: Number
    predicted: Number
    true_positives: Number
    precision: float | None
    recall: float | None
    f1: float | None
    roc_auc: float | None
    intervals: dict[str, Bounds] = {}
    label_bounds: dict[str, Bounds] = {}


class Matrix(Struct):
    """The confusion matrix of the classes with the most samples, rows true; how many classes were left out."""

    labels: list[str] = []
    counts: list[list[Number]] = []
    omitted: int = 0


class Curve(Struct, omit_defaults=True):
    """Points of a curve; `w` is the weight of each, of reliability curves only."""

    label: str
    x: list[float]
    y: list[float]
    w: list[float] | None = None


class Curves(Struct):
    """ROC and precision-recall curves by class, and how well the largest score of a sample is calibrated."""

    roc: list[Curve] = []
    pr: list[Curve] = []
    reliability: list[Curve] = []


class GroupRow(Struct):
    """One group: the number of samples, and the headline metrics; macro means are over the classes it truly has.

    `classes_absent` is how many classes were only predicted there. `intervals` are those of the metrics, by key, and
    `interval_notes` say why others have none, or why they are not to be trusted.
    """

    group: str
    n: int
    metrics: dict[str, Number | None]
    intervals: dict[str, Bounds] = {}
    interval_notes: dict[str, str] = {}
    classes_absent: int = 0


class GroupGap(Struct):
    """The largest difference between two groups of 30 samples or more, and which groups these are.

    `interval` is that of the difference of these two; it allows for the choice of them. `note` says why there is none,
    why it is not to be trusted, or that a mean is over different classes in the two groups.
    """

    size: float
    lowest: str
    highest: str
    interval: Bounds | None = None
    note: str = ""


class Groups(Struct):
    """Groups, the worst first; gaps by metric; the number of samples of groups beyond the limit."""

    rows: list[GroupRow] = []
    gaps: dict[str, GroupGap] = {}
    folded: int = 0


class LabelCoverage(Struct):
    """Predictions that are old enough to have a label, how many of them have one, and the ratio."""

    ratio: float | None = None
    labelled: int = 0
    due: int = 0


class DelayQuantiles(Struct):
    """Within how many seconds half, 90 % and 99 % of the labels came."""

    p50: float | None = None
    p90: float | None = None
    p99: float | None = None


class WindowView(Struct, kw_only=True):
    """One window, or the total since the start.

    `n`, `abstained` and `late` are numbers of samples: all, those without a prediction, and those that came too late
    for the window; `classes_folded` counts those with a class that is not counted apart. `weight` is the sum of
    weights, and `correct` that of right predictions. By key of the metric: `metrics` has values, `estimates` what
    certainly contains those computed from sketches, `intervals` confidence intervals, `interval_notes` why some are
    not to be trusted, `label_bounds` the least and largest value that any missing labels can give,
    `label_bounds_missing` why there are none, `better` the direction ("higher", "lower" or None), and `range` the
    least and the largest possible value. `comparisons` compare the metrics of the headline with earlier values.
    `warnings` are sentences about data that look wrong; `mismatch` is the one that says that true labels and
    predictions seem to be written differently, or empty.
    """

    n: int = 0
    weight: Number | None = 0
    correct: Number = 0
    abstained: int = 0
    late: int = 0
    classes_folded: Number = 0
    metrics: dict[str, Number | None] = {}
    estimates: dict[str, Ends] = {}
    intervals: dict[str, Bounds | None] = {}
    interval_notes: dict[str, str] = {}
    interval: IntervalMeaning = msgspec.field(default_factory=IntervalMeaning)
    label_bounds: dict[str, Bounds] = {}
    label_bounds_missing: dict[str, str] = {}
    better: dict[str, str | None] = {}
    range: dict[str, tuple[Number | None, Number | None]] = {}
    comparisons: dict[str, list[WindowComparison]] = {}
    warnings: list[str] = []
    mismatch: str = ""
    classes: list[ClassRow] = []
    classes_omitted: int = 0
    matrix: Matrix = msgspec.field(default_factory=Matrix)
    curves: Curves = msgspec.field(default_factory=Curves)
    groups: Groups = msgspec.field(default_factory=Groups)
    coverage: LabelCoverage = msgspec.field(default_factory=LabelCoverage)
    delay: DelayQuantiles = msgspec.field(default_factory=DelayQuantiles)


class Reference(Struct):
    """A period that windows are compared with: the window `window` as it was at the time `at`.

    `start` is where that window began, `n` its number of samples; `metrics` and `intervals` are those of the headline.
    """

    window: str
    start: float
    at: float
    n: int = 0
    metrics: dict[str, Number | None] = {}
    intervals: dict[str, Bounds | None] = {}


VERSION = 1
Lines: TypeAlias = dict[str, list[float | None]]  # `t`, `n` and metrics, one number for each point in time


class View(Struct, kw_only=True):
    """Everything that is shown of a monitor, or of a collector.

    `now` is the time of the clock and `event_time` that of the newest event. `windows` are the keys of `by_window` in
    order, "total" first; `headline` are the metrics to show first. `history` has the trend lines of each window.
    Their times are those of events, and each point covers the `history_covers` seconds before its time; without such a
    number, points have the times at which metrics of all samples were read.
    `flows` are the counters of the exporter, `undelivered` alerts that were not delivered, within a day,
    and `delivery_failures` how often delivery failed since the start.
    `reference` is the period that windows are compared with, if there is one. `firings` says when alerts fired, the
    newest first, and `annotations` what happened to the model, the oldest first.
    `unreadable` says of which partitions no record was an event so far, `incomplete` what counts lack.
    `replicas` are the workers that share the store, empty if it is not shared; only collectors have `workers`.
    """

    version: int = VERSION
    title: str = ""
    now: float = 0.0
    started: float | None = None
    event_time: float | None = None
    windows: list[str] = []
    headline: list[str] = []
    by_window: dict[str, WindowView] = {}
    history: dict[str, Lines] = {}
    history_covers: dict[str, float] = {}
    reference: Reference | None = None
    join: JoinCounts = msgspec.field(default_factory=JoinCounts)
    delays: Delays = msgspec.field(default_factory=Delays)
    records: Records = msgspec.field(default_factory=Records)
    flows: Flows = msgspec.field(default_factory=Flows)
    source: SourceState = msgspec.field(default_factory=SourceState)
    lag: Lag = msgspec.field(default_factory=Lag)
    checkpoint: Checkpoint = msgspec.field(default_factory=Checkpoint)
    partitions: list[PartitionRow] = []
    replicas: list[ReplicaRow] = []
    unreadable: list[str] = []
    incomplete: list[str] = []
    alerts: list[Alert] = []
    undelivered: list[Undelivered] = []
    delivery_failures: int = 0
    firings: list[Firing] = []
    annotations: list[Annotation] = []
    changes: list[DriftRow] = []
    dead_letters: list[DeadLetter] = []
    workers: Workers | None = None


def to_json(view: View) -> bytes:
    """Return a view as JSON, with null for nan and infinities."""
    try:
        return msgspec.json.encode(view)
    except UnicodeEncodeError:  # a label has a lone surrogate, which is no UTF-8: escape it
        return json.dumps(json_data(msgspec.to_builtins(view)), separators=(",", ":")).encode()


def json_schema(kind: type[Struct] = View) -> str:
    """Return the JSON Schema of a type as JSON has it; `/api/snapshot` and `/events` follow that of a view."""
    schema = msgspec.json.schema(kind)
    for each in schema["$defs"].values():
        if "description" in each:
            each["description"] = inspect.cleandoc(each["description"])
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2) + "\n"
