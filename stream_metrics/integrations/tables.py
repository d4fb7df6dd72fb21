"""Shared by the engines: the columns that are read of a table, and a tree of merges.

A table is an Arrow table or record batch, a pandas data frame, or a mapping from name to column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from stream_metrics.tables.fields import Fields, count_table, empty_copy

__all__ = ["Fields", "empty_copy", "count_table", "merge_in_tree"]

T = TypeVar("T")


def merge_in_tree(parts: Iterable[T], merge: Callable[[list[T]], T], fan_in: int) -> list[T]:
    """Merge `fan_in` parts at a time, as they come, then such merges; return the last ones, at most `fan_in`.

    Raises ``ValueError`` if `fan_in` is not a whole number above 1.
    """
    if not isinstance(fan_in, int) or fan_in < 2:
        raise ValueError(f"Expected `fan_in` to be a whole number above 1, but got {fan_in!r}")
    levels: list[list[T]] = [[]]
    for part in parts:
        levels[0].append(part)
        level = 0
        while len(levels[level]) > fan_in:
            merged, levels[level] = merge(levels[level][:fan_in]), levels[level][fan_in:]
            level += 1
            if level == len(levels):
                levels.append([])
            levels[level].append(merged)
    last = [part for level_parts in reversed(levels) for part in level_parts]
    while len(last) > fan_in:
        last = [*last[:-fan_in], merge(last[-fan_in:])]
    return last
