"""A state for each key: how states are stored, merged and read from bytes, whatever the keys are.

A container prepares new states of the keys that an operation touches and takes them over in one step, in C
(`_core.windows`). States are shared between copies and merges until one of them counts again. A state that was read
from bytes is checked as a whole, once, and stays bytes (`Packed`) until it counts a sample: it takes a tenth of the
memory. Two of these merge into a third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import add
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import Swap, commit
from stream_metrics._core.windows.kernels import KeyedUpdateBase, Packed, Slot
from stream_metrics.errors import (
    LabelError,
    OptionError,
    ScoreError,
    WeightError,
    options_differ,
    other_kind,
    with_article,
)
from stream_metrics.inputs.batch import count_batch
from stream_metrics.inputs.times import Time, to_epoch_ns
from stream_metrics.labels import Label
from stream_metrics.metrics.base import MetricBase
from stream_metrics.metrics.rules import count_unignored
from stream_metrics.snapshots.readings import of_window
from stream_metrics.states.batches import NOTHING, KeyedBatch, label_counts, mergeable, run_contents
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.protocols import MOST, Accumulator, Load, capacity_left, grown, load_of, settled
from stream_metrics.wire import Portable, decoded, encoded

FORGETTING = {"rolling": "Rolling", "timed": "TimeWindow", "fading": "Fading"}  # by the kind in bytes

State = TypeVar("State", bound=Accumulator)


def empty_prototype(inner: object, holder: str, *, keeps_all: bool = True) -> Any:
    """Return an empty copy of `inner`; ValueError if it is no accumulator, or `holder` can make nothing of it."""
    if not isinstance(inner, Portable) or not hasattr(inner, "snapshot"):
        raise ValueError(f"Expected `inner` to be a state, a metric or a set of metrics, but got {inner!r:.60}")
    if not getattr(inner, "of_pairs", True):
        raise ValueError(
            f"Expected `inner` of {with_article(holder)} to count pairs of truth and prediction, "
            f"but {with_article(type(inner))} does not"
        )
    for state in walk_inner(inner):
        if state.KIND == "multilabel" and holder not in ("TimeWindow", "Fading"):
            raise ValueError(
                f"Expected `inner` of {with_article(holder)} to have one label a sample, but got a MultiLabel, which a "
                f"TimeWindow or a Fading may contain"
            )
        if keeps_all and state.KIND in FORGETTING:
            raise ValueError(
                f"Expected `inner` of {with_article(holder)} to keep whatever it is fed, "
                f"but got {with_article(FORGETTING[state.KIND])}, which forgets by a rule of its own"
            )
    return emptied(inner)


def walk_inner(state: Any) -> Iterator[Any]:
    """Yield a state, the one inside it, the one inside that."""
    while state is not None:
        yield state
        state = getattr(state, "inner", None)


def check_same(mine: object, theirs: object, configuration: Iterable[str]) -> None:
    """Raise MergeError unless both are of one type, and these attributes agree."""
    if type(mine) is not type(theirs):
        raise other_kind(type(mine), theirs)
    for name in configuration:
        a, b = getattr(mine, name), getattr(theirs, name)
        if a != b or repr(a) != repr(b):
            raise options_differ({name: a}, {name: b}, ("max_groups",))


def emptied(state: Any) -> Any:
    """Return a state with the same options that has counted nothing."""
    empty = state.copy()
    empty.reset()
    return empty


def copy_like(like: State, state: State) -> State:
    """Return a copy of a state that counts what another one does, and that shows what the other one does."""
    copied: State = state.copy() if _shows_like(like, state) else emptied(like).merge(state)
    return copied


def merge_unordered(mine: State, theirs: State) -> State:
    """Return the merge of two states, either of which may be changed; what it shows does not depend on their order."""
    if not _shows_like(mine, theirs) and emptied(theirs).to_bytes() < emptied(mine).to_bytes():
        mine, theirs = theirs, mine
    return mine.merge(theirs)


def _shows_like(mine: Any, theirs: Any) -> bool:
    """Return whether two states that count the same show the same."""
    if hasattr(mine, "inner"):
        return bool(mine.inner == theirs.inner) and getattr(mine, "other", None) == getattr(theirs, "other", None)
    return bool(mine._has_options_of(theirs) if hasattr(mine, "_has_options_of") else emptied(mine) == emptied(theirs))


def common_prototype(mine: State, theirs: State) -> State:
    """Return the empty state of a merge: `mine`, unless `theirs` counts less; MergeError if they count differently."""
    if mine == theirs:
        return mine
    merged = mine.copy().merge(theirs)
    return mine if merged == mine else merged


def reconfigured_inner(inner: Any, options: Mapping[str, Any], own: Iterable[str] = ()) -> Any:
    """Return the prototype of a container with other options; OptionError for those of the container itself."""
    for name in own:
        if name in options:
            reason = "a container keeps this for good"
            raise OptionError(argument=name, expected="to stay", got=options[name], but=f"got another: {reason}")
    if not hasattr(inner, "reconfigured"):
        raise TypeError(f"Expected `inner` to have options that can change, but got {with_article(type(inner))}")
    return inner.reconfigured(**options)


class InRiver:
    """What river's evaluate functions ask of a metric, answered by the metric or the set inside a window."""

    __slots__ = ()

    @property
    def requires_labels(self) -> bool:
        """Whether river passes labels, and not scores."""
        return bool(_metric_inside(self).requires_labels)

    def works_with(self, model: object) -> bool:
        """Return whether the metric or the set inside fits a model of river.

        Parameters
        ----------
        model : river.base.Estimator
            A model.

        Returns
        -------
        bool
            False if river was not imported.

        Raises
        ------
        TypeError
            If river cannot update this state; the message names the adapter.
        """
        return bool(_metric_inside(self).works_with(model))


