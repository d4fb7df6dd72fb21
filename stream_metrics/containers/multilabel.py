"""Several labels a sample: counts of each label, and of how many labels of a sample are right.

Two tables of exact counters are all that is needed of labels. One counts labels: a label of a sample is in the cell
(label, label) if it is both true and predicted, and beside `NONE` if it is only one of these. A sample is in no cell of
the labels that it does not have, so a label that appears late costs nothing, and its true negatives follow from the
number of samples. The other table counts samples by the numbers of labels that are true, predicted, and both, from
which all averages over samples follow. Where scores are counted, each label has a set of metrics as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import isqrt
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from stream_metrics._core.numeric.kernels import MISSING, Guarded, Step, Swap, chosen_labels, chosen_scores, commit
from stream_metrics.containers.keyed import check_same, emptied
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError, quantity
from stream_metrics.inputs.arguments import named_arguments
from stream_metrics.inputs.arrow import Array
from stream_metrics.inputs.batch import Weights
from stream_metrics.inputs.columns import Column
from stream_metrics.inputs.label_sets import NONE, Names, label_rows, label_set, read_tables, score_row
from stream_metrics.labels import Label, unique
from stream_metrics.metrics.metric_set import MetricSet, states_by_name
from stream_metrics.snapshots.multilabel import MultiLabelSnapshot, checked_keys, parsed
from stream_metrics.snapshots.snapshot import Snapshot
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.protocols import Load, largest_load
from stream_metrics.states.score_states import Classes, checked_scores
from stream_metrics.wire import Portable

OF_SCORES = {True: ["roc_auc", "log_loss"], "any": ["roc_auc"]}  # keys that bring the states of scores
UNIT = 2**64  # units of a weight of 1
Scores: TypeAlias = dict[Label, float]
ReadSample: TypeAlias = tuple[Set[Label], Scores, Set[Label] | None]


class MultiLabel(Guarded, Portable):
    """Metrics of samples that have several labels each, or none: tags, topics, diagnoses.

    Truth and prediction of a sample are each a set or list of labels, a mapping from label to bool, or a row of 0 and
    1; a batch is a column of these, a table of 0 and 1, or a data frame with a column for each label. Predictions may
    be probabilities in place of 0 and 1: a label is predicted if its score is at least `threshold`.

    Parameters
    ----------
    metrics : iterable of str, optional
        What a snapshot shows: keys of the catalog, which are read for each label, such as "f1"; their averages, such as
        "macro_f1"; "subset_accuracy" and "hamming_loss". By default these two and the usual averages.
    labels : iterable of Label, optional
        The labels, in the order in which they are reported; others raise `LabelError`. They name the columns of tables
        and rows that have no names. By default the labels are those that were true or predicted at least once. Needed
        where scores are counted.
    scores : bool or "any", default False
        Whether the scores of labels are counted, for areas, average precision and calibration. True is for
        probabilities, which have losses as well, "any" for other finite numbers. Every prediction must then have a
        score for every label. Metrics that are read from scores bring them.
    threshold : float, optional
        A label is predicted if its score is at least this: 0.5 by default, and 0 for "any" scores.
    zero_division : float, optional
        Value that stands for 0/0: 0.0, 1.0 or nan, which averages leave out. By default that of each metric, 0.0 for
        labels, nan for losses and scores.

    Notes
    -----
    None and {} as a prediction are abstentions; an empty set or list predicts no label.

    A list of lists has labels in its rows, not 0 and 1. Labels that are whole numbers are shown as ints, unless
    `labels` has them.

    Memory: a cell for each label and for each combination of the numbers of labels that are true, predicted and both
    (see `ConfusionMatrix`); with scores a set of metrics for each label.

    Guarantee: counts are exact. A stream that is split over states gives the same bytes, however they are merged.

    Examples
    --------
    >>> from stream_metrics import MultiLabel
    >>> tags = MultiLabel()
    >>> tags.update({"art", "film"}, {"film"})
    >>> tags.update_many([["art"], []], [["art", "music"], []])
    >>> s = tags.snapshot()
    >>> round(s["micro_f1"], 4), round(s["subset_accuracy"], 4), s["recall"]
    (0.6667, 0.3333, {'art': 0.5, 'film': 1.0, 'music': 0.0})

    Tables and data frames of 0 and 1, and probabilities:

    >>> import numpy as np
    >>> tags = MultiLabel(labels=["art", "film"], scores=True)
    >>> tags.update_many(np.array([[1, 0], [0, 1], [1, 1]]), scores=[[0.9, 0.2], [0.3, 0.4], [0.6, 0.7]])
    >>> tags.snapshot()["roc_auc", "film"], round(tags.snapshot()["hamming_loss"], 4)
    (1.0, 0.1667)
    """

    KIND: ClassVar[str] = "multilabel"
    _CONFIGURATION: ClassVar[tuple[str, ...]] = ("scores", "threshold")

    @named_arguments
    def __init__(
        self,
        metrics: Iterable[str] | None = None,
        *,
        labels: Iterable[Label] | None = None,
        scores: bool | Literal["any"] = False,
        threshold: float | None = None,
        zero_division: float | None = None,
    ) -> None:
        self.metrics = None if metrics is None else checked_keys(metrics)
        states = {parsed(key)[2].state for key in self.metrics or ()}
        self.scores: bool | Literal["any"] = checked_scores(scores) or not states <= {"counts"}
        self.fixed_labels = None if labels is None else unique(labels)
        self._allowed = frozenset(self.fixed_labels or ())
        if self.scores and self.fixed_labels is None:
            raise LabelError(argument="labels", expected="to be given where scores are counted", got=None)
        threshold = 0.0 if threshold is None and scores == "any" else threshold
        options: dict[str, Any] = {"threshold": threshold, "zero_division": zero_division}
        of_label = MetricSet(OF_SCORES[self.scores or True], labels=[False, True], pairs=False, **options)
        self.threshold, self.zero_division = of_label.threshold, of_label.zero_division
        self._of_label: Any = of_label if self.scores else ConfusionMatrix([False, True])  # without samples
        self._counts = ConfusionMatrix(None if self.fixed_labels is None else [*self.fixed_labels, NONE])
        self._sizes = ConfusionMatrix()
        self._sets = {label: of_label.copy() for label in self.fixed_labels or ()} if self.scores else {}

    @named_arguments
    def update(
        self,
        y_true: object,
        y_pred: object = MISSING,
        w: object = 1,
        *,
        scores: object = MISSING,
        classes: Classes = None,
    ) -> None:
        """Count one sample.

        Parameters
        ----------
        y_true : set or list of Label, mapping from Label to bool, or row of 0 and 1
            The true labels.
        y_pred : set or list of Label, mapping from Label to bool or float, row of numbers, or None
            The predicted labels, or the scores of labels. None or {} is an abstention.
        w : int or float, default 1
            Weight of the sample, >= 0.
        scores : mapping from Label to float, or row of float, optional
            Where scores are counted: the scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The labels that the items of rows belong to; `labels`, or else 0, 1, ..., by default.

        Raises
        ------
        LabelError
            If a label is not allowed, or scores are those of other labels than before.
        ScoreError
            If a score is no finite number, or scores are given where labels only are counted.
        WeightError
            If a weight is negative or not finite, or a sum of weights would reach 2**63.
        """
        read = self._read(y_true, self._prediction(y_pred, scores), classes)
        with self._writing():
            commit(self._steps(*read, w))

    @named_arguments
    def update_many(
        self, y_true: object, y_pred: object = None, w: object = None, *, scores: object = None, classes: Classes = None
    ) -> None:
        """Count a batch of samples; one bad row rejects the whole batch.

        Parameters
        ----------
        y_true : array-like of shape (n, K), data frame, or column of n sets, lists, mappings or rows
            The true labels.
        y_pred : array-like of shape (n, K), data frame, or column of n sets, lists, mappings, rows or None
            The predicted labels, or the scores of labels; missing ones are abstentions.
        w : array-like of shape (n,), optional
            Weights >= 0; 1 for every sample by default.
        scores : array-like of shape (n, K), data frame, or column of n mappings or rows, optional
            Where scores are counted: the scores, if they are not passed as `y_pred`.
        classes : sequence of Label of length K, optional
            The labels of columns; those of a data frame, `labels`, or else 0, 1, ..., by default.

        Raises
        ------
        LabelError
            If a label is not allowed; the message names argument and position.
        ScoreError
            If a score is no finite number, or scores are given where labels only are counted.
        WeightError
            If a weight is negative or not finite, or a sum of weights would reach 2**63.
        """
        named, predicted = "scores" if self.scores else "y_pred", self._prediction(y_pred, scores)
        given = None if classes is None else unique(classes, "classes")
        truth, columns = label_rows(y_true, "y_true", given, predicted, self.fixed_labels)
        predicted, names = label_rows(predicted, named, given, y_true, self.fixed_labels)
        weights = None if w is None else Weights(w, len(truth))
        if len(predicted) != len(truth):
            error = ScoreError if self.scores else LabelError
            raise error(argument=named, expected=f"to have as many rows as `y_true`, {len(truth)}", got=len(predicted))
        batch = emptied(self)
        tables = read_tables(truth, predicted, self.threshold) if columns == names else None
        if tables is not None:
            batch._count_tables(*tables, predicted, names, weights)
        else:
            rows = zip(truth, predicted, weights.numbers() if weights else [1] * len(truth), strict=True)
            for position, (true, row, weight) in enumerate(rows):
                try:
                    commit(batch._steps(*batch._read(true, row, names, columns), weight))
                except StreamMetricsError as error:
                    raise error.with_position(position) from None
        self.merge(batch)

    @named_arguments
    def revert(
        self,
        y_true: object,
        y_pred: object = MISSING,
        w: object = 1,
        *,
        scores: object = MISSING,
        classes: Classes = None,
    ) -> None:
        """Undo one `update` with the same arguments.

        Parameters
        ----------
        y_true : set or list of Label, mapping from Label to bool, or row of 0 and 1
            The true labels.
        y_pred : set or list of Label, mapping from Label to bool or float, row of numbers, or None
            The predicted labels, or the scores of labels.
        w : int or float, default 1
            Weight of the sample.
        scores : mapping from Label to float, or row of float, optional
            Where scores are counted: the scores, if they are not passed as `y_pred`.
        classes : sequence of Label, optional
            The labels that the items of rows belong to; `labels`, or else 0, 1, ..., by default.

        Raises
        ------
        WeightError
            If the counts show that there was no such update. Nothing changes then.
        """
        read, one = self._read(y_true, self._prediction(y_pred, scores), classes), emptied(self)
        commit(one._steps(*read, w))
        with self._writing():
            counts, sizes = self._counts.copy().subtract(one._counts), self._sizes.copy().subtract(one._sizes)
            swaps = [Swap(self._counts, counts), Swap(self._sizes, sizes)]
            commit([*self._score_steps(*read[:2], w, reverts=True), *swaps])

    def _prediction(self, y_pred: object, scores: object) -> object:
        """Return the prediction, however it is passed."""
        return chosen_scores(self, y_pred, scores) if self.scores else chosen_labels(self, y_pred, scores, None)

    def _read(self, y_true: object, y_pred: object, classes: Any, columns: Names = None) -> ReadSample:
        """Return the labels of a sample, the scores by label, and the labels predicted, None for an abstention."""
        names = self.fixed_labels if classes is None else unique(classes, "classes")
        truth = label_set(y_true, "y_true", columns or names, None)
        if truth is None:
            raise LabelError(argument="y_true", expected="to have a value", got=y_true)
        self._check(truth, "y_true")
        if not self.scores:
            predicted = label_set(y_pred, "y_pred", names, self.threshold)
            self._check(predicted or (), "y_pred")
            return truth, {}, predicted
        scores = score_row(y_pred, names, self._sets)
        return truth, scores, {label for label, x in scores.items() if x >= self.threshold} if scores else None

    def _check(self, labels: Iterable[Label], argument: str) -> None:
        """Raise LabelError for a label that is not one of the fixed ones."""
        if self.fixed_labels is not None and not self._allowed.issuperset(labels):
            hint = "; rows of 0 and 1 are arrays" if {0, 1}.issuperset(labels) else ""
            other = next(label for label in labels if label not in self._allowed)
            expected, but = f"to have the labels of the {len(self.fixed_labels)} fixed ones", f"got {other!r:.60}{hint}"
            raise LabelError(argument=argument, expected=expected, got=[*labels], but=but)

    def _steps(self, truth: Set[Label], scores: Scores, predicted: Set[Label] | None, w: object) -> list[Step]:
        """Return the steps that count a sample."""
        if predicted is None:
            return [self._sizes._update_step(len(truth), None, w)]
        labels = [*truth, *(predicted - truth)]
        rows, columns = ([label if label in side else NONE for label in labels] for side in (truth, predicted))
        code = _code(len(predicted), len(truth) + len(predicted) - len(labels))
        steps = [self._counts._pairs_step(rows, columns, w), self._sizes._update_step(len(truth), code, w)]
        return [*self._score_steps(truth, scores, w), *steps]

    def _score_steps(self, truth: Set[Label], scores: Scores, w: object, reverts: bool = False) -> list[Step]:
        """Return the steps that count the scores of a sample, or undo that."""
        samples = [(self._sets[label], (label in truth, x, w, dict[str, object]())) for label, x in scores.items()]
        return [step for of_label, sample in samples for step in of_label._sample_steps(sample, reverts)]

    def _count_tables(
        self, true: Array, positive: Array, scores: Array, names: tuple[Label, ...], weights: Weights | None
    ) -> None:
        """Count a batch of rows whose columns are labels in an empty state, which is discarded after an error."""
        if self.scores and {*names} != {*self._sets}:
            raise LabelError(argument="scores", expected=f"to be those of {list(self._sets)!r:.80}", got=names)
        self._sizes.update_many(true.sum(1), _code(positive.sum(1), (true & positive).sum(1)), weights)
        self._check(names, "classes")
        for at, name in enumerate(names):
            rows = np.flatnonzero(true[:, at] | positive[:, at])
            actual, chosen = (Column((~side[rows, at]).view(np.int8), [name, NONE]) for side in (true, positive))
            self._counts.update_many(actual, chosen, weights and weights.take(rows))
            if self.scores:
                self._sets[name].update_many(true[:, at], scores=scores[:, at], w=weights)

    def merge(self, other: Self) -> Self:
        """Add the counts of another shard.

        Parameters
        ----------
        other : MultiLabel
            A state that counts the same. It stays as it is.

        Returns
        -------
        MultiLabel
            This state, which shows what it showed before.

        Raises
        ------
        MergeError
            If the two count differently, or have scores of different labels.
        WeightError
            If a sum of weights would reach 2**63.
        """
        check_same(self, other, self._CONFIGURATION)
        with self._merging(other):
            commit([mine._merge_step(theirs) for mine, theirs in zip(self._states(), other._states(), strict=True)])
        return self

    def _states(self) -> list[Any]:
        """Return all states, which an operation changes together."""
        return [self._counts, self._sizes, *(state for each in self._sets.values() for state in each._states())]

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up; see `states.protocols`."""
        return largest_load(state._merge_load() for state in self._states())

    def copy(self) -> Self:
        """Return an independent copy.

        Returns
        -------
        MultiLabel
            The copy.
        """
        twin: Self = type(self).__new__(type(self))
        with self._reading():
            sets = {label: each.copy() for label, each in self._sets.items()}
            own = {"_counts": self._counts.copy(), "_sizes": self._sizes.copy(), "_sets": sets}
        twin.__dict__.update(self.__dict__, **own)
        return twin

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""
        with self._writing():
            commit([state._reset_step() for state in self._states()])

    @property
    def n(self) -> int:
        """The number of samples counted."""
        return self._sizes.n

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""
        return self._sizes.abstained

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels, in the order of report."""
        return self.fixed_labels or tuple(label for label in self._counts.labels if label != NONE)

    def snapshot(self) -> MultiLabelSnapshot:
        """Return a frozen copy from which the metrics are read.

        Returns
        -------
        MultiLabelSnapshot
            The metrics at this moment; later updates do not change it.
        """
        return MultiLabelSnapshot(self.copy())

    def _totals(self) -> dict[Label, tuple[int, ...]]:
        """Return the weights of the samples in which each label is true, predicted, and both, in units."""
        scale = UNIT // self._counts.unit
        columns = [[scale * units for units in column] for column in self._counts.unit_totals()]
        totals = dict(zip(self._counts.labels, zip(*columns, strict=True), strict=True))
        return {label: totals[label] for label in self.labels}

    def _sized(self) -> list[tuple[int, ...]]:
        """Return the numbers of labels that are true, predicted, and both, and the weight of such samples in units."""
        labels: Any = self._sizes.labels
        scale, (rows, columns, units) = UNIT // self._sizes.unit, self._sizes.unit_cells()
        cells = zip(rows.tolist(), columns.tolist(), units, strict=True)
        return [(labels[true], *_decoded(labels[code]), scale * weight) for true, code, weight in cells]

    def _by_label(self) -> dict[Label, ConfusionMatrix]:
        """Return the counts of each label, true or not, by whether it is predicted."""
        weight, unseen = sum(each[-1] for each in self._sized()), np.zeros(2, np.int64)
        rows, columns = np.divmod(np.arange(4), 2)
        matrices = {label: ConfusionMatrix([False, True]) for label in self.labels}
        for label, (true, predicted, both) in self._totals().items():
            cells = [divmod(x, UNIT) for x in (weight - true - predicted + both, predicted - both, true - both, both)]
            wholes, parts = np.array([x for x, _ in cells], np.int64), np.array([x for _, x in cells], np.uint64)
            counted = rows, columns, wholes, parts if parts.any() else None
            numbers = (unseen, unseen), self.n, 0, self._sizes.weighted
            commit([matrices[label]._cells_step([False, True], [False, True], counted, *numbers)])
        return matrices

    def _view(self, state: Any) -> Snapshot:
        """Return the snapshot of counts of the classes False and True, or of a set of them."""
        states = states_by_name(getattr(state, "state", state), getattr(state, "scored", None))
        return Snapshot(**states, zero_division=self.zero_division)

    def _content(self) -> list[object]:
        with self._reading():
            options = [self.metrics, self.zero_division, self.scores, self.threshold]
            sets = [each._content() for each in self._sets.values()]
            return [options, self._counts._content(), self._sizes._content(), sets]

    @classmethod
    def _restore(cls, content: Any) -> Self:
        (metrics, zero_division, scores, threshold), *tables, sets = content
        labels = tables[0][0] and tables[0][0][:-1]  # without NONE
        state = cls(metrics, labels=labels, scores=scores, threshold=threshold, zero_division=zero_division)
        state._counts, state._sizes = map(ConfusionMatrix._from_content, tables)
        for each, written in zip(state._sets.values(), sets, strict=True):
            each.merge(MetricSet._from_content(written))
        state._validate()
        return state

    def _validate(self) -> None:
        """Raise ValueError for counts that contradict each other."""
        sized, totals = self._sized(), self._totals().values()
        weight = sum(each[3] for each in sized)
        by_size = [sum(each[at] * each[3] for each in sized) for at in range(3)]
        by_label = [sum(column) for column in zip(*totals, strict=True)] or [0, 0, 0]
        possible = {*map(type, self._sizes.labels)} <= {int} and all(0 <= both <= min(t, p) for t, p, both, _ in sized)
        if not possible or by_size != by_label or any(t + p - both > weight for t, p, both in totals):
            raise ValueError("as many labels of samples as of labels")
        rows, columns, _ = self._counts.cells()
        none = [*self._counts.labels, NONE].index(NONE)
        if self._counts.abstained or ((rows != columns) & (rows != none) & (columns != none)).any():
            raise ValueError("labels beside themselves or none")
        matrices = self._by_label()
        if any(each.state != matrices[label] or each.scored.n != self.n for label, each in self._sets.items()):
            raise ValueError("sets that have counted the same samples")

    def __repr__(self) -> str:
        return f"MultiLabel({quantity(self.n, 'sample')}, {quantity(len(self.labels), 'label')})"


def _code(predicted: Any, both: Any) -> Any:
    """Return one number for those of the labels that are predicted, and right: they are in a triangle."""
    return predicted * (predicted + 1) // 2 + both


def _decoded(code: int) -> tuple[int, int]:
    """Return the two numbers of a code."""
    predicted = (isqrt(8 * code + 1) - 1) // 2
    return predicted, code - _code(predicted, 0)
