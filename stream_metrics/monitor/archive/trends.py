"""Trend lines: what the metrics of each window were at earlier times of events, from stored panes.

A point has the samples of one length of a window, as the window had them at that time. So a backlog that is read in a
minute is drawn over the days of its events, a restart changes no point, and all workers that share a store draw the
same. If the points must be further apart than a window is long, each has all samples since the point before it; the
total has lines like those of the shortest window. `covers` says how long the stretch of each point is.

Panes are read again only if they have changed. What takes long is done in parts, one at each look.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, TypeAlias

from stream_metrics.inputs.times import format_duration, to_epoch_ns
from stream_metrics.labels.json_names import json_number
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.archive.reading import DAY, STEPS, PaneSource, complete, merged
from stream_metrics.monitor.archive.writing import COUNTS
from stream_metrics.monitor.counts.panes import Panes as Window
from stream_metrics.monitor.store.rows import Extent, StoreError
from stream_metrics.monitor.view.types import Bounds, Lines, Number
from stream_metrics.monitor.view.window_reading import check_cut
from stream_metrics.monitor.view.window_view import values_and_intervals

LOG = logging.getLogger("stream_metrics.monitor")
MOST_POINTS = 360
REACH = 2 * DAY  # how far back lines go, or
LENGTHS = 48  # of a window, if that is longer
LONGEST = 400 * DAY  # for the total
BUDGET = 0.25  # seconds at one look
SHARE = 3  # at most one part in four of the time, until all lines are read, and then
STEADY = 50
LEAST = 1.0  # seconds between two looks at the store
DIGITS = 6  # after the point, which is more than a line can show


class Point(NamedTuple):
    """A stretch of time up to `at`, in seconds since 1970, and how long it is; its samples, metrics and intervals."""

    at: float
    covers: float
    n: int
    metrics: Mapping[str, Number | None]
    intervals: Mapping[str, Bounds | None]


_States: TypeAlias = dict[tuple[int, int], tuple[int, bytes]]  # of cells, by step and number, and of which panes


class _Plan(NamedTuple):
    """Where the points of a line are: cell k is the time from k * step to (k + 1) * step, in nanoseconds."""

    step: int
    cells: int  # that each point covers: those up to its own
    first: int  # the cell of the first point
    end: int  # the cell after that of the last point


class Trends:
    """The lines of windows whose `lengths` are in nanoseconds, by name, and of `total`; `panes` opens the store.

    One thread at a time calls it.
    """

    def __init__(
        self, panes: Callable[[], AbstractContextManager[PaneSource]], lengths: Mapping[str, int], total: str
    ) -> None:
        self._panes = panes
        shortest = min(lengths.values(), default=0)
        self._lines = {total: _Line(shortest, LONGEST)}
        self._lines |= {name: _Line(length, max(REACH, LENGTHS * length)) for name, length in lengths.items()}
        self._states: _States = {}
        self._due = -math.inf
        self._seen: object = None
        self._problem = ""

    def look(self, at: float, keys: Sequence[str], *, quiet: bool, counted: object, whole: bool = False) -> None:
        """Read what is new up to a time, with the values of some metrics.

        While samples come, what the last stored pane covers may be incomplete, so lines end before it unless it is
        `quiet`. `counted` differs whenever more may be stored. A `whole` look computes all points at once.
        """
        started = time.monotonic()
        seen = (counted, tuple(keys), quiet, at // 10)
        done = all(line.done for line in self._lines.values())
        if (started < self._due and not whole) or (done and seen == self._seen):
            return
        self._seen = seen
        try:
            with self._panes() as panes:
                self._read(panes, to_epoch_ns(at), tuple(keys), quiet, math.inf if whole else started + BUDGET)
            self._problem = ""
        except StoreError as error:
            if self._problem != str(error):
                LOG.warning("the trend lines cannot be read: %s", error)
            self._problem = str(error)
        spent, done = time.monotonic() - started, all(line.done for line in self._lines.values())
        self._due = started + spent + max(LEAST, (STEADY if done else SHARE) * spent)

    def _read(self, panes: PaneSource, at: int, keys: tuple[str, ...], quiet: bool, limit: float) -> None:
        bounds, since = panes.bounds(COUNTS), complete(panes, COUNTS)
        if bounds is None:
            return
        for line in self._lines.values():
            low = max(bounds[0], at - line.reach)
            extents = panes.extents(COUNTS, low - line.length, at)
            end = at if quiet else min(at, max((pane.start for pane in extents), default=at))
            line.follow(extents, _plan(extents, (low, end), line.length, low == bounds[0], since), keys)
            line.read(panes, limit, self._states)
        if all(line.done for line in self._lines.values()):
            self._states.clear()

    def points(self, window: str) -> list[Point]:
        """Return the points of a line, the oldest first."""
        return self._lines[window].points

    def before(self, window: str, t: float) -> Point | None:
        """Return the last point up to a time in seconds; None if there is none near it."""
        point = next((point for point in reversed(self.points(window)) if point.at <= t), None)
        return point if point is not None and t - point.at < 2 * point.covers else None

    def lines(self, keys: Sequence[str], newest: Mapping[str, Point]) -> dict[str, Lines]:
        """Return the lines of each window: times `t`, samples `n`, and metrics, up to the `newest` points."""
        shown = {}
        for window in self._lines:
            points = self.points(window)
            if window in newest:
                points = [*(point for point in points if point.at < newest[window].at), newest[window]]
            lines: Lines = {"t": [point.at for point in points], "n": [point.n for point in points]}
            for key in keys:
                lines[key] = [_rounded(point.metrics.get(key)) for point in points]
            shown[window] = lines
        return shown

    def covers(self, window: str) -> float | None:
        """Return how many seconds each point of a line covers; None without points."""
        points = self.points(window)
        return points[-1].covers if points else None


class _Line:
    """The points of one line, each computed again once a pane in it has changed."""

    def __init__(self, length: int, reach: int) -> None:
        self.length, self.reach = length, reach
        self.points: list[Point] = []
        self._plan = _Plan(0, 0, 0, 0)
        self._keys: tuple[str, ...] = ()
        self._cells: dict[int, int] = {}  # a number for the panes in each cell that has some
        self._by_cell: dict[int, Point] = {}
        self._shown_step = 0
        self._outdated: set[int] = set()  # points that are to be computed, or computed again

    @property
    def done(self) -> bool:
        """Whether all points are those of the panes that were seen last."""
        return not self._outdated

    def follow(self, extents: Sequence[Extent], plan: _Plan, keys: tuple[str, ...]) -> None:
        """Note which of the points of a plan are to be computed."""
        if (plan.step, plan.cells, keys) != (self._plan.step, self._plan.cells, self._keys):
            self._cells, self._by_cell, self._outdated = {}, {}, set()
        self._plan, self._keys = plan, keys
        cells = _by_cell(extents, plan)
        changed = [k for k in cells.keys() | self._cells.keys() if cells.get(k) != self._cells.get(k)]
        shown = range(plan.first, plan.end)
        self._outdated.update(k + after for k in changed for after in range(plan.cells))
        self._outdated.update(k for k in shown if k not in self._by_cell)
        self._outdated.intersection_update(shown)
        self._cells = cells
        self._by_cell = {k: point for k, point in self._by_cell.items() if k in shown}

    def read(self, panes: PaneSource, limit: float, states: _States) -> None:
        """Compute points until all are done, or the time reaches a limit; `states` are those that lines share."""
        plan = self._plan
        window: Window[MetricSet] | None = None
        last = -1  # the cell that the window has last
        for k in sorted(self._outdated):
            if window is None or k - plan.cells > last:
                window, last = None, k - plan.cells
            for cell in range(last + 1, k + 1):
                state = self._state(panes, cell, states)
                if state is not None:
                    window = window or _window(state, plan)
                    window.add(cell * plan.step, state)
                if window is not None:
                    window.settle(cell * plan.step)
            last = k
            self._by_cell[k] = self._point(k, None if window is None else window.merged(k * plan.step))
            self._outdated.discard(k)
            if time.monotonic() >= limit:
                break
        if self.done or plan.step == self._shown_step:
            self.points = [self._by_cell[k] for k in sorted(self._by_cell)]
            self._shown_step = plan.step

    def _state(self, panes: PaneSource, cell: int, states: _States) -> MetricSet | None:
        """Return the samples of a cell; None if it has none."""
        check_cut()
        now = self._cells.get(cell)
        if now is None:
            return None
        step = self._plan.step
        before, data = states.get((step, cell), (None, b""))
        if before == now:
            return MetricSet.from_bytes(data)
        state = merged(panes, COUNTS, cell * step, (cell + 1) * step)
        if not isinstance(state, MetricSet):
            return None
        states[step, cell] = now, state.to_bytes()
        return state

    def _point(self, k: int, state: MetricSet | None) -> Point:
        at, covers = (k + 1) * self._plan.step / 1e9, self._plan.cells * self._plan.step / 1e9
        if state is None or not state.n + state.abstained:
            return Point(at, covers, 0, {}, {})
        return Point(at, covers, *values_and_intervals(state, self._keys))


def _plan(
    extents: Sequence[Extent], ends: tuple[int, int], length: int, from_start: bool, since: int | None
) -> _Plan:
    """Return where points are: at most so many, as near to each other as the longest pane between the ends allows.

    Points lack no sample: they do not cover times before `since`, nor panes that are longer than a cell. Nothing is
    before the first of the `ends` if it is `from_start`.
    """
    low, end = ends
    pane = max((each.length for each in extents if each.start + each.length > low), default=1)
    least = max(-(-(end - low) // MOST_POINTS), pane)
    steps = [step for step in STEPS if step >= least and not step % pane]
    step = next((step for step in steps if step >= length or not length % step), -(-least // pane) * pane)
    cells = max(-(-length // step), 1)
    longer = [each.start + each.length for each in extents if step % each.length]
    known = max([*longer, *([] if since is None else [since])], default=None)
    first = low // step if from_start else -(-low // step)
    if known is not None:
        first = max(first, -(-known // step) + cells - 1)
    return _Plan(step, cells, first, end // step)


def _by_cell(extents: Sequence[Extent], plan: _Plan) -> dict[int, int]:
    """Return a number for the panes in each cell that lies in a point, which differs if any of them has changed."""
    rows: dict[int, list[Extent]] = {}
    for each in extents:
        k = each.start // plan.step
        if plan.first - plan.cells < k < plan.end and not plan.step % each.length:
            rows.setdefault(k, []).append(each)
    return {k: hash(tuple(sorted(row))) for k, row in rows.items()}


def _window(state: MetricSet, plan: _Plan) -> Window[MetricSet]:
    """Return an empty window of states like this one."""
    empty = state.copy()
    empty.reset()
    return Window(empty, format_duration(plan.cells * plan.step), plan.cells)


def _rounded(value: object) -> float | None:
    number = json_number(value)
    return None if number is None else round(number, DIGITS)