class TimeReader(InRiver):
    """Readings of a state that depends on the time at which it is read, by what `merged` returns."""

    __slots__ = ()
    merged: Callable[..., Any]
    _sum_at: Callable[..., int]

    def _instant(self, t: object) -> int:
        return to_epoch_ns(t)

    def snapshot(self, t: Time | None = None) -> Any:
        """Return a frozen copy of the samples that are not forgotten.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time of the reading; the latest time seen by default.

        Returns
        -------
        Snapshot or GroupSnapshot
            The metrics at that time.
        """
        return of_window(self.merged(t).snapshot())

    def get(self, t: Time | None = None) -> Any:
        """Return the current value of the metric, or the values of the set.

        Parameters
        ----------
        t : float or datetime or numpy.datetime64, optional
            The time of the reading; the latest time seen by default.

        Returns
        -------
        float or dict
            The value at that time.
        """
        return self.merged(t).get()

    @property
    def n(self) -> int:
        """The number of samples that are not forgotten."""
        return self._sum_at("n")

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction that are not forgotten."""
        return self._sum_at("abstained")


def _metric_inside(container: object) -> Any:
    *around, inside = walk_inner(container)
    if any(state.KIND == "groups" for state in around):
        raise TypeError("river passes no `group`; stream_metrics.integrations.river.as_river(metric, context=...) does")
    if not hasattr(inside, "works_with"):
        name = type(inside).__name__
        raise TypeError(f"river cannot read {with_article(name)}; stream_metrics.integrations.river.as_river(...) can")
    return inside


def check_counts_labels(inner: Accumulator) -> None:
    """Raise OptionError unless what counts reads labels only, and so takes tables of counts."""
    if label_counts(inner) is None and not (isinstance(inner, MetricBase) and inner._reads == "labels"):
        expected = "of `update_counts` to read labels only: a ConfusionMatrix, a metric or a MetricSet"
        raise OptionError(argument="inner", expected=expected, but=f"got {with_article(type(inner))}")


StoredState: TypeAlias = "Accumulator | Packed"
Slots: TypeAlias = dict[Any, Slot]
LOOSE = 2**60  # capacity taken, up to which a bound of it serves
MOST_TAKEN = 3  # of the capacity, by a sample of weight 1


class StatePacker(Generic[State]):
    """How states that are configured as an empty one are stored."""

    def __init__(self, empty: State) -> None:
        self.empty: Any = empty
        self._nothing = encoded(empty._content())
        self._packs = getattr(empty, "inner", None) is None and mergeable(empty) is None  # else as objects
        matrix = label_counts(empty)
        written = encoded(None if matrix is None else matrix._content())
        of_package = type(matrix) is ConfusionMatrix and (matrix is empty or isinstance(empty, MetricBase))
        self.matrix = matrix if of_package and self._nothing.endswith(written) else None  # if it is all that counts
        self._head = self._nothing.removesuffix(written)  # what is written before its content
        self._fixed = encoded(None if matrix is None else matrix._content()[:2])

    def read(self, content: Any) -> StoredState:
        """Return the state of a content; ValueError unless it is configured as the empty one and has a sample.

        The state writes the content that it was read from, so it may stay bytes until it is needed.
        """
        data = encoded(content)
        if self._has_matrix(data):
            matrix = content if self.matrix is self.empty else content[1]
            state: Any = ConfusionMatrix._from_content(matrix)  # which writes what it read
            wrong = state.n + state.abstained == 0 or encoded(matrix[:2]) != self._fixed
        else:
            state = type(self.empty)._from_content(content)
            wrong = data == self._nothing or encoded(emptied(state)._content()) != self._nothing
        if wrong:
            raise ValueError("states of the configuration inside, each with a sample")
        return Packed(data, state.n, state.abstained, state._merge_load()) if self._packs else state

    def _has_matrix(self, data: bytes) -> bool:
        """Tell whether a content is that of a matrix, after the configuration of the empty state."""
        return self.matrix is not None and data.startswith(self._head)

    def _matrix_of(self, state: Packed) -> ConfusionMatrix | None:
        """Return the matrix of a packed state; None if there is more than that in it."""
        if not self._has_matrix(state.content):
            return None
        matrix: ConfusionMatrix = ConfusionMatrix._from_content(decoded(state.content[len(self._head) :]))
        return matrix

    def thaw(self, state: Any) -> Any:
        """Return a state as an object: itself, or a new one if it is packed."""
        if type(state) is not Packed:
            return state
        matrix = self._matrix_of(state)
        if matrix is None:
            return type(self.empty)._from_content(decoded(state.content))
        return matrix if self.matrix is self.empty else self.empty._with(matrix)

    def copied(self, state: Any) -> Any:
        """Return a state as an object of its own."""
        return self.thaw(state) if state is None or type(state) is Packed else state.copy()

    def merged(self, mine: Any, theirs: Any) -> Any:
        """Return the merge of two states, which stay as they are; packed if both are."""
        if type(mine) is not Packed or type(theirs) is not Packed:
            return self.copied(mine).merge(self.thaw(theirs))
        matrices = self._matrix_of(mine), self._matrix_of(theirs)
        if matrices[0] is None or matrices[1] is None:
            return self.packed(self.thaw(mine).merge(self.thaw(theirs)))
        return self.packed(matrices[0].merge(matrices[1]), self._head)

    def state(self, slot: Slot | None) -> Any:
        """Return the state of a slot as an object, None if there is no slot."""
        return None if slot is None else self.thaw(slot.state)

    def freeze(self, pane: int, slot: Slot) -> Any:
        """Return the state of a pane that receives no more in order."""
        return slot.state

    def add_late(self, pane: int, stored: Any, late: Slot) -> Any:
        """Return the state of a pane with what came late."""
        return late.state if stored is None else self.merged(stored, late.state)

    keep = copied  # of a merge of panes as it is now

    def packed(self, state: Any, head: bytes = b"") -> Any:
        """Return a state as bytes if states like it are stored so; `head` comes before its content."""
        if state is None or not self._packs or type(state) is Packed:
            return state
        return Packed(head + encoded(state._content()), state.n, state.abstained, state._merge_load())

    def counted(self, batch: KeyedBatch, rows: NDArray[np.int64], starts: NDArray[np.int64]) -> list[Packed] | None:
        """Return the states of runs of rows that start at some places; None if it takes objects to count them."""
        columns = batch.unweighted_labels(self.empty) if self._packs else None
        if columns is None or self.matrix is None:
            return None
        truth, predicted, samples = columns[0].take(rows), columns[1].take(rows), columns[2]
        samples = np.ones(len(rows), np.int64) if samples is None else samples[rows]
        try:
            contents = run_contents(self.matrix, truth, predicted, samples, starts)
        except (LabelError, ScoreError, WeightError):
            return None  # the state that reads the row refuses it
        before = self._nothing.removesuffix(NOTHING)
        given = np.full(len(rows), True) if predicted.names is None else predicted.values >= 0
        n = np.add.reduceat(np.where(given, samples, 0), starts[:-1]).tolist()
        abstained = np.add.reduceat(np.where(given, 0, samples), starts[:-1]).tolist()
        runs = zip(contents, n, abstained, strict=True)
        return [Packed(before + content, n, abstained, (n, 2 * n, abstained)) for content, n, abstained in runs]


class Keyed(KeyedUpdateBase):
    """What containers with a state for each key have in common: merges, copies, batches, and the limit of all states.

    A container is set up by `_set_up` with an empty state, how states are stored, and its own options; `_fill` gives an
    empty one slots and what else another one has. It has the slots of a merge by `_take_over`, and counts columns that
    were read by `_count_columns`.
    """

    _CONFIGURATION: ClassVar[tuple[str, ...]]
    _OWN: ClassVar[tuple[str, ...]]  # attributes with the options of `_set_up`
    _CHANGEABLE: ClassVar[tuple[str, ...]] = ()  # those that `reconfigured` changes beside the options of `inner`
    _adds_up: bool = True  # whether there is ever one state of all keys
    _set_up: Callable[..., None]
    _fill: Callable[[Slots, Self], None]
    _take_over: Callable[[Slots, Self, int], None]
    _count_columns: Callable[[Iterable[Label] | None, dict[str, Any]], None]

    def _follow(self, before: Self) -> None:
        """Have what merges do not change of a container that this one replaces."""

    def _report(self) -> None:
        """Tell others what an operation has changed."""

    def _like(self, inner: Any, **options: Any) -> Self:
        """Return an empty container with a prototype and the same options but these."""
        twin: Self = type(self).__new__(type(self))
        store = self._store if inner is self.inner else StatePacker(inner)
        twin._set_up(inner, store, *(options.get(name, getattr(self, name)) for name in self._OWN))
        return twin

    def _load(self) -> Load:
        """Return what all states have counted together, if that is ever added up."""
        if not self._adds_up:
            return 0, 0, 0
        weights, samples, abstentions = load_of(slot.state for slot in self._slots.values())
        return weights, samples, max([abstentions, *(max(slot.forms) for slot in self._slots.values())])

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up; see `states.protocols`."""
        used = MOST - self._capacity
        return (used, used, used) if used < LOOSE else self._load()

    def _find_capacity(self, added: int) -> None:
        """Find out how much can be counted; WeightError if that is less than `added`."""
        self._capacity = capacity_left(self._load(), added)

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

    def _count_counts(self, inner: Accumulator, given: dict[str, Any]) -> None:
        """Count a table of counts; `inner` is what counts them."""
        check_counts_labels(inner)
        count_unignored(self._sample_rule, given, self._count_table)

    def _count_table(self, given: dict[str, Any]) -> None:
        """Count a table of counts of which no row is left out."""
        table = count_batch(given["y_true"], given["y_pred"], given["n"], given["w"])
        read = {"y_true": table.truth, "y_pred": table.predicted, "n": table.samples, "w": table.weights}
        self._count_columns(None, given | read)

    def merge(self, other: Self) -> Self:
        """Add the states of another shard, key by key.

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
        mine: Any = self
        theirs: Any = other
        check_same(mine, theirs, self._CONFIGURATION)
        with mine._merging(theirs):
            inner = common_prototype(mine.inner, theirs.inner)  # see `MetricBase.merge`
            whole, added = (
                each
                if each.inner is inner or each.inner == inner
                else each._mapped(inner, lambda state: inner.copy().merge(state))
                for each in (mine, theirs)
            )
            whole._add(added)
            if whole is not mine:
                whole._follow(mine)
                mine._become(whole)
        self._report()
        return self

    def _add(self, other: Self) -> None:
        """Add the states of another container with the same prototype."""
        capacity: int = self._capacity + other._capacity - MOST
        if capacity < 0:
            capacity = capacity_left(map(add, self._load(), other._load()))
        changes: Slots = {}
        for key, slot in other._share().items():
            mine = self._slots.get(key)
            if mine is not None:
                slot = Slot(self._store.merged(mine.state, slot.state), _sum(mine.forms, slot.forms))
            changes[key] = slot
        self._take_over(changes, other, capacity)

    def _become(self, twin: Self) -> None:
        """Have what a twin has, which is not used any more."""
        commit([Swap(self, twin, True)])

    def _mapped(self, inner: Any, change: Callable[[Any], Any] | None, **options: Any) -> Self:
        """Return a twin with a prototype, and the same states or what `change` returns of copies of them."""
        slots = self._share()
        if change is not None:
            copied = self._store.copied
            slots = {key: Slot(change(copied(slot.state)), slot.forms) for key, slot in slots.items()}
        twin = self._like(inner, **options)
        twin._fill(slots, self)
        return twin

    def copy(self) -> Self:
        """Return an independent copy.

        Returns
        -------
        Self
            The copy. That of a window has the same clock, but neither `on_close` nor the windows closed so far.
        """
        with self._reading():
            return self._mapped(self.inner, None)

    def reconfigured(self, **options: Any) -> Self:
        """Return a new state of the same samples with other options.

        Parameters
        ----------
        **options : object
            Options of `inner`, such as `metrics` or `labels`, and `other` and `max_groups` of a `ByGroup`: fewer groups
            than there are fold the others for good. What is left out stays.

        Returns
        -------
        Self
            What a container with these options would have counted. As in a copy, there is no `on_close`.

        Raises
        ------
        OptionError
            If that does not follow from the counts; lengths of time and half-lives cannot change. Scores that fade
            cannot be dropped, since they fade in shorter stretches of time.
        TypeError
            If there is no such option.
        """
        options = settled(options)
        own = {name: options.pop(name) for name in self._CHANGEABLE if name in options}
        inner = reconfigured_inner(self.inner, options, self._CONFIGURATION)
        with self._reading():
            return self._mapped(inner, lambda state: reconfigured_inner(state, options), **own)

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        with self._writing():
            self._become(self._like(self.inner))


def _sum(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sums of two numbers of appearances; WeightError if they are too large."""
    total = tuple(x + y for x, y in zip(a, b, strict=True))
    if max(total) > MOST:
        raise WeightError(f"Expected a group to have fewer than 2**63 - 2 samples, but got {max(b)} on top of {max(a)}")
    return total
