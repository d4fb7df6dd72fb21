"""Steps of a monitor: records are decoded, joined and counted in their partitions, with checkpoints in between."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from stream_metrics.monitor.assignment import Assignment
from stream_metrics.monitor.checkpoints import Checkpoints
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.events.decoding import Decoder
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.partition import Partition, by_part
from stream_metrics.monitor.source_status import SourceStatus
from stream_metrics.monitor.store import StaleOwner

__all__ = ["Steps"]

LOG = logging.getLogger("stream_metrics.monitor")
CHUNK = 8192


class Steps:
    """Counts the records of the partitions of an assignment; `clock` decides which events come from the future."""

    def __init__(
        self,
        config: Config,
        assignment: Assignment,
        source: SourceStatus,
        checkpoints: Checkpoints,
        clock: Callable[[], float],
    ) -> None:
        self._assignment, self._source, self._checkpoints, self._clock = assignment, source, checkpoints, clock
        self._decoder = Decoder(config.fields, config.counting, config.join.ahead)
        self._stale: list[StaleOwner] = []  # to be raised at the end of a step

    def step(self, records: Sequence[Record]) -> None:
        """Count records that were not read before; write a checkpoint if one is due."""
        partitions, parts = self._assignment.partitions, by_part(records)
        unknown = parts.keys() - partitions.keys()
        if unknown:
            numbers = self._assignment.numbers
            raise ValueError(f"Expected records of the partitions {numbers}, but got some of {sorted(unknown)}")
        for number, its in parts.items():
            for start in range(0, len(its), CHUNK):
                if number in partitions:
                    self._take(partitions[number], its[start : start + CHUNK])
                self._if_due()
        self._if_due()
        if self._stale:
            raise self._stale.pop()

    def _take(self, partition: Partition, records: Sequence[Record]) -> None:
        unread = partition.unread(records)
        if not unread:
            return
        now = self._clock()
        events, bad = self._decoder.read(unread, now)
        before = partition.unreadable
        with self._assignment.lock:
            try:
                refused = partition.take(unread, events, bad, now)
                self._source.note_rejected(len(unread), refused)
            except BaseException as error:  # discard the partition: it is only partly updated
                del self._assignment.partitions[partition.number]
                if not isinstance(error, StaleOwner):
                    raise
                self._stale = [error]
            self._checkpoints.note_read(len(unread))
            self._source.note_read(len(unread))
        if before is None and partition.unreadable is not None:
            LOG.error("%s", partition.unreadable)

    def _if_due(self) -> None:
        self._source.measure(time.monotonic())
        try:
            self._checkpoints.write_if_due()
        except StaleOwner as error:
            self._stale = [error]
