"""A collector in a process of its own, as the command runs it, which tests kill and start again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import stream_metrics as sm

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")


class CollectorServer:
    """`stream-metrics collect` on a port that stays the same over restarts."""

    def __init__(self, path: Path, *flags: str, **environment: str) -> None:
        self.path, self.port, self._flags = path, 0, flags
        self._environment = {**os.environ, **environment}
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start, and wait until it serves."""
        arguments = ["collect", "--store", str(self.path), "--listen", f"127.0.0.1:{self.port}", *self._flags]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stream_metrics", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
        )
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
        assert self.process.stderr is not None
        self.process.send_signal(number)
        self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait(20)

    def kill(self) -> None:
        """End it as the kernel does when memory is short."""
        self.end(signal.SIGKILL)

    def total(self) -> Any:
        """Return the state of all workers."""
        with urllib.request.urlopen(f"{self.url}api/state", timeout=20) as answer:
            return sm.from_bytes(answer.read())
