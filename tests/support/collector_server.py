"""Collectors for tests: in this process, asked over HTTP, and in a process of its own, which tests kill and restart.

Tests of the collector take what they need of its modules from here.
"""

from __future__ import annotations

import http.client
import json
import re
import signal
import sqlite3
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import stream_metrics as sm
from stream_metrics.collector import collector, reporter
from stream_metrics.collector.collector import Collector, CollectorUnavailable, Options, WorkerReport
from stream_metrics.collector.service import Service
from stream_metrics.collector.store import CollectorStore
from stream_metrics.collector.view import MetricHistory
from support.command_line import start_command

__all__ = [
    "Collector", "CollectorServer", "CollectorStore", "CollectorUnavailable", "Disk", "MetricHistory", "Options",
    "QUICK", "Service", "WorkerReport", "ask", "counted", "view_of",
]  # fmt: skip

QUICK = [(collector, "TICK", 0.01), (reporter, "AT_EXIT", 0.2)]  # seconds between looks, and for a last report
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")


class CollectorServer:
    """`stream-metrics collect` on a port that stays the same over restarts."""

    def __init__(self, path: Path, *flags: str) -> None:
        self.path, self.port, self._flags = path, 0, flags
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start, and wait until it serves."""
        place = "--store", self.path, "--listen", f"127.0.0.1:{self.port}"
        self.process = start_command("collect", *place, *self._flags, text=True)
        assert self.process.stderr is not None
        said = ""
        for line in self.process.stderr:
            said += line
            address = ADDRESS.search(line)
            if address is not None:
                self.port = int(address[1])
                return
        raise AssertionError(said)

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and return the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode

    def kill(self) -> None:
        """End it as the kernel does when memory is short."""
        self.end(signal.SIGKILL)

    def total(self) -> Any:
        """Return the state of all workers."""
        with urllib.request.urlopen(f"{self.url}api/state", timeout=60) as answer:
            return sm.from_bytes(answer.read())


def counted(n: int = 1, truth: str = "a") -> sm.MetricSet:
    """Return a set of n samples."""
    state = sm.MetricSet()
    state.update_many([truth] * n, ["a"] * n)
    return state


def ask(service: Service, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    """Return the status and the text of an answer."""
    connection = http.client.HTTPConnection(service.url.removeprefix("http://").rstrip("/"), timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, text


def view_of(service: Service) -> Any:
    """Return what the page of a collector reads."""
    return json.loads(ask(service, "GET", "/api/snapshot")[1])


class Disk:
    """What SQLite writes to: `fail(at)` has a statement that writes fail, and with `for_good` all that follow it."""

    def __init__(self) -> None:
        self.seen, self._left, self._for_good = 0, -1, False
        self._connect = sqlite3.connect

    def fail(self, at: int, for_good: bool = False) -> None:
        """Fail at the statement of this number from now on; 0 is none."""
        self.seen, self._left, self._for_good = 0, at or -1, for_good

    def step(self) -> None:
        """Count a statement that writes, or fail."""
        self.seen += 1
        self._left -= self._left > 0
        if self._left == 0:
            self._left = 0 if self._for_good else -1
            raise sqlite3.OperationalError("disk I/O error")

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        """Stand in for `sqlite3.connect`."""
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                if not statement.startswith(("select", "rollback")):
                    disk.step()
                return super().execute(statement, *values)

        return self._connect(*arguments, factory=Connection, **options)
