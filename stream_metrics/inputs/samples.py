"""Samples as a window keeps them: plain values that no caller can change, and as they are written.

What a caller brings becomes a label, a number, or a dict of the window's own. Labels are canonical, scores are floats,
a row of scores with its classes is a mapping, so a sample is the same whether it came alone or in a batch, in whatever
form. A sample of which a label or a score cannot be made plain is passed on as it is: the state inside refuses it, and
its message is the better one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from stream_metrics._core.numeric.kernels import by_class, checked_weight
from stream_metrics._core.windows.kernels import ExtendedPrediction
from stream_metrics.inputs.arrow import is_single
from stream_metrics.inputs.batch import Batch, label_batch, mixed_batch, score_batch
from stream_metrics.inputs.columns import as_column, read_weights
from stream_metrics.inputs.score_tables import (
    finite_scores,
    is_abstention,
    is_mapping,
    is_row,
    is_soft,
    predictions_by_class,
    row_of_scores,
)
from stream_metrics.labels import canonical, is_missing, most_likely, ordering, unique
from stream_metrics.labels.class_names import OPEN, ClassNames
from stream_metrics.labels.pos_label import as_counted_before

if TYPE_CHECKING:
    from stream_metrics.states.protocols import Accumulator

Reads: TypeAlias = str  # "labels", "scores" or "both"; no Literal, as jedi cannot read a property annotated with one
Classes: TypeAlias = Iterable[Any] | None
Sample = tuple[Any, Any, Any]  # truth, prediction, weight
PLAIN = (str, int, bool, bytes)


def plain_sample(
    reads: Reads,
    given: tuple[object, ...],
    w: object,
    more: dict[str, Any],
    classes: Classes = None,
    keys: ClassNames = OPEN,
) -> Sample:
    """Return the arguments of one update as a sample.

    `classes` name a row of scores that comes without, and `keys` knows what keys of scores name.
    """
    if len(given) == 1 and "scores" not in more:
        raise TypeError("update() needs a prediction: `y_pred`, or `scores` for a state of scores")
    truth, y_pred, weight = given[0], (given[1] if len(given) > 1 else None), _weight(w)
    try:
        return _label(truth), _prediction(reads, truth, y_pred, dict(more), classes, keys), weight
    except Exception:  # what it is raised for, the state inside refuses
        return truth, ExtendedPrediction(y_pred, more) if more else y_pred, weight


def _prediction(
    reads: Reads, truth: object, y_pred: object, more: dict[str, Any], classes: Classes, keys: ClassNames
) -> object:
    """Return the prediction of a sample, and what comes beside it, as one value."""
    scores, names, soft = more.pop("scores", None), more.pop("classes", None), None
    if reads == "labels":
        more |= {name: value for name, value in (("scores", scores), ("classes", names)) if value is not None}
    elif reads == "scores" and not (is_abstention(scores) or is_abstention(y_pred)):
        return ExtendedPrediction(y_pred, {**more, "scores": scores})  # refused inside
    else:
        if is_abstention(scores) and (reads == "scores" or names is not None or is_soft(y_pred)):
            scores, y_pred = y_pred, None
        soft = _named(_soft(scores, classes if names is None else names), truth, keys)
    if reads == "scores":
        return _with(soft, None, more)
    return _with(_predicted(_named(y_pred, truth, keys)), soft, more)


def plain_rows(
    reads: Reads,
    y_true: object,
    y_pred: object,
    w: object,
    more: dict[str, Any],
    last: int,
    classes: Classes = None,
    keys: ClassNames = OPEN,
) -> tuple[int, list[Sample]]:
    """Return the number of rows of a batch that the state has accepted, and its `last` rows as samples."""
    more = dict(more)
    scores, names = more.pop("scores", None), more.pop("classes", None)
    scored: Batch | None = None
    if reads == "labels":
        whole = label_batch(y_true, y_pred, None, names=keys)
    elif reads == "scores":
        whole = scored = score_batch(y_true, y_pred if scores is None else scores, None, names)
    else:
        whole, scored, y_pred = mixed_batch(y_true, y_pred, None, scores, names)
        if scored is not None and y_pred is not None:
            whole.predicted = as_column(y_pred, "y_pred", True, predictions_by_class(whole.truth, keys))
    n = whole.n
    rows = slice(max(0, n - last), n)
    truths = whole.truth.objects(rows)
    predicted: list[Any] = [None] * len(truths) if whole.predicted is None else whole.predicted.objects(rows)
    if scored is not None:
        soft = _soft_column(scored, rows, classes)
        soft = [_named(s, truth, keys) for s, truth in zip(soft, truths, strict=True)]
        pairs = zip(predicted, soft, strict=True)
        predicted = soft if whole.predicted is None else [_with(p, s, {}) for p, s in pairs]
    for name, values in more.items():
        beside = as_column([values] * n if is_single(values) else values, name, True).objects(rows)
        predicted = [_with(p, None, {name: label}) for p, label in zip(predicted, beside, strict=True)]
    weight: list[Any] = [1] * len(truths)
    if w is not None:
        numbers = read_weights(w, n)[rows]
        weight = list(map(_weight, numbers if isinstance(numbers, list) else numbers.tolist()))
    return n, list(zip(truths, predicted, weight, strict=True))


def feed(state: Accumulator, samples: Iterable[Sample]) -> None:
    """Let a state count samples that a window has counted; in a batch, if nothing came beside their predictions."""
    as_counted_before(_feed, state, list(samples))


def _feed(state: Accumulator, rows: list[Sample]) -> None:
    if not any(type(predicted) is ExtendedPrediction for _, predicted, _ in rows):
        if rows:
            truth, predicted, weight = (list(values) for values in zip(*rows, strict=True))
            state.update_many(truth, predicted, None if weight.count(1) == len(weight) else weight)
        return
    for y_true, y_pred, w in rows:
        prediction = y_pred if type(y_pred) is ExtendedPrediction else ExtendedPrediction(y_pred, {})
        state.update(y_true, prediction.predicted, w, **prediction.more)


def write_samples(reads: Reads, samples: list[Sample]) -> list[object]:
    """Return samples as data: distinct labels as they first occur, truths, predictions, weights unless all are 1."""
    codes: dict[tuple[type, object], int] = {}

    def code(label: object) -> int:
        label = label + 0.0 if type(label) is float else label
        return codes.setdefault((type(label), label), len(codes))

    def write(value: object, soft: bool) -> object:
        if type(value) is ExtendedPrediction:
            more = [[name, write(value.more[name], name == "scores")] for name in sorted(value.more)]
            return [0, write(value.predicted, soft), more]
        if type(value) is dict:
            labels = list(value)
            labels = [labels[i] for i in ordering(labels)]
            return [[code(label) for label in labels], [value[label] for label in labels]]
        return value if value is None or (soft and type(value) is float) else code(value)

    rows = [(code(truth), write(predicted, reads != "labels")) for truth, predicted, _ in samples]
    weight = [_written(w, reads) for _, _, w in samples]
    ones = weight.count(1) == len(weight)
    labels = [label for _, label in codes]
    return [labels, [row[0] for row in rows], [row[1] for row in rows], [] if ones else weight]


def read_samples(content: Any) -> list[Sample]:
    """Return the samples of what `write_samples` wrote."""
    labels, truths, predictions, weight = content

    def read(value: object) -> object:
        if isinstance(value, tuple) and len(value) == 3:
            more = {name: read(item) for name, item in value[2]}
            return _with(read(value[1]), more.pop("scores", None), more)
        if isinstance(value, tuple):
            return dict(zip([labels[at] for at in value[0]], value[1], strict=True))
        return labels[value] if type(value) is int else value

    weight = weight or [1] * len(truths)
    return [(labels[t], read(p), w) for t, p, w in zip(truths, predictions, weight, strict=True)]


def _with(predicted: object, scores: object, more: dict[str, object]) -> object:
    """Put a prediction and what comes beside it into one object, if there is anything beside it."""
    more = {name: _label(value) for name, value in more.items()}
    if scores is not None and predicted is None and type(scores) in (float, dict):
        predicted = scores
    elif scores is not None:
        more["scores"] = scores
    if isinstance(predicted, ExtendedPrediction):
        more = {**predicted.more, **more}
        predicted = predicted.predicted
    return ExtendedPrediction(predicted, more) if more else predicted


def _label(value: object) -> object:
    return value if type(value) in PLAIN else canonical(value)


def _named(scores: object, truth: object, keys: ClassNames) -> object:
    """Return scores by the classes that their keys name beside a true label, anything else as it is."""
    return by_class(scores, truth, keys) if is_mapping(scores) else scores


def _predicted(value: object) -> object:
    """Return the label of a prediction; None for an abstention."""
    if isinstance(value, Mapping):
        return most_likely(value) if value else None
    return None if is_missing(value) else _label(value)


def _soft(scores: object, classes: Any) -> object:
    """Return scores as a float, a dict, or None."""
    if type(scores) is float or is_abstention(scores):
        return scores if type(scores) is float else None
    read = finite_scores(row_of_scores(scores, unique(classes)) if is_row(scores) else scores)
    if isinstance(read, float):
        return read
    row = {canonical(label): score for label, score in read.items()}
    return row if len(row) == len(read) else read


def _weight(w: object) -> object:
    """Return a weight as an int or a float, so that what is taken back later is what was counted."""
    return w if type(w) in (int, float) else checked_weight(w)


def _written(w: float, reads: Reads) -> int | float:
    """Return a weight as the counters take it: an int if it is whole, for labels a multiple of 2^-64.

    Sketches of scores count which weights they rounded, so for them it stays as it is.
    """
    if type(w) is int:
        return w
    whole = int(w)
    if reads != "labels":
        return float(w) if w != whole else whole
    units = round((w - whole) * 2.0**64)
    return whole + units / 2**64 if units else whole


def _soft_column(batch: Batch, rows: slice, classes: Classes) -> list[object]:
    """Return the scores of some of the caller's rows, None where there are none; `classes` name those without names."""
    names = tuple(batch.classes or classes or ())
    scores = batch.scores if batch.rows is not None else batch.scores[rows]
    if isinstance(scores, list):
        scores = [_soft(row, names) for row in scores]
    elif scores.ndim == 2:
        scores = [dict(zip(names, row, strict=True)) for row in scores.tolist()]
    else:
        scores = scores.tolist()
    if batch.rows is None:
        return scores
    by_row = dict(zip(batch.rows.tolist(), scores, strict=True))
    return [by_row.get(row) for row in range(rows.start, rows.stop)]
