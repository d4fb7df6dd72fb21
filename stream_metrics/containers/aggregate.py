"""Shards become a whole: once, by `merge`, or for as long as their states arrive, by `Aggregate`.

Of each worker the newest state is stored whole, so a message that comes twice, late or out of order changes nothing.
That makes the aggregate a join semilattice (a state-based CRDT: Shapiro et al. 2011): of two aggregates that saw
different messages, each worker's newer entry is what one that saw all would have. The total is read from a tree of
partial sums, so that one new state does not cost the merge of all.

A worker that will not come back is retired: its counts go into the base, and only its numbers stay, so that a message
still under way does not count again. Even those can be forgotten, as an epoch below which unknown workers are refused.
"""

from __future__ import annotations

import operator
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, Self, SupportsIndex, TypeVar

from stream_metrics._core.numeric.kernels import Guarded
from stream_metrics._core.windows.kernels import replace_keys
from stream_metrics.containers.keyed import StatePacker, copy_like, emptied, merge_unordered
from stream_metrics.containers.workers import Entry, PartialSums, PutResult, RetiredCounts, Worker, newer, outcome
from stream_metrics.errors import LabelError, MergeError, UnknownKeyError, other_kind, quantity
from stream_metrics.inputs.arrow import as_pyarrow
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import MOST, Accumulator, Mergeable, capacity_left, load_of
from stream_metrics.wire import Portable, from_bytes, unpacked

State = TypeVar("State", bound=Mergeable)
EPOCH_BITS = 32  # below the number of the generation: a random number
BASE = ()  # the key of the base among the partial sums; no worker has this name
NO_OUTCOMES: Counter[PutResult] = Counter()
MOST_REGISTERED = 100_000  # workers that registered and have not reported
RETIRED = ("retired",)  # in bytes, where a worker that counts has its state


