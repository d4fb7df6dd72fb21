"""Shards become a whole: once, by `merge`, or for as long as their states arrive, by `Aggregate`.

What arrives is kept whole and never added up on the way: of each worker the newest state, so that a message that comes
twice, late or out of order changes nothing. That makes the aggregate a join semilattice (a state-based CRDT: Shapiro
et al. 2011): of two aggregates that saw different messages, each worker's newer entry is what one that saw all would
hold. A worker that is dropped leaves the mark of its last state behind, so that a message still under way does not
bring it back.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, SupportsIndex, TypeVar

from stream_metrics._core.numeric.kernels import Lock
from stream_metrics.errors import LabelError, MergeError, UnknownKeyError, quantity, with_article
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.states.batches import mergeable
from stream_metrics.states.limits import Load, capacity_left, load_of
from stream_metrics.states.protocols import Accumulator, Mergeable
from stream_metrics.wire import Portable, from_bytes, packed, unpacked, written_as

__all__ = ["Aggregate", "Worker", "merge"]

State = TypeVar("State", bound=Mergeable)


def merge(states: Iterable[State | bytes]) -> State:
    """Return a new state with the counts of all states; their order does not matter.

    Parameters
    ----------
    states : iterable of state or bytes
        States, metrics, sets, windows or groups of one configuration, or what `to_bytes` made of them. They stay as
        they are.

    Returns
    -------
    state
        A new state of the same class.

    Raises
    ------
    MergeError
        If there is no state, or kinds or configurations differ.
    DecodeError
        If bytes are damaged.

    Examples
    --------
    >>> from stream_metrics import Accuracy, merge
    >>> shards = Accuracy(), Accuracy()
    >>> shards[0].update("cat", "cat")
    >>> shards[1].update("cat", "dog")
    >>> merge(shards).get()
    0.5
    """
    total: State | None = None
    if not isinstance(states, Iterable) or isinstance(states, bytes):
        raise MergeError(f"Expected `states` to be a sequence of states, but got {states!r:.60}")
    for given in states:
        state: Any = from_bytes(given) if isinstance(given, bytes) else given
        if not (hasattr(state, "copy") and hasattr(state, "merge")):
            raise MergeError(f"Expected `states` to be states, metrics or sets of metrics, but got {state!r:.60}")
        total = state.copy() if total is None else total.merge(state)
    if total is None:
        raise MergeError("Expected at least one state to merge, but got none")
    return total


class Worker(NamedTuple):
    """What an aggregate knows of a worker: which state it holds, of how many samples, and for how many seconds."""

    epoch: int
    sequence: int
    n: int
    age: float


class _Entry(NamedTuple):
    """The newest state of a worker, None if it was dropped, with its numbers, when it came, and what it counts."""

    epoch: int
    sequence: int
    state: Accumulator | None
    since: float
    load: Load = (0, 0, 0)

    @property
    def rank(self) -> tuple[int, int, bool]:
        return self.epoch, self.sequence, self.state is None

    @property
    def n(self) -> int:
        return 0 if self.state is None else self.state.n


class Aggregate(Portable):
    """The sum of the newest state of each worker, however often and in whatever order states arrive.

    A worker, named by text, bytes, an int or a tuple of these, sends the state of all that it has counted, not of what
    is new in it; `sequence` grows from one of its states to the next. A worker that starts again, empty or from a
    checkpoint, sends a larger `epoch`: its states replace those of earlier epochs, whatever their sequence, and a late
    state of its predecessor changes nothing. If the earlier counts are to stay, the worker takes another name. States
    are those of any accumulator that merges.

    Notes
    -----
    `age` of a worker is the time since news of it came, or since this object was read from bytes.

    Memory: one state for each worker.

    Guarantee: counts and bytes depend on the set of messages alone. Two aggregates merge into the one that would have
    received the messages of both. Threads may share it.

    Examples
    --------
    >>> from stream_metrics import Accuracy, Aggregate
    >>> worker = Accuracy()
    >>> worker.update("cat", "cat")
    >>> total = Aggregate()
    >>> total.put("worker-1", worker, sequence=1)
    True
    >>> total.put("worker-1", worker.to_bytes(), sequence=1)
    False
    >>> total.total().get()
    1.0
    """

    KIND: ClassVar[str] = "aggregate"

    def __init__(self) -> None:
        self._entries: dict[Label, _Entry] = {}
        self._total: Accumulator | None = None  # of all entries, until one of them changes
        self.merge_load: Load = (0, 0, 0)  # of all entries
        self._lock = Lock()

    def put(self, worker: Label, state: Accumulator | bytes, sequence: int, epoch: int = 0) -> bool:
        """Take the state of a worker; the state is copied.

        Parameters
        ----------
        worker : Label
            Name of the worker.
        state : state or bytes
            The state, or its bytes.
        sequence : int
            Number that grows from one state of the worker to the next.
        epoch : int, default 0
            Number that grows when the worker starts again.

        Returns
        -------
        bool
            Whether the state was new.

        Raises
        ------
        DecodeError
            If bytes hold no state.
        MergeError
            If the state does not merge with those of other workers, or differs from one that the worker sent under the
            same numbers.
        """
        key, now = _name(worker), time.monotonic()
        given: Any = from_bytes(bytes(state)) if isinstance(state, bytes | bytearray | memoryview) else state
        if isinstance(given, Aggregate) or not (isinstance(given, Portable) and hasattr(given, "snapshot")):
            raise MergeError(f"Expected `state` to be an accumulator or its bytes, but got {given!r:.60}")
        numbers = _number(epoch, "epoch"), _number(sequence, "sequence")
        # a copy of one moment, since other threads may still feed the state
        report: Any = given if isinstance(state, bytes | bytearray | memoryview) else given.copy()
        with self._lock:
            self._check_fits(report)
            new, old = _Entry(*numbers, report, now, load_of([report])), self._entries.get(key)
            if _newer(key, old, new) is not new:
                return False
            self.merge_load = self._load_with({key: new})
            self._entries[key] = new
            self._total = None
        return True

    def _load_with(self, fresh: Mapping[Label, _Entry]) -> Load:
        """Return what all entries count together once these replace their workers'; WeightError if that is too much."""
        weight, samples, abstentions = self.merge_load
        for key, entry in fresh.items():
            old = self._entries[key].load if key in self._entries else (0, 0, 0)
            weight, samples = weight + entry.load[0] - old[0], samples + entry.load[1] - old[1]
            abstentions += entry.load[2] - old[2]
        capacity_left((weight, samples, abstentions))
        return weight, samples, abstentions

    def _check_fits(self, state: Accumulator) -> None:
        """Raise MergeError if a state does not merge with the others."""
        other = next((entry.state for entry in self._entries.values() if entry.state is not None), None)
        if other is None:
            reason = mergeable(state)
            if reason is not None:
                raise reason
        else:
            empty = other.copy()
            empty.reset()
            empty.merge(state)

    def drop(self, worker: Label) -> None:
        """Forget a worker until a larger sequence or epoch of it comes.

        Parameters
        ----------
        worker : Label
            Name of the worker.

        Raises
        ------
        KeyError
            If there is no such worker.
        """
        key = _name(worker)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or entry.state is None:
                raise UnknownKeyError(f"Expected the name of a worker, but got {worker!r:.60}")
            dropped = entry._replace(state=None, load=(0, 0, 0))
            self.merge_load = self._load_with({key: dropped})
            self._entries[key] = dropped
            self._total = None

    def workers(self) -> dict[Label, Worker]:
        """Return what is known of each worker that was not dropped.

        Returns
        -------
        dict of Label to Worker
            Epoch, sequence, samples and age in seconds, in the order of names.
        """
        now = time.monotonic()
        return {
            key: Worker(entry.epoch, entry.sequence, entry.n, now - entry.since)
            for key, entry in self._ordered()
            if entry.state is not None
        }

    def total(self) -> Any:
        """Return a new state with the counts of all workers.

        Returns
        -------
        object
            A state of the class of the workers' states.

        Raises
        ------
        MergeError
            If there is no worker.
        """
        with self._lock:
            if self._total is None:
                self._total = merge(entry.state for entry in self._entries.values() if entry.state is not None)
            return self._total.copy()

    def snapshot(self) -> Any:
        """Return a snapshot of all workers together.

        Returns
        -------
        Snapshot or GroupSnapshot
            The metrics of all samples.

        Raises
        ------
        MergeError
            If there is no worker.
        """
        return self.total().snapshot()

    @property
    def n(self) -> int:
        """The number of samples of all workers."""
        return sum(entry.n for _, entry in self._ordered())

    def merge(self, other: Self) -> Self:
        """Take the newer entry of each worker from another aggregate.

        Parameters
        ----------
        other : Aggregate
            Another aggregate. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If states do not merge, or differ under the same numbers of one worker.
        """
        if not isinstance(other, Aggregate):
            raise MergeError(f"Expected to merge an Aggregate, but got {with_article(type(other))}")
        twin: Self = other.copy()
        theirs = twin._entries
        with self._lock:
            for entry in theirs.values():
                if entry.state is not None:
                    self._check_fits(entry.state)
                    break
            newer = {key: _newer(key, self._entries.get(key), entry) for key, entry in theirs.items()}
            self.merge_load = self._load_with(newer)
            self._entries |= newer
            self._total = None
        return self

    def copy(self) -> Self:
        """Return an independent copy, ages included.

        Returns
        -------
        Aggregate
            The copy.
        """
        twin: Self = type(self)()
        with self._lock.reading():
            entries, twin.merge_load = dict(self._entries), self.merge_load
        twin._entries = {
            key: entry if entry.state is None else entry._replace(state=entry.state.copy())
            for key, entry in entries.items()
        }
        return twin

    def reset(self) -> None:
        """Forget every worker, dropped ones too."""
        with self._lock:
            self._entries, self._total, self.merge_load = {}, None, (0, 0, 0)

    def _ordered(self) -> list[tuple[Label, _Entry]]:
        with self._lock.reading():
            entries = list(self._entries.items())
        return [entries[at] for at in ordering([key for key, _ in entries])]

    def _content(self) -> list[object]:
        return [
            [key, entry.epoch, entry.sequence, [] if entry.state is None else packed(entry.state)]
            for key, entry in self._ordered()
        ]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        aggregate, now = cls(), time.monotonic()
        for name, epoch, sequence, data in content:
            state = unpacked(data) if data else None
            if isinstance(state, Aggregate):
                raise ValueError("states of workers")
            if state is not None:
                aggregate._check_fits(state)
            numbers = _number(epoch, "epoch"), _number(sequence, "sequence")
            load = (0, 0, 0) if state is None else state.merge_load()
            aggregate._entries[_name(name)] = _Entry(*numbers, state, now, load)
        if not written_as(aggregate, content):
            raise ValueError("what these workers would be written as")
        entries, aggregate._entries = aggregate._entries, {}
        aggregate.merge_load, aggregate._entries = aggregate._load_with(entries), entries
        return aggregate

    def __repr__(self) -> str:
        workers, samples = quantity(len(self.workers()), "worker"), quantity(self.n, "sample")
        return f"Aggregate({f'{self.total()!r}, ' if self.n else ''}{workers}, {samples})"


def _newer(worker: Label, mine: _Entry | None, theirs: _Entry) -> _Entry:
    """Return the newer of two entries of a worker, `mine` if they are one."""
    if mine is None or theirs.rank > mine.rank:
        return theirs
    if theirs.rank == mine.rank and theirs.state != mine.state:
        raise MergeError(
            f"Expected one state of worker {worker!r} under epoch {mine.epoch} and sequence {mine.sequence}, but got "
            f"two that differ, of {mine.n} and {theirs.n} samples"
        )
    return mine


def _name(worker: object) -> Label:
    """Return the name of a worker; LabelError for numbers that are no int, which would be equal to an int."""
    name = canonical(worker, "worker")
    parts = list(name) if isinstance(name, tuple) else [name]
    if not all(type(part) in (str, bytes, int) for part in parts):
        raise LabelError(argument="worker", expected="to be text, bytes, an int or a tuple of these", got=worker)
    return name


def _number(value: SupportsIndex, argument: str) -> int:
    """Return a whole number as a plain int."""
    try:
        number = operator.index(value) + 0
    except TypeError:
        raise LabelError(argument=argument, expected="to be a whole number", got=value) from None
    canonical(number, argument)  # as large as a label at most
    return number
