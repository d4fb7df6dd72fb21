"""Processes that do what a test orders, each order a line of JSON, and answer each by a line.

A script that forks a child for an order imports everything once, so that a child starts in milliseconds.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Order = dict[str, Any]


class Orders:
    """A process that runs `script`; it ends with its standard input."""

    script: str

    def __init__(self, *arguments: str) -> None:
        paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        self._process = subprocess.Popen(
            [sys.executable, self.script, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip

    def order(self, order: Any) -> Any:
        """Send an order, and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, such as SIGSTOP."""
        self._process.send_signal(number)

    def close(self) -> None:
        """End it."""
        self._process.communicate()


class Forks(Orders):
    """A process that forks a child for each order; its script ends in `fork_children`."""

    def start(self, **order: Any) -> int:
        """Have a child forked, and return its process."""
        return int(self.order(order))

    def wait(self, process: int) -> int:
        """Return how a child ended, once it has."""
        return int(self.order({"wait": process}))

    def run(self, **order: Any) -> int:
        """Have a child forked, and return how it ended."""
        return self.wait(self.start(**order))

    def end(self, process: int, number: int = signal.SIGKILL) -> int:
        """Send a signal to a child, and return how it has ended."""
        os.kill(process, number)
        return self.wait(process)


def fork_children(work: Callable[[Order], int]) -> None:
    """Read orders from standard input: fork a child that does the work, or answer how a child has ended."""
    running: set[int] = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            print(os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1]), flush=True)
            running.remove(order["wait"])
            continue
        child = os.fork()
        if not child:
            status = 1
            try:
                status = work(order)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        running.add(child)
        print(child, flush=True)
    for child in running:  # of tests that failed
        os.kill(child, signal.SIGKILL)
