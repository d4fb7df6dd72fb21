"""What is shown of a monitor, as types: the one contract of page, API, exporter and alerts.

Field names are those of the JSON that page and API give. Labels, groups and windows are text. A number is None where it
is unknown, 0/0 or infinite. Times are seconds since 1970, lengths of time are seconds. Counts are sums of weights where
the samples have weights: whole numbers as long as all weights are.

The types are defined by subject, in `window_types`, `operation_types` and `alert_types`, and imported from here.
"""

from __future__ import annotations

import inspect
import json
from typing import TypeAlias

import msgspec
from msgspec import Struct

from stream_metrics.labels.json_names import json_data
from stream_metrics.monitor.counts.delays import Delays
from stream_metrics.monitor.view.alert_types import (
    Alert,
    Annotation,
    DetectorRow,
    DriftRow,
    Firing,
    Undelivered,
)
from stream_metrics.monitor.view.operation_types import (
    Checkpoint,
    DeadLetter,
    Flows,
    JoinCounts,
    Lag,
    PartitionRow,
    Records,
    ReplicaRow,
    SourceState,
    WorkerRow,
    Workers,
)
from stream_metrics.monitor.view.window_types import (
    GAP_SAMPLES,
    Bounds,
    ClassRow,
    Curve,
    Curves,
    DelayQuantiles,
    Ends,
    GroupGap,
    GroupRow,
    Groups,
    IntervalMeaning,
    LabelCoverage,
    Matrix,
    Number,
    Reference,
    WindowComparison,
    WindowView,
)

__all__ = [
    "Alert",
    "Annotation",
    "Bounds",
    "Checkpoint",
    "ClassRow",
    "Curve",
    "Curves",
    "DeadLetter",
    "DelayQuantiles",
    "DetectorRow",
    "DriftRow",
    "Ends",
    "Firing",
    "Flows",
    "GAP_SAMPLES",
    "GroupGap",
    "GroupRow",
    "Groups",
    "IntervalMeaning",
    "JoinCounts",
    "LabelCoverage",
    "Lag",
    "Lines",
    "Matrix",
    "Number",
    "PartitionRow",
    "Records",
    "Reference",
    "ReplicaRow",
    "SourceState",
    "Undelivered",
    "VERSION",
    "View",
    "WindowComparison",
    "WindowView",
    "WorkerRow",
    "Workers",
    "json_schema",
    "to_json",
]

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
