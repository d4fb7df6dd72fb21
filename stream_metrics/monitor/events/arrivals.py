"""When events came, by the clock of the monitor, and how time passes without them.

Counts and the join know the time of events only, so that they are the same whenever records are read. What is *read*
of them must not stand still with the last event, or a window would show its samples for ever once the source falls
silent. So windows are read at a time that goes on:

- While records come and more are known to wait, that is the time of the newest event.
- Once the source is read to its end, or has delivered nothing for `IDLE` seconds, time passes with the clock: the
  windows end as far behind the clock as the freshest events were when they came.
- A source that has ended lets no time pass.
- A partition that is ahead of the clock does not move the others, unless all are.
- A clock that is set back does not stop time: it passes from where it was when that is noticed.

Events whose delay does not fit the others do not say how late it is: see `credible`. None of this is part of a state
or changes a count. It is stored beside the state, so that time also passes over a restart, and all workers that read
the stored counts read them at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["IDLE", "Arrivals", "reading_time"]

IDLE = 5.0  # seconds without an event, after which time passes also if records seem to wait
RECENT = 256  # events whose delays are known
FEW = 8  # events, below which no delay can be told to be wrong, and which as many that came at once count as
FENCE = 4.0  # times the interquartile range, and
SLACK = 1.0  # seconds: what is as far below the quartiles is not credible

Seconds = NDArray[np.float64]


def credible(delays: Seconds, came: Seconds) -> NDArray[np.bool_]:
    """Return which delays, in seconds between an event and its arrival, come from clocks that can be right.

    An event ahead of the clock is not credible unless most are. Nor is one that is far fresher than most of the others.
    Events that came at once count as `FEW` at most: after a backlog was read, a few fresh events are enough.
    """
    ahead = delays < 0
    usable = np.ones(len(delays), bool) if ahead.mean() > 0.5 else ~ahead
    if len(delays) >= FEW:
        _, arrival, sizes = np.unique(came, return_inverse=True, return_counts=True)
        order = np.argsort(delays)
        share = np.cumsum(np.minimum(1.0, FEW / sizes)[arrival[order]])
        low, high = delays[order][np.searchsorted(share, (share[-1] / 4, 3 * share[-1] / 4))]
        usable &= delays >= low - FENCE * (high - low) - SLACK
    return usable


class Arrivals:
    """The last events of one partition: when the last one came, and how far the freshest were behind the clock."""

    def __init__(self) -> None:
        self.last: float | None = None  # when the last event came, by the clock
        self.newest: float | None = None  # the time of the newest credible event, or that which the join has reached
        self.behind = 0.0  # the least credible delay so far, in seconds
        self._times: Seconds = np.empty(0)
        self._delays: Seconds = np.empty(0)

    def note(self, times: Sequence[float], now: float, reached: float = -math.inf) -> None:
        """Take note of the times of events that have just come, and of the time that the join has `reached` with them.

        Windows have moved there, so they cannot be read at an earlier time.
        """
        self.move_back(now)
        times_now = np.array(times[-RECENT:], np.float64)
        self._times = np.concatenate([self._times, times_now])[-RECENT:]
        self._delays = np.concatenate([self._delays, now - times_now])[-RECENT:]
        usable = credible(self._delays, np.round(self._times + self._delays, 3))
        behind = max(float(self._delays[usable].min()), 0.0)
        self.behind = behind if self.last is None else min(self.behind, behind)
        self.last, self.newest = now, max(float(self._times[usable].max()), reached)

    def move_back(self, now: float) -> None:
        """Follow a clock that was set back, so that no event seems to come later than now."""
        if self.last is not None and now < self.last:
            back = self.last - now
            self.last, self.behind, self._delays = now, max(self.behind - back, 0.0), self._delays - back

    def time(self, now: float) -> float | None:
        """Return the time of the newest event; of one that came from the future, as it goes on with the clock."""
        if self.newest is None or self.last is None or self.newest <= self.last:
            return self.newest
        return self.newest + max(now - self.last, 0.0)

    def content(self) -> list[object]:
        """Return all but `last` as it is stored."""
        return [self.newest, self.behind, self._times.tolist(), self._delays.tolist()]

    def load(self, content: Sequence[Any], last: float) -> None:
        """Load what `content` returned, with the time at which the last event came."""
        self.last = last
        self.newest, self.behind, times, delays = content
        self._times, self._delays = np.array(times, np.float64), np.array(delays, np.float64)


def reading_time(arrivals: Iterable[Arrivals], now: float, lag: int | None, ended: bool) -> float | None:
    """Return the time at which windows are read; None if there was no event.

    `lag` is how many records wait to be read, None if that is unknown; `ended` whether no more will come.
    """
    seen = [each for each in arrivals if each.last is not None]
    times = [t for each in seen if (t := each.newest if ended else each.time(now)) is not None]
    if not times:
        return None
    newest = min(times) if min(times) > now else min(max(times), now)
    if ended:
        return newest
    silence = now - max(each.last for each in seen if each.last is not None)
    if lag != 0 and silence < IDLE:
        return newest
    return max(newest, now - min(each.behind for each in seen))
