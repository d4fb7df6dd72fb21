"""The partitions that are assigned to this process, and those of others that are shown beside them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.class_pool import ClassPool
from stream_metrics.monitor.group import Group
from stream_metrics.monitor.notes import Notes
from stream_metrics.monitor.partition import Partition
from stream_metrics.monitor.replicas import Replicas, Report
from stream_metrics.monitor.source_status import SourceStatus
from stream_metrics.monitor.store import TemporaryPanes
from stream_metrics.monitor.store.classes import CLASSES, StoredClasses
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.unassigned import Unassigned
from stream_metrics.monitor.view.flows import FlowCounters
from stream_metrics.monitor.view.types import Flows

__all__ = ["Assignment"]

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
