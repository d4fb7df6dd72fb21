"""A state for each key: how states are stored, merged and read from bytes, whatever the keys are.

A container prepares new states of the keys that an operation touches and takes them over in one step, in C
(`_core.windows`). States are shared between copies and merges until one of them counts again. A state that was read
from bytes is checked as a whole, once, and stays bytes (`Packed`) until it counts a sample: it takes a tenth of the
memory. Two of these merge into a third.
"""

from __future__ import annotations

from functools import partial
from operator import add
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.windows.kernels import Packed
from stream_metrics.containers.inner import check_same, common_prototype, copied_into, emptied
from stream_metrics.errors import LabelError, ScoreError, WeightError
from stream_metrics.metrics.base import MetricBase
from stream_metrics.states.batches import KeyedBatch, mergeable
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.limits import MOST, Load, capacity_left
from stream_metrics.states.protocols import Accumulator
from stream_metrics.states.runs import NOTHING, label_counts, run_contents
from stream_metrics.wire import decoded, encoded

__all__ = ["Keyed", "StatePacker", "StoredState"]

State = TypeVar("State", bound=Accumulator)
StoredState: TypeAlias = "Accumulator | Packed"
LOOSE = 2**60  # capacity taken, up to which a bound of it serves


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

    def same(self, mine: Any, theirs: Any) -> bool:
        """Tell whether two states would be written as the same bytes."""
        if type(mine) is not Packed and type(theirs) is not Packed:
            return bool(mine == theirs)
        return encoded(mine._content()) == encoded(theirs._content())


class Keyed:
    """Merging of containers with a state for each key, and the limit of what all states count together.

    A container adds the states of another one by `_add`, has those of a twin with another prototype by `_become`, and
    says by `_load` what its states have counted.
    """

    _CONFIGURATION: ClassVar[tuple[str, ...]]
    _capacity: Any  # a lower bound of what all states together can still count

    def _load(self) -> Load:
        raise NotImplementedError

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up; see `states.limits`."""
        used = MOST - self._capacity
        return (used, used, used) if used < LOOSE else self._load()

    def _find_capacity(self, added: int) -> None:
        """Find out how much can be counted; WeightError if that is less than `added`."""
        self._capacity = capacity_left(self._load(), added)

    def _capacity_with(self, other: Self) -> int:
        """Return how much can be counted once the states of another container are added."""
        capacity: int = self._capacity + other._capacity - MOST
        return capacity if capacity >= 0 else capacity_left(map(add, self._load(), other._load()))

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
            inner = common_prototype(mine.inner, theirs.inner)
            change = partial(copied_into, inner)
            whole, added = (
                each if each.inner is inner or each.inner == inner else each._mapped(inner, change)
                for each in (mine, theirs)
            )
            whole._add(added)
            if whole is not mine:
                mine._become(whole)
        self._report()
        return self

    def _report(self) -> None:
        """Tell others what a merge has changed."""
