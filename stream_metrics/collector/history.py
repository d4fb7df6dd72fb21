"""Trend lines of a collector: the headline metrics of all workers at each look, in a bounded number of points.

Workers send whole states without times of samples, so a line has the times at which these were read. Points are at
least an interval apart. At 360 points every other one is dropped and the interval doubles. So the lines always reach
back to the start, with 180 to 360 points, and the newest reading is always the last point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.view.types import Lines, WindowView

__all__ = ["MOST_POINTS", "MetricHistory"]

MOST_POINTS = 360
FIRST_INTERVAL = 1.0  # seconds
DIGITS = 6  # after the point, which is more than a line can show


class MetricHistory:
    """The lines of some metrics, and of the number of samples `n`, by time."""

    def __init__(self, metrics: Sequence[str], interval: float = FIRST_INTERVAL) -> None:
        if not interval > 0:
            raise ValueError(f"Expected `interval` to be above 0 seconds, but got {interval!r}")
        self.metrics = tuple(metrics)
        self.interval = float(interval)
        self._points: list[tuple[float, list[float | None]]] = []
        self._newest: tuple[float, list[float | None]] | None = None  # not far enough from the last point, or that one

    def note(self, t: float, window: WindowView) -> None:
        """Take the values of a moment; one that is before the last moment is passed over."""
        if not math.isfinite(t) or (self._newest is not None and t < self._newest[0]):
            return
        self._newest = float(t), [_number(window.n), *(_number(window.metrics.get(key)) for key in self.metrics)]
        if not self._points or t >= self._points[-1][0] + self.interval:
            self._points.append(self._newest)
        while len(self._points) >= MOST_POINTS:
            self._points = self._points[::2]
            self.interval *= 2

    def lines(self) -> Lines:
        """Return the times `t`, `n`, and each metric, None where it had no value."""
        points = list(self._points)
        if self._newest is not None and points and points[-1][0] < self._newest[0]:
            points.append(self._newest)
        columns = {key: [values[at] for _, values in points] for at, key in enumerate(("n", *self.metrics))}
        return {"t": [t for t, _ in points], **columns}


def _number(value: object) -> float | None:
    number = json_number(value)
    return None if number is None else round(number, DIGITS)
