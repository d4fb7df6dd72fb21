"""Batches that are split over several states by a key of each row: panes, groups, folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import LabelError, MergeError, ScoreError, WeightError
from stream_metrics.inputs.batch import Weights
from stream_metrics.inputs.columns import Categorical, Column, checked_column, factorize
from stream_metrics.inputs.score_keys import names_of_state, predictions_by_class
from stream_metrics.inputs.score_tables import materialize
from stream_metrics.labels import Label
from stream_metrics.labels.class_names import ClassNames
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import Accumulator
from stream_metrics.states.ranks import RankSketch
from stream_metrics.states.runs import label_counts

__all__ = ["KeyedBatch", "mergeable"]

FEW = 2000  # rows of one state that are counted faster by their codes than as a batch

State = TypeVar("State", bound=Accumulator)
Coded: TypeAlias = tuple[NDArray[np.int32], list[Label], NDArray[np.int64]]
Columns: TypeAlias = Mapping[str, Any]  # by argument, in any form that can be read more than once


def mergeable(state: Any) -> MergeError | None:
    """Return why two such states cannot be merged, or None if they can."""
    try:
        state.copy().merge(state.copy())
    except MergeError as error:
        return error
    return None


class KeyedBatch:
    """The columns of a batch, to be split over states by a key of each row, and arguments that hold for all rows.

    With a column `n` it is a table of counts, whose rows stand for so many samples each.
    """

    def __init__(self, columns: Mapping[str, object], **common: object) -> None:
        self.columns = {
            name: column if isinstance(column, Column | Weights | np.ndarray) else materialize(column, name)
            for name, column in columns.items()
        }
        self.common = {name: value for name, value in common.items() if value is not None}
        self.n = _length(self.columns["y_true"])
        self._callers = self.columns  # with all rows, by which errors name positions
        self._typed: Columns | None = None  # the columns, each read once
        self._coded: tuple[Coded, Coded] | None = None

    def count_rows(self, rows: NDArray[np.int64], empty: State, w: list[float] | None = None) -> State:
        """Return a new state that has counted some rows, with the weights `w` of these rows if they are given.

        An error names the position in the whole batch.
        """
        state = empty.copy()
        try:
            matrix: Any = label_counts(state)
            labels = None if matrix is None else names_of_state(empty)
            columns = self._read(labels) if _takes_columns(empty) else self.columns
            given = {name for name, values in columns.items() if values is not None}
            only_labels = {"y_true", "y_pred"} <= given <= {"y_true", "y_pred", "w", "n"} and not self.common
            if only_labels and len(rows) <= FEW and w is None and columns is self._typed and matrix is not None:
                matrix.count_coded(*self._codes(columns), rows, columns.get("n"), *_split(columns.get("w")))
            else:
                part = {name: _taken(column, rows) for name, column in columns.items()}
                self._feed(state, part if w is None else {**part, "w": w})
        except (LabelError, ScoreError, WeightError):
            self._feed(empty.copy(), self._callers)
            raise
        return state

    def _some(self, rows: NDArray[np.int64]) -> KeyedBatch:
        """Return the batch of some rows."""
        some = KeyedBatch({name: _taken(column, rows) for name, column in self.columns.items()}, **self.common)
        some._callers = self._callers
        return some

    def _feed(self, state: Accumulator, columns: Columns) -> None:
        """Let a state count columns."""
        named = {name: column for name, column in columns.items() if column is not None}
        if "n" in named:
            state.update_counts(**named, **self.common)  # type: ignore[attr-defined]
            return
        first = [named.pop(name, None) for name in ("y_true", "y_pred", "w")]
        state.update_many(*first, **named, **self.common)

    def _read(self, labels: ClassNames | None) -> Columns:
        """Return the columns, truth and weights read and checked, and predictions if they are `labels`."""
        if self._typed is None:
            columns = dict(self.columns)
            truth = columns["y_true"] = checked_column(columns["y_true"], "y_true")
            if labels is not None and columns.get("y_pred") is not None:
                named = predictions_by_class(truth, labels)
                columns["y_pred"] = checked_column(columns["y_pred"], "y_pred", True, named=named)
            if columns.get("w") is not None and not isinstance(columns["w"], Weights):
                columns["w"] = Weights(columns["w"], self.n)
            self._typed = columns
        return self._typed

    def _codes(self, columns: Columns) -> tuple[Coded, Coded]:
        """Return the columns of labels as `count_coded` takes them."""
        if self._coded is None:
            self._coded = _coded(columns["y_true"]), _coded(columns["y_pred"])
        return self._coded

    def split_by_key(
        self,
        keys: NDArray[np.int64],
        old: Callable[[int], State | None],
        empty: State,
        taken: NDArray[np.bool_] | None = None,
    ) -> dict[int, State]:
        """Return for every key of a row the merge of the old state (or None) with the rows of that key.

        `taken` says which rows to take. The old states stay as they are.
        """
        for name, values in self.columns.items():
            if values is not None and _length(values) != self.n:
                raise ValueError(
                    f"Expected `{name}` to have as many rows as `y_true`, {self.n}, but got {_length(values)}"
                )
        if taken is not None and not taken.all():
            return self._some(np.flatnonzero(taken)).split_by_key(keys[taken], old, empty)
        near = len(keys) > 0 and keys.min() >= -(2**15) and keys.max() < 2**15
        order = np.argsort(keys.astype(np.int16) if near else keys, kind="stable")  # int16 is sorted by radix
        edges = np.flatnonzero(np.diff(keys[order])) + 1
        states, go_on = {}, mergeable(empty) is not None
        for part in np.split(order, edges) if len(order) else []:
            key = int(keys[part[0]])
            before = old(key)
            state = self.count_rows(part, before if go_on and before is not None else empty)
            states[key] = state if go_on or before is None else before.copy().merge(state)
        return states


def _coded(column: Column) -> Coded:
    codes, names = factorize(column)
    return codes, names, np.full(len(names), -1, np.int64)


def _split(weights: Any) -> tuple[NDArray[np.int64] | None, NDArray[np.uint64] | None]:
    """Return whole parts and fractions of weights; None where there are none."""
    return (None, None) if weights is None else (weights.wholes, weights.parts)


def _takes_columns(state: Accumulator) -> bool:
    """Tell whether `update_many` of a state takes columns that were read: one of this package that holds no others."""
    counts = getattr(state, "state", state)
    of_package: str = type(state).update_many.__module__
    return isinstance(counts, ConfusionMatrix | RankSketch | ProbabilityLosses) and of_package.startswith(
        "stream_metrics."
    )


def _is_coded(column: object) -> bool:
    """Tell whether a column is codes and the names that they stand for."""
    return hasattr(column, "codes") and hasattr(column, "categories")


def _length(column: Any) -> int:
    """Return the number of rows of a column."""
    if isinstance(column, Column | Weights):
        return column.n
    return len(column.codes if _is_coded(column) else column)


def _taken(column: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a column."""
    if column is None:
        return None
    if isinstance(column, Column | Weights):
        return column.take(rows)
    if _is_coded(column):
        return Categorical(np.asarray(column.codes)[rows], column.categories)
    if isinstance(column, list | tuple):
        return [column[row] for row in rows.tolist()]
    if hasattr(column, "iloc"):
        return column.iloc[rows]
    if isinstance(column, np.ndarray) or hasattr(column, "detach"):
        return column[rows]
    return column.take(rows) if hasattr(column, "take") else [list(column)[row] for row in rows.tolist()]
