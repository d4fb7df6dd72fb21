"""Predictions with their labels, and a chunk of them as columns, without those whose time or group is invalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError, WeightError
from stream_metrics.inputs.times import LIMIT, seconds_to_ns
from stream_metrics.labels import Label, canonical
from stream_metrics.monitor.events.records import MISSING, Absent, Classes, Origin, Prediction, Rejected, Truth, Weight

__all__ = ["Chunk", "Pair", "PairColumns", "validate_pairs"]

BOUND = LIMIT / 1e9
REASONS = ((LabelError, "label"), (ScoreError, "score"), (WeightError, "weight"))
ABSENT_TYPES = {type(None), type(MISSING)}


class Pair(NamedTuple):
    """A prediction with its label; `origin` is topic, partition and offset of the record that completed it.

    Fields that the event did not have are MISSING or None: a pair without a group is in none, and the weight is 1 by
    default. Times are in seconds since 1970. With `classes`, `scores` are bytes, see ``events.scores``.
    """

    truth: Truth
    prediction: Prediction | Mapping[Label, float]
    scores: object
    weight: Weight | Absent | None
    group: Label | Absent | None
    predicted_at: float
    labelled_at: float
    origin: Origin
    classes: Classes | None = None


class PairColumns(NamedTuple):
    """Pairs as columns."""

    truths: Sequence[Truth]
    predictions: Sequence[Prediction | Mapping[Label, float]]
    scores: Sequence[object]
    weights: Sequence[Weight | Absent | None]
    groups: Sequence[Label | Absent | None]
    predicted: Sequence[float]
    labelled: Sequence[float]
    origins: Sequence[Origin]
    classes: Sequence[Classes | None]

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> PairColumns:
        """Return pairs as columns; there must be one."""
        return cls(*zip(*pairs, strict=True))


class Chunk(NamedTuple):
    """Valid pairs as columns. Times are in nanoseconds."""

    origins: Sequence[Origin]
    truths: list[Truth]
    labels: list[Any]  # predictions, and mappings from class to score
    scores: Sequence[Any]  # bytes with `classes`; else a mapping, a number, MISSING or None
    classes: Sequence[Classes | None]
    weights: list[Weight] | None  # None if all are 1
    groups: list[Label | None] | None  # None if no pair has one
    predicted: NDArray[np.int64]
    labelled: NDArray[np.int64]
    seconds: NDArray[np.float64]  # how long the label took

    def refused(self, place: int, error: StreamMetricsError) -> Rejected:
        """Return the rejection of a pair."""
        reason = next((name for kind, name in REASONS if isinstance(error, kind)), "other")
        return Rejected(*self.origins[place], reason, str(error)[:200])


def validate_pairs(pairs: PairColumns) -> tuple[Chunk | None, list[Rejected]]:
    """Return the valid pairs as columns, None if there are none, and those with an invalid time or group."""
    rejected: list[Rejected] = []
    try:
        columns = _columns(pairs) if len(pairs.truths) else None
    except (ArithmeticError, StreamMetricsError, TypeError, ValueError):
        good = []
        for pair in map(Pair._make, zip(*pairs, strict=True)):
            reason = "time"
            try:
                _seconds([pair.predicted_at, pair.labelled_at])
                reason = "other"
                if type(pair.group) not in ABSENT_TYPES:
                    canonical(pair.group, "group")
                good.append(pair)
            except (ArithmeticError, StreamMetricsError, TypeError, ValueError) as error:
                rejected.append(Rejected(*pair.origin, reason, str(error)[:200]))
        columns = _columns(PairColumns.of(good)) if good else None
    return columns, rejected


def _columns(pairs: PairColumns) -> Chunk:
    truths, labels, scores, weights, groups, predicted, labelled, origins, classes = pairs
    made_at, labelled_at = _seconds(predicted), _seconds(labelled)
    ones = weights.count(1) == len(weights)
    weighted = None if ones else [1 if w is None or isinstance(w, Absent) else w for w in weights]
    named: list[Label | None] | None = None
    if not set(map(type, groups)) <= ABSENT_TYPES:
        named = [None if isinstance(group, Absent) else group for group in groups]
    for group in set(named or ()) - {None}:
        canonical(group, "group")
    times = seconds_to_ns(made_at), seconds_to_ns(labelled_at), labelled_at - made_at
    return Chunk(origins, list(truths), list(labels), scores, classes, weighted, named, *times)


def _seconds(times: Sequence[object]) -> NDArray[np.float64]:
    """Return times as an array; ValueError for anything but numbers of seconds within the range."""
    seconds = np.array(times)
    if seconds.dtype.kind not in "fiu" or not np.abs(seconds).max() < BOUND:
        raise ValueError(f"Expected times in seconds since 1970, up to {BOUND:.0f}, but got {times!r:.60}")
    return seconds.astype(np.float64, copy=False)
