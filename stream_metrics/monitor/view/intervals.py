"""The uncertainty of the shown values: an interval for each metric, and each rate of a class, that can have one.

A window slides, so the quantity that it estimates changes: its intervals are valid for one look. The total has one
start and is read all the time: its intervals are valid for all looks together, and wider. Areas by class have no
intervals here, since the page reads them a few times a second and each takes milliseconds.

An interval covers chance alone. It does not cover labels that are missing, late or corrected, unless that is
independent of whether the prediction was right: if wrong predictions are labelled later, the error rate of the labelled
ones is too low at every look. `interval_meaning` says so in words; `label_bounds` has what missing labels can change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stream_metrics.catalog.table import CATALOG
from stream_metrics.inference import missing_labels
from stream_metrics.inference.intervals.conditions import weight_problem
from stream_metrics.inference.intervals.dispatch import class_bounds
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.labels import Label
from stream_metrics.monitor.view.cutting import check_cut
from stream_metrics.monitor.view.headline import labelled, spec
from stream_metrics.monitor.view.types import Bounds, IntervalMeaning
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["LEVEL", "class_intervals", "class_label_bounds", "interval_meaning", "intervals", "label_bounds"]

LEVEL = 0.95
LOOKS = {"anytime": "all looks together", "fixed": "one look at one moment"}
MANY = 100  # classes; with more, means of areas have no interval here, since each area takes half a millisecond
UNKNOWN = "no bound is known for this metric"


def intervals(snapshot: Snapshot, keys: Sequence[str], valid: str) -> tuple[dict[str, Bounds | None], dict[str, str]]:
    """Return [low, high] of those metrics that have an interval, and why those with a note are not to be trusted."""
    bounds_by_key: dict[str, Bounds | None] = {}
    notes: dict[str, str] = {}
    for key in keys:
        if spec(key).state == "ranks" and spec(key).kind == "whole" and len(snapshot.labels) > MANY:
            continue
        interval = _interval(snapshot, key, valid)
        bounds = _bounds(interval)
        if isinstance(interval, Interval) and bounds is not None:
            bounds_by_key[key] = bounds
            if interval.note:
                notes[key] = interval.note
    return bounds_by_key, notes


def class_intervals(snapshot: Snapshot, keys: Sequence[str], valid: str) -> dict[str, dict[Label, Bounds]]:
    """Return [low, high] of per-class metrics, by metric and label, where there is one."""
    bounds_by_key: dict[str, dict[Label, Bounds]] = {}
    for key in keys:
        try:
            low, high, _ = class_bounds(snapshot.evaluation, key, LEVEL, valid=valid)
        except (KeyError, ValueError):  # the samples have weights
            bounds_by_key[key] = {}
            continue
        ends = zip(snapshot.labels, low.tolist(), high.tolist(), strict=True)
        bounds_by_key[key] = {at: (a, b) for at, a, b in ends if math.isfinite(a) and math.isfinite(b)}
    return bounds_by_key


def interval_meaning(valid: str) -> IntervalMeaning:
    """Return for which looks intervals hold, and what must be true of samples and labels."""
    assumption = (
        f"for {LOOKS[valid]}, if samples are independent and no label comes late, is missing or is corrected because "
        "the prediction was wrong"
    )
    return IntervalMeaning(LEVEL, valid, assumption)


def label_bounds(snapshot: Snapshot, keys: Sequence[str], unlabelled: int) -> tuple[dict[str, Bounds], dict[str, str]]:
    """Return between what metrics lie whatever the missing labels are, and why others have no such bounds.

    Of the samples that were counted and `unlabelled` more, each of any of the classes seen so far. Both are empty if no
    label is missing.
    """
    if unlabelled <= 0:
        return {}, {}
    if reason := weight_problem(snapshot.evaluation):
        return {}, dict.fromkeys(keys, f"weights of samples without a label are not known; {reason}")
    bounds_by_key = {key: bounds for key in keys if (bounds := _label_bounds(snapshot, key, unlabelled)) is not None}
    return (
        {key: (float(low), float(high)) for key, (low, high) in bounds_by_key.items()},
        {key: UNKNOWN for key in keys if key not in bounds_by_key},
    )


def _label_bounds(snapshot: Snapshot, key: str, unlabelled: int) -> tuple[float, float] | None:
    metric, label = labelled(snapshot, key)
    if label is not None:
        return class_label_bounds(snapshot, (metric,), unlabelled).get(metric, {}).get(label)
    reads = CATALOG[key].state
    if reads == "counts":
        return missing_labels.label_bounds(key, snapshot.evaluation.view("counts", key), unlabelled)
    if snapshot.scored != snapshot.n:
        return None
    if key == "brier_score":
        return missing_labels.mean_bounds(snapshot[key], snapshot.n, unlabelled, (0.0, 2.0))
    if key != "roc_auc_ovr":
        return None
    ends = []
    for label in snapshot.per_class["roc_auc"]:
        area, own = snapshot.estimate("roc_auc", label), snapshot.per_class["support"].get(label, 0)
        if area.kind == "undefined":
            return None
        ends.append(missing_labels.area_bounds(area.low, area.high, int(own), snapshot.n - int(own), unlabelled))
    low, high = (sum(side) / len(ends) for side in zip(*ends, strict=True))
    return low, high


def class_label_bounds(snapshot: Snapshot, keys: Sequence[str], unlabelled: int) -> dict[str, dict[Label, Bounds]]:
    """Return `label_bounds` of per-class metrics, by metric and label; empty if no label is missing."""
    if unlabelled <= 0 or weight_problem(snapshot.evaluation):
        return {}
    view = snapshot.evaluation.view("counts", keys[0])
    bounds_by_key: dict[str, dict[Label, Bounds]] = {}
    for key in keys:
        bounds = missing_labels.class_label_bounds(key, view, unlabelled)
        if bounds is not None:
            low, high = np.asarray(bounds).tolist()
            bounds_by_key[key] = dict(zip(view.labels, zip(low, high, strict=True), strict=True))
    return bounds_by_key


def _interval(snapshot: Snapshot, key: str, valid: str) -> object:
    """Return an interval, or intervals by label; None if the metric has none, or the samples have weights."""
    check_cut()
    try:
        metric, label = labelled(snapshot, key)
        return snapshot.interval(metric, LEVEL, label=label, valid=valid)
    except (KeyError, ValueError):
        return None


def _bounds(interval: object) -> Bounds | None:
    """Return the ends of an interval; None if there is none, or it is not finite."""
    if not isinstance(interval, Interval) or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return interval.low, interval.high
