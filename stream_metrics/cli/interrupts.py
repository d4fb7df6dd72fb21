"""Ctrl-C that neither loses a chunk nor counts it twice.

While a record is awaited, Ctrl-C raises KeyboardInterrupt at once, also on a silent pipe. While a chunk is being
counted, it waits for the end: an exception between counting and clearing the chunk would count it twice.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["defer_interrupts", "interruptible"]


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
def interruptible() -> Iterator[None]:
    """Make ``defer_interrupts`` work inside; leave a SIGINT alone that is ignored or has another handler."""
    usual = signal.default_int_handler
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is usual
    _INTERRUPTS.pending = False
    if ours:
        signal.signal(signal.SIGINT, _INTERRUPTS.handle)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, usual)


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
