"""Ranges of records: (after, until) are those with numbers from after + 1 to until, or to the end if that is None."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from stream_metrics.cli.sources import Range

__all__ = ["WHOLE", "is_within", "joined", "overlap", "without_ranges"]

WHOLE: tuple[Range, ...] = ((0, None),)  # a file from its beginning to its end


def is_within(number: int, some: Range) -> bool:
    """Tell whether a record is in a range."""
    after, until = some
    return after < number and (until is None or number <= until)


def joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return ranges in order, with those that meet or overlap joined."""
    merged: list[Range] = []
    for after, until in sorted(ranges, key=_ends):
        last = merged[-1] if merged else None
        if last is not None and after <= _end(last):
            merged[-1] = last if _end((after, until)) <= _end(last) else (last[0], until)
        else:
            merged.append((after, until))
    return tuple(merged)


def overlap(some: Iterable[Range], others: Iterable[Range]) -> bool:
    """Tell whether a record is in ranges of both."""
    others = list(others)
    return any(one[0] < _end(other) and other[0] < _end(one) for one in some for other in others)


def without_ranges(after: int, until: int, ranges: Iterable[Range]) -> list[tuple[int, int]]:
    """Return the parts of a range that are in none of the ranges, which are in order and apart."""
    parts: list[tuple[int, int]] = []
    for some in ranges:
        if after < some[0]:
            parts.append((after, min(some[0], until)))
        after = max(after, int(min(_end(some), until)))
        if after >= until:
            return [part for part in parts if part[0] < part[1]]
    return [part for part in (*parts, (after, until)) if part[0] < part[1]]


def _end(some: Range) -> float:
    return inf if some[1] is None else some[1]


def _ends(some: Range) -> tuple[float, float]:
    return some[0], _end(some)
