"""A limit of distinct labels, against a wrong column: the memory of a state grows with them, not with the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stream_metrics.containers.groups import ByGroup
from stream_metrics.errors import LabelError
from stream_metrics.states.protocols import Accumulator

MOST_LABELS = 100_000
FIRST, LARGEST = 1 << 16, 1 << 20  # rows between two checks


class LabelLimit:
    """Checks how many distinct labels a state has: often while rows have new ones, otherwise rarely."""

    def __init__(self, state: Accumulator, most: int, y_true: str, y_pred: str | None) -> None:
        """Allow `most` labels; the columns are those named in the error."""
        self._state, self._most, self._columns = state, most, (y_true, y_pred)
        self._interval, self._labels = FIRST, 0
        self.left = FIRST  # rows until the next check

    def add(self, rows: int) -> None:
        """Note that so many rows were counted."""
        self.left -= rows
        if self.left <= 0:
            self.check()

    def check(self) -> None:
        """Raise LabelError if there are too many labels; it names the column that has more."""
        n = sum(map(len, _labels(self._state)))
        if n > self._most and len(set().union(*_labels(self._state))) > self._most:
            raise _too_many(self._state, self._most, self._columns)
        few = (n - self._labels) * 8 <= self._interval
        self._interval, self._labels = min(2 * self._interval, LARGEST) if few else FIRST, n
        self.left = self._interval


class LabelTotal:
    """Checks how many distinct labels states have that come one after another, such as those of groups."""

    def __init__(self, most: int | None, y_true: str, y_pred: str | None) -> None:
        """Allow `most` labels, or with None any number; the columns are those named in the error."""
        self._most, self._columns = most, (y_true, y_pred)
        self._labels: set[object] = set()

    def add(self, state: Accumulator) -> None:
        """Note the labels of a state; LabelError if there are now too many."""
        if self._most is None:
            return
        self._labels.update(*_labels(state))
        if len(self._labels) > self._most:
            raise _too_many(state, self._most, self._columns)


def _too_many(state: Accumulator, most: int, columns: tuple[str, str | None]) -> LabelError:
    """Return the error, which names the column in which a state has more labels."""
    y_true, y_pred = columns
    predicted = y_pred is not None and _more_predicted(state)
    return LabelError(
        argument="y_pred" if predicted else "y_true",
        subject=f"the labels of column {(y_pred if predicted else y_true)!r}",
        expected=f"to be at most {most:,}",
        but="there are more; pass `max_labels` if these are classes, and not identifiers",
    )


def _labels(state: Any) -> Iterator[tuple[object, ...]]:
    """Yield the labels of each state inside a state."""
    if isinstance(state, ByGroup):
        for part in state.states():
            yield from _labels(part)
    elif hasattr(state, "inner"):
        yield state.snapshot().labels
    else:
        yield getattr(getattr(state, "state", state), "labels", ())  # losses have none


def _more_predicted(state: Any) -> bool:
    """Tell whether more labels were predicted than are true."""
    whole = state.snapshot()
    values = getattr(whole, "overall", whole).per_class
    if "predicted_count" not in values:
        return False
    predicted, true = (np.count_nonzero(list(values[key].values())) for key in ("predicted_count", "support"))
    return bool(predicted > true)
