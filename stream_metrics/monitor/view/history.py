"""Trend lines: the headline metrics of each window over time, in a bounded number of points.

Points are at least an interval apart. At 360 points every other one is dropped and the interval doubles. So the lines
always reach back to the start, with 180 to 360 points, and the newest reading is always the last point.

The ends of trusted intervals are stored beside the values, because later values are compared with both (see
``comparing``). They are not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.view.types import Bounds, Lines, WindowView
from stream_metrics.report.headlines import MONITOR

__all__ = ["MOST_POINTS", "History"]

MOST_POINTS = 360
FIRST_INTERVAL = 1.0  # seconds
ENDS = ("low", "high")
DIGITS = 6  # after the point, which is more than a line can show
Point = tuple[float, dict[str, list[float | None]]]  # a time, and for each window the values of its lines


class History:
    """The lines of some windows: `n` and metrics by time. By default these are the usual metrics, or those restored."""

    def __init__(self, windows: Sequence[str], metrics: Sequence[str], interval: float = FIRST_INTERVAL) -> None:
        if not interval > 0:
            raise ValueError(f"Expected `interval` to be above 0 seconds, but got {interval!r}")
        self.windows = tuple(windows)
        self._automatic = not metrics
        self._set_lines(metrics or MONITOR)
        self.interval = float(interval)
        self._points: list[Point] = []
        self._newest: Point | None = None  # not yet far enough from the last point, or the last point itself

    def _set_lines(self, metrics: Sequence[str]) -> None:
        self.metrics = tuple(metrics)
        self.lines = ("n", *self.metrics)
        self._stored = (*self.lines, *(f"{key}.{end}" for key in self.metrics for end in ENDS))

    def follow(self, metrics: Sequence[str]) -> None:
        """Draw the lines of these metrics from now on; a new metric has no values before."""
        if tuple(metrics) == self.metrics:
            return
        before = self._stored
        self._set_lines(metrics)
        at = [before.index(line) if line in before else None for line in self._stored]
        points = [*self._points, *([] if self._newest is None else [self._newest])]
        for values in {id(values): values for _, values in points}.values():  # the newest may be the last point too
            for window, row in values.items():
                values[window] = [None if i is None else row[i] for i in at]

    def note(self, t: float, by_window: Mapping[str, WindowView]) -> None:
        """Take the values of a moment from `by_window` of a view; one that is before the last moment is passed over."""
        if not math.isfinite(t) or (self._newest is not None and t < self._newest[0]):
            return
        values = {window: self._values(by_window.get(window) or WindowView()) for window in self.windows}
        self._newest = float(t), values
        if not self._points or t >= self._points[-1][0] + self.interval:
            self._points.append(self._newest)
        while len(self._points) >= MOST_POINTS:
            self._points = self._points[::2]
            self.interval *= 2

    def _values(self, window: WindowView) -> list[float | None]:
        values = [_number(window.n), *(_number(window.metrics.get(key)) for key in self.metrics)]
        for key in self.metrics:
            ends = None if key in window.interval_notes else window.intervals.get(key)
            values += (None, None) if ends is None else map(_number, ends)
        return values

    def before(self, window: str, t: float) -> tuple[float, dict[str, float | None], dict[str, Bounds | None]] | None:
        """Return time, values and intervals of the last point up to `t`, or of the first; None if there is none."""
        point = next((each for each in reversed(self._points) if each[0] <= t), next(iter(self._points), None))
        if point is None:
            return None
        values = dict(zip(self._stored, point[1][window], strict=True))
        intervals: dict[str, Bounds | None] = {}
        for key in self.metrics:
            low, high = (values[f"{key}.{end}"] for end in ENDS)
            intervals[key] = None if low is None or high is None else (low, high)
        return point[0], {key: values[key] for key in self.metrics}, intervals

    def view(self) -> dict[str, Lines]:
        """Return the lines by window: the times `t`, `n`, and each metric, None where it had no value."""
        return {window: self._columns(window, self.lines) for window in self.windows}

    def _columns(self, window: str, lines: Sequence[str]) -> Lines:
        points = list(self._points)
        if self._newest is not None and points and points[-1][0] < self._newest[0]:
            points.append(self._newest)
        columns = list(zip(*(values[window] for _, values in points), strict=True)) or [()] * len(self._stored)
        named = dict(zip(self._stored, columns, strict=True))
        return {"t": [t for t, _ in points], **{line: list(named[line]) for line in lines}}

    def to_data(self) -> dict[str, object]:
        """Return everything as plain data, for the checkpoint."""
        lines = {window: self._columns(window, self._stored) for window in self.windows}
        return {"interval": self.interval, "lines": lines, "metrics": list(self.metrics)}

    def restore(self, data: Any) -> None:
        """Take over what `to_data` returned; windows and metrics that it lacks have no values before now.

        ValueError if it is no such data; the lines are then as before.
        """
        metrics = self.metrics
        try:
            interval, lines = float(data["interval"]), data["lines"]
            if self._automatic and "metrics" in data:
                self._set_lines(list(map(str, data["metrics"])))
            times = next((list(window["t"]) for window in lines.values()), [])
            points: list[Point] = []
            for at, t in enumerate(times):
                values = {window: self._restored(lines.get(window, {}), at) for window in self.windows}
                points.append((float(t), values))
            rising = all(a[0] < b[0] for a, b in pairwise(points))
            if not (math.isfinite(interval) and interval > 0 and rising and len(points) <= MOST_POINTS):
                raise ValueError("an interval, and at most 360 times that rise")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            self._set_lines(metrics)
            raise ValueError(f"Expected trend lines as `to_data` returns them, but got others: {error}") from None
        self.interval, self._points, self._newest = interval, points, points[-1] if points else None

    def _restored(self, window: Mapping[str, Sequence[object]], at: int) -> list[float | None]:
        return [_number(window[line][at]) if line in window else None for line in self._stored]


def _number(value: object) -> float | None:
    number = json_number(value)
    return None if number is None else round(number, DIGITS)
