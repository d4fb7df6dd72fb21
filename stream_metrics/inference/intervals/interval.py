"""A value with its interval, and the options of an interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, SupportsFloat


class LowHigh:
    """What has a low and a high end: it unpacks into both, and contains the numbers between them."""

    __slots__ = ()
    low: float
    high: float

    def __iter__(self) -> Iterator[float]:
        """Yield the low and the high end."""
        return iter((self.low, self.high))

    def __contains__(self, number: object) -> bool:
        """Tell whether a number lies in the closed interval; never in one whose ends are nan."""
        return isinstance(number, SupportsFloat) and self.low <= float(number) <= self.high

    @property
    def width(self) -> float:
        """The distance between both ends."""
        return self.high - self.low

    def within(self, margin: float) -> bool:
        """Tell whether it is shown that the value is closer to 0 than a margin.

        Parameters
        ----------
        margin : float
            The margin, above 0. It must not be chosen from the same samples.

        Returns
        -------
        bool
            Whether the whole interval lies between -margin and margin.

        Raises
        ------
        ValueError
            If the margin is not above 0.

        Notes
        -----
        For a difference these are two one-sided tests of equivalence, each with a significance of half of 1 - level:
        take level=0.9 for tests at 5 %.

        Examples
        --------
        >>> import stream_metrics as sm
        >>> both = sm.Comparison()
        >>> both.update_many([1] * 2000, [1] * 1990 + [0] * 10, [0] * 10 + [1] * 1990)
        >>> both.snapshot().difference("accuracy", level=0.9).within(0.01)
        True
        """
        if not margin > 0:
            raise ValueError(f"Expected `margin` to be above 0, but got {margin!r}")
        return -margin < self.low and self.high < margin


@dataclass(frozen=True, slots=True, repr=False)
class Interval(LowHigh):
    """A value and the interval that holds the value of the population with a stated confidence.

    It unpacks into its ends, and `in` tells whether a number lies between them: `low, high = interval`,
    `0.8 in interval`.

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
        Draws that had no value.
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
    >>> interval
    Interval(0.8, low=0.7112, high=0.8666, level=0.95, method='wilson')
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

    def __repr__(self) -> str:
        """Return value, ends, confidence and method, and whatever else is to be known."""
        text = f"Interval({self.value:.4g}, low={self.low:.4g}, high={self.high:.4g}, level={self.level:g}"
        text += f", method={self.method!r}"
        text += f", valid={self.valid!r}" if self.valid != "fixed" else ""
        return text + (f", note={self.note!r})" if self.note else ")")


class IntervalRequest(NamedTuple):
    """The options with which a caller asks for an interval."""

    level: float
    valid: str
    t_opt: float | None
    draws: int
    seed: int
