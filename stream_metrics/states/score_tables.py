"""Batches of scores: whatever holds them becomes floats, or a list to be read object by object."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stream_metrics.errors import ScoreError
from stream_metrics.labels import Label, unique
from stream_metrics.states import arrow_scores
from stream_metrics.states.arrow import encoded, known
from stream_metrics.states.columns import Column, coded, weights
from stream_metrics.states.tensors import untensored

__all__ = [
    "all_finite",
    "finite",
    "fitting",
    "gapless",
    "is_mapping",
    "is_soft",
    "nothing",
    "own_names",
    "places",
    "plain_number",
    "rereadable",
    "row_of_scores",
    "score_table",
    "soft_rows",
    "taken",
]

FLOAT = (float, np.floating)


def own_names(scores: Any) -> tuple[Label, ...] | None:
    """Return the names that the columns of a data frame or an Arrow table have; None for anything else."""
    found = known(scores)
    own = getattr(scores, "columns", None) if found is None else arrow_scores.names(found)
    if own is None or callable(own):
        return None
    return unique(own.tolist() if hasattr(own, "tolist") else own, "scores.columns")


def score_table(scores: Any) -> np.ndarray[Any, Any] | list[Any]:
    """Return a column or a table of float32 or float64, or a list of scores of any form."""
    if hasattr(scores, "mask") and hasattr(scores, "filled"):  # in a column, what is masked is an abstention
        scores = scores.tolist() if scores.ndim == 1 else scores.astype(np.float64).filled(np.nan)
    found = known(scores)
    scores = scores if found is None else arrow_scores.scores(found)
    scores = untensored(scores, "scores", ScoreError)
    if isinstance(scores, str | bytes) or not (hasattr(scores, "__array__") or isinstance(scores, Iterable)):
        raise ScoreError(f"Expected `scores` to be a column or a table of probabilities, but got {scores!r:.60}")
    if not hasattr(scores, "__array__"):
        rows = list(scores)
        if not all(type(row) is float for row in rows):
            return rows
        scores = rows
    array = np.asarray(scores)
    if array.dtype.kind not in "fiub":
        if array.dtype.kind != "O" or array.ndim > 2:
            raise ScoreError(f"Expected `scores` to be probabilities, but got the type {array.dtype}")
        return list(array)
    if array.ndim not in (1, 2):
        raise ScoreError(f"Expected `scores` to have one or two dimensions, but got the shape {array.shape}")
    return np.ascontiguousarray(array, np.float32 if array.dtype == np.float32 else np.float64)


def gapless(scores: Any) -> tuple[np.ndarray[Any, Any] | list[Any], np.ndarray[Any, Any] | None]:
    """Return what `score_table` does, of Arrow only the rows that have scores, with for each row whether it has."""
    found = known(scores)
    some = None if found is None else arrow_scores.given(found)
    if some is not None and some[1].any() and not isinstance(table := score_table(some[0]), list):
        return table, some[1]
    return score_table(scores if found is None else found), None


def fitting(names: tuple[Label, ...] | None, k: int) -> tuple[Label, ...]:
    """Return the names of k columns; ScoreError if there are none, or not k."""
    if names is None:
        raise ScoreError(f"Expected `classes` to say which class each of the {k} columns of `scores` belongs to")
    if len(names) != k:
        raise ScoreError(f"Expected `scores` to have {len(names)} columns, one a class, but got {k}")
    return names


def places(truth: Column, names: tuple[Label, ...]) -> np.ndarray[Any, Any]:
    """Return for each row the column of its true label, or -1."""
    place = {label: i for i, label in enumerate(names)}
    if truth.names is None and len(truth.values):
        low, high = int(truth.values.min()), int(truth.values.max())
        if high - low < 256 + len(truth.values) and high < 2**63:
            columns = np.array([place.get(label, -1) for label in range(low, high + 1)], np.int32)
            return np.asarray(columns[np.subtract(truth.values, low, dtype=np.intp, casting="unsafe")])
    codes, labels = coded(truth)
    return np.asarray(np.array([place.get(label, -1) for label in labels], np.int32)[codes])


def row_of_scores(scores: Any, names: tuple[Label, ...]) -> dict[Label, Any]:
    """Return a sequence of scores, one for each of the names, as a mapping."""
    if isinstance(scores, str | bytes) or not isinstance(scores, Iterable) or getattr(scores, "shape", (1,)) == ():
        raise ScoreError(f"Expected a row of scores, one for each of `classes`, but got {scores!r:.60}")
    row = list(scores)
    if len(row) != len(names):
        raise ScoreError(f"Expected {len(names)} scores, one for each of `classes`, but got {len(row)}")
    return dict(zip(names, row, strict=True))


def finite(score: Any) -> bool:
    """Tell whether a number is finite, also as a float."""
    try:
        return math.isfinite(score)
    except OverflowError:
        return False


def rereadable(values: Any) -> Any:
    """Return what can be read more than once, text of Arrow numbered once."""
    found = known(values)
    if found is not None:
        return encoded(found)
    once = isinstance(values, Iterable) and not hasattr(values, "__len__")
    return list(values) if once else values


def taken(w: Any, rows: list[int], n: int) -> Any:
    """Return the weights of some of n rows."""
    if w is None:
        return None
    checked = weights(w, n)
    return [checked[row] for row in rows] if isinstance(checked, list) else checked[rows]


def nothing(scores: Any) -> bool:
    """Tell whether a sample has no scores."""
    return scores is None or (is_mapping(scores) and not scores)


def is_soft(y_pred: Any) -> bool:
    """Tell whether a prediction is scores: a mapping, or a float, which stands for the score of `pos_label`."""
    return isinstance(y_pred, FLOAT) or is_mapping(y_pred)


def _kind(values: Any) -> str:
    """Return the kind of the elements of a column as NumPy names it; "" if it is no array."""
    kind: str | None = getattr(getattr(values, "dtype", None), "kind", None)
    if kind is not None:
        return kind
    values = untensored(values, "y_pred", ScoreError)
    return np.asarray(values).dtype.kind if hasattr(values, "__array__") or isinstance(values, array) else ""


def plain_number(value: Any) -> Any:
    """Return an array without dimensions as the number that it holds, anything else as it is."""
    return value.item() if getattr(value, "shape", None) == () and hasattr(value, "item") else value


def soft_rows(y_pred: Any, classes: Any) -> tuple[Any, Any, Any]:
    """Return scores, predictions and the rows that have scores, from a column of predictions of either sort."""
    if classes is not None or getattr(y_pred, "ndim", 1) == 2 or own_names(y_pred) is not None:
        return y_pred, None, None
    found = known(y_pred)
    if found is not None:
        return (found, None, None) if arrow_scores.is_soft(found) else (None, found, None)
    kind = "O" if isinstance(y_pred, list | tuple) else _kind(y_pred)
    if kind != "O":
        return (y_pred, None, None) if kind == "f" else (None, y_pred, None)
    given, y_pred = y_pred, list(y_pred)
    soft = np.array([is_soft(p) for p in y_pred], bool)
    if not soft.any():
        return None, given, None
    if soft.all():
        return list(y_pred), None, None
    rows = np.flatnonzero(soft)
    return [y_pred[i] for i in rows.tolist()], y_pred, rows


def all_finite(scores: Iterable[Any]) -> bool:
    """Tell at once of most samples that all their scores are finite numbers."""
    try:
        return math.isfinite(sum(scores))
    except (TypeError, ValueError, OverflowError):
        return False


def is_mapping(scores: Any) -> bool:
    """Tell whether scores are a mapping; most are plain dictionaries, which takes no time."""
    return type(scores) is dict or isinstance(scores, Mapping)
