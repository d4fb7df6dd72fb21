"""Sentences about data that look wrong, as far as the counters of a stream can tell.

A warning is about the data, not about the uncertainty of a value: that is what intervals and their notes are for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_metrics.labels import sort_key
from stream_metrics.labels.class_names import number_named
from stream_metrics.ranking.calibration import has_margins, reliability_curve
from stream_metrics.ranking.classes import RankState, classes, columns
from stream_metrics.ranking.protocol import OWN

if TYPE_CHECKING:
    from stream_metrics.evaluation.evaluation import Evaluation
    from stream_metrics.labels import Label


LEAST = 3  # samples; fewer may be of one class, or all wrong, by chance
LEAST_ALARM = 50  # samples from which that is worth an alarm
SHOWN = 3  # classes that a sentence names
MANY = 100  # classes; with more, no sum is checked, since each class takes a millisecond
CLOSE = 0.01  # by which a mean sum of probabilities may differ from 1
MARGINS = (
    "A score lies outside [0, 1]: scores are taken as margins and not as probabilities, "
    "without losses and calibration errors"
)


def data_warnings(evaluation: Evaluation) -> tuple[str, ...]:
    """Return sentences about data that look wrong.

    Parameters
    ----------
    evaluation : Evaluation
        The states of a stream.

    Returns
    -------
    tuple of str
        The sentences; empty if nothing looks wrong.
    """
    return (*_of_labels(evaluation), *_of_scores(evaluation))


def label_warnings(
    truth: Sequence[Label], predicted: Sequence[Label], n: int, predictions: str = "predictions"
) -> Iterator[str]:
    """Yield what looks wrong about the classes of `n` samples.

    Parameters
    ----------
    truth, predicted : sequence of Label
        The classes that occur as true labels, and as predictions.
    n : int
        Number of samples.
    predictions : str, default "predictions"
        What a sentence calls the predictions.

    Yields
    ------
    str
        A sentence.
    """
    mismatch = _mismatch(truth, predicted, n, predictions)
    if mismatch is not None:
        yield mismatch
    if n >= LEAST and len(truth) == 1:
        yield f"All {n:,} true labels are {truth[0]!r:.60}: most metrics compare classes and say little here"


def _mismatch(
    truth: Sequence[Label], predicted: Sequence[Label], n: int, predictions: str = "predictions", least: int = LEAST
) -> str | None:
    """Return why true labels and predictions seem to be written differently; None if they do not.

    Either they have no class in common, or a class occurs as a number and as its text. Fewer than `least` samples may
    have no class in common by chance, unless the types differ, too.
    """
    if predicted and _differ(truth, predicted, n, least):
        return _nothing_in_common(truth, predicted, predictions)
    labels = {*truth, *predicted}
    if all(type(label) is str for label in labels):
        return None
    texts = sorted(label for label in labels if type(label) is str and number_named(label) in labels)
    if not texts:
        return None
    pairs = [f"{number_named(text)!r} and {text!r}" for text in texts[:SHOWN]]
    more = ", ..." if len(texts) > SHOWN else ""
    return f"Classes are counted apart as numbers and as texts: {', '.join(pairs)}{more}. Check the types"


def matrix_mismatch(evaluation: Evaluation) -> str | None:
    """Return why true labels and predictions of a stream seem to be written differently, once this cannot be chance.

    Parameters
    ----------
    evaluation : Evaluation
        The states of a stream, with a confusion matrix.

    Returns
    -------
    str or None
        The sentence, None if the classes are written alike.
    """
    truth, predicted = _classes_of_matrix(evaluation)
    return _mismatch(truth, predicted, evaluation.n, least=LEAST_ALARM)


def _classes_of_matrix(evaluation: Evaluation) -> tuple[list[Label], list[Label]]:
    """Return the classes that occur as true labels, and as predictions."""
    labels = evaluation.views["counts"].labels
    truth, predicted = (
        [labels[at] for at in np.flatnonzero(evaluation.value_and_undefined(key)[0])]
        for key in ("support", "predicted_count")
    )
    return truth, predicted


def _differ(truth: Sequence[Label], others: Sequence[Label], n: int, least: int = LEAST) -> bool:
    """Tell whether no class is in both, and not by chance: there are some samples, or the types differ, too."""
    if not truth or set(truth) & set(others):
        return False
    return n >= least or not {sort_key(label)[0] for label in truth} & {sort_key(label)[0] for label in others}


def _nothing_in_common(truth: Sequence[Label], others: Sequence[Label], what: str) -> str:
    return (
        f"True labels and {what} have no class in common: {_listed(truth)} and {_listed(others)}. "
        "Check their spelling and types"
    )


def _listed(labels: Sequence[Label]) -> str:
    shown = ", ".join(f"{label!r:.40}" for label in labels[:SHOWN])
    return shown + (", ..." if len(labels) > SHOWN else "")


def _of_labels(evaluation: Evaluation) -> Iterator[str]:
    """Yield what the classes tell: those of the matrix, else those of the scores."""
    if "counts" in evaluation.states:
        truth, predicted = _classes_of_matrix(evaluation)
        yield from label_warnings(truth, predicted, evaluation.n)
    elif "ranks" in evaluation.states:
        view = evaluation.views["ranks"]
        occurring, scored = _classes_of_scores(view)
        if occurring:
            yield from label_warnings(occurring, scored, evaluation.n, "classes of scores")


def _classes_of_scores(view: RankState) -> tuple[list[Label], list[Label]]:
    """Return the classes that occur as true labels and those that have scores; nothing for single numbers."""
    own = classes(view)
    if len(own) < 2:
        return [], []
    by_class = list(zip(own, columns(view), strict=True))
    truth = [label for label, column in by_class if column.totals[OWN]]
    scored = [label for label, column in by_class if len(column.cells)]
    # of one class each: the score may be a single number, beside samples of the other class
    return truth, [] if len(truth) == len(scored) == 1 else scored


def _of_scores(evaluation: Evaluation) -> Iterator[str]:
    """Yield what the scores and their weights tell."""
    if "ranks" not in evaluation.states:
        if "confidence" in evaluation.states:  # whose largest scores tell as much
            yield from _of_weights(evaluation.states["confidence"])
            if any(map(has_margins, columns(evaluation.views["confidence"]))):
                yield MARGINS
        return
    view = evaluation.views["ranks"]
    if "counts" in evaluation.states:
        truth, scored = _classes_of_scores(view)
        predicted = np.flatnonzero(evaluation.value_and_undefined("predicted_count")[0])
        labels = evaluation.views["counts"].labels
        said = not set(truth) & {labels[at] for at in predicted}  # by `_of_labels`
        if scored and not said and _differ(truth, scored, evaluation.n):
            yield _nothing_in_common(truth, scored, "classes of scores")
    yield from _of_weights(evaluation.states["ranks"])
    each = columns(view)
    curves = [(reliability_curve(column, bins=1), column) for column in each[:MANY]]
    if any(not len(curve.scores) and any(column.totals) for curve, column in curves):
        yield MARGINS
    elif "losses" in evaluation.states and 1 < len(each) <= MANY:
        total = math.fsum(float(curve.scores[0]) for curve, _ in curves if len(curve.scores))
        if any(any(column.totals) for _, column in curves) and abs(total - 1) > CLOSE:
            yield f"The probabilities of a sample sum to {total:.3g} on average, and not to 1"


def _of_weights(sketch: Any) -> Iterator[str]:
    if rounded := int(sketch.rounded):
        yield f"The weight{' of 1 sample was' if rounded == 1 else f's of {rounded:,} samples were'} rounded to 2^-64"
