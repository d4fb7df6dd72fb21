"""The label that scores stand for, how large its score is, and whether it is right.

The label of a mapping or a row is that of the largest score; of equal ones the first in the order of report. A single
number is the score of `pos_label`, which is the label from `threshold` on, as on every curve, where a threshold is one
of the scores and lets it through. The other class of a single number is the other one of two `labels`, or of False and
True, or of 0 and 1, or else the only other label that the state or the batch has: where there is none, or are several,
a score below the threshold is refused. So what is counted never depends on the order, only whether it is refused.

The fold of a sample is a fixed hash of its unit, or of what is counted of it, so that all shards agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import by_class, row_values
from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.inputs.arrow import Array, is_single
from stream_metrics.inputs.batch import Batch
from stream_metrics.inputs.columns import Column, Namer, as_column, checked_column, factorize
from stream_metrics.inputs.score_tables import check_classes, finite_scores, is_soft, row_of_scores
from stream_metrics.labels import Label, canonical, ordering, sort_key
from stream_metrics.labels.class_names import OPEN, ClassNames
from stream_metrics.labels.pos_label import check_with_single_score, spelled_like
from stream_metrics.wire import encoded

Scores: TypeAlias = float | Mapping[Label, float]  # of one sample


def check_rows(check: Callable[..., object], codes: Array, labels: list[Label], rows: list[int] | None = None) -> None:
    """Let `check` look at the label of every row, or of some rows; the error names the first row that is refused."""
    try:
        for label in labels:
            check(label)
    except LabelError:  # perhaps of a label that no row has
        for row in range(len(codes)) if rows is None else rows:
            check(labels[codes[row]], position=row)


def check_truths_of_singles(pos_label: Label, codes: Array, labels: list[Label], rows: list[int] | None = None) -> None:
    """Raise LabelError for a row with a true label that a single score, that of `pos_label`, cannot be about."""
    if rows is None or rows:
        check_rows(partial(check_with_single_score, pos_label), codes, labels, rows)


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

    @cached_property
    def names(self) -> ClassNames:
        """What keys of scores name."""
        return OPEN if self.labels is None else ClassNames(self.labels)

    def read(self, scores: object, names: tuple[Label, ...] | None, truth: object) -> Scores:
        """Return the scores of a sample as a float or as a mapping from class to float, before any state counts it."""
        if names is None and self.labels is not None and row_values(scores) is not None:
            names = self.labels
        if names is not None and not is_soft(scores):
            scores = row_of_scores(scores, names)
        scores = finite_scores(scores)
        if type(scores) is float:
            return scores
        if self.labels is None:
            return scores if type(truth) is str else by_class(scores, truth, OPEN)
        named: Mapping[Label, float] = by_class(scores, truth, self.names)
        fixed = self.names.fixed or {}
        outside = [label for label in named if label not in fixed]
        if outside:
            expected, but = f"of the fixed labels {list(self.labels)}", f"got {outside[0]!r}"
            raise LabelError(
                argument="scores", subject="scores", expected=expected, got=outside[0], but=but, position_last=True
            )
        return named

    def of_sample(self, scores: Scores, truth: Label, seen: Iterable[Label]) -> tuple[Label, float]:
        """Return the label of the scores of a sample, as `read` returns them, and its score.

        `seen` are the labels that were counted; for a single score they tell what the other class is.
        """
        if not isinstance(scores, float):
            return _largest(scores)
        check_with_single_score(self.pos_label, truth)
        if scores >= self.threshold:
            return self._spelled(self.pos_label, truth), scores
        return self._spelled(self.other_class((truth,), seen, scores), truth), 1 - scores

    def _spelled(self, label: Label, truth: Label) -> Label:
        """Return a label that a single score implies, 0 and 1 as the truth beside it writes them."""
        return label if self.labels is not None else spelled_like(label, truth)

    def other_class(self, truths: Iterable[Label], seen: Iterable[Label], score: float) -> Label:
        """Return the class beside `pos_label`: of two `labels`, of 0 and 1, or else the only other one there is."""
        truths = {label for label in truths if label != self.pos_label}
        others = set(self.negative) if self.negative else truths.union(seen) - {self.pos_label}
        if len(others) == 1 and truths <= others:
            return others.pop()
        known = " or ".join(map(repr, sorted(others | truths, key=sort_key)))
        which = f"may be {known}" if known else "is not known"
        expected = f"or `labels` with two classes, since the class beside {self.pos_label!r} {which:.200}"
        raise ScoreError(
            subject="a mapping,", expected=expected, but=f"got the single score {score!r}", position_last=True
        )

    def of_batch(self, batch: Batch, seen: Iterable[Label]) -> Decisions:
        """Return the labels of a batch; scores in a list become floats and mappings to floats."""
        if batch.classes is None and getattr(batch.scores, "ndim", 1) == 2:
            batch.classes = self.labels  # so the columns are in their order
        batch.name_classes(self.names)
        names = batch.classes
        if self.labels is not None and names is not None and not set(names) <= set(self.labels):
            with suppress(LabelError):
                self._of_rows(batch, seen)  # raises what is wrong with the scores of a row
            expected, but = f"to be of {list(self.labels)}", f"got {list(names)}"
            raise LabelError(argument="scores", subject="the columns of `scores`", expected=expected, but=but)
        if isinstance(batch.scores, list):
            return self._of_rows(batch, seen)
        if batch.scores.ndim == 1:
            return self._of_singles(batch, batch.scores, seen)
        return _of_table(batch, batch.scores, check_classes(names, batch.scores.shape[1]))

    def _of_rows(self, batch: Batch, seen: Iterable[Label]) -> Decisions:
        positions = range(batch.n) if batch.rows is None else batch.rows.tolist()
        truth, seen = batch.truth.objects(), self._seen(batch, seen)
        rows = [self._of_row(*row, batch.classes, seen) for row in zip(truth, batch.scores, positions, strict=True)]
        batch.scores, batch.classes = [scores for scores, _, _ in rows], None
        right = [bool(label == y_true) for (_, label, _), y_true in zip(rows, truth, strict=True)]
        confidence = np.array([largest for _, _, largest in rows], np.float64)
        labels = as_column([label for _, label, _ in rows], "y_pred", False)
        return Decisions(labels, np.array(right, bool), confidence)

    def _of_row(
        self, truth: Label, row: object, position: int, names: tuple[Label, ...] | None, seen: set[Label]
    ) -> tuple[Scores, Label, float]:
        """Return the scores of a row of a list as a mapping or a number, their label and its score."""
        try:
            scores = self.read(row, names, truth)
            label, largest = self.of_sample(scores, truth, seen)
        except (LabelError, ScoreError) as error:
            raise error.with_position(position) from None
        return scores, label, largest

    def _seen(self, batch: Batch, seen: Iterable[Label]) -> set[Label]:
        """Return the labels that were counted, those of the batch included, where they matter."""
        return set() if self.negative else {*seen, *factorize(batch.truth)[1]}

    def _of_singles(self, batch: Batch, scores: Array, seen: Iterable[Label]) -> Decisions:
        exact = scores.astype(np.float64, copy=False)  # as float32, the threshold would be rounded
        above = np.asarray(exact >= self.threshold)
        codes, truths = factorize(batch.truth)
        check_truths_of_singles(self.pos_label, codes, truths)
        both = [self.pos_label]
        if not above.all():
            below = [truths[code] for code in np.unique(codes[~above]).tolist()]
            both.append(self.other_class(below, self._seen(batch, seen), float(exact[int(np.argmin(above))])))
        right = batch.true_columns(tuple(both)) == ~above
        return Decisions(self._all_spelled(above, both, codes, truths), right, np.where(above, exact, 1 - exact))

    def _all_spelled(self, above: Array, both: list[Label], codes: Array, truths: list[Label]) -> Column:
        """Return the labels of single scores, 0 and 1 as the truths beside them write them."""
        if len(set(map(type, truths))) == 1:
            return Column((~above).view(np.int8), [self._spelled(label, truths[0]) for label in both])
        names = [self._spelled(label, truth) for truth in truths for label in both]
        return Column((codes * len(both) + ~above).astype(np.int32), names)


def fill_predictions(y_pred: Any, labels: Column, batch: Batch, n: int, named: Namer) -> Column:
    """Return `n` predictions, where there is none the label of the scores of the row; `batch` has the rows of these."""
    if y_pred is None and batch.rows is None:
        return labels
    given = None if y_pred is None else as_column(y_pred, "y_pred", True, named)
    if given is not None and (given.names is None or given.n != n or not (given.values < 0).any()):
        return given
    filled = [None] * n if given is None else given.objects()
    rows = range(n) if batch.rows is None else batch.rows.tolist()
    for row, label in zip(rows, labels.objects(), strict=True):
        if filled[row] is None:
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


def fold_of(unit: Label, folds: int) -> int:
    """Return the fold of a unit, a fixed function of its value; equal numbers of different types are one unit."""
    unit = _whole(unit)
    if isinstance(unit, int) and -(2**63) <= unit < 2**63:
        return int(_mixed(np.array([unit], np.int64))[0] % np.uint64(folds))
    return _hashed(unit, folds)


def content_fold(y_true: object, *scores: Scores, folds: int) -> int:
    """Return the fold of a sample without a unit: a hash of its truth and scores."""
    return _hashed([_whole(canonical(y_true, "y_true")), *map(_plain, scores)], folds)


def _hashed(content: object, folds: int) -> int:
    return int.from_bytes(hashlib.blake2b(encoded(content), digest_size=8).digest(), "little") % folds


def _plain(pred: Scores) -> object:
    """Return scores in one form, regardless of the order and types in which they came."""
    if not isinstance(pred, Mapping):
        return float(pred) + 0.0
    labels = [canonical(label) for label in pred]
    scores = [float(score) + 0.0 for score in pred.values()]
    return [[_whole(labels[i]), scores[i]] for i in ordering(labels)]


def _whole(label: Label) -> Label:
    """Return a number that is whole as an int, regardless of its type; any other label as it is."""
    return int(label) if isinstance(label, int | float) and label == int(label) else label


def folds_of(unit: object, n: int, folds: int) -> NDArray[np.int64]:
    """Return the fold of every row of a batch, of a column of units or one unit; `folds` where there is none."""
    if unit is None:
        return np.full(n, folds, np.int64)
    c = checked_column([unit] * n if is_single(unit) else unit, "unit", rows=n)
    if c.names is None and c.values.dtype.kind == "i":
        return (_mixed(c.values.astype(np.int64)) % np.uint64(folds)).astype(np.int64)
    codes, names = factorize(c)
    return np.array([fold_of(name, folds) for name in names], np.int64)[codes]


def _mixed(x: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the splitmix64 finaliser of each number. Steele et al. 2014."""
    z = x.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
