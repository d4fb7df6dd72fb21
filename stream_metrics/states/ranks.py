"""The rank sketch as a state: where the scores of every class lie, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import Step, chosen_scores, commit
from stream_metrics._core.ranks.kernels import RankCounters, ScoreTable, first_bad, samples_step, table_step
from stream_metrics.errors import ScoreError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.arrow import Array
from stream_metrics.inputs.batch import Batch, score_batch, score_count_batch
from stream_metrics.inputs.columns import factorize
from stream_metrics.labels import Label
from stream_metrics.ranking.protocol import RankColumn
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.protocols import CountRows, check_pos_label, not_counted, with_options
from stream_metrics.states.score_labels import check_rows, check_truths_of_singles
from stream_metrics.wire import Portable, encoded


class RankSketch(RankCounters, Portable):
    """Score distributions of every class: the state of ROC areas, average precision, curves, calibration.

    There is one column of scores for every class that ever had a score other than 0. A column is exact while it has at
    most `buckets` different scores. Scores of 2.6e277 and more in magnitude are one score.

    Parameters
    ----------
    buckets : int, default 1024
        Number of different scores of a class that are kept apart. Beyond, neighbouring scores share a cell.
    sample : int, default 512
        Number of scores of each class that are kept in full once scores share cells.
    pos_label : Label, default True
        The class whose score a single number is.
    pairs : bool, default True
        Whether every class is counted apart in each column, as one-vs-one metrics need, for up to 64 classes.
        Otherwise, and from the 65th class on, a column has its own class and the rest.

    Attributes
    ----------
    n : int
        Number of samples, abstentions not included.
    abstained : int
        Number of samples without scores.
    buckets, sample, pos_label, pairs : int, int, Label, bool
        The configuration.
    paired : bool
        Whether pairs of classes can be compared: `pairs`, and at most 64 classes.
    rounded : int
        Number of samples whose weight was rounded.

    Notes
    -----
    Memory: a column of G classes (2 without pairs) holds at most (16 + 16 G) `buckets` + 16 G `sample` bytes of data,
    64 KB for a binary one by default, and twice as much where weights have fractions. With all indices and slack it
    takes at most `memory_bound(G)`.

    Guarantee: counts are exact. A stream that is split over states gives the same bytes, however the states are merged.
    Weights are exact multiples of 2**-64, as every float of at least 2**-11 is. A smaller one is rounded, but never to
    0, and certified intervals contain the effect. The sum of all weights stays below 2**63.

    Examples
    --------
    >>> from stream_metrics import RankSketch
    >>> state = RankSketch(pos_label="spam")
    >>> state.update_many(["spam", "ham", "spam", "ham"], [0.9, 0.2, 0.4, 0.6])
    >>> state.snapshot().per_class["roc_auc"]["spam"]
    0.75
    """

    KIND: ClassVar[str] = "ranks"

    @named_arguments
    def __init__(self, buckets: int = 1024, sample: int = 512, pos_label: Label = True, pairs: bool = True) -> None:
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
            Scores of `pos_label`, a column for each class, or a list of the forms that `update` takes.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        scores : array-like of shape (n,) or (n, K), or list of length n, optional
            The scores, if they are not passed as `y_pred`.
        classes : sequence of Label of length K, optional
            The classes of the columns of a table of scores; a data frame brings its own.

        Raises
        ------
        LabelError
            If a label is not valid; the message names the position.
        ScoreError
            If a score is not a finite number.
        WeightError
            If a weight is negative or not finite, or the sum of all weights would reach 2**63.
        """
        self._count_batch(score_batch(y_true, chosen_scores(self, y_pred, scores), w, classes))

    @named_arguments
    def update_counts(
        self, scores: object, y_true: object, n: object, *, classes: Iterable[Label] | None = None
    ) -> None:
        """Count a table of counts by score and true label; one bad row rejects the whole table.

        Parameters
        ----------
        scores : array-like of shape (rows,) or (rows, K), or list
            Scores of `pos_label`, a column for each class, or a list of the forms that `update` takes. A row without
            one, None in a list or null in Arrow, stands for abstentions.
        y_true : array-like of shape (rows,)
            True labels, in the forms that `update_many` takes.
        n : array-like of shape (rows,)
            Number of samples that each row stands for: whole numbers >= 0, also as floats or Decimals.
        classes : sequence of Label of length K, optional
            The classes of the columns of a table of scores; a data frame brings its own.

        Raises
        ------
        LabelError
            If a label is not valid; the message names the position.
        ScoreError
            If a score is not a finite number.
        WeightError
            If `n` is negative or has a fraction, or a sum is too large.

        Notes
        -----
        The state has the same bytes as if the samples were counted one by one. Scores that the query rounds are no
        longer those of the samples: group by the score as it is, or by the digits that should count.

        Examples
        --------
        >>> from stream_metrics import RankSketch
        >>> state = RankSketch()
        >>> state.update_counts([0.1, 0.9, 0.9], [False, False, True], [90, 5, 20])
        >>> state.n
        115
        """
        self._count_batch(score_count_batch(scores, y_true, n, classes))

    @classmethod
    def from_counts(
        cls,
        scores: object,
        y_true: object,
        n: object,
        *,
        classes: Iterable[Label] | None = None,
        buckets: int = 1024,
        sample: int = 512,
        pos_label: Label = True,
        pairs: bool = True,
    ) -> Self:
        """Return the state of a table of counts by score and true label, such as SQL's `GROUP BY` gives.

        Parameters
        ----------
        scores : array-like of shape (rows,) or (rows, K), or list
            Scores of `pos_label`, a column for each class, or a list of the forms that `update` takes. A row without
            one, None in a list or null in Arrow, stands for abstentions.
        y_true : array-like of shape (rows,)
            True labels, in the forms that `update_many` takes.
        n : array-like of shape (rows,)
            Number of samples that each row stands for: whole numbers >= 0, also as floats or Decimals.
        classes : sequence of Label of length K, optional
            The classes of the columns of a table of scores; a data frame brings its own.
        buckets, sample, pos_label, pairs : int, int, Label, bool
            The configuration of the state.

        Returns
        -------
        RankSketch
            A new state, with the bytes of one that counted the samples; see `update_counts`.

        Raises
        ------
        LabelError
            If a label is not valid; the message names the position.
        ScoreError
            If a score is not a finite number.
        WeightError
            If `n` is negative or has a fraction, or a sum is too large.

        Examples
        --------
        >>> from stream_metrics import RankSketch
        >>> state = RankSketch.from_counts([0.1, 0.1, 0.9, 0.9], [0, 1, 0, 1], [90, 10, 30, 20])
        >>> round(state.snapshot().per_class["roc_auc"][1], 4)
        0.7083
        """
        state = cls(buckets, sample, pos_label, pairs)
        state.update_counts(scores, y_true, n, classes=classes)
        return state

    def _count_batch(self, batch: Batch) -> None:
        """Count a batch that was read."""
        commit([self._batch_step(batch)])

    def _batch_step(self, batch: Batch) -> Step:
        """Return the step that counts a batch, which has been counted apart."""
        if isinstance(batch.scores, list) or not batch.n:
            codes, labels = factorize(batch.truth)
            weights = (None, None, None) if batch.weights is None else batch.weights.positive()
            return samples_step(self, codes, labels, list(batch.scores), batch.classes, weights, batch.samples)
        return table_step(self, self._table(batch, slice(None)))

    def _table(self, batch: Batch, order: NDArray[np.int64] | slice) -> ScoreTable:
        """Return a batch of single scores or a table, in an order; an error names the first row that is refused."""
        (codes, labels), names = factorize(batch.truth), batch.classes
        matrix = _matrix(np.asarray(batch.scores), names)
        bad = first_bad(matrix)
        if bad is not None:
            label, score = self.pos_label if names is None else names[bad[1]], float(matrix[bad])
            expected, but = "to be a finite number", f"got {score} for {label!r}"
            error = ScoreError(argument="scores", subject="every score", expected=expected, got=score, but=but)
            raise error.with_position(bad[0])
        if names is None:
            check_truths_of_singles(self.pos_label, codes, labels)
        if self._binary_only:
            check_rows(partial(self._check_new, argument="y_true"), codes, labels)
            for name in names or ():
                self._check_new(name, "scores")
        weights = (None, None, None) if batch.weights is None else batch.weights.positive()
        wholes, parts, rounded = (None if x is None else x[order] for x in weights)
        columns: list[Any] = [None] if names is None else list(names)
        samples = None if batch.samples is None else batch.samples[order]
        return ScoreTable(codes[order], labels, columns, matrix[order], wholes, parts, rounded, samples)

    def _prepare_rows(self, batch: Batch, order: NDArray[np.int64]) -> CountRows | None:
        """Return what counts rows of a batch, in an order; None if each has scores in a form of its own."""
        return None if isinstance(batch.scores, list) else self._table(batch, order).count

    def reconfigured(self, **options: Any) -> Self:
        """Return a new state of the same samples with another size, or without pairs.

        Parameters
        ----------
        **options : object
            `buckets`, `sample`, `pos_label` and `pairs`, as the class takes them. What is left out stays.

        Returns
        -------
        RankSketch
            What a state with these options would have counted.

        Raises
        ------
        OptionError
            If that does not follow from the counts.
        TypeError
            If there is no such option.

        Notes
        -----
        Fewer `buckets` or a smaller `sample` lose resolution, and `pairs=False` loses the pairs of classes, for good.
        Larger sizes follow from the counts while every column is exact. Pairs that were not counted cannot be had, and
        `pos_label` cannot change once a sample was counted.

        Examples
        --------
        >>> from stream_metrics import RankSketch
        >>> state = RankSketch()
        >>> state.update_many([1, 0, 1], [0.9, 0.2, 0.4])
        >>> small = state.reconfigured(buckets=64).merge(RankSketch(buckets=64))
        >>> small.buckets, small.n
        (64, 3)
        """
        twin, state = with_options(self, options, ("buckets", "sample", "pos_label", "pairs")), self.copy()
        check_pos_label(state.n, self.pos_label, twin.pos_label)
        if state.n and twin.pairs and not self.pairs:
            raise not_counted("pairs", False, True, "classes were not counted apart")
        for name in ("buckets", "sample"):
            before, after = getattr(self, name), getattr(twin, name)
            if after > before and not state._exact:
                raise not_counted(name, before, after, "some scores share cells already")
        twin._add_resized(state)
        if self._binary_only:
            twin.allow_binary_only()
        return twin

    def column(self, label: Label, own: Label | None = None, rest: Label | None = None) -> RankColumn:
        """Return the scores of a class, of its own samples against the rest.

        Parameters
        ----------
        label : Label
            The class whose scores are read.
        own : Label, optional
            The class of the positive samples; `label` by default.
        rest : Label, optional
            The class of the negative samples; all others by default.

        Returns
        -------
        RankColumn
            The column.
        """
        return RankColumn(*self._arrays(label, own, rest))

    def snapshot(self) -> Snapshot:
        """Return a frozen copy from which areas, curves and calibration can be read.

        Returns
        -------
        Snapshot
            The metrics of the scores at this moment; later updates do not change it.
        """
        return Snapshot(ranks=self.copy())

    def memory_bound(self, groups: int = 2) -> int:
        """Return the most bytes that a column can take, indices and slack included.

        Parameters
        ----------
        groups : int, default 2
            Number of classes that the column keeps apart.

        Returns
        -------
        int
            Bytes.
        """
        slots = 1 << max(4, (4 * self.buckets - 1).bit_length())
        full = 1 << max(3, (2 * self.sample - 1).bit_length())
        cells = (self.buckets + 1) * (20 + 16 * groups + 16 * groups) + 4 * slots
        return cells + groups * (24 * full + 4 * self.sample + 16 + 80) + 8 * full + 256

    def _content(self) -> list[object]:
        return _written(self.copy())  # other threads may count while columns are written

    @classmethod
    def _restore(cls, content: Any) -> Self:
        configuration, n, abstained, labels, appearances, weights, columns, *fine = content
        places, rounded = fine[0] if fine else (20, 0)
        buckets, sample, pos_label, pairs = configuration
        if {type(x) for x in (labels, appearances, columns)} != {tuple} or type(pairs) is not bool:
            raise ValueError("arrays of labels, of appearances and of columns")
        if {*map(type, columns)} - {bytes}:
            raise ValueError("columns of bytes")
        if {type(x) for x in (buckets, sample, n, abstained, places, rounded, *appearances)} != {int}:
            raise ValueError("whole numbers of samples and appearances")
        state = cls(buckets, sample, pos_label, pairs)
        state._fill(list(labels), list(appearances), weights, list(columns), n, abstained, places, rounded)
        return state

    def _would_write(self, content: Any) -> bool:
        again = _written(self, columns=False)  # which were checked where they were read
        return encoded([*again[:6], *again[7:]]) == encoded([*content[:6], *content[7:]])

    def __repr__(self) -> str:
        return f"RankSketch({quantity(self.n, 'sample')}, {quantity(len(self.labels), 'class')})"


def _written(state: RankSketch, columns: bool = True) -> list[object]:
    configuration = [state.buckets, state.sample, state.pos_label, state.pairs]
    return [configuration, state.n, state.abstained, *state.pack(columns)]


def _matrix(table: Array, names: tuple[Label, ...] | None) -> NDArray[np.float64]:
    """Return scores as a matrix, a column for each of the classes, or one for `pos_label`."""
    shape = (1,) if names is None else (2, len(names))
    if (table.ndim, *table.shape[1:2]) != shape:
        wanted = "one dimension, or `classes`" if names is None else f"the {len(names)} columns of `classes`"
        raise ScoreError(argument="scores", expected=f"to have {wanted}", but=f"got the shape {table.shape}")
    real: NDArray[np.float64] = table.astype(np.float64, copy=False)
    return real.reshape(-1, 1) if names is None else real
