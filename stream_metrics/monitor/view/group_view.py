"""Groups as plain data: the headline metrics of each, worst first, and the gaps between them.

A mean over classes is over the classes of the true labels in the group. Otherwise a group in which a class never occurs
would have a 0 for it, and the largest gap would say which groups lack classes. Few samples differ by chance, so gaps
are between groups of 30 samples and more, and have intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.inference.intervals.resampling import enough_draws
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_number
from stream_metrics.monitor.view.headline import labelled, spec
from stream_metrics.monitor.view.intervals import LEVEL
from stream_metrics.monitor.view.names import names_of
from stream_metrics.monitor.view.types import GAP_SAMPLES, Bounds, Gap, GroupRow, Groups, Number
from stream_metrics.monitor.view.window_values import value
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["group_value", "groups_view"]

MEANS = {
    "macro_precision": "precision",
    "macro_recall": "recall",
    "macro_specificity": "specificity",
    "macro_f1": "f1",
    "macro_jaccard": "jaccard",
}  # metrics in which a class without samples counts, and what they are the mean of


def groups_view(snapshots: Mapping[Label, Snapshot], folded: int, keys: Sequence[str], valid: str = "fixed") -> Groups:
    """Return metrics of every group, the worst first by the first that groups have; `valid` is that of intervals."""
    names = dict(zip(snapshots, names_of(tuple(snapshots)), strict=True))
    of_labels = [key for key in keys if spec(key).state == "counts"]
    values = {group: {key: group_value(view, key) for key in keys} for group, view in snapshots.items()}
    rows = [GroupRow(names[group], view.n, values[group]) for group, view in snapshots.items()]
    compared = {group: view for group, view in snapshots.items() if view.n >= GAP_SAMPLES}
    gaps = {}
    for key in of_labels:
        known = {group: x for group in compared if (x := values[group][key]) is not None}
        if len(known) > 1:
            low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
            bounds = _difference(compared[low], compared[high], key, len(known), valid)
            gaps[key] = Gap(known[high] - known[low], names[low], names[high], bounds)
    first = next((key for key in of_labels if spec(key).direction is not None), None)
    if first is not None:
        rows.sort(key=lambda row: _badness(row.metrics[first], spec(first).direction))
    return Groups(rows, gaps, folded)


def _absent(view: Snapshot) -> bool:
    """Tell whether a class of the matrix of a group has no true sample."""
    return not view.evaluation.value_and_undefined("support")[0].all()


def group_value(view: Snapshot, key: str) -> Number | None:
    """Return a metric of a group; means over classes leave out the classes that the group does not have."""
    if key not in MEANS or not view.n or not _absent(view):
        return value(view, key)
    support = view.evaluation.value_and_undefined("support")[0]
    each = view.evaluation.value_and_undefined(MEANS[key])[0][support > 0].tolist()
    return json_number(math.fsum(each) / len(each)) if each else None


def _difference(low: Snapshot, high: Snapshot, key: str, groups: int, valid: str) -> Bounds | None:
    """Return an interval of the difference of two groups that were chosen among several; None if there is none.

    It follows from intervals of both that would hold for all groups together.
    """
    if key in MEANS and (_absent(low) or _absent(high)):
        return None
    each = 1 - (1 - LEVEL) / groups
    ends = []
    for view in (low, high):
        try:
            metric, label = labelled(view, key)
            interval = view.interval(metric, each, label=label, valid=valid, draws=enough_draws(each))
        except (KeyError, ValueError):  # the metric has none, or samples have weights
            return None
        if not isinstance(interval, Interval) or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
            return None
        ends.append(interval)
    return max(ends[1].low - ends[0].high, 0.0), ends[1].high - ends[0].low


def _badness(number: float | None, better: str | None) -> float:
    """Return a sort key: the worst value first, and no value last."""
    if number is None:
        return math.inf
    return number if better == "higher" else -number
