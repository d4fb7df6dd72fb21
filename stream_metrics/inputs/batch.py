"""A batch of samples: every column is read, checked and typed once; any number of states then count it.

A column of labels is a `Column`, weights are exact whole parts and fractions, scores are a column or a table of floats,
or a list of what one sample may have. The rows of a batch may be some rows of the caller's columns; errors name the
position among the caller's. A row stands for one sample, or, if `samples` is given, for as many as it says: rows of a
table of counts stand for several equal samples, as `GROUP BY` gives them. Their number is a whole number in any form
that engines give: int64, a Decimal of scale 0, or a float where a missing value made a column of floats. A float of at
least 2**53 is refused, because it may have been rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import split_some_weights, split_weights
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError, WeightError
from stream_metrics.inputs import arrow
from stream_metrics.inputs.arrow import Array, Values
from stream_metrics.inputs.columns import Column, as_column, as_container, check_column, read_weights
from stream_metrics.inputs.score_tables import (
    is_abstention,
    keyed_as_table,
    materialize,
    own_names,
    predictions_by_class,
    score_table,
    scores_by_class,
    soft_rows,
    stand_in,
)
from stream_metrics.labels import Label, unique
from stream_metrics.labels.class_names import OPEN, ClassNames

Positions: TypeAlias = NDArray[np.int64]

MOST = 2**62 - 1  # samples of one table, so that no sum of two such numbers overflows
EXACT = 2.0**53


class Weights:
    """Weights of the rows of a batch, as whole parts and fractions of 2**-64, None if all are whole."""

    __slots__ = ("_numbers", "_positive", "n", "parts", "wholes")

    def __init__(self, w: object, n: int) -> None:
        """Read a column of `n` weights; WeightError names the position of one that is refused."""
        self._numbers, self.n = read_weights(w, n), n
        self.wholes, self.parts = split_weights(self._numbers)
        self._positive: tuple[Array, Array | None, Array | None] | None = None

    def take(self, rows: Positions) -> Weights:
        """Return the weights of some rows."""
        some: Weights = Weights.__new__(Weights)
        numbers = self._numbers
        some._numbers = [numbers[row] for row in rows.tolist()] if isinstance(numbers, list) else numbers[rows]
        some.wholes, some.parts = self.wholes[rows], None if self.parts is None else self.parts[rows]
        some._positive, some.n = None, len(some.wholes)
        return some

    def numbers(self) -> list[float]:
        """Return the weights as Python numbers."""
        return self._numbers if isinstance(self._numbers, list) else self._numbers.tolist()

    def positive(self) -> tuple[Array, Array | None, Array | None]:
        """Return the parts such that no positive weight is 0, and which weights were rounded (None: none)."""
        if self._positive is None:
            self._positive = split_some_weights(self._numbers)
        return self._positive


class Batch:
    """Columns of one length that were read: truth, and what there is of predictions, weights and scores.

    `classes` are the names of the columns of a table of scores, and `named` tells whether the caller gave them. `rows`
    are the positions of the rows among the caller's, None if these are all of his.
    """

    __slots__ = ("_positions", "classes", "n", "named", "predicted", "rows", "samples", "scores", "truth", "weights")

    def __init__(
        self,
        truth: Column,
        weights: Weights | None = None,
        *,
        predicted: Column | None = None,
        scores: Values | None = None,
        classes: tuple[Label, ...] | None = None,
        named: bool = True,
        rows: Positions | None = None,
        samples: NDArray[np.int64] | None = None,
    ) -> None:
        self.truth, self.weights, self.n, self.samples = truth, weights, truth.n, samples
        self.predicted, self.classes, self.named, self.rows = predicted, classes, named, rows
        self.scores: Values = [] if scores is None else scores
        self._positions: tuple[tuple[Label, ...], NDArray[np.int32]] | None = None

    def split_weights(self) -> tuple[Array | None, Array | None]:
        """Return whole parts and fractions of the weights, None where all are 1 or whole."""
        return (None, None) if self.weights is None else (self.weights.wholes, self.weights.parts)

    def true_columns(self, classes: tuple[Label, ...]) -> NDArray[np.int32]:
        """Return for each row the column of its true class in a table of these classes, or -1."""
        if self._positions is None or self._positions[0] is not classes:
            self._positions = classes, self.truth.positions(classes)
        return self._positions[1]

    def take(self, rows: Positions, scores: Values, classes: tuple[Label, ...] | None = None) -> Batch:
        """Return a batch of some rows with their scores."""
        weights = None if self.weights is None else self.weights.take(rows)
        positions = rows if self.rows is None else self.rows[rows]
        return Batch(self.truth.take(rows), weights, scores=scores, classes=classes, rows=positions)

    def name_classes(self, names: ClassNames) -> None:
        """Put the scores under the classes that their keys name."""
        try:
            self.scores, self.classes = scores_by_class(self.truth, self.scores, self.classes, names)
        except StreamMetricsError as error:
            raise self.with_caller_position(error) from None

    def check_truth(self) -> None:
        """Raise LabelError for the first row whose truth is a code of no label."""
        check_column(self.truth, "y_true", False)

    def with_caller_position(self, error: StreamMetricsError) -> StreamMetricsError:
        """Return an error about one of the rows as one about the caller's row."""
        return error if self.rows is None else about_row_of(self.rows, error)


