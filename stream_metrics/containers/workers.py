"""What an aggregate knows of a worker, and the sum of the states of all: a tree of partial sums.

A worker has its newest state, and what became of its messages. Replacing a state marks its place, and reading the total
makes the nodes above it again, each as the merge of those below. The lower nodes are many and cheap to make, so they
are merges of many and stored as bytes. Merges of the upper nodes take the time, so these are merges of two.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Self

from stream_metrics.containers.keyed import StatePacker, StoredState
from stream_metrics.errors import MergeError
from stream_metrics.labels import Label

FANS = 24, 4, 4  # nodes below one of the lower levels, which are stored as bytes


class PartialSums:
    """Sums of states that the caller has by key."""

    def __init__(self) -> None:
        self._keys: list[Hashable | None] = []  # by place
        self._places: dict[Hashable, int] = {}
        self._free: list[int] = []
        self._levels: list[list[Any]] = []  # sums of states, then of sums, up to one
        self._changed: set[int] = set()  # places

    def mark(self, key: Hashable) -> None:
        """Note that the state of a key is replaced or removed, now or soon."""
        place = self._places.get(key)
        if place is None:
            if not self._free:
                self._keys.append(None)
                self._free.append(len(self._keys) - 1)
            place = self._places[key] = self._free.pop()
        self._keys[place] = key
        self._changed.add(place)

    def total(self, states: Mapping[Any, Any], store: StatePacker[Any]) -> Any:
        """Return the sum of the states of all entries, which callers must not change; None if there is no state."""
        for place in self._changed:
            key = self._keys[place]
            if key is not None and key not in states:
                self._keys[place] = None
                del self._places[key]
                self._free.append(place)
        below: list[Any] = self._keys
        changed, level = self._changed, 0
        while level == 0 or len(below) > 1:
            fan = FANS[level] if level < len(FANS) else 2
            if level == len(self._levels):
                self._levels.append([])
            above = self._levels[level]
            above += [None] * (-(-len(below) // fan) - len(above))
            changed = {place // fan for place in changed}
            for place in changed:
                parts = below[place * fan : (place + 1) * fan]
                if level == 0:
                    parts = [None if key is None else states[key].state for key in parts]
                node = _sum([part for part in parts if part is not None], store)
                above[place] = store.packed(node) if level < len(FANS) else node
            below, level = above, level + 1
        self._changed = set()
        return store.thaw(below[0]) if below else None

    def copy(self) -> Self:
        """Return independent sums of the same states."""
        twin: Self = type(self)()
        twin._levels = [list(level) for level in self._levels]
        twin._keys, twin._places = list(self._keys), dict(self._places)
        twin._free, twin._changed = list(self._free), set(self._changed)
        return twin


def _sum(states: list[Any], store: StatePacker[Any]) -> Any:
    """Return the merge of states: of one, itself, and of none, None."""
    if len(states) < 2:
        return states[0] if states else None
    total = store.copied(states[0])
    for state in states[1:]:
        total.merge(store.thaw(state))
    return total


class PutResult(enum.StrEnum):
    """What `Aggregate.put` did with a state; only `ACCEPTED` is true.

    Attributes
    ----------
    ACCEPTED
        The state is new and counts from now on.
    DUPLICATE
        The state came before.
    STALE
        A later state of this life of the worker came before.
    FENCED
        The life of the worker that sent the state is over: a later epoch has reported, or the worker was retired or
        dropped.

    Examples
    --------
    >>> from stream_metrics import Accuracy, Aggregate, PutResult
    >>> total = Aggregate()
    >>> [total.put("worker", Accuracy(), sequence) for sequence in (2, 1)]
    [<PutResult.ACCEPTED: 'accepted'>, <PutResult.STALE: 'stale'>]
    >>> bool(PutResult.STALE), PutResult.STALE == "stale"
    (False, True)
    """

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    STALE = "stale"
    FENCED = "fenced"

    def __bool__(self) -> bool:
        return self is PutResult.ACCEPTED


class Worker(NamedTuple):
    """What an aggregate knows of a worker.

    Attributes
    ----------
    epoch, sequence : int
        The numbers of the state that counts.
    n : int
        How many samples it has.
    age : float
        Seconds since it came.
    accepted, duplicate, stale, fenced : int
        How many states of the worker had each outcome; see `PutResult`.
    """

    epoch: int
    sequence: int
    n: int
    age: float
    accepted: int = 0
    duplicate: int = 0
    stale: int = 0
    fenced: int = 0


class Entry(NamedTuple):
    """The newest state of a worker as it is stored, with its numbers, and when it came.

    The state is None if the worker was dropped, or retired: then it is part of the base.
    """

    epoch: int
    sequence: int
    state: StoredState | None
    since: float
    retired: bool = False

    @property
    def rank(self) -> tuple[int, bool, int, bool]:
        """What grows with news: retiring ends an epoch, dropping ends it up to a sequence."""
        return self.epoch, self.retired, self.sequence, self.state is None

    @property
    def n(self) -> int:
        """The number of samples."""
        return 0 if self.state is None else self.state.n


class RetiredCounts(NamedTuple):
    """What retired workers have counted, and the epoch up to which unknown workers are over."""

    state: StoredState | None = None
    floor: int | None = None


def outcome(worker: Label, old: Entry | None, new: Entry) -> PutResult:
    """Return what becomes of a state that arrives; MergeError if it differs from `old` under the same numbers."""
    if newer(worker, old, new) is new:
        return PutResult.ACCEPTED
    if old is None or old.state is None or new.epoch < old.epoch:
        return PutResult.FENCED
    return PutResult.STALE if new.sequence < old.sequence else PutResult.DUPLICATE


def newer(worker: Label, mine: Entry | None, theirs: Entry) -> Entry:
    """Return the newer of two entries of a worker, `mine` if they are one."""
    if mine is None or theirs.rank > mine.rank:
        return theirs
    if theirs.rank == mine.rank and theirs.state != mine.state:
        raise MergeError(
            f"Expected one state of worker {worker!r} under epoch {mine.epoch} and sequence {mine.sequence}, but got "
            f"two that differ, of {mine.n} and {theirs.n} samples"
        )
    return mine
