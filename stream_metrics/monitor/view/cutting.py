"""A view that can be cut short: what takes long calls `check_cut` between its parts.

    with cut_if(stopped.is_set):
        monitor.view()                  # raises ViewCut soon after `stopped` is set

A view of many classes and groups takes seconds, and a process that is told to end must not wait for it. What is asked
belongs to the thread that makes the view, so the parts of a view need no argument for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["ViewCut", "check_cut", "cut_if"]

_asked: ContextVar[Callable[[], bool]] = ContextVar("cut")


class ViewCut(Exception):
    """A view was cut short."""


@contextmanager
def cut_if(stopped: Callable[[], bool]) -> Iterator[None]:
    """Let `check_cut` raise ``ViewCut`` in this thread once `stopped` returns True."""
    token = _asked.set(stopped)
    try:
        yield
    finally:
        _asked.reset(token)


def check_cut() -> None:
    """Raise ``ViewCut`` if the view is to be cut short."""
    stopped = _asked.get(None)
    if stopped is not None and stopped():
        raise ViewCut