def about_row_of(rows: Positions, error: StreamMetricsError) -> StreamMetricsError:
    """Return an error about one of some rows as one about the caller's row."""
    by_row = error.position is not None and error.argument != "classes"
    return error.with_position(int(rows[error.position])) if by_row else error


def label_batch(y_true: object, y_pred: object, w: object, argument: str = "y_pred", names: ClassNames = OPEN) -> Batch:
    """Return a batch of labels; `argument` is what the caller names the predictions."""
    truth = as_column(y_true, "y_true", False)
    predicted = as_column(y_pred, argument, True, predictions_by_class(truth, names))
    if predicted.n != truth.n:
        raise _wrong_length(LabelError, argument, truth.n, predicted.n)
    return Batch(truth, _weights(w, truth.n), predicted=predicted)


def score_batch(y_true: object, scores: object, w: object, classes: Iterable[Label] | None) -> Batch:
    """Return a batch of scores; rows of a list without scores are in it."""
    scores, classes = keyed_as_table(scores, classes)
    names = own_names(scores) if classes is None else unique(classes, "classes")
    truth = as_column(y_true, "y_true", False)
    n = truth.n
    weights = _weights(w, n)
    table = score_table(scores)
    if len(table) != n:
        raise _wrong_length(ScoreError, "scores", n, len(table))
    batch = Batch(truth, weights, scores=table, classes=names, named=classes is not None)
    batch.check_truth()
    batch.name_classes(OPEN)
    return batch


def mixed_batch(
    y_true: object, y_pred: Any, w: object, scores: Any, classes: Iterable[Label] | None
) -> tuple[Batch, Batch | None, Any]:
    """Return all rows, those with scores (None if no row can have any), and the predictions beside the scores.

    Predictions that are scores count as scores where there are no others.
    """
    if y_pred is not None:
        y_pred, scores = materialize(y_pred, "y_pred"), materialize(scores, "scores")
    error: tuple[type[LabelError | ScoreError], str] = ScoreError, "scores"  # of a wrong length
    if scores is None:
        scores, y_pred = soft_rows(y_pred, classes)
        error = error if y_pred is None else (LabelError, "y_pred")
        if scores is None:
            return label_batch(y_true, y_pred, w), None, None
    scores, classes = keyed_as_table(scores, classes)
    if y_pred is not None:
        classes = own_names(scores) if classes is None else classes
        y_pred, scores = stand_in(y_pred, scores)
    names = own_names(scores) if classes is None else unique(classes, "classes")
    table = as_container(scores, "scores")
    some = arrow.rows_with_scores(table) if arrow.is_pyarrow(table) else None
    table = score_table(table if some is None else table.filter(some))
    truth = as_column(y_true, "y_true", False)
    n, length = truth.n, len(table if some is None else some)
    if length != n:
        raise _wrong_length(*error, n, length)
    whole = Batch(truth, _weights(w, n))
    whole.check_truth()
    rows = None if some is None else np.flatnonzero(some.to_numpy(zero_copy_only=False))
    if not n:
        table, names = [], None
    if isinstance(table, list) and any(map(is_abstention, table)):
        present = np.array([not is_abstention(row) for row in table], bool)
        rows = np.flatnonzero(present) if rows is None else rows[present]
        table = [row for row, there in zip(table, present.tolist(), strict=True) if there]
    if rows is None:
        return whole, Batch(truth, whole.weights, scores=table, classes=names), y_pred
    return whole, whole.take(rows, table, names), y_pred


