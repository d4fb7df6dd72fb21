"""What views read of counts at one moment: numbers, intervals, the metrics that come first, labels as text.

**Cutting short.** What takes long calls `check_cut` between its parts.

    with cut_if(stopped.is_set):
        monitor.view()                  # raises ViewCut soon after `stopped` is set

A view of many classes and groups takes seconds, and a process that is told to end must not wait for it. What is asked
belongs to the thread that makes the view, so the parts of a view need no argument for it.

**Headline.** Where one class makes up nearly all samples, always predicting it is nearly always right: an accuracy of
0.9995 says nothing of a fraud model. Then the headline is about the rare class, unless the configuration names metrics.

**Intervals** are shown for each metric, and each rate of a class, that can have one. A window slides, so the quantity
that it estimates changes: its intervals are valid for one look. The total has one start and is read all the time: its
intervals are valid for all looks together, and wider. Areas by class have no intervals here, since the page reads them
a few times a second and each takes milliseconds.

An interval covers chance alone. It does not cover labels that are missing, late or corrected, unless that is
independent of whether the prediction was right: if wrong predictions are labelled later, the error rate of the labelled
ones is too low at every look. `interval_meaning` says so in words; `label_bounds` has what missing labels can change.

**Reading.** A `Reading` has states of its own, one of each kind for each window. Counts of several partitions are read
at the same time: a partition that has fallen silent would otherwise show its own last hour. One that is ahead of that
time, since its clocks are wrong, is read at its own. Reading merges a few states for each window and partition, where
merging the counts themselves would merge every pane.

`read` copies what still changes, and merges nothing: a `Reading` does so when it is asked for a state, while the counts
go on. The first reading of all merges every pane.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import numpy as np

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.catalog.table import CATALOG
from stream_metrics.containers.groups import ByGroup
from stream_metrics.evaluation.evaluation import number_of
from stream_metrics.inference import missing_labels
from stream_metrics.inference.intervals.dispatch import class_bounds
from stream_metrics.inference.intervals.folds import weight_problem
from stream_metrics.inference.intervals.interval import Interval
from stream_metrics.inputs.times import to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.labels.json_names import json_number, label_names
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.counts.coverage import Covered
from stream_metrics.monitor.view.types import Bounds, IntervalMeaning, Number
from stream_metrics.report.headlines import MONITOR
from stream_metrics.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from stream_metrics.monitor.counts.counting import PartCounts

LONGEST = 200  # characters; a longer name is cut, and ends in a hash of the whole


def names_of(labels: Sequence[Label]) -> list[str]:
    """Return one distinct text for each label, as `jsonable` has it; it depends on the set of labels alone."""
    return [_cut(name) for name in label_names(labels)]


def _cut(name: str) -> str:
    if len(name) <= LONGEST:
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{name[: LONGEST - 18]}… {digest}"


_asked: ContextVar[Callable[[], bool]] = ContextVar("cut")


class ViewCut(Exception):
    """A view was cut short."""


@contextmanager
def cut_if(stopped: Callable[[], bool]) -> Iterator[None]:
    """Let `check_cut` raise ``ViewCut`` in this thread once `stopped` returns True."""
    token = _asked.set(stopped)
    try:
        yield
    finally:
        _asked.reset(token)


def check_cut() -> None:
    """Raise ``ViewCut`` if the view is to be cut short."""
    stopped = _asked.get(None)
    if stopped is not None and stopped():
        raise ViewCut


COMMON = 0.95  # the share of the most frequent class from which the others are rare
LEAST = 100  # samples
OF_MANY = ("balanced_accuracy", "macro_precision", "macro_f1", "matthews_corrcoef")


def class_key(key: str, name: str) -> str:
    """Return the key of a metric of the class that is shown as `name`."""
    return f"{key}[{json.dumps(name, ensure_ascii=False)}]"


@lru_cache(maxsize=1024)
def split_key(key: str) -> tuple[str, str | None]:
    """Return the key of the catalog, and the name of the class or None."""
    metric, bracket, rest = key.partition("[")
    return metric, json.loads(rest[:-1]) if bracket else None


def spec(key: str) -> MetricSpec:
    """Return the row of the catalog."""
    return CATALOG[split_key(key)[0]]


def labelled(snapshot: Snapshot, key: str) -> tuple[str, Label | None]:
    """Return the key of the catalog and the class, or None; KeyError if the snapshot has no such class."""
    metric, name = split_key(key)
    if name is None:
        return metric, None
    return metric, dict(zip(names_of(snapshot.labels), snapshot.labels, strict=True))[name]


def headline(total: Snapshot) -> tuple[str, ...]:
    """Return the metrics to show first, by how rare the classes are of all samples since the start."""
    support = np.asarray(total.evaluation.value_and_undefined("support")[0], float)
    if not support.sum() >= LEAST or support.max() < COMMON * support.sum() or len(support) < 2:
        return MONITOR
    if len(support) > 2:
        return OF_MANY
    rare = names_of(total.labels)[int(support.argmin())]
    scored = total.scored and total.labels[int(support.argmin())] in total.per_class["average_precision"]
    keys = ("recall", "precision", *(("average_precision",) if scored else ()))
    return (*(class_key(key, rare) for key in keys), "matthews_corrcoef")


def value(snapshot: Snapshot, key: str) -> Number | None:
    """Return one value; None if it is 0/0, infinite, or cannot be read from what was counted."""
    check_cut()
    try:
        return json_number(number_of(snapshot.evaluation, *labelled(snapshot, key)))
    except (KeyError, ValueError):
        return None


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


State = TypeVar("State", MetricSet, ByGroup)


class _Part(NamedTuple):
    """What one partition has of a window; the functions return states of their own, and any thread may call them."""

    state: Callable[[], MetricSet]
    groups: Callable[[], ByGroup]  # a ByGroup of ConfusionMatrix, empty if no pair has a group
    covered: Covered
    late: int


class Reading:
    """A window at one moment, or the total; callers own the states and may change them."""

    def __init__(self, parts: Sequence[_Part], partial: frozenset[Label | None] = frozenset()) -> None:
        self._states, self._groups = [part.state for part in parts], [part.groups for part in parts]
        due, labelled, delays = zip(*(part.covered for part in parts), strict=True)
        self.covered = Covered(sum(due), sum(labelled), sum(delays))
        self.late = sum(part.late for part in parts)  # pairs too late for the window since the process started
        self.partial = partial  # classes that only some partitions fold

    @cached_property
    def state(self) -> MetricSet:
        """The samples."""
        return _merged(self._states)

    @cached_property
    def groups(self) -> ByGroup:
        """The samples by group."""
        return _merged(self._groups)

    def equals(self, other: Self) -> bool:
        """Return whether both would show the same."""
        mine, theirs = self.covered, other.covered
        return (
            (self.state.n, self.late, self.partial) == (other.state.n, other.late, other.partial)
            and mine[:2] == theirs[:2]
            and np.array_equal(mine.delays, theirs.delays)
            and self.state == other.state
            and self.groups == other.groups
        )


def _merged(parts: list[Callable[[], State]]) -> State:
    """Return the merge of the states of partitions, which are forgotten; ViewCut, and nothing is lost, if it is cut."""
    while len(parts) > 1:
        check_cut()  # the first reading merges all panes
        state: State = parts[0]().merge(parts[1]())
        parts[:2] = [lambda state=state: state]  # type: ignore[misc]
    check_cut()
    state = parts[0]()
    parts.clear()
    return state


def read(
    parts: Iterable[PartCounts], at: float | None = None, own: Iterable[float | None] | None = None
) -> dict[str, Reading]:
    """Return the merged counts of partitions by window, "total" first; {} for no partitions.

    `at` is the time in seconds, by default the latest event time of any; `own` has for each partition the time of its
    newest event, if that may be later. The counts stay as they are.
    """
    parts = list(parts)
    seen = [part.seen or 0 for part in parts]
    when = max(seen, default=0) if at is None else to_epoch_ns(at)
    later = [0] * len(parts) if own is None else [0 if time is None else to_epoch_ns(time) for time in own]
    times = [max(when, *each) for each in zip(seen, later, strict=True)]
    windows: dict[str, list[_Part]] = {}
    for part, time in zip(parts, times, strict=True):
        for name in part.coverage:
            windows.setdefault(name, []).append(_part(part, name, time))
    partial = _partial(parts)
    return {name: Reading(of_window, partial) for name, of_window in windows.items()}


def _partial(parts: Sequence[PartCounts]) -> frozenset[Label | None]:
    """Return the classes that one partition counts apart and another does not."""
    if not any(part.classes.full for part in parts):
        return frozenset()
    classes = parts[0].classes.copy()
    for part in parts[1:]:
        classes.merge(part.classes)
    return classes.partial


def _part(counts: PartCounts, name: str, at: int) -> _Part:
    covered, late = counts.coverage[name].read(at), counts.late.get(name, 0)
    if name in counts.windows:
        return _Part(counts.windows[name].parts(at), counts.groups[name].parts(at), covered, late)
    state, groups = counts.total.copy(), counts.total_groups.copy()
    return _Part(lambda: state, lambda: groups, covered, late)
