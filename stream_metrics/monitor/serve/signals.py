"""Handlers of SIGINT, SIGTERM and SIGHUP for as long as a service runs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["handled_signals"]

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is not on Windows


@contextmanager
def handled_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at SIGINT, SIGTERM and SIGHUP, but not at one that is ignored, as SIGHUP is under `nohup`.

    Only the main thread can have handlers; in others nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in before:
        signal.signal(number, lambda *_: stop())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
