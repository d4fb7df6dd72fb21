"""State files: read with a reason on failure; written whole or not at all.

A file is written beside its target under a temporary name, forced to disk and renamed, so a crash or a full disk leaves
the old state in place and never half a new one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import stream_metrics as sm
from stream_metrics.cli.problems import Problem

__all__ = ["check_target", "load", "save"]


def load(path: str) -> Any:
    """Return the state that the file ``path`` holds."""
    try:
        return sm.from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise Problem(f"{path}: {error.strerror or error}") from None
    except sm.StreamMetricsError as error:
        raise Problem(f"{path}: {error}") from None


def check_target(path: str) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise Problem(f"{path}: is not a regular file")
    if not target.parent.is_dir():
        raise Problem(f"{path}: there is no folder {str(target.parent)!r}")
    if not os.access(target.parent, os.W_OK):
        raise Problem(f"{path}: the folder is not writable")


def save(path: str, state: Any) -> None:
    """Write a state to ``path``, replacing what was there in one step."""
    check_target(path)
    target = Path(path).resolve()
    try:
        _replace(target, state.to_bytes())
    except OSError as error:
        raise Problem(f"{path}: {error.strerror or error}") from None


def _replace(target: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _permit(temporary, target)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _permit(temporary: str, target: Path) -> None:
    """Give the new file the mode of the old one, or that of any newly created file."""
    if target.exists():
        shutil.copymode(target, temporary)
    else:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
