"""Metrics of a range of time, piece by piece, of all samples or of one group, from stored panes.

A pane cannot be divided, so a range can be cut only where no stored pane of any partition spans the cut. Other cuts
move to the nearest edge of a pane, and the ends of a range move outwards. So a piece has every sample of its time and
no other, and callers report its actual bounds.

The values of a piece are computed again only if its panes have changed, so a page can ask every few seconds.
"""

from __future__ import annotations

import itertools
import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import parse_qsl

import msgspec

from stream_metrics.catalog.table import find
from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import StreamMetricsError
from stream_metrics.monitor.archive.writing import COUNTS, State, by_group, complete_from, moment, state_of
from stream_metrics.monitor.store.rows import Extent, StoreError
from stream_metrics.monitor.view.group_view import group_interval, group_value
from stream_metrics.monitor.view.window_reading import LEVEL, class_key, intervals, names_of, split_key, value
from stream_metrics.snapshots.snapshot import Snapshot

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


POINTS, MOST_POINTS = 200, 2000
CACHED = 10_000  # points
KEY = r'(?:[^",]|"(?:[^"\\]|\\.)*")+'  # of a metric, up to a comma that is not in the name of a class
FIELDS = ("from", "to", "metrics", "points", "group")


class QueryError(StreamMetricsError, ValueError):
    """A query that cannot be answered."""


class Asked(NamedTuple):
    """A query for a range; without `start` or `end`, the range begins or ends where the stored panes do."""

    start: int | None
    end: int | None
    metrics: tuple[str, ...]
    points: int
    group: str | None


def asked(query: str, metrics: Sequence[str], now: float) -> Asked:
    """Parse the query string of an address; `metrics` are the default. ``QueryError`` says what is wrong."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=10) if query else []
        fields = dict(pairs)
        if len(fields) < len(pairs) or not fields.keys() <= {*FIELDS}:
            names = ", ".join(name for name, _ in pairs)
            raise QueryError(f"Expected some of {', '.join(FIELDS)}, each once, but got {names}")
        times = [moment(fields[name], name, now) if fields.get(name) else None for name in ("from", "to")]
        keys = tuple(_key(key) for key in re.findall(KEY, fields.get("metrics", "")) if key.strip())
        points = fields.get("points", str(POINTS))
        if not (points.isascii() and points.isdigit() and 1 <= int(points[:9]) <= MOST_POINTS):
            raise QueryError(f"Expected `points` to be from 1 to {MOST_POINTS}, but got {points!r:.20}")
    except (KeyError, ValueError) as error:
        raise error if isinstance(error, QueryError) else QueryError(str(error)) from None
    return Asked(times[0], times[1], keys or tuple(metrics), int(points), fields.get("group"))


def _key(text: str) -> str:
    """Return the key of a metric, or of one of a class; KeyError if there is none."""
    key, name = split_key(text.strip())
    return find(key).key if name is None else class_key(find(key).key, name)


class RangeAnswers:
    """Answers from the panes that `panes` opens, with groups by `field`; any thread may call it."""

    def __init__(self, panes: Callable[[], AbstractContextManager[PaneSource]], field: str) -> None:
        self._panes, self._groups = panes, by_group(field)
        self._lock = threading.Lock()
        self._cache: dict[tuple[object, ...], dict[str, Any]] = {}

    def json(self, query: str, metrics: Sequence[str], now: float) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON that answer a query string; see `asked`."""
        try:
            return 200, msgspec.json.encode(self.answer(asked(query, metrics, now)))
        except QueryError as error:
            return 400, msgspec.json.encode({"error": str(error)})
        except StoreError as error:
            return 503, msgspec.json.encode({"error": str(error)})

    def answer(self, what: Asked) -> dict[str, Any]:
        """Return the values of a range; ``QueryError`` if it ends before it begins."""
        name = COUNTS if what.group is None else self._groups
        with self._lock, self._panes() as panes:
            bounds = panes.bounds(name)
            first, last = bounds or (what.start or 0, what.end or HOUR)
            start = first if what.start is None else what.start
            end = max(last, start + 1) if what.end is None else what.end
            if start >= end:
                raise QueryError(f"Expected `to` to be after `from`, but got {end / 1e9} and {start / 1e9}")
            parts = pieces(panes, name, steps(start, end, what.points))
            low, high = parts[0].start, parts[-1].end
            since = complete(panes, name)
            return {
                "from": low / 1e9,
                "to": high / 1e9,
                "complete_from": (low if since is None else min(max(since, low), high)) / 1e9,
                "first": None if bounds is None else bounds[0] / 1e9,
                "last": None if bounds is None else bounds[1] / 1e9,
                "points": [self._point(panes, name, part, what) for part in parts],
            }

    def _point(self, panes: PaneSource, name: str, piece: RangePiece, what: Asked) -> dict[str, Any]:
        key = name, what.group, what.metrics, piece
        if key not in self._cache:
            if len(self._cache) >= CACHED:
                self._cache.clear()
            snapshot, folded = _read(panes, name, piece, what.group) if piece.panes else (None, False)
            self._cache[key] = _values(snapshot, what.metrics, grouped=what.group is not None, folded=folded)
        return {"from": piece.start / 1e9, "to": piece.end / 1e9, **self._cache[key]}


def _read(panes: PaneSource, name: str, piece: RangePiece, group: str | None) -> tuple[Snapshot | None, bool]:
    """Return the counts of a piece, or of one of its groups, and whether those without counts may be among others."""
    state = merged(panes, name, piece.start, piece.end)
    if state is None or group is None:
        return None if state is None else cast(Snapshot, state.snapshot()), False
    groups = cast(ByGroup, state)
    label = dict(zip(names_of(groups.groups), groups.groups, strict=True)).get(group)
    return (None, groups.folded > 0) if label is None else (Snapshot(groups.state(label)), False)


def values_of(state: State | None, keys: Sequence[str]) -> dict[str, Any]:
    """Return the values of a state of all samples."""
    return _values(None if state is None else cast(Snapshot, state.snapshot()), keys)


def _values(
    snapshot: Snapshot | None, keys: Sequence[str], grouped: bool = False, folded: bool = False
) -> dict[str, Any]:
    """Return the values of a snapshot, or of that of one group; `n` is None if a group was counted with others."""
    if snapshot is None:
        return {"n": None if folded else 0, "values": dict.fromkeys(keys), "low": {}, "high": {}}
    values = {key: group_value(snapshot, key) if grouped else value(snapshot, key) for key in keys}
    known = [key for key in keys if values[key] is not None]
    if grouped:
        bounds = {key: group_interval(snapshot, key, LEVEL, "fixed").bounds for key in known}
    else:
        bounds, _ = intervals(snapshot, known, "fixed")
    ends = {key: pair for key, pair in bounds.items() if pair is not None}
    return {
        "n": snapshot.n,
        "values": values,
        "low": {key: low for key, (low, _) in ends.items()},
        "high": {key: high for key, (_, high) in ends.items()},
    }
