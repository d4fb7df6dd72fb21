"""The view of a collector: the metrics of all workers together, and the workers that need attention.

It is the view of a monitor, with one window, the total; what only a monitor has stays empty.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from stream_metrics.collector.collector import Collector
from stream_metrics.collector.history import MetricHistory
from stream_metrics.collector.store import Life
from stream_metrics.containers.workers import Worker
from stream_metrics.errors import MergeError, quantity
from stream_metrics.labels import Label
from stream_metrics.monitor.view.types import Flows, Records, View, WindowView, WorkerRow, Workers
from stream_metrics.monitor.view.window_view import snapshot_view
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["CollectorView"]

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
