"""Keys of scores become classes, row by row: what a key that is text names follows from the truth of its row.

The rule itself is in `labels.class_names`; a single sample is read by the compiled counters, with the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.numeric.kernels import rows_by_class
from stream_metrics.inputs.columns import Column, Namer
from stream_metrics.inputs.score_tables import is_mapping, row_of_scores
from stream_metrics.inputs.tensors import Values
from stream_metrics.labels import Label
from stream_metrics.labels.class_names import OPEN, ClassNames


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
    return [row_of_scores(row, named) if number and _is_row(row) else row for row, number in by_row], classes


def _is_row(scores: object) -> bool:
    """Tell whether the scores of a sample are a sequence."""
    return hasattr(scores, "__len__") and not is_mapping(scores) and not isinstance(scores, str | bytes)
