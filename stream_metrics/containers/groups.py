"""One state for each group of samples: country, customer, version of the model.

With `max_groups`, the groups that are kept apart are those whose keys have the smallest hashes, a fixed function of the
key. The largest or the first groups would be more to the point, but which these are depends on the order of samples and
on how a stream is split, so states would not merge. A key that has once been folded stays so whatever else comes, since
more keys only lower the largest hash that is kept; so nothing that was folded would have to be taken apart again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.windows.kernels import GroupUpdateBase, Slot
from stream_metrics.containers.group_keys import factorize_groups, rank, shown
from stream_metrics.containers.inner import (
    InRiver,
    check_same,
    common_prototype,
    copied_into,
    copier,
    empty_prototype,
    reconfigured_inner,
    state_decoder,
    walk_inner,
    writes_what_it_read,
)
from stream_metrics.errors import OptionError, UnknownKeyError, WeightError, quantity, with_article
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.counts import count_batch
from stream_metrics.inputs.tensors import is_single
from stream_metrics.inputs.times import is_one_time
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.states.batches import KeyedBatch, mergeable
from stream_metrics.states.limits import MOST, Load, capacity_left, grown, load_of
from stream_metrics.states.protocols import Accumulator
from stream_metrics.states.reconfiguring import not_counted, settled
from stream_metrics.states.runs import label_counts
from stream_metrics.wire import Portable, encoded, packed, unpacked

__all__ = ["ByGroup"]

MOST_TAKEN = 3  # of the capacity of a state, by a sample of weight 1
KNOWN = 4096  # folded keys that are cached, so that not each of their samples is hashed
CONFIGURATION = ("inner", "max_groups")

Codes: TypeAlias = NDArray[np.int64]


class ByGroup(GroupUpdateBase, InRiver, Portable):
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

    Memory: a state of `inner` for each group, at most `max_groups` + 1 of them.

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

    @named_arguments
    def __init__(self, inner: Accumulator, max_groups: int | None = None, other: str = "other") -> None:
        if max_groups is not None and (not isinstance(max_groups, int) or max_groups < 1 or max_groups is True):
            raise ValueError(f"Expected `max_groups` to be a whole number above 0, or None, but got {max_groups!r}")
        if not isinstance(other, str):
            raise ValueError(f"Expected `other` to be a name, but got {other!r}")
        self.inner = empty_prototype(inner, "ByGroup", keeps_all=False)
        self.max_groups, self.other = max_groups, other
        self._largest: tuple[bytes, bytes] | None = None  # the rank of the last group that is kept, if it is known
        self._adds_up = mergeable(self.inner) is None  # whether there is one state of all groups, when they are read
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

    @property
    def revert(self) -> Callable[..., None]:
        """Undo one `update` with the same arguments; not there if `inner` has no such method, or groups are folded."""
        if self.max_groups is not None:
            raise AttributeError("Expected no `max_groups` for `revert`: nothing can be taken back from folded groups")
        if not hasattr(self.inner, "revert"):
            raise AttributeError(f"Expected an `inner` that can revert, but {type(self.inner).__name__} cannot")
        return self._revert

    def revert_one(self, y_true: object, y_pred: object, w: object, group: object) -> None:
        """Undo one `update` even where groups are folded.

        An empty group then stays, without samples, so that the same groups remain folded: a folded sample cannot be
        moved to a group of its own. WeightError if there was no such update.
        """
        key = canonical(group, "group")
        slot = self._slots.get(key) or self._rest
        if slot is None:
            raise WeightError(f"Expected to revert a sample that was counted, but got one of the group {group!r}")
        if slot is not self._rest:
            self._revert(y_true, y_pred, w, group=group)
            if self._rest is not None and key not in self._slots:
                self._slots[key] = Slot(self.inner.copy())
            return
        slot.state.revert(y_true, y_pred, w)
        if not slot.state.n + slot.state.abstained:
            used = {name: other for name, other in self._slots.items() if other.state.n + other.state.abstained}
            self._slots, self._rest = used, None
            self._folded.clear()

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
        columns = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores}
        if t is not None and not is_one_time(t):
            columns["t"] = t
        if not is_single(unit):
            columns["unit"] = unit
        beside = {"t": t, "unit": unit, "classes": classes}
        batch = KeyedBatch(columns, **{name: value for name, value in beside.items() if name not in columns})
        names, forms, codes = factorize_groups(group, batch.n)
        with self.writing():
            self._count_batch(batch, names, forms, codes)

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
        if label_counts(self.inner) is None:
            expected = "of `update_counts` to read labels only: a ConfusionMatrix, a metric or a MetricSet"
            raise OptionError(argument="inner", expected=expected, but=f"got {with_article(type(self.inner))}")
        table = count_batch(y_true, y_pred, n, w)
        assert table.samples is not None
        columns = {"y_true": table.truth, "y_pred": table.predicted, "n": table.samples, "w": table.weights}
        names, forms, codes = factorize_groups(group, table.n, table.samples)
        with self.writing():
            self._count_batch(KeyedBatch(columns), names, forms, codes, table.samples > 0)

    def _count_batch(
        self,
        batch: KeyedBatch,
        names: list[Label],
        forms: Codes,
        codes: Codes,
        rows: NDArray[np.bool_] | None = None,
    ) -> None:
        remaining = self._kept([*self._slots, *(key for key in names if key not in self._folded)])
        rest = np.array([key not in remaining for key in names] + [False])
        codes = np.where(rest[codes], len(names), codes)  # what is folded is counted as one
        old = [self._slots.get(key) for key in names] + [self._rest]
        states = [None if slot is None else slot.state for slot in old]
        dealt = batch.split_by_key(codes, states.__getitem__, self.inner, rows)
        added = self._cost(batch, (states[code] for code in dealt), dealt.values())
        slots, others, seen = self._slots.copy(), self._rest, forms.tolist()
        for code, state in dealt.items():
            if code < len(names):
                slot = old[code]
                slots[names[code]] = Slot(state, seen[code] if slot is None else _sum(slot.forms, seen[code]))
            else:
                others = Slot(state)
        self._put(slots, others)
        self._capacity -= added

    def _cost(self, batch: KeyedBatch, before: Iterable[Any], after: Iterable[Any]) -> int:
        """Return how much of the capacity a batch takes, or a bound; WeightError if that is more than there is."""
        if not self._adds_up:
            return 0
        bound = MOST_TAKEN * batch.n if batch.is_unweighted() else MOST
        if MOST > bound > self._capacity:
            self._find_capacity(0)
        added = bound if bound <= self._capacity else grown(before, after)
        if added > self._capacity:
            self._find_capacity(added)
        return added

    def _kept(self, keys: Iterable[Label]) -> set[Label]:
        """Return the keys that are kept apart if these are all there are."""
        distinct = dict.fromkeys(keys)
        if self.max_groups is None or len(distinct) <= self.max_groups:
            return set(distinct)
        return set(sorted(distinct, key=rank)[: self.max_groups])

    def _admit(self, key: Label) -> Slot:
        """Return the slot for a key without one: a new slot, or that of the folded groups."""
        canonical(key, "group")  # text was not looked at
        if self._rest is not None and self.max_groups is not None and len(self._slots) >= self.max_groups:
            if self._largest is None:
                self._largest = max(map(rank, self._slots))
            if rank(key) > self._largest:
                return self._rest
        return Slot(self.inner.copy())

    def state_for(self, group: Label) -> Any:
        """Return the state that would count the next sample of a group, an empty one if it is new."""
        key = canonical(group, "group")
        return (self._slots.get(key) or self._admit(key)).state

    def _settle(self, key: Label, slot: Slot) -> None:
        """Give the slot that `_admit` returned its place, now that it has counted a sample."""
        if slot is not self._rest and (self.max_groups is None or len(self._slots) < self.max_groups):
            self._slots[key] = slot
        elif slot is not self._rest:
            self._put({**self._slots, key: slot}, self._rest)
        if key not in self._slots:
            if len(self._folded) >= KNOWN:
                self._folded.clear()
            self._folded[key] = None

    def _put(self, slots: dict[Label, Slot], rest: Slot | None) -> None:
        """Have these groups, those that are too many being merged into `rest`, whose state stays as it is."""
        if self.max_groups is not None and len(slots) > self.max_groups:
            remaining = self._kept(slots)
            folded = [slot.state for key, slot in slots.items() if key not in remaining]
            total = folded.pop(0).copy() if rest is None else rest.state.copy()
            for state in folded:
                total.merge(state)
            slots, rest = {key: slot for key, slot in slots.items() if key in remaining}, Slot(total)
            self._largest = None
        self._slots, self._rest = slots, rest

    def merge_load(self) -> Load:
        """Return bounds of what a merge adds up; see `states.limits`."""
        slots = [*self._slots.values(), *([] if self._rest is None else [self._rest])]
        weights, samples, abstentions = load_of(slot.state for slot in slots)
        return weights, samples, max([abstentions, *(max(slot.forms) for slot in slots)])

    def _find_capacity(self, added: int) -> None:
        """Find out how much can be counted; WeightError if that is less than `added`."""
        self._capacity = capacity_left(self.merge_load(), added) if self._adds_up else 2**62

    def merge(self, other: Self) -> Self:
        """Add the groups of another shard.

        Parameters
        ----------
        other : same class
            A state that counts the same. It stays as it is.

        Returns
        -------
        Self
            This state.

        Raises
        ------
        MergeError
            If the two count differently. The message names the options that differ.
        """
        check_same(self, other, CONFIGURATION)
        reason = mergeable(self.inner)
        if reason is not None:
            raise reason
        with self.merging(other):
            capacity_left(load_of((self, other)))
            self._narrow(common_prototype(self.inner, other.inner))
            copied = copier(self.inner, other.inner)
            fresh = {key: _both(self._slots.get(key), slot, copied) for key, slot in other._slots.items()}
            rest = self._rest if other._rest is None else _both(self._rest, other._rest, copied)
            self._put({**self._slots, **fresh}, rest)
            self._folded.clear()
            self._capacity = 0
        return self

    def _narrow(self, inner: Accumulator) -> None:
        """Count only what `inner` counts from now on."""
        if inner is not self.inner:
            self.inner = inner
            self._slots = {key: Slot(copied_into(inner, slot.state), slot.forms) for key, slot in self._slots.items()}
            self._rest = None if self._rest is None else Slot(copied_into(inner, self._rest.state))

    def copy(self) -> Self:
        """Return an independent copy.

        Returns
        -------
        ByGroup
            The copy.
        """
        twin: Self = type(self).__new__(type(self))
        twin.inner, twin.max_groups, twin.other = self.inner, self.max_groups, self.other
        twin._adds_up = self._adds_up
        with self.reading():
            twin._largest = self._largest
            twin._slots = {key: Slot(slot.state.copy(), slot.forms) for key, slot in self._slots.items()}
            twin._rest = None if self._rest is None else Slot(self._rest.state.copy())
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
        with self.reading():
            changed: Self = self.map_states(lambda state: reconfigured_inner(state, options))
        limit = twin.max_groups
        if changed._rest is not None and (limit is None or limit > len(changed._slots)):
            raise not_counted("max_groups", self.max_groups, limit, "some groups are folded already")
        twin._put(changed._slots, changed._rest)
        return twin

    def map_states(self, change: Callable[[Accumulator], Accumulator]) -> Self:
        """Return the same groups with changed states."""
        twin: Self = self.copy()
        twin._slots = {key: Slot(change(slot.state), slot.forms) for key, slot in twin._slots.items()}
        twin._rest = None if twin._rest is None else Slot(change(twin._rest.state))
        return twin

    def reset(self) -> None:
        """Forget every group; the configuration stays."""
        with self.writing():
            self._slots, self._folded, self._rest, self._largest = {}, {}, None, None

    @property
    def groups(self) -> tuple[Label, ...]:
        """The groups that are kept apart, in the order of report."""
        with self.reading():
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
        slot = self._slots.get(canonical(group, "group"))
        if slot is None:
            raise UnknownKeyError(argument="group", expected=f"to be one of {list(self.groups)!r:.80}", got=group)
        return slot.state

    def states(self) -> list[Accumulator]:
        """Return the states of all groups in no order, that of folded groups last."""
        with self.reading():
            return [slot.state for slot in (*self._slots.values(), *([] if self._rest is None else [self._rest]))]

    def _states(self) -> list[Accumulator]:
        """Return all states, that of folded groups last."""
        slots = [self._slots[key] for key in self._keys()]
        return [slot.state for slot in (slots if self._rest is None else [*slots, self._rest])]

    def _keys(self) -> list[Label]:
        keys = list(self._slots)
        return [keys[at] for at in ordering(keys)]

    def _time(self) -> np.datetime64 | None:
        """Return the time at which all groups are read, if they depend on it."""
        times = [state.reading_time() for state in self._states() if hasattr(state, "reading_time")]
        return np.datetime64(max(times), "ns") if times and times[0] is not None else None

    def _total(self, states: list[Any], name: str) -> int:
        t = self._time()
        return sum(getattr(state, name) if t is None else state.sum_at(name, t) for state in states)

    @property
    def n(self) -> int:
        """The number of samples counted, folded ones included."""
        with self.reading():
            return self._total(self._states(), "n")

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""
        with self.reading():
            return self._total(self._states(), "abstained")

    @property
    def folded(self) -> int:
        """The number of samples of groups that are not kept apart."""
        with self.reading():
            return 0 if self._rest is None else self._total([self._rest.state], "n")

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
        with self.reading():
            return self._freeze(t)

    def _freeze(self, t: object) -> GroupSnapshot:
        states = self._states()
        t = self._time() if t is None else t
        overall = self._overall(states)
        if overall is not None:
            states.append(overall)
        views = [state.snapshot() if t is None else state.snapshot(t) for state in states]
        groups = dict(zip(self.groups, views, strict=False))
        rest = None if self._rest is None else views[len(groups)]
        return GroupSnapshot(groups, views[-1] if len(states) > len(self._states()) else None, rest, self.other)

    def _overall(self, states: list[Any]) -> Any:
        """Return the state of all groups together; None if their states cannot be merged."""
        if mergeable(self.inner) is not None:
            return None
        overall = self.inner.copy()
        for state in states:
            overall.merge(state)
        return overall

    def _content(self) -> list[object]:
        with self.reading():
            return self._written(lambda state: state.to_content())

    def _written(self, content_of: Callable[[Any], object]) -> list[object]:
        """Return the content, which has what `content_of` returns for the state of each group."""
        groups = []
        for key in self._keys():
            slot = self._slots[key]
            forms = list(slot.forms[:3]) if isinstance(key, int | float) else []
            groups.append([shown(key, slot.forms), forms, content_of(slot.state)])
        rest = [] if self._rest is None else [content_of(self._rest.state)]
        limit = [] if self.max_groups is None else [self.max_groups]
        return [packed(self.inner), limit, self.other, groups, rest]

    def _same(self, other: Self) -> bool:
        if (self.max_groups, repr(self.other)) != (other.max_groups, repr(other.other)) or self.inner != other.inner:
            return False
        mine, theirs = self._by_written_key(), other._by_written_key()
        return mine.keys() == theirs.keys() and all(state == theirs[key] for key, state in mine.items())

    def _by_written_key(self) -> dict[object, Any]:
        """Return the states by what identifies groups in bytes: text, or a name with its type; None are the folded."""
        with self.reading():
            states: dict[object, Any] = {} if self._rest is None else {None: self._rest.state}
            for key, slot in self._slots.items():
                states[key if type(key) is str else _written_key(key, slot.forms)] = slot.state
        return states

    @classmethod
    def _restore(cls, content: Any) -> Self:
        inner, limit, other, groups, rest = content
        template = unpacked(inner)
        groups_state = cls(template, limit[0] if limit else None, other)
        if template != groups_state.inner:
            raise ValueError("an empty state inside")
        restored, empty = state_decoder(template), encoded(template.to_content()) if rest else b""
        contents: dict[int, object] = {}  # by the id of the state
        for name, forms, data in groups:
            state = template.copy() if rest and encoded(data) == empty else restored(data)
            contents[id(state)] = data
            key = canonical(name, "group")
            if [type(x) for x in forms] != [int] * len(forms) or any(not 0 <= x <= MOST for x in forms):
                raise ValueError("counts of appearances of groups")
            groups_state._slots[key] = Slot(state, (*forms, 0) if forms else (0, 0, 0, 0))
        for data in rest:
            groups_state._rest = Slot(restored(data))
            contents[id(groups_state._rest.state)] = data
        full = groups_state.max_groups is not None and len(groups_state._slots) == groups_state.max_groups
        if len(groups_state._slots) > (groups_state.max_groups or len(groups_state._slots)) or (rest and not full):
            raise ValueError("as many groups as are kept apart")

        def content_of(state: Any) -> object:
            return contents[id(state)] if writes_what_it_read(state) else state.to_content()

        if encoded(groups_state._written(content_of)) != encoded(content):
            raise ValueError("what these groups would be written as")
        groups_state._find_capacity(0)
        return groups_state

    def __repr__(self) -> str:
        with self.reading():
            overall = self._overall(self._states())
            values = type(self.inner).__name__ if overall is None else repr(overall)
            folded = "" if self._rest is None else f", {self.folded} of them folded"
            groups, samples = quantity(len(self._slots), "group"), quantity(self.n, "sample")
            return f"ByGroup({values}, {groups}, {samples}{folded})"


def _written_key(key: Label, forms: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Return what identifies a group, with its type; of a number that follows from its appearances."""
    return repr(shown(key, forms)), forms[:3] if isinstance(key, int | float) else ()


def _both(mine: Slot | None, theirs: Slot, copied: Callable[[Any], Any]) -> Slot:
    """Return a slot with what two hold, which stay as they are; `copied` copies the state of the other one."""
    if mine is None:
        return Slot(copied(theirs.state), theirs.forms)
    return Slot(mine.state.copy().merge(theirs.state), _sum(mine.forms, theirs.forms))


def _sum(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """Return the sums of two numbers of appearances; WeightError if they are too large."""
    total = tuple(x + y for x, y in zip(a, b, strict=True))
    if max(total) > MOST:
        raise WeightError(f"Expected a group to have fewer than 2**63 - 2 samples, but got {max(b)} on top of {max(a)}")
    return total
