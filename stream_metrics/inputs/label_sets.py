"""Samples with several labels each: sets of labels, rows that say of each label whether it is there, or scores.

Labels that are whole numbers are read as ints, so that the type of a label does not depend on the order of samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np

from stream_metrics._core.numeric.kernels import real_number, row_values
from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.inputs.arrow import Array, tensor_to_numpy
from stream_metrics.inputs.columns import as_container, is_table, row_objects
from stream_metrics.inputs.score_tables import own_names, score_table
from stream_metrics.labels import Label, canonical, is_missing, unique

NONE: Label = ()  # stands beside a label that is true and not predicted, or predicted and not true
PLAIN = {str, int, bytes}
SCORED = "to be a mapping from label to number, or a row of numbers with `classes`"
ALLOWED = f"to be a set or list of labels, or {SCORED.removeprefix('to be ')}"
Names = tuple[Label, ...] | None


def label_set(value: object, argument: str, names: Names, threshold: float | None) -> Any:
    """Return the set of the labels of a sample, None if it has no value; `threshold` is that of predictions."""
    labels: Any = value
    if not isinstance(value, list | tuple | Set):
        row = _by_label(value, argument, names, LabelError, ALLOWED)
        if row is None:
            return None
        labels = [label for label, x in row.items() if _is_there(x, argument, threshold)]
    if not PLAIN.issuperset(map(type, labels)):
        labels = _plain(labels, argument)
    distinct = labels if isinstance(labels, Set) else set(labels)
    if len(distinct) != len(labels) or NONE in distinct:
        hint = "; rows of 0 and 1 are arrays" if {0, 1}.issuperset(distinct) else ""
        expected, but = "to have distinct labels, none of them ()", f"got {value!r:.60}{hint}"
        raise LabelError(argument=argument, expected=expected, got=value, but=but)
    return distinct


def score_row(value: object, names: Names, labels: Iterable[Label]) -> dict[Label, float]:
    """Return the scores of a sample by label, empty if it has none; an error unless there is one for each label."""
    row = _by_label(value, "scores", names, ScoreError, SCORED)
    if row is None:
        return {}
    scores = {label: _finite(row.get(label), "scores") for label in labels}
    if len(scores) != len(row):
        raise LabelError(argument="scores", expected=f"to be those of {list(scores)!r:.80}", got=list(row))
    return scores


def _by_label(value: Any, argument: str, names: Names, error: type[Any], expected: str) -> dict[Label, Any] | None:
    """Return a mapping or a row of values by label; None if it is empty or missing."""
    if hasattr(value, "iloc") and type(value.index).__name__ != "RangeIndex":  # a row of a data frame
        value = value.to_dict()
    if isinstance(value, Mapping):
        return dict(zip(_plain(value, argument), value.values(), strict=True)) or None
    if is_missing(value):
        return None
    row = row_values(value)
    if row is None:
        raise error(argument=argument, expected=expected, got=value)
    if not all(real_number(x) is not None for x in row):
        return dict.fromkeys(_plain(row, argument), True)
    _check_width(names, len(row), argument)
    return dict(zip(names or range(len(row)), row, strict=True))


def _check_width(names: Names, k: int, argument: str) -> None:
    if names is not None and len(names) != k:
        raise LabelError(argument=argument, expected=f"to have {len(names)} columns, one a label", got=k)


def _plain(labels: Iterable[object], argument: str) -> list[Label]:
    plain = [canonical(label, argument) for label in labels]
    return [int(a) if isinstance(a, bool | float) and a == int(a) else a for a in plain]


def _finite(x: object, argument: str) -> float:
    score = real_number(x)
    if score is None or not math.isfinite(score):
        raise ScoreError(argument=argument, expected="to have a finite score for every label", got=x)
    return score


def _is_there(x: object, argument: str, threshold: float | None) -> bool:
    """Tell whether a value says that a sample has a label: 1 or True, and of a prediction a score that is enough."""
    if threshold is not None:
        return _finite(x, argument) >= threshold
    number = real_number(x)
    if number != 0 and number != 1:
        raise LabelError(argument=argument, expected="to say of each label True or False, 1 or 0", got=x)
    return number == 1


def label_rows(values: Any, argument: str, classes: Names, beside: Any, labels: Names) -> tuple[Any, Any]:
    """Return a batch as a table, whose columns have the names returned, or as a list of rows.

    What has no names has those of `beside`, which is the truth or the predictions beside it, or else `labels`.
    """
    values = tensor_to_numpy(values.toarray() if hasattr(values, "toarray") else values, argument)
    names = classes or own_names(values) or own_names(beside) or labels
    is_frame = is_table(values) or hasattr(values, "get_column")
    values = np.asarray(score_table(values)) if is_frame else as_container(values, argument)
    if not (isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "biuf"):
        return row_objects(values, argument), names
    _check_width(names, values.shape[1], argument)
    return values, tuple(_plain(range(values.shape[1]) if names is None else unique(names, "classes"), "classes"))


def read_tables(truth: Any, predicted: Any, threshold: float) -> tuple[Array, Array] | None:
    """Return which labels are true, and predicted, in two tables; None if a row has to be read to know."""
    if not (isinstance(truth, np.ndarray) and isinstance(predicted, np.ndarray)):
        return None
    true, positive = truth == 1, predicted >= threshold
    return (true, positive) if (true | (truth == 0)).all() and np.isfinite(predicted).all() else None
