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

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stream_metrics.monitor.alerts.engine import Needs
from stream_metrics.monitor.assignment import DEAD_LETTERS, Assignment, Notes, SourceStatus
from stream_metrics.monitor.checkpoints import Checkpoints, Steps
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.counting import PartCounts
from stream_metrics.monitor.events.records import Record
from stream_metrics.monitor.join.joining import JoinStats
from stream_metrics.monitor.replicas import Replicas, Report
from stream_metrics.monitor.store import TemporaryPanes
from stream_metrics.monitor.store.sharing import stored_offsets
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.view.types import Alert, Firing, Undelivered, View
from stream_metrics.monitor.view.view import Annotations, ReferenceKeeper
from stream_metrics.monitor.viewing import Viewing


class Monitor:
    """Joins and counts the records of its partitions; without a `store` nothing is kept.

    `clock` returns the current time, by which events from the future are rejected and which the page shows.
    `last_error` is why the last checkpoint failed, or None.
    """

    def __init__(self, config: Config, store: StateStore | None = None, clock: Callable[[], float] = time.time) -> None:
        self.config, self.store, self.clock = config, store, clock
        letters = [] if store is None else store.letters(DEAD_LETTERS)[::-1]
        self._notes = notes = Notes({} if store is None else store.notes())
        self._source = source = SourceStatus(config, letters, clock())
        self._assignment = assignment = Assignment(config, store, notes)
        self._lock, self._partitions = assignment.lock, assignment.partitions
        self._checkpoints = checkpoints = Checkpoints(config.store, store, assignment, notes, self._now)
        self._steps = Steps(config, assignment, source, checkpoints, self._now)
        self._viewing = Viewing(config, assignment, source, checkpoints, notes, self._now)
        self.started = checkpoints.started

    def _now(self) -> float:
        return self.clock()  # which may be replaced

    def report_lag(self, lag: Mapping[tuple[str, int], int] | None) -> None:
        """Set how many records behind the source is, by (topic, partition); None if that is unknown."""
        self._source.lag = lag

    def report_source(self, problem: str | None = None, ended: bool = False) -> None:
        """Set why the source cannot deliver records now, None if it can, and whether no more will come."""
        self._source.problem, self._source.ended = problem, ended

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

    def step(self, records: Sequence[Record]) -> None:
        """Decode, join and count records that were not read before; make a checkpoint if one is due.

        Raises ``StaleOwner`` at the end if a partition belongs to another process by now: one can go on. A partition in
        which anything is raised is forgotten.
        """
        self._steps.step(records)

    def on_checkpoint(self, notify: Callable[[dict[tuple[str, int], int]], object]) -> None:
        """Call `notify` after each checkpoint with the next offsets that were stored, by (topic, partition)."""
        self._checkpoints.notify(notify)

    def checkpoint(self) -> None:
        """Write what has changed, in one transaction; ``StaleOwner`` or ``StoreError`` if that cannot be done."""
        self._checkpoints.write()

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
    def checkpoint_bytes(self) -> int:
        """How much the last checkpoint wrote."""
        return self._checkpoints.size

    def attach(self, name: str, keep: Callable[[], object]) -> Any:
        """Store what `keep` returns, plain data, with every checkpoint; return what is stored now, or None.

        Lists come back as tuples. Of workers that share a store, only the one that leads stores it.
        """
        return self._notes.attach(name, keep)

    def stored_note(self, name: str) -> Any:
        """Return a note as it was stored, None if it was not."""
        return self._notes.value(name)

    def stored_offsets(self) -> dict[tuple[str, int], int]:
        """Return the next offset of each (topic, partition) of which the store has counts, without claiming any."""
        return {} if self.store is None else stored_offsets(self.store)

    @property
    def replicas(self) -> Replicas | None:
        """The workers that share the store, once it is shared."""
        return self._assignment.replicas

    def share(self) -> None:
        """Show from now on what the store has of other workers, or, if it is not shared, until partitions come."""
        self._assignment.share(self._report)

    def _report(self) -> Report:
        """Return what this worker reports to the others."""
        source = self._source
        lag = None if source.lag is None else [(*place, records) for place, records in source.lag.items()]
        age = self._checkpoints.age(self.clock())
        return Report(self.partitions, age, lag, source.problem, source.per_second(), source.rejected_share())

    def leads(self) -> bool:
        """Tell whether this worker sends alerts: the only one, or one of those that share the store."""
        return self._assignment.leads()

    def view(self, whole: bool = False) -> View:
        """Return everything that is shown; states are copied under the lock, and read outside.

        A view that is `whole` has all points of the trend lines, which are otherwise read in parts, one for each view.
        """
        return self._viewing.view(whole)

    def rule_view(self, needs: Needs) -> View:
        """Return what rules need, which costs little; states are copied under the lock, and read outside."""
        return self._viewing.rule_view(needs)

    def counts(self) -> PartCounts:
        """Return the counts of all partitions together, a copy; those of other workers as of their checkpoints.

        `snapshot()` of a window reads it at its time `seen`, which may be before the latest event and before the time
        of the view; give `snapshot` a time to read it at another.
        """
        return self._viewing.counts()

    def stats(self) -> JoinStats:
        """Return the outcomes of predictions and labels in all partitions together."""
        return self._viewing.stats()

    def answer_range(self, query: str) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON that answer the query of `/api/range`."""
        return self._viewing.answer_range(query)

    def add_metrics(self, keys: Iterable[str]) -> None:
        """Add metrics to those that the view has."""
        self._viewing.add_metrics(keys)

    def show_alerts(
        self, alerts: list[Alert], undelivered: list[Undelivered], failures: int, firings: Sequence[Firing]
    ) -> None:
        """Set the alerts that views show, those that were not delivered, how many so far, and when alerts fired."""
        self._viewing.show_alerts(alerts, undelivered, failures, firings)

    def annotate(self, text: str, at: float | None = None) -> None:
        """Add a text about the model, of now or of a time in seconds; ValueError if it is empty or too long."""
        self._viewing.annotate(text, at)

    @property
    def annotations(self) -> Annotations:
        """The texts about the model."""
        return self._viewing.annotations

    def take_reference(self, window: str) -> None:
        """Make this window, as it is now, the reference; ValueError if it has no samples."""
        self._viewing.take_reference(window)

    @property
    def reference(self) -> ReferenceKeeper:
        """What later windows are compared with."""
        return self._viewing.history.reference

    def close(self) -> None:
        """Write a last checkpoint, and close the store.

        If the store is away for a while, the checkpoint is tried again. A start that failed writes nothing.
        """
        if self.store is None:
            self.panes.close()
            return
        try:
            if self._assignment.began:
                self._checkpoints.write_last(self.store)
        finally:
            if self.replicas is not None:
                self.replicas.close()
            self.store.close()
