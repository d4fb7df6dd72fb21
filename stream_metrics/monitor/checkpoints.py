"""Steps of a monitor: records are decoded, joined and counted in their partitions, with checkpoints in between.

A checkpoint is made every so many seconds or events, but so that it takes at most a tenth of the time, as long as that
makes it wait no more than ten times as many seconds. If one fails because the disk is full, the error is logged, shown
as `last_error`, and the checkpoint is retried. Counting continues meanwhile: what waits is bounded, and after a crash
more records are read again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.assignment import Assignment, Notes, SourceStatus
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.config import StoreTable as StoreConfig
from stream_metrics.monitor.events.decoding import Decoder
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.partition import Partition, by_part
from stream_metrics.monitor.store import PartChange, StaleOwner, StoreError, TemporaryPanes
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.view.types import Checkpoint

LOG = logging.getLogger("stream_metrics.monitor")
SHARE = 9  # at most one part in ten of the time goes to checkpoints, as long as waiting helps:
LONGEST = 10  # a checkpoint comes after at most so many times `every_seconds`
RETRY = 1.0  # seconds after a checkpoint that failed


class Checkpoints:
    """Writes the partitions of an assignment; only the thread that counts calls it, except for `age` and `view`.

    `last_error` is why the last checkpoint failed, or None; `at` when the last one was made and `started` when the
    process began to count, by the clock; `seconds` and `size` what the last one took; `saves` how many wrote something.
    """

    def __init__(
        self,
        config: StoreConfig,
        store: StateStore | None,
        assignment: Assignment,
        notes: Notes,
        clock: Callable[[], float],
    ) -> None:
        self.last_error: str | None = None
        self.at: float | None = None
        self.seconds = 0.0
        self.size = 0
        self.saves = 0
        self._config, self._store, self._clock = config, store, clock
        self._assignment, self._notes = assignment, notes
        self.started = clock()
        self._every = parse_duration(str(config.every_seconds) + "s", "every_seconds") / 1e9
        self._events = 0  # since the last checkpoint
        self._ended = time.monotonic()  # the last checkpoint, or attempt
        self._spent = 0.0  # on it, in seconds
        self._notify: list[Callable[[dict[tuple[str, int], int]], object]] = []

    def notify(self, call: Callable[[dict[tuple[str, int], int]], object]) -> None:
        """Call `call` after each checkpoint with the next offsets that were stored, by (topic, partition)."""
        self._notify.append(call)

    def note_read(self, records: int) -> None:
        """Add to the number of records since the last checkpoint."""
        self._events += records

    def note_error(self, error: Exception, consequence: str) -> None:
        """Show why a checkpoint failed, and log it unless it is the same error as before."""
        if self.last_error != str(error):
            LOG.error("%s: %s", consequence, error)
        self.last_error = str(error)

    def age(self, now: float) -> float | None:
        """Return for how long nothing was written; if the first checkpoint already fails, since the start.

        After the clock was set back, the time counts from when that was noticed.
        """
        self.started = min(self.started, now)
        if self.at is not None:
            self.at = min(self.at, now)
        since = self.started if self.at is None and self.last_error else self.at
        return None if since is None else now - since

    def view(self, now: float) -> Checkpoint:
        """Return what the view shows."""
        return Checkpoint(self.age(now), self.seconds, self.size, self.last_error)

    def write_if_due(self) -> None:
        """Write a checkpoint if one is due; ``StaleOwner`` if a partition belongs to another process by now."""
        now = time.monotonic()
        since = now - self._ended
        full = any(partition.full for partition in self._assignment.partitions.values())
        enough = since >= self._every or self._events >= self._config.every_events or full
        wait = min(SHARE * self._spent, LONGEST * self._every)
        if not enough or since < max(wait, RETRY if self.last_error else 0.0):
            return
        try:
            self.write()
        except StaleOwner:
            raise
        except StoreError as error:
            self._spent, self._ended = time.monotonic() - now, time.monotonic()
            self.note_error(error, "checkpoint failed, and is tried again")

    def write(self) -> None:
        """Write all that has changed, in one transaction."""
        self.save(list(self._assignment.partitions.values()))

    def write_last(self, store: StateStore) -> None:
        """Write a last checkpoint, which is tried again for a while if the store is away."""
        store.patiently(self.write)

    def save(self, partitions: Sequence[Partition]) -> None:
        """Write some partitions; one that has another owner is forgotten, and the others are written without it.

        Without a store all else is done, since what is packed takes a fifth of the memory.
        """
        started = time.monotonic()
        changed = [each for each in partitions if each.unsaved]
        notes = self._notes.changed(self._assignment.leads(), self._assignment.flow_notes(changed))
        if changed or notes:
            with self._assignment.lock:
                changes = [partition.change() for partition in changed]
            try:
                self._store_changes(changed, changes, notes)
            except StaleOwner as stale:
                self._assignment.lost([stale.part])
                self.save([partition for partition in partitions if partition.number != stale.part])
                raise
            self._commit(changed, changes, notes)
        self._events, self.last_error = 0, None
        self._ended = time.monotonic()
        self._spent = self.seconds = self._ended - started
        self.at = None if self._store is None else self._clock()

    def _store_changes(
        self, changed: Sequence[Partition], changes: Sequence[PartChange], notes: dict[str, bytes]
    ) -> None:
        """Write what has changed."""
        letters = [letter for partition in changed for letter in partition.letters]
        if self._store is not None:
            self._store.save(changes, letters, notes)
        if isinstance(self._assignment.panes, TemporaryPanes):
            self._assignment.panes.save({change.part: change.panes for change in changes if change.panes is not None})

    def _commit(self, changed: Sequence[Partition], changes: Sequence[PartChange], notes: dict[str, bytes]) -> None:
        """Note what was written."""
        with self._assignment.lock:
            self._assignment.flows.commit(changed)
            for partition, change in zip(changed, changes, strict=True):
                partition.written(change)
        self._notes.written(notes)
        self.saves += 1
        if self._store is not None:
            stored = {(topic, each.number): at for each in changed for topic, at in each.next.items()}
            for call in self._notify:
                call(stored)
        self.size = sum(change.size for change in changes)


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
