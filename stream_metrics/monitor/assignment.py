"""The partitions that are assigned to this process, and those of others that are shown beside them.

With them is what a view of the whole model needs: what the source reports, how fast records come and which were
rejected, what all workers of a group have, and plain data that is stored beside the counts, such as the state of
alerts.

Without partitions, a worker with a store of its own shows the counts as they were last. Kafka gives the partitions of a
process that was killed to the next one only after the session timeout, 45 s by default. Until then the page would show
zeros where the store has counts. They are only shown: the partitions are loaded again, and claimed, when they are
assigned.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.archive.writing import StoredPanes
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.class_limit import ClassPool
from stream_metrics.monitor.events.records import RecentRejects, Rejected, reading_time
from stream_metrics.monitor.partition import Partition
from stream_metrics.monitor.replicas import Other, Replicas, Report
from stream_metrics.monitor.store import TemporaryPanes
from stream_metrics.monitor.store.sharing import stored_rows
from stream_metrics.monitor.store.tables import CLASSES, StateStore, StoredClasses
from stream_metrics.monitor.view.types import DeadLetter, Flows, SourceState, View
from stream_metrics.monitor.view.view import FlowCounters
from stream_metrics.wire import decoded, encoded


class Unassigned:
    """The partitions that are shown while none is assigned."""

    def __init__(self) -> None:
        self._partitions: list[tuple[Partition, float]] = []  # with the time of the checkpoint, by time.monotonic

    def load(self, config: Config, store: StateStore, panes: StoredPanes) -> None:
        """Show what a store has; ``StoreError`` if that is damaged."""
        now = time.monotonic()
        for row, age in stored_rows(store):
            partition = Partition(row.part, config, panes=panes)
            partition.load_counts(row)
            self._partitions.append((partition, now - age))

    def keep(self, partitions: list[Partition]) -> None:
        """Show partitions that were just taken away."""
        self._partitions = [(partition, time.monotonic()) for partition in partitions]

    def clear(self) -> None:
        """Show none: partitions are assigned."""
        self._partitions = []

    def others(self) -> list[Other]:
        """Return them as partitions without an owner."""
        now = time.monotonic()
        return [Other(partition, "", now - at) for partition, at in self._partitions]


class Notes:
    """The notes of a monitor; `stored` has those that were written earlier, as bytes.

    Lists come back as tuples.
    """

    def __init__(self, stored: Mapping[str, bytes]) -> None:
        self._stored = dict(stored)
        self._keepers: dict[str, Callable[[], object]] = {}
        self._mergers: dict[str, Callable[[Any], object]] = {}  # of those that any worker may change

    def attach(self, name: str, keep: Callable[[], object]) -> Any:
        """Write what `keep` returns with every checkpoint; return what is stored now, or None."""
        self._keepers[name] = keep
        return self.value(name)

    def attach_common(self, name: str, keep: Callable[[], object], merge: Callable[[Any], object]) -> None:
        """Write what `keep` returns with every checkpoint of any worker, and merge what the others store.

        `merge` must give the same in any order, since workers write at the same time and read some time later.
        """
        merge(self.attach(name, keep))
        self._mergers[name] = merge
        self._stored.setdefault(name, encoded(keep()))  # an empty one is not written

    def value(self, name: str) -> Any:
        """Return what is stored under a name; None if nothing is."""
        stored = self._stored.get(name)
        return None if stored is None else decoded(stored)

    def changed(self, every: bool, more: Mapping[str, object]) -> dict[str, bytes]:
        """Return what a checkpoint has to write of `every` note, or of those that any worker may change, and `more`."""
        names = self._keepers if every else self._mergers
        values = {name: self._keepers[name]() for name in names} | dict(more)
        notes = {name: encoded(value) for name, value in values.items()}
        return {name: note for name, note in notes.items() if self._stored.get(name) != note}

    def written(self, notes: Mapping[str, bytes]) -> None:
        """Note that some were written."""
        self._stored |= notes

    def merge(self, stored: Callable[[str], bytes | None]) -> None:
        """Merge the notes that any worker may change; what `stored` returns may be older than this worker's."""
        for name, merge in self._mergers.items():
            note = stored(name)
            if note is not None and note != self._stored.get(name):
                self._stored[name] = note
                merge(decoded(note))


LETTERS = 100