def _weights(w: object, n: int) -> Weights | None:
    return w if w is None or isinstance(w, Weights) else Weights(w, n)


def _wrong_length(error: type[LabelError | ScoreError], argument: str, n: int, got: int) -> LabelError | ScoreError:
    return error(argument=argument, expected=f"to have as many rows as `y_true`, {n}", got=got)


def count_batch(y_true: object, y_pred: object, n: object, w: object) -> Batch:
    """Return a batch of labels whose rows stand for `n` samples each, of the weight `w` in sum."""
    batch = label_batch(y_true, y_pred, w)
    batch.samples = read_counts(n, batch.n)
    if batch.weights is not None:
        _check_weights(batch.weights, batch.samples)
    return batch


def score_count_batch(scores: object, y_true: object, n: object, classes: Iterable[Label] | None) -> Batch:
    """Return a batch of scores whose rows stand for `n` samples each."""
    batch = score_batch(y_true, scores, None, classes)
    batch.samples = read_counts(n, batch.n)
    return batch


def read_counts(n: object, rows: int) -> NDArray[np.int64]:
    """Return the numbers of samples of `rows` rows; WeightError names the position of a value that is not one."""
    numbers = read_weights(n, rows, "n")
    end = EXACT if isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f" else MOST + 1
    if isinstance(numbers, np.ndarray) and ((numbers >= 0) & (numbers < end) & (np.floor(numbers) == numbers)).all():
        counts = numbers.astype(np.int64)
    else:
        listed = numbers if isinstance(numbers, list) else numbers.tolist()
        counts = np.array([_whole(number, at) for at, number in enumerate(listed)], np.int64)
    if int(counts.max(initial=0)) * rows > MOST and sum(counts.tolist()) > MOST:
        total = sum(counts.tolist())
        raise WeightError(argument="n", subject="the sum of `n`", expected="to stay below 2**62", got=total)
    return counts


def _whole(number: Any, position: int) -> int:
    """Return a number of any type as an int."""
    try:
        whole = int(number)
        exact = not isinstance(number, str | bytes) and bool(whole == number)
    except (TypeError, ValueError, ArithmeticError):
        whole, exact = 0, False
    rounded = isinstance(number, float) and EXACT <= number <= MOST
    if exact and 0 <= whole <= MOST and not rounded:
        return whole
    expected = f"to be a whole number of samples from 0 to {'2**53 - 1, if it is a float' if rounded else '2**62 - 1'}"
    raise WeightError(argument="n", position=position, expected=expected, got=number)


def _check_weights(weights: Weights, samples: NDArray[np.int64]) -> None:
    """Raise WeightError for the first row that has a weight and no sample."""
    some = weights.wholes != 0 if weights.parts is None else (weights.wholes != 0) | (weights.parts != 0)
    bad = np.flatnonzero(some & (samples == 0))
    if len(bad):
        got = weights.take(bad[:1]).numbers()[0]
        raise WeightError(argument="w", position=int(bad[0]), expected="to be 0 where `n` is 0", got=got)
