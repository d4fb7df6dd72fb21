"""The label that scores stand for, how large its score is, and whether it is right.

The label of a mapping or a row is that of the largest score; of equal ones the first in the order of report. A single
number is the score of `pos_label`, which is the label from `threshold` on, as on every curve, where a threshold is one
of the scores and lets it through; the other class of a single number is the other one of `labels`, or of False and
True, or of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.inputs.batch import Batch
from stream_metrics.inputs.columns import Column, as_column, factorize
from stream_metrics.inputs.score_tables import check_classes, finite_scores, is_mapping, is_soft, row_of_scores
from stream_metrics.inputs.tensors import Array
from stream_metrics.labels import Label, canonical, ordering, sort_key

__all__ = ["Decisions", "LabelRule", "Scores", "fill_predictions"]

Scores: TypeAlias = float | Mapping[Label, float]  # of one sample


class Decisions(NamedTuple):
    """What follows from a batch of scores: labels, and for each row whether it was right and its largest score."""

    labels: Column
    right: Array
    confidence: Array


class LabelRule:
    """How scores become labels: the class of a single number, the classes there may be, and the threshold."""

    def __init__(self, pos_label: Label, labels: tuple[Label, ...] | None, threshold: float) -> None:
        self.pos_label, self.labels, self.threshold = pos_label, labels, threshold
        self.negative = _other_class(pos_label, labels)

    def read(self, scores: object, names: tuple[Label, ...] | None) -> Scores:
        """Return the scores of a sample as a float or as a mapping to floats, before any state counts it."""
        if names is not None and not is_soft(scores):
            scores = row_of_scores(scores, names)
        scores = finite_scores(scores)
        if self.labels is not None and is_mapping(scores):
            for label in scores:
                if label not in self.labels:
                    raise LabelError(
                        argument="scores",
                        subject="scores",
                        expected=f"of the fixed labels {list(self.labels)}",
                        got=label,
                        but=f"got {label!r}",
                        position_last=True,
                    )
        return scores

    def of_sample(self, scores: Scores) -> tuple[Label, float]:
        """Return the label of the scores of a sample, as `read` returns them, and its score."""
        return self._of_single(scores) if isinstance(scores, float) else _largest(scores)

    def _of_single(self, score: float) -> tuple[Label, float]:
        if score >= self.threshold:
            return self.pos_label, score
        if self.negative is None:
            expected = f"or `labels` with two classes, since the class beside {self.pos_label!r} is not known"
            raise ScoreError(
                subject="a mapping,", expected=expected, but=f"got the single score {score!r}", position_last=True
            )
        return self.negative[0], 1 - score

    def check_type(self, truth: Label, position: int | None = None) -> None:
        """Refuse a truth that a single score cannot be about."""
        if sort_key(truth)[0] != sort_key(self.pos_label)[0]:
            of_type = f"to be of the type of pos_label={self.pos_label!r}"
            expected = f"{of_type}, because a single score is that of this label"
            raise LabelError(argument="y_true", position=position, expected=expected, got=truth, but=f"got {truth!r}")

    def of_batch(self, batch: Batch) -> Decisions:
        """Return the labels of a batch; scores in a list become floats and mappings to floats."""
        names = batch.classes
        if self.labels is not None and names is not None and not set(names) <= set(self.labels):
            expected, but = f"to be of {list(self.labels)}", f"got {list(names)}"
            raise LabelError(argument="scores", subject="the columns of `scores`", expected=expected, but=but)
        if isinstance(batch.scores, list):
            return self._of_rows(batch)
        if batch.scores.ndim == 1:
            return self._of_singles(batch, batch.scores)
        return _of_table(batch, batch.scores, check_classes(names, batch.scores.shape[1]))

    def _of_rows(self, batch: Batch) -> Decisions:
        positions = range(batch.n) if batch.rows is None else batch.rows.tolist()
        truth = batch.truth.objects()
        rows = [self._of_row(*row, batch.classes) for row in zip(truth, batch.scores, positions, strict=True)]
        batch.scores, batch.classes = [scores for scores, _, _ in rows], None
        right = [bool(label == y_true) for (_, label, _), y_true in zip(rows, truth, strict=True)]
        confidence = np.array([largest for _, _, largest in rows], np.float64)
        labels = as_column([label for _, label, _ in rows], "y_pred", False)
        return Decisions(labels, np.array(right, bool), confidence)

    def _of_row(
        self, truth: Label, row: object, position: int, names: tuple[Label, ...] | None
    ) -> tuple[Scores, Label, float]:
        """Return the scores of a row of a list as a mapping or a number, their label and its score."""
        try:
            scores = self.read(row, names)
            label, largest = self.of_sample(scores)
        except (LabelError, ScoreError) as error:
            raise error.with_position(position) from None
        if not is_mapping(scores):
            self.check_type(truth, position)
        return scores, label, largest

    def _of_singles(self, batch: Batch, scores: Array) -> Decisions:
        exact = scores.astype(np.float64, copy=False)  # as float32, the threshold would be rounded
        above = np.asarray(exact >= self.threshold)
        if self.negative is None and not above.all():
            self._of_single(float(exact[int(np.argmin(above))]))
        for name in (0,) if batch.truth.names is None else factorize(batch.truth)[1]:
            self.check_type(name)
        both = (self.pos_label, *(self.negative or ()))
        labels = Column((~above).view(np.int8), list(both))
        return Decisions(labels, batch.true_columns(both) == ~above, np.where(above, exact, 1 - exact))


def fill_predictions(y_pred: Any, labels: Column, batch: Batch, n: int) -> Column:
    """Return `n` predictions, where there is none the label of the scores of the row; `batch` has the rows of these.

    Predictions that are scores, in a list, are replaced by their labels.
    """
    if y_pred is None and batch.rows is None:
        return labels
    mixed = isinstance(y_pred, list) and batch.rows is not None and any(is_soft(y_pred[row]) for row in batch.rows)
    given = None if mixed or y_pred is None else as_column(y_pred, "y_pred", True)
    if given is not None and (given.names is None or given.n != n or not (given.values < 0).any()):
        return given
    filled = list(y_pred) if mixed else [None] * n if given is None else given.objects()
    rows = range(n) if batch.rows is None else batch.rows.tolist()
    for row, label in zip(rows, labels.objects(), strict=True):
        if mixed or filled[row] is None:
            filled[row] = label
    return as_column(filled, "y_pred", True)


def _other_class(pos_label: Label, labels: tuple[Label, ...] | None) -> tuple[Label] | None:
    """Return the class beside `pos_label`, in a tuple, if there can be only one."""
    if labels is not None and len(labels) == 2 and pos_label in labels:
        return (labels[1 - labels.index(pos_label)],)
    if pos_label in (0, 1):
        return (type(pos_label)(1 - pos_label),)
    return None


def _largest(scores: Mapping[Label, float]) -> tuple[Label, float]:
    """Return the label of the largest score, of equal ones the first in the order of report, and that score."""
    largest = max(scores.values())
    labels = [label for label, score in scores.items() if score == largest]
    if len(labels) > 1:
        known = [canonical(label) for label in labels]
        return known[ordering(known)[0]], largest
    return labels[0], largest


def _of_table(batch: Batch, table: Array, names: tuple[Label, ...]) -> Decisions:
    if not names:
        raise ScoreError("Expected `scores` to have a column for each of `classes`, but got none")
    order = ordering(names)
    in_order = order == list(range(len(names)))
    best = (table if in_order else table[:, order]).argmax(axis=1)  # of equal scores the first in the order of report
    place = best if in_order else np.array(order)[best]
    labels = Column(best.astype(np.int32), [names[column] for column in order])
    return Decisions(labels, batch.true_columns(names) == place, table[np.arange(len(table)), place])
