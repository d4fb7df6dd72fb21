"""Errors that end a command with one line on stderr; the exit status travels inside the exception.

Ctrl-C neither loses a chunk nor counts it twice. While a record is awaited, Ctrl-C raises KeyboardInterrupt at once,
also on a silent pipe. While a chunk is being counted, it waits for the end: an exception between counting and clearing
the chunk would count it twice. While modules are imported, it ends the process at once: a KeyboardInterrupt inside an
extension module may become an ImportError.
"""

from __future__ import annotations

import errno
import importlib
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType, ModuleType
from typing import Any

from stream_metrics.errors import StreamMetricsError


class CliError(Exception):
    """The data or a file is at fault."""

    status = 1


class FileError(CliError):
    """A file cannot be read, is damaged, or does not have the fields; --skip-bad-files goes on without it."""


class UsageError(CliError):
    """The command line is at fault, or an optional package is missing."""

    status = 2


LISTING = "'stream-metrics metrics' lists them"


def listed(names: Iterable[object]) -> str:
    """Return the first few names, for a message."""
    names = list(names)
    return (", ".join(map(repr, names[:8])) or "none") + (", ..." if len(names) > 8 else "")


EXPECTED = (CliError, StreamMetricsError, OSError)  # errors that are a line and no traceback


def explained(error: Exception) -> str:
    """Return an error in one line; of a file its name, without the number of the error."""
    if not isinstance(error, OSError):
        return str(error)
    text = error.strerror or str(error)
    return text if error.filename is None else f"{error.filename}: {text}"


@contextmanager
def taken_addresses(where: str) -> Iterator[None]:
    """Say what to do if an address is taken."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CliError(f"{where} is taken by another process; port 0 finds one that is free") from None
        raise


def river(module: str) -> ModuleType:
    """Return a module of river, which is imported by name because it is optional and untyped."""
    try:
        return importlib.import_module(f"river.{module}")
    except ImportError:
        raise UsageError('the demo needs river: pip install "stream-metrics[river]"') from None


@contextmanager
def usage() -> Iterator[None]:
    """Turn what is wrong with a configuration into a usage problem."""
    from stream_metrics.catalog.table import UnknownMetricError

    try:
        yield
    except UnknownMetricError as error:
        raise UsageError(str(UnknownMetricError(error.key, LISTING))) from None
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None


class _Interrupts:
    """Whether Ctrl-C is deferred, and whether it was pressed meanwhile."""

    def __init__(self) -> None:
        self.deferred = False
        self.pending = False

    def handle(self, signum: int, frame: FrameType | None) -> None:
        if not self.deferred:
            raise KeyboardInterrupt
        self.pending = True


_INTERRUPTS = _Interrupts()


@contextmanager
def handled_by(handler: Any) -> Iterator[None]:
    """Handle SIGINT by `handler` inside, if it would raise KeyboardInterrupt in this thread."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if main else None
    ours = before in (signal.default_int_handler, _INTERRUPTS.handle)
    if ours:
        signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def end_at_interrupt() -> AbstractContextManager[None]:
    """Let Ctrl-C end the process inside, without a traceback; leave a SIGINT alone that has another handler."""
    return handled_by(signal.SIG_DFL)


def interruptible() -> AbstractContextManager[None]:
    """Make ``defer_interrupts`` work inside; leave a SIGINT alone that is ignored or has another handler."""
    _INTERRUPTS.pending = False
    return handled_by(_INTERRUPTS.handle)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block; in a thread of its own, which Ctrl-C never reaches, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _INTERRUPTS.deferred = True
    try:
        yield
    finally:
        _INTERRUPTS.deferred = False
    if _INTERRUPTS.pending:
        _INTERRUPTS.pending = False
        raise KeyboardInterrupt
