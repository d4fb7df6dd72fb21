"""The one place where a formula is called and a 0/0 replaced.

A formula returns nan exactly where its value is 0/0, so undefined values are found by looking for nan, and a caller
sees both the number that stands for them and where they were. A formula of scores returns its value with the interval
that certainly holds it; `point_value` takes the value out.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from stream_metrics.catalog.obstacles import check
from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.formulas.arithmetic import has_nan
from stream_metrics.formulas.losses import MOST_RANKS
from stream_metrics.inputs.options import real, truth, whole
from stream_metrics.labels import Label
from stream_metrics.ranking.calibration import MOST_BINS
from stream_metrics.ranking.classes import classes
from stream_metrics.ranking.protocol import Certified

__all__ = [
    "checked_options",
    "checked_zero_division",
    "compute",
    "evaluate",
    "point_value",
    "replace_undefined",
    "value_labels",
]

State: TypeAlias = Any  # a `CountState`, `RankState` or `LossState`, whichever the metric reads
Computed: TypeAlias = Any  # a number, label or array, or `Certified` values in lists
Value: TypeAlias = Any  # a number, a label, or an array of numbers
Options: TypeAlias = dict[str, object]  # those of a formula, such as beta=2
MOST = {"bins": MOST_BINS, "k": MOST_RANKS}  # of options that are whole numbers


def evaluate(
    row: MetricSpec, c: State, zero_division: float | None = None, **options: object
) -> tuple[Value, bool | list[Label]]:
    """Return the value of a row, and what was 0/0.

    `zero_division` (0.0, 1.0, nan, or None for the row's own) stands for 0/0. `c` is the state that the row reads.
    What was 0/0 is True or False for a whole value, the list of classes for a per-class one, False for a matrix. A
    label that is undefined stays None. Errors as for `compute`.
    """
    return replace_undefined(row, c, compute(row, c, zero_division, **options), zero_division)


def compute(row: MetricSpec, c: State, zero_division: float | None = None, **options: object) -> Computed:
    """Return what the formula of a row returns, certified intervals and all, with 0/0 as nan.

    `ValueError` if the row cannot be computed from these counts (see `obstacles`), or for an option the row lacks.
    """
    if row.quadratic or row.needs:
        check(row, c)
    if options:
        options = checked_options(row, options)
    if row.uses_zero_division:
        options["zero_division"] = _instead(row, zero_division)
    return row.formula(c, **options)


def checked_options(row: MetricSpec, options: Options) -> Options:
    """Return options of a row, numbers of every type as int or float; `ValueError` for one of a wrong type."""
    return {name: _checked_option(row, name, value) for name, value in options.items()}


def _checked_option(row: MetricSpec, name: str, value: object) -> object:
    if name not in row.options:
        known = f"one of the options {', '.join(row.options)}" if row.options else "no options"
        raise ValueError(f"Expected {known} for {row.key!r}, but got {name!r}")
    default = row.options[name]
    if isinstance(default, bool):
        return truth(value, name)
    if isinstance(default, int):
        return whole(value, name, 1, MOST[name])
    if isinstance(default, float) or (name == "p" and value is not None):
        return real(value, name)
    if isinstance(default, str) and not (isinstance(value, str | bool) or callable(value)):
        raise ValueError(f"Expected `{name}` to be a name such as {default!r}, but got {value!r:.60}")
    return value


def replace_undefined(
    row: MetricSpec, c: State, computed: Computed, zero_division: float | None
) -> tuple[Value, bool | list[Label]]:
    """Return a computed value without its interval and with 0/0 replaced, and what was 0/0; see `evaluate`."""
    value, instead = point_value(computed), _instead(row, zero_division)
    if row.kind == "whole":
        if value is None:
            return None, True
        return (instead, True) if value != value else (value, False)
    where: bool | list[Label] = [] if row.kind == "per_class" else False
    if value.dtype != np.float64:
        return value, where
    if row.kind == "per_class" and not has_nan(value):
        return value, where
    lost = np.isnan(value)
    if row.kind == "per_class":
        where = [label for label, bad in zip(value_labels(row, c), lost.tolist(), strict=True) if bad]
    return np.where(lost, instead, value), where


def value_labels(row: MetricSpec, c: State) -> tuple[Label, ...]:
    """Return the classes that the values of a per-class or matrix row belong to."""
    labels: tuple[Label, ...] = classes(c) if row.state == "ranks" and row.kind == "per_class" else c.labels
    return labels


def point_value(computed: Computed) -> Value:
    """Return a certified value, or a list of them, or a list of lists, without the intervals."""
    if isinstance(computed, Certified):
        return computed.value
    if isinstance(computed, list):
        size = (len(computed), len(computed)) if computed and isinstance(computed[0], list) else len(computed)
        return np.array([point_value(item) for item in computed], np.float64).reshape(size)
    return computed


def _instead(row: MetricSpec, zero_division: float | None) -> float:
    return row.zero_division if zero_division is None else checked_zero_division(zero_division)


def checked_zero_division(value: float) -> float:
    """Return `value` as a float if it is 0.0, 1.0 or nan; `ValueError` otherwise."""
    with suppress(ValueError):
        number = real(value, "zero_division")
        if number in (0, 1) or math.isnan(number):
            return number
    raise ValueError(f"Expected `zero_division` to be 0.0, 1.0 or nan, but got {value!r}")
