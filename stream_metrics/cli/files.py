"""Read state files, with a reason on failure, and write them whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import stream_metrics as sm
from stream_metrics.cli.errors import CliError, UsageError
from stream_metrics.cli.ledger import Ledger, check_list
from stream_metrics.cli.storage import resolved
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import MAGIC, write_file

SQLITE = b"SQLite format 3\0"


def load(path: str) -> Accumulator:
    """Return the state that the file ``path`` holds."""
    data = Path(path).read_bytes()
    if data.startswith(SQLITE):
        from stream_metrics.monitor.store.backups import stored_total

        total = stored_total(path)
        if total is None:
            raise CliError(f"{path}: the state of a monitor that has counted nothing yet")
        return total
    if not data.startswith(MAGIC):
        raise CliError(f"{path}: is no saved state; 'stream-metrics run --state' writes one")
    try:
        state: Accumulator = sm.from_bytes(data)
    except sm.StreamMetricsError as error:
        raise CliError(f"{path}: {error}") from None
    return state


def check_target(path: str) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise CliError(f"{path}: is not a regular file")
    if not target.parent.is_dir():
        raise CliError(f"{path}: there is no folder {str(target.parent)!r}")
    if not os.access(target.parent, os.W_OK):
        raise CliError(f"{path}: the folder is not writable")
    check_list(path)


def check_inputs(inputs: Iterable[str], *outputs: str | None) -> None:
    """Refuse a file that is named twice, which would be counted twice, and an output that would replace an input."""
    seen: dict[str, str] = {}
    for path in inputs:
        name = resolved(path)
        if name in seen:
            raise UsageError(f"{path} is the same file as {seen[name]}: it would be counted twice")
        seen[name] = path
    for output in outputs:
        if output and os.path.realpath(output) in seen:
            raise UsageError(f"{output} is read and would be overwritten: choose another name for the output")


def save(path: str, state: Accumulator, ledger: Ledger | None = None) -> None:
    """Write a state to ``path``, replacing an old file atomically, after the list of counted files."""
    check_target(path)
    data = state.to_bytes()
    try:
        (ledger or Ledger()).save(path, data)
        write_file(path, data)
    except OSError as error:
        raise CliError(f"{path}: {error.strerror or error}") from None
