"""The states that scores feed beside a confusion matrix, kept in step with it.

A sample with scores is counted by up to four states: its label by the matrix, its scores by the rank sketch of all
classes, its largest score (the confidence) with whether it was right by a second sketch, and its probabilities by the
sums of losses. What can fail comes first and what cannot be undone last, so that a refused sample is in none.

The label of a mapping or a row is that of the largest score; of equal ones the first in the order of report. A single
number is the score of `pos_label`, which is the label from `threshold` on, as on every curve, where a threshold is one
of the scores and lets it through; the other class of a single number is the other one of `labels`, or of False and
True, or of 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stream_metrics._core.numeric.kernels import Guarded
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError
from stream_metrics.inputs.columns import Categorical, Column, column
from stream_metrics.inputs.score_tables import (
    finite_scores,
    fitting,
    gapless,
    is_mapping,
    is_soft,
    nothing,
    own_names,
    places,
    rereadable,
    row_of_scores,
    soft_rows,
    stand_in,
    taken,
)
from stream_metrics.labels import Label, canonical, ordering, sort_key, unique
from stream_metrics.states.limits import cost, room, sample_cost
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.states.ranks import RankSketch

__all__ = ["Scored"]

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
        self._room = 0  # weight or samples that each state can still count; a lower bound

    def copy(self) -> Scored:
        """Return an independent copy."""
        confidence = None if self.confidence is None else self.confidence.copy()
        losses = None if self.losses is None else self.losses.copy()
        return Scored(self.ranks.copy(), confidence, losses, self.labels, self.threshold)

    def _take_room(self, taken: int) -> None:
        """Raise WeightError unless every state can count that much more, of weight and of samples.

        So the last state cannot refuse what those before it have counted, which a sketch could not take back.
        """
        if taken > self._room:
            self._room = room([max(state._load()) for state in self.states()], taken)
        self._room -= taken

    def check_merge(self, other: Scored) -> None:
        """Raise what `merge` would."""
        for mine, theirs in zip(self.states(), other.states(), strict=True):
            mine._check_merge(theirs)

    def merge(self, other: Scored) -> None:
        """Add the counts of another shard with the same configuration."""
        self.check_merge(other)
        for mine, theirs in zip(self.states(), other.states(), strict=True):
            mine.merge(theirs)
        self._room = 0

    def check(self) -> None:
        """Raise ValueError unless all states can have counted the same samples, with the same weights."""
        if len({(state.n, state.abstained) for state in self.states()} | {(self.ranks.n, 0)}) > 1:
            raise ValueError("states of scores that have counted as many samples")
        if self.confidence is not None and self.confidence._units() != self.ranks._units():
            raise ValueError("sketches that have counted the same weights")

    def reset(self) -> None:
        """Forget every sample."""
        for state in self.states():
            state.reset()

    def states(self) -> list[Any]:
        """Return the states there are."""
        return [state for state in (self.losses, self.ranks, self.confidence) if state is not None]

    def update(self, owner: Guarded, counts: Any, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any) -> None:
        """Count one sample in all states, or in none, in one section of their owner."""
        steps = self.steps(counts, y_true, y_pred, w, scores, classes)
        taken = sample_cost(w)
        with owner._writing():
            self.count(steps, taken)

    def count(self, steps: Steps, taken: int) -> None:
        """Count one sample, which takes so much room, in all states or in none."""
        if len(steps) > 1:
            self._take_room(taken)
        _all_or_none(steps, "update", "revert")

    def revert(self, owner: Guarded, counts: Any, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any) -> None:
        """Undo one update in all states, or in none; the sketches must not have coarsened."""
        steps = self.steps(counts, y_true, y_pred, w, scores, classes)
        with owner._writing():
            self.uncount(steps)

    def uncount(self, steps: Steps) -> None:
        """Undo `count` in all states, or in none."""
        for state, arguments in steps[-2::-1]:
            state._check_revert(*arguments)
        for state, arguments in reversed(steps):
            state.revert(*arguments)

    def update_many(
        self, owner: Guarded, counts: Any, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any
    ) -> None:
        """Count a batch in all states, or in none, in one section of their owner."""
        columns = {"y_true": y_true, "y_pred": y_pred, "w": w, "scores": scores}
        y_true, y_pred, w, scores = (rereadable(values, name) for name, values in columns.items())
        rows = None
        if scores is None:
            scores, y_pred, rows = soft_rows(y_pred, classes)
        elif y_pred is not None:
            classes = own_names(scores) if classes is None else classes
            y_pred, scores = stand_in(y_pred, scores)
        if scores is None:
            with owner._writing():
                counts.update_many(y_true, y_pred, w)
        else:
            steps, at = self._batch(counts, y_true, y_pred, w, scores, classes, rows)
            n = len(steps[0][1][0].values) if at is None else len(at)
            if at is not None:
                cost(w, len(y_true))  # an error names the position among all rows
            taken = cost(steps[-1][1][2], n)
            with owner._writing():
                self._take_room(taken)
                _all_or_none(steps, "update_many", "", at)

    def steps(self, counts: Any, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any) -> Steps:
        """Return what each state is to count."""
        if nothing(scores) and (classes is not None or is_soft(y_pred)):
            scores, y_pred = y_pred, None
        if nothing(scores):
            return [(counts, (y_true, y_pred, w))]
        scores = self._read(scores, None if classes is None else unique(classes, "classes"))
        if is_mapping(scores):
            label, largest = _largest(scores)
        else:
            self._check_type(canonical(y_true, "y_true"))
            label, largest = self._decide(scores)
        steps: Steps = [(counts, (y_true, label if nothing(y_pred) else y_pred, w))]
        if self.losses is not None:
            steps.append((self.losses, (y_true, scores, w)))
        steps.append((self.ranks, (y_true, scores, w)))
        if self.confidence is not None:
            steps.append((self.confidence, (label == canonical(y_true, "y_true"), largest, w)))
        return steps

    def _read(self, scores: Any, names: tuple[Label, ...] | None) -> Any:
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

    def _check_type(self, truth: Label, position: int | None = None) -> None:
        """Refuse a truth that a single score cannot be about."""
        if sort_key(truth)[0] != sort_key(self.ranks.pos_label)[0]:
            of_type = f"to be of the type of pos_label={self.ranks.pos_label!r}"
            expected = f"{of_type}, because a single score is that of this label"
            raise LabelError(
                argument="y_true", position=position, expected=expected, got=truth, but=f"got {truth!r}"
            )

    def _decide(self, score: float) -> tuple[Any, float]:
        """Return the label of a single score and the score of that label."""
        if score >= self.threshold:
            return self.ranks.pos_label, score
        if self.negative is None:
            expected = f"or `labels` with two classes, since the class beside {self.ranks.pos_label!r} is not known"
            raise ScoreError(
                subject="a mapping,", expected=expected, but=f"got the single score {score!r}", position_last=True
            )
        return self.negative[0], 1 - score

    def _batch(
        self, counts: Any, y_true: Any, y_pred: Any, w: Any, scores: Any, classes: Any, rows: Any
    ) -> tuple[Steps, Any]:
        """Return what each state is to count, and the rows that have scores, None for all.

        `rows` are those that the scores belong to, None for all.
        """
        names = own_names(scores) if classes is None else unique(classes, "classes")
        table, some = (scores, None) if rows is not None else gapless(scores)
        truth = whole = column(y_true, "y_true", False)
        n = len(truth.values)
        if rows is not None and len(y_pred) != n:
            raise LabelError(argument="y_pred", expected=f"to have as many rows as `y_true`, {n}", got=len(y_pred))
        length = len(table if some is None else some)
        if rows is None and length != n:
            raise ScoreError(argument="scores", expected=f"to have as many rows as `y_true`, {n}", got=length)
        if self.labels is not None and names is not None and not set(names) <= set(self.labels):
            raise LabelError(f"Expected the columns of `scores` to be of {list(self.labels)}, but got {list(names)}")
        weight, at = w, None
        if some is not None:
            at, truth = np.flatnonzero(some).tolist(), Column(truth.values[some], truth.names)
            weight = taken(w, at, n)
        kept: Any = truth
        if not n:
            table, names = [], None
        if isinstance(table, list):
            numbers = range(n) if rows is None else rows.tolist()
            labels = [truth.label(value) for value in truth.values.tolist()]
            read = [self._soft(labels[at], row, names, at) for row, at in zip(table, numbers, strict=True)]
            given, table = [number for number, row in zip(numbers, read, strict=True) if row is not None], []
            derived, names = self._derived([labels[number] for number in given], read, table), None
            if len(given) < n:
                at, kept, weight = given, [labels[number] for number in given], taken(w, given, n)
        elif table.ndim == 2:
            names = fitting(names, table.shape[1])
            derived = _table(truth, table, names)
        else:
            derived = self._singles(truth, table)
        steps: Steps = [(counts, (whole, _predicted(y_pred, derived.labels, at, n, rows is not None), w))]
        if self.losses is not None:
            steps.append((self.losses, (kept, table, weight, names)))
        steps.append((self.ranks, (kept, table, weight, names)))
        if self.confidence is not None:
            steps.append((self.confidence, (derived.right, derived.confidence, weight)))
        return steps, at

    def _soft(self, truth: Any, row: Any, names: Any, number: int) -> tuple[Any, Any, float] | None:
        """Return one of a list of scores as a mapping or a number, its label and its largest score; None if empty."""
        if nothing(row):
            return None
        try:
            row = self._read(row, names)
            label, largest = _largest(row) if is_mapping(row) else self._decide(row)
        except (LabelError, ScoreError) as error:
            raise error.with_position(number) from None
        if not is_mapping(row):
            self._check_type(truth, number)
        return row, label, largest

    def _derived(self, truth: list[Any], read: list[Any], table: list[Any]) -> Derived:
        """Derive from samples read one by one, and put their scores into `table`."""
        rows = [row for row in read if row is not None]
        table += [scores for scores, _, _ in rows]
        right = [bool(label == y_true) for (_, label, _), y_true in zip(rows, truth, strict=True)]
        confidence = np.array([largest for _, _, largest in rows], np.float64)
        return Derived([label for _, label, _ in rows], np.array(right, bool), confidence)

    def _singles(self, truth: Any, scores: Any) -> Derived:
        exact = scores.astype(np.float64, copy=False)  # as float32, the threshold would be rounded
        above = np.asarray(exact >= self.threshold)
        if self.negative is None and not above.all():
            self._decide(float(exact[int(np.argmin(above))]))
        for name in truth.names or (0,):
            self._check_type(name)
        both = [self.ranks.pos_label, *(self.negative or ())]
        return Derived(
            Categorical((~above).astype(np.int8), both),
            places(truth, tuple(both)) == ~above,
            np.where(above, exact, 1 - exact),
        )


def _all_or_none(steps: Steps, do: str, undo: str, rows: list[int] | None = None) -> None:
    """Let each state do its step; take back the ones that were done if one fails.

    `rows` are those that all steps but the first are about; an error names the position among all.
    """
    for at, (state, arguments) in enumerate(steps):
        try:
            getattr(state, do)(*arguments)
        except BaseException as error:
            for done, again in reversed(steps[:at]):
                if undo:
                    getattr(done, undo)(*again)
                else:
                    _uncount(done, again)
            if at and rows is not None and isinstance(error, StreamMetricsError) and error.position is not None:
                raise error.with_position(rows[error.position]) from None
            raise


def _uncount(state: Any, arguments: tuple[Any, ...]) -> None:
    """Take back a batch that a state has counted."""
    batch = state.copy()
    batch.reset()
    batch.update_many(*arguments)
    state.subtract(batch)


def _other_class(pos_label: Label, labels: tuple[Label, ...] | None) -> tuple[Label] | None:
    """Return the class beside `pos_label`, in a tuple, if there can be only one."""
    if labels is not None and len(labels) == 2 and pos_label in labels:
        return (labels[1 - labels.index(pos_label)],)
    if pos_label in (0, 1):
        return (type(pos_label)(1 - pos_label),)
    return None


def _largest(scores: Mapping[Any, Any]) -> tuple[Any, float]:
    """Return the label of the largest score, of equal ones the first in the order of report, and that score."""
    largest = max(scores.values())
    labels = [label for label, score in scores.items() if score == largest]
    if len(labels) > 1:
        known = [canonical(label) for label in labels]
        return known[ordering(known)[0]], largest
    return labels[0], largest


def _table(truth: Any, table: Any, names: tuple[Label, ...]) -> Derived:
    if not names:
        raise ScoreError("Expected `scores` to have a column for each of `classes`, but got none")
    order = ordering(list(names))
    sorted_names = [names[i] for i in order]
    columns = table if list(order) == list(range(len(names))) else table[:, order]
    best = columns.argmax(axis=1)
    right = places(truth, tuple(sorted_names)) == best
    return Derived(Categorical(best.astype(np.int32), sorted_names), right, columns[np.arange(len(table)), best])


def _predicted(y_pred: Any, labels: Any, at: list[int] | None, n: int, mixed: bool) -> Any:
    """Return the predictions, where none is given the label of the scores; `at` are the rows of the labels."""
    if y_pred is None and at is None:
        return labels
    given = None if mixed or y_pred is None else column(y_pred, "y_pred", True)
    if given is not None and (given.names is None or len(given.values) != n or not (given.values < 0).any()):
        return y_pred
    found = list(y_pred) if mixed else [None] * n if given is None else [given.label(x) for x in given.values.tolist()]
    if isinstance(labels, Categorical):
        labels = [labels.categories[code] for code in labels.codes.tolist()]
    for number, label in zip(range(n) if at is None else at, labels, strict=True):
        if mixed or found[number] is None:
            found[number] = label
    return found
