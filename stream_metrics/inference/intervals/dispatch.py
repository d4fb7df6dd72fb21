"""From evaluated states and the name of a metric to its interval.

All of this takes samples as independent, each counted once, unless they have units: then see `folds`. Without
units, weights other than 1 are refused, since the counts do not say how many samples a weight stands for. Means over
classes include what fixed classes that have not occurred may add.

Nothing is said of samples that are missing, such as those without a label (see `missing_labels`). Proportions for all
looks need less than independence: the share of right answers may change with time and with what was seen before; then
the interval holds the mean of the probabilities, each given the samples before (a martingale is enough).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_metrics.catalog.spec import SQUARE_LIMIT, MetricSpec
from stream_metrics.catalog.table import CATALOG, find
from stream_metrics.errors import unexpected_label
from stream_metrics.evaluation.evaluation import Evaluation, Options
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.inference.intervals import count_intervals, folds, losses, score_intervals
from stream_metrics.inference.intervals.count_intervals import including_absent
from stream_metrics.inference.intervals.folds import refuse_looks, refuse_weights, validate_request
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest
from stream_metrics.inference.intervals.methods import MOST_CLASSES, ONE_LOOK, refusal
from stream_metrics.inference.intervals.resampling import DRAWS, SEED, of_function, with_options

if TYPE_CHECKING:
    from stream_metrics.labels import Label


class ClassBounds(NamedTuple):
    """The ends of the intervals of every class, in the order of the labels, and why one is not to be trusted."""

    low: Floats
    high: Floats
    notes: list[str]


def interval(
    evaluation: Evaluation,
    key: str | Callable[[Counts], float],
    level: float = 0.95,
    *,
    label: Label | None = None,
    valid: str = "fixed",
    t_opt: float | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    **options: object,
) -> Interval | dict[Label, Interval]:
    """Return the interval of a metric; see `Snapshot.interval`."""
    request = validate_request(IntervalRequest(level, valid, t_opt, draws, seed))
    refuse_looks(evaluation, valid)
    if isinstance(key, str):
        options = evaluation.options_of(find(key).key, options)
    if evaluation.folds:
        return _with_absent(evaluation, key, folds.interval(evaluation, key, request, label, options))
    if callable(key):
        return of_function(_counts(evaluation, "a function of counts"), key, request, options)
    row = _row(key, request)
    if row.state == "counts":
        return _with_absent(evaluation, key, _of_counts(evaluation, row, request, label, options))
    return score_intervals.interval(evaluation, row, request, label, options)


def _with_absent(
    evaluation: Evaluation, key: str | Callable[[Counts], float], interval: Interval | dict[Label, Interval]
) -> Interval | dict[Label, Interval]:
    """Return the interval of a mean over classes extended by what absent classes may add; any other as it is."""
    if callable(key) or isinstance(interval, dict) or (row := find(key)).state != "counts":
        return interval
    return including_absent(row, evaluation.view("counts", key), interval, evaluation.zero_division_of(row))


def class_bounds(
    evaluation: Evaluation, key: str, level: float = 0.95, *, valid: str = "fixed", draws: int = DRAWS
) -> ClassBounds:
    """Return the intervals of a per-class metric of counts as arrays, without an object for each; see `interval`."""
    if (metric := find(key)).kind != "per_class" or metric.state != "counts":
        raise ValueError(f"Expected a metric of the counts of every class, but got {key!r}")
    if evaluation.folds or metric.key in evaluation.options:
        intervals = interval(evaluation, key, level, valid=valid, draws=draws)
        assert isinstance(intervals, dict)
        low, high = np.array([tuple(each) for each in intervals.values()], np.float64).reshape(-1, 2).T
        return ClassBounds(low, high, [each.note for each in intervals.values()])
    request = validate_request(IntervalRequest(level, valid, None, draws, SEED))
    refuse_looks(evaluation, valid)
    row = _row(key, request)
    view, zero = _view(evaluation, row), evaluation.zero_division_of(row)
    ends = count_intervals.class_ends(row, view, evaluation.value_and_undefined(key), request, zero)
    return ClassBounds(ends.low, ends.high, [""] * view.k)


def _row(key: str, request: IntervalRequest) -> MetricSpec:
    """Return the row of a metric; `ValueError` if it cannot have the interval that is asked for."""
    row = find(key)
    key, reason = row.key, refusal(row)
    if reason is not None:
        raise ValueError(f"Expected a metric that can have an interval, but {key!r} has none: {reason}")
    if request.valid == "anytime" and key in ONE_LOOK:
        raise ValueError(f"Expected valid='fixed' for {key!r}, which has no sequence, but got 'anytime'")
    return row


def _view(evaluation: Evaluation, row: MetricSpec) -> Counts:
    """Return the counts; `ValueError` if there are too many classes for a metric, or a weight was not 1."""
    view = _counts(evaluation, row.key)
    if view.k > (most := _most_classes(row)):
        raise ValueError(f"Expected at most {most} classes for an interval of {row.key!r}, but got {view.k}")
    return view


def _counts(evaluation: Evaluation, what: str) -> Counts:
    """Return the counts; `ValueError` if a weight was not 1."""
    view: Counts = evaluation.view("counts", what)
    refuse_weights(evaluation)
    return view


def _of_counts(
    evaluation: Evaluation, row: MetricSpec, request: IntervalRequest, label: Label | None, options: Options
) -> Interval | dict[Label, Interval]:
    view = _view(evaluation, row)
    if row.kind == "whole" and label is not None:
        raise unexpected_label(row.key, label)
    zero = evaluation.zero_division_of(row)
    if options:
        return with_options(evaluation, row, view, request, (label, options))
    if row.kind == "whole":
        return count_intervals.whole(row, view, evaluation.value_and_undefined(row.key), request, zero)
    intervals = count_intervals.per_class(row, view, evaluation.value_and_undefined(row.key), request, zero)
    return intervals if label is None else intervals[view.labels[evaluation.label_positions(row.key, (label,))[0]]]


def _most_classes(row: MetricSpec) -> float:
    return MOST_CLASSES.get(row.key, SQUARE_LIMIT if row.quadratic else math.inf)


def has_interval(evaluation: Evaluation, key: str, valid: str) -> bool:
    """Tell whether a metric has an interval here, for one look or for all."""
    row = CATALOG[key]
    if evaluation.folds:
        return folds.can_have(row)
    if refusal(row) is not None or (valid == "anytime" and key in ONE_LOOK):
        return False
    options = evaluation.options.get(key, {})
    if (options and row.state == "counts" and valid == "anytime") or not options.get("normalize", True):
        return False  # drawn matrices are for one look, and a sum of losses grows with the samples
    if row.state == "losses":
        return not losses.unknown(key, evaluation.states["losses"])
    return row.state != "counts" or evaluation.view("counts", key).k <= _most_classes(row)
