"""Batches that are split over several states by a key of each row: panes, groups, folds.

The states of many groups that count labels only are written from a table of counts, without a state for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.confusion.kernels import pack_runs
from stream_metrics._core.numeric.kernels import chosen_scores
from stream_metrics.errors import LabelError, MergeError, ScoreError, WeightError
from stream_metrics.inputs.arrow import COLUMNS, LABELS, is_single
from stream_metrics.inputs.batch import Batch, Weights, mixed_batch, read_counts, score_batch
from stream_metrics.inputs.columns import Column, admit_labels, checked_column, factorize, row_count, take_rows
from stream_metrics.inputs.score_tables import materialize, names_of_state, predictions_by_class
from stream_metrics.inputs.times import is_one_time
from stream_metrics.labels import Label, ordering
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.protocols import Accumulator, CountRows
from stream_metrics.states.ranks import RankSketch
from stream_metrics.states.score_states import ScoreStates
from stream_metrics.wire import HEADER, encoded, enveloped

FEW = 2000  # rows of one state that are counted faster one by one, from columns that were read, than as a batch

Writer: TypeAlias = Callable[[object, object, object, NDArray[np.int64]], list[bytes]]

NOTHING = b"\0\0\x90\x90\xc4\1\0"  # what `pack_runs` returns for a run without rows
FORMS = {bool: 0, int: 1, float: 2}  # of a label, by its type; 3 is any other

State = TypeVar("State", bound=Accumulator)
Columns: TypeAlias = Mapping[str, Any]  # by argument, in any form that can be read more than once


def mergeable(state: Any) -> MergeError | None:
    """Return why two states like this one cannot be merged, or None if they can; counts do not matter."""
    inner = getattr(state, "inner", None)
    if inner is not None and (reason := mergeable(inner)) is not None:
        return reason
    empty = state.copy()
    empty.reset()
    try:
        empty.merge(empty.copy())
    except MergeError as error:
        return error
    return None


class KeyedBatch:
    """The columns of a batch, to be split over states by a key of each row, and values that hold for all rows.

    With a column `n` it is a table of counts, whose rows stand for so many samples each.
    """

    def __init__(self, columns: Columns, classes: object = None) -> None:
        self.columns = {
            name: column if isinstance(column, Column | Weights | np.ndarray) else materialize(column, name)
            for name, column in columns.items()
            if not is_common(name, column)
        }
        common = {name: value for name, value in columns.items() if name not in self.columns} | {"classes": classes}
        self.common = {name: value for name, value in common.items() if value is not None}
        self.n = length(self.columns["y_true"])
        self._callers = self.columns  # with all rows, by which errors name positions
        self._typed: Columns | None = None  # the columns, each read once

    def _count_rows(self, rows: NDArray[np.int64], empty: State, w: list[float] | None = None) -> State:
        """Return a new state that has counted some rows, with the weights `w` of these rows if they are given.

        An error names the position in the whole batch.
        """

        def count(state: State) -> None:
            part = {name: _taken(column, rows) for name, column in self._read(empty).items()}
            self._feed(state, part if w is None else {**part, "w": w})

        return self._counted(empty, count)

    def _counted(self, empty: State, count: Callable[[State], None]) -> State:
        """Return a new state after it has counted some rows; an error names the position in the whole batch."""
        state = empty.copy()
        try:
            count(state)
        except (LabelError, ScoreError, WeightError):
            self._feed(empty.copy(), self._callers)
            raise
        return state

    def _feed(self, state: Accumulator, columns: Columns) -> None:
        """Let a state count columns."""
        named = {name: column for name, column in columns.items() if column is not None}
        if "n" in named:
            state.update_counts(**named, **self.common)  # type: ignore[attr-defined]
            return
        first = [named.pop(name, None) for name in ("y_true", "y_pred", "w")]
        state.update_many(*first, **named, **self.common)

    def _read(self, empty: Accumulator) -> Columns:
        """Return the columns, read and checked as far as states like `empty` take columns that were read."""
        if self._typed is None:
            columns = dict(self.columns)
            if _takes_columns(empty):
                truth = columns["y_true"] = checked_column(columns["y_true"], "y_true")
                if label_counts(empty) is not None and columns.get("y_pred") is not None:
                    named = predictions_by_class(truth, names_of_state(empty))
                    columns["y_pred"] = checked_column(columns["y_pred"], "y_pred", True, named=named)
                if columns.get("w") is not None and not isinstance(columns["w"], Weights):
                    columns["w"] = Weights(columns["w"], self.n)
            self._typed = columns
        return self._typed

    def unweighted_labels(self, empty: Accumulator) -> tuple[Column, Column, NDArray[np.int64] | None] | None:
        """Return truth, predictions and how many samples a row stands for; None if a row has a weight, or more."""
        names = {name for name, values in self.columns.items() if values is not None}
        if label_counts(empty) is None or names - {"n"} != {"y_true", "y_pred"} or self.common:
            return None
        columns = self._read(empty)
        if columns["y_pred"].n != self.n:
            return None
        return columns["y_true"], columns["y_pred"], columns.get("n")

    def _rows_in_order(self, empty: Any, order: NDArray[np.int64]) -> CountRows | None:
        """Return what lets states like `empty` count a few rows of an order; None if each reads its rows itself."""
        if not _takes_columns(empty):
            return None
        classes: Any = self.common.get("classes")
        columns = self._read(empty)
        given = {name: values for name, values in columns.items() if values is not None}
        truth, weights, counts = given["y_true"], given.get("w"), getattr(empty, "state", empty)
        if not given.keys() <= {"y_true", "y_pred", "w", "n", "scores"} or not self.common.keys() <= {"classes"}:
            return None
        if label_counts(empty) is not None:
            if self.common or "scores" in given or "y_pred" not in given:
                return None
            batch = Batch(truth, weights, predicted=given["y_pred"], samples=given.get("n"))
            return cast(CountRows | None, counts._prepare_rows(batch, order))
        if "n" in given:
            return None
        predicted, scores = given.get("y_pred"), given.get("scores")
        scored: ScoreStates | None = getattr(empty, "scored", None)
        if scored is not None:
            return scored._prepare_rows(counts, mixed_batch(truth, predicted, weights, scores, classes), order)
        read = counts._read_batch if isinstance(counts, ProbabilityLosses) else score_batch
        batch = read(truth, chosen_scores(empty, predicted, scores), weights, classes)
        return cast(CountRows | None, counts._prepare_rows(batch, order))

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
            if values is not None and length(values) != self.n:
                error = COLUMNS.get(name, LABELS)[0]
                expected = f"to have as many rows as `y_true`, {self.n}"
                raise error(argument=name, expected=expected, got=length(values))
        if taken is not None and not taken.all():
            rows = np.flatnonzero(taken)
            some = KeyedBatch({name: _taken(column, rows) for name, column in self.columns.items()})
            some.common, some._callers = self.common, self._callers
            return some.split_by_key(keys[taken], old, empty)
        if not len(keys):
            return {}
        near = keys.min() >= -(2**15) and keys.max() < 2**15
        order = np.argsort(keys.astype(np.int16) if near else keys, kind="stable")  # int16 is sorted by radix
        ordered = keys[order]
        starts = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(order)]
        try:
            count = self._rows_in_order(empty, order)
        except (LabelError, ScoreError, WeightError):
            count = None  # the state that reads the row refuses it
        states, go_on = {}, mergeable(empty) is not None
        for key, start, end in zip(ordered[starts[:-1]].tolist(), starts, starts[1:], strict=False):
            before = old(key)
            few = count is not None and end - start <= FEW
            base = before if before is not None and (few or go_on) else empty
            if count is not None and few:
                state = self._counted(base, _run(count, start, end))
            else:
                state = self._count_rows(order[start:end], base)
            states[key] = state if before is None or base is before else before.copy().merge(state)
        return states


def _run(count: CountRows, start: int, end: int) -> Callable[[Any], None]:
    """Return what lets a state count a run of rows: a set with scores itself, any other metric in its state."""

    def count_run(state: Any) -> None:
        count(state if getattr(state, "scored", None) is not None else getattr(state, "state", state), start, end)

    return count_run


def _takes_columns(state: Accumulator) -> bool:
    """Tell whether `update_many` of a state takes columns that were read: one of this package that holds no others."""
    counts = getattr(state, "state", state)
    of_package: str = type(state).update_many.__module__
    plain = isinstance(counts, ConfusionMatrix | RankSketch | ProbabilityLosses)
    return plain and of_package.startswith("stream_metrics.") and getattr(state, "_sample_rule", None) is None


def is_common(name: str, value: object) -> bool:
    """Tell whether the value of an argument is one for all rows, or none."""
    if name not in ("t", "group", "unit"):
        return False
    return value is None or (is_one_time if name == "t" else is_single)(value)


def length(column: Any) -> int:
    """Return the number of rows of a column."""
    return column.n if isinstance(column, Weights) else row_count(column)


def _taken(column: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of a column."""
    return None if column is None else take_rows(column, rows)


