"""Predictions with their labels: a chunk of them as columns, and its rows in batches, which states count at once.

A state of scores costs 15 us for one sample, and 0.3 us a sample plus 0.3 ms for a batch of arrays. So the rows of a
chunk are sorted into as few batches as there are kinds of rows: labels alone, single scores, and mappings from class to
score, one batch for every set of classes. Key sets that have few rows share a batch of mappings, 10 us a row.

`prediction` is a label of any type: a float there is a label that is a float, and a score stands in `scores`.
Only a mapping there is scores. Where there are scores and the prediction is None or MISSING, the label is that of the
largest score, or of a single score by whether it is at least the threshold, as in `MetricSet`. None without scores, or
an empty mapping, is an abstention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import by_class
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError, WeightError
from stream_metrics.inputs.times import LIMIT, seconds_to_ns
from stream_metrics.labels import Label, canonical, most_likely, ordering
from stream_metrics.labels.pos_label import check_whole
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.monitor.events.decoding import mapping, table
from stream_metrics.monitor.events.records import MISSING, Absent, Classes, Origin, Prediction, Rejected, Truth, Weight
from stream_metrics.states.confusion import ConfusionMatrix

BOUND = LIMIT / 1e9
REASONS = ((LabelError, "label"), (ScoreError, "score"), (WeightError, "weight"))
ABSENT_TYPES = {type(None), type(MISSING)}


class Pair(NamedTuple):
    """A prediction with its label; `origin` is topic, partition and offset of the record that completed it.

    Fields that the event did not have are MISSING or None: a pair without a group is in none, and the weight is 1 by
    default. Times are in seconds since 1970. With `classes`, `scores` are bytes, see ``events.decoding``.
    """

    truth: Truth
    prediction: Prediction | Mapping[Label, float]
    scores: object
    weight: Weight | Absent | None
    group: Label | Absent | None
    predicted_at: float
    labelled_at: float
    origin: Origin
    classes: Classes | None = None


class PairColumns(NamedTuple):
    """Pairs as columns."""

    truths: Sequence[Truth]
    predictions: Sequence[Prediction | Mapping[Label, float]]
    scores: Sequence[object]
    weights: Sequence[Weight | Absent | None]
    groups: Sequence[Label | Absent | None]
    predicted: Sequence[float]
    labelled: Sequence[float]
    origins: Sequence[Origin]
    classes: Sequence[Classes | None]

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> PairColumns:
        """Return pairs as columns; there must be one."""
        return cls(*zip(*pairs, strict=True))


class Chunk(NamedTuple):
    """Valid pairs as columns. Times are in nanoseconds."""

    origins: Sequence[Origin]
    truths: list[Truth]
    labels: list[Any]  # predictions, and mappings from class to score
    scores: Sequence[Any]  # bytes with `classes`; else a mapping, a number, MISSING or None
    classes: Sequence[Classes | None]
    weights: list[Weight] | None  # None if all are 1
    groups: list[Label | None] | None  # None if no pair has one
    predicted: NDArray[np.int64]
    labelled: NDArray[np.int64]
    seconds: NDArray[np.float64]  # how long the label took

    def refused(self, place: int, error: StreamMetricsError) -> Rejected:
        """Return the rejection of a pair."""
        reason = next((name for kind, name in REASONS if isinstance(error, kind)), "other")
        return Rejected(*self.origins[place], reason, str(error)[:200])


def validate_pairs(pairs: PairColumns) -> tuple[Chunk | None, list[Rejected]]:
    """Return the valid pairs as columns, None if there are none, and those with an invalid time or group."""
    rejected: list[Rejected] = []
    try:
        columns = _columns(pairs) if len(pairs.truths) else None
    except (ArithmeticError, StreamMetricsError, TypeError, ValueError):
        good = []
        for pair in map(Pair._make, zip(*pairs, strict=True)):
            reason = "time"
            try:
                _seconds([pair.predicted_at, pair.labelled_at])
                reason = "other"
                if type(pair.group) not in ABSENT_TYPES:
                    canonical(pair.group, "group")
                good.append(pair)
            except (ArithmeticError, StreamMetricsError, TypeError, ValueError) as error:
                rejected.append(Rejected(*pair.origin, reason, str(error)[:200]))
        columns = _columns(PairColumns.of(good)) if good else None
    return columns, rejected


def _columns(pairs: PairColumns) -> Chunk:
    truths, labels, scores, weights, groups, predicted, labelled, origins, classes = pairs
    made_at, labelled_at = _seconds(predicted), _seconds(labelled)
    ones = weights.count(1) == len(weights)
    weighted = None if ones else [1 if w is None or isinstance(w, Absent) else w for w in weights]
    named: list[Label | None] | None = None
    if not set(map(type, groups)) <= ABSENT_TYPES:
        named = [None if isinstance(group, Absent) else group for group in groups]
    for group in set(named or ()) - {None}:
        canonical(group, "group")
    times = seconds_to_ns(made_at), seconds_to_ns(labelled_at), labelled_at - made_at
    return Chunk(origins, list(truths), list(labels), scores, classes, weighted, named, *times)


def _seconds(times: Sequence[object]) -> NDArray[np.float64]:
    """Return times as an array; ValueError for anything but numbers of seconds within the range."""
    seconds = np.array(times)
    if seconds.dtype.kind not in "fiu" or not np.abs(seconds).max() < BOUND:
        raise ValueError(f"Expected times in seconds since 1970, up to {BOUND:.0f}, but got {times!r:.60}")
    return seconds.astype(np.float64, copy=False)


Refuse = Callable[[int, StreamMetricsError], object]
T = TypeVar("T")
Row: TypeAlias = "tuple[int, Prediction, Any]"  # number, label, and scores as its kind has them
# "labels", ("singles", the class beside `pos_label` if the set does not know it), or the classes of a mapping
Kind: TypeAlias = "str | tuple[str, Label | None] | frozenset[tuple[type, Label]]"
RowScores: TypeAlias = "NDArray[np.float64] | Sequence[Mapping[Label, float]] | None"

FEW = 32  # rows of one set of classes, below which they share a batch with others
NUMBERS = {int, float, bool}


class CountedRows(NamedTuple):
    """Rows of one kind as columns; `places` says where they were in the chunk.

    `labels` are predictions, None for abstentions; `weights` is None if all are 1. `scores` is None, or what
    `MetricSet.update_many` takes: a column, a table with `classes`, or a list of mappings. `other` is the class beside
    `pos_label` in a column of single scores, if the set cannot know it.
    """

    places: Sequence[int]
    truths: Sequence[Truth]
    labels: Sequence[Prediction]
    weights: Sequence[Weight] | None
    scores: RowScores = None
    classes: Classes | None = None
    other: Label | None = None

    def some(self, at: Sequence[int]) -> CountedRows:
        """Return some of the rows, by their numbers among these in increasing order."""
        if len(at) == len(self.places):
            return self
        run = slice(at[0], at[-1] + 1) if at[-1] - at[0] == len(at) - 1 else None
        places, truths, labels = _some(self.places, at, run), _some(self.truths, at, run), _some(self.labels, at, run)
        weights = None if self.weights is None else _some(self.weights, at, run)
        scores = self.scores
        if isinstance(scores, np.ndarray):
            scores = scores[list(at) if run is None else run]
        elif scores is not None:
            scores = _some(scores, at, run)
        return CountedRows(places, truths, labels, weights, scores, self.classes, self.other)

    def feed(self, state: MetricSet) -> None:
        """Let a state count all rows, or none."""
        if self.scores is None:
            state.state.update_many(self.truths, self.labels, self.weights)
        else:
            self._tell_other_class(state)
            state.update_many(self.truths, self.labels, self.weights, scores=self.scores, classes=self.classes)

    def one(self, state: MetricSet, at: int, do: str) -> None:
        """Count ("update") or forget ("remove") one row in a state."""
        w = 1 if self.weights is None else self.weights[at]
        if self.scores is None:
            labels_only = state.state.update if do == "update" else state.state.revert
            labels_only(self.truths[at], self.labels[at], w)
        else:
            self._tell_other_class(state)
            scores = self.scores
            one = float(scores[at]) if isinstance(scores, np.ndarray) and not self.classes else scores[at]
            getattr(state, do)(self.truths[at], self.labels[at], w, scores=one, classes=self.classes)

    def _tell_other_class(self, state: MetricSet) -> None:
        if self.other is not None:
            state.scored.take_other_class(self.other)


def _some(column: Sequence[T], at: Sequence[int], run: slice | None) -> Sequence[T]:
    return [column[i] for i in at] if run is None else column[run]


def group_into_batches(chunk: Chunk, like: MetricSet, refuse: Refuse, counted: ConfusionMatrix) -> list[CountedRows]:
    """Group rows into homogeneous batches for states like `like`; call `refuse(index, error)` for any other row.

    `counted` has the labels before the chunk: where the class beside `pos_label` is not configured, a single score
    stands for the only other one that was seen up to its row. So which rows are refused does not depend on chunks.
    """
    rows = _alike(chunk, like)
    return _by_kind(chunk, like, refuse, counted) if rows is None else [rows]


def _alike(chunk: Chunk, like: MetricSet) -> CountedRows | None:
    """Return all rows as one batch, if it can be seen at once that they are of one kind."""
    truths, labels, scores, sets, weights = chunk[1:6]
    spoken, first, places = set(map(type, labels)), sets[0], range(len(truths))
    if dict in spoken:
        return None
    if set(map(type, scores)) <= ABSENT_TYPES or (like.scored is None and not spoken & ABSENT_TYPES):
        return None if type(MISSING) in spoken else CountedRows(places, truths, labels, weights)
    if like.scored is None or first is None or sets.count(first) < len(sets) or not set(map(type, first)) <= {str}:
        return None
    try:
        first = _classes_beside(set(map(type, truths)), first, like)
    except ScoreError:  # each row is refused
        return None
    if first is None:
        return None
    score_table = table(scores, len(first))
    if spoken & ABSENT_TYPES:
        order = ordering(first)
        best = score_table[:, order].argmax(axis=1).tolist()
        likely = (first[order[at]] for at in best)
        labels = [one if type(label) in ABSENT_TYPES else label for label, one in zip(labels, likely, strict=True)]
    return CountedRows(places, truths, labels, weights, score_table, first)


def _classes_beside(kinds: set[type], classes: Classes, like: MetricSet) -> Classes | None:
    """Return the classes that keys name beside true labels of these types; None if it depends on the row."""
    numeric = kinds & NUMBERS
    return None if numeric and kinds - NUMBERS else like.state.class_names.of_all(classes, bool(numeric))


def _by_kind(chunk: Chunk, like: MetricSet, refuse: Refuse, counted: ConfusionMatrix) -> list[CountedRows]:
    """Return the rows by kind, each looked at by itself."""
    kinds: dict[Kind, list[Row]] = {}
    learns = like.scored is not None and like.scored.negative is None
    others = {*counted.labels} - {like.pos_label} if learns else set()
    fields = chunk.truths, chunk.labels, chunk.scores, chunk.classes
    for place, (truth, prediction, scores, classes) in enumerate(zip(*fields, strict=True)):
        scores = scores if classes is None else mapping(scores, classes)
        try:
            kind, label, given = _kind(truth, prediction, scores, like, others)
            if learns:
                others |= _classes_of_row(truth, label, like.state.fixed_labels) - {like.pos_label}
        except StreamMetricsError as error:
            refuse(place, error)
        else:
            kinds.setdefault(kind, []).append((place, label, given))
    batches, rest = [], []
    for kind, rows in kinds.items():
        classes = tuple(name for _, name in kind) if isinstance(kind, frozenset) else None
        given = [given for _, _, given in rows]
        row_scores = other = None
        if classes is not None:
            row_scores = _table(given, classes) if len(rows) >= FEW else None
            if row_scores is None:
                rest += rows
                continue
        elif isinstance(kind, tuple):
            row_scores, other = np.array(given, np.float64), kind[1]
        batches.append(_rows(chunk, rows)._replace(scores=row_scores, classes=classes, other=other))
    rest.sort(key=itemgetter(0))
    return [*batches, _rows(chunk, rest)._replace(scores=[given for _, _, given in rest])] if rest else batches


def _classes_of_row(truth: Any, prediction: Any, fixed: tuple[Label, ...] | None) -> set[Label]:
    """Return the classes of a row that the state will count; LabelError if a value is no label."""
    labels = set()
    for argument, value in ("y_true", truth), ("y_pred", truth if prediction is None else prediction):
        label = canonical(value, argument)
        check_whole(label, fixed or (), argument)
        labels.add(label)
    return labels if fixed is None or labels <= {*fixed} else set()


def _rows(chunk: Chunk, rows: list[Row]) -> CountedRows:
    truths, weights, places = chunk.truths, chunk.weights, [place for place, _, _ in rows]
    some = None if weights is None else [weights[place] for place in places]
    return CountedRows(places, [truths[place] for place in places], [label for _, label, _ in rows], some)


def _kind(
    truth: Any, prediction: Any, scores: Any, like: MetricSet, others: set[Label]
) -> tuple[Kind, Prediction, object]:
    """Return the kind of a row, its label, and its scores. `others` are the classes seen beside `pos_label`.

    Raises LabelError or ScoreError if the row cannot be counted.
    """
    if scores is MISSING and prediction is MISSING:
        raise LabelError("Expected a prediction or scores, but got neither")
    names = like.state.class_names
    if isinstance(scores, Mapping):
        scores = by_class(scores, truth, names)
    if isinstance(prediction, Mapping):
        prediction = by_class(prediction, truth, names)
        soft = scores is MISSING or scores is None
        scores = prediction if soft else scores
        prediction = most_likely(prediction, "prediction") if prediction and not soft else None
    unsaid, mapping = prediction is None or prediction is MISSING, isinstance(scores, Mapping)
    if scores is MISSING or scores is None or (mapping and not scores):
        return "labels", None if unsaid else prediction, None
    if like.scored is None and not unsaid:
        return "labels", prediction, None
    if not mapping:
        return _single(truth, None if unsaid else prediction, scores, like, others)
    label = most_likely(scores, "scores") if unsaid else prediction
    if like.scored is None:
        return "labels", label, None
    return frozenset(zip(map(type, scores), scores, strict=True)), label, scores  # 1, 1.0 and True are counted apart


def _single(
    truth: Label, prediction: Label | None, scores: object, like: MetricSet, others: set[Label]
) -> tuple[Kind, Label, float]:
    """Return the kind, the label and the score where a single number is given."""
    if isinstance(scores, bool) or not isinstance(scores, int | float | np.integer | np.floating):
        raise ScoreError(f"Expected `scores` to be a mapping from class to number, or a number, but got {scores!r:.60}")
    if like.scored is None:
        raise ScoreError("Expected a prediction beside the score of one class, where no scores are kept")
    truth = canonical(truth, "y_true")
    try:
        score = float(scores)
    except OverflowError:
        raise ScoreError(f"Expected the score to be a finite number, but got {scores!r:.60}") from None
    other: Label | None = None
    if like.scored.negative is None:
        positive = like.scored.rule.pos_label
        beside = {*others, truth, *(() if prediction is None else (canonical(prediction, "y_pred"),))} - {positive}
        if len(beside) == 1:
            (other,) = beside
        elif score < like.scored.rule.threshold:
            known = " or ".join(sorted(map(repr, beside))) or "not known yet"
            wanted = f"Expected `labels` with both classes, as the class beside {positive!r} is {known:.100}"
            raise ScoreError(f"{wanted}, but got {score}")
    label = like.scored.rule.of_sample(score, truth, () if other is None else (other,))[0]
    return ("singles", other), label if prediction is None else prediction, score


def _table(rows: Sequence[Mapping[Label, float]], names: Classes) -> NDArray[np.float64] | None:
    """Return the scores of mappings with these keys; None if there are others, or what is no plain number."""
    read = itemgetter(*names)
    try:
        flat = list(map(read, rows) if len(names) == 1 else chain.from_iterable(map(read, rows)))
        scores = np.array(flat)
    except (KeyError, ValueError):
        return None
    return scores.astype(np.float64, copy=False).reshape(-1, len(names)) if scores.dtype.kind in "fi" else None
