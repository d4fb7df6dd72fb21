"""Workers of ``run --jobs N`` that are processes.

They are spawned: a forked one would have a copy of the locks of Arrow's and NumPy's threads, but not the threads that
release them, and could wait forever. Ctrl-C reaches all processes of a terminal, and the workers ignore it. A process
ends when the main process does.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess

from stream_metrics.cli.errors import CliError
from stream_metrics.cli.worker import Result, SharedProgress, Task, WorkerProcess

__all__ = ["Processes"]

_TASK: tuple[Task, SharedProgress]  # of a worker process


class Processes:
    """Workers in processes of their own, and the numbers that they share."""

    def __init__(self, task: Task, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.shared = SharedProgress(context, len(task.pieces), workers)
        self.futures: list[Future[Result]] = []
        self._workers = workers
        self._processes: list[BaseProcess] = []
        self._executor = ProcessPoolExecutor(workers, context, _initialize, (task, self.shared))

    def start(self) -> None:
        """Start all workers."""
        earlier = multiprocessing.active_children()
        with _blocked_interrupts():
            self.futures = [self._executor.submit(_run_worker, slot) for slot in range(self._workers)]
            self._processes = [child for child in multiprocessing.active_children() if child not in earlier]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Stop and end all workers in the end; CliError if a process ended that returned nothing."""
        try:
            yield
        except BrokenProcessPool:
            raise self._ended() from None
        finally:
            self.shared.stop_at(0)
            for process in self._processes:
                process.kill()  # an interpreter takes a tenth of a second to exit
            self._executor.shutdown()

    def _ended(self) -> CliError:
        """Return an error that says how a process ended; the executor terminates the others with SIGTERM."""
        self._executor.shutdown()
        codes = [process.exitcode or 0 for process in self._processes]
        code = next((code for code in codes if code not in (0, -signal.SIGTERM)), -signal.SIGTERM)
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return CliError(f"a process of --jobs {how}, out of memory perhaps; nothing is saved")


def _initialize(task: Task, shared: SharedProgress) -> None:
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


def _run_worker(slot: int) -> Result:
    return WorkerProcess(*_TASK, slot).run()


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
