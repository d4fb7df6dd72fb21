"""``run --jobs N``: pieces of files, counted by several workers, each into a state of its own.

A worker takes the next piece when it has finished the last one, so pieces of uneven cost balance. It starts from an
empty state with the configuration of the run and returns its state as bytes. The merge of all states equals
that of one worker, byte for byte. Pieces are taken in order and numbered, so bad records are reported in order
and, of several errors that end the run, the first one is raised.

Workers on tables are threads, since Arrow reads and the kernels count without the interpreter's lock, and a process
takes half a second of processor time to start. Workers on lines are processes: the readers of CSV and JSON Lines hold
the lock, so that two threads are slower than one (0.9x). Processes are spawned: a forked one would have a copy of the
locks of Arrow's and NumPy's threads, but not the threads that release them, and could wait forever.

Ctrl-C reaches all processes of a terminal. The workers ignore it. The main thread tells them to stop, which they do
after the current batch, and their counts so far are merged. A process ends when the main process does.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.dummy
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import chain
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import stream_metrics as sm
from stream_metrics.cli.counting import CountedPart, Counter, Skipped, StopCounting
from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.interrupts import defer_interrupts
from stream_metrics.cli.plans import Piece
from stream_metrics.cli.progress import INTERVAL, Progress
from stream_metrics.cli.reading import Fields, rows
from stream_metrics.cli.sources import TABLES, InputFile, Lines, open_input
from stream_metrics.states.protocols import Accumulator

if TYPE_CHECKING:
    from stream_metrics.cli.tables import Unit

__all__ = ["Task", "WorkerPool"]

LINES = 4096  # of text between two looks at the shared numbers


class Task(NamedTuple):
    """The input of all workers: the format, the fields, the empty state as bytes, and what may be skipped."""

    form: str
    fields: Fields
    empty: bytes
    skipped: Skipped  # which has skipped nothing yet
    pieces: list[Piece]


class _Shared:
    """Numbers that all workers see: the next piece, the piece before which all stop, the progress of each.

    ``context`` makes them: that of multiprocessing for processes, `multiprocessing.dummy` for threads.
    """

    def __init__(self, context: Any, pieces: int, workers: int) -> None:
        self._lock = context.Lock()
        self._next = context.Value("q", 0, lock=False)
        self._end = context.Value("q", pieces, lock=False)
        self.records = context.Array("q", [0] * workers, lock=False)
        self.work_done = context.Array("q", [0] * workers, lock=False)

    def next_piece(self) -> int | None:
        """Return the number of the next piece to count; None if there is none."""
        with self._lock:
            piece: int = self._next.value
            self._next.value += 1
        return piece if self.wants(piece) else None

    def wants(self, piece: int) -> bool:
        """Return whether a piece is still to be counted."""
        return bool(piece < self._end.value)

    def stop_at(self, piece: int) -> None:
        """Leave out this piece and all after it: with 0, stop."""
        with self._lock:
            self._end.value = min(self._end.value, piece)


class _Result(NamedTuple):
    """The result of a worker: its state, what it skipped of each piece, what it counted, the error that ended it."""

    state: bytes
    skipped: dict[int, Skipped]
    log: list[CountedPart]
    failure: tuple[int, str, int] | None  # piece, message, exit status


class _Worker:
    """Counts one piece after another; `slot` is where its progress is shared."""

    def __init__(self, task: Task, shared: _Shared, slot: int) -> None:
        self._task, self._shared, self._slot = task, shared, slot
        self._counter = Counter(sm.from_bytes(task.empty), task.fields, task.skipped, 0, lambda: None)
        self._next_look = 0.0
        self._finished = 0  # of the work, by earlier pieces
        if task.form in TABLES:
            from stream_metrics.cli.tables import Reader

            self._reader = Reader(task.fields, task.form)

    def run(self) -> _Result:
        """Count pieces until none is left."""
        skipped: dict[int, Skipped] = {}
        failure = None
        while (piece := self._shared.next_piece()) is not None:
            skipped[piece] = self._counter.skipped = self._task.skipped.empty()
            try:
                self._count(piece)
            except (CliError, MemoryError) as error:
                self._shared.stop_at(piece)
                failure = piece, str(error) or "out of memory", getattr(error, "status", CliError.status)
        return _Result(self._counter.state.to_bytes(), skipped, self._counter.log, failure)

    def _count(self, number: int) -> None:
        file, part, size, after, until = self._task.pieces[number]
        with suppress(StopCounting), self._counter.part(file, after, until):
            if part is None or isinstance(part, Lines):
                self._count_text(file, part, number)
            else:
                self._count_row_groups(part, number)
        self._finished += size
        self._report_progress(0)

    def _count_row_groups(self, unit: Unit, piece: int) -> None:
        before = self._counter.passed
        batches = self._reader.batches(unit)
        self._counter.feed_batches(unit.file.path, batches, lambda: self._tick(piece, self._counter.passed - before))

    def _count_text(self, file: InputFile, part: Lines | None, piece: int) -> None:
        with open_input(file, self._task.form, part) as source:
            lines = 0

            def tick() -> None:
                nonlocal lines
                lines += 1
                if lines % LINES == 0:
                    self._tick(piece, source.position())

            self._counter.feed(source.name, rows(source, self._task.fields, self._counter.refuse), tick)

    def _tick(self, piece: int, position: int) -> None:
        """Share the progress now and then; raise `StopCounting` if the piece is no longer wanted."""
        if (now := time.monotonic()) >= self._next_look:
            self._next_look = now + INTERVAL / 2
            self._report_progress(position)
        if not self._shared.wants(piece):
            raise StopCounting

    def _report_progress(self, position: int) -> None:
        self._shared.records[self._slot] = self._counter.seen
        self._shared.work_done[self._slot] = self._finished + position


_TASK: tuple[Task, _Shared]  # of a worker process


def _initialize(task: Task, shared: _Shared) -> None:
    """Prepare a process: ignore Ctrl-C, and end when the main process does."""
    global _TASK
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _TASK = task, shared
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_worker(slot: int) -> _Result:
    return _Worker(*_TASK, slot).run()


class WorkerPool:
    """Counts the pieces of a task with several workers: threads for tables, processes for lines."""

    def __init__(self, task: Task, workers: int) -> None:
        self._task, self._workers = task, workers
        self.log: list[CountedPart] = []
        self._futures: list[Future[_Result]] = []
        self._processes: list[BaseProcess] = []
        self._in_threads = task.form in TABLES
        context = multiprocessing.dummy if self._in_threads else multiprocessing.get_context("spawn")
        self._shared = _Shared(context, len(task.pieces), workers)
        self._executor = self._make_executor()

    def _make_executor(self) -> ThreadPoolExecutor | ProcessPoolExecutor:
        if self._in_threads:
            return ThreadPoolExecutor(self._workers)
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, context, _initialize, (self._task, self._shared))

    def progress(self) -> tuple[int, float]:
        """Return how many records were counted, and how much of all pieces is done."""
        return sum(self._shared.records), sum(self._shared.work_done)

    def count(self, state: Accumulator, skipped: Skipped, progress: Progress) -> bool:
        """Count all pieces into ``state``; return whether Ctrl-C ended it. ``log`` gets the counted ranges."""
        interrupted = False
        results: list[_Result] = []
        try:
            try:
                self._start()
                self._wait(progress)
            except KeyboardInterrupt:
                interrupted = True
                self._shared.stop_at(0)
            try:
                with defer_interrupts():
                    results = self._results()
                    self._merge(state, results)
            except KeyboardInterrupt:  # came at the end, when everything was counted
                interrupted = True
        except BrokenProcessPool:
            raise self._ended_process() from None
        except MemoryError:
            raise CliError("out of memory") from None
        finally:
            self._shared.stop_at(0)
            for process in self._processes:
                process.kill()  # an interpreter takes a tenth of a second to exit
            self._executor.shutdown()
        for _, later in sorted(chain.from_iterable(result.skipped.items() for result in results), key=itemgetter(0)):
            skipped.extend(later)
        self.log = list(chain.from_iterable(result.log for result in results))
        return interrupted

    def _start(self) -> None:
        if self._in_threads:
            workers = [_Worker(self._task, self._shared, slot) for slot in range(self._workers)]
            self._futures = [self._executor.submit(worker.run) for worker in workers]
            return
        earlier = multiprocessing.active_children()
        with _blocked_interrupts():
            self._futures = [self._executor.submit(_run_worker, slot) for slot in range(self._workers)]
            self._processes = [child for child in multiprocessing.active_children() if child not in earlier]

    def _wait(self, progress: Progress) -> None:
        """Wait for all workers; an unexpected exception in one of them is raised at once.

        With a timeout, since Windows does not interrupt a wait without one.
        """
        while (futures := wait_for(self._futures, INTERVAL, FIRST_EXCEPTION)).not_done:
            for future in futures.done:
                future.result()
            if progress.tick is not None:
                progress.tick()

    def _results(self) -> list[_Result]:
        """Return the results of all workers; CliError if one of them met an error that ends the run."""
        results = [future.result() for future in self._futures]
        failures = [result.failure for result in results if result.failure is not None]
        if failures:
            _, message, status = min(failures)
            raise (UsageError if status == UsageError.status else CliError)(message)
        return results

    def _ended_process(self) -> CliError:
        """Return an error that says how a process ended; the executor terminates the others with SIGTERM."""
        self._executor.shutdown()
        codes = [process.exitcode or 0 for process in self._processes]
        code = next((code for code in codes if code not in (0, -signal.SIGTERM)), -signal.SIGTERM)
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return CliError(f"a process of --jobs {how}, out of memory perhaps; nothing is saved")

    def _merge(self, state: Accumulator, results: Sequence[_Result]) -> None:
        try:
            for result in results:
                state.merge(sm.from_bytes(result.state))
        except sm.StreamMetricsError as error:
            raise CliError(f"the counts of all workers together: {error}") from None


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C, also in the processes started meanwhile, until they ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it unblocks Ctrl-C when it starts, so it must not start later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
