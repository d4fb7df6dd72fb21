"""What comes in: records as a source hands them over, the events that they hold, and why one holds none.

A record is what Kafka calls one; a line of a file is a record too, its offset the number of the byte after the line
before. `next` is the offset after it, which is not always `offset + 1`: files count bytes, and Kafka has gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from stream_metrics.labels import Label

__all__ = [
    "Absent",
    "Checked",
    "Classes",
    "Event",
    "Events",
    "MISSING",
    "Origin",
    "Prediction",
    "REASONS",
    "Record",
    "Rejected",
    "Scores",
    "Truth",
    "Weight",
]


class Absent:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Absent()  # the value of a field that an event does not have; None is a value
Truth: TypeAlias = "Label | Absent"
Prediction: TypeAlias = "Label | Absent | None"  # None is an abstention
Scores: TypeAlias = bytes | float | None  # doubles, one for each class, or the score of one class
Classes: TypeAlias = tuple[Label, ...]
Weight: TypeAlias = int | float
Origin: TypeAlias = tuple[str, int, int]  # topic, partition and offset of a record
REASONS = ("decode", "field", "time", "label", "score", "weight", "other")


class Record(NamedTuple):
    """One message: where it is, when it was written (seconds since 1970, or None), and its bytes."""

    topic: str
    partition: int
    offset: int
    next: int
    timestamp: float | None
    key: bytes | None
    value: bytes | None


class Event(NamedTuple):
    """What a record says: a prediction, a label, or both; what it does not say is MISSING, not None.

    `time` is in seconds since 1970, that of the event itself. A prediction that is None is an abstention.
    """

    id: object
    time: float
    truth: object
    prediction: object
    scores: object
    weight: int | float
    group: object


class Checked(NamedTuple):
    """An event that can be joined.

    A truth that is None is MISSING; scores, weight and group that are MISSING are None. `scores` are numbers as bytes,
    see ``events.scores``, one for each of `classes`; without classes, they are one number or None.
    """

    id: Label
    time: float
    truth: Truth
    prediction: Prediction
    scores: Scores
    weight: Weight | None
    group: Label | None
    classes: Classes | None


class Events(NamedTuple):
    """Events that can be joined, as columns, and where each comes from: topic, partition, offset."""

    ids: list[Label]
    times: list[float]
    truths: list[Truth]
    predictions: list[Prediction]
    scores: list[Scores]
    weights: list[Weight | None]
    groups: list[Label | None]
    classes: list[Classes | None]
    origins: list[Origin]

    @classmethod
    def of(cls, events: Iterable[Checked], origins: Iterable[Origin]) -> Events:
        """Return events as columns."""
        rows = [(*event, origin) for event, origin in zip(events, origins, strict=True)]
        return cls(*map(list, zip(*rows, strict=True))) if rows else cls([], [], [], [], [], [], [], [], [])


class Rejected(NamedTuple):
    """A record that could not be counted: where it is, one of REASONS, and what was wrong, at most 200 characters."""

    topic: str
    partition: int
    offset: int
    reason: str
    detail: str