def merge(states: Iterable[State | bytes | bytearray | memoryview]) -> State:
    """Return a new state with the counts of all states; their order does not change the counts.

    Parameters
    ----------
    states : iterable of state or bytes-like
        States, metrics, sets, windows or groups that count the same, or what `to_bytes` made of them, also as a column
        of a data frame or of Arrow. They stay as they are.

    Returns
    -------
    state
        A new state. What it shows (metrics, `zero_division`, the order of labels) is what the first one shows.

    Raises
    ------
    MergeError
        If there is no state, or two of them count differently.
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
    if not isinstance(states, Iterable) or isinstance(states, bytes | bytearray | memoryview):
        raise MergeError(argument="states", expected="to be a sequence of states", got=states)
    column: Any = as_pyarrow(states)
    for position, given in enumerate(states if column is None else column.to_pylist()):
        state: Any = from_bytes(bytes(given)) if isinstance(given, bytes | bytearray | memoryview) else given
        if not (hasattr(state, "copy") and hasattr(state, "merge")):
            expected = "to be states, metrics or sets of metrics"
            raise MergeError(argument="states", position=position, expected=expected, got=state)
        total = state.copy() if total is None else total.merge(state)
    if total is None:
        raise MergeError("Expected at least one state to merge, but got none")
    return total


class Aggregate(Portable):
    """The sum of the newest state of each worker, however often and in whatever order states arrive.

    A worker, named by text, bytes, an int or a tuple of these, sends the state of all that it has counted, not of what
    is new in it; `sequence` grows from one of its states to the next. A worker that starts again sends a larger
    `epoch`, which `register` returns: its states replace those of earlier epochs, as they should if it goes on from a
    checkpoint, or with `fold` add to them, as they should if it starts empty. A late state of its predecessor changes
    nothing. States are those of any accumulator that merges.

    Notes
    -----
    `age` of a worker is the time since news of it came, or since this object was read from bytes. Ages, and how many
    states had each outcome, are of this object: bytes do not have them.

    Clocks are a bad source of epochs: a worker that restarts on a machine whose clock is behind is fenced until its
    clock has caught up. `register`, or any number that is stored and grows with each start, has no such gap.

    Memory: the bytes of one state for each worker, about as many for partial sums of 24 and more workers, and some sums
    as objects; the numbers of a worker that was retired or dropped, until `compact`.

    Time: `put` costs the size of one state. Reading costs the merge of 24 states, of four sums twice, and of two sums
    for each time that the workers double beyond 384, for each state that has changed since.

    Guarantee: counts and bytes depend on the set of messages alone. Two aggregates merge into the one that would have
    received the messages of both. Threads may share it.

    Examples
    --------
    >>> from stream_metrics import Accuracy, Aggregate
    >>> worker = Accuracy()
    >>> worker.update("cat", "cat")
    >>> total = Aggregate()
    >>> total.put("worker-1", worker, sequence=1)
    <PutResult.ACCEPTED: 'accepted'>
    >>> if not total.put("worker-1", worker.to_bytes(), sequence=1):
    ...     print(total.workers()["worker-1"].duplicate)
    1
    >>> total.total().get()
    1.0

    A worker that restarts with nothing, and is gone in the end:

    >>> again = Accuracy()
    >>> again.update("cat", "dog")
    >>> epoch = total.register("worker-1")
    >>> total.put("worker-1", again, sequence=1, epoch=epoch, fold=True)
    <PutResult.ACCEPTED: 'accepted'>
    >>> total.put("worker-1", worker, sequence=2)  # a late message of its first life
    <PutResult.FENCED: 'fenced'>
    >>> total.retire("worker-1")
    >>> total.workers(), total.total().get()
    ({}, 0.5)
    """

    KIND: ClassVar[str] = "aggregate"

    def __init__(self) -> None:
        self._entries: dict[Label, Any] = {BASE: RetiredCounts()}  # one `Entry` for each worker, and the base
        self._outcomes: dict[Label, Counter[PutResult]] = {}  # of this object, by worker
        self._sums = PartialSums()  # of the states of all entries, and of the base
        self._newest = 0  # the largest epoch so far, 0 if there is none
        self._registered: dict[Label, int] = {}  # epochs of `register` under which nothing was reported
        self._heaviest = 0  # what a state has counted at most
        self._first: Label | None = None  # the first worker by the order of names; None if that is to be found out
        self._store: StatePacker[Any] | None = None  # how the states are stored; None while there is none
        self._lock = Guarded()

    @property
    def _base(self) -> RetiredCounts:
        base: RetiredCounts = self._entries[BASE]
        return base

    def _workers(self) -> list[tuple[Label, Entry]]:
        """Return what is known of each worker."""
        return [(key, entry) for key, entry in self._entries.items() if key != BASE]

    def register(self, worker: Label) -> int:
        """Return an epoch for a worker that starts: one that is larger than all so far.

        The earlier life of the worker ends when the first state of the new epoch arrives, however late that is. The low
        bits are random, so that an aggregate that was restored from older bytes does not give out an epoch twice.

        Parameters
        ----------
        worker : Label
            Name of the worker.

        Returns
        -------
        int
            The epoch, below 2**63 as long as all epochs come from here.
        """
        key = _name(worker)
        with self._lock._writing():
            generation = (max(self._newest, 0) >> EPOCH_BITS) + 1
            self._newest = (generation << EPOCH_BITS) + 1 + secrets.randbelow(2 ** (EPOCH_BITS - 1))
            self._registered.pop(key, None)  # the newest come last
            self._registered[key] = self._newest
            if len(self._registered) > MOST_REGISTERED:
                del self._registered[next(iter(self._registered))]
            return self._newest

    def put(
        self, worker: Label, state: Accumulator | bytes, sequence: int, epoch: int = 0, *, fold: bool = False
    ) -> PutResult:
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
            Number that grows when the worker starts again; see `register`.
        fold : bool, default False
            Whether the counts of an earlier epoch of the worker stay, because the new ones do not contain them. By
            default they are replaced.

        Returns
        -------
        PutResult
            What became of the state; true if it was accepted.

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
        report: Any = given.copy() if given is state else given
        with self._lock._writing():
            store = self._store_for(report)
            new, old, floor = Entry(*numbers, store.packed(report), now), self._entries.get(key), self._base.floor
            over = old is None and floor is not None and new.epoch <= floor
            fenced = over and self._registered.get(key) != new.epoch
            result = PutResult.FENCED if fenced else outcome(key, old, new)
            if result:
                folded = [old] if fold and old is not None and new.epoch > old.epoch else []
                self._replace({key: new}, self._base_with(folded, store), store)
            if key in self._entries:
                self._outcomes.setdefault(key, Counter())[result] += 1
        return result

    def _base_with(self, entries: Iterable[Entry], store: StatePacker[Any] | None) -> RetiredCounts:
        """Return the base with the states of workers added to it."""
        states = [self._base.state, *(entry.state for entry in entries)]
        parts = [state for state in states if state is not None]
        if len(parts) < 2 or store is None:
            return self._base._replace(state=parts[0] if parts else None)
        total = reduce(merge_unordered, map(store.copied, parts))
        return self._base._replace(state=store.packed(total))

    def _replace(self, entries: Mapping[Label, Entry], base: RetiredCounts, store: StatePacker[Any] | None) -> None:
        """Put entries in the place of those of their workers, and have another base; WeightError if it is too much."""
        after: dict[Label, Any] = {**entries, BASE: base}
        loads = [part.state._merge_load() for part in after.values() if part.state is not None]
        self._heaviest = max([self._heaviest, *map(max, loads)])
        if self._heaviest * (len(self._entries) + len(entries)) > MOST:
            parts = {**self._entries, **after}.values()
            capacity_left(load_of(part.state for part in parts if part.state is not None))
        for key in entries if base.state is self._base.state else after:
            self._sums.mark(key)
        self._newest = max([self._newest, *(entry.epoch for entry in entries.values())])
        if any(key not in self._entries or self._entries[key].state is None for key in entries):
            self._first = None
        self._store = store
        over = [key for key, entry in entries.items() if entry.epoch >= self._registered.get(key, entry.epoch + 1)]
        replace_keys(self._entries, after)
        while over:  # what follows a commit takes no memory
            del self._registered[over.pop()]

    def _store_for(self, state: Accumulator) -> StatePacker[Any]:
        """Return how states are stored; MergeError if a state does not merge with the others."""
        store = self._store
        if store is None or not any(entry.state is not None for entry in self._entries.values()):
            reason = mergeable(state)
            if reason is not None:
                raise reason
            return StatePacker(emptied(state))  # a state of any kind may be the first
        store.empty.copy().merge(state)
        return store

    def drop(self, worker: Label) -> None:
        """Forget a worker and its counts until a larger sequence or epoch of it comes.

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
        with self._lock._writing():
            dropped = self._known(key)._replace(state=None, since=time.monotonic())
            self._replace({key: dropped}, self._base, self._store)

    def retire(self, worker: Label) -> None:
        """Forget a worker but not its counts; only a larger epoch brings it back.

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
        with self._lock._writing():
            self._retire([key])

    def expire(self, older_than: float) -> list[Label]:
        """Retire the workers of which no new state came for so long.

        Parameters
        ----------
        older_than : float
            Seconds.

        Returns
        -------
        list of Label
            The names of the workers.
        """
        with self._lock._writing():
            silent = self._older(older_than, True)
            self._retire(silent)
        return [silent[at] for at in ordering(silent)]

    def _older(self, older_than: float, live: bool) -> list[Label]:
        """Return the workers, that count or do not, of which nothing new came for some seconds."""
        before = time.monotonic() - _seconds(older_than)
        return [key for key, entry in self._workers() if (entry.state is not None) == live and entry.since <= before]

    def _retire(self, keys: Iterable[Label]) -> None:
        entries, now = {key: self._known(key) for key in keys}, time.monotonic()
        retired = {key: entry._replace(state=None, since=now, retired=True) for key, entry in entries.items()}
        self._replace(retired, self._base_with(entries.values(), self._store), self._store)

    def _known(self, key: Label) -> Entry:
        entry: Entry | None = None if key == BASE else self._entries.get(key)
        if entry is None or entry.state is None:
            raise UnknownKeyError(argument="worker", expected="to be the name of one", got=key)
        return entry

    def compact(self, older_than: float = 0.0) -> int:
        """Forget the numbers of workers that were retired or dropped at least so long ago.

        From then on a worker that is not known is fenced unless its epoch is larger than all that were forgotten, or
        is the newest that `register` returned for it and has not reported. Bytes do not have the latter.

        Parameters
        ----------
        older_than : float, default 0.0
            Seconds. No message should be under way for that long.

        Returns
        -------
        int
            How many workers were forgotten.
        """
        with self._lock._writing():
            gone = self._older(older_than, False)
            self._forget(gone)
        return len(gone)

    def _forget_counted(self, workers: Sequence[Label]) -> None:
        """Retire workers, and forget their numbers."""
        with self._lock._writing():
            self._retire([key for key in workers if self._entries[key].state is not None])
            self._forget(workers)

    def _base_bytes(self) -> bytes | None:
        """Return the bytes of what retired workers have counted; None for nothing."""
        base, store = self._base.state, self._store
        return None if base is None or store is None else bytes(store.thaw(base).to_bytes())

    def _forget(self, workers: Iterable[Label]) -> None:
        changes: dict[Label, Any] = dict.fromkeys(workers)
        if not changes:
            return
        base = self._base
        floor = max(self._entries[key].epoch for key in changes)
        changes[BASE] = base._replace(floor=floor if base.floor is None else max(floor, base.floor))
        outcomes = {key: counts for key, counts in self._outcomes.items() if key not in changes}
        for key in changes:
            self._sums.mark(key)
        replace_keys(self._entries, changes)
        self._outcomes = outcomes

    def _restore_registered(self, worker: Label, epoch: int) -> None:
        """Take over the epoch that was given to a worker that has not reported."""
        with self._lock._writing():
            self._registered[worker] = max(epoch, self._registered.get(worker, epoch))
            self._newest = max(self._newest, epoch)

    def _restore_base(self, base: Accumulator | None, floor: int | None) -> None:
        """Set what retired workers have counted, and up to which epoch unknown workers are over."""
        with self._lock._writing():
            store = self._store if base is None else self._store_for(base)
            self._newest = max(self._newest, floor or 0)
            whole = None if base is None or store is None else store.packed(base)
            self._replace({}, self._base._replace(state=whole, floor=floor), store)

    def workers(self) -> dict[Label, Worker]:
        """Return numbers, samples, age and outcomes of each worker that was neither dropped nor retired.

        Returns
        -------
        dict of Label to Worker
            Epoch, sequence, samples, age in seconds, and how many states had each outcome, in the order of names.
        """
        now = time.monotonic()
        return {
            key: Worker(
                *(entry.epoch, entry.sequence, entry.n, now - entry.since),
                *(self._outcomes.get(key, NO_OUTCOMES)[result] for result in PutResult),
            )
            for key, entry in self._ordered()
            if entry.state is not None
        }

    def total(self) -> Any:
        """Return a new state with the counts of all workers, retired ones too.

        Returns
        -------
        object
            A state of the class of the workers' states. What it shows is what the state of the first worker shows, by
            the order of names.

        Raises
        ------
        MergeError
            If there is no worker.
        """
        with self._lock._writing():
            store = self._store
            total = None if store is None else self._sums.total(self._entries, store)
            if total is None or store is None:
                raise MergeError("Expected at least one state to merge, but got none")
            first = None if self._first is None else self._entries.get(self._first)
            if first is None or first.state is None:
                names = [key for key, entry in self._workers() if entry.state is not None]
                self._first = next((names[at] for at in ordering(names)[:1]), None)
                first = self._entries[BASE if self._first is None else self._first]
            return copy_like(store.thaw(first.state), total)

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
        """The number of samples of all workers, retired ones too."""
        with self._lock._reading():
            return sum(entry.state.n for entry in self._entries.values() if entry.state is not None)

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
            If states do not merge, or differ under the same numbers of one worker. If both have retired workers and not
            the same ones, or one has forgotten numbers that a worker of the other may have: what was counted by both
            cannot be told from what was counted by one.
        """
        if not isinstance(other, Aggregate):
            raise other_kind(Aggregate, other)
        twin: Self = other.copy()
        theirs = dict(twin._workers())
        with self._lock._writing():
            store = self._store
            states = [twin._base.state, *(entry.state for entry in theirs.values())]
            some = next((state for state in states if state is not None), None)
            if some is not None and twin._store is not None:
                store = self._store_for(twin._store.thaw(some))
            takes_base = self._takes_base(twin)
            newest = {key: newer(key, self._entries.get(key), entry) for key, entry in theirs.items()}
            self._replace(newest, twin._base if takes_base else self._base, store)
            if takes_base:  # the other may have forgotten what registered here
                left = twin._registered.items()
                self._registered = {key: at for key, at in left if key not in newest or at > newest[key].epoch}
        return self

    def _takes_base(self, other: Self) -> bool:
        """Tell whether the base of the other is to be taken; MergeError if what it counts may be counted here, too."""
        mine, theirs = self._base, other._base
        if theirs not in (mine, (None, None)) and mine != (None, None):
            raise MergeError(
                "Expected to merge aggregates of which one at most has retired workers, but got two: "
                "put the total of one into the other, as the state of a worker"
            )
        if mine != theirs:
            _check_floor(self._entries, other._entries, other._base.floor)
            _check_floor(other._entries, self._entries, self._base.floor)
        return mine == (None, None) and theirs != mine

    def copy(self) -> Self:
        """Return an independent copy, ages and outcomes included.

        Returns
        -------
        Aggregate
            The copy.
        """
        twin: Self = type(self)()
        with self._lock._reading():  # states of entries are never changed, so the copy has the same ones
            twin._entries, twin._sums = dict(self._entries), self._sums.copy()
            twin._newest, twin._store, twin._heaviest = self._newest, self._store, self._heaviest
            twin._registered = dict(self._registered)
            twin._outcomes = {key: Counter(outcomes) for key, outcomes in self._outcomes.items()}
        return twin

    def reset(self) -> None:
        """Forget every worker, dropped and retired ones too."""
        with self._lock._writing():
            self._registered, self._outcomes = {}, {}
            for key in self._entries:
                self._sums.mark(key)
            replace_keys(self._entries, dict.fromkeys(self._entries) | {BASE: RetiredCounts()})

    def _ordered(self) -> list[tuple[Label, Entry]]:
        with self._lock._reading():
            entries = self._workers()
        return [entries[at] for at in ordering([key for key, _ in entries])]

    def _content(self) -> list[object]:
        with self._lock._reading():
            (base, floor), kind = self._base, "" if self._store is None else self._store.empty.KIND
            content: list[object] = [
                [key, entry.epoch, entry.sequence, _written(entry, kind)] for key, entry in self._ordered()
            ]
        if base is not None or floor is not None:
            content.append([floor, [] if base is None else [kind, base._content()]])
        return content

    @classmethod
    def _restore(cls, content: Any) -> Self:
        aggregate, now = cls(), time.monotonic()
        workers, (floor, base) = (
            (content[:-1], content[-1]) if content and len(content[-1]) == 2 else (content, (None, ()))
        )
        whole = aggregate._unpacked(base) if base else None
        if floor is not None:
            aggregate._newest = max(0, _number(floor, "epoch"))
        entries = {}
        for name, epoch, sequence, data in workers:
            state = aggregate._unpacked(data) if data and data != RETIRED else None
            numbers = _number(epoch, "epoch"), _number(sequence, "sequence")
            entries[_name(name)] = Entry(*numbers, state, now, data == RETIRED)
        aggregate._replace(entries, RetiredCounts(whole, floor), aggregate._store)
        return aggregate

    def _unpacked(self, data: object) -> Any:
        state = unpacked(data)
        if isinstance(state, Aggregate):
            raise ValueError("states of workers")
        if self._store is None:
            self._store = self._store_for(state)
        else:
            self._store.empty.copy().merge(state)
        return self._store.packed(state)

    def __repr__(self) -> str:
        workers, samples = quantity(len(self.workers()), "worker"), quantity(self.n, "sample")
        return f"Aggregate({f'{self.total()!r}, ' if self.n else ''}{workers}, {samples})"


def _check_floor(entries: Mapping[Label, Entry], known: Mapping[Label, Entry], floor: int | None) -> None:
    """Raise MergeError if a worker that is not known may be one of those that were forgotten."""
    for key in entries.keys() - known.keys() if floor is not None else ():
        if entries[key].epoch <= (floor or 0):
            raise MergeError(
                f"Expected workers with epochs above {floor}, up to which the other aggregate forgot those that were "
                f"retired, but got {key!r} with {entries[key].epoch}"
            )


def _written(entry: Entry, kind: str) -> list[object]:
    """Return what bytes have of the state of a worker, which is of a kind."""
    return [kind, entry.state._content()] if entry.state is not None else list(RETIRED) if entry.retired else []


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


def _seconds(value: object) -> float:
    """Return a length of time; LabelError if it is not valid."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    raise LabelError(argument="older_than", expected="to be a number of seconds from 0 on", got=value)
