"""Ctrl-C that neither loses a chunk nor counts it twice.

While a record is awaited, Ctrl-C raises KeyboardInterrupt at once, also on a silent pipe. While a chunk is being
counted, it waits for the end: an exception between counting and clearing the chunk would count it twice. While modules
are imported, it ends the process at once: a KeyboardInterrupt inside an extension module may become an ImportError.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["defer_interrupts", "end_at_interrupt", "interruptible"]


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


def _is_usual() -> bool:
    """Tell whether Ctrl-C raises KeyboardInterrupt in this thread."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return usual and threading.current_thread() is threading.main_thread()


@contextmanager
def end_at_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process inside, without a traceback; leave a SIGINT alone that has another handler."""
    ours = _is_usual()
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """Make ``defer_interrupts`` work inside; leave a SIGINT alone that is ignored or has another handler."""
    ours = _is_usual()
    _INTERRUPTS.pending = False
    if ours:
        signal.signal(signal.SIGINT, _INTERRUPTS.handle)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


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
