"""Monitors of topics in processes of their own, to be killed and stopped: standard input has orders, one each line.

An order is JSON and forks a worker, whose process is the answer: `state`, `log` (a file that has what it logs),
`source` (the keys of `config.Source`), `shared`, `at_once`, `cpu`, the processor time after which it is killed, and
`stop`, the number of the poll after which it stops itself, with what was polled in its hands. {"wait": process} answers
how a worker has ended. On SIGTERM a worker leaves its group.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from typing import Any

from stream_metrics.monitor import Monitor, config, make_source, open_store
from stream_metrics.monitor.sources import kafka
from support.inner_monitor import SourceError, StaleOwner
from support.kafka_topics import JOINED, KEPT
from support.monitor_events import NOW

__all__ = ["Workers"]


class Workers:
    """Forks workers."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def start(self, **order: Any) -> int:
        """Start a worker, and return its process."""
        return self._ask(order)

    def end(self, process: int, number: int = signal.SIGKILL) -> int:
        """Send a signal, and return how the worker has ended."""
        os.kill(process, number)
        return self._ask({"wait": process})

    def wait(self, process: int) -> int:
        """Return how a worker ended, once it has."""
        return self._ask({"wait": process})

    def _ask(self, order: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def worker(order: dict[str, Any]) -> int:
    """Read topics until told to end, and return the exit status."""
    logging.basicConfig(filename=order["log"], level=logging.WARNING)
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    kafka.AT_ONCE = order.get("at_once", 200)
    asked = config.Source(kind="kafka", **order["source"])
    store = open_store(order["state"], order.get("shared", False))
    monitor, source = Monitor(JOINED if asked.labels else KEPT, store, lambda: NOW), make_source(asked)
    if "cpu" in order:
        signal.setitimer(signal.ITIMER_PROF, order["cpu"])
    try:
        source.start(monitor)
        monitor.share()
        polls = 0
        while not stopped:
            records = source.poll(0.1)
            polls += bool(records)
            if records and polls == order.get("stop"):
                os.kill(os.getpid(), signal.SIGSTOP)
            try:
                monitor.step(records)
                monitor.leads()
            except StaleOwner as stale:
                logging.getLogger("worker").warning("stale %d", stale.part)
        source.close()
        monitor.close()
    except SourceError as error:
        logging.getLogger("worker").error("%s", error)
        return 1
    return 0


def main() -> None:
    """Do what is ordered."""
    running: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            print(os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1]), flush=True)
            running.remove(order["wait"])
            continue
        child = os.fork()
        if not child:
            status = 2
            try:
                status = worker(order)
            finally:
                sys.stderr.flush()
                os._exit(status)
        running.add(child)
        print(child, flush=True)
    for child in running:  # of tests that failed
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
