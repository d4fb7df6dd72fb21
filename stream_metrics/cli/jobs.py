"""``run --jobs N``: pieces of files, counted by several workers at once; the merge of all equals the count of one.

Workers on tables are threads, since Arrow reads and the kernels count without the interpreter's lock, and a process
takes half a second of processor time to start. Each has a state of its own and takes the next piece when it has counted
one, so that the pieces that are counted are the first ones, also after Ctrl-C.

Workers on lines are processes: the readers of CSV and JSON Lines hold the lock, so that two threads are slower than one
(0.9x). They return a state for each file. Processes are spawned: a forked one would have a copy of the locks of Arrow's
and NumPy's threads, but not the threads that release them, and could wait forever.

Of several errors, that of the first piece ends the run.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, BrokenExecutor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, NamedTuple

import stream_metrics as sm
from stream_metrics.cli.counting import Counter, Skipped, StopCounting
from stream_metrics.cli.errors import CliError
from stream_metrics.cli.interrupts import defer_interrupts
from stream_metrics.cli.pieces import PieceReader, total_size
from stream_metrics.cli.progress import INTERVAL, Progress
from stream_metrics.cli.reading import RowKeys
from stream_metrics.cli.sources import TABLES, InputFile, Piece
from stream_metrics.states.protocols import Accumulator

LINES = 4096  # of text between two looks at whether to stop


class Task(NamedTuple):
    """The input of all workers: the format, the fields, the empty state, and what may be skipped."""

    form: str | None
    fields: RowKeys
    empty: Accumulator
    skipped: Skipped  # which has skipped nothing yet

    def counter(self) -> Counter:
        """Return an empty counter."""
        return Counter(self.empty.copy(), self.fields, self.skipped.empty(), 0, lambda: None)


class Result(NamedTuple):
    """What was counted of a file, and how far it was read."""

    state: Accumulator
    counted: int
    skipped: Skipped
    log: dict[InputFile, int | None]


def count_in_parallel(task: Task, pieces: list[Piece], jobs: int, total: Counter) -> bool:
    """Count pieces with several workers into `total`; return whether Ctrl-C ended it."""
    try:
        return (_count_with_threads if task.form in TABLES else _count_with_processes)(task, pieces, jobs, total)
    except BrokenExecutor:
        raise CliError("a process of --jobs has ended, out of memory perhaps; nothing is saved") from None
    except MemoryError:
        raise CliError("out of memory") from None


def _count_with_threads(task: Task, pieces: list[Piece], jobs: int, total: Counter) -> bool:
    queue = deque(enumerate(pieces))  # emptied to stop
    counters = [task.counter() for _ in range(jobs)]
    readers = [PieceReader(task.fields, task.form) for _ in range(jobs)]
    skipped: dict[int, Skipped] = {}
    failures: dict[int, BaseException] = {}
    stop = threading.Event()

    def stop_whole_file() -> None:
        if stop.is_set():
            raise StopCounting

    def work(counter: Counter, reader: PieceReader) -> None:
        with suppress(IndexError, StopCounting):
            while True:
                number, piece = queue.popleft()
                skipped[number] = counter.skipped = task.skipped.empty()
                try:
                    reader.count(piece, counter, stop_whole_file if piece.ends and not piece.first else None)
                except (CliError, MemoryError) as error:
                    failures[number] = error
                    queue.clear()

    def progressed() -> tuple[int, float]:
        return sum(counter.seen for counter in counters), sum(reader.position() for reader in readers)

    progress = Progress(progressed, total_size(pieces))
    with ThreadPoolExecutor(jobs) as executor:
        try:
            with _blocked_interrupts():
                futures = [executor.submit(work, *each) for each in zip(counters, readers, strict=True)]
            _wait(futures, progress)
        except KeyboardInterrupt:
            stop.set()
        finally:
            queue.clear()
            progress.clear()
    if failures:
        raise failures[min(failures)]
    for future in futures:
        future.result()
    with defer_interrupts():
        for counter in counters:
            _add(total, counter)
        for _, later in sorted(skipped.items()):
            total.skipped.extend(later)
    return stop.is_set()


def _count_with_processes(task: Task, files: list[Piece], jobs: int, total: Counter) -> bool:
    import multiprocessing  # which takes a twentieth of the start of a command
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")
    stop = context.Event()  # starts the resource tracker, which unblocks Ctrl-C when it starts
    executor = ProcessPoolExecutor(jobs, context, _start_process, (task, stop))
    finished = 0
    progress = Progress(lambda: (total.counted, finished), total_size(files))
    try:
        with _blocked_interrupts():
            waiting = deque((file, executor.submit(_count_file, file)) for file in files)
        while waiting:
            file, future = waiting[0]
            try:
                if not future.cancelled():
                    _wait([future], progress)
                with defer_interrupts():
                    waiting.popleft()
                    finished += file.size or 0
                    if not future.cancelled():
                        _add(total, future.result())
                        total.skipped.extend(future.result().skipped)
            except KeyboardInterrupt:
                stop.set()
                for _, later in waiting:
                    later.cancel()
        return stop.is_set()
    finally:
        stop.set()
        executor.shutdown(cancel_futures=True)
        progress.clear()


def _wait(futures: list[Future[Any]], progress: Progress) -> None:
    """Wait for all, or for an unexpected exception; with a timeout, since Windows interrupts no wait without one."""
    while (state := wait(futures, INTERVAL, FIRST_EXCEPTION)).not_done:
        if any(future.exception() for future in state.done):
            return
        if progress.tick is not None:
            progress.tick()


def _add(total: Counter, part: Counter | Result) -> None:
    try:
        total.state.merge(part.state)
    except sm.StreamMetricsError as error:
        raise CliError(f"the counts of all workers together: {error}") from None
    total.counted += part.counted
    for file, until in part.log.items():
        before = total.log.get(file, 0)
        total.log[file] = None if before is None or until is None else max(before, until)


_PROCESS: tuple[Task, Any]  # in a worker process, the task and the event that stops it


def _start_process(task: Task, stop: Any) -> None:
    """Prepare a process: ignore Ctrl-C, which reaches all processes of a terminal, and end with the main process."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    global _PROCESS
    _PROCESS = task, stop


def _count_file(file: Piece) -> Result:
    task, stop = _PROCESS
    counter, lines = task.counter(), count()

    def tick() -> None:
        if next(lines) % LINES == 0 and stop.is_set():
            raise StopCounting

    with suppress(StopCounting):
        PieceReader(task.fields, task.form).count(file, counter, tick)
    return Result(counter.state, counter.counted, counter.skipped, counter.log)


@contextmanager
def _blocked_interrupts() -> Iterator[None]:
    """Hold back Ctrl-C, also in the processes started meanwhile, which ignore it later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
