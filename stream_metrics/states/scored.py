"""The states that scores feed beside a confusion matrix, kept in step with it.

A sample with scores is counted by up to four states: its label by the matrix, its scores by the rank sketch of all
classes, its largest score (the confidence) with whether it was right by a second sketch, and its probabilities by the
sums of losses. What can fail comes first and what cannot be undone last, so that a refused sample is in none.

The label of a mapping or a row is that of the largest score; of equal ones the first in the order of report. A single
number is the score of `pos_label`, which is the label above `threshold`; the other class of a single number is the
other one of `labels`, or of False and True, or of 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.labels import Label, canonical, ordering, unique
from stream_metrics.states.columns import Categorical, column
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.ranks import RankSketch
from stream_metrics.states.score_tables import fitting, own_names, places, score_table

__all__ = ["Scored", "is_soft"]

FLOAT = float | np.floating
NUMBER = int | float | np.integer | np.floating
Steps = list[tuple[Any, tuple[Any, ...]]]


class Derived(NamedTuple):
    """What follows from a batch of scores: labels, and for each row whether it was right and its largest score."""

    labels: Any
    right: Any
    confidence: Any


class Scored:
    """A rank sketch of all classes, and for probabilities a sketch of the largest score and the sums of losses."""

    def __init__(
        self,
        ranks: RankSketch,
        confidence: RankSketch | None,
        losses: ProbabilityLosses | None,
        labels: tuple[Label, ...] | None,
        threshold: float,
    ) -> None:
        self.ranks, self.confidence, self.losses = ranks, confidence, losses
        self.labels, self.threshold = labels, threshold
        self.negative = _other_class(ranks.pos_label, labels)

    def copy(self) -> Scored:
        """Return an independent copy."""
        confidence = None if self.confidence is None else self.confidence.copy()
        losses = None if self.losses is None else self.losses.copy()
        return Scored(self.ranks.copy(), confidence, losses, self.labels, self.threshold)

    def merge(self, other: Scored) -> None:
        """Add the counts of another shard with the same configuration."""
        for mine, theirs in zip(self.states(), other.states(), strict=True):
            mine.merge(theirs)

    def reset(self) -> None:
        """Forget every sample."""
        for state in self.states():
            state.reset()

    def states(self) -> list[Any]:
        """Return the states there are."""
        return [state for state in (self.losses, self.ranks, self.confidence) if state is not None]

    def update(self, counts: ConfusionMatrix, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any) -> None:
        """Count one sample in all states, or in none."""
        _all_or_none(self._sample(counts, y_true, y_pred, w, scores, classes), "update", "revert")

    def revert(self, counts: ConfusionMatrix, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any) -> None:
        """Undo one update in all states, or in none; the sketches must not have coarsened."""
        _all_or_none(self._sample(counts, y_true, y_pred, w, scores, classes)[::-1], "revert", "update")

    def update_many(self, counts: ConfusionMatrix, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any) -> None:
        """Count a batch in all states, or in none."""
        y_true, y_pred, w, scores = (_kept(values) for values in (y_true, y_pred, w, scores))
        rows = None
        if scores is None:
            scores, y_pred, rows = _soft_rows(y_pred, classes)
        if scores is None:
            counts.update_many(y_true, y_pred, w)
        else:
            _all_or_none(self._batch(counts, y_true, y_pred, w, scores, classes, rows), "update_many", "")

    def _sample(self, counts: Any, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any) -> Steps:
        """Return what each state is to count."""
        if scores is None and (classes is not None or is_soft(y_pred)):
            scores, y_pred = y_pred, None
        if classes is not None and scores is not None:
            scores = _row(scores, classes)
        if _nothing(scores):
            return [(counts, (y_true, y_pred, w))]
        self._check(scores)
        label, largest = _largest(scores) if isinstance(scores, Mapping) else self._decide(float(scores))
        steps: Steps = [(counts, (y_true, label if y_pred is None else y_pred, w))]
        if self.losses is not None:
            steps.append((self.losses, (y_true, scores, w)))
        steps.append((self.ranks, (y_true, scores, w)))
        if self.confidence is not None:
            steps.append((self.confidence, (bool(label == y_true), float(largest), w)))
        return steps

    def _check(self, scores: Any) -> None:
        """Raise what is wrong with the scores of a sample before any state counts it."""
        if not isinstance(scores, Mapping):
            if not isinstance(scores, NUMBER):
                raise ScoreError(
                    f"Expected `scores` to be a mapping from label to number, a number, or a sequence with `classes`, "
                    f"but got {scores!r:.60}"
                )
            if not math.isfinite(scores):
                raise ScoreError(f"Expected the score to be a finite number, but got {scores!r}")
            return
        for label, score in scores.items():
            if not isinstance(score, NUMBER) or not math.isfinite(score):
                raise ScoreError(f"Expected every score to be a finite number, but got {score!r:.60} for {label!r}")
            if self.labels is not None and label not in self.labels:
                raise LabelError(f"Expected scores of the fixed labels {list(self.labels)}, but got {label!r}")

    def _decide(self, score: float) -> tuple[Any, float]:
        """Return the label of a single score and the score of that label."""
        if score > self.threshold:
            return self.ranks.pos_label, score
        if self.negative is None:
            raise ScoreError(
                f"Expected a mapping, or `labels` with two classes, since the class beside "
                f"{self.ranks.pos_label!r} is not known, but got the single score {score!r}"
            )
        return self.negative[0], 1 - score

    def _batch(self, counts: Any, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any, rows: Any) -> Steps:
        """Return what each state is to count; `rows` are those that the scores belong to, None for all."""
        names = own_names(scores) if classes is None else unique(classes, "classes")
        table = scores if rows is not None else score_table(scores)
        truth, weight = (values if rows is None else _taken(values, rows) for values in (y_true, w))
        if len(table) != len(truth):
            raise ScoreError(f"Expected `scores` to have as many rows as `y_true`, {len(truth)}, but got {len(table)}")
        if self.labels is not None and names is not None and not set(names) <= set(self.labels):
            raise LabelError(f"Expected the columns of `scores` to be of {list(self.labels)}, but got {list(names)}")
        if isinstance(table, list):
            table = [row if names is None or _nothing(row) or is_soft(row) else _row(row, names) for row in table]
            derived, names = self._rows(truth, table), None
            at = np.flatnonzero([not _nothing(row) for row in table])
            if len(at) < len(table):
                truth, weight, table = (_taken(values, at) for values in (truth, weight, table))
        elif table.ndim == 2:
            names = fitting(names, table.shape[1])
            derived = _table(truth, table, names)
        else:
            derived = self._singles(truth, table)
        if rows is not None:
            y_pred = list(y_pred)
            for row, label in zip(rows.tolist(), derived.labels, strict=True):
                y_pred[row] = label
        steps: Steps = [(counts, (y_true, derived.labels if y_pred is None else y_pred, w))]
        if self.losses is not None:
            steps.append((self.losses, (truth, table, weight, names)))
        steps.append((self.ranks, (truth, table, weight, names)))
        if self.confidence is not None:
            steps.append((self.confidence, (derived.right, derived.confidence, weight)))
        return steps

    def _rows(self, truth: Any, table: list[Any]) -> Derived:
        """Derive from samples read one by one; those without scores are abstentions."""
        labels: list[Any] = []
        right, confidence = [], []
        for at, (y_true, scores) in enumerate(zip(truth, table, strict=True)):
            if _nothing(scores):
                labels.append(None)
                continue
            try:
                self._check(scores)
                label, largest = _largest(scores) if isinstance(scores, Mapping) else self._decide(float(scores))
            except (LabelError, ScoreError) as error:
                raise type(error)(f"{error} at position {at}") from None
            labels.append(label)
            right.append(bool(label == y_true))
            confidence.append(float(largest))
        return Derived(labels, np.array(right, bool), np.array(confidence, np.float64))

    def _singles(self, truth: Any, scores: Any) -> Derived:
        above = np.asarray(scores > self.threshold)
        if self.negative is None and not above.all():
            self._decide(float(scores[int(np.argmin(above))]))
        both = [*(self.negative or (None,)), self.ranks.pos_label]
        right = places(column(truth, "y_true", False), tuple(both)) == above
        return Derived(Categorical(above.astype(np.int8), both), right, np.where(above, scores, 1 - scores))


def _all_or_none(steps: Steps, do: str, undo: str) -> None:
    """Let each state do its step; take back the ones that were done if one fails."""
    for at, (state, arguments) in enumerate(steps):
        try:
            getattr(state, do)(*arguments)
        except BaseException:
            for done, again in reversed(steps[:at]):
                if undo:
                    getattr(done, undo)(*again)
                else:
                    _uncount(done, again)
            raise


def _uncount(state: Any, arguments: tuple[Any, ...]) -> None:
    """Take back a batch that a state has counted."""
    batch = state.copy()
    batch.reset()
    batch.update_many(*arguments)
    state.subtract(batch)


def _nothing(scores: Any) -> bool:
    """Tell whether a sample has no scores."""
    return scores is None or (isinstance(scores, Mapping) and not scores)


def is_soft(y_pred: Any) -> bool:
    """Tell whether a prediction is scores: a mapping, or a float, which stands for the score of `pos_label`."""
    return isinstance(y_pred, Mapping | FLOAT)


def _other_class(pos_label: Label, labels: tuple[Label, ...] | None) -> tuple[Label] | None:
    """Return the class beside `pos_label`, in a tuple, if there can be only one."""
    if labels is not None and len(labels) == 2 and pos_label in labels:
        return (labels[1 - labels.index(pos_label)],)
    if pos_label in (0, 1):
        return (type(pos_label)(1 - pos_label),)
    return None


def _row(scores: Any, classes: Iterable[Label]) -> dict[Label, Any]:
    names = unique(classes, "classes")
    row = list(scores)
    if len(row) != len(names):
        raise ScoreError(f"Expected {len(names)} scores, one for each of `classes`, but got {len(row)}")
    return dict(zip(names, row, strict=True))


def _largest(scores: Mapping[Any, Any]) -> tuple[Any, float]:
    """Return the label of the largest score, of equal ones the first in the order of report, and that score."""
    largest = max(scores.values())
    labels = [label for label, score in scores.items() if score == largest]
    if len(labels) > 1:
        known = [canonical(label) for label in labels]
        return known[ordering(known)[0]], largest
    return labels[0], largest


def _table(truth: Any, table: Any, names: tuple[Label, ...]) -> Derived:
    order = ordering(list(names))
    sorted_names = [names[i] for i in order]
    columns = table if list(order) == list(range(len(names))) else table[:, order]
    best = columns.argmax(axis=1) if len(names) else np.zeros(len(table), np.intp)
    right = places(column(truth, "y_true", False), tuple(sorted_names)) == best
    return Derived(Categorical(best.astype(np.int32), sorted_names), right, columns[np.arange(len(table)), best])


def _kept(values: Any) -> Any:
    """Return what can be read more than once."""
    once = isinstance(values, Iterable) and not hasattr(values, "__len__")
    return list(values) if once else values


def _taken(values: Any, rows: Any) -> Any:
    """Return some rows of a column."""
    if values is None or isinstance(values, list | tuple):
        return None if values is None else [values[i] for i in rows.tolist()]
    if hasattr(values, "codes") and hasattr(values, "categories"):
        return Categorical(np.asarray(values.codes)[rows], values.categories)
    return values.take(rows)


def _soft_rows(y_pred: Any, classes: Any) -> tuple[Any, Any, Any]:
    """Return scores, predictions and the rows that have scores, from a column of predictions of either sort."""
    if classes is not None or getattr(y_pred, "ndim", 1) == 2 or own_names(y_pred) is not None:
        return y_pred, None, None
    if not isinstance(y_pred, list | tuple) and getattr(getattr(y_pred, "dtype", None), "kind", "") != "O":
        floats = getattr(getattr(y_pred, "dtype", None), "kind", "") == "f"
        return (y_pred, None, None) if floats else (None, y_pred, None)
    soft = np.array([is_soft(p) for p in y_pred], bool)
    if not soft.any():
        return None, y_pred, None
    if soft.all():
        return list(y_pred), None, None
    rows = np.flatnonzero(soft)
    return [y_pred[i] for i in rows.tolist()], y_pred, rows
