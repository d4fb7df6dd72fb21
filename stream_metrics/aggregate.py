"""Shards become a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from stream_metrics.errors import MergeError

__all__ = ["merge"]

State = TypeVar("State", bound=Any)


def merge(states: Iterable[State]) -> State:
    """Return a new state with the counts of all `states`, which stay as they are; the order does not matter.

    Raises ``MergeError`` if there is none, or if kinds or configurations differ.
    """
    total: State | None = None
    for state in states:
        total = state.copy() if total is None else total.merge(state)
    if total is None:
        raise MergeError("Expected at least one state to merge, but got none")
    return total
