"""A view of a monitor: of its operation, and of what was counted in each window.

**Annotations** are what happened to the model, as texts with their times, such as deployments; the newest 200 are
stored.

**The reference** is the counts of a window as they were when the model did well, which later windows are compared with.

    reference = ReferenceKeeper(lengths, configured="1d")
    reference.look(readings, at)              # at every view: takes the configured window once it was full
    reference.take("1d", readings, at)        # on request, from now on
    reference.merge(other.to_data())          # from the checkpoint, or from another worker

The value before a window is forgotten when the window is over, so a model that got worse slowly, or stayed bad, looks
like itself. A reference stays until another one is taken. It is a copy: labels that are corrected afterwards do not
change it.

Workers that share a store merge their references. The one that was taken last wins, and any of them wins over one that
was taken without a request. References are numbered for this, since the clocks of workers differ.

**Counters** never fall: not by a correction, a restart, a crash, or a partition that moves. Prometheus takes a counter
that falls for one that was reset, and adds all of it once more. So only what grows is counted here (records, joined
labels, delays), and only what this process adds: a partition that comes from another process brings nothing, and one
that goes there takes nothing away. Counters are part of the checkpoint and are shown as the last one has them, since a
crash takes back what came later, and it is counted again.

Several processes that share a store have one set of notes in it, so there each counts from 0.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from stream_metrics.errors import StreamMetricsError
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.counts.counting import TOTAL, PartCounts
from stream_metrics.monitor.counts.coverage import BOUNDS, Delays
from stream_metrics.monitor.join.joining import JoinStats
from stream_metrics.monitor.view.group_view import ShownGroups
from stream_metrics.monitor.view.types import (
    Annotation,
    Flows,
    JoinCounts,
    Lag,
    PartitionRow,
    Records,
    Reference,
    View,
    WindowView,
)
from stream_metrics.monitor.view.window_reading import Reading, headline, read
from stream_metrics.monitor.view.window_view import snapshot_of, values_and_intervals, window_view

if TYPE_CHECKING:
    from stream_metrics.monitor.partition import Partition

MOST = 200
LONGEST = 500  # characters of a text


class Annotations:
    """Texts by time. An addition replaces the list, so other threads may read it.

    Merges in any order, also of older data, give the same texts.
    """

    def __init__(self) -> None:
        self.rows: list[Annotation] = []

    def add(self, text: str, at: float) -> None:
        """Add a text; ValueError if it is empty or too long, or the time is none."""
        if not text.strip() or len(text) > LONGEST:
            raise ValueError(f"Expected a text of 1 to {LONGEST} characters, but got {len(text)}")
        if not math.isfinite(at):
            raise ValueError(f"Expected a time in seconds since 1970, but got {at!r}")
        self._add([(at, text)])

    def to_data(self) -> list[list[object]]:
        """Return everything as plain data, for the checkpoint."""
        return [[row.at, row.text] for row in self.rows]

    def merge(self, data: Any) -> None:
        """Add the texts that `to_data` returned, None for none; ValueError if it is no such data."""
        try:
            self._add([(float(at), str(text)) for at, text in data or ()])
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected annotations as `to_data` returns them, but got others: {error}") from None

    def _add(self, texts: Iterable[tuple[float, str]]) -> None:
        every = {*texts, *((row.at, row.text) for row in self.rows)}
        self.rows = [Annotation(at, text) for at, text in sorted(every)[-MOST:]]


class ReferenceKeeper:
    """Takes and stores the reference; `lengths` are those of the windows in seconds, by name.

    `configured` is the window whose first full stretch is taken, "" for none. ValueError if there is no such window.
    """

    def __init__(self, lengths: Mapping[str, float], configured: str = "") -> None:
        if configured and configured not in lengths:
            raise ValueError(f"Expected `reference` to be one of the windows {list(lengths)}, but got {configured!r}")
        self._lengths, self._configured = dict(lengths), configured
        self._began: float | None = None  # when the first window was seen that had samples
        self._stored: tuple[int, str, float, bytes] | None = None  # number of requests, window, time and state
        self._shown: Reference | None = None
        self._keys: tuple[str, ...] = ()

    def look(self, readings: Mapping[str, Reading], at: float | None) -> None:
        """Take the configured window if it is full for the first time."""
        if at is None or not self._configured or self._stored is not None:
            return
        reading = readings.get(self._configured)
        if reading is None or not reading.state.n:
            return
        if self._began is None:
            self._began = at
        if at - self._began >= self._lengths[self._configured]:
            self._take(0, self._configured, readings, at)

    def take(self, window: str, readings: Mapping[str, Reading], at: float | None) -> None:
        """Take a window as it is; ValueError if there is no such window, or it has no samples."""
        self._take(1 if self._stored is None else self._stored[0] + 1, window, readings, at)

    def _take(self, request: int, window: str, readings: Mapping[str, Reading], at: float | None) -> None:
        reading = readings.get(window)
        if window not in self._lengths or reading is None or at is None or not reading.state.n:
            names = [name for name in self._lengths if name in readings and readings[name].state.n]
            raise ValueError(f"Expected one of the windows that have samples, {names}, but got {window!r}")
        self._stored, self._shown = (request, window, at, reading.state.to_bytes()), None

    def shown(self, keys: Sequence[str]) -> Reference | None:
        """Return the reference with the values of these metrics; None if there is none."""
        if self._stored is None:
            return None
        if self._shown is None or self._keys != tuple(keys):
            _, window, at, data = self._stored
            state: MetricSet = MetricSet.from_bytes(data)
            n, metrics, intervals = values_and_intervals(state, keys)
            self._shown = Reference(window, at - self._lengths.get(window, 0.0), at, n, metrics, intervals)
            self._keys = tuple(keys)
        return self._shown

    def to_data(self) -> dict[str, object]:
        """Return everything as plain data, for the checkpoint."""
        return {"began": self._began, "stored": None if self._stored is None else list(self._stored)}

    def merge(self, data: Any) -> None:
        """Take over what `to_data` returned where it is newer, None for nothing; ValueError if it is no such data.

        Merges in any order give the same reference.
        """
        if data is None:
            return
        try:
            began = None if data["began"] is None else float(data["began"])
            stored = None if data["stored"] is None else _checked(*data["stored"])
        except (KeyError, StreamMetricsError, TypeError, ValueError) as error:
            raise ValueError(f"Expected a reference as `to_data` returns it, but got another: {error}") from None
        self._began = min((each for each in (self._began, began) if each is not None), default=None)
        if stored is not None and (self._stored is None or stored > self._stored):
            self._stored, self._shown = stored, None


def _checked(request: int, window: str, at: float, state: bytes) -> tuple[int, str, float, bytes]:
    MetricSet.from_bytes(state)
    return int(request), str(window), float(at), bytes(state)


Key = tuple[str, str]  # a name, and a reason or a cell
JOIN = (
    ("labels_joined", "joined"),
    ("labels_late", "labels_late"),
    ("labels_duplicate", "labels_duplicate"),
    ("predictions_duplicate", "predictions_duplicate"),
    ("predictions_expired", "predictions_expired"),
    ("predictions_expired_early", "expired_early"),
    ("ids_forgotten", "forgotten"),
    ("corrections", "corrections"),
    ("corrections_refused", "corrections_refused"),
)
READ, REJECTED, CELL, MICROSECONDS = "records_read", "rejected", "delay", "delay_microseconds"


class FlowCounters:
    """The counters of one process; `kept` is what `content` returned before its restart, ValueError if it is not."""

    def __init__(self, kept: Any = None) -> None:
        try:
            self._counts: Counter[Key] = Counter({(str(a), str(b)): int(n) for a, b, n in kept or ()})
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected counters as `content` returns them, but got others: {error}") from None
        self._before: dict[int, Counter[Key]] = {}  # of each partition, what is part of the counts

    def assign(self, partition: Partition) -> None:
        """Count from here on what a partition adds."""
        self._before[partition.number] = _read(partition)

    def content(self, partitions: Iterable[Partition]) -> list[list[object]]:
        """Return the counters as they are with what these partitions have added, as plain data."""
        return [[*key, number] for key, number in sorted(self._with(partitions).items())]

    def commit(self, partitions: Iterable[Partition]) -> None:
        """Note that a checkpoint has these partitions."""
        partitions = list(partitions)
        self._counts = self._with(partitions)
        self._before |= {each.number: _read(each) for each in partitions}

    def view(self, partitions: Iterable[Partition] = ()) -> Flows:
        """Return the counters as of the last `commit`, and what these partitions have added since."""
        counts = self._with(partitions)
        names = [READ, *(name for name, _ in JOIN)]
        return Flows(
            counts={name: counts[name, ""] for name in names},
            rejected={reason: number for (name, reason), number in sorted(counts.items()) if name == REJECTED},
            delays=Delays(
                BOUNDS,
                tuple(counts[CELL, str(at)] for at in range(len(BOUNDS) + 1)),
                counts[MICROSECONDS, ""] / 1e6,
            ),
        )

    def _with(self, partitions: Iterable[Partition]) -> Counter[Key]:
        counts = self._counts.copy()
        for partition in partitions:
            counts.update(_read(partition))
            counts.subtract(self._before[partition.number])
        return counts


def _read(partition: Partition) -> Counter[Key]:
    """Return what a partition has counted since its first record."""
    stats = partition.joiner.stats()
    counts: Counter[Key] = Counter({(name, ""): getattr(stats, field) for name, field in JOIN})
    counts[READ, ""] = partition.read
    counts.update({(REJECTED, reason): number for reason, number in partition.rejected.items()})
    counts.update({(CELL, str(at)): number for at, number in enumerate(stats.delays.counts)})
    counts[MICROSECONDS, ""] = round(stats.delays.sum * 1e6)
    return counts


class WindowViews:
    """The newest view of each window. It is computed only if counts have changed, so a silent source costs little.

    The same holds for each group.
    """

    def __init__(self) -> None:
        self._views: dict[str, tuple[Reading, tuple[object, ...], WindowView, ShownGroups]] = {}

    def view(
        self, name: str, reading: Reading, headline: Sequence[str], extra_metrics: Sequence[str], valid: str
    ) -> WindowView:
        """Return the view of a window, whose states are not copied; see `window_view`."""
        options = tuple(headline), tuple(extra_metrics), valid
        earlier = self._views.get(name)
        if earlier is not None and earlier[1] != options:
            earlier = None
        if earlier is not None and earlier[0].equals(reading):
            return structs.replace(earlier[2])
        groups = ShownGroups() if earlier is None else earlier[3]
        shown = window_view(reading, headline, extra_metrics, valid, groups)
        self._views[name] = reading, options, shown, groups
        return structs.replace(shown)


def view(
    readings: Mapping[str, Reading],
    config: CountingTable,
    operation: View,
    *,
    now: float,
    extra_metrics: Sequence[str] = (),
    windows: WindowViews | None = None,
) -> View:
    """Return `operation` with the windows that `read` returned, whose states are taken over.

    `now` is the time of the clock; `extra_metrics` are shown beside those that always are. Without readings the windows
    are those of empty counts. `windows` has the views of the last call.
    """
    readings = readings or read([PartCounts(config)])
    windows = windows or WindowViews()
    keys = config.metrics or headline(snapshot_of(readings[TOTAL].state))
    return structs.replace(
        operation,
        title=config.title,
        now=now,
        windows=list(readings),
        headline=list(keys),
        by_window={
            name: windows.view(name, reading, keys, extra_metrics, "anytime" if name == TOTAL else "fixed")
            for name, reading in readings.items()
        },
    )


def operation_view(partitions: Sequence[Partition], lag: Mapping[tuple[str, int], int] | None) -> View:
    """Return the part of a view that is not about counts: the join, records, offsets.

    `lag` has the number of records behind by (topic, partition), None if that is unknown.
    """
    stats = JoinStats.total(partition.joiner.stats() for partition in partitions)
    lags: Counter[int] = Counter()
    for (_, number), behind in (lag or {}).items():
        lags[number] += behind
    rejected: Counter[str] = Counter()
    for partition in partitions:
        rejected.update(partition.rejected)
    return View(
        event_time=max((each.arrivals.newest for each in partitions if each.arrivals.newest is not None), default=None),
        join=JoinCounts(*(getattr(stats, name) for name in JoinCounts.__struct_fields__)),
        delays=stats.delays,
        records=Records(sum(partition.read for partition in partitions), dict(sorted(rejected.items()))),
        lag=Lag(None if lag is None else lags.total()),
        partitions=[
            PartitionRow(each.number, dict(each.next), None if lag is None else lags[each.number])
            for each in partitions
        ],
        unreadable=[each.unreadable for each in partitions if each.unreadable is not None],
        incomplete=[what for partition in partitions for what in partition.incomplete],
    )
