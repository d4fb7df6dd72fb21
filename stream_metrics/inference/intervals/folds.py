"""Intervals of one model whose samples have units: from the value without each fold in turn.

Samples of one unit (a customer, a session, an hour) depend on each other; those of different units do not. Units are
spread over at most 32 folds by a hash, so folds are independent of each other. With the values
theta_f that the metric has without fold f, of F folds that have samples, SE^2 = (F - 1)/F sum (theta_f - mean)^2, and
the interval is value -+ t SE, on the logit scale of the metric's range. Student's t has as many degrees of freedom as
there are folds less one, fewer if folds are of different size: (sum n_f)^2 / sum n_f^2 - 1. This needs no
formula of its own for any metric, so means of areas, losses, options, functions and weighted samples have intervals of
the right width. Quenouille 1956; Kott 2001; Cameron and Miller 2015 on few clusters.

**Where a value has no spread** because it is at an end of its range (no sample is wrong), a fold without an error is
taken as one sample without one: the end is that of F such samples, (alpha/2)^(1/F) of the range.

This module also says when an interval can be given: valid options, and the weights and windows that allow one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from stream_metrics._core.numeric.kernels import whole
from stream_metrics.catalog.spec import MetricSpec, weighted
from stream_metrics.catalog.table import find
from stream_metrics.errors import unexpected_label
from stream_metrics.evaluation.evaluation import Evaluation, Options, State, evaluate, value_labels
from stream_metrics.formulas.protocol import Counts, Floats, MemoizedCounts
from stream_metrics.formulas.stats.normal import t_quantile
from stream_metrics.inference.intervals.adequacy import effective_count
from stream_metrics.inference.intervals.count_intervals import on_logit_scale
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest
from stream_metrics.inference.intervals.methods import WITH_UNITS, refusal
from stream_metrics.inference.intervals.resampling import DRAWS, SEED
from stream_metrics.inputs.arguments import real

if TYPE_CHECKING:
    from stream_metrics.labels import Label

Folds = Mapping[int, tuple[Mapping[str, State], ...]]


def jackknife(estimates: Floats) -> float:
    """Return the standard error from the statistic without each fold in turn; nan where one of them is."""
    f = len(estimates)
    if f < 2:
        return math.nan
    return math.sqrt((f - 1) / f * float(((estimates - estimates.mean()) ** 2).sum()))


def left_out(folds: Folds, reads: str) -> tuple[list[State], list[list[State]]]:
    """Return the states of both models, and those without each fold; three merges a fold, by prefix and suffix."""
    states = [[side[reads] for side in pair] for pair in folds.values()]
    ahead, behind = _running(states), _running(states[::-1])[::-1]
    rest = [
        [x if y is None else y.copy() if x is None else x.copy().merge(y) for x, y in zip(p, q, strict=True)]
        for p, q in zip(ahead[:-1], behind[1:], strict=True)
    ]
    return ahead[-1], [pair for pair in rest if None not in pair]


def _running(folds: list[list[State]]) -> list[list[State]]:
    """Return the merges of no fold, of the first, of the first two, and so on."""
    total: list[list[State]] = [[None] * len(folds[0])]
    for pair in folds:
        total.append([y.copy() if x is None else x.copy().merge(y) for x, y in zip(total[-1], pair, strict=True)])
    return total


FEW = 8  # folds; below, Student's t is wide and says little
UNEVEN = 8.0  # how many times fewer folds than there are may make up the standard error
Values: TypeAlias = dict["Label | None", float]  # by label, None for a whole value; nan where it is 0/0


def some_without_unit(evaluation: Evaluation) -> str:
    """Return why units do not allow intervals: some samples have none; empty if all have one."""
    name, state = next(iter(evaluation.states.items()))
    keyed = sum(part[name].n for part in evaluation.folds.values())
    return f"{keyed} of {state.n} samples have a unit, and either all or none must have one" if keyed < state.n else ""


def can_have(row: MetricSpec) -> bool:
    """Tell whether a metric has an interval from folds."""
    return row.key in WITH_UNITS


def interval(
    evaluation: Evaluation,
    key: str | Callable[[Counts], float],
    request: IntervalRequest,
    label: Label | None,
    options: Options,
) -> Interval | dict[Label, Interval]:
    """Return the interval of a metric or of a function of counts; of a per-class key that of `label`, or all."""
    if reason := some_without_unit(evaluation):
        raise ValueError(f"Expected all samples or none to have a unit, but {reason}")
    if callable(key):
        ends = -math.inf, math.inf
        return _of_values(evaluation, "counts", lambda c: {None: float(key(c, **options))}, ends, request)[None]
    row = find(key)
    if key not in WITH_UNITS:
        reason = refusal(row) or "its bias near its lowest value is larger than its spread"
        raise ValueError(f"Expected a metric that can have an interval, but {key!r} has none: {reason}")
    if row.kind == "whole" and label is not None:
        raise unexpected_label(key, label)
    intervals = _of_values(evaluation, row.state, _reader(evaluation, row, options), (row.low, row.high), request)
    own = evaluation.with_options(row.key, options) if options else evaluation
    intervals = {name: _with_certified(own, key, name, one) for name, one in intervals.items()}
    if row.kind == "whole":
        return intervals[None]
    if label is None:
        return cast("dict[Label, Interval]", intervals)
    place = evaluation.label_positions(key, (label,))[0]
    return intervals[value_labels(row, evaluation.view(row.state, key))[place]]


def _reader(evaluation: Evaluation, row: MetricSpec, options: Options) -> Callable[[State], Values]:
    """Return what evaluates a metric on a state."""

    def read(state: State) -> Values:
        value, undefined = evaluate(row, state, evaluation.zero_division, **options)
        if row.kind == "whole":
            return {None: math.nan if undefined else float(value)}
        labels, lost = value_labels(row, state), undefined if isinstance(undefined, list) else []
        return {name: math.nan if name in lost else one for name, one in zip(labels, value.tolist(), strict=True)}

    return read


def _of_values(
    evaluation: Evaluation,
    reads: str,
    read: Callable[[State], Values],
    ends: tuple[float, float],
    request: IntervalRequest,
) -> dict[Label | None, Interval]:
    """Return the interval of every value that is read of a state."""
    view = evaluation.view(reads, "a function of counts" if reads == "counts" else reads)
    whole, without = read(view), [read(state) for state in _without_folds(evaluation, reads)]
    sizes = np.array([part[reads].n for part in evaluation.folds.values()], float)
    occurs = [set(getattr(part[reads], "labels", ())) for part in evaluation.folds.values()]
    intervals = {}
    for name, value in whole.items():
        estimates = np.array([values.get(name, math.nan) for values in without])
        one = replace(_interval(value, estimates, sizes, ends, request), n=int(view.n))
        names = getattr(view, "labels", ()) if name is None else (name,)
        least = min((sum(label in labels for labels in occurs) for label in names), default=len(occurs))
        if least < min(FEW, len(occurs)) and not one.note:
            one = replace(one, note=f"a class occurs in {least} of {len(occurs)} folds of units only")
        intervals[name] = one
    return intervals


def _without_folds(evaluation: Evaluation, reads: str) -> list[State]:
    """Return the state without each fold in turn."""
    if reads not in evaluation.left_out:
        pairs = {fold: (states,) for fold, states in evaluation.folds.items() if reads in states}
        evaluation.left_out[reads] = [MemoizedCounts(state) for (state,) in left_out(pairs, reads)[1]]
    return evaluation.left_out[reads]


def _interval(
    value: float, estimates: Floats, sizes: Floats, ends: tuple[float, float], request: IntervalRequest
) -> Interval:
    """Return the interval of a value, from the values without each fold and the samples in each."""
    folds, low, high = len(estimates), *ends
    effective = float(sizes.sum() ** 2 / (sizes**2).sum()) if sizes.any() else 0.0
    empty = Interval(value, math.nan, math.nan, request.level, "folds", "fixed")
    if math.isnan(value):
        return empty
    se = jackknife(estimates)
    if math.isnan(se):
        return replace(
            empty, low=low, high=high, note="all samples are in one fold of units, or without some fold it is 0/0"
        )
    if se == 0 and value in ends and math.isfinite(high - low):
        part = (high - low) * ((1 - request.level) / 2) ** (1 / effective)
        bounds = (low, high - part) if value == low else (low + part, high)
        return replace(empty, low=bounds[0], high=bounds[1], se=0.0)
    if se == 0:
        return replace(empty, low=low, high=high, se=0.0, note="no fold of units changes the value")
    multiplier, note = t_quantile(request.level, max(effective - 1, 1.0)), ""
    if math.isfinite(high - low):
        bounds = on_logit_scale(value, se, ends, multiplier)
    else:
        bounds = max(low, value - multiplier * se), min(high, value + multiplier * se)
    if effective < FEW:
        note = f"a few units have most samples, so that {folds} folds count as {effective:.1f}"
    elif effective_count(np.ones(folds), estimates - estimates.mean()) < folds / UNEVEN:
        note = "one or two folds of units make up the standard error"
    return replace(empty, low=bounds[0], high=bounds[1], se=se, note=note)


def _with_certified(evaluation: Evaluation, key: str, label: Label | None, one: Interval) -> Interval:
    """Return an interval that also holds what the sketch leaves open."""
    if math.isnan(one.low):
        return one
    estimate = evaluation.estimate(key, *(() if label is None else (label,)))
    return replace(one, low=min(one.low, estimate.low), high=max(one.high, estimate.high))


MOST_DRAWS = 2**31
VALID = ("fixed", "anytime")


def validate_request(request: IntervalRequest) -> IntervalRequest:
    """Return the request with its numbers as int and float; `ValueError` for invalid options."""
    level, t_opt = real(request.level, "level"), None if request.t_opt is None else real(request.t_opt, "t_opt")
    request = request._replace(level=level, t_opt=t_opt, draws=whole(request.draws, "draws", 2, MOST_DRAWS))
    if not 0 < request.level < 1:
        raise ValueError(f"Expected `level` to be between 0 and 1, such as 0.95, but got {request.level!r}")
    if request.valid not in VALID:
        raise ValueError(f"Expected `valid` to be 'fixed' or 'anytime', but got {request.valid!r}")
    if request.t_opt is not None and not request.t_opt > 0:
        raise ValueError(f"Expected `t_opt` to be a number of samples above 0, but got {request.t_opt!r}")
    return request


def refuse_looks(evaluation: Evaluation, valid: str) -> None:
    """Raise `ValueError` for intervals of all looks at a window, where each look is at another truth, and by folds."""
    if valid == "anytime" and evaluation.slides:
        raise ValueError(
            "Expected valid='fixed' for a window that forgets, whose value estimates something else at each look, "
            f"but got {valid!r}"
        )
    if valid == "anytime" and evaluation.folds:
        raise ValueError(f"Expected valid='fixed' for samples with a `unit`, but got {valid!r}")


def check_interval_options(level: float, valid: str, t_opt: float | None) -> tuple[float, str, float | None]:
    """Validate and return the options of an interval."""
    request = validate_request(IntervalRequest(level, valid, t_opt, DRAWS, SEED))
    return request.level, valid, request.t_opt


def weight_problem(evaluation: Evaluation) -> str:
    """Return why weights or units do not allow intervals; empty if they do.

    See `catalog.spec` for which weights can be told from 1. Samples with units may have any weights.
    """
    if evaluation.folds:
        return some_without_unit(evaluation)
    if evaluation.weight_problem is None:  # it is asked for once for each interval
        reason = next(filter(None, map(weighted, evaluation.states.values())), "")
        evaluation.weight_problem = reason and (
            f"{reason}: intervals count independent samples, and the counts do not say how many stand behind a "
            "weight; give each sample a `unit`, such as its number, for intervals with any weights"
        )
    return evaluation.weight_problem


def refuse_weights(evaluation: Evaluation) -> None:
    """Raise `ValueError` if a weight was not 1."""
    reason = weight_problem(evaluation)
    if reason:
        raise ValueError(f"Expected every sample to have the weight 1, but {reason}")
