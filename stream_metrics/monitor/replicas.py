"""What the other workers of a group have counted, and which worker sends alerts.

Workers that share a store have some partitions each. A thread of each reads twice a second what the others have stored,
so that any of them can show the whole model: its own partitions as they are, those of others as of their last
checkpoints. It also reports this worker. All evaluate the rules. Of those that have reported lately, the one with the
lowest partition leads: it sends alerts and writes the notes of the store, such as the state of alerts.

While partitions move, two workers may lead for a moment, and while the store cannot be reached, all do: an alert that
is sent twice is better than one that is not sent.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from stream_metrics.monitor.config import Config
from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.partition import Partition
from stream_metrics.monitor.store import StoreError
from stream_metrics.monitor.store.sharing import Fetched, Reported, SharedStore
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.view.types import ReplicaRow

LOG = logging.getLogger("stream_metrics.monitor")
EVERY = 0.5  # seconds between two readings
PATIENCE = 5.0  # seconds to wait for one
SILENT = 10.0  # seconds without a report, after which a worker is shown as silent, and does not lead


@dataclass
class Report:
    """The report of a worker; `age` is that of its last checkpoint in seconds, `lag` has (topic, part, records).

    `lag` is None if it is unknown.
    """

    partitions: list[int]
    age: float | None
    lag: list[tuple[str, int, int]] | None
    problem: str | None
    per_second: float
    rejected_share: float | None = None

    def content(self) -> list[object]:
        """Return it as plain data."""
        lag = None if self.lag is None else [list(each) for each in self.lag]
        return [self.partitions, self.age, lag, self.problem, self.per_second, self.rejected_share]

    @classmethod
    def of(cls, content: Any) -> Report:
        """Return what `content` returned."""
        partitions, age, lag, *others = content[:6]
        return cls(list(partitions), age, None if lag is None else [tuple(each) for each in lag], *others)


@dataclass
class Other:
    """A partition of another worker, as of a checkpoint `age` seconds ago; "" is the owner if it has none."""

    partition: Partition
    owner: str
    age: float


@dataclass
class _Reading:
    """What was read at one moment."""

    at: float  # by time.monotonic
    workers: list[Reported] = field(default_factory=list)
    fetched: dict[int, Fetched] = field(default_factory=dict)
    notes: dict[str, bytes] = field(default_factory=dict)
    letters: list[Rejected] = field(default_factory=list)


class Replicas:
    """The workers that share a store; `report` returns that of this one, `mine` the partitions that it has."""

    def __init__(
        self, config: Config, store: StateStore, report: Callable[[], Report], mine: Callable[[], Collection[int]]
    ) -> None:
        self.worker = store.worker
        self._config, self._report, self._mine = config, report, mine
        self._shared = SharedStore(store)
        self._lock = threading.Lock()
        self._reading = _Reading(-math.inf)
        self._partitions: dict[int, Partition] = {}
        self._problem: str | None = None
        self._ended = threading.Event()
        self._wanted = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replicas", daemon=True)

    def start(self) -> None:
        """Read once, so that the first view is whole, and go on in a thread."""
        self._read()
        self._thread.start()

    def close(self) -> None:
        """End the thread, and leave alerts to another worker."""
        self._ended.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()
        try:
            self._shared.leave()
        except StoreError as error:
            LOG.warning("other workers wait %.0f s before they send alerts: %s", SILENT, error)
        finally:
            self._shared.close()

    def refresh(self) -> None:
        """Have the store read soon."""
        self._wanted.set()

    def reread(self) -> None:
        """Wait until the store was read again, or cannot be read."""
        since = time.monotonic()
        self.refresh()
        while self._reading.at <= since and time.monotonic() < since + PATIENCE and not self._problem:
            if self._ended.wait(0.01) or not self._thread.is_alive():
                return

    def keep(self, partition: Partition) -> None:
        """Show a revoked partition as it is until it is read from the store."""
        with self._lock:
            self._partitions[partition.number] = partition
            now = time.monotonic() - self._reading.at
            self._reading.fetched[partition.number] = Fetched("", -now, (0, 0), None)
        self.refresh()

    @property
    def synced(self) -> bool:
        """Whether all partitions of others are known."""
        return self._reading.at > -math.inf

    @property
    def problem(self) -> str | None:
        """Why the store could not be read the last time, None if it could."""
        return self._problem

    @property
    def leader(self) -> str:
        """The name of the worker that sends alerts: with the lowest partition, or without one, by name."""
        others = ((each.worker, Report.of(each.report).partitions) for each in self._others() if each.age < SILENT)
        workers = [(self.worker, list(self._mine())), *others]
        return min((not numbers, min(numbers, default=0), worker) for worker, numbers in workers)[2]

    def leads(self) -> bool:
        """Tell whether this worker sends alerts."""
        return self.leader == self.worker

    def note(self, name: str) -> bytes | None:
        """Return a note as it was last read from the store; None if there is none."""
        return self._reading.notes.get(name)

    def letters(self) -> list[Rejected]:
        """Return the last records that any worker rejected, as they were read last, the newest first."""
        return self._reading.letters

    def others(self, mine: Collection[int]) -> list[Other]:
        """Return the partitions of others."""
        with self._lock:
            reading, now = self._reading, time.monotonic()
            reports = {each.worker: each for each in reading.workers}
            return [
                Other(self._partitions[number], each.owner, _age(each, reports.get(each.owner)) + now - reading.at)
                for number, each in sorted(reading.fetched.items())
                if number not in mine
            ]

    def reports(self) -> list[Report]:
        """Return what the other workers that are not silent last reported."""
        return [Report.of(each.report) for each in self._others() if each.age < SILENT]

    def _others(self) -> list[Reported]:
        with self._lock:
            reading, now = self._reading, time.monotonic()
            return [
                each._replace(age=each.age + now - reading.at)
                for each in reading.workers
                if each.worker != self.worker
            ]

    def view(self) -> list[ReplicaRow]:
        """Return the rows of a view, this worker's first."""
        leader = self.leader
        rows = [_row(self.worker, 0.0, self._report(), this=True, alerts=leader == self.worker)]
        for each in self._others():
            rows.append(_row(each.worker, each.age, Report.of(each.report), this=False, alerts=each.worker == leader))
        return rows

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wanted.wait(EVERY)
            self._wanted.clear()
            if not self._ended.is_set():
                self._read()

    def _read(self) -> None:
        try:
            now = time.monotonic()
            self._shared.report(self._report().content())
            mine = set(self._mine())
            workers, fetched = self._shared.fetch(mine)
            partitions = {number: self._loaded(number, each) for number, each in fetched.items()}
            reading = _Reading(now, workers, fetched, self._shared.notes(), self._shared.letters())
            with self._lock:
                for number in mine - set(self._mine()) - fetched.keys():  # given back meanwhile: see `keep`
                    if number in self._reading.fetched:
                        fetched[number], partitions[number] = self._reading.fetched[number], self._partitions[number]
                self._reading, self._partitions = reading, partitions
            self._problem = None
        except Exception as error:  # the thread must go on after any error, and the view shows it
            if self._problem is None:
                LOG.warning("what other workers count cannot be read: %s", error)
            self._problem = str(error)

    def _loaded(self, number: int, each: Fetched) -> Partition:
        if each.row is None:
            return self._partitions[number]
        partition = Partition(number, self._config)
        partition.load_counts(each.row)
        return partition


def _age(fetched: Fetched, owner: Reported | None) -> float:
    """Return how old the counts of a partition were when they were read: its owner may have had nothing to write."""
    if owner is None:
        return fetched.age
    age = Report.of(owner.report).age
    return fetched.age if age is None else min(fetched.age, owner.age + age)


def _row(worker: str, age: float, report: Report, this: bool, alerts: bool) -> ReplicaRow:
    lag = None if report.lag is None else sum(records for _, _, records in report.lag)
    state = "live" if age < SILENT else "silent"
    return ReplicaRow(worker, state, this, alerts, age, report.partitions, lag, report.problem)
