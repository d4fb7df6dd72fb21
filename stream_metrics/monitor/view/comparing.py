"""Better or worse: the difference of a metric between a window and an earlier value, with the intervals of both.

The interval of a difference follows from those of the two values (Zou and Donner 2008, "MOVER"): with values a and b
and their ends, it is

    a - b - sqrt((a - low(a))^2 + (high(b) - b)^2)   to   a - b + sqrt((high(a) - a)^2 + (b - low(b))^2)

So it is as skewed as they are, and as wide as the rarest class makes them, where an error of all samples alike would
call noise a change. The ends are moved out for the number of metrics: at one look at one window of a model that has not
changed, the chance is at most 5 % that any metric of the headline is called better or worse. Windows that share samples
differ less than this allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stream_metrics.formulas.stats.normal import normal_quantile
from stream_metrics.monitor.view.intervals import LEVEL
from stream_metrics.monitor.view.types import Bounds, Number, WindowComparison, WindowView

__all__ = ["Earlier", "compared"]

SMALLEST = 1e-12  # of a difference that is more than rounding


class Earlier(NamedTuple):
    """Earlier values of a window: a name, their time, the values, and the intervals that can be trusted.

    `covers` is how many seconds up to their time they cover; None is the length of another window.
    """

    against: str
    at: float
    metrics: Mapping[str, Number | None]
    intervals: Mapping[str, Bounds | None]
    covers: float | None = None


def compared(part: WindowView, keys: Sequence[str], earlier: Sequence[Earlier]) -> dict[str, list[WindowComparison]]:
    """Return the comparisons of each metric of a window with the earlier values, where both have a value."""
    scale = normal_quantile(1 - (1 - LEVEL) / (2 * max(len(keys), 1))) / normal_quantile((1 + LEVEL) / 2)
    comparisons: dict[str, list[WindowComparison]] = {}
    for key in keys:
        rows = [row for other in earlier if (row := _comparison(part, key, other, scale)) is not None]
        if rows:
            comparisons[key] = rows
    return comparisons


def _comparison(part: WindowView, key: str, other: Earlier, scale: float) -> WindowComparison | None:
    now, then = part.metrics.get(key), other.metrics.get(key)
    if now is None or then is None:
        return None
    row = WindowComparison(other.against, other.at, then, now - then, covers=other.covers)
    mine, theirs = part.intervals.get(key), other.intervals.get(key)
    if note := part.interval_notes.get(key):
        row.reason = f"the interval is not to be trusted: {note}"
    elif mine is None or theirs is None:
        row.reason = f"no interval {'now' if mine is None else 'then'}"
    else:
        below = scale * math.hypot(now - mine[0], theirs[1] - then)
        above = scale * math.hypot(mine[1] - now, then - theirs[0])
        row.low, row.high = row.difference - below, row.difference + above
        row.verdict = _verdict(row.low, row.high, part.better.get(key))
        if row.verdict is None and part.better.get(key) is not None:
            row.reason = "no more than chance may be"
    return row


def _verdict(low: float, high: float, better: str | None) -> str | None:
    if better is None or (low <= SMALLEST and high >= -SMALLEST):
        return None
    return "better" if (low > 0) == (better == "higher") else "worse"
