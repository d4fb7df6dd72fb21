"""States of many groups that count labels only, written from a table of counts without a state for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.confusion.kernels import pack_runs
from stream_metrics.inputs.batch import read_counts
from stream_metrics.inputs.columns import Column, admit_labels, checked_column, factorize
from stream_metrics.labels import Label, ordering
from stream_metrics.states.confusion import ConfusionMatrix
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import HEADER, encoded, enveloped

__all__ = ["FORMS", "NOTHING", "label_counts", "run_contents", "run_writer"]

Writer: TypeAlias = Callable[[object, object, object, NDArray[np.int64]], list[bytes]]

NOTHING = b"\0\0\x90\x90\xc4\1\0"  # what `pack_runs` returns for a run without rows
FORMS = {bool: 0, int: 1, float: 2}  # of a label, by its type; 3 is any other


def label_counts(state: Accumulator) -> ConfusionMatrix | None:
    """Return what counts labels in a state that counts nothing else; None in others."""
    counts = getattr(state, "state", state)
    alone = getattr(state, "scored", None) is None and getattr(state, "_sample_rule", None) is None
    return counts if isinstance(counts, ConfusionMatrix) and alone else None


def run_writer(state: Any) -> Writer | None:
    """Return a function that writes states with the options of this one; None for one that counts more than labels.

    It takes the columns of a table of counts, as `update_counts` does, and the rows at which runs of one group start,
    and the row where the last one ends. It returns for each run the bytes of a state that has counted its rows.
    """
    empty = state.copy()
    empty.reset()
    matrix, data = label_counts(empty), empty.to_bytes()
    if matrix is None or not data.endswith(encoded(matrix._content())):
        return None
    return partial(_written, matrix, data[HEADER:].removesuffix(NOTHING))


def _written(
    matrix: ConfusionMatrix, before: bytes, y_true: object, y_pred: object, n: object, starts: NDArray[np.int64]
) -> list[bytes]:
    """Return the bytes of the state of each run; all that states like `matrix` write alike comes `before`."""
    return [enveloped(before + content) for content in run_contents(matrix, y_true, y_pred, n, starts)]


def run_contents(
    matrix: ConfusionMatrix, y_true: object, y_pred: object, n: object, starts: NDArray[np.int64]
) -> list[bytes]:
    """Return the content of the state of each run from its number of samples on; see `run_writer`."""
    truth = checked_column(y_true, "y_true")
    predicted = checked_column(y_pred, "y_pred", True, truth.n)
    samples = read_counts(n, truth.n)
    columns = _admitted(matrix, truth, "y_true"), _admitted(matrix, predicted, "y_pred")
    fixed = dict.fromkeys(matrix.fixed_labels or ())
    labels = list(dict.fromkeys([label for _, names in columns for label in names if label not in fixed]))
    rank = {label: place for place, label in enumerate([*fixed, *(labels[at] for at in ordering(labels))])}
    forms = [b""] * (4 * len(rank))
    rows = []
    for codes, names in columns:
        places = [4 * rank[label] + FORMS.get(type(label), 3) for label in names]
        for place, label in zip(places, names, strict=True):
            forms[place] = encoded(label)
        rows.append(np.array([*places, -1], np.int64)[codes])
    starts = np.ascontiguousarray(starts, np.int64)
    return pack_runs(rows[0], rows[1], samples, starts, forms, len(fixed))


def _admitted(matrix: ConfusionMatrix, column: Column, argument: str) -> tuple[Any, list[Label]]:
    """Return the codes of a column and their labels, as a state counts them."""
    codes, names = factorize(column)
    return codes, admit_labels(matrix._admit, names, column, argument)
