"""Locks on a state file: one process writes it for as long as it lives, or several take turns.

They use `flock` on two files beside it: `.lock`, exclusive or shared, for the life of the process; and, if several
write, `.turn` for each transaction. A lock is released when its process ends for any reason; a stopped process keeps
its locks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # not on Windows, where a state file cannot be opened for writing
    fcntl = None  # type: ignore[assignment]

__all__ = ["PRIVATE", "Lock", "Locked", "make_private"]

PRIVATE = 0o600  # of files that hold predictions of people

PATIENCE = 30.0
NAP = 0.002


def make_private(path: str) -> None:
    """Create a file that only its owner can read, or restrict an existing one, regardless of the umask.

    A file that cannot be created or changed is left as it is: opening it later raises the error. An existing file is
    not opened: to close it would release the POSIX locks of other connections of this process, and another process
    could then delete the log that they write (sqlite.org/howtocorrupt.html, 2.2).
    """
    path = os.path.realpath(path)  # as SQLite names the log
    with suppress(OSError):
        os.close(_opened(path, os.O_EXCL))
    for each in (path, f"{path}-wal", f"{path}-shm"):  # later logs get the mode of the file
        if os.path.isfile(each):
            with suppress(OSError):
                os.chmod(each, PRIVATE)


def _opened(path: str, flags: int = 0) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | flags, PRIVATE)
    with suppress(PermissionError):  # it belongs to another user, who chose its mode
        os.fchmod(handle, PRIVATE)
    return handle


class Locked(Exception):
    """Another process has the lock."""


class Lock:
    """The right to write a state file; ``Locked`` if another process has it."""

    def __init__(self, path: str, shared: bool) -> None:
        if fcntl is None:
            raise Locked(f"{path}: expected a system with flock, which keeps two processes from writing one file")
        self._path = path
        self._life = _opened(f"{path}.lock")
        self._turn = -1
        try:
            fcntl.flock(self._life, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._life, 20, 0).decode(errors="replace").strip()
            os.close(self._life)
            by = f"process {holder}" if holder else "workers that share it"
            raise Locked(
                f"{path}: expected to be its only writer, but it is in use by {by}; readers open it with mode=ro"
            ) from None
        os.ftruncate(self._life, 0)
        if shared:
            self._turn = _opened(f"{path}.turn")
        else:
            os.pwrite(self._life, str(os.getpid()).encode(), 0)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Lock the file for one transaction; ``Locked`` if the others do not release it in time."""
        if self._turn < 0:
            yield
            return
        end = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise Locked(f"{self._path}: another worker has been writing for {PATIENCE:.0f} s") from None
                time.sleep(NAP)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the file."""
        for handle in (self._life, self._turn):
            if handle >= 0:
                os.close(handle)
        self._life = self._turn = -1
