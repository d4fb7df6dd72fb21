"""Groups as plain data: the headline metrics of each with intervals, worst first, and the gaps between them.

**Better or worse.** The interval of a difference follows from those of the two values (Zou and Donner 2008, "MOVER"):
with values a and b and their ends, it is

    a - b - sqrt((a - low(a))^2 + (high(b) - b)^2)   to   a - b + sqrt((high(a) - a)^2 + (b - low(b))^2)

So it is as skewed as they are, and as wide as the rarest class makes them, where an error of all samples alike would
call noise a change. The ends are moved out for the number of metrics: at one look at one window of a model that has not
changed, the chance is at most 5 % that any metric of the headline is called better or worse. Windows that share samples
differ less than this allows.

**Groups.** A mean over classes is over the classes of the true labels in the group. Otherwise a group in which a class
never occurs would have a 0 for it, and the largest gap would say which groups lack classes. Its interval is the mean of
intervals of these classes that hold together, which allows for any dependence between them. Few samples differ by
chance, so gaps are between groups of 30 samples and more, and have intervals. Where there is no interval, a note says
why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import quantity
from stream_metrics.evaluation.evaluation import State
from stream_metrics.formulas.protocol import Counts, memoized
from stream_metrics.formulas.stats.normal import normal_quantile
from stream_metrics.inference.intervals.dispatch import class_bounds
from stream_metrics.inference.intervals.folds import weight_problem
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.inference.intervals.many_matrices import ManyMatrices, NotedEnds
from stream_metrics.inference.intervals.resampling import enough_draws
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.view.types import (
    GAP_SAMPLES,
    Bounds,
    GroupGap,
    GroupRow,
    Groups,
    Number,
    WindowComparison,
    WindowView,
)
from stream_metrics.monitor.view.window_reading import LEVEL, check_cut, labelled, names_of, spec, value
from stream_metrics.snapshots.snapshot import Snapshot

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


MOST_INTERVALS = 100  # rows
AT_ONCE = 2**17  # cells and classes of groups whose intervals are computed together, 1 MB for each step
UNITS = 10_000  # to 1 of the bounds of rows
MEANS = {
    "macro_precision": "precision",
    "macro_recall": "recall",
    "macro_specificity": "specificity",
    "macro_f1": "f1",
    "macro_jaccard": "jaccard",
}  # metrics in which a class without samples counts, and what they are the mean of


class Range(NamedTuple):
    """The ends of an interval, None if there is none, and why there is none or why it is not to be trusted."""

    bounds: Bounds | None
    note: str = ""


class ShownGroups:
    """The rows of the last view, with the counts that they are of; a group that has not changed keeps its row."""

    def __init__(self) -> None:
        self._rows: dict[Label, tuple[State, GroupRow]] = {}

    def row(self, group: Label, view: Snapshot) -> GroupRow | None:
        """Return the row of a group; None if its counts are others than in the last view."""
        counts, row = self._rows.get(group, (None, None))
        state = view.evaluation.states["counts"]
        return row if counts is not None and counts.n == state.n and counts == state else None

    def replace(self, snapshots: Mapping[Label, Snapshot], rows: Mapping[Label, GroupRow]) -> None:
        """Take over what is shown now."""
        self._rows = {group: (snapshots[group].evaluation.states["counts"], row) for group, row in rows.items()}


def groups_view(
    snapshots: Mapping[Label, Snapshot],
    folded: int,
    keys: Sequence[str],
    valid: str = "fixed",
    shown: ShownGroups | None = None,
) -> Groups:
    """Return metrics of every group, the worst first by the first that groups have; `valid` is that of intervals.

    `shown` has the rows of the last view with the same options, and takes over the new ones.
    """
    shown = shown or ShownGroups()
    names = dict(zip(snapshots, names_of(tuple(snapshots)), strict=True))
    of_labels = [key for key in keys if spec(key).state == "counts"]
    rows = {group: shown.row(group, view) or _row(view, keys) for group, view in snapshots.items()}
    values = {group: row.metrics for group, row in rows.items()}
    order = list(snapshots)
    first = next((key for key in of_labels if spec(key).direction is not None), None)
    if first is not None:
        order.sort(key=lambda group: _badness(values[group][first], spec(first).direction))
    without = [group for group in order[:MOST_INTERVALS] if not (rows[group].intervals or rows[group].interval_notes)]
    rows |= _with_intervals({group: (rows[group], snapshots[group]) for group in without}, of_labels, valid)
    shown.replace(snapshots, rows)
    compared = {group: view for group, view in snapshots.items() if view.n >= GAP_SAMPLES}
    gaps = {}
    for key in of_labels:
        known_of = {group: x for group in compared if (x := values[group][key]) is not None}
        if len(known_of) > 1:
            low, high = min(known_of, key=known_of.__getitem__), max(known_of, key=known_of.__getitem__)
            bounds, note = _difference(compared[low], compared[high], key, len(known_of), valid)
            gaps[key] = GroupGap(known_of[high] - known_of[low], names[low], names[high], bounds, note)
    named = [structs.replace(rows[group], group=names[group]) for group in order]
    bare = [structs.replace(row, intervals={}, interval_notes={}) for row in named[MOST_INTERVALS:]]
    return Groups([*named[:MOST_INTERVALS], *bare], gaps, folded)


def _row(view: Snapshot, keys: Sequence[str]) -> GroupRow:
    """Return the row of a group, without a name and intervals."""
    lacks = len(view.labels) - len(_own(view)) if view.n and any(key in MEANS for key in keys) else 0
    return GroupRow("", view.n, {key: group_value(view, key) for key in keys}, classes_absent=lacks)


def _with_intervals(
    rows: Mapping[Label, tuple[GroupRow, Snapshot]], keys: Sequence[str], valid: str
) -> dict[Label, GroupRow]:
    """Return rows with the intervals of their values, or with the reasons why there is none."""
    together = _ranges_together([view for _, view in rows.values()], keys, valid)
    complete = {}
    for (group, (row, view)), known in zip(rows.items(), together, strict=True):
        some = [key for key in keys if row.metrics[key] is not None]
        ranges = {key: known.get(key) or group_interval(view, key, LEVEL, valid) for key in some}
        bounds = {key: _outwards(each.bounds) for key, each in ranges.items() if each.bounds is not None}
        notes = {key: each.note for key, each in ranges.items() if each.note}
        complete[group] = structs.replace(row, intervals=bounds, interval_notes=notes)
    return complete


def _ranges_together(views: Sequence[Snapshot], keys: Sequence[str], valid: str) -> list[dict[str, Range]]:
    """Return by metric those of the ranges of `group_interval` that can be computed for many groups at once."""
    ranges: list[dict[str, Range]] = [{} for _ in views]
    for part in _batches(views):
        some = [views[at] for at in part]
        many = ManyMatrices([view.evaluation for view in some], LEVEL, valid)
        for key in keys:
            check_cut()
            for at, ends in _ends_of(many, some, key).items():
                ranges[part[at]][key] = _range(*ends)
    return ranges


def _batches(views: Sequence[Snapshot]) -> Iterator[list[int]]:
    """Yield the places of views with samples and without weights or units, in batches of some groups."""
    batch, size = list[int](), 0
    for at, view in enumerate(views):
        if view.n and not view.evaluation.folds and not weight_problem(view.evaluation):
            c = view.evaluation.views["counts"]
            size += c.k + len(c.cells()[0])
            batch.append(at)
        if len(batch) > 1 and size > AT_ONCE:
            yield batch
            batch, size = [], 0
    if len(batch) > 1:
        yield batch


def _ends_of(many: ManyMatrices, views: Sequence[Snapshot], key: str) -> dict[int, NotedEnds]:
    """Return the ends of the intervals of a metric by the places of groups."""
    classes = {at: own for at, view in enumerate(views) if (own := _some_classes(view, key)) is not None}
    ends = {} if len(classes) == len(views) or key not in CATALOG else many.whole(key, classes)
    return ends | (many.mean_of_classes(MEANS[key], classes) if classes else {})


def classes_present(view: Snapshot) -> list[Label]:
    """Return the classes of the matrix of a group that have true samples."""
    return [view.labels[at] for at in _own(view).tolist()]


def _own(view: Snapshot) -> NDArray[np.intp]:
    return _places_present(view.evaluation.views["counts"])


@memoized
def _places_present(c: Counts) -> NDArray[np.intp]:
    """Return the places of the classes that have true samples; once for all metrics of a group."""
    return np.flatnonzero(c.true_totals)


def _some_classes(view: Snapshot, key: str) -> NDArray[np.intp] | None:
    """Return the places of the classes that a metric of a group is the mean over; None for the metric itself."""
    if key not in MEANS:
        return None
    own = _own(view)
    return own if 0 < len(own) < len(view.labels) else None


def group_value(view: Snapshot, key: str) -> Number | None:
    """Return a metric of a group; means over classes leave out the classes that the group does not have."""
    check_cut()
    own = _some_classes(view, key)
    if own is None:
        return value(view, key)
    each = view.evaluation.value_and_undefined(MEANS[key])[0][own].tolist()
    return json_number(math.fsum(each) / len(each))


def _outwards(bounds: Bounds) -> Bounds:
    """Return bounds rounded outwards, since there are many."""
    low, high = bounds
    return math.floor(low * UNITS) / UNITS, math.ceil(high * UNITS) / UNITS


def group_interval(view: Snapshot, key: str, level: float, valid: str) -> Range:
    """Return the interval of `group_value`, of one look or of all that are `valid`."""
    check_cut()
    if reason := weight_problem(view.evaluation):
        return Range(None, reason)
    try:
        if (own := _some_classes(view, key)) is not None:
            return _mean_interval(view, MEANS[key], own, 1 - (1 - level) / len(own), valid)
        metric, label = labelled(view, key)
        interval = view.interval(metric, level, label=label, valid=valid, draws=enough_draws(level))
    except (KeyError, ValueError):
        return Range(None, "this metric has no interval")
    assert isinstance(interval, Interval)
    return _range(interval.low, interval.high, interval.note)


def _mean_interval(view: Snapshot, key: str, own: NDArray[np.intp], each: float, valid: str) -> Range:
    """Return the interval of a mean over some classes, from those of the classes, of the level `each`."""
    low, high, notes = class_bounds(view.evaluation, key, each, valid=valid, draws=enough_draws(each))
    first, last = (math.fsum(part[own].tolist()) / len(own) for part in (low, high))
    return _range(first, last, next((notes[at] for at in own.tolist() if notes[at]), ""))


def _range(low: float, high: float, note: str) -> Range:
    if not (math.isfinite(low) and math.isfinite(high)):
        return Range(None, "a class has no predictions, or nothing is known of it")
    return Range((low, high), note)


def _difference(low: Snapshot, high: Snapshot, key: str, groups: int, valid: str) -> Range:
    """Return an interval of the difference of two groups that were chosen among several.

    It follows from intervals of both that would hold for all groups together.
    """
    ranges = [group_interval(view, key, 1 - (1 - LEVEL) / groups, valid) for view in (low, high)]
    notes = list(dict.fromkeys(each.note for each in ranges if each.note))
    if key in MEANS and (lacks := set(classes_present(low)) ^ set(classes_present(high))):
        notes.append(f"each mean is over the classes of its group, and only one of the two has {_some(lacks)}")
    (first, second), note = [each.bounds for each in ranges], "; ".join(notes)
    if first is None or second is None:
        return Range(None, note)
    return Range((max(second[0] - first[1], 0.0), second[1] - first[0]), note)


def _some(labels: set[Label]) -> str:
    names = sorted(names_of(tuple(labels)))
    return names[0] if len(names) == 1 else quantity(len(names), "class")


def _badness(number: float | None, better: str | None) -> float:
    """Return a sort key: the worst value first, and no value last."""
    if number is None:
        return math.inf
    return number if better == "higher" else -number
