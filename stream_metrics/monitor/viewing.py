"""Views of a monitor: what was counted, how it works, what others set to be shown, and what it says of earlier times.

That is trend lines, comparisons with earlier windows and the reference, and any range.

Counts are copied under the lock of the monitor and read outside, so that counting waits only for the copies. Any thread
may ask for a view.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.alerts.drift import changes_view
from stream_metrics.monitor.alerts.engine import Needs, rule_view
from stream_metrics.monitor.archive.reading import PaneSource, RangeAnswers
from stream_metrics.monitor.archive.trends import Point, Trends
from stream_metrics.monitor.assignment import Assignment, Notes, SourceStatus
from stream_metrics.monitor.checkpoints import Checkpoints
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.counting import TOTAL, PartCounts
from stream_metrics.monitor.join.joining import JoinStats
from stream_metrics.monitor.store import TemporaryPanes
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.view.group_view import Earlier, compared
from stream_metrics.monitor.view.types import Alert, Firing, Undelivered, View
from stream_metrics.monitor.view.view import Annotations, ReferenceKeeper, WindowViews, operation_view, view
from stream_metrics.monitor.view.window_reading import Reading, read
from stream_metrics.report.headlines import MONITOR


class History:
    """The history of the windows, read from stored panes; one thread at a time calls it, except for `answer_range`."""

    def __init__(self, config: Config, panes: StateStore | TemporaryPanes) -> None:
        lengths = {name: parse_duration(name, "windows") for name in config.counting.windows}
        self._lengths = {name: length / 1e9 for name, length in lengths.items()}
        self.reference = ReferenceKeeper(self._lengths, config.counting.reference)
        self._panes, self._reading = panes, threading.Lock()
        self._ranges = RangeAnswers(self._all_panes, config.fields.group)
        self._trends = Trends(self._all_panes, lengths, TOTAL)

    @contextmanager
    def _all_panes(self) -> Iterator[PaneSource]:
        """Give the stored panes of all partitions to one thread at a time."""
        with self._reading, self._panes.all_panes() as panes:
            yield panes

    def answer_range(self, query: str, headline: Sequence[str], now: float) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON that answer the query of `/api/range`."""
        return self._ranges.json(query, headline, now)

    def add_to(self, shown: View, at: float | None, unsaved: bool, saves: int, whole: bool = False) -> None:
        """Set what a view says of earlier times; `at` is the time at which its windows were read.

        `unsaved` is whether panes that are not stored yet have counts, `saves` how many checkpoints stored some. All
        points of the trend lines are computed now for a view that is `whole`.
        """
        self._draw(shown, at, unsaved, saves, whole)
        self._compare(shown, at)

    def _draw(self, shown: View, at: float | None, unsaved: bool, saves: int, whole: bool) -> None:
        """Set the trend lines, which end with the windows as they are."""
        newest: dict[str, Point] = {}
        if at is not None:
            quiet = shown.source.state in ("silent", "ended") and not unsaved
            counted = [saves, *((each.partition, each.next) for each in shown.partitions)]
            self._trends.look(at, shown.headline, quiet=quiet, counted=counted, whole=whole)
            lengths = {TOTAL: min(self._lengths, key=self._lengths.__getitem__, default=None)}
            for line, name in (lengths | {name: name for name in self._lengths}).items():
                if name is not None and self._trends.covers(line) in (None, self._lengths[name]):
                    part = shown.by_window[name]
                    newest[line] = Point(at, self._lengths[name], part.n, part.metrics, {})
        shown.history = self._trends.lines(shown.headline, newest)
        covers = {name: newest[name].covers if name in newest else self._trends.covers(name) for name in shown.windows}
        shown.history_covers = {name: length for name, length in covers.items() if length is not None}

    def _compare(self, shown: View, at: float | None) -> None:
        """Compare the headline of each window with the same window one length ago, and with the reference."""
        shown.reference = reference = self.reference.shown(shown.headline)
        for name, part in shown.by_window.items():
            earlier = []
            if at is not None and name in self._lengths:
                before = self._trends.before(name, at - self._lengths[name])
                if before is not None:
                    earlier.append(Earlier("before", before.at, before.metrics, before.intervals, before.covers))
            if reference is not None:
                earlier.append(Earlier("reference", reference.at, reference.metrics, reference.intervals))
            part.comparisons = compared(part, shown.headline, earlier)


