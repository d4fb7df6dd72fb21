"""Counters of predictions and labels, and their sums over partitions."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from stream_metrics.monitor.counts.delays import BOUNDS, DelayCounts, Delays

__all__ = ["JoinCounters", "JoinStats"]


@dataclass
class JoinCounters:
    """Counters of one partition, or of several that were added up.

    predictions = pending + joined + predictions_expired + predictions_duplicate + refused
    labels = labels_waiting + joined + labels_expired + labels_late + labels_duplicate
             + corrections + corrections_refused + refused + labels_refused
    """

    predictions: int = 0
    labels: int = 0
    pending: int = 0  # predictions that wait
    labels_waiting: int = 0
    joined: int = 0
    predictions_expired: int = 0
    predictions_duplicate: int = 0
    labels_expired: int = 0
    labels_late: int = 0  # after their prediction had expired
    labels_duplicate: int = 0
    corrections: int = 0
    corrections_refused: int = 0
    refused: int = 0  # pairs that could not be counted
    labels_refused: int = 0  # corrections that could not be counted
    expired_early: int = 0  # predictions that expired because too many waited
    forgotten: int = 0  # ids of joined pairs and expired predictions, forgotten early because there were too many
    ids_forgotten: int = 0  # ids that are not even remembered, because there were too many

    def __add__(self, other: JoinCounters) -> JoinCounters:
        return JoinCounters(**{name: value + getattr(other, name) for name, value in vars(self).items()})


class JoinStats(NamedTuple):
    """The outcomes of predictions and labels so far; `counters` has all counters."""

    pending: int
    joined: int
    labels_unmatched: int  # waiting and expired
    labels_late: int
    labels_duplicate: int
    predictions_duplicate: int
    predictions_expired: int
    corrections: int
    corrections_refused: int
    expired_early: int
    forgotten: int  # ids that are not even remembered
    delays: Delays
    counters: JoinCounters

    @classmethod
    def of(cls, counters: JoinCounters, delays: Delays) -> JoinStats:
        """Return the numbers of counters, with the delays."""
        unmatched = counters.labels_waiting + counters.labels_expired
        named = {name: getattr(counters, name) for name in cls._fields if hasattr(counters, name)}
        named["forgotten"] = counters.ids_forgotten
        return cls(**named, labels_unmatched=unmatched, delays=delays, counters=counters)

    @classmethod
    def total(cls, every: Iterable[JoinStats]) -> JoinStats:
        """Return the sums over partitions."""
        counters, delays = JoinCounters(), DelayCounts().read()
        for stats in every:
            counts = tuple(map(operator.add, delays.counts, stats.delays.counts))
            counters, delays = counters + stats.counters, Delays(BOUNDS, counts, delays.sum + stats.delays.sum)
        return cls.of(counters, delays)
