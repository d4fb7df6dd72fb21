"""Ctrl-C that neither loses a chunk nor counts it twice.

While a record is awaited, Ctrl-C raises KeyboardInterrupt at once, also on a silent pipe. While a chunk is being
counted, it waits for the end: an exception between counting and clearing the chunk would count it twice. While modules
are imported, it ends the process at once: a KeyboardInterrupt inside an extension module may become an ImportError.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any


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
