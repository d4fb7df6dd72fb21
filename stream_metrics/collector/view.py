"""The view of a collector: the metrics of all workers together, and the workers that need attention.

It is the view of a monitor, with one window, the total; what only a monitor has stays empty.

**Trend lines** have a bounded number of points. Workers send whole states without times of samples, so a line has the
times at which these were read. Points are at least an interval apart. At 360 points every other one is dropped and the
interval doubles. So the lines always reach back to the start, with 180 to 360 points, and the newest reading is always
the last point.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from stream_metrics.collector.collector import Collector
from stream_metrics.collector.store import Life
from stream_metrics.containers.workers import Worker
from stream_metrics.errors import MergeError, quantity
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.view.types import Flows, Lines, Records, View, WindowView, WorkerRow, Workers
from stream_metrics.monitor.view.window_view import snapshot_view
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot

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


TOTAL = "total"
MOST_ROWS = 200
MOST_GROUPS = 200
URGENCY = {"missing": 0, "silent": 1, "live": 2}


class CollectorView:
    """Makes views of a collector; one thread at a time."""

    def __init__(self, collector: Collector, title: str, metrics: Sequence[str], expected: Sequence[str] = ()) -> None:
        self._collector, self._title, self._metrics = collector, title, tuple(metrics)
        self._expected = tuple(dict.fromkeys(expected))
        self._history = MetricHistory(self._metrics)
        self._changes, self._window = -1, WindowView()

    def __call__(self) -> View:
        """Return the view of this moment."""
        now, collector = time.time(), self._collector
        changes = collector.changes
        if changes != self._changes:
            self._window, self._changes = self._read(), changes
        self._history.note(now, self._window)
        workers = self._workers()
        read = sum(workers.outcomes.values()) + sum(workers.refused.values())
        return View(
            title=self._title,
            now=now,
            started=collector.started,
            windows=[TOTAL],
            headline=list(self._metrics),
            by_window={TOTAL: self._window},
            history={TOTAL: self._history.lines()},
            records=Records(read, workers.refused),
            flows=Flows({"records_read": read}, workers.refused),
            checkpoint=collector.checkpoint(),
            incomplete=list(_incomplete(workers)),
            dead_letters=list(collector.letters),
            workers=workers,
        )

    def _read(self) -> WindowView:
        """Return the metrics of all workers; only their number for states that have no metrics of classes."""
        try:
            snapshot: Any = self._collector.total().snapshot()
        except MergeError:  # no worker has reported
            return WindowView()
        by_group: dict[Label, Snapshot] = {}
        folded = 0
        if isinstance(snapshot, GroupSnapshot):
            folded = 0 if snapshot.other is None else snapshot.other.n
            largest = sorted(snapshot, key=lambda group: -snapshot[group].n)
            by_group = {group: snapshot[group] for group in largest[:MOST_GROUPS]}
            folded += sum(snapshot[group].n for group in largest[MOST_GROUPS:])
            snapshot = snapshot.overall
        if not (isinstance(snapshot, Snapshot) and "counts" in snapshot.evaluation.views):
            return WindowView(n=getattr(snapshot, "n", 0))
        return snapshot_view(snapshot, self._metrics, valid="anytime", by_group=by_group, folded=folded)

    def _workers(self) -> Workers:
        collector = self._collector
        lives, workers = collector.lives(), collector.aggregate().workers()
        rows = [_row(name, *lives[name], worker, collector.options.silent) for name, worker in _known(lives, workers)]
        rows += [WorkerRow(name, "missing") for name in self._expected if name not in lives]
        shown = nsmallest(MOST_ROWS, rows, key=lambda row: (URGENCY[row.state], -(row.age or 0.0), row.worker))
        states = [row.state for row in rows]
        return Workers(
            live=states.count("live"),
            silent=states.count("silent"),
            missing=states.count("missing"),
            retired=collector.lives_in_base + sum(life.standing != "live" for life, _ in lives.values()),
            expected=len(self._expected) or None,
            outcomes=dict(collector.outcomes),
            refused=dict(collector.refused),
            rows=shown,
            omitted=len(rows) - len(shown),
        )


def _known(lives: Mapping[str, tuple[Life, float]], workers: Mapping[Label, Worker]) -> Iterator[tuple[str, Worker]]:
    """Yield the live workers that both know; one may have come between two looks."""
    for name, worker in workers.items():
        if name in lives and lives[str(name)][0].standing == "live":
            yield str(name), worker


def _row(name: str, life: Life, quiet: float, worker: Worker, silent: float) -> WorkerRow:
    state = "silent" if quiet > silent else "live"
    return WorkerRow(name, state, worker.n, max(time.time() - life.seen, 0.0), *worker[4:])


def _incomplete(workers: Workers) -> Iterator[str]:
    """Yield what the total may lack."""
    if workers.missing:
        yield f"{quantity(workers.missing, 'expected worker')} missing"
    if workers.silent:
        yield f"{quantity(workers.silent, 'worker')} silent"
