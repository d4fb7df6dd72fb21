"""The panes of a partition that the store has: how long they are and are stored, and what a checkpoint writes of them.

**Retention.** By default panes of minutes are stored for 2 days, of hours for 90 days, and then of days.

Every length divides the next one, so a pane of one level lies within a pane of the next. The age of a pane is measured
against the latest time of its partition. The limit between two levels moves in steps of the longer panes: when it
passes a long pane, all short panes in it are merged. So at any moment exactly one level covers each time, and only the
latest time determines which.

**Checkpoints.** Stored panes stay in the store. A pane is read when it gets a sample, and written with the next
checkpoint; between two checkpoints, all but the newest few are held as bytes. Only the owner of a partition can write
its panes, so a pane that it has read cannot change in the store before it writes it. A checkpoint writes each changed
pane whole, and the panes that were merged for their age, in the transaction of the offsets. So after a crash at any
moment, the stored panes have exactly the samples before the stored offsets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, Self, TypeAlias, cast

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import TimeError
from stream_metrics.inputs.times import LIMIT, format_duration, parse_duration, to_epoch_ns
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.store.rows import Pane, PaneChange
from stream_metrics.wire import decoded, encoded, from_bytes


def moment(text: str, argument: str, now: float) -> int:
    """Return a time in nanoseconds since 1970; `now` is in seconds. ``TimeError`` names the argument."""
    text = text.strip()
    try:
        if text == "now":
            return to_epoch_ns(now)
        if text.startswith("-") and not _is_number(text):
            return to_epoch_ns(now) - parse_duration(text[1:], argument)
        return to_epoch_ns(float(text) if _is_number(text) else text)
    except ValueError:
        expected = 'to be a time: seconds since 1970, ISO 8601, "now", or a length of time before now such as -7d'
        raise TimeError(argument=argument, expected=expected, got=text) from None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


State: TypeAlias = MetricSet | ByGroup


def state_of(data: bytes) -> State:
    """Return the state of a stored pane."""
    return cast(State, from_bytes(data))


def merged_bytes(parts: Sequence[bytes]) -> bytes:
    """Return the bytes of the merged states of some panes."""
    if len(parts) == 1:
        return parts[0]
    first, *rest = map(state_of, parts)
    for state in rest:
        first.merge(state)  # type: ignore[arg-type]
    return first.to_bytes()


class Level(NamedTuple):
    """Panes of a length, and the age from which they are merged into the next level; None is never. Nanoseconds."""

    length: int
    age: int | None


class PaneKey(NamedTuple):
    """Which pane: its length, and its start since 1970, in nanoseconds."""

    length: int
    start: int

    @property
    def end(self) -> int:
        """The first time after the pane."""
        return self.start + self.length


class Retention:
    """Levels from the shortest panes to the longest; without levels no panes are stored.

    If the last level has an age, older panes are deleted.
    """

    def __init__(self, levels: Sequence[Level]) -> None:
        self.levels = tuple(levels)
        for finer, coarser in pairwise(self.levels):
            if coarser.length <= finer.length or coarser.length % finer.length:
                lengths = format_duration(finer.length), format_duration(coarser.length)
                raise ValueError(f"Expected each length of `retention` to divide the next, but got {lengths}")
            if finer.age is None or (coarser.age is not None and coarser.age <= finer.age):
                raise ValueError("Expected the ages of `retention` to increase, and only the last to be left out")
        for level in self.levels:
            if level.age is not None and level.age < level.length:
                raise ValueError(
                    f"Expected `retention` to have panes for at least their length, {format_duration(level.length)}, "
                    f"but got {format_duration(level.age)}"
                )

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Parse texts such as "1m for 2d" or "1d", one for each level."""
        return cls([_level(text) for text in texts])

    def floors(self, seen: int | None, earlier: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the first time of each level if the latest time is `seen`, never before those of `earlier`."""
        if seen is None:
            return tuple(earlier)
        floors = []
        for at, level in enumerate(self.levels):
            coarser = self.levels[min(at + 1, len(self.levels) - 1)].length
            floors.append(_NEVER if level.age is None else (seen - level.age) // coarser * coarser)
        return tuple(map(max, floors, earlier)) if earlier else tuple(floors)

    def key(self, t: int, floors: Sequence[int]) -> PaneKey | None:
        """Return the pane of a time; None if that pane is too old to be stored."""
        for level, floor in zip(self.levels, floors or [_NEVER], strict=False):
            if t >= floor:
                return PaneKey(level.length, t // level.length * level.length)
        return None


_NEVER = -(2**63)


def _level(text: str) -> Level:
    length, word, age = (part.strip() for part in text.partition(" for "))
    return Level(parse_duration(length, "retention"), parse_duration(age, "retention") if word else None)


COUNTS = "counts"
OPEN = 4  # panes that stay states between checkpoints
MANY = 1000  # changed panes that call for a checkpoint


def by_group(field: str) -> str:
    """Return the name of the panes that count the groups of a field."""
    return f"by/{field}"


class StoredPanes(Protocol):
    """The store of the panes of partitions."""

    def archived(self, part: int) -> bytes | None:
        """Return what the last checkpoint wrote about the panes of a partition, None without one."""

    def pane(self, part: int, name: str, length: int, start: int) -> bytes | None:
        """Return the state of a pane as bytes; None if there is no such pane."""

    def panes(self, part: int, start: int, end: int) -> Iterable[Pane]:
        """Return the panes that overlap a range of time."""


class _About(NamedTuple):
    """Facts stored beside the panes: the levels, the first time of each, and from when each name is complete."""

    levels: tuple[tuple[int, int | None], ...]
    floors: tuple[int, ...]
    since: dict[str, int | None]

    @classmethod
    def of(cls, data: bytes | None) -> _About:
        if data is None:
            return cls((), (), {})
        levels, floors, since = decoded(data)
        return cls(tuple(tuple(level) for level in levels), tuple(floors), dict(since))


class Archive:
    """The panes of one partition; `empty` has an empty state for each name, and `rows` are the stored panes.

    The names are `COUNTS` and, with groups, the name of their panes.

    If samples of times before `before` may have been counted already, a new name starts there: its panes omit all
    earlier samples, even late ones.
    """

    def __init__(
        self, retention: Retention, empty: Mapping[str, State], rows: StoredPanes, part: int, before: int | None = None
    ) -> None:
        self.retention, self.empty = retention, dict(empty)
        self.counts, self.groups = COUNTS, next((name for name in empty if name != COUNTS), COUNTS)
        self._rows, self._part = rows, part
        stored = rows.archived(part)
        about = _About.of(stored)
        self._about = about if about.levels == retention.levels else about._replace(floors=())
        start = None if before is None else -(-before // self.length) * self.length
        self.since = {name: about.since.get(name, start) for name in self.empty}
        self._stored_until = -LIMIT if stored is None else self._end_of_stored(before)
        self._stale = about.levels != retention.levels  # whether every stored pane must be checked for its age
        self._open: dict[tuple[str, PaneKey], State] = {}
        self._changed: dict[tuple[str, PaneKey], bytes | None] = {}  # None: as the open state is
        self._only: dict[tuple[str, PaneKey], int] = {}  # panes with the only batch that they have, until `settle`

    @property
    def length(self) -> int:
        """The length of the shortest panes, in nanoseconds."""
        return self.retention.levels[0].length

    @property
    def gone(self) -> None:
        """None: every time has a pane number of its own, however old."""

    def number(self, t: int) -> int:
        """Return the number of the shortest pane of a time."""
        return t // self.length

    @property
    def full(self) -> bool:
        """Whether so many panes have changed that a checkpoint is due."""
        return len(self._changed) >= MANY

    def add(self, name: str, t: int, state: State, batch: int) -> None:
        """Merge the state of a batch, which has a number, into the pane of a time, unless that is before the first.

        The caller must not change `state` afterwards: it becomes the state of a pane that is empty.
        """
        key = self._key(name, t)
        if key is None:
            return
        self._only.pop((name, key), None)
        if (earlier := self._opened(name, key)) is None:
            self._open[name, key], self._only[name, key] = state, batch
        else:
            earlier.merge(state)  # type: ignore[arg-type]
        self._changed[name, key] = None

    def groups_at(self, t: int, batch: int) -> ByGroup | None:
        """Return the groups of the pane of a time, to count a batch in at once; None if that is before the first."""
        key = self._key(self.groups, t)
        if key is None:
            return None
        place = self.groups, key
        self._only.pop(place, None)
        if self._opened(*place) is None:
            self._open[place], self._only[place] = self.empty[self.groups].copy(), batch
        self._changed[place] = None
        return cast(ByGroup, self._open[place])

    def _key(self, name: str, t: int) -> PaneKey | None:
        since = self.since[name]
        return None if since is not None and t < since else self.retention.key(t, self._about.floors)

    def _opened(self, name: str, key: PaneKey) -> State | None:
        """Return the state of a pane, read from the store if need be; None if nothing was counted in it."""
        state = self._open.get((name, key))
        if state is None:
            data = self._changed.get((name, key)) or self._stored(name, key)
            if data is not None:
                state = self._open[name, key] = state_of(data)
        return state

    def _stored(self, name: str, key: PaneKey) -> bytes | None:
        return None if key.start >= self._stored_until else self._rows.pane(self._part, name, *key)

    def _end_of_stored(self, before: int | None) -> int:
        """Return a time that no stored pane starts at or after, so that newer panes need not be looked for."""
        if before is None:
            return LIMIT
        return max((pane.start + pane.length for pane in self._rows.panes(self._part, before, LIMIT)), default=before)

    def copies(self, name: str, t: int) -> Iterator[tuple[PaneKey, State]]:
        """Yield each pane that may have counted a sample of a time, with a copy of its state.

        After a change of retention there may be several: the current one comes first, then those that are stored.
        """
        current = self._key(name, t)
        if current is None:
            return
        if (state := self._opened(name, current)) is not None:
            yield current, state.copy()
        for pane in self._rows.panes(self._part, t, t + 1):
            key = PaneKey(pane.length, pane.start)
            if pane.name == name and key != current and (state := self._opened(name, key)) is not None:
                yield key, state.copy()

    def replace(self, name: str, key: PaneKey, state: State) -> None:
        """Replace the state of a pane; the caller must not change `state` afterwards."""
        self._only.pop((name, key), None)
        self._open[name, key] = state
        self._changed[name, key] = None

    def settle(self) -> tuple[dict[int, bytes], dict[int, bytes]]:
        """Turn all states but the newest few into bytes.

        Returns the bytes of panes that have counted one batch only, since the last call, by the number of the batch:
        those of all samples, and those of groups.
        """
        for place in sorted(self._open, key=lambda place: place[1].start)[:-OPEN]:
            state = self._open.pop(place)
            if place in self._changed:
                self._changed[place] = state.to_bytes()
        counts, groups = dict[int, bytes](), dict[int, bytes]()
        for place, batch in self._only.items():
            if (data := self._changed.get(place)) is not None:
                (counts if place[0] == COUNTS else groups)[batch] = data
        self._only.clear()
        return counts, groups

    def change(self, seen: int | None) -> PaneChange:
        """Return what a checkpoint writes if the latest time is `seen`."""
        floors = self.retention.floors(seen, self._about.floors)
        panes = {place: self._open[place].to_bytes() if data is None else data for place, data in self._changed.items()}
        moved, deleted = self._aged(floors, panes)
        written = [Pane(*key, name, data) for (name, key), data in sorted((panes | moved).items())]
        before = floors[-1] if floors and self.retention.levels[-1].age is not None else None
        since = self.since if before is None else {name: max(t or before, before) for name, t in self.since.items()}
        about = encoded([self.retention.levels, floors, since])
        return PaneChange(written, deleted, before, about)

    def _aged(
        self, floors: Sequence[int], panes: dict[tuple[str, PaneKey], bytes]
    ) -> tuple[dict[tuple[str, PaneKey], bytes], list[tuple[str, int, int]]]:
        """Return the longer panes that replace shorter ones for their age, and the keys of the shorter ones.

        Those are removed from `panes` as well.
        """
        sources: dict[tuple[str, PaneKey], dict[PaneKey, bytes]] = {}
        for name, key, data in self._moving(floors, panes):
            target = self._target(key, floors)
            if target is not None and target != key:
                sources.setdefault((name, target), {})[key] = data
        moved, deleted = {}, []
        for (name, target), parts in sorted(sources.items()):
            for key in parts:
                panes.pop((name, key), None)
                deleted.append((name, *key))
            whole = panes.get((name, target)) or self._stored(name, target)
            moved[name, target] = merged_bytes([*([] if whole is None else [whole]), *parts.values()])
        return moved, deleted

    def _moving(
        self, floors: Sequence[int], panes: Mapping[tuple[str, PaneKey], bytes]
    ) -> Iterable[tuple[str, PaneKey, bytes]]:
        """Yield the stored and the changed panes that may be too short for their age."""
        for at, (floor, level) in enumerate(zip(floors, self.retention.levels[1:], strict=False)):
            earlier = self._about.floors[at] if self._about.floors and not self._stale else -(2**62)
            if floor > earlier:
                for pane in self._rows.panes(self._part, earlier, floor):
                    key = PaneKey(pane.length, pane.start)
                    if pane.length < level.length and (pane.name, key) not in panes:
                        yield pane.name, key, pane.body
        yield from ((name, key, data) for (name, key), data in panes.items())

    def _target(self, key: PaneKey, floors: Sequence[int]) -> PaneKey | None:
        """Return the pane of the retention that contains a pane whole; None if there is none yet."""
        target = self.retention.key(key.start, floors)
        return target if target is not None and target.length % key.length == 0 and key.end <= target.end else None

    def written(self, change: PaneChange) -> None:
        """Note that a checkpoint has been written."""
        self._about = _About.of(change.about)
        self._stored_until = max([self._stored_until, *(pane.start + pane.length for pane in change.written)])
        self.since, self._stale = dict(self._about.since), False
        self._changed.clear()
        self.settle()
        for name, key in list(self._open):
            if key.length > self.length or self._key(name, key.start) != key:  # others may have been merged into it
                del self._open[name, key]


def forgotten() -> PaneChange:
    """Return what a checkpoint writes once panes are no longer stored: no name is complete any more."""
    return PaneChange([], [], None, encoded([(), (), {}]))


def complete_from(about: bytes | None, name: str) -> int | None:
    """Return from when the panes of a name are complete, None if from the start; `about` is that of a partition."""
    return _About.of(about).since.get(name, LIMIT)
