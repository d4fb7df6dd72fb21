"""Shared by the engines: an empty copy of a state, counting the columns of a table, a tree of merges.

A table is an Arrow table or record batch, a pandas data frame, or a mapping from name to column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics.containers.inner import walk_inner
from stream_metrics.errors import LabelError
from stream_metrics.labels import Label
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.states.batches import mergeable
from stream_metrics.states.protocols import Accumulator
from stream_metrics.wire import Portable

__all__ = ["Fields", "empty_copy", "count_table", "merge_in_tree"]

T = TypeVar("T")
S = TypeVar("S", bound=Accumulator)


class Fields(NamedTuple):
    """The columns of a table that are read; None where there is none.

    `scores` is one column (the score of `pos_label`, or for each row a mapping from class to score), or says for each
    class which column holds its score. Where scores are given, labels may be left to them.
    """

    y_true: str = "y_true"
    y_pred: str | None = "y_pred"
    scores: str | Mapping[Label, str] | None = None
    weight: str | None = None
    group: str | None = None
    time: str | None = None

    def columns(self) -> list[str]:
        """Return the names of all columns that are read, each once."""
        scores = list(self.scores.values()) if isinstance(self.scores, Mapping) else [self.scores]
        named = [self.y_true, self.y_pred, *scores, self.weight, self.group, self.time]
        return list(dict.fromkeys(name for name in named if name is not None))

    def check(self, names: Iterable[str], holder: str) -> None:
        """Raise LabelError unless all columns that are read are among the `names` of a table, or of a `holder`."""
        names = list(names)
        for name in self.columns():
            if name not in names:
                raise LabelError(f"Expected {name!r} to be a column of the {holder}, but it has {names}")


def empty_copy(prototype: S) -> S:
    """Return an empty copy of an accumulator; ValueError if it is none, or does not merge."""
    if not isinstance(prototype, Portable) or not hasattr(prototype, "reset"):
        raise ValueError(f"Expected `prototype` to be a state, a metric or a set of metrics, but got {prototype!r:.60}")
    reason = mergeable(prototype)
    if reason is not None:
        raise ValueError(f"Expected `prototype` to be mergeable, but: {reason}")
    empty = prototype.copy()
    empty.reset()
    return empty


def count_table(state: Accumulator, table: Any, fields: Fields) -> None:
    """Count the rows of a table into `state`, all or none; LabelError names a column that the table does not have."""
    there = getattr(table, "column_names", None)  # of Arrow
    fields.check(table if there is None else there, "table")
    predicted = None if fields.y_pred is None else table[fields.y_pred]
    weights = None if fields.weight is None else table[fields.weight]
    named = {"group": fields.group, "t": fields.time}
    options = {argument: table[name] for argument, name in named.items() if name is not None}
    *_, last = walk_inner(state)
    if isinstance(fields.scores, Mapping):
        options["classes"] = list(fields.scores)
        scores: Any = _side_by_side(table, list(fields.scores.values()))
    else:
        scores = None if fields.scores is None else table[fields.scores]
    if isinstance(last, MetricSet) and scores is not None:
        options["scores"] = scores
    elif scores is not None:  # to a single metric, and to a sketch, scores are the prediction
        predicted = scores
    state.update_many(table[fields.y_true], predicted, weights, **options)


def _side_by_side(table: Any, names: list[str]) -> NDArray[np.generic]:
    """Return columns of numbers as an array with one row for each row of the table."""
    return np.column_stack([np.asarray(table[name]) for name in names])


def merge_in_tree(parts: Iterable[T], merge: Callable[[list[T]], T], fan_in: int) -> list[T]:
    """Merge `fan_in` parts at a time, as they come, then such merges; return the last ones, at most `fan_in`.

    Raises ``ValueError`` if `fan_in` is not a whole number above 1.
    """
    if not isinstance(fan_in, int) or fan_in < 2:
        raise ValueError(f"Expected `fan_in` to be a whole number above 1, but got {fan_in!r}")
    levels: list[list[T]] = [[]]
    for part in parts:
        levels[0].append(part)
        level = 0
        while len(levels[level]) > fan_in:
            merged, levels[level] = merge(levels[level][:fan_in]), levels[level][fan_in:]
            level += 1
            if level == len(levels):
                levels.append([])
            levels[level].append(merged)
    last = [part for level_parts in reversed(levels) for part in level_parts]
    while len(last) > fan_in:
        last = [*last[:-fan_in], merge(last[-fan_in:])]
    return last
