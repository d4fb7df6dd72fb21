"""The confusion matrix as a state: exact counts of (true label, predicted label)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.confusion.kernels import ConfusionCounters, pack_cells
from stream_metrics._core.numeric.kernels import Step, chosen_labels, commit
from stream_metrics.errors import LabelError, WeightError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.arrow import native, tensor_to_numpy
from stream_metrics.inputs.batch import Batch, Weights, count_batch, label_batch
from stream_metrics.inputs.columns import Column, admit_labels, check_column, count_pairs, factorize
from stream_metrics.labels import Label, unique
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import CountRows, renamed_labels, with_options
from stream_metrics.wire import Portable


class ConfusionMatrix(ConfusionCounters, Portable):
    """Counts of (true label, predicted label), the state of every label metric.

    Rows are the truth. A prediction of None or {} is an abstention and in no cell.

    Parameters
    ----------
    labels : iterable of Label, optional
        The classes, in the order in which they are reported. Other labels raise `LabelError`, or count as `other`. By
        default, labels appear as they come.
    other : Label, optional
        The label that stands for all labels that are not in `labels`.

    Attributes
    ----------
    n : int
        Number of samples, abstentions not included.
    abstained : int
        Number of samples without a prediction.
    weighted : int
        Number of samples with a weight other than 1.
    fixed_labels : tuple of Label or None
        The labels that were given.
    other : Label or None
        The label of all others.

    Notes
    -----
    Memory: 8 bytes for each of K * K cells up to 1,024 classes, and 9 while classes are added one by one; less than
    half of that beyond 32 classes while few cells are occupied. Beyond 1,024 classes at most 43 bytes for each occupied
    cell. Twice that for the cells once a weight has a fraction. A label takes about 200 bytes, and up to 256 more where
    samples are counted one by one, which caches the labels; the state itself takes less than 6 KB.

    Guarantee: counts are exact (128-bit fixed point in units of 2**-64). A stream that is split over states gives the
    same bytes, however the states are merged. The sum of all weights stays below 2**63.

    Examples
    --------
    >>> from stream_metrics import ConfusionMatrix
    >>> state = ConfusionMatrix()
    >>> state.update("cat", "cat")
    >>> state.update_many(["cat", "dog"], ["dog", "dog"])
    >>> state.labels
    ('cat', 'dog')
    >>> state.matrix
    array([[1, 1],
           [0, 1]])
    >>> state.snapshot()["accuracy"]
    0.6666666666666666
    """

    KIND: ClassVar[str] = "confusion"

    @named_arguments
    def __init__(self, labels: Iterable[Label] | None = None, other: Label | None = None) -> None:
        """Start empty; the counters were set up before, this gives `inspect.signature` something to read."""

    @named_arguments
    def update_many(
        self,
        y_true: object,
        y_pred: object = None,
        w: object = None,
        *,
        scores: object = None,
        classes: Iterable[Label] | None = None,
    ) -> None:
        """Count a batch of samples; one bad row rejects the whole batch.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels: a list, an array, a column of pandas or Arrow, or a tensor on the CPU.
        y_pred : array-like of shape (n,)
            Predictions, in the forms of `y_true`; missing ones are abstentions.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        scores, classes : object, optional
            Not for labels: anything but None raises an error that names the classes which take scores.

        Raises
        ------
        LabelError
            If a label is not valid, or outside the fixed labels; the message names argument and position.
        ScoreError
            If a prediction that is a mapping has a score that is no finite number.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        y_pred = chosen_labels(self, y_pred, scores, classes)
        self._count_batch(label_batch(y_true, y_pred, w, names=self.class_names))

    @named_arguments
    def update_counts(self, y_true: object, y_pred: object, n: object, w: object = None) -> None:
        """Count a table of counts, such as SQL's `GROUP BY` gives; one bad row rejects the whole table.

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

        Raises
        ------
        LabelError
            If a label is not valid, or outside the fixed labels; the message names argument and position.
        ScoreError
            If a prediction that is a mapping has a score that is no finite number.
        WeightError
            If `n` is negative or has a fraction, if a weight is negative, not finite, or not 0 where `n` is 0, or if a
            sum is too large.

        Notes
        -----
        The state has the same bytes as if the samples were counted one by one. With `w` that is so if all samples of a
        row have the same weight, as they have if the query groups by it, and if the sums are exact: those of whole
        weights are. Otherwise matrix and metrics are as exact as the sums, but where only some samples of a row have a
        weight other than 1, all of them count as `weighted`, or none if `w` is `n`.

        Rows may repeat a pair of labels. A row whose `n` is 0 counts nothing.

        Examples
        --------
        >>> from stream_metrics import ConfusionMatrix
        >>> state = ConfusionMatrix()
        >>> state.update_counts(["cat", "dog", "dog"], ["cat", "cat", None], [2, 1, 5])
        >>> state.n, state.abstained
        (3, 5)
        """
        self._count_batch(count_batch(y_true, y_pred, n, w))

    def _count_batch(self, batch: Batch) -> None:
        """Count a batch that was read."""
        commit([self._batch_step(batch)])

    def _batch_step(self, batch: Batch) -> Step:
        """Return the step that counts a batch, which has been counted apart."""
        assert batch.predicted is not None
        counted = count_pairs(batch.truth, batch.predicted, *batch.split_weights(), batch.samples)
        truth, predicted = counted.truth, counted.predicted
        if self.fixed_labels is not None or self._binary_only or float in {*map(type, truth), *map(type, predicted)}:
            truth = admit_labels(self._admit, truth, batch.truth, "y_true")
            predicted = admit_labels(self._admit, predicted, batch.predicted, "y_pred")
        numbers = counted.n, counted.abstained, counted.weighted
        return self._cells_step(truth, predicted, counted.cells, counted.seen, *numbers)

    def _prepare_rows(self, batch: Batch, order: NDArray[np.int64]) -> CountRows | None:
        """Return what counts rows of a batch, in an order; None if one is refused."""
        assert batch.predicted is not None
        if batch.predicted.n != batch.n:
            return None
        check_column(batch.truth, "y_true", False)
        check_column(batch.predicted, "y_pred", True)
        truth, predicted = _coded(batch.truth), _coded(batch.predicted)
        samples, (wholes, parts) = batch.samples, batch.split_weights()

        def count(state: ConfusionMatrix, start: int, end: int) -> None:
            state._count_coded(truth, predicted, order[start:end], samples, wholes, parts)

        return count

    @classmethod
    def from_counts(
        cls,
        y_true: object,
        y_pred: object,
        n: object,
        w: object = None,
        *,
        labels: Iterable[Label] | None = None,
        other: Label | None = None,
    ) -> Self:
        """Return the state of a table of counts, such as SQL's `GROUP BY` gives.

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
        labels : iterable of Label, optional
            The classes, in the order in which they are reported, if they are fixed.
        other : Label, optional
            The label that stands for all labels that are not in `labels`.

        Returns
        -------
        ConfusionMatrix
            A new state, with the bytes of one that counted the samples; see `update_counts`.

        Raises
        ------
        LabelError
            If a label is not valid, or outside the fixed labels; the message names argument and position.
        ScoreError
            If a prediction that is a mapping has a score that is no finite number.
        WeightError
            If `n` is negative or has a fraction, if a weight is negative, not finite, or not 0 where `n` is 0, or if a
            sum is too large.

        Examples
        --------
        >>> from stream_metrics import ConfusionMatrix
        >>> state = ConfusionMatrix.from_counts(["cat", "cat", "dog"], ["cat", "dog", "dog"], [90, 10, 50])
        >>> state.snapshot()["accuracy"]
        0.9333333333333333
        """
        state = cls(labels, other)
        state.update_counts(y_true, y_pred, n, w)
        return state

    @classmethod
    def from_matrix(cls, matrix: object, labels: Iterable[Label] | None = None) -> Self:
        """Return the state of a square matrix.

        Parameters
        ----------
        matrix : array-like of shape (K, K)
            Weights by true class (rows) and predicted class (columns). A whole number is that many samples, any other
            weight one sample.
        labels : iterable of Label of length K, optional
            The classes, which are then fixed; 0 to K - 1 by default.

        Returns
        -------
        ConfusionMatrix
            A new state.

        Raises
        ------
        LabelError
            If the number of labels is not K.
        WeightError
            If a cell is negative, not finite or masked.
        ValueError
            If the matrix is not square.
        """
        if np.ma.is_masked(matrix):
            but = "got a masked array with gaps"
            raise WeightError(argument="matrix", expected="to have a weight in every cell", but=but)
        array = native(np.asarray(tensor_to_numpy(matrix, "matrix")))
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise ValueError(f"Expected `matrix` to be square, but got the shape {array.shape}")
        names = list(unique(range(len(array)) if labels is None else labels))
        if array.dtype.kind not in "iubfO":
            raise WeightError(argument="matrix", expected="to hold numbers", but=f"got the type {array.dtype}")
        if len(names) != len(array):
            subject = f"{len(array)} `labels`"
            raise LabelError(argument="labels", subject=subject, expected="for the matrix", got=len(names))
        state = cls(names)
        rows, columns = np.nonzero(array != 0)
        try:
            weights = Weights(array[rows, columns], len(rows))
        except WeightError as error:
            cell = "every cell of `matrix`" if error.position is None else f"`matrix` at non-zero cell {error.position}"
            raise WeightError(argument="matrix", subject=cell, expected=error.expected, got=error.got) from None
        wholes, parts = weights.wholes, weights.parts
        weighted = 0 if parts is None else int((parts != 0).sum())
        n = weighted + int(wholes.sum() if parts is None else wholes[parts == 0].sum())
        unseen = np.zeros(len(names), np.int64)
        commit([state._cells_step(names, names, (rows, columns, wholes, parts), (unseen, unseen), n, 0, weighted)])
        return state

    def reconfigured(self, **options: Any) -> Self:
        """Return a new state of the same samples with other fixed labels.

        Parameters
        ----------
        **options : object
            `labels` and `other`, as the class takes them. What is left out stays.

        Returns
        -------
        ConfusionMatrix
            What a state with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the counts.
        TypeError
            If there is no such option.

        Notes
        -----
        Fixed labels can become more, or be in another order or of equal numbers of another type. A label without counts
        can go; one with counts is lost in `other`, which must then be given. Labels that were open can be fixed. Fixed
        text can be open again; numbers cannot, since their types were not counted. What was counted as `other` cannot
        be split, so that labels cannot become more then.

        Examples
        --------
        >>> from stream_metrics import ConfusionMatrix
        >>> state = ConfusionMatrix(labels=["cat", "dog"])
        >>> state.update("cat", "dog")
        >>> wider = ConfusionMatrix(labels=["cat", "fox", "dog"])
        >>> state.reconfigured(labels=wider.labels).merge(wider).labels
        ('cat', 'fox', 'dog')
        """
        twin, state = with_options(self, options, ("labels", "other"), labels=self.fixed_labels), self.copy()
        twin._add_renamed(state, renamed_labels(state, twin))
        if self._binary_only:
            twin.allow_binary_only()
        return twin

    def snapshot(self, *, zero_division: float | None = None) -> Snapshot:
        """Return a frozen copy from which every metric can be read; later updates do not change it.

        Parameters
        ----------
        zero_division : float, optional
            Value that stands for 0/0 in every metric: 0.0, 1.0 or nan. Each metric has its own default.

        Returns
        -------
        Snapshot
            The metrics at this moment.
        """
        return Snapshot(self.copy(), zero_division=zero_division)

    def _content(self) -> list[object]:
        state = self.copy()  # at one moment, though other threads may go on counting
        labels, fixed = state.labels, state.fixed_labels
        rows, columns, wholes, parts = state.ordered()
        return [
            fixed,
            [] if state.other is None else [state.other],
            state.n,
            state.abstained,
            labels if fixed is None else labels[len(fixed) :],
            state.appearances(),
            pack_cells(rows, columns, wholes, parts, len(labels)),
            *([state.weighted] if state.weighted else []),  # not in bytes of earlier versions
        ]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        fixed, other, n, abstained, labels, appearances, cells, *weighted = content
        if len(weighted) > 1 or 0 in weighted:
            raise ValueError("the samples of another weight than 1, if there are any")
        if {*map(type, (fixed or (), other, labels, appearances))} != {tuple}:
            raise ValueError("arrays of labels and of appearances")
        if {*map(type, (n, abstained, *weighted, *appearances))} != {int}:
            raise ValueError("whole numbers of samples and appearances")
        state = cls.__new__(cls, fixed, *other)  # `__init__` only looks at the names of arguments
        state._refill(list(labels), cells, list(appearances), n, abstained, sum(weighted))
        return state

    def _would_write(self, content: Any) -> bool:
        given = self.fixed_labels, () if self.other is None else (self.other,)
        return repr(given) == repr((content[0], content[1]))  # the rest was checked where it was read

    def __repr__(self) -> str:
        return f"ConfusionMatrix({quantity(self.n, 'sample')}, {quantity(self.k, 'class')})"


def _coded(column: Column) -> tuple[NDArray[np.int32], list[Label], NDArray[np.int64]]:
    """Return a column of labels as `_count_coded` takes it."""
    codes, names = factorize(column)
    return codes, names, np.full(len(names), -1, np.int64)
