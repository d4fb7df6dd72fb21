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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from stream_metrics.catalog import CATALOG, Row, find
from stream_metrics.inference.choice import METHODS, MOST_CLASSES, ONE_LOOK, refusal
from stream_metrics.inference.resampling import DRAWS, SEED
from stream_metrics.obstacles import SQUARE_LIMIT
from stream_metrics.obstacles import weighted as weights_of
from stream_metrics.options import real, whole

if TYPE_CHECKING:
    from stream_metrics.labels import Label

Snapshot: TypeAlias = Any  # a `stream_metrics.snapshot.Snapshot`, which is built on this room and not known to it
__all__ = ["Asked", "Interval", "checked", "interval", "known", "refuse_looks", "refuse_weights", "weighted"]

MOST_DRAWS = 2**31
VALID = ("fixed", "anytime")


class Interval(NamedTuple):
    """A value and the interval that holds the value of the population, with the confidence `level`.

    It assumes independent samples; for proportions at all looks a martingale is enough.
    `low <= value <= high`, both nan where the value is 0/0. `method` is how it was found, `valid` is "fixed" for one
    look at a moment chosen beforehand, "anytime" for all looks together. `se` is the standard error of the value, nan
    where the method has none; `n` the number of samples that the value rests on; `skipped` the draws of a bootstrap
    that had no value. `note` says why the interval is not to be trusted; it is empty if nothing speaks against it.
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    valid: str
    se: float = math.nan
    n: int = 0
    skipped: int = 0
    note: str = ""


class Asked(NamedTuple):
    """What a caller wants of an interval."""

    level: float
    method: str | None
    valid: str
    t_opt: float | None
    draws: int
    seed: int


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
    asked = _check(Asked(level, method, valid, t_opt, draws, seed))
    refuse_looks(snapshot, valid)
    if snapshot._folds:
        from stream_metrics.inference import fold_intervals

        return fold_intervals.interval(snapshot, key, asked, label, options)
    if method == "folds":
        raise ValueError("Expected samples with a `unit` for the method 'folds', but got none")
    if callable(key):
        from stream_metrics.inference.users import of_function

        return of_function(_counts(snapshot, "a function of counts"), key, asked, options)
    row = find(key)
    reason = refusal(row)
    if reason is not None:
        raise ValueError(f"Expected a metric that can have an interval, but {key!r} has none: {reason}")
    if method is not None and valid == "fixed" and method not in METHODS[key]:
        raise ValueError(f"Expected `method` for {key!r} to be one of {', '.join(METHODS[key])}, but got {method!r}")
    if valid == "anytime" and key in ONE_LOOK:
        raise ValueError(f"Expected valid='fixed' for {key!r}, which has no sequence, but got 'anytime'")
    if row.reads == "counts":
        return _of_counts(snapshot, row, asked, label, options)
    from stream_metrics.inference import scored

    return scored.interval(snapshot, row, asked, label, options)


def _check(asked: Asked) -> Asked:
    """Return what is asked with its numbers as int and float; `ValueError` for what cannot be asked."""
    level, t_opt = real(asked.level, "level"), None if asked.t_opt is None else real(asked.t_opt, "t_opt")
    asked = asked._replace(level=level, t_opt=t_opt, draws=whole(asked.draws, "draws", 2, MOST_DRAWS))
    if not 0 < asked.level < 1:
        raise ValueError(f"Expected `level` to be between 0 and 1, such as 0.95, but got {asked.level!r}")
    if asked.valid not in VALID:
        raise ValueError(f"Expected `valid` to be 'fixed' or 'anytime', but got {asked.valid!r}")
    if asked.valid == "anytime" and asked.method is not None:
        raise ValueError(f"Expected no `method` with valid='anytime', which has its own, but got {asked.method!r}")
    if asked.t_opt is not None and not asked.t_opt > 0:
        raise ValueError(f"Expected `t_opt` to be a number of samples above 0, but got {asked.t_opt!r}")
    return asked


def refuse_looks(snapshot: Snapshot, valid: str) -> None:
    """Raise `ValueError` for intervals of all looks at a window, where each look is at another truth, and by folds."""
    if valid == "anytime" and snapshot._slides:
        raise ValueError(
            "Expected valid='fixed' for a window that forgets, whose value estimates something else at each look, "
            f"but got {valid!r}"
        )
    if valid == "anytime" and snapshot._folds:
        raise ValueError(f"Expected valid='fixed' for samples with a `unit`, but got {valid!r}")


def checked(level: float, valid: str, t_opt: float | None) -> tuple[float, str, float | None]:
    """Return what was asked for if it can be had; `ValueError` otherwise."""
    asked = _check(Asked(level, None, valid, t_opt, DRAWS, SEED))
    return asked.level, valid, asked.t_opt


def weighted(snapshot: Snapshot) -> str:
    """Return why the weights or units of a snapshot do not allow intervals; empty if they do.

    See `obstacles` for which weights can be told from 1. Samples with units may have any weights.
    """
    if snapshot._folds:
        from stream_metrics.inference.fold_intervals import some_without_unit

        return some_without_unit(snapshot)
    reason = next(filter(None, map(weights_of, snapshot._states.values())), "")
    return reason and (
        f"{reason}: intervals count independent samples, and the counts do not say how many stand behind a weight"
    )


def _counts(snapshot: Snapshot, what: str) -> Any:
    """Return the counts of a snapshot; `ValueError` if a weight was not 1."""
    view = snapshot._view("counts", what)
    refuse_weights(snapshot)
    return view


def refuse_weights(snapshot: Snapshot) -> None:
    """Raise `ValueError` if a weight was not 1."""
    reason = weighted(snapshot)
    if reason:
        raise ValueError(f"Expected every sample to have the weight 1, but {reason}")


def _of_counts(
    snapshot: Snapshot, row: Row, asked: Asked, label: Label | None, options: dict[str, Any]
) -> Interval | dict[Label, Interval]:
    from stream_metrics.inference import counted, users

    view = _counts(snapshot, row.key)
    if view.k > (most := _most_classes(row)):
        raise ValueError(f"Expected at most {most} classes for an interval of {row.key!r}, but got {view.k}")
    if row.kind == "whole" and label is not None:
        raise KeyError(f"Expected no label for {row.key!r}, which is one value, but got {label!r}")
    zero = row.zero_division if snapshot._zero_division is None else snapshot._zero_division
    if options:
        return users.with_options(snapshot, row, view, asked, (label, options))
    if row.kind == "whole":
        return counted.whole(row, view, snapshot._entry(row.key), asked, zero)
    found = counted.per_class(row, view, snapshot._entry(row.key), asked, zero)
    return found if label is None else found[view.labels[snapshot._places(row.key, (label,))[0]]]


def _most_classes(row: Row) -> float:
    return MOST_CLASSES.get(row.key, SQUARE_LIMIT if row.quadratic else math.inf)


def known(snapshot: Snapshot, key: str, valid: str) -> bool:
    """Tell whether a metric has an interval in a snapshot, for one look or for all."""
    row = CATALOG[key]
    if snapshot._folds:
        from stream_metrics.inference.fold_intervals import can_have

        return can_have(row)
    if refusal(row) is not None or (valid == "anytime" and key in ONE_LOOK):
        return False
    if row.reads == "losses":
        from stream_metrics.inference import losses

        return not losses.unknown(key, snapshot._states["losses"])
    return row.reads != "counts" or snapshot._view("counts", key).k <= _most_classes(row)
