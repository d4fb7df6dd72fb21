"""A value with its interval, and what a caller may ask of one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Asked", "Interval", "Snapshot"]

Snapshot: TypeAlias = Any  # a `stream_metrics.snapshots.snapshot.Snapshot`, which imports this folder


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
