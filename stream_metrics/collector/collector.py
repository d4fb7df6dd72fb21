"""The collector: reports of workers are merged in memory and stored, and acknowledged when both are done.

    with Collector(Store("agg.sqlite"), Options()) as collector:
        epoch = collector.register("worker-1")
        collector.report(Report("worker-1", epoch, 1, state.to_bytes()))
        print(collector.total().snapshot())

Fixed labels that a new version of the workers adds widen the states that lack them, before they merge.

One thread writes. What has arrived while it wrote the last batch is the next one: one transaction and one sync for all
of its reports, however many workers report at once.

A worker is live, then silent if nothing came for a while, then retired. Its state stays in memory and in the file, so
that it may report again. After `forget` its counts become part of the base, and what comes of it later is fenced. A
worker that registered has as long to report for the first time. Workers that go on from checkpoints, which contain what
they have counted, are never retired, since their next life must replace the state that there is.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Self, TypeAlias

from stream_metrics.collector.store import Base, CollectorStore, Life, Standing
from stream_metrics.containers.aggregate import Aggregate
from stream_metrics.containers.keyed import walk_inner
from stream_metrics.containers.workers import PutResult
from stream_metrics.errors import LabelError, MergeError, StreamMetricsError
from stream_metrics.labels import Label
from stream_metrics.monitor.store.rows import StoreError
from stream_metrics.monitor.view.types import Checkpoint, DeadLetter
from stream_metrics.wire import from_bytes

Labels = tuple[Label, ...]


def fixed_labels(state: Any) -> Labels | None:
    """Return the labels that a state is fixed to; None if it is not."""
    *_, inside = walk_inner(state)
    labels: Labels | None = getattr(getattr(inside, "state", inside), "fixed_labels", None)
    return labels


def widest(states: Iterable[Any]) -> Labels | None:
    """Return the most labels that a state is fixed to; None if none is."""
    return max(filter(None, map(fixed_labels, states)), key=len, default=None)


def widened(state: Any, labels: Labels | None) -> Any:
    """Return a state with these fixed labels if they contain its own and more, and the state itself otherwise.

    MergeError if its counts do not tell, as those of `other` do not, or its options do not.
    """
    own = fixed_labels(state)
    if own is None or labels is None or not set(own) < set(labels):
        return state
    try:
        return state.reconfigured(labels=labels)
    except ValueError as error:  # also of a formula, whose options have something for each label
        raise MergeError(f"Expected a state that can have the labels of the others, but: {error}") from None


LOG = logging.getLogger("stream_metrics.collector")
LARGEST_BATCH = 512
PATIENCE = 30.0  # seconds that a report waits to be written
TICK = 1.0  # seconds between two looks at who is silent
MOST_CHANGED = 500  # workers that are retired or forgotten in one transaction
MOST_LETTERS = 50
DAY = 86_400.0
LARGEST_GAP = 1 << 56  # between the epoch of a report and the newest: 16 million that a lost file gave out


class CollectorUnavailable(Exception):
    """The report could not be stored; it can be sent again."""


class Options(NamedTuple):
    """When a worker is taken to be silent, is retired, and is forgotten; lengths of time in seconds.

    A worker that has finished is forgotten after `finished`. Until then its last report may come a second time, because
    the answer to the first was lost.
    """

    silent: float = 180.0
    retire: float = DAY
    forget: float = 7 * DAY
    finished: float = 180.0


class WorkerReport(NamedTuple):
    """The state of a worker, with its numbers.

    `fold` says that it does not contain what earlier lives of the worker counted, `last` that no other will follow.
    """

    worker: str
    epoch: int
    sequence: int
    state: bytes
    fold: bool = True
    last: bool = False


class Registration(NamedTuple):
    """The epoch of a worker that starts."""

    worker: str
    epoch: int


_Waiting: TypeAlias = "tuple[WorkerReport | Registration, Future[PutResult | int]]"  # what is written, its result


class Collector:
    """Merges and stores the reports of workers; threads may share it."""

    def __init__(self, store: CollectorStore, options: Options) -> None:
        self.options, self._store = options, store
        self.started = time.time()
        self.outcomes: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.letters: deque[DeadLetter] = deque(maxlen=MOST_LETTERS)  # of reports that were refused, the newest first
        self.saved = Checkpoint()
        self.changes = 0  # grows with each batch
        self._saved_at = time.monotonic()
        self._lives: dict[str, Life] = {}
        self._heard: dict[str, float] = {}  # when each worker was heard of, or the file was read
        self._lock = threading.Lock()  # of these two
        self._aggregate, self._base = Aggregate(), Base()
        self._labels: Labels | None = None  # the most that states are fixed to
        self._stale = False  # whether memory is ahead of the file
        self._load()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._looked = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="collector", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what has arrived, and close the file."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
            self._store.close()

    @property
    def alive(self) -> bool:
        """Whether reports can be written."""
        return self._thread.is_alive() and self.saved.error is None

    def register(self, worker: str) -> int:
        """Return the epoch of a worker that starts, when it is stored; what it replaces stays until it reports.

        Raises ``CollectorUnavailable`` if it was not stored.
        """
        return int(self._written(Registration(worker, self._aggregate.register(worker))))

    def report(self, report: WorkerReport) -> PutResult:
        """Take a report, and return what became of it when that is stored.

        Raises ``MergeError`` or ``DecodeError`` for a state that cannot be used, ``LabelError`` for an epoch that no
        collector can have given out, ``CollectorUnavailable`` if it was not stored.
        """
        result = self._written(report)
        assert isinstance(result, PutResult)
        return result

    def _written(self, item: WorkerReport | Registration) -> PutResult | int:
        """Have something written, and return what became of it."""
        if not self._thread.is_alive():
            raise CollectorUnavailable("The collector was closed")
        waiting: _Waiting = item, Future()
        self._queue.put(waiting)
        try:
            return waiting[1].result(PATIENCE)
        except TimeoutError:
            raise CollectorUnavailable("The report waits to be written") from None

    def aggregate(self) -> Aggregate:
        """Return what is collected; callers must not change it."""
        return self._aggregate

    def total(self) -> Any:
        """Return a state with the counts of all workers; MergeError if none has reported."""
        return self._aggregate.total()

    def lives(self) -> dict[str, tuple[Life, float]]:
        """Return what is known of each worker, and for how many seconds it has been silent while this process ran."""
        now = time.monotonic()
        with self._lock:
            return {name: (life, now - self._heard[name]) for name, life in self._lives.items()}

    @property
    def lives_in_base(self) -> int:
        """How many lives of workers were forgotten or replaced and stay counted."""
        return self._base.lives

    def checkpoint(self) -> Checkpoint:
        """Return how the last batch was stored."""
        saved = self.saved
        return Checkpoint(time.monotonic() - self._saved_at, saved.duration, saved.bytes, saved.error)

    # What follows runs in the thread that writes.

    def _run(self) -> None:
        while True:
            batch, closing = self._batch()
            if batch:
                self._write(batch)
            if time.monotonic() - self._looked >= TICK:
                self._looked = time.monotonic()
                self._tend()
            if closing:
                return

    def _batch(self) -> tuple[list[_Waiting], bool]:
        """Wait for a report, and return all that have arrived, and whether the end was asked for."""
        batch: list[_Waiting] = []
        try:
            item = self._queue.get(timeout=TICK)
            while item is not None:
                batch.append(item)
                if len(batch) == LARGEST_BATCH:
                    return batch, False
                item = self._queue.get_nowait()
        except queue.Empty:
            return batch, False
        return batch, True

    def _write(self, batch: Sequence[_Waiting]) -> None:
        """Apply reports in one transaction, and let those that wait for them go on."""
        began, results = time.monotonic(), []
        try:
            self._mend()
            with self._store.transaction():
                results = [self._taken(item) for item, _ in batch]
        except Exception as error:
            self._failed(error)
            results = [CollectorUnavailable(f"The report was not stored: {error}")] * len(batch)
        else:
            size = sum(len(item.state) for item, _ in batch if isinstance(item, WorkerReport))
            self.saved, self._saved_at = Checkpoint(None, time.monotonic() - began, size), time.monotonic()
            self.outcomes.update(str(result) for result in results if isinstance(result, PutResult))
            self._note_refused(batch, results)
        self.changes += 1
        for (_, future), result in zip(batch, results, strict=True):
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _note_refused(self, batch: Sequence[_Waiting], results: Sequence[PutResult | int | Exception]) -> None:
        for (item, _), error in zip(batch, results, strict=True):
            if isinstance(error, Exception) and isinstance(item, WorkerReport):
                reason = type(error).__name__.removesuffix("Error").lower()
                self.refused[reason] += 1
                self.letters.appendleft(DeadLetter(item.worker, 0, item.sequence, reason, str(error)))

    def _failed(self, error: Exception) -> None:
        """Remember that memory is not what the file has, and log the error once."""
        self._stale = True
        if self.saved.error != str(error):
            LOG.error("reports are not stored: %s", error, exc_info=not isinstance(error, StoreError))
        self.saved = Checkpoint(error=str(error))

    def _mend(self) -> None:
        """Read the file again if memory is ahead of it, unless nothing can be written yet."""
        if self._stale:
            with self._store.transaction():
                self._store.write_base(self._store.base())
            self._load()
            self._stale = False

    def _taken(self, report: WorkerReport | Registration) -> PutResult | int | Exception:
        """Return what becomes of a report, or why it cannot be used; what changes is written."""
        if isinstance(report, Registration):
            self._store.register(*report, time.time())
            self._aggregate._restore_registered(*report)
            return report.epoch
        labels, result = self._labels, PutResult.FENCED
        try:
            result = self._put(report)
        except StreamMetricsError as error:
            if isinstance(error, StoreError):
                raise
            return error
        finally:
            if not result and self._labels != labels:  # what is refused widens nothing
                self._load(labels)
        return result

    def _put(self, report: WorkerReport) -> PutResult:
        name, epoch = report.worker, report.epoch
        if epoch > self._aggregate._newest + LARGEST_GAP:  # later epochs must be larger, and below 2**63
            raise LabelError(argument="epoch", expected="to be one that was given out", got=epoch)
        state, life = self._fitted(from_bytes(report.state)), self._lives.get(name)
        result = self._aggregate.put(name, state, report.sequence, epoch, fold=report.fold)
        if not result:
            return result
        if self._labels is None:
            self._labels = fixed_labels(state)
        if life is not None and epoch > life.epoch and report.fold:
            self._write_base(1)
        standing: Standing = "finished" if report.last and report.fold else "live"
        life = Life(epoch, report.sequence, standing, report.fold, time.time())
        self._store.write(name, life, report.state)
        with self._lock:
            self._lives[name], self._heard[name] = life, time.monotonic()
        return result

    def _fitted(self, state: Any) -> Any:
        """Return a state as it merges with the others; if it is fixed to more labels, all others are widened."""
        labels = fixed_labels(state)
        if labels is not None and self._labels is not None and set(labels) > set(self._labels):
            try:
                self._load(labels)
            except StreamMetricsError:  # what was counted does not tell
                self._load()
        return widened(state, self._labels)

    def _write_base(self, lives: int) -> None:
        """Write the base, of which so many more lives are a part."""
        self._base = Base(self._aggregate._base_bytes(), self._base.lives + lives, self._aggregate._base.floor)
        self._store.write_base(self._base)

    def _tend(self) -> None:
        """Retire the workers that have been silent for long, and forget those that will not come back."""
        try:
            self._mend()
            silent, over = self._to_change()
            if silent or over:
                with self._store.transaction():
                    for name in silent:
                        self._store.stand(name, "retired")
                        with self._lock:
                            self._lives[name] = self._lives[name]._replace(standing="retired")
                    if over:
                        self._forget(over)
                self.changes += 1
        except Exception as error:
            self._failed(error)
        else:
            if self.saved.error is not None:
                self.saved = Checkpoint()

    def _to_change(self) -> tuple[list[str], list[str]]:
        """Return the names of workers to be retired, and to be forgotten."""
        now, uptime, options = time.time(), time.monotonic(), self.options
        silent, over = [], []
        for name, life in self._lives.items():
            silence = uptime - self._heard[name]
            if life.standing == "live" and life.fold and silence >= options.retire:
                silent.append(name)
            elif (life.standing == "retired" and now - life.seen >= options.forget) or (
                life.standing == "finished" and silence >= options.finished  # while this process could take a report
            ):
                over.append(name)
        return silent[:MOST_CHANGED], over[:MOST_CHANGED]

    def _forget(self, names: Sequence[str]) -> None:
        """Let the counts of workers be part of the base for good."""
        self._aggregate._forget_counted(names)
        self._write_base(len(names))
        for name in names:
            self._store.forget(name)
            with self._lock:
                del self._lives[name], self._heard[name]
        self._store.forget_registered(time.time() - self.options.forget)

    def _load(self, labels: Labels | None = None) -> None:
        """Take over what the file has, widened to `labels` if they are given."""
        base, lives, aggregate = self._store.base(), self._store.lives(), Aggregate()
        if labels is None:
            stored = (self._store.state(name) for name in lives)
            labels = widest(from_bytes(data) for data in itertools.chain(stored, [base.state]) if data is not None)
        for name, life in lives.items():
            aggregate.put(name, widened(from_bytes(self._store.state(name)), labels), life.sequence, life.epoch)
        total = None if base.state is None else widened(from_bytes(base.state), labels)
        aggregate._restore_base(total, base.floor)
        for name, epoch in self._store.registered().items():
            aggregate._restore_registered(name, epoch)
        now = time.monotonic()
        with self._lock:
            self._lives, self._heard = lives, {name: self._heard.get(name, now) for name in lives}
        self._labels, self._base, self._aggregate = labels, base, aggregate
