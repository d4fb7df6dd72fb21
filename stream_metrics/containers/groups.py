"""One state for each group of samples: country, customer, version of the model.

With `max_groups`, the groups that are kept apart are those whose keys have the smallest hashes, a fixed function of the
key. The largest or the first groups would be more to the point, but which these are depends on the order of samples and
on how a stream is split, so states would not merge. A key that has once been folded stays so whatever else comes, since
more keys only lower the largest hash that is kept; so nothing that was folded would have to be taken apart again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.windows.kernels import GroupUpdateBase, Slot
from stream_metrics.containers.keyed import InRiver, Keyed, Slots, StatePacker, _sum, empty_prototype, walk_inner
from stream_metrics.errors import UnknownKeyError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.arrow import is_single
from stream_metrics.inputs.columns import checked_column, factorize
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.metrics.rules import count_unignored
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.states.batches import KeyedBatch, mergeable
from stream_metrics.states.protocols import MOST, Accumulator, not_counted
from stream_metrics.wire import Portable, encoded, packed, unpacked

TYPES: tuple[type[float], ...] = (bool, int, float)
FORMS: dict[type, int] = {kind: at for at, kind in enumerate(TYPES)}


def rank(key: Label) -> tuple[bytes, bytes]:
    """Return by what groups are chosen: a hash of the key, in which equal numbers are equal, and the key itself."""
    whole = isinstance(key, int | float) and key == int(key)
    written = encoded(int(key) if whole else key)  # type: ignore[arg-type]
    return hashlib.blake2b(written, digest_size=8).digest(), written


def shown(key: Label, forms: tuple[int, ...]) -> Label:
    """Return the key of a group, a number in the narrowest type in which it was seen."""
    if isinstance(key, int | float):
        for kind, times in zip(TYPES, forms, strict=False):
            if times:
                number: int | float = kind(key)
                return number
    return key


def factorize_groups(
    group: object, n: int, samples: NDArray[np.int64] | None = None
) -> tuple[list[Label], NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys of a column of groups, the types in which each was seen, and the number of the key of every row.

    Types are counted as bool, int, float and anything else. A row stands for one sample, or for as many as `samples`
    says; a key without samples is left out, and its rows have the number -1.
    """
    if is_single(group):
        codes, labels = np.zeros(n, np.int32), [canonical(group, "group")] * (n > 0)
    else:
        codes, labels = factorize(checked_column(group, "group", rows=n))
    if samples is None:
        seen = np.bincount(codes, minlength=len(labels)).tolist()
    else:
        sums = np.zeros(len(labels), np.int64)
        np.add.at(sums, codes, samples)
        seen = sums.tolist()
    keys: dict[Label, int] = {}
    places = [keys.setdefault(label, len(keys)) if times else -1 for label, times in zip(labels, seen, strict=True)]
    forms = np.zeros((len(keys), 4), np.int64)
    for label, place, times in zip(labels, places, seen, strict=True):
        if times:
            forms[place, FORMS.get(type(label), 3)] += times
    return list(keys), forms, np.array(places, np.int64)[codes]


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
    _CONFIGURATION: ClassVar[tuple[str, ...]] = ("max_groups",)
    _OWN: ClassVar[tuple[str, ...]] = ("max_groups", "other")
    _CHANGEABLE: ClassVar[tuple[str, ...]] = _OWN

    @named_arguments
    def __init__(self, inner: Accumulator, max_groups: int | None = None, other: str = "other") -> None:
        empty = empty_prototype(inner, "ByGroup", keeps_all=False)
        self._set_up(empty, StatePacker(empty), max_groups, other)
        if any(state.KIND == "groups" for state in walk_inner(self.inner)):
            raise ValueError("Expected `inner` of a ByGroup to have no groups: one ByGroup with tuples as keys has")

    def _set_up(self, inner: Any, store: StatePacker[Any], max_groups: int | None, other: str) -> None:
        if max_groups is not None and (not isinstance(max_groups, int) or max_groups < 1 or max_groups is True):
            raise ValueError(f"Expected `max_groups` to be a whole number above 0, or None, but got {max_groups!r}")
        if not isinstance(other, str):
            raise ValueError(f"Expected `other` to be a name, but got {other!r}")
        reason = mergeable(inner)
        if max_groups is not None and reason is not None:
            raise ValueError(f"Expected `inner` to be mergeable, as groups that are folded are merged, but: {reason}")
        if max_groups is not None and any(getattr(state, "by_count", False) for state in walk_inner(inner)):
            raise ValueError(
                "Expected `inner` to fade by time where groups are folded, but got one that fades by count: a sample "
                "would age with the samples of all folded groups, or of its own, as the order has it"
            )
        self.max_groups, self.other, self._adds_up = max_groups, other, reason is None
        self._largest: tuple[bytes, bytes] | None = None  # the rank of the last group that is kept, if it is known
        self._configure(inner, store, not _ages(inner))

    def _fill(self, slots: Slots, like: Self) -> None:
        limit = self.max_groups
        if None in slots and (limit is None or limit >= len(slots)):
            raise not_counted("max_groups", like.max_groups, limit, "some groups are folded already")
        if limit == like.max_groups:  # the same groups are kept
            self._largest = like._largest
            self._commit(slots, like._capacity)
        else:
            self._put(slots, like._capacity)

    @property
    def revert(self) -> Callable[..., None]:
        """Undo one `update` with the same arguments; not there if `inner` has no such method, or groups are folded."""
        if self.max_groups is not None:
            raise AttributeError("Expected no `max_groups` for `revert`: nothing can be taken back from folded groups")
        if not hasattr(self.inner, "revert"):
            raise AttributeError(f"Expected an `inner` that can revert, but {type(self.inner).__name__} cannot")
        return self._revert

    def _emptied(self, key: Label | None) -> dict[Any, Slot | None]:
        """Return what changes once the last sample of a slot is taken back.

        Where groups are folded, an empty group stays, without samples, so that the same groups remain folded: a folded
        sample cannot be moved to a group of its own.
        """
        if key is not None:
            return {key: Slot(self.inner.copy()) if None in self._slots else None}
        self._folded.clear()
        self._largest = None
        empty = [key for key, slot in self._slots.items() if not slot.state.n + slot.state.abstained]
        return dict.fromkeys([None, *empty])

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
        group = columns.pop("group")
        batch = KeyedBatch(columns, classes)
        samples: Any = batch.columns.get("n")  # which a row of a table of counts has
        rows: Any = None if samples is None else samples > 0
        names, forms, codes = factorize_groups(group, batch.n, samples)
        with self._writing():
            excess = self._excess([key for key in names if key not in self._folded])
            folded = np.array([key in excess or key in self._folded for key in names] + [True])
            codes = np.where(folded[codes], len(names), codes)  # what is folded is counted as one
            names.append(None)  # type: ignore[arg-type]
            old = [*map(self._slots.get, names)]
            new = np.array([slot is None for slot in old]) & ~folded
            fresh = self._count_new(batch, codes, new, rows)
            if fresh:
                rows = ~new[codes] if rows is None else rows & ~new[codes]
            state_of = self._store.state
            dealt = batch.split_by_key(codes, lambda code: state_of(old[code]), self.inner, rows)
            added = self._cost(batch, (state_of(old[code]) for code in dealt), [*dealt.values(), *fresh.values()])
            changes, seen = Slots(), [*forms.tolist(), [0] * 4]
            for code, state in (fresh | dealt).items():
                slot = old[code]
                changes[names[code]] = Slot(state, seen[code] if slot is None else _sum(slot.forms, seen[code]))
            self._put(changes, self._capacity - added)

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
        given = {"y_true": y_true, "y_pred": y_pred, "n": n, "w": w, "group": group}
        self._count_counts(self.inner, given)

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

    def _excess(self, keys: Iterable[Label]) -> set[Label]:
        """Return which groups, of those here and of some keys, are too many to be kept apart."""
        limit = self.max_groups
        if limit is None:
            return set()
        fresh, kept = {key for key in keys if key not in self._slots}, len(self._slots) - (None in self._slots)
        if kept + len(fresh) <= limit:
            return set()
        if kept == limit:  # so that new keys need not be compared with all others
            largest = self._largest = self._largest or max(map(rank, self._slots.keys() - {None}))
            if all(rank(key) > largest for key in fresh):
                return fresh
        return {*sorted([*self._slots.keys() - {None}, *fresh], key=rank)[limit:]}

    def _place(self, key: Label) -> Label | None:
        """Return the key of the slot in which a sample of a group without one is counted."""
        canonical(key, "group")  # text was not looked at
        return None if None in self._slots and key in self._excess([key]) else key

    def _state_for(self, group: Label) -> Any:
        """Return the state that would count the next sample of a group, an empty one if it is new."""
        key = canonical(group, "group")
        slot = self._slots.get(key if key in self._slots else self._place(key))
        return self.inner.copy() if slot is None else self._store.thaw(slot.state)

    def _put(self, changes: dict[Any, Any], capacity: int) -> None:
        """Replace slots by key; groups that are too many are merged into those that are folded."""
        excess = self._excess(key for key in changes if key is not None)
        if excess:
            folded = [changes.pop(key, None) or self._slots[key] for key in excess]
            rest = changes.get(None) or self._slots.get(None) or folded.pop()
            total = self._store.copied(rest.state)
            for slot in folded:
                total.merge(self._store.thaw(slot.state))
            changes |= dict.fromkeys(excess & self._slots.keys())
            changes[None] = Slot(total)
            self._largest = None
        self._commit(changes, capacity)

    def _take_over(self, changes: Slots, other: Self, capacity: int) -> None:
        self._folded.clear()
        self._put(changes, capacity)

    def _become(self, twin: Self) -> None:
        self._largest = None
        super()._become(twin)

    @property
    def groups(self) -> tuple[Label, ...]:
        """The groups that are kept apart, in the order of report."""
        with self._reading():
            return tuple([shown(key, slot.forms) for key, slot in self._ordered().items() if key is not None])

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

    def _ordered(self) -> Slots:
        """Return the slots by key in the order of report, that of folded groups last."""
        keys = [key for key in self._slots if key is not None]
        slots = {keys[at]: self._slots[keys[at]] for at in ordering(keys)}
        return slots | {None: self._slots[None]} if None in self._slots else slots

    def _states(self) -> list[Any]:
        """Return all states in the order of report, that of folded groups last."""
        with self._reading():
            return [self._store.thaw(slot.state) for slot in self._ordered().values()]

    def _time(self, states: Iterable[Any]) -> np.datetime64 | None:
        """Return the time at which all groups are read, if they depend on it."""
        times = [state._reading_time() for state in states] if hasattr(self.inner, "_reading_time") else []
        return np.datetime64(max(times), "ns") if times and times[0] is not None else None

    def _sum_of(self, name: str) -> int:
        """Return the number of samples or of abstentions."""
        with self._reading():
            if not _ages(self.inner):
                return self._totals()[name == "abstained"]
            states = self._states()
            return _sum_at(states, name, self._time(states))

    @property
    def n(self) -> int:
        """The number of samples counted, folded ones included."""
        return self._sum_of("n")

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""
        return self._sum_of("abstained")

    @property
    def folded(self) -> int:
        """The number of samples of groups that are not kept apart."""
        with self._reading():
            if None not in self._slots:
                return 0
            states = self._states() if _ages(self.inner) else [self._store.thaw(self._slots[None].state)]
            return _sum_at(states[-1:], "n", self._time(states))

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
            states = self._states()
            t = self._time(states) if t is None else t
            overall = self._overall(states)
            if overall is not None:
                states.append(overall)
            views = [state.snapshot() if t is None else state.snapshot(t) for state in states]
            groups = dict(zip(self.groups, views, strict=False))
            rest = views[len(groups)] if None in self._slots else None
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
        groups, rest = list[object](), list[object]()
        with self._reading():
            for key, slot in self._ordered().items():
                if key is None:
                    rest.append(slot.state._content())
                    continue
                forms = list(slot.forms[:3]) if isinstance(key, int | float) else []
                groups.append([shown(key, slot.forms), forms, slot.state._content()])
        limit = [] if self.max_groups is None else [self.max_groups]
        return [packed(self.inner), limit, self.other, groups, rest]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        inner, limit, other, groups, rest = content
        template = unpacked(inner)
        restored = cls(template, limit[0] if limit else None, other)
        read, slots, empty = restored._store.read, Slots(), encoded(template._content()) if rest else b""
        for name, forms, data in groups:
            if any(not 0 <= x <= MOST for x in forms):
                raise ValueError("counts of appearances of groups")
            state = template.copy() if rest and encoded(data) == empty else read(data)
            slots[canonical(name, "group")] = Slot(state, (*forms, 0) if forms else (0, 0, 0, 0))
        most = restored.max_groups or len(slots)
        if len(slots) > most or len(rest) > 1 or (rest and len(slots) != restored.max_groups):
            raise ValueError("as many groups as are kept apart")
        restored._commit(slots | ({None: Slot(read(rest[0]))} if rest else {}), MOST)
        restored._find_capacity(0)
        return restored

    def __repr__(self) -> str:
        with self._reading():
            overall = self._overall(self._states())
            values = type(self.inner).__name__ if overall is None else repr(overall)
            folded = f", {self.folded} of them folded" if None in self._slots else ""
            groups, samples = quantity(len(self._slots.keys() - {None}), "group"), quantity(self.n, "sample")
            return f"ByGroup({values}, {groups}, {samples}{folded})"


def _ages(inner: Any) -> bool:
    """Tell whether the samples that a state has counted depend on the time at which it is read."""
    return hasattr(inner, "_reading_time") and not getattr(inner, "by_count", False)


def _sum_at(states: Iterable[Any], name: str, t: np.datetime64 | None) -> int:
    """Return the sum of a number of samples as it is read at a time."""
    return sum(getattr(state, name) if t is None else state._sum_at(name, t) for state in states)
