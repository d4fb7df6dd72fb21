"""Correcting a pair: in the total, windows and groups, in all of them or in none.

Every state is changed in a copy first, one pane of each window, so that a failure halfway changes nothing. Labels,
losses and weights then equal those of a recount, to the bit. So do scores while every score has a cell of its own;
after that, a second sketch counts the removed pairs (see `MetricSet.remove`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import LabelError, StreamMetricsError
from stream_metrics.labels import Label
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.counts.batches import CountedRows, group_into_batches
from stream_metrics.monitor.counts.pairs import Chunk, Pair, PairColumns, validate_pairs
from stream_metrics.monitor.counts.panes import Panes, State

if TYPE_CHECKING:
    from stream_metrics.monitor.archive.writing import Archive
    from stream_metrics.monitor.counts.counting import PartCounts

__all__ = ["corrected"]


def corrected(counts: PartCounts, old: Pair, new: Pair) -> bool:
    """Take one pair back and count the other; see `Counts.correct`."""
    (before, earlier), (after, later) = _alone(counts, old), _alone(counts, new)
    batch = counts.empty.copy()
    after.feed(batch)
    counts.check_room(batch)
    groups = counts.groups_of(earlier)
    changes = _without(counts, before, int(counts.clock(earlier)[0]), groups[0] if groups else None)
    if changes is None:
        return False
    for change in changes:
        change()
    counts.total.merge(batch)
    counts.put(batch, after, later)
    counts.follow(int(counts.clock(later)[0]))
    return True


def _alone(counts: PartCounts, pair: Pair) -> tuple[CountedRows, Chunk]:
    """Return a pair as rows and as columns; StreamMetricsError if it cannot be counted."""
    refused: dict[int, StreamMetricsError] = {}
    columns, rejected = validate_pairs(PairColumns.of([pair]))
    if columns is None:
        raise LabelError(rejected[0].detail)
    rows = group_into_batches(columns, counts.empty, refused.__setitem__, counts.total.state)
    for error in refused.values():
        raise error
    return counts.classes.fold(rows)[0], columns


def _without(counts: PartCounts, old: CountedRows, t: int, group: Label | None) -> list[Callable[[], object]] | None:
    """Return calls that replace each state by one without a row of the time `t`; None if one never counted it.

    A window that the row has left already has nothing to remove.
    """

    def remove(state: MetricSet) -> None:
        old.one(state, 0, "remove")

    def remove_in_group(groups: ByGroup) -> None:
        groups._revert(old.truths[0], old.labels[0], 1 if old.weights is None else old.weights[0], group=group)

    total, total_groups = counts.total.copy(), counts.total_groups.copy()
    try:
        remove(total)
        changes: list[Callable[[], object]] = [partial(setattr, counts, "total", total)]
        for window in counts.windows.values():
            changes += _changed(window, t, remove)
        if group is not None:
            remove_in_group(total_groups)
            changes.append(partial(setattr, counts, "total_groups", total_groups))
            for panes in counts.groups.values():
                changes += _changed(panes, t, remove_in_group)
        if counts.archive is not None:
            changes += _archived(counts.archive, counts.archive.counts, t, remove)
            changes += _archived(counts.archive, counts.archive.groups, t, remove_in_group) if group is not None else []
    except (StreamMetricsError, ValueError):
        return None
    return changes


def _archived(archive: Archive, name: str, t: int, change: Callable[[Any], object]) -> list[partial[None]]:
    """Return the call that replaces the state of an archived pane by a changed copy; none if the pane is gone.

    If there are panes and none can be changed, the error of `change` is raised.
    """
    refusal: Exception | None = None
    for key, state in archive.copies(name, t):
        try:
            change(state)
        except (StreamMetricsError, ValueError) as error:
            refusal = error
        else:
            return [partial(archive.replace, name, key, state)]
    if refusal is not None:
        raise refusal
    return []


def _changed(panes: Panes[State], t: int, change: Callable[[State], object]) -> list[partial[None]]:
    """Return what replaces the state of a pane by a changed copy; nothing if the pane is gone."""
    number = panes.number(t)
    if number is None:
        return []
    state = panes.alone(number)
    change(state)
    return [partial(panes.replace, number, state)]
