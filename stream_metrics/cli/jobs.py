"""``run --jobs N``: pieces of files, counted by several workers, each into a state of its own.

The merge of the states of all workers equals that of one worker, byte for byte.

Workers on tables are threads, since Arrow reads and the kernels count without the interpreter's lock, and a process
takes half a second of processor time to start. Workers on lines are processes: the readers of CSV and JSON Lines hold
the lock, so that two threads are slower than one (0.9x).

At Ctrl-C the main thread tells the workers to stop, which they do after the current batch, and their counts so far are
merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from operator import itemgetter
from typing import Protocol

import stream_metrics as sm
from stream_metrics.cli.counting import CountedPart, Skipped
from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.interrupts import defer_interrupts
from stream_metrics.cli.progress import INTERVAL, Progress
from stream_metrics.cli.sources import TABLES
from stream_metrics.cli.worker import Result, SharedProgress, Task, ThreadContext, WorkerProcess
from stream_metrics.states.protocols import Accumulator

__all__ = ["WorkerPool"]


class _Workers(Protocol):
    """Workers, in threads or in processes, and the numbers that they share."""

    shared: SharedProgress
    futures: list[Future[Result]]  # of the workers that were started

    def start(self) -> None:
        """Start all workers."""

    def running(self) -> AbstractContextManager[None]:
        """Stop and end all workers in the end."""


class _Threads:
    """Workers in threads."""

    def __init__(self, task: Task, workers: int) -> None:
        self.shared = SharedProgress(ThreadContext, len(task.pieces), workers)
        self.futures: list[Future[Result]] = []
        self._workers = [WorkerProcess(task, self.shared, slot) for slot in range(workers)]
        self._executor = ThreadPoolExecutor(workers)

    def start(self) -> None:
        self.futures = [self._executor.submit(worker.run) for worker in self._workers]

    @contextmanager
    def running(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.shared.stop_at(0)
            self._executor.shutdown()


def _make_workers(task: Task, workers: int) -> _Workers:
    if task.form in TABLES:
        return _Threads(task, workers)
    from stream_metrics.cli.processes import Processes  # multiprocessing, a twentieth of the start of a command

    return Processes(task, workers)


class WorkerPool:
    """Counts the pieces of a task with several workers: threads for tables, processes for lines."""

    def __init__(self, task: Task, workers: int) -> None:
        self.log: list[CountedPart] = []
        self._workers = _make_workers(task, workers)
        self._shared = self._workers.shared

    def progress(self) -> tuple[int, float]:
        """Return how many records were counted, and how much of all pieces is done."""
        return sum(self._shared.records), sum(self._shared.work_done)

    def count(self, state: Accumulator, skipped: Skipped, progress: Progress) -> bool:
        """Count all pieces into ``state``; return whether Ctrl-C ended it. ``log`` gets the counted ranges."""
        interrupted = False
        results: list[Result] = []
        try:
            with self._workers.running():
                try:
                    self._workers.start()
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
        except MemoryError:
            raise CliError("out of memory") from None
        for _, later in sorted(chain.from_iterable(result.skipped.items() for result in results), key=itemgetter(0)):
            skipped.extend(later)
        self.log = list(chain.from_iterable(result.log for result in results))
        return interrupted

    def _wait(self, progress: Progress) -> None:
        """Wait for all workers; an unexpected exception in one of them is raised at once.

        With a timeout, since Windows does not interrupt a wait without one.
        """
        while (futures := wait_for(self._workers.futures, INTERVAL, FIRST_EXCEPTION)).not_done:
            for future in futures.done:
                future.result()
            if progress.tick is not None:
                progress.tick()

    def _results(self) -> list[Result]:
        """Return the results of all workers; CliError if one of them met an error that ends the run."""
        results = [future.result() for future in self._workers.futures]
        failures = [result.failure for result in results if result.failure is not None]
        if failures:
            _, message, status = min(failures)
            raise (UsageError if status == UsageError.status else CliError)(message)
        return results

    def _merge(self, state: Accumulator, results: Sequence[Result]) -> None:
        try:
            for result in results:
                state.merge(sm.from_bytes(result.state))
        except sm.StreamMetricsError as error:
            raise CliError(f"the counts of all workers together: {error}") from None
