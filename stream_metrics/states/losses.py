"""Losses of probabilities as a state: exact sums of log loss, Brier score and spherical score, and ranks.

A batch is read in one of three ways: one column of floats (the probability of `pos_label`), a table of floats (a row
a sample, a column a class), or a list of anything that `update` takes, object by object. All three rate a sample alike,
to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.losses.kernels import LossSums
from stream_metrics._core.numeric.kernels import Step, chosen_scores
from stream_metrics.errors import LabelError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.arrow import Array
from stream_metrics.inputs.batch import Batch, score_batch
from stream_metrics.inputs.columns import Column, factorize
from stream_metrics.inputs.score_tables import check_classes
from stream_metrics.labels import Label, ordering
from stream_metrics.labels.class_names import OPEN
from stream_metrics.labels.pos_label import is_default
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import CountRows, check_pos_label, with_options
from stream_metrics.states.score_labels import check_truths_of_singles
from stream_metrics.wire import Portable

SUMS = 18  # numbers of a state without squares


class ProbabilityLosses(LossSums, Portable):
    """Sums of losses of probabilities: log loss, Brier score, spherical score, top-k accuracy.

    Scores are a mapping from label to probability, a single probability of `pos_label`, or a sequence in the order of
    `classes`. None or {} is an abstention and in no sum. A true class without a score has probability 0 and ranks after
    all classes that have one. A row need not sum to 1. Each probability must lie in [0, 1]; an excess of at most 1e-6,
    which float32 rounding causes, counts as 0 or 1.

    With a single probability the truth is `pos_label` or anything else of its type, and at 1/2 the other class ranks
    first.

    Parameters
    ----------
    pos_label : Label, default True
        The class whose probability a single number is.
    classes : iterable of Label, optional
        The classes that there are, to which a sequence of probabilities belongs. If they are two, Brier scores are
        halved.

    Attributes
    ----------
    pos_label : Label
        The class whose probability a single number is.
    classes : tuple of Label or None
        The classes of a sequence of probabilities.

    Notes
    -----
    The squares of the losses of samples of weight 1 are summed as well, for intervals. States from bytes that were
    written before there were squares have none, nor has a state that such a state is merged into.

    Memory: under 600 bytes, whatever is counted.

    Guarantee: each term is rounded once, to 2**-104, and sums are exact. A stream that is split over states gives the
    same bytes, however the states are merged. The sum of all weights stays below 2**63.

    Examples
    --------
    >>> from stream_metrics import ProbabilityLosses
    >>> state = ProbabilityLosses()
    >>> state.update("cat", {"cat": 0.75, "dog": 0.25})
    >>> state.update_many(["dog"], [[0.5, 0.5]], classes=["cat", "dog"])
    >>> round(state.snapshot()["brier_score"], 4)
    0.3125
    """

    KIND: ClassVar[str] = "losses"

    @named_arguments
    def __init__(self, pos_label: Label = True, classes: Iterable[Label] | None = None) -> None:
        """Configuration only; it is read when the object is made."""

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
        y_pred : array-like of shape (n,) or (n, K), or list of length n
            Probabilities of `pos_label`, a column for each class, or a list of the forms that `update` takes.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        scores : array-like of shape (n,) or (n, K), or list of length n, optional
            The scores, if they are not passed as `y_pred`.
        classes : sequence of Label of length K, optional
            The classes of the columns. By default those of a data frame's columns, or those of the state.

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a probability lies outside [0, 1].
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        self._count_batch(self._read_batch(y_true, chosen_scores(self, y_pred, scores), w, classes))

    def _read_batch(self, y_true: object, scores: object, w: object, classes: Iterable[Label] | None) -> Batch:
        """Return a batch of scores with the names of its columns."""
        batch = score_batch(y_true, scores, w, classes)
        batch.classes = self._names(batch)
        batch.name_classes(OPEN)
        return batch

    def _batch_step(self, batch: Batch) -> Step:
        """Return the step that counts a batch, which has been counted apart."""
        counted = self.copy()
        counted.reset()
        counted._count_batch(batch)
        return self._merge_step(counted)

    def _count_batch(self, batch: Batch) -> None:
        """Count a batch that was read."""
        count = self._prepare_rows(batch, slice(None))
        if count is not None:
            count(self, 0, batch.n)
            return
        codes, labels = factorize(batch.truth)
        self._count_objects(labels, codes, list(batch.scores), batch.classes, *batch.split_weights())

    def _prepare_rows(self, batch: Batch, order: NDArray[np.int64] | slice) -> CountRows | None:
        """Return what counts rows of a batch of single scores or a table, in an order; None for other scores."""
        if isinstance(batch.scores, list):
            return None
        table = batch.scores[order]
        wholes, parts = (None if x is None else x[order] for x in batch.split_weights())
        single = table.ndim == 1
        names = (self.pos_label,) if single else check_classes(batch.classes, table.shape[1])
        places, binary = None if single else _places(names), _is_binary(names)
        truth: Array = (self._positive(batch.truth) if single else batch.true_columns(names))[order]

        def count(state: ProbabilityLosses, start: int, end: int) -> None:
            rows = slice(start, end)
            scores, weights = table[rows], None if wholes is None else wholes[rows]
            fractions = None if parts is None else parts[rows]
            matrix = scores.reshape(len(scores), len(names))
            refused = state._count_rows(matrix, truth[rows], places, weights, fractions, binary)
            state._refuse(refused, scores, names, weights, fractions)

        return count

    def _names(self, batch: Batch) -> tuple[Label, ...] | None:
        """Return the classes of the columns of a table, as far as they are known."""
        names = batch.classes
        if names is not None and (batch.named or self.classes is None or set(names) == set(self.classes)):
            return names
        return self.classes

    def _positive(self, truth: Column) -> Array:
        """Return for each row whether its true label is `pos_label`."""
        if truth.names is None and isinstance(self.pos_label, int) and not is_default(self.pos_label):
            equal: Array = truth.values == self.pos_label
            return equal.astype(np.int32)
        codes, labels = factorize(truth)
        try:
            return np.asarray(np.array([self._is_positive(label) for label in labels], np.int32)[codes])
        except LabelError:
            check_truths_of_singles(self.pos_label, codes, labels)
            raise

    def _refuse(self, row: int, table: Array, names: tuple[Label, ...], wholes: Array | None, parts: Any) -> None:
        """Raise what is wrong with a row, if there is one: it is counted after those before it, one by one."""
        if row < 0:
            return
        rows: list[Any] = table[: row + 1].tolist()
        if table.ndim == 2:
            rows = [dict(zip(names, scores, strict=True)) for scores in rows]
        weights = (None if x is None else x[: row + 1] for x in (wholes, parts))
        self.copy()._count_objects([names[0]], np.zeros(row + 1, np.int32), rows, None, *weights)

    def reconfigured(self, **options: Any) -> Self:
        """Return a new state of the same samples with other classes of sequences.

        Parameters
        ----------
        **options : object
            `pos_label` and `classes`, as the class takes them. What is left out stays.

        Returns
        -------
        ProbabilityLosses
            What a state with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the counts: `pos_label` cannot change once a sample was counted.
        TypeError
            If there is no such option.

        Examples
        --------
        >>> from stream_metrics import ProbabilityLosses
        >>> state = ProbabilityLosses(classes=["cat", "dog"])
        >>> state.update("cat", [0.75, 0.25])
        >>> state.reconfigured(classes=["dog", "cat"]).merge(state).n
        2
        """
        twin, state = with_options(self, options, ("pos_label", "classes")), self.copy()
        check_pos_label(state.n, self.pos_label, twin.pos_label)
        twin._fill(state.numbers(), state.squares(), state.binary_numbers())
        return twin

    def snapshot(self) -> Snapshot:
        """Return a frozen copy from which the losses can be read; later updates do not change it.

        Returns
        -------
        Snapshot
            The losses at this moment.
        """
        return Snapshot(losses=self.copy())

    def _content(self) -> list[object]:
        with self._reading():  # so that all numbers are of the same samples
            numbers, squares, binary = self.numbers(), self.squares(), self.binary_numbers()
        if not numbers[0]:  # without samples, bytes are those of earlier releases
            squares = None
        # As `restore` takes it if it is not said, for the bytes of earlier releases.
        weight, two, brier = numbers[2], numbers[3], numbers[-2]
        derived = [weight, brier, *(squares or [0] * 5)[3:4]] if two == weight else [0] * 3
        implied = binary == derived[: len(binary)]
        return [self.pos_label, self.classes, *numbers, *(squares or ()), *(() if implied else binary)]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        pos_label, classes, *numbers = content
        state = cls(pos_label, classes)
        known, more = SUMS + 5, numbers[SUMS:]
        squares = more[:5] if len(numbers) >= known else None
        binary = numbers[known:] if squares else more
        state._fill(numbers[:SUMS], squares, binary or None)
        return state

    def __repr__(self) -> str:
        return f"ProbabilityLosses({quantity(self.n, 'sample')})"


def _is_binary(names: tuple[Label, ...]) -> bool:
    """Tell whether classes are False and True, so that there are no others."""
    return len(names) == 2 and all(type(name) is bool for name in names)


def _places(names: tuple[Label, ...]) -> NDArray[np.int32]:
    """Return the place of each class in the order of report."""
    places = np.empty(len(names), np.int32)
    places[ordering(names)] = np.arange(len(names), dtype=np.int32)
    return places
