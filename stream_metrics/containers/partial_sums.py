"""The sum of many states of which one at a time is replaced: a tree of partial sums.

A node is the merge of up to eight nodes below it. Replacing a state marks the nodes above it; reading the total makes
those again, which is eight merges for each level of the tree. Subtraction would be cheaper, but not every state has it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

from stream_metrics.states.protocols import Accumulator

__all__ = ["PartialSums"]

FAN_IN = 8


class PartialSums:
    """States by key, none of which is changed here, and their sum."""

    def __init__(self) -> None:
        self._levels: list[list[Accumulator | None]] = [[]]  # the states, then sums of sums up to one
        self._places: dict[Hashable, int] = {}
        self._free: list[int] = []
        self._changed: set[int] = set()  # places of states

    def replace(self, key: Hashable, state: Accumulator | None) -> None:
        """Put a state where that of this key is; None removes it."""
        place = self._places.get(key)
        if place is None:
            if state is None:
                return
            place = self._places[key] = self._new_place()
        elif state is None:
            del self._places[key]
            self._free.append(place)
        self._levels[0][place] = state
        self._changed.add(place)

    def _new_place(self) -> int:
        if self._free:
            return self._free.pop()
        self._levels[0].append(None)
        return len(self._levels[0]) - 1

    def total(self) -> Accumulator | None:
        """Return the sum of all states, which callers must not change; None if there is no state."""
        level, changed = 0, self._changed
        while len(self._levels[level]) > 1:
            if level + 1 == len(self._levels):
                self._levels.append([])
            below, above = self._levels[level], self._levels[level + 1]
            above += [None] * (-(-len(below) // FAN_IN) - len(above))
            changed = {place // FAN_IN for place in changed}
            for place in changed:
                above[place] = _sum(below[place * FAN_IN : (place + 1) * FAN_IN])
            level += 1
        self._changed = set()
        return self._levels[level][0] if self._levels[level] else None

    def copy(self) -> Self:
        """Return independent sums of the same states."""
        twin: Self = type(self)()
        twin._levels = [list(level) for level in self._levels]
        twin._places, twin._free, twin._changed = dict(self._places), list(self._free), set(self._changed)
        return twin


def _sum(states: Sequence[Accumulator | None]) -> Accumulator | None:
    """Return the merge of the states that there are; of one, itself."""
    parts: list[Any] = [state for state in states if state is not None]
    if len(parts) < 2:
        return next(iter(parts), None)
    total: Accumulator = parts[0].copy()
    for state in parts[1:]:
        total.merge(state)
    return total
