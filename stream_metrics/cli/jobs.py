"""``run --jobs N``: files counted side by side; the merge of their counts equals the count of one worker.

Workers on tables are threads, since Arrow reads and the kernels count without the interpreter's lock, and a process
takes half a second of processor time to start. Workers on lines are processes: the readers of CSV and JSON Lines hold
the lock, so that two threads are slower than one (0.9x). Processes are spawned: a forked one would have a copy of the
locks of Arrow's and NumPy's threads, but not the threads that release them, and could wait forever.

Files are merged in their order, so of several errors that of the first file ends the run.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, NamedTuple

import stream_metrics as sm
from stream_metrics.cli.counting import Counter, Skipped, StopCounting
from stream_metrics.cli.errors import CliError
from stream_metrics.cli.interrupts import defer_interrupts, handled_by
from stream_metrics.cli.progress import INTERVAL, Progress
from stream_metrics.cli.sources import TABLES, Fields, InputFile
from stream_metrics.states.protocols import Accumulator

WORTH_A_PROCESS = 1 << 25  # bytes of lines: fewer are counted while a process starts


def fastest_jobs(files: list[InputFile], form: str | None) -> int:
    """Return how many workers count files fastest: one for each processor, but no process for a few lines."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    worth = len(files) if form in TABLES else sum(file.size or 0 for file in files) // WORTH_A_PROCESS
    return max(1, min(processors, len(files), worth))


class Result(NamedTuple):
    """What was counted of a file, and how far it was read."""

    state: Accumulator
    counted: int
    skipped: Skipped
    log: dict[InputFile, int | None]
    format: str | None


class Job(NamedTuple):
    """What all workers have in common: the format, the fields, the empty state, what may be skipped."""

    form: str | None
    fields: Fields
    empty: Accumulator
    skipped: Skipped  # which has skipped nothing yet
    stop: Any  # an event, after which no more is counted

    def run(self, file: InputFile) -> Result:
        """Count a file."""
        counter = Counter(self.empty.copy(), self.fields, self.skipped.empty(), stopped=self.stop.is_set)
        with suppress(StopCounting):
            if not self.stop.is_set():
                counter.count(file, self.form)
        return Result(counter.state, counter.counted, counter.skipped, counter.log, counter.format)


def count_in_parallel(
    form: str | None, fields: Fields, empty: Accumulator, files: list[InputFile], jobs: int, total: Counter
) -> bool:
    """Count files with several workers into `total`; return whether Ctrl-C ended it."""
    executor: Executor
    if form in TABLES:
        job = Job(form, fields, empty, total.skipped.empty(), threading.Event())
        executor, count = ThreadPoolExecutor(jobs), job.run
    else:
        import multiprocessing  # which takes a twentieth of the start of a command
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context("spawn")
        job = Job(form, fields, empty, total.skipped.empty(), context.Event())
        executor, count = ProcessPoolExecutor(jobs, context, _start_process, (job,)), _count_file
    try:
        return _merge_all(executor, count, files, job.stop, total)
    except BrokenExecutor:
        raise CliError("a process of --jobs has ended, out of memory perhaps; nothing is saved") from None
    except MemoryError:
        raise CliError("out of memory") from None
    finally:
        job.stop.set()
        executor.shutdown(cancel_futures=True)


def _merge_all(
    executor: Executor, count: Callable[[InputFile], Result], files: list[InputFile], stop: Any, total: Counter
) -> bool:
    with handled_by(signal.SIG_IGN):  # which processes inherit: Ctrl-C reaches all those of a terminal
        waiting: deque[tuple[InputFile, Future[Result]]] = deque((file, executor.submit(count, file)) for file in files)
    sizes = [file.size for file in files]
    finished = 0
    with Progress(lambda: (total.counted, finished), None if None in sizes else sum(size or 0 for size in sizes)):
        while waiting:
            file, future = waiting[0]
            try:
                while not future.done():
                    wait([future], INTERVAL)  # Windows interrupts no wait without a timeout
                with defer_interrupts():
                    waiting.popleft()
                    finished += file.size or 0
                    if not future.cancelled():
                        _add(total, future.result(), file)
            except KeyboardInterrupt:
                stop.set()
                for _, later in waiting:
                    later.cancel()
    return bool(stop.is_set())


def _add(total: Counter, part: Result, file: InputFile) -> None:
    total.check_format(part.format, file.path)
    try:
        total.state.merge(part.state)
    except sm.StreamMetricsError as error:
        raise CliError(f"the counts of all workers together: {error}") from None
    total.counted += part.counted
    total.skipped.extend(part.skipped)
    total.log |= part.log


_JOB: Job  # of a worker process


def _start_process(job: Job) -> None:
    """Prepare a process, which ends with the main process."""
    import multiprocessing

    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    global _JOB
    _JOB = job


def _count_file(file: InputFile) -> Result:
    return _JOB.run(file)
