"""How a report writes intervals, where a snapshot was asked to show them: [low, high] behind the value.

Bounds are rounded outwards, to as many decimals as tell the ends of the narrowest interval of a column apart. An
interval with a note has a question mark behind it, and the note stands below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.comparison import Difference
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.snapshot import Snapshot


DOUBT = "?"  # behind an interval with a note
FEWEST, MOST = 2, 6  # decimals of a bound


def shows_intervals(snapshot: Snapshot) -> bool:
    """Tell whether a snapshot was asked to show intervals, and can."""
    return snapshot.interval_display is not None and not snapshot.interval_problem()


def heading(snapshot: Snapshot) -> str:
    """Return the heading of a column of intervals; empty where none are shown."""
    shown = snapshot.interval_display
    return f"{100 * shown.level:g} % interval" if shown is not None and shows_intervals(snapshot) else ""


def interval_notes(snapshot: Snapshot) -> list[str]:
    """Return footnotes on the intervals of a snapshot."""
    shown = snapshot.interval_display
    if shown is None:
        return []
    if reason := snapshot.interval_problem():
        return [f"No intervals: {reason}"]
    looks = "this one look" if shown.valid == "fixed" else "every look, as often as you like"
    folds = len(snapshot.evaluation.folds)
    of = f"independent units, by leaving out each of {folds} folds" if folds else "independent samples"
    return [f"{100 * shown.level:g} % intervals, valid for {looks}, of {of}"]


def value_bounds(snapshot: Snapshot, key: str, *labels: Label) -> Interval | None:
    """Return the interval of a value as it is shown; None if there is none."""
    bounds = snapshot.displayed_interval(key)
    bounds = bounds.get(labels[0]) if isinstance(bounds, dict) and labels else bounds
    return None if bounds is None or isinstance(bounds, dict) or math.isnan(bounds.low) else bounds


def group_bounds(groups: GroupSnapshot) -> Snapshot | None:
    """Return a snapshot that says how the intervals of groups are to be read; None if none are shown."""
    return next((view for view in groups.values() if view.interval_display is not None), None)


def bracketed(intervals: Sequence[Interval | Difference | None]) -> list[str]:
    """Return the intervals of one column as text, empty where there is none."""
    there = [one for one in intervals if one is not None]
    if not there:
        return [""] * len(intervals)
    width = min((one.high - one.low for one in there if one.high > one.low), default=1.0)
    digits = min(max(1 - math.floor(math.log10(width)), FEWEST), MOST)
    return [
        "" if one is None else f"[{', '.join(bounds(one.low, one.high, digits))}]{DOUBT * bool(one.note)}"
        for one in intervals
    ]


def bounds(low: float, high: float, digits: int) -> tuple[str, str]:
    """Return two bounds as text, rounded outwards."""
    unit = Decimal(1).scaleb(-digits)
    return (
        f"{Decimal(low).quantize(unit, ROUND_FLOOR) + 0:f}",
        f"{Decimal(high).quantize(unit, ROUND_CEILING) + 0:f}",
    )


def doubts(intervals: Iterable[Interval | None]) -> list[str]:
    """Return why intervals are not to be trusted, each reason once."""
    reasons = dict.fromkeys(one.note for one in intervals if one is not None and one.note)
    return [f"{DOUBT}: not to be trusted, {'; '.join(reasons)}"] if reasons else []
