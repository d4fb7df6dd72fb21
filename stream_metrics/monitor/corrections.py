"""Reverting a pair: in the total, windows and groups, in all of them or in none.

Every state is changed in a copy first, one pane of each window, so that a failure halfway changes nothing. A rank
sketch can revert as long as every score has a cell of its own. A folded group, or one that would become empty while
others are folded, cannot be reverted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.monitor.pairs import Chunk, Columns, Pair, Rows, chunk, sorted_out
from stream_metrics.monitor.panes import Panes

if TYPE_CHECKING:
    from stream_metrics.monitor.counting import Counts

__all__ = ["corrected"]

Change = tuple[Any, int | None, Any]  # what holds a state, the number of its pane if it is a window, and the new state


def corrected(counts: Counts, old: Pair, new: Pair) -> bool:
    """Take one pair back and count the other; see `Counts.correct`."""
    (before, earlier), (after, later) = _alone(counts, old), _alone(counts, new)
    batch = counts.empty.copy()
    after.feed(batch)
    counts.check_room(batch)
    changes = _without(counts, before, int(counts.clock(earlier)[0]), earlier.groups and earlier.groups[0])
    if changes is None:
        return False
    for holder, number, state in changes:
        if number is not None:
            holder.replace(number, state)
        elif holder is counts.total:
            counts.total = state
        else:
            counts.groups["total"] = state
    counts.total.merge(batch)
    counts.put(batch, after, later)
    counts.move(int(counts.clock(later)[0]))
    return True


def _alone(counts: Counts, pair: Pair) -> tuple[Rows, Chunk]:
    """Return a pair as rows and as columns; StreamMetricsError if it cannot be counted."""
    refused: dict[int, StreamMetricsError] = {}
    columns, rejected = chunk(Columns(*zip(pair, strict=True)))
    if columns is None:
        raise LabelError(rejected[0].detail)
    rows = sorted_out(columns, counts.empty, refused.__setitem__)
    for error in refused.values():
        raise error
    return rows[0], columns


def _without(counts: Counts, old: Rows, t: int, group: Any) -> list[Change] | None:
    """Return the states without a row of the time `t`; None if it cannot be taken back from one of them.

    A window that the row has left already has nothing to take back.
    """
    changes: list[Change] = []
    w = 1 if old.weights is None else old.weights[0]
    try:
        for holder in (counts.total, *counts.windows.values()):
            changes += _changed(holder, t, lambda state: old.one(state, 0, "revert"))
        for holder in counts.groups.values() if group is not None else ():
            changes += _changed(holder, t, lambda state: state.revert_one(old.truths[0], old.labels[0], w, group))
    except (StreamMetricsError, ValueError):
        return None
    return changes


def _changed(holder: Any, t: int, change: Callable[[Any], object]) -> list[Change]:
    """Return the holder, the number of the pane, and a changed copy of its state; nothing if the pane is gone."""
    number = holder.number(t) if isinstance(holder, Panes) else None
    if isinstance(holder, Panes) and number is None:
        return []
    state = holder.copy() if number is None else holder.alone(number)
    change(state)
    return [(holder, number, state)]
