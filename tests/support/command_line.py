"""The command line for tests, in this process or in one of its own, and all else that they need of its modules."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from stream_metrics.cli import counting, plans
from stream_metrics.cli.main import main

__all__ = ["COMMAND", "SMALL", "Result", "run_command", "start_command", "until"]

COMMAND = [sys.executable, "-m", "stream_metrics"]
SMALL = [
    (counting, "CHUNK", 7),
    (plans, "SMALLEST", 1),
    (plans, "SMALLEST_BYTES", 1 << 10),
]  # limits of pieces of input
try:
    from stream_metrics.cli import tables
except ImportError:  # without pyarrow
    pass
else:
    SMALL += [(tables, "LEAST", 1), (tables, "BATCH", 16)]
T = TypeVar("T")


class Result(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


class Output(io.TextIOWrapper):
    """What a command prints; after some lines Ctrl-C comes."""

    def __init__(self, interrupt_after: int = 0) -> None:
        super().__init__(io.BytesIO(), "utf-8", newline="")
        self._left = interrupt_after

    def write(self, text: str) -> int:
        """Take a text."""
        length = super().write(text)
        before, self._left = self._left, self._left - text.count("\n")
        if before > 0 >= self._left:
            signal.raise_signal(signal.SIGINT)
        return length


def run_command(*arguments: Any, stdin: bytes | None = b"", interrupt_after: int = 0) -> Result:
    """Run a command line in this process; None is a closed stdin, and Ctrl-C can come after some lines of output."""
    out, err = Output(interrupt_after), Output()
    before, sys.stdin = sys.stdin, None if stdin is None else io.TextIOWrapper(io.BytesIO(stdin))  # type: ignore[assignment]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(argument) for argument in arguments])
    finally:
        sys.stdin = before
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    return Result(status, *texts)


def start_command(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
    """Start a command in a session of its own, with pipes and the usual handling of SIGINT."""
    usual = (lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) if os.name == "posix" else None
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    order = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(order, preexec_fn=usual, start_new_session=True, **{**pipes, **options})


def until(condition: Callable[[], T], seconds: float = 60) -> T:
    """Return what a condition returns once that is true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.01)
    return value
