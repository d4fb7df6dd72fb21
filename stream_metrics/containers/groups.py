"""One state for each group of samples: country, customer, version of the model.

With `max_groups`, the groups that are kept apart are those whose keys have the smallest hashes, a fixed function of the
key. The largest or the first groups would be more to the point, but which these are depends on the order of samples and
on how a stream is split, so states would not merge. A key that has once been folded stays so whatever else comes, since
more keys only lower the largest hash that is kept; so nothing that was folded would have to be taken apart again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.windows.kernels import GroupUpdateBase, Slot
from stream_metrics.containers.group_keys import factorize_groups, rank, shown
from stream_metrics.containers.inner import (
    InRiver,
    check_counts_labels,
    empty_prototype,
    reconfigured_inner,
    walk_inner,
)
from stream_metrics.containers.keyed import Keyed, StatePacker
from stream_metrics.errors import UnknownKeyError, WeightError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.batch import count_batch
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.metrics.rules import count_unignored
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.states.batches import KeyedBatch, mergeable
from stream_metrics.states.limits import MOST, Load, grown, load_of
from stream_metrics.states.protocols import Accumulator
from stream_metrics.states.reconfiguring import not_counted, settled
from stream_metrics.wire import Portable, encoded, packed, unpacked

__all__ = ["ByGroup"]

MOST_TAKEN = 3  # of the capacity of a state, by a sample of weight 1
MANY = 1000  # new groups in a batch, from which they are counted as bytes

Codes: TypeAlias = NDArray[np.int64]


class ByGroup(Keyed, GroupUpdateBase, InRiver, Portable):
    """A state like `inner` for each group.

    A group is any label. Which groups are kept apart is a fixed choice as good as random: those with the smallest
    hashes of their keys, however many samples they have.

    Parameters
    ----------
    inner : state, Metric, MetricSet or window
        The configuration of what counts. Its own counts are not taken over.
    max_groups : int, optional
        Largest number of groups that are kept apart. Samples of all other groups are counted together.
    other : str, default "other"
        Name of the other groups in reports; it is no group.

    Notes
    -----
    `snapshot` reads all groups at one time, the latest time seen in any group, if `inner` is a `TimeWindow` or fades by
    time.

    Memory: a state of `inner` for each group, at most `max_groups` + 1 of them. A state that was read from bytes, or
    is one of many new ones in a batch, stays bytes until it counts another sample. Copies share states until then.

    Time: `merge` takes as long as merging the groups of the other state, `copy` as long as copying pointers.

    Guarantee: a stream that is split over states gives the same bytes, however they are merged, if `inner` has that
    property. `revert` exists where `inner` has it and no group is folded. Threads may share it; the state of a group
    that `state` returns has a lock of its own.

    Examples
    --------
    >>> from stream_metrics import Accuracy, ByGroup
    >>> groups = ByGroup(Accuracy())
    >>> groups.update("cat", "cat", group="north")
    >>> groups.update_many(["cat", "dog"], ["dog", "dog"], group="south")
    >>> groups.snapshot().values_of("accuracy")
    {'north': 1.0, 'south': 0.5}
    """

    KIND: ClassVar[str] = "groups"
    _CONFIGURATION: ClassVar[tuple[str, ...]] = ("inner", "max_groups")

    @named_arguments
    def __init__(self, inner: Accumulator, max_groups: int | None = None, other: str = "other") -> None:
        if max_groups is not None and (not isinstance(max_groups, int) or max_groups < 1 or max_groups is True):
            raise ValueError(f"Expected `max_groups` to be a whole number above 0, or None, but got {max_groups!r}")
        if not isinstance(other, str):
            raise ValueError(f"Expected `other` to be a name, but got {other!r}")
        self._set_up(empty_prototype(inner, "ByGroup", keeps_all=False), max_groups, other)
        if any(state.KIND == "groups" for state in walk_inner(self.inner)):
            raise ValueError("Expected `inner` of a ByGroup to have no groups: one ByGroup with tuples as keys has")
        reason = mergeable(self.inner)
        if max_groups is not None and reason is not None:
            raise ValueError(f"Expected `inner` to be mergeable, as groups that are folded are merged, but: {reason}")
        if max_groups is not None and any(getattr(state, "by_count", False) for state in walk_inner(self.inner)):
            raise ValueError(
                "Expected `inner` to fade by time where groups are folded, but got one that fades by count: a sample "
                "would age with the samples of all folded groups, or of its own, as the order has it"
            )

    def _set_up(self, inner: Any, max_groups: int | None, other: str) -> None:
        self.max_groups, self.other = max_groups, other
        self._adds_up = mergeable(inner) is None  # whether there is one state of all groups, when they are read
        self._largest: tuple[bytes, bytes] | None = None  # the rank of the last group that is kept, if it is known
        self._configure(inner, StatePacker(inner), not _ages(inner), MOST)

    @property
    def revert(self) -> Callable[..., None]:
        """Undo one `update` with the same arguments; not there if `inner` has no such method, or groups are folded."""
        if self.max_groups is not None:
            raise AttributeError("Expected no `max_groups` for `revert`: nothing can be taken back from folded groups")
        if not hasattr(self.inner, "revert"):
            raise AttributeError(f"Expected an `inner` that can revert, but {type(self.inner).__name__} cannot")
        return self._revert

    def _revert_one(self, y_true: object, y_pred: object, w: object, group: object) -> None:
        """Undo one `update` even where groups are folded.

        An empty group then stays, without samples, so that the same groups remain folded: a folded sample cannot be
        moved to a group of its own. WeightError if there was no such update.
        """
        key = canonical(group, "group")
        if key in self._slots:
            return self._revert(y_true, y_pred, w, group=group)
        with self._writing():
            if self._rest is None:
                raise WeightError(f"Expected to revert a sample that was counted, but got one of the group {group!r}")
            state, changes = self._store.copied(self._rest.state), dict[Label, Slot | None]()
            state.revert(y_true, y_pred, w)
            if not state.n + state.abstained:
                empty = [key for key, slot in self._slots.items() if not slot.state.n + slot.state.abstained]
                changes, self._largest = dict.fromkeys(empty), None
            self._folded.clear()
            self._commit(changes, Slot(state) if state.n + state.abstained else None, self._capacity)

    @named_arguments
    def update_many(
        self,
        y_true: object,
        y_pred: object = None,
        w: object = None,
        *,
        group: object,
        t: object = None,
        scores: object = None,
        classes: Iterable[Label] | None = None,
        unit: object = None,
    ) -> None:
        """Count a batch of samples of groups; one bad row rejects the whole batch.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels: a list, an array, a column of pandas or Arrow, or a tensor on the CPU.
        y_pred : array-like of length n, optional
            Predictions, as `inner` takes them.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        group : array-like of shape (n,) or Label
            Groups of the samples, or one group for all of them.
        t : array-like of shape (n,) or one time, optional
            Times of the samples, if `inner` has times.
        scores : array-like of shape (n,) or (n, K), optional
            Scores: those of `pos_label`, or a column for each of `classes`.
        classes : sequence of Label of length K, optional
            The classes of the columns of a table of scores; a data frame brings its own.
        unit : array-like of shape (n,) or Label, optional
            Units of the samples, or one unit for all of them; see `update`.

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a score is not allowed.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        given = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores, "t": t, "unit": unit, "group": group}
        count_unignored(self._sample_rule, given, partial(self._count_columns, classes))

    def _count_columns(self, classes: Iterable[Label] | None, columns: dict[str, Any]) -> None:
        """Count a batch of samples of which none is left out."""
        group = columns.pop("group")
        batch = KeyedBatch(columns, classes)
        keys = factorize_groups(group, batch.n)
        with self._writing():
            self._count_batch(batch, *keys)

    @named_arguments
    def update_counts(self, y_true: object, y_pred: object, n: object, w: object = None, *, group: object) -> None:
        """Count a table of counts of groups, such as SQL's `GROUP BY` gives; for an `inner` that reads labels only.

        Parameters
        ----------
        y_true : array-like of shape (rows,)
            True labels, in the forms that `update_many` takes.
        y_pred : array-like of shape (rows,)
            Predictions; a row without one stands for abstentions.
        n : array-like of shape (rows,)
            Number of samples that each row stands for: whole numbers >= 0, also as floats or Decimals.
        w : array-like of shape (rows,), optional
            Sum of the weights of these samples; `n` by default.
        group : array-like of shape (rows,) or Label
            Groups of the rows, or one group for all of them.

        Raises
        ------
        LabelError
            If a label is not valid, or outside the fixed labels; the message names argument and position.
        OptionError
            If `inner` reads scores, or is a window.
        WeightError
            If `n` is negative or has a fraction, if a weight is negative, not finite, or not 0 where `n` is 0, or if a
            sum is too large.

        See Also
        --------
        ConfusionMatrix.update_counts : Which bytes the state of a group has.

        Examples
        --------
        >>> from stream_metrics import ByGroup, MetricSet
        >>> groups = ByGroup(MetricSet())
        >>> groups.update_counts(["cat", "cat"], ["cat", "dog"], [9, 1], group=["north", "south"])
        >>> groups.snapshot().values_of("accuracy")
        {'north': 1.0, 'south': 0.0}
        """
        check_counts_labels(self.inner)
        given = {"y_true": y_true, "y_pred": y_pred, "n": n, "w": w, "group": group}
        count_unignored(self._sample_rule, given, self._count_table)

    @classmethod
    def from_counts(
        cls, inner: Accumulator, y_true: object, y_pred: object, n: object, w: object = None, *, group: object,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Return the groups of a table of counts, such as SQL's `GROUP BY` gives.

        Parameters
        ----------
        inner : state, Metric or MetricSet
            The configuration of what counts in each group.
        y_true, y_pred, n, w, group : array-like of shape (rows,)
            The table; see `update_counts`.
        **options : object
            Options of `ByGroup`, such as `max_groups`.

        Returns
        -------
        ByGroup
            New groups, with the bytes of ones that counted the samples.

        Examples
        --------
        >>> from stream_metrics import ByGroup, MetricSet
        >>> groups = ByGroup.from_counts(MetricSet(), ["a", "a"], ["a", "b"], [9, 1], group=["north", "south"])
        >>> groups.n
        10
        """
        new = cls(inner, **options)
        new.update_counts(y_true, y_pred, n, w, group=group)
        return new

    def _count_table(self, given: dict[str, Any]) -> None:
        """Count a table of counts of which no row is left out."""
        table = count_batch(given["y_true"], given["y_pred"], given["n"], given["w"])
        assert table.samples is not None
        columns = {"y_true": table.truth, "y_pred": table.predicted, "n": table.samples, "w": table.weights}
        keys = factorize_groups(given["group"], table.n, table.samples)
        with self._writing():
            self._count_batch(KeyedBatch(columns), *keys, table.samples > 0)

    def _count_batch(
        self,
        batch: KeyedBatch,
        names: list[Label],
        forms: Codes,
        codes: Codes,
        rows: NDArray[np.bool_] | None = None,
    ) -> None:
        excess = self._excess([key for key in names if key not in self._folded])
        folded = np.array([key in excess or key in self._folded for key in names] + [True])
        codes = np.where(folded[codes], len(names), codes)  # what is folded is counted as one
        old = [*map(self._slots.get, names), self._rest]
        new = np.array([slot is None for slot in old]) & ~folded
        fresh = self._count_new(batch, codes, new, rows)
        if fresh:
            rows = ~new[codes] if rows is None else rows & ~new[codes]
        dealt = batch.split_by_key(codes, lambda code: self._state_of(old[code]), self.inner, rows)
        added = self._cost(batch, (self._state_of(old[code]) for code in dealt), [*dealt.values(), *fresh.values()])
        changes, rest, seen = dict[Label, Slot | None](), self._rest, forms.tolist()
        for code, state in (fresh | dealt).items():
            slot = old[code]
            if code == len(names):
                rest = Slot(state)
            else:
                changes[names[code]] = Slot(state, seen[code] if slot is None else _sum(slot.forms, seen[code]))
        self._put(changes, rest, self._capacity - added)

    def _count_new(
        self, batch: KeyedBatch, codes: Codes, new: NDArray[np.bool_], rows: NDArray[np.bool_] | None
    ) -> dict[int, Any]:
        """Return the states of new groups by code, if these are many and label counts are all that they have."""
        if np.count_nonzero(new) < MANY:
            return {}
        taken = np.flatnonzero(new[codes] if rows is None else new[codes] & rows)
        order = taken[np.argsort(codes[taken], kind="stable")]
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1, append=2**62))
        states = self._store.counted(batch, order, starts) if len(order) else None
        return {} if states is None else dict(zip(codes[order[starts[:-1]]].tolist(), states, strict=True))

    def _state_of(self, slot: Slot | None) -> Any:
        return None if slot is None else self._store.thaw(slot.state)

    def _cost(self, batch: KeyedBatch, before: Iterable[Any], after: Iterable[Any]) -> int:
        """Return how much of the capacity a batch takes, or a bound; WeightError if that is more than there is."""
        if not self._adds_up:
            return 0
        unweighted = batch.columns.get("w") is None and batch.columns.get("n") is None
        bound = MOST_TAKEN * batch.n if unweighted else MOST
        if MOST > bound > self._capacity:
            self._find_capacity(0)
        added = bound if bound <= self._capacity else grown(before, after)
        if added > self._capacity:
            self._find_capacity(added)
        return added

    def _excess(self, keys: Iterable[Label]) -> set[Label]:
        """Return which groups, of those here and of some keys, are too many to be kept apart."""
        fresh, limit = {key for key in keys if key not in self._slots}, self.max_groups
        if limit is None or len(self._slots) + len(fresh) <= limit:
            return set()
        if len(self._slots) == limit:  # so that new keys need not be compared with all others
            largest = self._largest = self._largest or max(map(rank, self._slots))
            if all(rank(key) > largest for key in fresh):
                return fresh
        return {*sorted([*self._slots, *fresh], key=rank)[limit:]}

    def _admit(self, key: Label) -> Slot:
        """Return the slot for a key without one: a new slot, or that of the folded groups."""
        canonical(key, "group")  # text was not looked at
        return self._rest if self._rest is not None and key in self._excess([key]) else Slot(self.inner.copy())

    def _state_for(self, group: Label) -> Any:
        """Return the state that would count the next sample of a group, an empty one if it is new."""
        key = canonical(group, "group")
        return self._store.thaw((self._slots.get(key) or self._admit(key)).state)

    def _put(self, changes: dict[Label, Slot | None], rest: Slot | None, capacity: int) -> None:
        """Replace slots by key, and that of folded groups; groups that are too many are merged into it."""
        excess = self._excess(changes)
        if excess:
            folded = [changes.pop(key, None) or self._slots[key] for key in excess]
            total = self._store.copied((folded.pop() if rest is None else rest).state)
            for slot in folded:
                total.merge(self._store.thaw(slot.state))
            changes |= {key: None for key in excess if key in self._slots}
            rest, self._largest = Slot(total), None
        self._commit(changes, rest, capacity)

    def _load(self) -> Load:
        """Return what all groups have counted together, if that is ever added up."""
        if not self._adds_up:
            return 0, 0, 0
        slots = [*self._slots.values(), *([] if self._rest is None else [self._rest])]
        weights, samples, abstentions = load_of(slot.state for slot in slots)
        return weights, samples, max([abstentions, *(max(slot.forms) for slot in slots)])

    def _add(self, other: Self) -> None:
        """Add the groups of another shard with the same prototype."""
        capacity = self._capacity_with(other)
        theirs, folded = other._share()
        slots, merged = self._slots, self._store.merged
        changes: dict[Label, Slot | None] = {}
        for key, slot in theirs.items():
            mine = slots.get(key)
            changes[key] = slot if mine is None else Slot(merged(mine.state, slot.state), _sum(mine.forms, slot.forms))
        if folded is not None and self._rest is not None:
            folded = Slot(merged(self._rest.state, folded.state))
        self._folded.clear()
        self._put(changes, folded or self._rest, capacity)

    def _become(self, whole: Self) -> None:
        """Have the groups and the prototype of a twin."""
        self._largest = None
        self._take(*whole._share(), whole._capacity, whole.inner, whole._store)

    def _mapped(self, inner: Any, change: Callable[[Any], Any]) -> Self:
        """Return the same groups with a prototype and with changed copies of states."""
        twin: Self = type(self).__new__(type(self))
        twin._set_up(inner, self.max_groups, self.other)
        slots, rest = self._share()
        slots = {key: Slot(change(self._store.copied(slot.state)), slot.forms) for key, slot in slots.items()}
        rest = None if rest is None else Slot(change(self._store.copied(rest.state)))
        twin._take(slots, rest, self._capacity, inner, twin._store)
        return twin

    def copy(self) -> Self:
        """Return an independent copy.

        Returns
        -------
        ByGroup
            The copy.
        """
        twin: Self = type(self).__new__(type(self))
        twin.max_groups, twin.other, twin._adds_up = self.max_groups, self.other, self._adds_up
        with self._reading():
            twin._largest = self._largest
            twin._configure(self.inner, self._store, not _ages(self.inner), self._capacity)
            twin._take(*self._share(), self._capacity, self.inner, self._store)
        return twin

    def reconfigured(self, **options: Any) -> Self:
        """Return a new state of the same samples with other options.

        Parameters
        ----------
        **options : object
            Options of `inner`, such as `metrics` or `labels`, and `other` and `max_groups`. What is left out stays.
            Fewer groups than there are fold the others for good.

        Returns
        -------
        ByGroup
            What groups with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the counts.
        TypeError
            If there is no such option.
        """
        options = settled(options)
        own = {name: options.pop(name) for name in ("max_groups", "other") if name in options}
        own = {"max_groups": self.max_groups, "other": self.other, **own}
        twin: Self = type(self)(reconfigured_inner(self.inner, options), **own)
        with self._reading():
            changed = self._mapped(twin.inner, lambda state: reconfigured_inner(state, options))
        limit = twin.max_groups
        if changed._rest is not None and (limit is None or limit > len(changed._slots)):
            raise not_counted("max_groups", self.max_groups, limit, "some groups are folded already")
        slots, rest = changed._share()
        twin._put({**slots}, rest, 0)
        twin._find_capacity(0)
        return twin

    def _map_states(self, change: Callable[[Any], Any]) -> Self:
        """Return the same groups with changed copies of states."""
        with self._reading():
            return self._mapped(self.inner, change)

    def reset(self) -> None:
        """Forget every group; the configuration stays."""
        with self._writing():
            self._largest = None
            self._take({}, None, MOST, self.inner, self._store)

    @property
    def groups(self) -> tuple[Label, ...]:
        """The groups that are kept apart, in the order of report."""
        with self._reading():
            return tuple([shown(key, self._slots[key].forms) for key in self._keys()])

    def state(self, group: Label) -> Any:
        """Return the state of a group at this moment.

        Parameters
        ----------
        group : Label
            The group.

        Returns
        -------
        object
            A state of the class of `inner`.

        Raises
        ------
        KeyError
            If the group is not kept apart.

        Notes
        -----
        The state is not a copy. Later samples of the group may change it (`update` does), or be counted in a state that
        replaces it (as after `update_many` and `merge`). Call `state` again for the current one, and copy it to keep
        it as it is or to update it.
        """
        key = canonical(group, "group")
        with self._writing():
            if key in self._slots:
                return self._lend(key)
        raise UnknownKeyError(argument="group", expected=f"to be one of {list(self.groups)!r:.80}", got=group)

    def _states(self) -> list[Accumulator]:
        """Return the states of all groups in no order, that of folded groups last."""
        with self._reading():
            slots = [*self._slots.values(), *([] if self._rest is None else [self._rest])]
            return [self._store.thaw(slot.state) for slot in slots]

    def _ordered_states(self) -> list[Accumulator]:
        """Return all states, that of folded groups last."""
        slots = [self._slots[key] for key in self._keys()]
        return [self._store.thaw(slot.state) for slot in (slots if self._rest is None else [*slots, self._rest])]

    def _keys(self) -> list[Label]:
        keys = list(self._slots)
        return [keys[at] for at in ordering(keys)]

    def _time(self, states: Iterable[Any] | None = None) -> np.datetime64 | None:
        """Return the time at which all groups are read, if they depend on it."""
        if not hasattr(self.inner, "_reading_time"):
            return None
        every: Iterable[Any] = self._ordered_states() if states is None else states
        times = [state._reading_time() for state in every]
        return np.datetime64(max(times), "ns") if times and times[0] is not None else None

    def _sums(self) -> tuple[int, int]:
        """Return the numbers of samples and of abstentions."""
        with self._reading():
            if not _ages(self.inner):
                return self._totals()
            states = self._ordered_states()
            t = self._time(states)
            return _sum_at(states, "n", t), _sum_at(states, "abstained", t)

    @property
    def n(self) -> int:
        """The number of samples counted, folded ones included."""
        return self._sums()[0]

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""
        return self._sums()[1]

    @property
    def folded(self) -> int:
        """The number of samples of groups that are not kept apart."""
        with self._reading():
            return 0 if self._rest is None else _sum_at([self._rest.state], "n", self._time())

    def snapshot(self, t: object = None) -> GroupSnapshot:
        """Return a frozen copy of all groups.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time of the reading, if `inner` has times.

        Returns
        -------
        GroupSnapshot
            The groups at this moment, to be read one by one and compared.
        """
        with self._reading():
            return self._freeze(t)

    def _freeze(self, t: object) -> GroupSnapshot:
        states = self._ordered_states()
        t = self._time(states) if t is None else t
        overall = self._overall(states)
        if overall is not None:
            states.append(overall)
        views = [state.snapshot() if t is None else state.snapshot(t) for state in states]
        groups = dict(zip(self.groups, views, strict=False))
        rest = None if self._rest is None else views[len(groups)]
        return GroupSnapshot(groups, None if overall is None else views[-1], rest, self.other)

    def _overall(self, states: list[Any]) -> Any:
        """Return the state of all groups together; None if their states cannot be merged."""
        if not self._adds_up:
            return None
        overall = self.inner.copy()
        for state in states:
            overall.merge(state)
        return overall

    def _content(self) -> list[object]:
        groups = []
        with self._reading():
            for key in self._keys():
                slot = self._slots[key]
                forms = list(slot.forms[:3]) if isinstance(key, int | float) else []
                groups.append([shown(key, slot.forms), forms, slot.state._content()])
            rest = [] if self._rest is None else [self._rest.state._content()]
        limit = [] if self.max_groups is None else [self.max_groups]
        return [packed(self.inner), limit, self.other, groups, rest]

    def _same(self, other: Self) -> bool:
        if (self.max_groups, repr(self.other)) != (other.max_groups, repr(other.other)) or self.inner != other.inner:
            return False
        mine, theirs = self._by_written_key(), other._by_written_key()
        same = self._store.same
        return mine.keys() == theirs.keys() and all(same(state, theirs[key]) for key, state in mine.items())

    def _by_written_key(self) -> dict[object, Any]:
        """Return the states by what identifies groups in bytes: text, or a name with its type; None are the folded."""
        with self._reading():
            states: dict[object, Any] = {} if self._rest is None else {None: self._rest.state}
            for key, slot in self._slots.items():
                states[key if type(key) is str else _written_key(key, slot.forms)] = slot.state
        return states

    @classmethod
    def _restore(cls, content: Any) -> Self:
        inner, limit, other, groups, rest = content
        template = unpacked(inner)
        restored = cls(template, limit[0] if limit else None, other)
        read, slots, empty = restored._store.read, {}, encoded(template._content()) if rest else b""
        for name, forms, data in groups:
            if any(not 0 <= x <= MOST for x in forms):
                raise ValueError("counts of appearances of groups")
            state = template.copy() if rest and encoded(data) == empty else read(data)
            slots[canonical(name, "group")] = Slot(state, (*forms, 0) if forms else (0, 0, 0, 0))
        others = [Slot(read(data)) for data in rest]
        most = restored.max_groups or len(slots)
        if len(slots) > most or len(others) > 1 or (others and len(slots) != restored.max_groups):
            raise ValueError("as many groups as are kept apart")
        restored._take(slots, others[0] if others else None, 0, restored.inner, restored._store)
        restored._find_capacity(0)
        return restored

    def __repr__(self) -> str:
        with self._reading():
            overall = self._overall(self._ordered_states())
            values = type(self.inner).__name__ if overall is None else repr(overall)
            folded = "" if self._rest is None else f", {self.folded} of them folded"
            groups, samples = quantity(len(self._slots), "group"), quantity(self.n, "sample")
            return f"ByGroup({values}, {groups}, {samples}{folded})"


def _written_key(key: Label, forms: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Return what identifies a group, with its type; of a number that follows from its appearances."""
    return repr(shown(key, forms)), forms[:3] if isinstance(key, int | float) else ()


def _ages(inner: Any) -> bool:
    """Tell whether the samples that a state has counted depend on the time at which it is read."""
    return hasattr(inner, "_reading_time") and not getattr(inner, "by_count", False)


def _sum_at(states: Iterable[Any], name: str, t: np.datetime64 | None) -> int:
    """Return the sum of a number of samples as it is read at a time."""
    return sum(getattr(state, name) if t is None else state._sum_at(name, t) for state in states)


def _sum(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """Return the sums of two numbers of appearances; WeightError if they are too large."""
    total = tuple(x + y for x, y in zip(a, b, strict=True))
    if max(total) > MOST:
        raise WeightError(f"Expected a group to have fewer than 2**63 - 2 samples, but got {max(b)} on top of {max(a)}")
    return total
