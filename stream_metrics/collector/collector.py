"""The collector: reports of workers are merged in memory and stored, and acknowledged when both are done.

    with Collector(Store("agg.sqlite"), Options()) as collector:
        epoch = collector.register("worker-1")
        collector.report(Report("worker-1", epoch, 1, state.to_bytes()))
        print(collector.total().snapshot())

One thread writes. What has arrived while it wrote the last batch is the next one: one transaction and one sync for all
of its reports, however many workers report at once.

A worker is live, then silent if nothing came for a while, then retired: its counts go into the base and it needs no
memory, but its state stays in the file. If it reports again after all, under the same epoch, it is live again, and the
base is made again without it: nothing is lost and nothing counted twice. After `forget` the state leaves the file, and
what comes of it later is fenced. A worker that registered has as long to report for the first time. Workers that go on
from checkpoints, which contain what they have counted, are never retired, since their next life must replace the state
that there is.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from stream_metrics.collector.store import Base, CollectorStore, Life, Standing, StoreError
from stream_metrics.collector.widening import Labels, fixed_labels, widened, widest
from stream_metrics.containers.aggregate import Aggregate, PutResult, merge
from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.labels import Label
from stream_metrics.monitor.view.types import Checkpoint, DeadLetter
from stream_metrics.wire import from_bytes

__all__ = ["Collector", "CollectorUnavailable", "Options", "WorkerReport"]

LOG = logging.getLogger("stream_metrics.collector")
LARGEST_BATCH = 512
PATIENCE = 30.0  # seconds that a report waits to be written
TICK = 1.0  # seconds between two looks at who is silent
MOST_CHANGED = 500  # workers that are retired or forgotten in one transaction
MOST_LETTERS = 50
DAY = 86_400.0
LARGEST_GAP = 1 << 56  # between the epoch of a report and the newest: 16 million that a lost file gave out
NOBODY: Mapping[str, bytes] = {}


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


@dataclass
class _Waiting:
    """What is to be written, and then what became of it."""

    item: WorkerReport | Registration
    done: threading.Event = field(default_factory=threading.Event)
    result: PutResult | int | Exception | None = None


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
        self._sum: Any = None  # the state of the base
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
        epoch = self._aggregate.register(worker)
        self._written(Registration(worker, epoch))
        return epoch

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
        waiting = _Waiting(item)
        if not self._thread.is_alive():
            raise CollectorUnavailable("The collector was closed")
        self._queue.put(waiting)
        if not waiting.done.wait(PATIENCE):
            raise CollectorUnavailable("The report waits to be written")
        if waiting.result is None or isinstance(waiting.result, Exception):
            raise waiting.result or CollectorUnavailable("The collector was closed")
        return waiting.result

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
        began = time.monotonic()
        results: list[PutResult | int | Exception] = []
        reports = [each.item for each in batch if isinstance(each.item, WorkerReport)]
        try:
            self._mend()
            with self._store.transaction():
                self._revive({each.worker for each in reports if self._comes_back(each)})
                results += [self._taken(each.item) for each in batch]
        except Exception as error:
            self._failed(error)
            results = [CollectorUnavailable(f"The report was not stored: {error}")] * len(batch)
        else:
            self.saved = Checkpoint(None, time.monotonic() - began, sum(len(each.state) for each in reports))
            self._saved_at = time.monotonic()
            self.outcomes.update(str(result) for result in results if isinstance(result, PutResult))
            self._note_refused(batch, results)
        self.changes += 1
        for waiting, result in zip(batch, results, strict=True):
            waiting.result = result
            waiting.done.set()

    def _note_refused(self, batch: Sequence[_Waiting], results: Sequence[PutResult | int | Exception]) -> None:
        for waiting, error in zip(batch, results, strict=True):
            if isinstance(error, Exception) and isinstance(waiting.item, WorkerReport):
                reason = type(error).__name__.removesuffix("Error").lower()
                self.refused[reason] += 1
                letter = DeadLetter(waiting.item.worker, 0, waiting.item.sequence, reason, str(error))
                self.letters.appendleft(letter)

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
        if result and report.last and report.fold:
            self._retire([report.worker], "finished")
        return result

    def _comes_back(self, report: WorkerReport) -> bool:
        """Tell whether a report is news of a life that was taken to be over."""
        life = self._lives.get(report.worker)
        return (
            life is not None
            and life.standing != "live"
            and report.epoch == life.epoch
            and report.sequence > life.sequence
        )

    def _put(self, report: WorkerReport) -> PutResult:
        name, epoch = report.worker, report.epoch
        if epoch > self._aggregate._newest + LARGEST_GAP:  # later epochs must be larger, and below 2**63
            raise LabelError(argument="epoch", expected="to be one that was given out", got=epoch)
        state = self._fitted(from_bytes(report.state))
        if self._comes_back(report):
            self._revive({name})
        life = self._lives.get(name)
        result = self._aggregate.put(name, state, report.sequence, epoch, fold=report.fold)
        if not result:
            return result
        if self._labels is None:
            self._labels = fixed_labels(state)
        replaced = life is not None and epoch > life.epoch
        if replaced and report.fold:
            self._add_to_base([name])
        self._set(name, Life(epoch, report.sequence, "live", report.fold, time.time()), report.state)
        if replaced and not report.fold and life is not None and life.standing != "live":
            self._rebase()  # the new state contains what the base has of the old one
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

    def _decoded(self, data: bytes) -> Any:
        return widened(from_bytes(data), self._labels)

    def _set(self, name: str, life: Life, state: bytes) -> None:
        self._store.write(name, life, state)
        with self._lock:
            self._lives[name], self._heard[name] = life, time.monotonic()

    def _revive(self, names: Iterable[str]) -> None:
        """Make workers live that were retired, with the states that they had."""
        states = {name: self._store.state(name) for name in names}
        for name, state in states.items():
            LOG.info("worker %r was %s, and reports again", name, self._lives[name].standing)
            self._set(name, self._lives[name]._replace(standing="live"), state)
        if states:
            self._rebase(states)

    def _rebase(self, back: Mapping[str, bytes] = NOBODY) -> None:
        """Make the base in memory again, without the workers that are live again."""
        over = [name for name, life in self._lives.items() if life.standing != "live"]
        parts = [
            *([] if self._sum is None else [self._sum]),
            *(self._decoded(self._store.state(name)) for name in over),
        ]
        states: dict[Label, Any] = {name: self._decoded(state) for name, state in back.items()}
        self._aggregate._restore_base(merge(parts) if parts else None, self._base.floor, states)

    def _add_to_base(self, names: Sequence[str]) -> None:
        """Add the stored states of workers to the stored base."""
        states = [self._decoded(self._store.state(name)) for name in names]
        self._sum = merge([*([] if self._sum is None else [self._sum]), *states])
        self._base = self._base._replace(state=self._sum.to_bytes(), lives=self._base.lives + len(names))
        self._store.write_base(self._base)

    def _retire(self, names: Iterable[str], standing: Standing) -> None:
        for name in names:
            self._aggregate.retire(name)
            self._store.stand(name, standing)
            with self._lock:
                self._lives[name] = self._lives[name]._replace(standing=standing)

    def _tend(self) -> None:
        """Retire the workers that have been silent for long, and forget those that will not come back."""
        try:
            self._mend()
            silent, over = self._to_change()
            if silent or over:
                with self._store.transaction():
                    self._retire(silent, "retired")
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
        """Let the counts of workers be part of the stored base for good."""
        if names:
            self._add_to_base(names)
            epochs = [self._lives[name].epoch for name in names]
            floor = max(epochs if self._base.floor is None else [self._base.floor, *epochs])
            self._base = self._base._replace(floor=floor)
            self._store.write_base(self._base)
            self._aggregate._drop(names)
            for name in names:
                self._store.forget(name)
            self._store.forget_registered(time.time() - self.options.forget)
            with self._lock:
                for name in names:
                    del self._lives[name], self._heard[name]

    def _load(self, labels: Labels | None = None) -> None:
        """Take over what the file has, widened to `labels` if they are given."""
        base, lives, aggregate = self._store.base(), self._store.lives(), Aggregate()
        states = {name: from_bytes(self._store.state(name)) for name in lives}
        total = None if base.state is None else from_bytes(base.state)
        every = [*states.values(), *([] if total is None else [total])]
        labels = widest(every) if labels is None else labels
        for live in (False, True):
            for name, life in lives.items():
                if (life.standing == "live") is live:
                    aggregate.put(name, widened(states[name], labels), life.sequence, life.epoch)
            if not live:
                aggregate.expire(0.0)
        for name, epoch in self._store.registered().items():
            aggregate._restore_registered(name, epoch)
        total = None if total is None else widened(total, labels)
        now = time.monotonic()
        with self._lock:
            heard = {name: self._heard.get(name, now) for name in lives}
            self._lives, self._heard = lives, heard
        self._labels, self._base, self._sum, self._aggregate = labels, base, total, aggregate
        self._rebase()
