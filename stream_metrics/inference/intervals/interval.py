"""A value with its interval, and the options of an interval."""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Interval", "IntervalRequest"]


class Interval(NamedTuple):
    """A value and the interval that holds the value of the population with a stated confidence.

    Parameters
    ----------
    value : float
        The value of the samples; `low <= value <= high`, and all are nan where it is 0/0.
    low, high : float
        The ends of the interval.
    level : float
        The confidence, in (0, 1).
    method : str
        How the interval was computed.
    valid : {"fixed", "anytime"}
        "fixed" for one look at a moment chosen beforehand, "anytime" for all looks together.
    se : float, default nan
        Standard error of the value; nan where the method has none.
    n : int, default 0
        Number of samples that the value rests on.
    skipped : int, default 0
        Draws of a bootstrap that had no value.
    note : str, default ""
        Why the interval is not to be trusted; empty if nothing speaks against it.

    Notes
    -----
    Samples are assumed to be independent; for proportions at all looks a martingale is enough.

    Examples
    --------
    >>> from stream_metrics import ConfusionMatrix
    >>> state = ConfusionMatrix()
    >>> state.update_many([1] * 100, [1] * 80 + [0] * 20)
    >>> interval = state.snapshot().interval("accuracy")
    >>> round(interval.low, 3), interval.value, round(interval.high, 3), interval.method
    (0.711, 0.8, 0.867, 'wilson')
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


class IntervalRequest(NamedTuple):
    """The options with which a caller asks for an interval."""

    level: float
    method: str | None
    valid: str
    t_opt: float | None
    draws: int
    seed: int
