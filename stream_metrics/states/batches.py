"""Batches that are dealt out to several states, row by row: panes, groups, folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import LabelError, MergeError, ScoreError, WeightError
from stream_metrics.inputs.columns import Categorical, as_column, check_codes, read_weights
from stream_metrics.inputs.score_tables import materialize
from stream_metrics.states.confusion import ConfusionMatrix

__all__ = ["Batch", "mergeable"]

FEW = 200  # rows of one state that are counted faster one by one than as a batch


def mergeable(state: Any) -> MergeError | None:
    """Return why two such states cannot be merged, or None if they can."""
    try:
        state.copy().merge(state.copy())
    except MergeError as error:
        return error
    return None


class Batch:
    """The columns of a batch, to be dealt out to states row by row, and arguments that hold for all rows."""

    def __init__(self, columns: Mapping[str, Any], **common: Any) -> None:
        self.columns = {name: materialize(column, name) for name, column in columns.items()}
        self.common = {name: value for name, value in common.items() if value is not None}
        self.n = _length(self.columns["y_true"])
        self._read = False
        self._rows: list[tuple[Any, ...]] | None = None  # what `_samples` has made

    def some(self, rows: NDArray[np.int64]) -> Batch:
        """Return the batch of some rows."""
        return Batch({name: _taken(column, rows) for name, column in self.columns.items()}, **self.common)

    def weighted(self, w: list[float]) -> Batch:
        """Return the batch with these weights."""
        return Batch({**self.columns, "w": w}, **self.common)

    def add_to(self, state: Any) -> None:
        """Let a state count all rows."""
        part = dict(self.columns)
        first = [part.pop(name, None) for name in ("y_true", "y_pred", "w")]
        named = {name: column for name, column in part.items() if column is not None}
        state.update_many(*first, **named, **self.common)

    def counted(self, rows: NDArray[np.int64], empty: Any, w: list[float] | None = None) -> Any:
        """Return a new state that has counted some rows, with the weights `w` of these rows if they are given.

        An error names the position in the whole batch.
        """
        state = empty.copy()
        samples = self._samples() if w is None and len(rows) <= FEW and _counts_labels(empty) else None
        try:
            if samples is not None:
                for row in rows.tolist():
                    state.update(*samples[row])
            else:
                part = self.some(rows)
                (part if w is None else part.weighted(w)).add_to(state)
        except (LabelError, ScoreError, WeightError):
            self.add_to(empty.copy())
            raise
        return state

    def _samples(self) -> list[tuple[Any, ...]] | None:
        """Return every row as arguments of `update`; None if a row is more than labels and a weight, or is bad."""
        if not self._read:
            self._read = True
            given = {name for name, values in self.columns.items() if values is not None}
            if {"y_true", "y_pred"} <= given <= {"y_true", "y_pred", "w"} and not self.common:
                with suppress(LabelError, WeightError):
                    self._rows = list(zip(*self._objects(), strict=True))
        return self._rows

    def _objects(self) -> Iterator[list[Any]]:
        """Yield the columns as Python objects."""
        for name in ("y_true", "y_pred"):
            c = as_column(self.columns[name], name, name == "y_pred")
            if len(c.values):
                check_codes(c, (int(c.values.min()), int(c.values.max())), name, name == "y_pred")
            yield c.objects()
        if self.columns.get("w") is not None:
            checked = read_weights(self.columns["w"], self.n)
            yield checked if isinstance(checked, list) else checked.tolist()

    def deal(
        self,
        keys: NDArray[np.int64],
        old: Callable[[int], Any],
        empty: Any,
        dealt: NDArray[np.bool_] | None = None,
    ) -> dict[int, Any]:
        """Return for every key of a row the merge of the old state (or None) with the rows of that key.

        `dealt` says which rows to take. The old states stay as they are.
        """
        for name, values in self.columns.items():
            if values is not None and _length(values) != self.n:
                raise ValueError(
                    f"Expected `{name}` to have as many rows as `y_true`, {self.n}, but got {_length(values)}"
                )
        rows = np.arange(self.n) if dealt is None else np.flatnonzero(dealt)
        order = rows[np.argsort(keys[rows], kind="stable")]
        edges = np.flatnonzero(np.diff(keys[order])) + 1
        states, go_on = {}, mergeable(empty) is not None
        for part in np.split(order, edges) if len(order) else []:
            key = int(keys[part[0]])
            before = old(key)
            state = self.counted(part, before if go_on and before is not None else empty)
            states[key] = state if go_on or before is None else before.copy().merge(state)
        return states


def _counts_labels(state: Any) -> bool:
    """Tell whether a state, which holds no others, counts labels only."""
    counts = getattr(state, "state", state)
    return isinstance(counts, ConfusionMatrix) and getattr(state, "scored", None) is None


def _is_coded(column: Any) -> bool:
    """Tell whether a column is codes and the names that they stand for."""
    return hasattr(column, "codes") and hasattr(column, "categories")


def _length(column: Any) -> int:
    """Return the number of rows of a column."""
    return len(column.codes if _is_coded(column) else column)


def _taken(column: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a column."""
    if column is None:
        return None
    if _is_coded(column):
        return Categorical(np.asarray(column.codes)[rows], column.categories)
    if isinstance(column, list | tuple):
        return [column[row] for row in rows.tolist()]
    if hasattr(column, "iloc"):
        return column.iloc[rows]
    if isinstance(column, np.ndarray) or hasattr(column, "detach"):
        return column[rows]
    return column.take(rows) if hasattr(column, "take") else [list(column)[row] for row in rows.tolist()]
