"""The monitor: reads records, joins and counts them, and writes checkpoints.

    monitor = Monitor(config, open_store(config.store.path))
    offsets = monitor.assign([0])               # where to go on reading
    while True:
        monitor.step(source.poll(0.5))          # an empty list, too, so that checkpoints are made in time

One thread calls `assign`, `step`, `checkpoint`, `revoke`, `lost` and `close`; any thread calls `view`, `counts` and
`stats`.

A signal handler should set a flag and let `step` end: an exception in the middle of a checkpoint leaves open whether it
was written, and the partition then counts as lost to another process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.alerts.drift import changes_view
from stream_metrics.monitor.alerts.rule_view import Needs, rule_view
from stream_metrics.monitor.archive.answers import RangeAnswers
from stream_metrics.monitor.archive.reading import Panes
from stream_metrics.monitor.archive.trends import Point, Trends
from stream_metrics.monitor.assignment import Assignment
from stream_metrics.monitor.checkpoints import Checkpoints
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.counting import TOTAL, Counts
from stream_metrics.monitor.election import Election
from stream_metrics.monitor.events.decoding import Decoder
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.join.outcomes import JoinStats
from stream_metrics.monitor.notes import Notes
from stream_metrics.monitor.partition import Partition, by_part
from stream_metrics.monitor.replicas import Replicas, Report
from stream_metrics.monitor.source_status import DEAD_LETTERS, SourceStatus
from stream_metrics.monitor.store import StaleOwner, TemporaryPanes
from stream_metrics.monitor.store.export import check_target
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.store.unclaimed import stored_offsets
from stream_metrics.monitor.view.annotations import Annotations
from stream_metrics.monitor.view.comparing import Earlier, compared
from stream_metrics.monitor.view.reference import ReferenceKeeper
from stream_metrics.monitor.view.types import Alert, Firing, Undelivered, View
from stream_metrics.monitor.view.view import WindowViews, operation_view, view
from stream_metrics.monitor.view.window_reading import Reading, read
from stream_metrics.report.headlines import MONITOR

__all__ = ["Monitor"]

LOG = logging.getLogger("stream_metrics.monitor")
CHUNK = 8192


class Monitor:
    """Joins and counts the records of its partitions; without a `store` nothing is kept.

    `clock` returns the current time, by which events from the future are rejected and which the page shows.
    `last_error` is why the last checkpoint failed, or None. ``StoreError`` if the export would replace another file.
    """

    def __init__(self, config: Config, store: StateStore | None = None, clock: Callable[[], float] = time.time) -> None:
        if config.store.export:
            check_target(config.store.export)
        self.config, self.store, self.clock = config, store, clock
        self._notes = Notes({} if store is None else store.notes())
        self._assignment = Assignment(config, store, self._notes)
        self._lock, self._partitions = self._assignment.lock, self._assignment.partitions
        letters = [] if store is None else store.letters(DEAD_LETTERS)[::-1]
        self._source = SourceStatus(config, letters)
        self._election = Election(self._assignment, self._notes)
        self._checkpoints = Checkpoints(
            config.store, store, self._assignment, self._election, self._notes, self._now
        )
        self.started = clock()
        lengths = {name: parse_duration(name, "windows") for name in config.counting.windows}
        self._lengths = {name: length / 1e9 for name, length in lengths.items()}
        self._reading_panes = threading.Lock()
        self._ranges = RangeAnswers(self._all_panes, config.fields.group)
        self._trends = Trends(self._all_panes, lengths, TOTAL)
        self._headline = config.counting.metrics or MONITOR
        self._decoder = Decoder(config.fields, config.counting, config.join.ahead)
        self._stale: list[StaleOwner] = []  # to be raised at the end of a step
        self._alerts: list[Alert] = []  # as the view shows them
        self._undelivered: list[Undelivered] = []
        self._firings: list[Firing] = []
        self._extra_metrics: tuple[str, ...] = ()  # that rules need, beside those that the view always has
        self._showing = threading.Lock()
        self._windows = WindowViews()
        self.reference = ReferenceKeeper(self._lengths, config.counting.reference)
        self.annotations = Annotations()
        self._notes.attach_common("reference", self.reference.to_data, self.reference.merge)
        self._notes.attach_common("annotations", self.annotations.to_data, self.annotations.merge)

    def _now(self) -> float:
        return self.clock()  # which may be replaced

    def report_lag(self, lag: Mapping[tuple[str, int], int] | None) -> None:
        """Set how many records behind the source is, by (topic, partition); None if that is unknown."""
        self._source.lag = lag

    def report_source(self, problem: str | None = None, ended: bool = False) -> None:
        """Set why the source cannot deliver records now, None if it can, and whether no more will come."""
        self._source.problem, self._source.ended = problem, ended

    def show_alerts(
        self, alerts: list[Alert], undelivered: list[Undelivered], firings: Sequence[Firing] = ()
    ) -> None:
        """Set the alerts that the view shows, those that did not arrive, and when alerts fired."""
        self._alerts, self._undelivered, self._firings = alerts, undelivered, list(firings)

    def annotate(self, text: str, at: float | None = None) -> None:
        """Add a text about the model, of now or of a time in seconds; ValueError if it is empty or too long."""
        with self._showing:
            self.annotations.add(text, self.clock() if at is None else at)

    def add_metrics(self, keys: Iterable[str]) -> None:
        """Add metrics to those that the view has."""
        self._extra_metrics = tuple(dict.fromkeys((*self._extra_metrics, *keys)))

    def on_checkpoint(self, notify: Callable[[dict[tuple[str, int], int]], object]) -> None:
        """Call `notify` after each checkpoint with the next offsets that were stored, by (topic, partition)."""
        self._checkpoints.notify(notify)

    def note_error(self, error: Exception, consequence: str) -> None:
        """Show why a checkpoint failed, and log it unless it is the same error as before."""
        self._checkpoints.note_error(error, consequence)

    @property
    def last_error(self) -> str | None:
        """Why the last checkpoint failed, None if it did not."""
        return self._checkpoints.last_error

    @property
    def checkpointed(self) -> float | None:
        """When the last checkpoint was made, by the clock; None if there was none, or there is no store."""
        return self._checkpoints.at

    @property
    def checkpoint_seconds(self) -> float:
        """How long the last checkpoint took."""
        return self._checkpoints.seconds

    @property
    def checkpoint_bytes(self) -> int:
        """How much the last checkpoint wrote."""
        return self._checkpoints.size

    @property
    def unassigned(self) -> bool:
        """Whether nothing can be counted, since no partition is assigned; other workers may have all, if there are."""
        return self._assignment.unassigned

    @property
    def partitions(self) -> list[int]:
        """The partitions assigned."""
        return self._assignment.numbers

    @property
    def panes(self) -> StateStore | TemporaryPanes:
        """The stored counts by time."""
        return self._assignment.panes

    @property
    def replicas(self) -> Replicas | None:
        """The workers that share the store, once it is shared."""
        return self._assignment.replicas

    def attach(
        self,
        name: str,
        keep: Callable[[], object],
        take: Callable[[Any], object] | None = None,
    ) -> Any:
        """Store what `keep` returns, plain data, with every checkpoint; return what is stored now, or None.

        Lists come back as tuples. Of workers that share a store, only the one that evaluates alerts stores it. Another
        one that is elected calls `take` with what is stored then, or None.
        """
        return self._notes.attach(name, keep, take)

    def stored_offsets(self) -> dict[tuple[str, int], int]:
        """Return the next offset of each (topic, partition) of which the store has counts, without claiming any."""
        return {} if self.store is None else stored_offsets(self.store)

    def stored_note(self, name: str) -> Any:
        """Return a note as it was stored, None if it was not."""
        return self._notes.value(name)

    def share(self) -> None:
        """Show from now on what the store has of other workers, or, if it is not shared, until partitions come."""
        self._assignment.share(self._report)

    def leads(self) -> bool:
        """Tell whether this worker evaluates alerts; one that was just elected first loads the state of alerts."""
        return self._election.leads()

    @property
    def may_tell(self) -> bool:
        """Whether this worker sends alerts: no other one does, or can have begun to."""
        return self._election.may_tell

    @property
    def alone(self) -> bool:
        """Whether no other worker is known that shares the store."""
        return self._election.alone

    def note(self, name: str) -> bytes | None:
        """Return a note as it was last read from the store, as bytes; None if there is none."""
        return self._election.note(name)

    def _report(self) -> Report:
        """Return what this worker reports to the others."""
        source = self._source
        lag = None if source.lag is None else [(*place, records) for place, records in source.lag.items()]
        age = self._checkpoints.age(self.clock())
        return Report(self.partitions, age, lag, source.problem, source.per_second(), source.rejected_share())

    def assign(self, partitions: Iterable[int]) -> dict[tuple[str, int], int]:
        """Take on partitions, and return the next offset of each (topic, partition) that was read before.

        Raises ``StoreError`` if what is stored is damaged or of a newer format.
        """
        return self._assignment.assign(partitions)

    def revoke(self, partitions: Iterable[int]) -> None:
        """Write a checkpoint of partitions and forget them."""
        numbers = set(partitions)
        try:
            self._checkpoints.save([self._partitions[n] for n in numbers if n in self._partitions])
        finally:
            self.lost(numbers)

    def lost(self, partitions: Iterable[int]) -> None:
        """Forget partitions without writing anything: another process owns them."""
        self._assignment.lost(partitions)

    def step(self, records: Sequence[Record]) -> None:
        """Decode, join and count records that were not read before; make a checkpoint if one is due.

        Raises ``StaleOwner`` at the end if a partition belongs to another process by now: one can go on. A partition in
        which anything is raised is forgotten.
        """
        parts = by_part(records)
        unknown = parts.keys() - self._partitions.keys()
        if unknown:
            raise ValueError(f"Expected records of the partitions {self.partitions}, but got some of {sorted(unknown)}")
        for number, its in parts.items():
            for start in range(0, len(its), CHUNK):
                if number in self._partitions:
                    self._take(self._partitions[number], its[start : start + CHUNK])
                self._if_due()
        self._if_due()
        if self._stale:
            raise self._stale.pop()

    def _take(self, partition: Partition, records: Sequence[Record]) -> None:
        unread = partition.unread(records)
        if not unread:
            return
        now = self.clock()
        events, bad = self._decoder.read(unread, now)
        before = partition.unreadable
        with self._lock:
            try:
                refused = partition.take(unread, events, bad, now)
                self._source.note_rejected(len(unread), refused)
            except BaseException as error:  # discard the partition: it is only partly updated
                del self._partitions[partition.number]
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

    def checkpoint(self) -> None:
        """Write what has changed, in one transaction; ``StaleOwner`` or ``StoreError`` if that cannot be done."""
        self._checkpoints.write()

    def export(self) -> None:
        """Write the states of the partitions of this worker to the file `export`, whole or not at all."""
        self._checkpoints.export()

    def rename_topic(self, partition: int, old: str, new: str) -> None:
        """Go on with a topic under another name, at the offset at which it is."""
        with self._lock:
            self._partitions[partition].rename_topic(old, new)

    def skip_to(self, topic: str, partition: int, offset: int) -> None:
        """Note that a partition has no records before an offset but those that were read."""
        with self._lock:
            self._partitions[partition].skip_to(topic, offset)

    def mark_incomplete(self, partition: int, what: str) -> None:
        """Note that the counts of a partition lack something, which the view shows from now on."""
        with self._lock:
            self._partitions[partition].mark_incomplete(what)

    def counts(self) -> Counts:
        """Return the counts of all partitions together, a copy; those of other workers as of their checkpoints."""
        with self._lock:
            copies = [partition.counts.copy() for partition in self._assignment.group(self._source).partitions]
        total = Counts(self.config.counting, self.config.join.due)
        for each in copies:
            total.merge(each)
        return total

    def answer_range(self, query: str) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON that answer the query of `/api/range`."""
        return self._ranges.json(query, self._headline, self.clock())

    @contextmanager
    def _all_panes(self) -> Iterator[Panes]:
        """Give the stored panes of all partitions to one thread at a time."""
        with self._reading_panes, self.panes.all_panes() as panes:
            yield panes

    def stats(self) -> JoinStats:
        """Return the outcomes of predictions and labels in all partitions together."""
        with self._lock:
            partitions = self._assignment.group(self._source).partitions
            return JoinStats.total(partition.joiner.stats() for partition in partitions)

    def view(self) -> View:
        """Return everything that is shown; states are copied under the lock, and read outside."""
        readings, operation, now, at = self._read_counts()
        with self._showing:
            self._election.merge_common()
            self.reference.look(readings, at)
            options, more = self.config.counting, self._extra_metrics
            shown = view(readings, options, operation, now=now, extra_metrics=more, windows=self._windows)
            self._headline = tuple(shown.headline)
            self._draw(shown, at)
            self._compare(shown, at)
        return shown

    def _draw(self, shown: View, at: float | None) -> None:
        """Set the trend lines, which end with the windows as they are."""
        newest: dict[str, Point] = {}
        if at is not None:
            with self._lock:
                unsaved = any(each.unsaved for each in self._partitions.values())
            quiet = shown.source.state in ("silent", "ended") and not unsaved
            counted = [self._checkpoints.saves, *((each.partition, each.next) for each in shown.partitions)]
            self._trends.look(at, shown.headline, quiet=quiet, counted=counted)
            lengths = {TOTAL: min(self._lengths, key=self._lengths.__getitem__, default=None)}
            for line, name in (lengths | {name: name for name in self._lengths}).items():
                if name is not None and self._trends.covers(line) in (None, self._lengths[name]):
                    part = shown.by_window[name]
                    newest[line] = Point(at, self._lengths[name], part.n, part.metrics, {})
        shown.history = self._trends.lines(shown.headline, newest)
        covers = {name: newest[name].covers if name in newest else self._trends.covers(name) for name in shown.windows}
        shown.history_covers = {name: length for name, length in covers.items() if length is not None}

    def rule_view(self, needs: Needs) -> View:
        """Return what rules need, which costs little; states are copied under the lock, and read outside."""
        readings, operation, now, _ = self._read_counts()
        return rule_view(readings, operation, needs, now)

    def _read_counts(self) -> tuple[dict[str, Reading], View, float, float | None]:
        """Return the windows, the view without them, the time of the clock, and that at which windows are read."""
        with self._lock:
            group = self._assignment.group(self._source)
            partitions, now = group.partitions, self.clock()
            at = self._source.reading_time(group, now)
            readings = read(
                [each.counts for each in partitions] or [Counts(self.config.counting, self.config.join.due)],
                at,
                None if self._source.ended else [each.arrivals.time(now) for each in partitions] or None,
            )
            operation = operation_view(partitions, group.lag)
            operation.changes = changes_view((each.number, each.changes) for each in partitions)
            operation.flows = self._assignment.flows.view(self._partitions.values() if self.store is None else ())
            operation.source = self._source.view(group, now, at, self.unassigned)
            operation.records.rejected_share = group.rejected_share(self._source.rejected_share())
            group.mark(operation)
        operation.started, operation.alerts = self.started, self._alerts
        operation.undelivered, operation.firings = self._undelivered, self._firings
        operation.annotations = self.annotations.rows
        operation.records.per_second = self._source.per_second() + group.others_per_second
        if operation.event_time is not None:
            operation.lag.seconds = max(now - operation.event_time, 0.0)
        operation.checkpoint = self._checkpoints.view(now)
        return readings, operation, now, at

    def _compare(self, shown: View, at: float | None) -> None:
        """Compare the headline of each window with the same window one length ago, and with the reference."""
        shown.reference = reference = self.reference.shown(shown.headline)
        for name, part in shown.by_window.items():
            earlier = []
            if at is not None and name in self._lengths:
                before = self._trends.before(name, at - self._lengths[name])
                if before is not None:
                    earlier.append(Earlier("before", before.at, before.metrics, before.intervals, before.covers))
            if reference is not None:
                earlier.append(Earlier("reference", reference.at, reference.metrics, reference.intervals))
            part.comparisons = compared(part, shown.headline, earlier)

    def take_reference(self, window: str) -> None:
        """Make this window, as it is now, the reference; ValueError if it has no samples."""
        readings, _, _, at = self._read_counts()
        with self._showing:
            self._election.merge_common()
            self.reference.take(window, readings, at)

    def close(self) -> None:
        """Write a last checkpoint, and the export if one is configured, and close the store.

        If the store is away for a while, the checkpoint is tried again.
        """
        if self.store is None:
            self.panes.close()
            return
        try:
            self._checkpoints.write_last(self.store)
        finally:
            if self.replicas is not None:
                self.replicas.close()
            self.store.close()
