"""How long panes are, and how long they are stored: by default minutes for 2 days, hours for 90 days, then days.

Every length divides the next one, so a pane of one level lies within a pane of the next. The age of a pane is measured
against the latest time of its partition. The limit between two levels moves in steps of the longer panes: when it
passes a long pane, all short panes in it are merged. So at any moment exactly one level covers each time, and only the
latest time determines which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

from stream_metrics.inputs.times import format_duration, parse_duration


class Level(NamedTuple):
    """Panes of a length, and the age from which they are merged into the next level; None is never. Nanoseconds."""

    length: int
    age: int | None


class PaneKey(NamedTuple):
    """Which pane: its length, and its start since 1970, in nanoseconds."""

    length: int
    start: int

    @property
    def end(self) -> int:
        """The first time after the pane."""
        return self.start + self.length


class Retention:
    """Levels from the shortest panes to the longest; without levels no panes are stored.

    If the last level has an age, older panes are deleted.
    """

    def __init__(self, levels: Sequence[Level]) -> None:
        self.levels = tuple(levels)
        for finer, coarser in pairwise(self.levels):
            if coarser.length <= finer.length or coarser.length % finer.length:
                lengths = format_duration(finer.length), format_duration(coarser.length)
                raise ValueError(f"Expected each length of `retention` to divide the next, but got {lengths}")
            if finer.age is None or (coarser.age is not None and coarser.age <= finer.age):
                raise ValueError("Expected the ages of `retention` to increase, and only the last to be left out")
        for level in self.levels:
            if level.age is not None and level.age < level.length:
                raise ValueError(
                    f"Expected `retention` to have panes for at least their length, {format_duration(level.length)}, "
                    f"but got {format_duration(level.age)}"
                )

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Parse texts such as "1m for 2d" or "1d", one for each level."""
        return cls([_level(text) for text in texts])

    def floors(self, seen: int | None, earlier: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the first time of each level if the latest time is `seen`, never before those of `earlier`."""
        if seen is None:
            return tuple(earlier)
        floors = []
        for at, level in enumerate(self.levels):
            coarser = self.levels[min(at + 1, len(self.levels) - 1)].length
            floors.append(_NEVER if level.age is None else (seen - level.age) // coarser * coarser)
        return tuple(map(max, floors, earlier)) if earlier else tuple(floors)

    def key(self, t: int, floors: Sequence[int]) -> PaneKey | None:
        """Return the pane of a time; None if that pane is too old to be stored."""
        for level, floor in zip(self.levels, floors or [_NEVER], strict=False):
            if t >= floor:
                return PaneKey(level.length, t // level.length * level.length)
        return None


_NEVER = -(2**63)


def _level(text: str) -> Level:
    length, word, age = (part.strip() for part in text.partition(" for "))
    return Level(parse_duration(length, "retention"), parse_duration(age, "retention") if word else None)
