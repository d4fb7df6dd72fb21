"""What is counted of joined pairs: in all, in windows, by group, and of how many predictions the label came.

**Corrections** are made in the total, windows and groups, in all of them or in none. Every state is changed in a copy
first, one pane of each window, so that a failure halfway changes nothing. Labels, losses and weights then equal those
of a recount, to the bit. So do scores while every score has a cell of its own; after that, a second sketch counts the
removed pairs (see `MetricSet.remove`).

**Bytes** are in parts, since a checkpoint every second writes the few that have changed:

    name                 content
    about                the configuration, the latest time of each window, coverage
    total, groups        the states of all time
    window/NAME/PANE     a pane of a window, PANE being its number since 1970
    by_group/NAME/PANE   a pane of the groups of a window
    classes              the classes that are counted apart, if some are not

Earlier versions wrote `groups/NAME/PANE`, with at most 12 panes to a window. Such a pane is read into the pane in which
it begins. So until the last of them has left the window, groups lack up to a twelfth of it, as in those versions.

All parts together, format 1, are

    offset  size  content
    0       4     b"SMMC"
    4       1     format version, 1
    5       4     CRC-32 of everything after it, little-endian
    9       rest  msgpack: the parts by name, in order of name

**Memory.** Scores are counted in the total and in every pane of a window, labels also in every group. Measured, a state
`MetricSet(scores=True)` of 3 classes with 200 000 samples:

    buckets, sample, pairs   memory   bytes   error of ROC AUC, of average precision   width of the certified ROC AUC
    1024, 512, True          551 KB   100 KB  1e-7  1e-5                                0.0014
    1024, 512, False         446 KB    80 KB  1e-7  1e-5                                0.0014
    512, 256, False          224 KB    43 KB  3e-7  6e-5                                0.004
    256, 128, False          114 KB    19 KB  2e-6  2e-4                                0.009
    128, 64, False            59 KB     9 KB  3e-6  1e-3                                0.022

A total and two windows of 60 panes are up to 121 such states, most of them kept as bytes (see `panes`). So sketches
have 256 buckets: the error is far below what chance does to a day of samples. All states are configured alike, so that
a batch is counted once and added to each. Without `pairs` there is no one-vs-one area, but more than 64 classes are
possible.

A group takes 5 KB for the labels of 3 classes, and would take 61 KB with scores, and a hundred of them to be read at
every look at the page. So groups have labels only. They have the panes of their window, so that both cover the same
time; all but the newest are bytes: of a window of 60 panes and 100 groups 0.2 MB for 3 classes, 0.6 MB for 50.

What is late for a window is in the total, and `late` counts it; that is no part of the state, since it depends on the
order in which pairs came. Nothing is missing from the window that is read for it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.table import find
from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import DecodeError, LabelError, StreamMetricsError, WeightError, options_differ
from stream_metrics.inputs.times import parse_duration, seconds_to_ns, to_epoch_ns
from stream_metrics.labels import Label, canonical
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.counts.batches import (
    Chunk,
    CountedRows,
    Pair,
    PairColumns,
    Refuse,
    group_into_batches,
    validate_pairs,
)
from stream_metrics.monitor.counts.class_limit import ClassLimit, ClassPool
from stream_metrics.monitor.counts.coverage import Coverage
from stream_metrics.monitor.counts.panes import AnyPanes, Panes, Parting, State, parted_by
from stream_metrics.monitor.events.records import Classes, Rejected, Weight
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.wire import decoded, encoded

if TYPE_CHECKING:
    from stream_metrics.monitor.archive.writing import Archive

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


EARLIER_PANES = 12


def config_fingerprint(counts: PartCounts) -> dict[str, object]:
    """Return the options that change how pairs are counted, by name."""
    config = counts.config
    return {
        "scores": counts.total.scores,
        "pos_label": counts.total.pos_label,
        "labels": None if not config.labels else [canonical(label) for label in config.labels],
        "windows": [[window.period, window.panes] for window in counts.windows.values()],
        "clock": config.clock,
        "max_groups": config.max_groups,
        "sketch": [counts.total.buckets, counts.total.sample] if counts.total.scored is not None else None,
    }


def written(counts: PartCounts) -> dict[str, bytes]:
    """Return counts as bytes by part."""
    seen = [window.seen for window in counts.windows.values()]
    about = [*config_fingerprint(counts).values(), seen, [coverage.content() for coverage in counts.coverage.values()]]
    parts = {"about": encoded(about), "total": counts.total.to_bytes(), "groups": counts.total_groups.to_bytes()}
    if (classes := counts.classes.content()) is not None:
        parts["classes"] = encoded(classes)
    for name in counts.windows:
        for kind, holder in _holders(counts, name):
            parts |= {f"{kind}/{name}/{number}": data for number, data in holder.written().items()}
    return parts


def _holders(counts: PartCounts, name: str) -> list[tuple[str, AnyPanes]]:
    """Return the panes of a window, with the word that the names of their parts start with."""
    return [("window", counts.windows[name]), ("by_group", counts.groups[name])]


def _earlier_groups(counts: PartCounts, name: str, seen: int | None, parts: Mapping[str, bytes]) -> dict[int, bytes]:
    """Return the panes of groups that an earlier version wrote, by their current numbers."""
    window, earlier = counts.windows[name], _panes(parts, f"groups/{name}/")
    length = window.length * window.panes // window.fewer(EARLIER_PANES)
    gone = None if seen is None else seen // window.length - window.panes
    panes = {number * length // window.length: data for number, data in earlier.items()}
    return {number: data for number, data in panes.items() if gone is None or number > gone}


def load_parts(counts: PartCounts, parts: Mapping[str, bytes]) -> None:
    """Load serialized parts into empty counts; DecodeError says what is damaged, or configured otherwise."""
    try:
        *values, seen, coverages = decoded(parts["about"])
        _check_fingerprint(config_fingerprint(counts), values)
        counts.total = _same(MetricSet.from_bytes(parts["total"]), counts.total)
        counts.total_groups = _same(ByGroup.from_bytes(parts["groups"]), counts.total_groups)
        for coverage, content in zip(counts.coverage.values(), coverages, strict=True):
            coverage.fill(content)
        counts.classes.fill(*_counted_classes(counts.total, parts))
        known = 3 + ("classes" in parts)
        for name, time in zip(counts.windows, seen, strict=True):
            earlier = _earlier_groups(counts, name, time, parts)
            known += len(_panes(parts, f"groups/{name}/"))
            for kind, holder in _holders(counts, name):
                panes = _panes(parts, f"{kind}/{name}/")
                holder.fill(time, panes if kind == "window" else earlier | panes)
                known += len(panes)
        if known < len(parts):
            raise DecodeError(f"Expected the parts of these windows, but got {sorted(parts)[:20]}")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise DecodeError(f"Expected the parts of counts, but: {error!r}") from error


def _counted_classes(total: MetricSet, parts: Mapping[str, bytes]) -> tuple[Any, Sequence[Label]]:
    """Return the content of the part "classes", None without one, and the classes of the total."""
    content = decoded(parts["classes"]) if "classes" in parts else None
    return content, (*total.state.labels, *(() if total.scored is None else total.scored.ranks.labels))


def stored_classes(parts: Mapping[str, bytes]) -> tuple[Sequence[Label], bool]:
    """Return the classes that stored counts have apart, from their parts "total" and "classes", and if they folded any.

    DecodeError if the parts are damaged.
    """
    content, counted = _counted_classes(MetricSet.from_bytes(parts["total"]), parts)
    return counted if content is None else content, content is not None


def _check_fingerprint(mine: Mapping[str, object], theirs: Sequence[object]) -> None:
    for (name, value), other in zip(mine.items(), theirs, strict=True):
        if encoded(value) != encoded(other):
            raise DecodeError(
                f"Expected counts with {name}={value!r}, but the state was counted with {other!r}: "
                f"give this value, or start with a new state and keep this one, which 'stream-metrics monitor backup' "
                f"copies and 'stream-metrics query' reads"
            )


def _same(state: State, empty: State) -> State:
    twin = state.copy()
    twin.reset()
    if twin != empty:
        raise DecodeError(f"Expected a state configured as {empty!r}, but got {state!r}")
    return state


def _panes(parts: Mapping[str, bytes], prefix: str) -> dict[int, bytes]:
    return {int(name[len(prefix) :]): data for name, data in parts.items() if name.startswith(prefix)}


TOTAL = "total"
BUCKETS, SAMPLE = 256, 128
DENSE = 40  # samples a group, from which it is faster to count them once and to add the groups
MOST_WEIGHT = 2**63 - 2**12  # of all samples, which leaves space for rounding
FEW = 256  # rows of a refused batch that are looked at one by one
Times = NDArray[np.int64]
Watch = Callable[[Sequence[CountedRows], Container[int]], object]


class PartCounts:
    """What is counted of one partition, or of several that were merged.

    `total` is a `MetricSet` and `windows` has `Panes` of them by name; `total_groups` is a `ByGroup` of confusion
    matrices and `groups` has `Panes` of them by name. `due` is the age from which a prediction should have a label.
    `pool` has the classes that all partitions count apart.

    Guarantee: any split of pairs over counts with one pool that are then merged gives the same bytes, in any batches;
    so do corrections. Exceptions are coverage, delays and the latest time, which keep the first label. Beyond
    `max_classes` the order of pairs decides which classes are counted apart, and nothing else.
    """

    def __init__(self, config: CountingTable, due: str = "0s", pool: ClassPool | None = None) -> None:
        for key in config.metrics:
            if find(key).kind != "whole" and (find(key).kind == "matrix" or find(key).state != "ranks"):
                raise ValueError(f"Expected `metrics` to be metrics of one value, but got {key!r}")
            if find(key).state != "counts" and config.scores is False:
                raise ValueError(f"Expected `metrics` without scores, since `scores` is false, but got {key!r}")
        if config.clock not in ("label", "prediction"):
            raise ValueError(f"Expected `clock` to be 'label' or 'prediction', but got {config.clock!r}")
        if TOTAL in config.windows or len(set(config.windows)) < len(config.windows):
            raise ValueError(f"Expected `windows` to be different lengths of time, but got {list(config.windows)}")
        for name in config.windows:
            parse_duration(name, "windows")
        self.config, self.due = config, due
        labels = cast(Classes, config.labels) or None
        age = parse_duration(due, "due", zero=True)
        sketch: dict[str, Any] = {"buckets": BUCKETS, "sample": SAMPLE, "pairs": False}
        self.total = MetricSet(scores=config.scores, pos_label=config.pos_label, labels=labels, **sketch)
        self.empty = self.total.copy()  # of which batches are made
        self.classes = ClassLimit(pool or ClassPool(config), probabilities=config.scores is True)
        apart = ByGroup(ConfusionMatrix(labels), config.max_groups)
        self.windows = {name: Panes(self.total, name, config.panes) for name in config.windows}
        self.empty_groups = apart.copy()
        self.total_groups = apart
        self.groups: dict[str, Panes[ByGroup]] = {}
        self.coverage = {TOTAL: Coverage(None, 60, age)}
        for name, window in self.windows.items():
            self.groups[name] = Panes(apart, name, config.panes)
            self.coverage[name] = Coverage(window.length, window.panes, age)
        self.late = dict.fromkeys(config.windows, 0)
        self.watch: Watch | None = None  # told of the rows of every chunk, and the places of those that were refused
        self.archive: Archive | None = None  # stores panes for ranges of time; not part of bytes, copies and merges
        self.groups_since: int | None = None  # in ns: earlier predictions have groups of another field
        self.driven = False  # whether the time is what `move` says, and not that of the newest pair
        self._advanced: int | None = None
        self._written: dict[str, bytes] = {}
        self._batches = 0  # how many were put into windows

    @property
    def seen(self) -> int | None:
        """The latest time seen or told, in nanoseconds since 1970; None if there was none."""
        times = [*(window.seen for window in self.windows.values()), self.coverage[TOTAL].latest, self._advanced]
        return max((t for t in times if t is not None), default=None)

    @property
    def before(self) -> int | None:
        """A time after all pairs counted so far, in nanoseconds; None if there are none."""
        ends = [window.end for window in self.windows.values()]  # beyond `seen` if the time is what `move` says
        times = [None if self.seen is None else self.seen + 1, min((t for t in ends if t is not None), default=None)]
        return max((t for t in times if t is not None), default=None)

    @property
    def latest(self) -> float | None:
        """The latest time seen or told, in seconds since 1970; None if there was none."""
        return None if self.seen is None else self.seen / 1e9

    def advance(self, t: float) -> None:
        """Say that the time is `t`, where no events say so: what is too old is no longer read. Not in the bytes."""
        self._advanced = max(to_epoch_ns(t), self._advanced or to_epoch_ns(t))

    def predictions(self, times: Sequence[float]) -> None:
        """Count predictions made at these times, each once, for coverage."""
        instants = seconds_to_ns(np.array(times, np.float64))
        for coverage in self.coverage.values():
            coverage.predictions(instants, move=not self.driven)

    def add(self, pairs: Sequence[Pair]) -> list[Rejected]:
        """Count all pairs that can be counted, and return the others with the reason."""
        return self.add_columns(PairColumns.of(pairs)) if pairs else []

    def add_columns(self, pairs: PairColumns) -> list[Rejected]:
        """Count pairs as `add` does."""
        columns, rejected = validate_pairs(pairs)
        if columns is None:
            return rejected
        refused: dict[int, StreamMetricsError] = {}
        clock = self.clock(columns)
        batches = group_into_batches(columns, self.empty, refused.__setitem__, self.total.state)
        for rows in self.classes.fold(batches):
            for part in parted_by(rows, clock, self._dividers()):
                self._count(part, columns, refused.__setitem__)
        self._settle(columns, refused)
        if self.watch is not None:
            self.watch(batches, refused)
        return rejected + [columns.refused(place, error) for place, error in sorted(refused.items())]

    def clock(self, columns: Chunk) -> Times:
        """Return the times by which windows go."""
        return columns.labelled if self.config.clock == "label" else columns.predicted

    def _count(self, rows: CountedRows, columns: Chunk, refuse: Refuse) -> None:
        """Count rows that are all in the same panes; those that cannot be counted are refused."""
        batch = self.empty.copy()
        try:
            rows.feed(batch)
            self.check_room(batch)
            self.total.merge(batch)  # it has the largest sums: what fits into it fits into every other state
        except StreamMetricsError as error:
            if len(rows.places) == 1:
                refuse(rows.places[0], error)
                return
            for part in self._halves(rows, refuse):
                self._count(part, columns, refuse)
        else:
            self.put(batch, rows, columns)

    def check_room(self, batch: MetricSet) -> None:
        """Raise WeightError if a batch does not fit into the counts of labels, before its scores are added."""
        weights = [state.state.weight for state in (self.total, batch)]
        if sum(weights) >= MOST_WEIGHT:
            raise WeightError(f"Expected the sum of all weights to stay below 2**63, but got {weights[1]} on top")

    def _halves(self, rows: CountedRows, refuse: Refuse) -> list[CountedRows]:
        """Return parts of a batch that was refused; of a small one, the rows that can be counted, alone if all can."""
        every = range(len(rows.places))
        if len(every) > FEW:
            return [rows.some(every[: len(every) // 2]), rows.some(every[len(every) // 2 :])]
        good = []
        for at in every:
            try:
                rows.one(self.empty.copy(), at, "update")
                good.append(at)
            except StreamMetricsError as error:
                refuse(rows.places[at], error)
        return [rows.some([at]) for at in good] if len(good) == len(every) else [rows.some(good)] if good else []

    def put(self, batch: MetricSet, rows: CountedRows, columns: Chunk) -> None:
        """Add a batch that the total has already to windows and groups."""
        t = int(self.clock(columns)[rows.places[0]])
        self._batches += 1
        for name, window in self.windows.items():
            if not window.add(t, batch, self._batches):
                self.late[name] += len(rows.places)
        if self.archive is not None:
            self.archive.add(self.archive.counts, t, batch, self._batches)
        groups = self.groups_of(columns)
        if groups is not None:
            self._put_groups(rows, groups, t)

    def groups_of(self, columns: Chunk) -> Sequence[Label | None] | None:
        """Return the groups of pairs; None for predictions from before the field of groups was configured."""
        if columns.groups is None or self.groups_since is None:
            return columns.groups
        pairs = zip(columns.groups, columns.predicted.tolist(), strict=True)
        return [group if predicted >= self.groups_since else None for group, predicted in pairs]

    def _put_groups(self, rows: CountedRows, groups: Sequence[Label | None], t: int) -> None:
        """Count the rows that have a group; `groups` are those of the chunk."""
        groups = groups if len(rows.places) == len(groups) else [groups[place] for place in rows.places]
        samples = list(zip(rows.truths, rows.labels, rows.weights or [1] * len(groups), groups, strict=True))
        distinct = set(groups)
        if None in distinct:
            samples = [sample for sample in samples if sample[3] is not None]
            distinct.discard(None)
        if not samples:
            return
        if len(samples) > DENSE * len(distinct):
            together = self.empty_groups.copy()
            _feed(together, samples)
            self.total_groups.merge(together)
            for panes in self.groups.values():
                panes.add(t, together, self._batches)
            if self.archive is not None:
                self.archive.add(self.archive.groups, t, together, self._batches)
            return
        states = [self.total_groups, *(panes.at(t, self._batches) for panes in self.groups.values())]
        if self.archive is not None:
            states.append(self.archive.groups_at(t, self._batches))
        for state in states:
            if state is not None:
                _feed(state, samples)

    def _settle(self, columns: Chunk, refused: Mapping[int, StreamMetricsError]) -> None:
        """Count labels for coverage, and let the time move on."""
        predicted, clock, seconds = columns.predicted, self.clock(columns), columns.seconds
        if refused:
            in_time = np.ones(len(clock), bool)
            in_time[list(refused)] = False
            predicted, clock, seconds = predicted[in_time], clock[in_time], seconds[in_time]
        if len(clock):
            for coverage in self.coverage.values():
                coverage.labels(predicted, clock, seconds, move=not self.driven)
            self.follow(int(clock.max()))

    def follow(self, seen: int) -> None:
        """Let the windows move on to the time of a pair, unless somebody else says what time it is."""
        counts, groups = ({}, {}) if self.archive is None else self.archive.settle()
        for name in self.windows:
            self.windows[name].share(counts)
            self.groups[name].share(groups)
        if not self.driven:
            for window in self._panes():
                window.settle(seen)

    def move(self, seen: int) -> None:
        """Let everything move on to a time, in nanoseconds since 1970."""
        for window in self._panes():
            window.settle(seen)
        for coverage in self.coverage.values():
            coverage.move(seen)

    def _dividers(self) -> list[Parting]:
        """Return everything with panes; the rows of a batch must be in one pane of each."""
        return [*self._panes(), *([] if self.archive is None else [self.archive])]

    def _panes(self) -> list[AnyPanes]:
        return [*self.windows.values(), *self.groups.values()]

    def correct(self, old: Pair, new: Pair) -> bool:
        """Take one pair back and count the other; False, and nothing has changed, if it cannot be taken back.

        `old` must have been counted. A window that it has left stays as it is. StreamMetricsError, and nothing has
        changed, if `new` cannot be counted.
        """
        return corrected(self, old, new)

    def merge(self, other: Self) -> Self:
        """Add the counts of another partition and return self; MergeError if they are configured differently."""
        mine, theirs = config_fingerprint(self), config_fingerprint(other)
        for name in mine:
            if repr(mine[name]) != repr(theirs[name]):
                raise options_differ({name: mine[name]}, {name: theirs[name]})
        self.total.merge(other.total)
        self.classes.merge(other.classes)
        for name, window in self.windows.items():
            window.merge(other.windows[name])
            self.groups[name].merge(other.groups[name])
        self.total_groups.merge(other.total_groups)
        for name, coverage in self.coverage.items():
            coverage.merge(other.coverage[name])
        if other._advanced is not None:
            self._advanced = max(other._advanced, self._advanced or other._advanced)
        self.late = {name: late + other.late[name] for name, late in self.late.items()}
        return self

    def copy(self) -> Self:
        """Return independent counts."""
        twin: Self = type(self)(self.config, self.due)
        twin.total, twin.total_groups = self.total.copy(), self.total_groups.copy()
        twin.classes = self.classes.copy()
        twin.late, twin._advanced = dict(self.late), self._advanced
        twin.windows = {name: window.copy() for name, window in self.windows.items()}
        twin.groups = {name: groups.copy() for name, groups in self.groups.items()}
        twin.coverage = {name: coverage.copy() for name, coverage in self.coverage.items()}
        return twin

    def parts(self) -> dict[str, bytes]:
        """Return everything as bytes in parts by name; a part that has not changed is the same object as before.

        A store that keeps a row for each part writes those that have changed, and drops the names that are gone.
        """
        parts = written(self)
        self._written = {
            name: earlier if (earlier := self._written.get(name)) == data else data for name, data in parts.items()
        }
        return dict(self._written)

    @classmethod
    def from_parts(
        cls, config: CountingTable, parts: Mapping[str, bytes], due: str = "0s", pool: ClassPool | None = None
    ) -> Self:
        """Return what `parts` were written of; DecodeError if they are damaged, or were counted otherwise.

        `due` may be another, which loses the coverage so far.
        """
        counts = cls(config, due, pool)
        load_parts(counts, parts)
        return counts


def _feed(groups: ByGroup, samples: Iterable[tuple[object, object, Weight, Label | None]]) -> None:
    update = groups.update
    for truth, label, w, group in samples:
        update(truth, label, w, group=group)
