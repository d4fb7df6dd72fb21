"""What a view says of earlier times: trend lines, comparisons with earlier windows and the reference, any range."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.archive.answers import RangeAnswers
from stream_metrics.monitor.archive.reading import PaneSource
from stream_metrics.monitor.archive.trends import Point, Trends
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.counting import TOTAL
from stream_metrics.monitor.store import TemporaryPanes
from stream_metrics.monitor.store.tables import StateStore
from stream_metrics.monitor.view.comparing import Earlier, compared
from stream_metrics.monitor.view.reference import ReferenceKeeper
from stream_metrics.monitor.view.types import View

__all__ = ["History"]


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