class Group:
    """The partitions, lag, dead letters and problems of all workers of a group at one moment.

    Without `replicas` the group is this worker; `unassigned` are then shown while it has no partitions.
    """

    def __init__(
        self,
        replicas: Replicas | None,
        mine: Mapping[int, Partition],
        lag: Mapping[tuple[str, int], int] | None,
        letters: Sequence[Rejected],
        problem: str | None,
        unassigned: Unassigned,
    ) -> None:
        self._replicas, self._letters = replicas, letters
        if replicas is not None:
            self._others = replicas.others(mine)
        else:
            self._others = [] if mine else unassigned.others()
        reports = [] if replicas is None else replicas.reports()
        numbered = {**mine, **{other.partition.number: other.partition for other in self._others}}
        self.partitions = [partition for _, partition in sorted(numbered.items())]
        self.lag = _merged_lag(lag, mine, reports)
        self.problem = "; ".join(dict.fromkeys(filter(None, [problem, *(each.problem for each in reports)]))) or None
        self._rejected = [report.rejected_share for report in reports if report.rejected_share is not None]
        self.others_per_second = sum(report.per_second for report in reports)

    def rejected_share(self, mine: float | None) -> float | None:
        """Return the largest share of recent records that a worker rejected."""
        return max([*self._rejected, *([] if mine is None else [mine])], default=None)

    def mark(self, operation: View) -> None:
        """Add the owners of partitions, the other workers and the dead letters of all to a view."""
        others = {other.partition.number: other for other in self._others}
        for row in operation.partitions:
            if row.partition in others:
                row.owner, row.age = others[row.partition].owner, others[row.partition].age
        letters = {letter[:3]: letter for letter in reversed(self._letters)}
        if self._replicas is not None:
            operation.replicas = self._replicas.view()
            if self._replicas.problem is not None:
                operation.incomplete.append(f"what other workers count cannot be read: {self._replicas.problem}")
            letters |= {letter[:3]: letter for letter in self._replicas.letters() if letter[:3] not in letters}
        operation.dead_letters = [DeadLetter(*letter) for letter in islice(letters.values(), LETTERS)]


def _merged_lag(
    mine: Mapping[tuple[str, int], int] | None, partitions: Collection[int], reports: Sequence[Report]
) -> dict[tuple[str, int], int] | None:
    """Return how many records are to be read by (topic, partition); None if a worker that has partitions is unsure."""
    if mine is None and (partitions or not reports):
        return None
    lag = dict(mine or {})
    for report in reports:
        if report.lag is None and report.partitions:
            return None
        lag |= {(topic, part): records for topic, part, records in report.lag or ()}
    return lag


DEAD_LETTERS = 100
SECONDS = 10  # over which the rate of records is measured
UNASSIGNED = "no partition is assigned to this process now; it shows what was counted before"


class SourceStatus:
    """The state of a source; `letters` are the records that were rejected last, from the oldest on.

    Silence counts from the last event; before the first one, from when the process `started`, by the clock.

    `lag` is how many records the source is behind, by (topic, partition), None if that is unknown; `problem` is why it
    cannot deliver records now; `ended` whether no more will come. `letters` is read and changed under the lock of the
    monitor.
    """

    def __init__(self, config: Config, letters: Iterable[Rejected], started: float) -> None:
        self._started = started
        self.lag: Mapping[tuple[str, int], int] | None = None
        self.problem: str | None = None
        self.ended = False
        self.letters: deque[Rejected] = deque(letters, DEAD_LETTERS)
        lengths = [parse_duration(name, "windows") for name in config.counting.windows]
        self._idle = min([parse_duration(config.source.idle, "idle"), *lengths]) / 1e9
        self._recent = RecentRejects()
        self._read = 0
        self._rate: deque[tuple[float, int]] = deque([(time.monotonic(), 0)], SECONDS)

    def note_rejected(self, read: int, rejected: Sequence[Rejected]) -> None:
        """Note how many records were read, and which of them were rejected."""
        self.letters.extend(rejected)
        self._recent.note(time.monotonic(), read, len(rejected))

    def note_read(self, records: int) -> None:
        """Add to the number of records that were read."""
        self._read += records

    def measure(self, now: float) -> None:
        """Take the number of records once a second, for the rate; `now` is by time.monotonic."""
        if now - self._rate[-1][0] >= 1:
            self._rate.append((now, self._read))

    def per_second(self) -> float:
        """Return how many records were read in a second, of the last ten seconds."""
        then, read_then = self._rate[0]
        return (self._read - read_then) / max(time.monotonic() - then, 1e-9)

    def rejected_share(self) -> float | None:
        """Return the share of recent records that were rejected; None before there is a record."""
        return self._recent.share(time.monotonic())

    def reading_time(self, group: Group, now: float) -> float | None:
        """Return the time at which windows are read; None if there was no event."""
        lag = None if group.lag is None else sum(group.lag.values())
        return reading_time((each.arrivals for each in group.partitions), now, lag, self.ended)

    def view(self, group: Group, now: float, at: float | None, unassigned: bool) -> SourceState:
        """Return what the view shows; `at` is the time at which windows are read."""
        last = max((each.arrivals.last for each in group.partitions if each.arrivals.last is not None), default=None)
        self._started = min(self._started, now)  # the clock may be set back
        silence = max(now - (self._started if last is None else last), 0.0)
        if group.problem is not None:
            state = "away"
        elif self.ended:
            state = "ended"
        elif unassigned:
            return SourceState("unassigned", UNASSIGNED, silence, self._idle, at)
        elif silence >= self._idle:
            state = "silent"
        else:
            state = "waiting" if last is None else "live"
        return SourceState(state, group.problem, silence, self._idle, at)


