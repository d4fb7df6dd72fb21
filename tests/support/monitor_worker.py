"""Monitors in processes of their own, to be killed: reads orders from standard input and forks a monitor for each.

Everything is imported once, so that a monitor starts in milliseconds. An order is JSON: `state` and `file` are paths,
or `state` is the address of a database; `crash` is the number of the statement before which to die; `die` the size of
a file beyond which to die in the middle of a write; `shared`; `stop` is the step after which it stops itself; `limit`
bounds the size of files until some checkpoints have failed; `pause` is between two steps. How it ended is said at once,
or, with `wait` false, when the process is named by an order `end`.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from typing import Any

from msgspec import structs

from stream_metrics.monitor.monitor import Monitor
from stream_metrics.monitor.sources import lines
from stream_metrics.monitor.sources.file import FileSource
from stream_metrics.monitor.store import StaleOwner
from stream_metrics.monitor.store.opening import open_store
from stream_metrics.monitor.store.tables import StateStore
from support.monitor_events import CONFIG, NOW

with contextlib.suppress(ImportError):
    import stream_metrics.monitor.store.postgres  # noqa: F401 - once, rather than in every monitor

__all__ = ["CRASHED", "STALE"]

CRASHED, STALE, FAILED = 7, 8, 9
CONFIG_ = structs.replace(CONFIG, store=structs.replace(CONFIG.store, every_events=40))


def patch(store: StateStore, crash: int) -> None:
    """Have the process die before a statement."""
    steps = iter(range(10**9))

    def dying(run: Any) -> Any:
        def step(*values: Any) -> Any:
            if next(steps) == crash:
                os._exit(CRASHED)
            return run(*values)

        return step

    store._run, store._run_many = dying(store._run), dying(store._run_many)  # type: ignore[method-assign]


def run_monitor(order: dict[str, Any]) -> int:
    """Read the whole file, and return the exit status."""
    lines.BLOCK = 4096
    sys.modules["stream_metrics.monitor.sources.file"].BLOCK = 4096  # type: ignore[attr-defined]
    store = open_store(order["state"], order.get("shared", False))
    if "crash" in order:
        patch(store, order["crash"])
    monitor, source = Monitor(CONFIG_, store, lambda: NOW), FileSource(order["file"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failures = 0
    if "die" in order:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["die"], hard))
    try:
        source.start(monitor)
        if "limit" in order:
            resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(order["state"]) + order["limit"], hard))
        steps = 0
        while not source.ended:
            monitor.step(source.poll(0))
            monitor._checkpoints._spent = 0.0  # checkpoints as often as they fall due, however long they take
            steps += 1
            if monitor.last_error is not None:
                failures += 1
                monitor._checkpoints._ended = time.monotonic() - 2
                if failures == 3:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            if steps == order.get("stop"):
                os.kill(os.getpid(), signal.SIGSTOP)
            time.sleep(order.get("pause", 0.0))
        monitor.close()
    except StaleOwner:
        return STALE
    return FAILED if "limit" in order and failures < 3 else 0


def main() -> None:
    """Do what is ordered, one monitor for each line; say its process, and how it ended."""
    for line in sys.stdin:
        order = json.loads(line)
        if "end" in order:
            print(os.waitstatus_to_exitcode(os.waitpid(order["end"], 0)[1]), flush=True)
            continue
        child = os.fork()
        if not child:
            status = 1
            try:
                status = run_monitor(order)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        print(child, flush=True)
        if order.get("wait", True):
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