class Viewing:
    """Makes the views of a monitor from its parts; `annotations` and `history.reference` are part of its notes."""

    def __init__(
        self,
        config: Config,
        assignment: Assignment,
        source: SourceStatus,
        checkpoints: Checkpoints,
        notes: Notes,
        clock: Callable[[], float],
    ) -> None:
        self._config, self._clock = config, clock
        self._assignment, self._source, self._checkpoints, self._notes = assignment, source, checkpoints, notes
        self.annotations = Annotations()
        self.history = History(config, assignment.panes)
        notes.attach_common("reference", self.history.reference.to_data, self.history.reference.merge)
        notes.attach_common("annotations", self.annotations.to_data, self.annotations.merge)
        self._showing = threading.Lock()  # of the windows, the history and the annotations
        self._windows = WindowViews()
        self._headline = config.counting.metrics or MONITOR
        self._extra_metrics: tuple[str, ...] = ()  # that rules need, beside those that the view always has
        self._alerts: list[Alert] = []
        self._undelivered: list[Undelivered] = []
        self._delivery_failures = 0
        self._firings: list[Firing] = []

    def show_alerts(
        self, alerts: list[Alert], undelivered: list[Undelivered], failures: int, firings: Sequence[Firing]
    ) -> None:
        """Set the alerts that views show, those that were not delivered, how many so far, and when alerts fired."""
        self._alerts, self._undelivered, self._delivery_failures = alerts, undelivered, failures
        self._firings = list(firings)

    def add_metrics(self, keys: Iterable[str]) -> None:
        """Add metrics to those that views have."""
        self._extra_metrics = tuple(dict.fromkeys((*self._extra_metrics, *keys)))

    def annotate(self, text: str, at: float | None) -> None:
        """Add a text about the model, of now or of a time in seconds; ValueError if it is empty or too long."""
        with self._showing:
            self.annotations.add(text, self._clock() if at is None else at)

    def _merge_notes(self) -> None:
        """Merge the notes that any worker may change."""
        if self._assignment.replicas is not None:
            self._notes.merge(self._assignment.replicas.note)

    def take_reference(self, window: str) -> None:
        """Make this window, as it is now, the reference; ValueError if it has no samples."""
        readings, _, _, at = self._read_counts()
        with self._showing:
            self._merge_notes()
            self.history.reference.take(window, readings, at)

    def counts(self) -> PartCounts:
        """Return the counts of all partitions together, a copy; those of other workers as of their checkpoints."""
        with self._assignment.lock:
            copies = [partition.counts.copy() for partition in self._assignment.group(self._source).partitions]
        total = self._empty()
        for each in copies:
            total.merge(each)
        return total

    def _empty(self) -> PartCounts:
        return PartCounts(self._config.counting, self._config.join.due)

    def stats(self) -> JoinStats:
        """Return the outcomes of predictions and labels in all partitions together."""
        with self._assignment.lock:
            partitions = self._assignment.group(self._source).partitions
            return JoinStats.total(partition.joiner.stats() for partition in partitions)

    def answer_range(self, query: str) -> tuple[int, bytes]:
        """Return the HTTP status and the JSON that answer the query of `/api/range`."""
        return self.history.answer_range(query, self._headline, self._clock())

    def view(self, whole: bool = False) -> View:
        """Return everything that is shown; with all points of the trend lines if it is `whole`."""
        readings, operation, now, at = self._read_counts()
        with self._showing:
            self._merge_notes()
            self.history.reference.look(readings, at)
            options, more = self._config.counting, self._extra_metrics
            shown = view(readings, options, operation, now=now, extra_metrics=more, windows=self._windows)
            self._headline = tuple(shown.headline)
            unsaved = self._assignment.unsaved()  # before the number of checkpoints: one may be made meanwhile
            self.history.add_to(shown, at, unsaved, self._checkpoints.saves, whole)
        return shown

    def rule_view(self, needs: Needs) -> View:
        """Return what rules need, which costs little."""
        readings, operation, now, _ = self._read_counts()
        return rule_view(readings, operation, needs, now)

    def _read_counts(self) -> tuple[dict[str, Reading], View, float, float | None]:
        """Return the windows, the view without them, the time of the clock, and that at which windows are read."""
        with self._assignment.lock:
            group = self._assignment.group(self._source)
            partitions, now = group.partitions, self._clock()
            for each in partitions:
                each.arrivals.move_back(now)
            at = self._source.reading_time(group, now)
            readings = read(
                [each.counts for each in partitions] or [self._empty()],
                at,
                None if self._source.ended else [each.arrivals.time(now) for each in partitions] or None,
            )
            operation = operation_view(partitions, group.lag)
            operation.changes = changes_view((each.number, each.changes) for each in partitions)
            operation.flows = self._assignment.flows_view()
            operation.source = self._source.view(group, now, at, self._assignment.unassigned)
            operation.records.rejected_share = group.rejected_share(self._source.rejected_share())
            group.mark(operation)
        operation.started, operation.alerts = self._checkpoints.started, self._alerts
        operation.undelivered, operation.delivery_failures = self._undelivered, self._delivery_failures
        operation.firings = self._firings
        operation.annotations = self.annotations.rows
        operation.records.per_second = self._source.per_second() + group.others_per_second
        if operation.event_time is not None:
            operation.lag.seconds = max(now - operation.event_time, 0.0)
        operation.checkpoint = self._checkpoints.view(now)
        return readings, operation, now, at
