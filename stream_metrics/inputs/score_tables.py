"""Batches of scores: whatever holds them becomes floats, or a list to be read object by object.

Keys of scores become classes row by row: what a key that is text names follows from the truth of its row. The rule is
in `labels.class_names`; a single sample is read by the compiled counters, with the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import real_number, row_values, rows_by_class
from stream_metrics.errors import ScoreError
from stream_metrics.inputs import arrow
from stream_metrics.inputs.arrow import Values, native
from stream_metrics.inputs.columns import Column, Namer, as_container, is_coded, row_objects
from stream_metrics.labels import Label, is_missing, unique
from stream_metrics.labels.class_names import OPEN, ClassNames

FLOAT = (float, np.floating)
LABELS = {str, int, bool, bytes, type(None)}  # types of predictions that are no scores


def own_names(scores: object) -> tuple[Label, ...] | None:
    """Return the names that the columns of a data frame or an Arrow table have; None for anything else."""
    arrow_data = arrow.as_pyarrow(scores)
    own = getattr(scores, "columns", None) if arrow_data is None else arrow.column_names(arrow_data)
    if own is None or callable(own):
        return None
    return unique(own.tolist() if hasattr(own, "tolist") else own, "scores.columns")


def score_table(scores: object) -> Values:
    """Return a column or a table of float32 or float64, or a list of scores of any form."""
    rows = as_container(scores, "scores")
    if arrow.is_pyarrow(rows):
        rows = arrow.scores(rows)
    array = rows if isinstance(rows, list) or is_coded(rows) else native(np.asarray(rows))
    if isinstance(array, np.ndarray) and array.ndim > 2:
        but = f"got the shape {array.shape}"
        raise ScoreError(argument="scores", expected="to have one or two dimensions", but=but)
    if isinstance(array, np.ndarray) and array.dtype.kind in "fiub":
        return np.ascontiguousarray(array, np.float32 if array.dtype == np.float32 else np.float64)
    rows = row_objects(array)
    return np.array(rows, np.float64) if {float}.issuperset(map(type, rows)) else _stacked(rows)


def keyed_as_table(scores: Any, classes: Any) -> tuple[Any, Any]:
    """Return scores and classes, of a column of Arrow maps with the same keys a table and its keys."""
    table = None if classes is not None else arrow.maps_as_table(scores)
    return (scores, classes) if table is None else table


def _stacked(rows: list[Any]) -> Values:
    """Return rows as a table if each is an array of floats, all of one length and type; otherwise as they are."""
    first = rows[0] if rows else None
    if type(first) is not np.ndarray or first.ndim != 1 or first.dtype.kind != "f":
        return rows
    shape, dtype = first.shape, first.dtype
    alike = all(type(row) is np.ndarray and row.shape == shape and row.dtype == dtype for row in rows)
    return np.ascontiguousarray(np.stack(rows), np.float32 if dtype == np.float32 else np.float64) if alike else rows


def check_classes(names: tuple[Label, ...] | None, k: int) -> tuple[Label, ...]:
    """Return the names of k columns; ScoreError if there are none, or not k."""
    if names is None:
        expected = f"to say which class each of the {k} columns of `scores` belongs to"
        raise ScoreError(argument="classes", expected=expected, got=None)
    if len(names) != k:
        raise ScoreError(argument="scores", expected=f"to have {len(names)} columns, one a class", got=k)
    return names


def row_of_scores(scores: object, names: tuple[Label, ...]) -> dict[Label, object]:
    """Return a sequence of scores, one for each of the names, as a mapping."""
    row = row_values(scores)
    if row is None or len(row) != len(names):
        subject, got = ("a row of scores,", scores) if row is None else (f"{len(names)} scores,", len(row))
        expected = "one for each of `classes`"
        raise ScoreError(argument="scores", subject=subject, expected=expected, got=got, position_last=True)
    return dict(zip(names, row, strict=True))


def materialize(values: object, argument: str) -> Any:
    """Return what can be read more than once, text of Arrow numbered once; an error for what is no column."""
    if values is None and argument != "y_true":
        return None
    rows = as_container(values, argument)
    is_text = arrow.is_pyarrow(rows) and hasattr(rows, "type") and arrow.is_text(rows.type)
    return rows.dictionary_encode() if is_text else rows


def is_abstention(scores: object) -> bool:
    """Tell whether a sample has no scores."""
    kind = type(scores)
    if kind is float or kind is int or (kind is dict and scores):
        return False
    if scores is None or is_mapping(scores):
        return not scores
    return is_missing(scores) and not isinstance(plain_number(scores), FLOAT)  # nan is a score that is refused


def is_soft(y_pred: object) -> bool:
    """Tell whether a prediction is scores: a mapping, or a float, which stands for the score of `pos_label`.

    An array or a tensor without dimensions is what it holds.
    """
    kind = type(y_pred)
    if kind is float or kind is dict:
        return True
    if kind in LABELS:
        return False
    return isinstance(plain_number(y_pred), FLOAT) or is_mapping(y_pred)


def plain_number(value: object) -> object:
    """Return an array or a tensor without dimensions as the number that it holds, anything else as it is."""
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def soft_rows(y_pred: object, classes: object) -> tuple[Any, Any]:
    """Return the scores in a column of predictions and the other predictions; None where there are none of these."""
    if y_pred is None:
        return None, None
    y_pred = as_container(y_pred, "y_pred")
    kind: str = getattr(getattr(y_pred, "dtype", None), "kind", "O")
    if classes is not None or getattr(y_pred, "ndim", 1) == 2 or own_names(y_pred) is not None:
        soft = [True]
    elif arrow.is_pyarrow(y_pred):
        soft = [arrow.is_soft(y_pred)]
    elif kind != "O":
        soft = [kind == "f"]
    else:
        rows = row_objects(y_pred)
        soft = [] if LABELS.issuperset(map(type, rows)) else [is_soft(p) for p in rows]
        if any(soft) and not all(soft):
            pairs = list(zip(rows, soft, strict=True))
            return [p if scored else None for p, scored in pairs], [None if scored else p for p, scored in pairs]
    return (y_pred, None) if any(soft) else (None, y_pred)


def stand_in(y_pred: object, scores: object) -> tuple[Any, Any]:
    """Let predictions that are scores stand in for the rows of `scores` that are missing, as `update` does.

    Returns predictions and scores, unchanged where there is no such row.
    """
    if soft_rows(y_pred, None)[0] is None:
        return y_pred, scores
    full, predicted = list(score_table(scores)), row_objects(y_pred)
    missing = [
        at for at, (row, p) in enumerate(zip(full, predicted, strict=False)) if is_abstention(row) and is_soft(p)
    ]
    for at in missing:
        full[at], predicted[at] = predicted[at], None
    return (predicted, full) if missing else (y_pred, scores)


def finite_scores(scores: object) -> float | Mapping[Label, float]:
    """Return the scores of a sample as a float or as a mapping to floats; ScoreError for what is no finite number."""
    if not is_mapping(scores):
        number = real_number(scores)
        if number is None:
            expected = "to be a mapping from label to number, a number, or a sequence with `classes`"
            raise ScoreError(argument="scores", expected=expected, got=scores, position_last=True)
        return _finite(number, number, "the score", f"got {scores!r}")
    if {float}.issuperset(map(type, scores.values())) and math.isfinite(sum(scores.values())):
        return scores
    read: dict[Label, float] = {}
    for label, score in scores.items():
        read[label] = _finite(real_number(score), score, "every score", f"got {score!r:.60} for {label!r}")
    return read


def _finite(number: float | None, got: object, subject: str, but: str) -> float:
    if number is None or not math.isfinite(number):
        expected = "to be a finite number"
        raise ScoreError(argument="scores", subject=subject, expected=expected, got=got, but=but, position_last=True)
    return number


def is_row(scores: object) -> bool:
    """Tell whether the scores of a sample are a sequence, one for each class."""
    return not is_mapping(scores) and row_values(scores) is not None


def is_mapping(scores: object) -> TypeGuard[Mapping[Label, Any]]:
    """Tell whether scores are a mapping; most are plain dictionaries, which takes no time."""
    return type(scores) is dict or isinstance(scores, Mapping)


def names_of_state(state: Any) -> ClassNames:
    """Return what keys of scores name where a state, a metric or a set of metrics counts them."""
    names: ClassNames = getattr(getattr(state, "state", state), "class_names", OPEN)
    return names


def numeric_rows(truth: Column) -> bool | NDArray[np.bool_]:
    """Return for each row whether its true label is a number; one answer if it holds for all."""
    if truth.names is None:
        return True
    numeric = np.array([*(isinstance(name, int | float) for name in truth.names), False])  # the last: no label
    if numeric[:-1].all() or not numeric.any():
        return bool(numeric.any())
    rows: NDArray[np.bool_] = numeric[truth.values]
    return rows if rows.any() and not rows.all() else bool(rows.any())


def predictions_by_class(truth: Column, names: ClassNames) -> Namer:
    """Return a function from a prediction that is scores, and its row, to the scores by class."""
    numeric: list[bool | NDArray[np.bool_]] = []

    def named(scores: Mapping[Any, Any], row: int) -> Mapping[Any, Any]:
        if not numeric:
            numeric.append(numeric_rows(truth))
        every = numeric[0]
        if row >= truth.n:  # the lengths differ, which is refused later
            return scores
        return names.of_mapping(scores, every if isinstance(every, bool) else bool(every[row]), row)

    return named


def scores_by_class(
    truth: Column, scores: Values, classes: tuple[Label, ...] | None, names: ClassNames
) -> tuple[Values, tuple[Label, ...] | None]:
    """Return the scores of a batch, and the classes of its columns or rows, by the classes that keys name.

    Where that differs by row, a row of a table becomes a mapping.
    """
    numeric = numeric_rows(truth)
    if names.fixed is None and numeric is False:
        return scores, classes
    if isinstance(scores, list) and len(scores) == truth.n:
        scores = rows_by_class(scores, numeric, names)
    if classes is None:
        return scores, None
    named = names.of_all(classes, True)
    if named is classes or names.fixed is not None or numeric is True:
        return scores, named
    assert not isinstance(numeric, bool)
    if not isinstance(scores, list) and scores.ndim != 2:
        return scores, classes
    rows = scores if isinstance(scores, list) else list(scores.tolist())
    by_row = zip(rows, numeric.tolist(), strict=True)
    return [row_of_scores(row, named) if number and is_row(row) else row for row, number in by_row], classes
