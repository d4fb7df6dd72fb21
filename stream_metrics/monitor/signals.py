"""Handlers of SIGINT and SIGTERM for as long as a service runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["handled_signals"]


@contextmanager
def handled_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at SIGINT and SIGTERM. Only the main thread can have handlers; in others nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
