"""The sum of many states of which one at a time is replaced: a tree of partial sums.

Replacing a state marks its place, and reading the total makes the nodes above it again, each as the merge of those
below. The lower nodes are many and cheap to make, so they are merges of many and stored as bytes. Merges of the upper
nodes take the time, so these are merges of two.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self

from stream_metrics.containers.keyed import StatePacker

__all__ = ["PartialSums"]

FANS = 24, 4, 4  # nodes below one of the lower levels, which are stored as bytes


class PartialSums:
    """Sums of states that the caller has by key."""

    def __init__(self) -> None:
        self._keys: list[Hashable | None] = []  # by place
        self._places: dict[Hashable, int] = {}
        self._free: list[int] = []
        self._levels: list[list[Any]] = []  # sums of states, then of sums, up to one
        self._changed: set[int] = set()  # places

    def mark(self, key: Hashable) -> None:
        """Note that the state of a key is replaced or removed, now or soon."""
        place = self._places.get(key)
        if place is None:
            if not self._free:
                self._keys.append(None)
                self._free.append(len(self._keys) - 1)
            place = self._places[key] = self._free.pop()
        self._keys[place] = key
        self._changed.add(place)

    def total(self, states: Mapping[Any, Any], store: StatePacker[Any]) -> Any:
        """Return the sum of the states of all entries, which callers must not change; None if there is no state."""
        for place in self._changed:
            key = self._keys[place]
            if key is not None and key not in states:
                self._keys[place] = None
                del self._places[key]
                self._free.append(place)
        below: list[Any] = self._keys
        changed, level = self._changed, 0
        while level == 0 or len(below) > 1:
            fan = FANS[level] if level < len(FANS) else 2
            if level == len(self._levels):
                self._levels.append([])
            above = self._levels[level]
            above += [None] * (-(-len(below) // fan) - len(above))
            changed = {place // fan for place in changed}
            for place in changed:
                parts = below[place * fan : (place + 1) * fan]
                if level == 0:
                    parts = [None if key is None else states[key].state for key in parts]
                node = _sum([part for part in parts if part is not None], store)
                above[place] = store.packed(node) if level < len(FANS) else node
            below, level = above, level + 1
        self._changed = set()
        return store.thaw(below[0]) if below else None

    def copy(self) -> Self:
        """Return independent sums of the same states."""
        twin: Self = type(self)()
        twin._levels = [list(level) for level in self._levels]
        twin._keys, twin._places = list(self._keys), dict(self._places)
        twin._free, twin._changed = list(self._free), set(self._changed)
        return twin


def _sum(states: list[Any], store: StatePacker[Any]) -> Any:
    """Return the merge of states: of one, itself, and of none, None."""
    if len(states) < 2:
        return states[0] if states else None
    total = store.copied(states[0])
    for state in states[1:]:
        total.merge(store.thaw(state))
    return total
