"""Stored panes of a range of time: where the range can be cut, and the merged state of each piece.

A pane cannot be divided, so a range can be cut only where no stored pane of any partition spans the cut. Other cuts
move to the nearest edge of a pane, and the ends of a range move outwards. So a piece has every sample of its time and
no other, and callers report its actual bounds.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from stream_metrics.monitor.archive.states import State, state_of
from stream_metrics.monitor.archive.writing import complete_from
from stream_metrics.monitor.store.rows import Extent

__all__ = ["PaneSource", "RangePiece", "complete", "cut_every", "cuts", "merged", "pieces", "steps"]

SECOND = 10**9
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
STEPS = (
    *(n * SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 5, 10, 30, 100, 365)),
)


class PaneSource(Protocol):
    """The panes of all partitions as they were at one moment; times are nanoseconds since 1970."""

    def archives(self) -> dict[int, bytes | None]:
        """Return the facts about the panes of each partition that has counted anything."""

    def names(self) -> list[str]:
        """Return the names of panes."""

    def bounds(self, name: str) -> tuple[int, int] | None:
        """Return the start of the first pane of a name and the end of the last; None if there is none."""

    def extents(self, name: str, start: int, end: int) -> list[Extent]:
        """Return which panes of a name overlap a range."""

    def bodies(self, name: str, start: int, end: int) -> Iterable[bytes]:
        """Return, or yield, the states of the panes of a name that overlap a range."""


class RangePiece(NamedTuple):
    """A piece of a range, and the panes in it."""

    start: int
    end: int
    panes: tuple[Extent, ...]


def steps(start: int, end: int, most: int) -> list[int]:
    """Return a range with cuts at even times, so that there are at most `most` pieces and one; one if `most` is 1."""
    if most == 1:
        return [start, end]
    least = max((end - start) / most, 1)
    step = next((step for step in STEPS if step >= least), None) or -int(-least // DAY) * DAY
    return cut_every(start, end, step)


def cut_every(start: int, end: int, step: int) -> list[int]:
    """Return a range with cuts at all multiples of a step."""
    return [start, *range(start // step * step + step, end, step), end]


def cuts(extents: Sequence[Extent], wanted: Sequence[int]) -> list[int]:
    """Return where a range can be cut, as near as possible to `wanted`; at least the two ends."""
    spans: list[tuple[int, int]] = []  # no cut may lie inside one
    for start, end in sorted({(pane.start, pane.start + pane.length) for pane in extents}):
        if spans and start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(end, spans[-1][1])
        else:
            spans.append((start, end))
    starts = [start for start, _ in spans]

    def near(t: int, way: Callable[[tuple[int, int]], int]) -> int:
        at = bisect_left(starts, t) - 1
        return way(spans[at]) if at >= 0 and t < spans[at][1] else t

    first, *inner, last = wanted
    low, high = near(first, min), near(last, max)
    between = {near(t, lambda span, t=t: min(span, key=lambda edge: abs(edge - t))) for t in inner}  # type: ignore[misc]
    return [low, *sorted(t for t in between if low < t < high), high]


def pieces(panes: PaneSource, name: str, wanted: Sequence[int]) -> list[RangePiece]:
    """Return the pieces of a range, cut as near as possible to `wanted`."""
    low, high = wanted[0], wanted[-1]
    while True:
        extents = panes.extents(name, low, high)
        edges = cuts(extents, wanted)
        if (edges[0], edges[-1]) == (low, high):
            break
        low, high = edges[0], edges[-1]  # a long pane at an end: shorter ones may lie beside it
    extents.sort(key=lambda pane: pane.start)
    starts = [pane.start for pane in extents]
    return [
        RangePiece(start, end, tuple(extents[bisect_left(starts, start) : bisect_left(starts, end)]))
        for start, end in itertools.pairwise(edges)
    ]


def merged(panes: PaneSource, name: str, start: int, end: int) -> State | None:
    """Return the merged state of a piece; None if it has no panes."""
    total: State | None = None
    for body in panes.bodies(name, start, end):
        state = state_of(body)
        total = state if total is None else total.merge(state)  # type: ignore[arg-type]
    return total


def complete(panes: PaneSource, name: str) -> int | None:
    """Return from when the panes of a name have every sample of every partition; None if from the first one."""
    since = [complete_from(about, name) for about in panes.archives().values()]
    return max((t for t in since if t is not None), default=None)
