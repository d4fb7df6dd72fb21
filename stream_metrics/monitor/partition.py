"""One partition: the join, the counts, the next offset of each topic, and what was rejected; the unit of state.

If a join has two topics, each partition number has one such state for both: stored separately, a crash could count a
pair twice or not at all.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from operator import itemgetter

from stream_metrics.inputs.times import text_of, to_epoch_ns
from stream_metrics.monitor.alerts.drift import DriftDetectors, changed_rules
from stream_metrics.monitor.archive.changes import adapted, without_groups
from stream_metrics.monitor.archive.writing import COUNTS, Archive, Retention, State, StoredPanes, by_group, forgotten
from stream_metrics.monitor.config import Config
from stream_metrics.monitor.counts.class_limit import ClassPool
from stream_metrics.monitor.counts.counting import PartCounts
from stream_metrics.monitor.events.records import Arrivals, Events, Record, Rejected
from stream_metrics.monitor.join.entry_log import PendingRows, Spill
from stream_metrics.monitor.join.joining import Joiner
from stream_metrics.monitor.store import LETTERS, PaneChange, PartChange, Row, StoreError, offsets
from stream_metrics.wire import decoded, encoded

FORMAT = 1
HOPELESS = 100
INCOMPLETE = 100


class Partition:
    """The state of one partition; `rows` stores pending entries that do not fit into memory, `panes` old counts."""

    def __init__(
        self,
        number: int,
        config: Config,
        rows: PendingRows | None = None,
        pool: ClassPool | None = None,
        panes: StoredPanes | None = None,
    ) -> None:
        self.number = number
        self._retention, self._field = Retention.of(config.store.retention), config.fields.group
        self._panes = panes
        self.changes = DriftDetectors(changed_rules(config))
        self.counts = PartCounts(config.counting, config.join.due, pool)
        self.counts.watch = self.changes.watch
        self._parts: dict[str, bytes] = {}  # as they were written last
        self.next: dict[str, int] = {}
        self.read = 0
        self.good = 0
        self.rejected: dict[str, int] = {}
        self.letters: list[Rejected] = []  # since the last checkpoint
        self.incomplete: list[str] = []
        self.event_time: float | None = None
        self.arrivals = Arrivals()
        self._first_bad: Rejected | None = None
        self.changed = False
        self._spill = None if rows is None else Spill(rows, number)
        self.joiner = Joiner(config.join, self._spill)
        self._epoch = 0
        self._previous = offsets({})
        self._start_archive(None)

    def _start_archive(self, before: int | None) -> None:
        """Start to store counts by time; samples of times before `before` may have been counted already."""
        if self._panes is not None and self._retention.levels:
            empty: dict[str, State] = {COUNTS: self.counts.empty, by_group(self._field): self.counts.empty_groups}
            self.counts.archive = Archive(self._retention, empty, self._panes, self.number, before)

    @property
    def full(self) -> bool:
        """Whether so much has changed that a checkpoint is due early."""
        return self.counts.archive is not None and self.counts.archive.full

    @property
    def unsaved(self) -> bool:
        """Whether a checkpoint has something to write; records of which none was an event are in no checkpoint."""
        return self.changed and bool(self.good or not self.read)

    def unread(self, records: Sequence[Record]) -> list[Record]:
        """Return the records that were not read before."""
        following = dict(self.next)
        unread: list[Record] = []
        if len(set(map(itemgetter(0), records))) == 1 and records[0][2] >= following.get(records[0][0], 0):
            starts, ends = map(itemgetter(2), records[1:]), map(itemgetter(3), records)
            if all(map(operator.ge, starts, ends)):  # as usual
                return list(records)
        for topic, run in itertools.groupby(records, itemgetter(0)):
            at = following.get(topic, 0)
            unread += [record for record in run if record[2] >= at and (at := record[3])]
            following[topic] = at
        return unread

    def take(self, records: Sequence[Record], events: Events, bad: list[Rejected], now: float) -> list[Rejected]:
        """Process records that were not read before, with their events; return all that is rejected.

        `now` is the time of the clock; no count depends on it.
        """
        if bad and not self.good and self._first_bad is None:
            self._first_bad = bad[0]
        self.changed = True
        self.read += len(records)
        self.good += len(events.ids)
        self.next |= {record[0]: record[3] for record in records}
        bad = bad + self.joiner.feed(events, self.counts)
        if events.ids:
            self.event_time = self.joiner.votes.newest
            self.arrivals.note(events.times, now, self.joiner.watermark)
        for letter in bad:
            self.rejected[letter.reason] = self.rejected.get(letter.reason, 0) + 1
        self.letters = (self.letters + bad)[-LETTERS:]
        return bad

    @property
    def unreadable(self) -> str | None:
        """Why none of the records so far was an event, if these are at least a hundred.

        They are in no checkpoint, so that they are read again once the configuration was mended.
        """
        if self.good or self.read < HOPELESS:
            return None
        text = f"none of the first {self.read:,} records of partition {self.number} holds an event"
        if self._first_bad is None:
            return text
        topic, _, offset, reason, detail = self._first_bad
        return f"{text}; the record at {offset} of {topic!r} is refused for its {reason!r}: {detail}"

    def skip_to(self, topic: str, offset: int) -> None:
        """Go on at an offset, if that is further on: what lies before are no records, such as ends of transactions."""
        if offset > self.next.get(topic, -1):
            self.next = {**self.next, topic: offset}
            self.changed = True

    def rename_topic(self, old: str, new: str) -> None:
        """Go on with a topic under another name."""
        self.next = {new if topic == old else topic: offset for topic, offset in self.next.items()}
        self.changed = True

    def mark_incomplete(self, what: str) -> None:
        """Note something that the counts lack."""
        if what not in self.incomplete:
            self.incomplete = [*self.incomplete[-INCOMPLETE + 1 :], what]
            self.changed = True

    def change(self) -> PartChange:
        """Return what a checkpoint has to write; nothing else may happen until `written`."""
        parts = self.counts.parts()
        changed = {name: body for name, body in parts.items() if body is not self._parts.get(name)}
        dropped = [name for name in self._parts if name not in parts]
        waiting = self.joiner.waiting.prepared(self.joiner.number)
        done = self.joiner.done.prepared(self.joiner.number)
        following = offsets(self.next)
        state = self.state(len(waiting.moves.added))
        came = self.arrivals.last or 0.0
        shelves = waiting, done, came, self.joiner.ids.prepared()
        panes = None if self._panes is None else self._pane_change(self._panes)
        return PartChange(self.number, self._epoch, self._previous, following, state, changed, dropped, *shelves, panes)

    def _pane_change(self, panes: StoredPanes) -> PaneChange | None:
        if self.counts.archive is not None:
            return self.counts.archive.change(self.counts.seen)
        return None if panes.archived(self.number) is None else forgotten()

    def state(self, moving: int = 0) -> bytes:
        """Return everything but counts and entries as bytes; `moving` entries are about to be moved to rows."""
        waiting, done = len(self.joiner.waiting), len(self.joiner.done)
        rejected = sorted(self.rejected.items())
        numbers = [self.read, self.good, rejected, self.incomplete, self.event_time, waiting, done]
        later = [*(self.changes.content() or [[]]), [self._field, self.counts.groups_since], self.arrivals.content()]
        return encoded([FORMAT, self.joiner.content(moving), *numbers, *later])

    def written(self, change: PartChange) -> None:
        """Note that a checkpoint has been written."""
        for name in change.dropped:
            del self._parts[name]
        self._parts |= change.parts
        self.joiner.waiting.written(change.waiting)
        self.joiner.done.written(change.done)
        self.joiner.ids.written(change.ids)
        if self.counts.archive is not None and change.panes is not None:
            self.counts.archive.written(change.panes)
        self._previous = change.next
        self.letters = []
        self.changed = False

    def load(self, row: Row) -> None:
        """Load a stored row; ``StoreError`` if its format is newer or its parts do not fit together."""
        sizes = self.load_counts(row)
        if sizes is None:
            return
        loaded, (waiting, done) = (len(self.joiner.waiting), len(self.joiner.done)), sizes
        if loaded != sizes:
            raise StoreError(
                f"Expected {waiting} waiting and {done} joined entries in partition {self.number}, but got {loaded}"
            )

    def _adapted(self, parts: Mapping[str, bytes], field: str) -> tuple[Mapping[str, bytes], dict[str, int]]:
        """Return stored parts for this configuration, and from when new windows are complete."""
        if field != self._field:
            parts = without_groups(self.counts, parts)
        if self._panes is None:
            return parts, {}
        newest = None if self.event_time is None else to_epoch_ns(self.event_time)
        return adapted(self.counts, parts, self._panes, self.number, by_group(self._field), newest)

    def _mark_later(self, what: str, t: int) -> None:
        self.mark_incomplete(f"{what} came later: complete from {text_of(t / 1e9)} on")

    def load_counts(self, row: Row) -> tuple[int, int] | None:
        """Load a stored row as far as it goes: without its logs, that is all but the entries of the join.

        Returns how many entries wait and how many are joined, None if the row is empty.
        """
        self._epoch, self.next, self._previous = row.epoch, dict(row.next), offsets(row.next)
        if not row.state:
            return None
        stored = decoded(row.state)
        if stored[0] != FORMAT:
            raise StoreError(f"Expected partition {self.number} in format {FORMAT}, but it is stored in {stored[0]}")
        content, self.read, self.good, rejected, incomplete, self.event_time, waiting, done, *later = stored[1:]
        changes = later[0] if later else []
        field, groups_since = later[1] if len(later) > 1 else (self._field, None)  # earlier versions wrote none
        stored_parts, since = self._adapted(row.parts, field)
        self.counts = PartCounts.from_parts(
            self.counts.config, stored_parts, self.counts.due, self.counts.classes.pool
        )
        self.counts.watch = self.changes.watch
        self.changes.load(changes)
        parts = self.counts.parts()
        self._parts = {name: parts[name] if parts.get(name) == body else body for name, body in row.parts.items()}
        newest = None if self.event_time is None else to_epoch_ns(self.event_time) + 1
        self._start_archive(max((t for t in (self.counts.before, newest) if t is not None), default=None))
        self.rejected, self.incomplete = dict(rejected), list(incomplete)
        for name, t in since.items():
            self._mark_later(f"the window {name}", t)
        self.joiner.load(content, row.waiting, row.done, row.ids)
        times = [t for t in (self.event_time,) if t is not None]
        recent = self.joiner.votes.content() or times
        if field != self._field and recent:
            groups_since = to_epoch_ns(max(recent + times)) + 1
            self._mark_later(f"groups by {self._field}", groups_since)
        self.counts.groups_since = groups_since
        if recent and len(later) > 2:
            self.arrivals.load(later[2], row.written)
        elif recent:
            self.arrivals.note(recent, row.written)
        return waiting, done


def validate(config: Config) -> None:
    """Raise ``ValueError`` if no partition can be counted with this configuration."""
    changed_rules(config)
    Retention.of(config.store.retention)
    PartCounts(config.counting, config.join.due)
    Joiner(config.join)


def by_part(records: Sequence[Record]) -> dict[int, Sequence[Record]]:
    """Return records by the number of their partition."""
    parts: dict[int, list[Record]] = {}
    for number, run in itertools.groupby(records, itemgetter(1)):  # a fetch brings many of one partition
        parts.setdefault(number, []).extend(run)
    return dict(sorted(parts.items()))