def label_counts(state: Accumulator) -> ConfusionMatrix | None:
    """Return what counts labels in a state that counts nothing else; None in others."""
    counts = getattr(state, "state", state)
    alone = getattr(state, "scored", None) is None and getattr(state, "_sample_rule", None) is None
    return counts if isinstance(counts, ConfusionMatrix) and alone else None


def run_writer(state: Any) -> Writer | None:
    """Return a function that writes states with the options of this one; None for one that counts more than labels.

    It takes the columns of a table of counts, as `update_counts` does, and the rows at which runs of one group start,
    and the row where the last one ends. It returns for each run the bytes of a state that has counted its rows.
    """
    empty = state.copy()
    empty.reset()
    matrix, data = label_counts(empty), empty.to_bytes()
    if matrix is None or not data.endswith(encoded(matrix._content())):
        return None
    return partial(_written, matrix, data[HEADER:].removesuffix(NOTHING))


def _written(
    matrix: ConfusionMatrix, before: bytes, y_true: object, y_pred: object, n: object, starts: NDArray[np.int64]
) -> list[bytes]:
    """Return the bytes of the state of each run; all that states like `matrix` write alike comes `before`."""
    return [enveloped(before + content) for content in run_contents(matrix, y_true, y_pred, n, starts)]


def run_contents(
    matrix: ConfusionMatrix, y_true: object, y_pred: object, n: object, starts: NDArray[np.int64]
) -> list[bytes]:
    """Return the content of the state of each run from its number of samples on; see `run_writer`."""
    truth = checked_column(y_true, "y_true")
    predicted = checked_column(y_pred, "y_pred", True, truth.n)
    samples = read_counts(n, truth.n)
    columns = _admitted(matrix, truth, "y_true"), _admitted(matrix, predicted, "y_pred")
    fixed = dict.fromkeys(matrix.fixed_labels or ())
    labels = list(dict.fromkeys([label for _, names in columns for label in names if label not in fixed]))
    rank = {label: place for place, label in enumerate([*fixed, *(labels[at] for at in ordering(labels))])}
    forms = [b""] * (4 * len(rank))
    rows = []
    for codes, names in columns:
        places = [4 * rank[label] + FORMS.get(type(label), 3) for label in names]
        for place, label in zip(places, names, strict=True):
            forms[place] = encoded(label)
        rows.append(np.array([*places, -1], np.int64)[codes])
    starts = np.ascontiguousarray(starts, np.int64)
    return pack_runs(rows[0], rows[1], samples, starts, forms, len(fixed))


def _admitted(matrix: ConfusionMatrix, column: Column, argument: str) -> tuple[Any, list[Label]]:
    """Return the codes of a column and their labels, as a state counts them."""
    codes, names = factorize(column)
    return codes, admit_labels(matrix._admit, names, column, argument)
