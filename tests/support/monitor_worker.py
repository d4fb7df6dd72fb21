"""Monitors in processes of their own, to be killed: a script that forks a monitor for each order.

Of an order, `state` and `file` are paths, or `state` is the address of a database; `cpu` is after how many seconds of
processor time the process is killed; `statement` the number of the SQL statement before which it dies; `die` the size
of a file beyond which it dies in the middle of a write; `limit` bounds the size of files by so many more bytes until
three checkpoints have failed; `shared`; `stop` is the step after which it stops itself.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import signal
import sqlite3
from pathlib import Path
from typing import Any

from stream_metrics.monitor import Monitor, config, make_source, open_store
from support.inner_monitor import StaleOwner, StoreError
from support.monitor_events import CONFIG, NOW
from support.orders import Forks, fork_children

with contextlib.suppress(ImportError):
    import psycopg  # noqa: F401 - once, rather than in every monitor

DIED, STALE, FAILED = 7, 8, 9
connect = sqlite3.connect


class Processes(Forks):
    """A process that forks monitors."""

    script = __file__


def state_of(process: int) -> str:
    """Return the state of a process: R, S, T if it is stopped, Z if it has ended."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def dying(statement: int) -> Any:
    """Return a function that connects to a file, and has the process die before a statement."""
    numbers = itertools.count()

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda text: os._exit(DIED) if next(numbers) == statement else None)
        return connection

    return connected


def limited(size: int) -> None:
    """Bound the size of files of this process."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def run_monitor(order: dict[str, Any]) -> int:
    """Read the whole file, and return the exit status."""
    if "statement" in order:
        sqlite3.connect = dying(order["statement"])
    if "die" in order:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limited(order["die"])
    if "cpu" in order:
        signal.setitimer(signal.ITIMER_PROF, order["cpu"])
    monitor = Monitor(CONFIG, open_store(order["state"], order.get("shared", False)), lambda: NOW)
    source, failures, steps = make_source(config.SourceTable(path=order["file"])), 0, itertools.count(1)
    try:
        source.start(monitor)
        if "limit" in order:
            limited(os.path.getsize(order["state"]) + order["limit"])
        while not source.ended:
            records = source.poll(0)
            for at in range(0, len(records), 40):
                monitor.step(records[at : at + 40])
                try:
                    monitor.checkpoint()
                except StaleOwner:
                    raise
                except StoreError:
                    failures += 1
                    if failures == 3:
                        limited(resource.RLIM_INFINITY)
                if next(steps) == order.get("stop"):
                    os.kill(os.getpid(), signal.SIGSTOP)
        monitor.close()
    except StaleOwner:
        return STALE
    return FAILED if failures != 3 * ("limit" in order) else 0


if __name__ == "__main__":
    fork_children(run_monitor)
