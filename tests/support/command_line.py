"""The command line for tests, in this process or in one of its own, and all else that they need of its modules."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

import stream_metrics as sm
from stream_metrics.cli import lines
from stream_metrics.cli.errors import UsageError
from stream_metrics.cli.main import main

COMMAND = [sys.executable, "-m", "stream_metrics"]
SMALL = [(lines, "CHUNK", 7)]  # limits of batches
try:
    from stream_metrics.cli import tables
except UsageError:  # without pyarrow
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
    """What a command prints; after some lines, or once all of some texts were printed, Ctrl-C comes."""

    def __init__(self, interrupt_after: int = 0, interrupt_at: Iterable[str] = ()) -> None:
        super().__init__(io.BytesIO(), "utf-8", newline="")
        self._left, self._texts = interrupt_after, set(interrupt_at)

    def write(self, text: str) -> int:
        """Take a text."""
        length = super().write(text)
        before, self._left = self._left, self._left - text.count("\n")
        awaited, self._texts = self._texts, {each for each in self._texts if each not in text}
        if before > 0 >= self._left or (awaited and not self._texts):
            signal.raise_signal(signal.SIGINT)
        return length


def run_command(
    *arguments: Any, stdin: bytes | None = b"", interrupt_after: int = 0, interrupt_at: Iterable[str] = ()
) -> Result:
    """Run a command line in this process; None is a closed stdin.

    Ctrl-C can come after some lines of output, or once all of some texts are on stderr.
    """
    out, err = Output(interrupt_after), Output(interrupt_at=interrupt_at)
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


def run_json(*arguments: Any, **options: Any) -> Any:
    """Run a command with ``--format json`` and return what it prints."""
    return json.loads(run_command(*arguments, "--format", "json", **options).out)


def saved(*arguments: Any, stdin: bytes = b"") -> bytes | Result:
    """Run ``run --state`` and return the bytes of the state, or the result if it said anything or failed."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state"
        result = run_command("run", *arguments, "--state", state, stdin=stdin)
        return state.read_bytes() if (result.status, result.err) == (0, "") else result


def refusal(*arguments: Any, status: int = 1, stdin: bytes = b"") -> str:
    """Run a command that is refused with one line and no result, and return the line."""
    result = run_command(*arguments, stdin=stdin)
    assert (result.status, result.out, result.err.count("\n")) == (status, "", 1), (arguments, result)
    assert result.err.startswith("stream-metrics: "), (arguments, result)
    return result.err


def as_json_lines(records: Iterable[Any]) -> bytes:
    """Return records as JSON Lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def as_csv(pairs: Iterable[tuple[Any, Any]]) -> bytes:
    """Return pairs as CSV."""
    return ("y_true,y_pred\n" + "".join(f"{a},{b}\n" for a, b in pairs)).encode()


def write_parquet(path: Path, columns: dict[str, Any], rows: int = 17) -> Path:
    """Write columns as Parquet with row groups of so many rows, or skip, and return the path."""
    pa = pytest.importorskip("pyarrow", reason="needs pyarrow")
    pq = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow with Parquet")
    pq.write_table(pa.table(columns), path, row_group_size=rows)
    return path


def counted(state: Any, *columns: Any, **more: Any) -> Any:
    """Return a state that has counted columns."""
    state.update_many(*columns, **more)
    return state


def of_pairs(pairs: Iterable[tuple[Any, Any]]) -> bytes:
    """Return the bytes of a set of metrics that has counted pairs."""
    return bytes(counted(sm.MetricSet(), *map(list, zip(*pairs, strict=True))).to_bytes())


def start_command(*arguments: Any, **options: Any) -> subprocess.Popen[Any]:
    """Start a command in a session of its own, with pipes; it ignores no signal, even if this process does."""

    def usual() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    options = {"preexec_fn": usual if os.name == "posix" else None, "start_new_session": True, **pipes, **options}
    return subprocess.Popen([*COMMAND, *map(str, arguments)], **options)


def until(condition: Callable[[], T], seconds: float = 60) -> T:
    """Return what a condition returns once that is true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.01)
    return value