FLOWS = "flows"  # the note that has the counters


class Assignment:
    """The partitions of a process by number, and what they share.

    `lock` is the lock of the monitor: who reads or changes a partition, or adds or removes one, has it. Only the thread
    that counts adds and removes partitions, so it may list them without. `replicas` are the other workers, once the
    store is shared with any. `panes` stores counts by time, `flows` has the counters that never fall.
    """

    def __init__(self, config: Config, store: StateStore | None, notes: Notes) -> None:
        self.lock = threading.Lock()
        self.partitions: dict[int, Partition] = {}
        self.replicas: Replicas | None = None
        self.panes: StateStore | TemporaryPanes = TemporaryPanes() if store is None else store
        self.classes = _class_pool(config, store, notes)
        self._keeps_flows = store is not None and not store.shared
        self.flows = FlowCounters(notes.value(FLOWS) if self._keeps_flows else None)
        self._config, self._store = config, store
        self._unassigned = Unassigned()
        self.began = False  # whether partitions were assigned, or are shared

    @property
    def numbers(self) -> list[int]:
        """The partitions assigned."""
        return sorted(self.partitions)

    @property
    def unassigned(self) -> bool:
        """Whether nothing can be counted, since no partition is assigned; other workers may have all, if there are."""
        return self.replicas is None and not self.partitions

    def assign(self, partitions: Iterable[int]) -> dict[tuple[str, int], int]:
        """Load partitions, and return the next offset of each (topic, partition) that was read before."""
        wanted = sorted(set(partitions))
        for number in wanted:
            if number not in self.partitions:
                if isinstance(self.panes, TemporaryPanes):
                    self.panes.forget(number)
                partition = Partition(number, self._config, self._store, self.classes, self.panes)
                if self._store is not None:
                    partition.load(self._store.claim(number))
                self.flows.assign(partition)
                with self.lock:
                    self.partitions[number] = partition
                    self._unassigned.clear()
        self.began = True
        return {(topic, n): offset for n in wanted for topic, offset in self.partitions[n].next.items()}

    def lost(self, partitions: Iterable[int]) -> None:
        """Forget partitions without writing anything; they are shown as they are until another worker has them."""
        with self.lock:
            gone = [self.partitions.pop(number) for number in set(partitions) & self.partitions.keys()]
            if self.replicas is not None:
                for partition in gone:
                    self.replicas.keep(partition)
            elif gone and not self.partitions:
                self._unassigned.keep(gone)
        if self.replicas is not None and any(partition.unsaved for partition in gone):
            self.replicas.reread()  # what was not stored is counted by another worker, and must not be shown twice

    def share(self, report: Callable[[], Report]) -> None:
        """Show what the store has of other workers, or, if it is not shared, until partitions come."""
        self.began = True
        if self._store is None or self.replicas is not None:
            return
        if not self._store.shared:
            if not self.partitions:
                self._unassigned.load(self._config, self._store, self.panes)
            return
        replicas = Replicas(self._config, self._store, report, lambda: list(self.partitions))
        replicas.start()
        self.replicas = replicas

    def leads(self) -> bool:
        """Tell whether this worker sends alerts: the only one, or one of those that share the store."""
        return self.replicas is None or self.replicas.leads()

    def unsaved(self) -> bool:
        """Tell whether a checkpoint would write any of the partitions."""
        with self.lock:
            return any(partition.unsaved for partition in self.partitions.values())

    def flow_notes(self, partitions: Iterable[Partition]) -> dict[str, object]:
        """Return the note that a checkpoint of these partitions writes of the counters, if this process keeps one."""
        return {FLOWS: self.flows.content(partitions)} if self._keeps_flows else {}

    def flows_view(self) -> Flows:
        """Return the counters as of the last checkpoint, without a store as they are; only under the lock."""
        return self.flows.view(self.partitions.values() if self._store is None else ())

    def group(self, source: SourceStatus) -> Group:
        """Return what all workers have; only under the lock."""
        reported = source.lag, source.letters, source.problem
        return Group(self.replicas, self.partitions, *reported, self._unassigned)


def _class_pool(config: Config, store: StateStore | None, notes: Notes) -> ClassPool:
    if store is None:
        return ClassPool(config.counting)
    registry = StoredClasses(store, config.counting)
    pool = ClassPool(config.counting, registry if store.shared else None, registry.read())
    if not store.shared:
        notes.attach(CLASSES, lambda: pool.admitted)
    return pool
