"""What a monitor knows of its source: what the source reports, how fast records come, and which were rejected."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.events.arrivals import reading_time
from stream_metrics.monitor.events.recent import RecentRejects
from stream_metrics.monitor.events.records import Rejected
from stream_metrics.monitor.group import Group
from stream_metrics.monitor.view.types import SourceState

__all__ = ["DEAD_LETTERS", "SourceStatus"]

DEAD_LETTERS = 100
SECONDS = 10  # over which the rate of records is measured
UNASSIGNED = "no partition is assigned to this process now; it shows what was counted before"


class SourceStatus:
    """The state of a source; `letters` are the records that were rejected last, from the oldest on.

    Silence counts from the last event; before the first one, from when the process `started`, by the clock.

    `lag` is how many records the source is behind, by (topic, partition), None if that is unknown; `problem` is why it
    cannot deliver records now; `ended` whether no more will come. `letters` is read and changed under the lock of the
    monitor.
    """

    def __init__(self, config: Config, letters: Iterable[Rejected], started: float) -> None:
        self._started = started
        self.lag: Mapping[tuple[str, int], int] | None = None
        self.problem: str | None = None
        self.ended = False
        self.letters: deque[Rejected] = deque(letters, DEAD_LETTERS)
        lengths = [parse_duration(name, "windows") for name in config.counting.windows]
        self._idle = min([parse_duration(config.source.idle, "idle"), *lengths]) / 1e9
        self._recent = RecentRejects()
        self._read = 0
        self._rate: deque[tuple[float, int]] = deque([(time.monotonic(), 0)], SECONDS)

    def note_rejected(self, read: int, rejected: Sequence[Rejected]) -> None:
        """Note how many records were read, and which of them were rejected."""
        self.letters.extend(rejected)
        self._recent.note(time.monotonic(), read, len(rejected))

    def note_read(self, records: int) -> None:
        """Add to the number of records that were read."""
        self._read += records

    def measure(self, now: float) -> None:
        """Take the number of records once a second, for the rate; `now` is by time.monotonic."""
        if now - self._rate[-1][0] >= 1:
            self._rate.append((now, self._read))

    def per_second(self) -> float:
        """Return how many records were read in a second, of the last ten seconds."""
        then, read_then = self._rate[0]
        return (self._read - read_then) / max(time.monotonic() - then, 1e-9)

    def rejected_share(self) -> float | None:
        """Return the share of recent records that were rejected; None before there is a record."""
        return self._recent.share(time.monotonic())

    def reading_time(self, group: Group, now: float) -> float | None:
        """Return the time at which windows are read; None if there was no event."""
        lag = None if group.lag is None else sum(group.lag.values())
        return reading_time((each.arrivals for each in group.partitions), now, lag, self.ended)

    def view(self, group: Group, now: float, at: float | None, unassigned: bool) -> SourceState:
        """Return what the view shows; `at` is the time at which windows are read."""
        last = max((each.arrivals.last for each in group.partitions if each.arrivals.last is not None), default=None)
        self._started = min(self._started, now)  # the clock may be set back
        silence = max(now - (self._started if last is None else last), 0.0)
        if group.problem is not None:
            state = "away"
        elif self.ended:
            state = "ended"
        elif unassigned:
            return SourceState("unassigned", UNASSIGNED, silence, self._idle, at)
        elif silence >= self._idle:
            state = "silent"
        else:
            state = "waiting" if last is None else "live"
        return SourceState(state, group.problem, silence, self._idle, at)
