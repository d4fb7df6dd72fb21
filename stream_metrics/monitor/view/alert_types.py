"""What is shown of alerts, of the detectors of changes behind some, and of what happened to the model."""

from __future__ import annotations

from msgspec import Struct

__all__ = [
    "Alert",
    "Annotation",
    "DetectorRow",
    "DriftRow",
    "Firing",
    "Undelivered",
]


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
