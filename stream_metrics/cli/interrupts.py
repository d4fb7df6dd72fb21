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

__all__ = ["interrupts_held", "interruptible"]


class _Holding:
    """Whether Ctrl-C has to wait, and whether it came meanwhile."""

    def __init__(self) -> None:
        self.held = False
        self.came = False

    def handle(self, signum: int, frame: FrameType | None) -> None:
        if not self.held:
            raise KeyboardInterrupt
        self.came = True


_HOLDING = _Holding()


@contextmanager
def interruptible() -> Iterator[None]:
    """Make ``interrupts_held`` work inside; a SIGINT that is ignored or handled by someone else stays so."""
    usual = signal.default_int_handler
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is usual
    _HOLDING.came = False
    if ours:
        signal.signal(signal.SIGINT, _HOLDING.handle)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, usual)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block."""
    _HOLDING.held = True
    try:
        yield
    finally:
        _HOLDING.held = False
    if _HOLDING.came:
        _HOLDING.came = False
        raise KeyboardInterrupt
