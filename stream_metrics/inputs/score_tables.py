"""Batches of scores: whatever holds them becomes floats, or a list to be read object by object."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

import numpy as np

from stream_metrics._core.numeric.kernels import real_number, row_values
from stream_metrics.errors import ScoreError
from stream_metrics.inputs import arrow_scores
from stream_metrics.inputs.arrow import as_pyarrow, dictionary_encode
from stream_metrics.inputs.tensors import Array, Rows, Values, as_container, native
from stream_metrics.labels import Label, is_missing, unique

__all__ = [
    "finite_scores",
    "check_classes",
    "drop_null_rows",
    "is_mapping",
    "is_soft",
    "listed",
    "keyed_as_table",
    "is_abstention",
    "own_names",
    "plain_number",
    "materialize",
    "row_of_scores",
    "score_table",
    "soft_rows",
    "stand_in",
]

FLOAT = (float, np.floating)
LABELS = {str, int, bool, bytes, type(None)}  # types of predictions that are no scores


def own_names(scores: object) -> tuple[Label, ...] | None:
    """Return the names that the columns of a data frame or an Arrow table have; None for anything else."""
    arrow_data = as_pyarrow(scores)
    own = getattr(scores, "columns", None) if arrow_data is None else arrow_scores.names(arrow_data)
    if own is None or callable(own):
        return None
    return unique(own.tolist() if hasattr(own, "tolist") else own, "scores.columns")


def score_table(scores: object) -> Values:
    """Return a column or a table of float32 or float64, or a list of scores of any form."""
    if type(scores) is not np.ndarray:
        scores = _rows_of_scores(scores)
        if isinstance(scores, list):
            return scores
    array = native(np.asarray(scores))
    if array.dtype.kind not in "fiub":
        if array.dtype.kind != "O" or array.ndim > 2:
            raise ScoreError(argument="scores", expected="to be numbers", but=f"got the type {array.dtype}")
        rows = list(array)
        return _stacked(rows) if array.ndim == 1 else rows
    if array.ndim not in (1, 2):
        if not array.ndim:
            as_container(scores, "scores")
        but = f"got the shape {array.shape}"
        raise ScoreError(argument="scores", expected="to have one or two dimensions", but=but)
    return np.ascontiguousarray(array, np.float32 if array.dtype == np.float32 else np.float64)


def keyed_as_table(scores: Any, classes: Any) -> tuple[Any, Any]:
    """Return scores and classes, of a column of Arrow maps with the same keys a table and its keys."""
    table = None if classes is not None else arrow_scores.maps_as_table(scores)
    return (scores, classes) if table is None else table


def _rows_of_scores(scores: Any) -> Rows:
    """Return scores as something that NumPy reads, or as a list of rows that are not all floats."""
    if hasattr(scores, "mask") and hasattr(scores, "filled") and scores.ndim != 1:  # only a column may have gaps
        scores = scores.astype(np.float64).filled(np.nan)
    arrow_data = as_pyarrow(scores)
    container = as_container(scores if arrow_data is None else arrow_scores.scores(arrow_data), "scores")
    if hasattr(container, "__array__"):
        return container
    rows = list(container)
    return np.array(rows) if all(type(row) is float for row in rows) else _stacked(rows)


def _stacked(rows: list[Any]) -> Values:
    """Return rows as a table if each is an array of floats, all of one length and type; otherwise as they are."""
    first = rows[0] if rows else None
    if type(first) is not np.ndarray or first.ndim != 1 or first.dtype.kind != "f":
        return rows
    shape, dtype = first.shape, first.dtype
    alike = all(type(row) is np.ndarray and row.shape == shape and row.dtype == dtype for row in rows)
    return np.ascontiguousarray(np.stack(rows), np.float32 if dtype == np.float32 else np.float64) if alike else rows


def drop_null_rows(scores: object) -> tuple[Values, Array | None]:
    """Return what `score_table` does, of Arrow only the rows that have scores, with for each row whether it has."""
    arrow_data = None if isinstance(scores, np.ndarray | list) else as_pyarrow(scores)
    some = None if arrow_data is None else arrow_scores.given(arrow_data)
    if some is not None and some[1].any() and not isinstance(table := score_table(some[0]), list):
        return table, some[1]
    return score_table(scores if arrow_data is None else arrow_data), None


def check_classes(names: tuple[Label, ...] | None, k: int) -> tuple[Label, ...]:
    """Return the names of k columns; ScoreError if there are none, or not k."""
    if names is None:
        raise ScoreError(f"Expected `classes` to say which class each of the {k} columns of `scores` belongs to")
    if len(names) != k:
        raise ScoreError(argument="scores", expected=f"to have {len(names)} columns, one a class", got=k)
    return names


def row_of_scores(scores: object, names: tuple[Label, ...]) -> dict[Label, object]:
    """Return a sequence of scores, one for each of the names, as a mapping."""
    row = row_values(scores)
    if row is None:
        subject = "a row of scores,"
        raise ScoreError(
            argument="scores", subject=subject, expected="one for each of `classes`", got=scores, position_last=True
        )
    if len(row) != len(names):
        subject = f"{len(names)} scores,"
        raise ScoreError(
            argument="scores", subject=subject, expected="one for each of `classes`", got=len(row), position_last=True
        )
    return dict(zip(names, row, strict=True))


def materialize(values: object, argument: str) -> Any:
    """Return what can be read more than once, text of Arrow numbered once; an error for what is no column."""
    if values is None and argument != "y_true":
        return None
    arrow_data = as_pyarrow(values)
    return as_container(values, argument) if arrow_data is None else dictionary_encode(arrow_data)


def is_abstention(scores: object) -> bool:
    """Tell whether a sample has no scores."""
    kind = type(scores)
    if kind is float or kind is int or (kind is dict and scores):
        return False
    if scores is None or is_mapping(scores):
        return not scores
    return is_missing(scores) and not isinstance(plain_number(scores), float)  # nan is a score that is refused


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


def soft_rows(y_pred: object, classes: object) -> tuple[Any, Any, Array | None]:
    """Return scores, predictions and the rows that have scores, from a column of predictions of either sort."""
    if y_pred is None:
        return None, None, None
    if classes is not None or getattr(y_pred, "ndim", 1) == 2 or own_names(y_pred) is not None:
        return y_pred, None, None
    arrow_data = as_pyarrow(y_pred)
    if arrow_data is not None:
        return (arrow_data, None, None) if arrow_scores.is_soft(arrow_data) else (None, arrow_data, None)
    kind: str = getattr(getattr(y_pred, "dtype", None), "kind", "O")
    if kind != "O":
        return (y_pred, None, None) if kind == "f" else (None, y_pred, None)
    given, y_pred = y_pred, listed(y_pred)
    if LABELS.issuperset(map(type, y_pred)):
        return None, given, None
    soft = np.array([is_soft(p) for p in y_pred], bool)
    if not soft.any():
        return None, given, None
    if soft.all():
        return list(y_pred), None, None
    rows = np.flatnonzero(soft)
    return [y_pred[i] for i in rows.tolist()], y_pred, rows


def listed(column: Any) -> list[Any]:
    """Return the rows of a column as objects."""
    if hasattr(column, "codes") and hasattr(column, "categories"):
        names = list(column.categories)
        return [names[code] if 0 <= code < len(names) else None for code in np.asarray(column.codes).tolist()]
    return list(column.tolist() if hasattr(column, "tolist") else column)


def stand_in(y_pred: object, scores: object) -> tuple[Any, Any]:
    """Let predictions that are scores stand in for the rows of `scores` that are missing, as `update` does.

    Returns predictions and scores, unchanged where there is no such row.
    """
    if soft_rows(y_pred, None)[0] is None:
        return y_pred, scores
    table, some = drop_null_rows(scores)
    rows = iter(table)
    full = list(rows) if some is None else [next(rows) if there else None for there in some.tolist()]
    predicted = listed(y_pred)
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
        if not math.isfinite(number):
            expected, but = "to be a finite number", f"got {scores!r}"
            raise ScoreError(
                argument="scores", subject="the score", expected=expected, got=number, but=but, position_last=True
            )
        return number
    if {float}.issuperset(map(type, scores.values())) and math.isfinite(sum(scores.values())):
        return scores
    read: dict[Label, float] = {}
    for label, score in scores.items():
        number = real_number(score)
        if number is None or not math.isfinite(number):
            raise ScoreError(
                argument="scores",
                subject="every score",
                expected="to be a finite number",
                got=score,
                but=f"got {score!r:.60} for {label!r}",
                position_last=True,
            )
        read[label] = number
    return read


def is_mapping(scores: object) -> TypeGuard[Mapping[Label, Any]]:
    """Tell whether scores are a mapping; most are plain dictionaries, which takes no time."""
    return type(scores) is dict or isinstance(scores, Mapping)
