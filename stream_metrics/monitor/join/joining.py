"""Predictions meet their labels, by id, in either order.

A prediction waits for its label, or a label for its prediction, until the time of the partition has moved on by `ttl`
(in steps of a 64th of it, see ``entry_log``), or until there are more than `max_pending` of them. Age is counted from
the time reached when an entry came, not from its own time. So an entry that arrives late waits as long as others,
and the oldest always expire first. A prediction that expires leaves its id behind, by which a late label is recognised.

Joined pairs are kept for `keep_joined`, at most `max_joined` of them. A second label with the same truth is a
duplicate, and so is one that is older than the label that counts. Any other is a correction: the pair is reverted and
counted with the new label, if the counts can do that. Of two predictions the first one counts.

Of what is no longer kept the ids are remembered for `keep_ids`, at most `max_ids` of them. So a replay is recognised:
a prediction is a duplicate, and so is a label with the same truth; one with another is a correction that is refused.

The result of an event depends on the events before it and on nothing else: not on batches, checkpoints, or restarts. So
every correction is made in turn, after all pairs before it were counted and before any pair after it.

    predictions = pending + joined + predictions_expired + predictions_duplicate + refused
    labels = labels_waiting + joined + labels_expired + labels_late + labels_duplicate
             + corrections + corrections_refused + refused + labels_refused

The time of a partition is what a quarter of its last `votes` events have reached (see ``Votes``), so a few clocks that
are wrong expire nothing and make nothing late. Events further than `ahead` of the clock of the
monitor were rejected earlier.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stream_metrics.errors import StreamMetricsError
from stream_metrics.inputs.times import parse_duration, to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.monitor._core.kernels import Joins, Votes, first_of
from stream_metrics.monitor.config import JoinTable
from stream_metrics.monitor.counts.batches import Pair, PairColumns
from stream_metrics.monitor.counts.counting import PartCounts
from stream_metrics.monitor.counts.coverage import BOUNDS, DelayCounts, Delays
from stream_metrics.monitor.events.records import MISSING, Checked, Events, Origin, Rejected, Truth, Weight
from stream_metrics.monitor.join.entry_log import Entry, EntryLog, Spill
from stream_metrics.monitor.join.id_memory import EXPIRED_MARK, REFUSED_MARK, IdMemory, truth_mark
from stream_metrics.monitor.store.rows import Segment


@dataclass
class JoinCounters:
    """Counters of one partition, or of several that were added up.

    predictions = pending + joined + predictions_expired + predictions_duplicate + refused
    labels = labels_waiting + joined + labels_expired + labels_late + labels_duplicate
             + corrections + corrections_refused + refused + labels_refused
    """

    predictions: int = 0
    labels: int = 0
    pending: int = 0  # predictions that wait
    labels_waiting: int = 0
    joined: int = 0
    predictions_expired: int = 0
    predictions_duplicate: int = 0
    labels_expired: int = 0
    labels_late: int = 0  # after their prediction had expired
    labels_duplicate: int = 0
    corrections: int = 0
    corrections_refused: int = 0
    refused: int = 0  # pairs that could not be counted
    labels_refused: int = 0  # corrections that could not be counted
    expired_early: int = 0  # predictions that expired because too many waited
    forgotten: int = 0  # ids of joined pairs and expired predictions, forgotten early because there were too many
    ids_forgotten: int = 0  # ids that are not even remembered, because there were too many

    def __add__(self, other: JoinCounters) -> JoinCounters:
        return JoinCounters(**{name: value + getattr(other, name) for name, value in vars(self).items()})


class JoinStats(NamedTuple):
    """The outcomes of predictions and labels so far; `counters` has all counters."""

    pending: int
    joined: int
    labels_unmatched: int  # waiting and expired
    labels_late: int
    labels_duplicate: int
    predictions_duplicate: int
    predictions_expired: int
    corrections: int
    corrections_refused: int
    expired_early: int
    forgotten: int  # ids that are not even remembered
    delays: Delays
    counters: JoinCounters

    @classmethod
    def of(cls, counters: JoinCounters, delays: Delays) -> JoinStats:
        """Return the numbers of counters, with the delays."""
        unmatched = counters.labels_waiting + counters.labels_expired
        named = {name: getattr(counters, name) for name in cls._fields if hasattr(counters, name)}
        named["forgotten"] = counters.ids_forgotten
        return cls(**named, labels_unmatched=unmatched, delays=delays, counters=counters)

    @classmethod
    def total(cls, every: Iterable[JoinStats]) -> JoinStats:
        """Return the sums over partitions."""
        counters, delays = JoinCounters(), DelayCounts().read()
        for stats in every:
            counts = tuple(map(operator.add, delays.counts, stats.delays.counts))
            counters, delays = counters + stats.counters, Delays(BOUNDS, counts, delays.sum + stats.delays.sum)
        return cls.of(counters, delays)


PREDICTION, LABEL, JOINED, EXPIRED, REFUSED = range(5)
TRUTH, LABELLED = 2, 8  # of an entry that is joined
MARKS = {EXPIRED: EXPIRED_MARK, REFUSED: REFUSED_MARK}


class Joiner:
    """The join of one partition, and the delays of its labels.

    `spill` is where the oldest wait once memory is full; without, they stay in memory.
    """

    def __init__(self, config: JoinTable, spill: Spill | None = None) -> None:
        keep = parse_duration(config.keep_joined, "keep_joined", zero=True) / 1e9
        ttl, most = parse_duration(config.ttl, "ttl") / 1e9, config.max_joined if keep else 0
        self.waiting = EntryLog(ttl, config.max_pending, spill, config.in_memory)
        self.done = EntryLog(keep, most)
        self.ids = IdMemory(parse_duration(config.keep_ids, "keep_ids", zero=True) / 1e9, config.max_ids)
        self.spill = spill
        self.counters = JoinCounters()
        self.votes = Votes(config.votes)
        self.number = 0  # of events
        self.delays = DelayCounts()
        self._joins = Joins(self, MISSING, self.waiting.removed)  # with the pairs that are to be counted
        self._rejected: list[Rejected] = []

    def feed(self, events: Events, counts: PartCounts) -> list[Rejected]:
        """Join events, count the joined pairs, and return the pairs that the counts rejected."""
        self._rejected = []
        self._look(events.ids)
        self._joins.logged = self.waiting.logged
        counts.driven = True
        predicted, alone, labels, both = self._joins.run(tuple(events), self.number, self.votes, counts)
        self.counters.predictions += alone + both
        self.counters.labels += labels + both
        self.counters.pending += alone - labels
        self._count(counts)
        self.number += len(events.ids)
        if predicted:
            counts.predictions(predicted)
        self._move(counts)
        if self.spill is not None:
            self.spill.forget()
        return self._rejected

    @property
    def watermark(self) -> float:
        """The time of the partition, -inf before there is one."""
        return self.votes.time

    def _move(self, counts: PartCounts) -> None:
        """Let the windows move on to the time of the partition."""
        if self.watermark > -math.inf:
            counts.move(to_epoch_ns(self.watermark))

    def _look(self, ids: Sequence[Label]) -> None:
        """Prefetch from the state file the entries of these ids that are not in memory."""
        if self.spill is not None and self.spill.n:
            waiting, done = self.waiting.entries, self.done.entries
            self.spill.look(key for key in ids if key not in waiting and key not in done)

    def prefetched(self) -> dict[Label, tuple[int, bytes]]:
        """Return the prefetched entries of the current events."""
        return {} if self.spill is None else self.spill.prefetched

    def edge(self) -> float:
        """Return the event time from which `advance` has something to do."""
        return min(self.waiting.edge, self.done.edge, self.ids.edge)

    def advance(self, time: float, number: int) -> float:
        """Expire entries that are too old, and return the event time at which the next ones expire."""
        self.ids.advance(time)
        self._expire(self.waiting.advance(time, number), number)
        self._remember(self.done.advance(time, number))
        return self.edge()

    def evict_overflow(self, number: int) -> int:
        """Expire the oldest if too many wait, and return how many may be in memory."""
        gone = self.waiting.evict_overflow()
        self.counters.expired_early += sum(entry[1] == PREDICTION for _, entry in gone)
        self._expire(gone, number)
        return self.waiting.capacity()

    def evict_overflow_done(self) -> int:
        """Forget the oldest if too many are joined, and return how many may be in memory."""
        gone = self.done.evict_overflow()
        if self.done.most:
            self.counters.forgotten += len(gone)
        self._remember(gone)
        return self.done.capacity()

    def _remember(self, gone: Iterable[tuple[Label, Entry]]) -> None:
        """Remember the ids of entries that are no longer kept, and what became of them."""
        if not self.ids.most:
            return
        for key, entry in gone:
            mark = truth_mark(entry[TRUTH]) if entry[1] == JOINED else MARKS[entry[1]]
            self.counters.ids_forgotten += self.ids.put(key, mark)

    def _expire(self, gone: Iterable[tuple[Label, Entry]], number: int) -> None:
        counters, done = self.counters, self.done
        for key, entry in gone:
            if entry[1] == PREDICTION:
                counters.pending -= 1
                counters.predictions_expired += 1
                done.put(key, (number, EXPIRED))
            else:
                counters.labels_waiting -= 1
                counters.labels_expired += 1
        if len(self.done) > self.done.most:
            self.evict_overflow_done()

    def handle_event(self, row: Iterable[Any], number: int, origin: Origin, counts: PartCounts) -> list[float]:
        """Process an event of any kind, and return the time of its prediction if that is new."""
        event, new = Checked._make(row), False
        if event.prediction is not MISSING:
            self.counters.predictions += 1
            new = self._prediction(event, number, origin)
        if event.truth is not MISSING:
            self.counters.labels += 1
            self._label(event, number, origin, counts)
        return [event.time] if new else []

    def _prediction(self, event: Checked, number: int, origin: Origin) -> bool:
        key, entry = event.id, self.waiting.get(event.id)
        if entry is None and self.done.get(key) is None and self.ids.mark(key) is None:
            self.waiting.put(key, (number, PREDICTION, event.time, *event[3:]))
            self.counters.pending += 1
            self.evict_overflow(number)
        elif entry is not None and entry[1] == LABEL:
            self.waiting.pop(key)
            self.counters.labels_waiting -= 1
            _, _, labelled_at, truth, weight, group = entry
            self._pair(number, event._replace(truth=truth), weight, group, labelled_at, origin)
        else:
            self.counters.predictions_duplicate += 1
            return False
        return True

    def _label(self, event: Checked, number: int, origin: Origin, counts: PartCounts) -> None:
        key, time, truth = event[:3]
        entry = self.waiting.get(key)
        settled = self.done.get(key) if entry is None else None
        if entry is not None and entry[1] == PREDICTION:
            self.waiting.pop(key)
            self.counters.pending -= 1
            prediction = Checked(key, entry[2], truth, *entry[3:])
            self._pair(number, prediction, event.weight, event.group, time, origin)
        elif entry is not None and (time < entry[2] or truth == entry[3]):
            self.counters.labels_duplicate += 1
        elif settled is None and entry is None and self.ids.mark(key) is not None:
            self._label_again(key, truth, counts)
        elif settled is None:
            if entry is None:
                self.counters.labels_waiting += 1
            else:
                self.waiting.pop(key)
                self.counters.corrections += 1
            self.waiting.put(key, (number, LABEL, time, truth, event.weight, event.group))
            self.evict_overflow(number)
        elif settled[1] == EXPIRED:
            self.counters.labels_late += 1
        elif settled[1] == REFUSED or time < settled[LABELLED] or truth == settled[TRUTH]:
            self.counters.labels_duplicate += 1
        else:
            self._correct(event, number, origin, counts)

    def _label_again(self, key: Label, truth: Truth, counts: PartCounts) -> None:
        """Count a label of an id of which nothing but the mark is known."""
        if self.ids.mark(key) == EXPIRED_MARK:
            self.counters.labels_late += 1
            return
        self._count(counts)  # which may refuse the pair
        if self.ids.mark(key) in (REFUSED_MARK, truth_mark(truth)):
            self.counters.labels_duplicate += 1
        else:
            self.counters.corrections_refused += 1

    def _pair(
        self,
        number: int,
        event: Checked,
        weight: Weight | None,
        group: Label | None,
        labelled_at: float,
        origin: Origin,
    ) -> None:
        """Join a prediction, with its truth, to a label with a weight and group of its own."""
        weight = weight if event.weight is None else event.weight
        group = group if event.group is None else event.group
        pair = event.truth, event.prediction, event.scores, weight, group, event.time, labelled_at
        self._joins.add(number, event.id, *pair, origin, event.classes, self.done.entries)
        self.evict_overflow_done()

    def _correct(self, event: Checked, number: int, origin: Origin, counts: PartCounts) -> None:
        """Take a pair back and count the one with the new label, or leave it as it is."""
        self._count(counts)
        self._move(counts)
        entry = self.done.get(event.id)
        if entry is None or entry[1] != JOINED:
            self.counters.labels_duplicate += 1
            return
        old = Pair._make((*entry[2:-1], origin, entry[-1]))
        new = old._replace(truth=event.truth, labelled_at=event.time)
        try:
            done = counts.correct(old, new)
        except StreamMetricsError as error:
            self.counters.labels_refused += 1
            self._rejected.append(Rejected(*origin, "other", str(error)[:200]))
            return
        if done:
            self.done.pop(event.id)
            self.done.put(event.id, (number, JOINED, *new[:7], new.classes))
            self.counters.corrections += 1
        else:
            self.counters.corrections_refused += 1

    def _count(self, counts: PartCounts) -> None:
        """Count all pairs so far; rejected ones are remembered as such."""
        joins, columns = self._joins, PairColumns(*self._joins.columns)
        if not joins.keys:
            return
        bad = counts.add_columns(columns)
        self.counters.joined += len(joins.keys) - len(bad)
        self.counters.refused += len(bad)
        self._rejected += bad
        delays = np.subtract(columns.labelled, columns.predicted)
        if bad:
            where, entries = {item[:3] for item in bad}, self.done.entries
            delays = delays[[origin not in where for origin in columns.origins]]
            for key, body, origin in zip(joins.keys, joins.bodies, columns.origins, strict=True):
                if origin in where and entries.get(key) is body:
                    self.done.put(key, (first_of(body), REFUSED))
                elif origin in where:
                    self.ids.remark(key, REFUSED_MARK)
        self.delays.add(delays)
        joins.clear()

    def stats(self) -> JoinStats:
        """Return what became of predictions and labels so far."""
        return JoinStats.of(replace(self.counters), self.delays.read())

    def content(self, moving: int = 0) -> list[object]:
        """Return everything but the entries, as plain values, once so many entries have been moved to rows."""
        spill = [] if self.spill is None else self.spill.content(moving)
        edges = [list(self.waiting.edges), list(self.done.edges)]
        counters, votes = list(vars(self.counters).values()), self.votes.content()
        ids = self.ids.content()
        lengths = [self.waiting.step_length, self.done.step_length]
        return [counters, self.watermark, self.number, self.delays.content(), edges, spill, votes, ids, lengths]

    def load(
        self, content: Any, waiting: Iterable[Segment], done: Iterable[Segment], ids: Iterable[Segment] = ()
    ) -> None:
        """Take over what was written before."""
        counters, watermark, self.number, delays, edges, spill, *later = content
        self.votes.load(later[0] if later else (), watermark)
        if len(later) > 1:
            self.ids.load(later[1], ids)
        self.counters = JoinCounters(*counters)
        self.delays = DelayCounts(*delays)
        shelves = self.waiting, self.done
        lengths = later[2] if len(later) > 2 else [shelf.step_length for shelf in shelves]
        for shelf, segments, its_edges, length in zip(shelves, (waiting, done), edges, lengths, strict=True):
            shelf.load(segments, its_edges, self.number, length)
        if self.spill is not None and spill:
            self.spill.n, self.spill.floor, self.spill.next = spill
