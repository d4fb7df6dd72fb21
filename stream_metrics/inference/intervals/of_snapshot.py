"""From a snapshot and the name of a metric to its interval.

All of this takes samples as independent, each counted once, unless they have units: then see `fold_intervals`. Without
units, weights other than 1 are refused, since the counts do not say how many samples a weight stands for. Means over
classes are means over the classes that occur.

Nothing is said of samples that are missing, such as those without a label (see `missing_labels`). Proportions for all
looks need less than independence: the share of right answers may change with time and with what was seen before; then
the interval holds the mean of the probabilities, each given the samples before (a martingale is enough).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stream_metrics.catalog.obstacles import SQUARE_LIMIT
from stream_metrics.catalog.table import CATALOG, MetricSpec, find
from stream_metrics.inference.intervals import counted, folds, losses, scored
from stream_metrics.inference.intervals.choice import METHODS, MOST_CLASSES, ONE_LOOK, refusal
from stream_metrics.inference.intervals.conditions import check_asked, refuse_looks, refuse_weights
from stream_metrics.inference.intervals.interval import Asked, Interval, Snapshot
from stream_metrics.inference.intervals.resampling import DRAWS, SEED
from stream_metrics.inference.intervals.users import of_function, with_options

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["interval", "known"]


def interval(
    snapshot: Snapshot,
    key: str | Callable[[Any], float],
    level: float = 0.95,
    method: str | None = None,
    *,
    label: Label | None = None,
    valid: str = "fixed",
    t_opt: float | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    **options: Any,
) -> Interval | dict[Label, Interval]:
    """Return the interval of a metric; see `Snapshot.interval`."""
    asked = check_asked(Asked(level, method, valid, t_opt, draws, seed))
    refuse_looks(snapshot, valid)
    if snapshot._folds:
        return folds.interval(snapshot, key, asked, label, options)
    if method == "folds":
        raise ValueError("Expected samples with a `unit` for the method 'folds', but got none")
    if callable(key):
        return of_function(_counts(snapshot, "a function of counts"), key, asked, options)
    row = find(key)
    reason = refusal(row)
    if reason is not None:
        raise ValueError(f"Expected a metric that can have an interval, but {key!r} has none: {reason}")
    if method is not None and valid == "fixed" and method not in METHODS[key]:
        raise ValueError(f"Expected `method` for {key!r} to be one of {', '.join(METHODS[key])}, but got {method!r}")
    if valid == "anytime" and key in ONE_LOOK:
        raise ValueError(f"Expected valid='fixed' for {key!r}, which has no sequence, but got 'anytime'")
    if row.state == "counts":
        return _of_counts(snapshot, row, asked, label, options)
    return scored.interval(snapshot, row, asked, label, options)


def _counts(snapshot: Snapshot, what: str) -> Any:
    """Return the counts of a snapshot; `ValueError` if a weight was not 1."""
    view = snapshot._view("counts", what)
    refuse_weights(snapshot)
    return view


def _of_counts(
    snapshot: Snapshot, row: MetricSpec, asked: Asked, label: Label | None, options: dict[str, Any]
) -> Interval | dict[Label, Interval]:
    view = _counts(snapshot, row.key)
    if view.k > (most := _most_classes(row)):
        raise ValueError(f"Expected at most {most} classes for an interval of {row.key!r}, but got {view.k}")
    if row.kind == "whole" and label is not None:
        raise KeyError(f"Expected no label for {row.key!r}, which is one value, but got {label!r}")
    zero = row.zero_division if snapshot._zero_division is None else snapshot._zero_division
    if options:
        return with_options(snapshot, row, view, asked, (label, options))
    if row.kind == "whole":
        return counted.whole(row, view, snapshot._entry(row.key), asked, zero)
    found = counted.per_class(row, view, snapshot._entry(row.key), asked, zero)
    return found if label is None else found[view.labels[snapshot._places(row.key, (label,))[0]]]


def _most_classes(row: MetricSpec) -> float:
    return MOST_CLASSES.get(row.key, SQUARE_LIMIT if row.quadratic else math.inf)


def known(snapshot: Snapshot, key: str, valid: str) -> bool:
    """Tell whether a metric has an interval in a snapshot, for one look or for all."""
    row = CATALOG[key]
    if snapshot._folds:
        return folds.can_have(row)
    if refusal(row) is not None or (valid == "anytime" and key in ONE_LOOK):
        return False
    if row.state == "losses":
        return not losses.unknown(key, snapshot._states["losses"])
    return row.state != "counts" or snapshot._view("counts", key).k <= _most_classes(row)
