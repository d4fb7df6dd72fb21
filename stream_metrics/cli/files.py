"""Read state files, with a reason on failure, and write them whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import stream_metrics as sm
from stream_metrics.cli.errors import CliError
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import write_file

__all__ = ["check_target", "load", "save"]


def load(path: str) -> Accumulator:
    """Return the state that the file ``path`` holds."""
    try:
        state: Accumulator = sm.from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise CliError(f"{path}: {error.strerror or error}") from None
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


def save(path: str, state: Accumulator) -> None:
    """Write a state to ``path``, replacing what was there in one step."""
    check_target(path)
    try:
        write_file(path, state.to_bytes())
    except OSError as error:
        raise CliError(f"{path}: {error.strerror or error}") from None
