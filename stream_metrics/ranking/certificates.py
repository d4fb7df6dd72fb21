"""Estimates whose intervals contain the exact value although weights, quotients and sums were rounded.

Bounds that are ratios of integers are rounded down or up once. Bounds that were computed in floats are moved outwards
by what their rounding errors can add up to. A value that is known exactly has an interval of width 0 and is correctly
rounded: it is the double next to the exact value.

Weights that were rounded (`RankColumn.slack`) change what a metric is about: the distribution of the scores of a class.
If the weights w of a class become w', with a sum of P', and sum |w - w'| <= d, then the total variation between the two
distributions is at most d / P', and so is the change of every mean of numbers from [0, 1] over the class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.ranking.protocol import OWN, REST, Certified, RankColumn

EPSILON = 2.0**-53  # the relative error of one rounding
GUARD = 128  # binary places of a sum of ratios, beyond those of its denominator
DOUBLES = 2**53  # integers up to here are doubles


class Ratio(Certified):
    """A value that is known as a ratio of integers, exactly or to 2^-GUARD."""

    ratio: tuple[int, int]


def exact(a: int, b: int) -> Certified:
    """Return a / b as a value that is known exactly."""
    value = a / b
    known = Ratio(value, value, value, 0.0)
    known.ratio = a, b
    return known


def rational(value: Fraction) -> Certified:
    """Return a fraction as a value that is known exactly."""
    return exact(value.numerator, value.denominator)


def round_down(a: int, b: int) -> float:
    """Return the largest double that is at most a / b, for b > 0."""
    value = a / b
    above_it, scale = value.as_integer_ratio()
    return value if above_it * b <= a * scale else math.nextafter(value, -math.inf)


def round_up(a: int, b: int) -> float:
    """Return the smallest double that is at least a / b, for b > 0."""
    return -round_down(-a, b)


def widened(value: float, low: float, high: float, se: float, error: float, least: float, most: float) -> Certified:
    """Return an estimate whose bounds are moved outwards by an error, within the range; the value is moved into it."""
    if error:
        low, high = math.nextafter(low - error, -math.inf), math.nextafter(high + error, math.inf)
    low, high = max(low, least), min(high, most)
    return Certified(min(max(value, low), high), low, high, min(se, high - low))


def lost(column: RankColumn, weight: float) -> float:
    """Return the most by which rounded weights may move a share of `weight`, 0 if none was rounded."""
    if not column.slack:
        return 0.0
    return math.nextafter(column.slack / weight, math.inf) if weight else math.inf


def lost_in_classes(column: RankColumn) -> float:
    """Return the most by which rounded weights may move the shares of both classes together."""
    return lost(column, min(column.weight(OWN), column.weight(REST)))


def quotients(a: Numbers, b: Numbers) -> Floats:
    """Return a / b of integers 0 <= a <= b, each correctly rounded; 0 where b is 0."""
    if a.dtype != object and int(b.max(initial=0)) > DOUBLES:
        a = a.astype(object)
    return np.asarray(a / np.maximum(b, 1), np.float64)


def shares_of(a: Floats, b: Floats) -> Floats:
    """Return a / b, 0 where both are 0."""
    return np.asarray(a / np.where(b > 0, b, 1.0))


def mean_of_ratios(ratios: Sequence[tuple[int, int]], weights: Sequence[int]) -> Certified:
    """Return sum w a / b / sum w, correctly rounded.

    Each term is rounded down to so many places that the bounds of the sum nearly always round to one double; where they
    do not, the sum is that of fractions.
    """
    total = sum(weights)
    places = GUARD + len(ratios).bit_length()
    low = sum((w * a << places) // b for (a, b), w in zip(ratios, weights, strict=True))
    value = exact(low, total << places)
    if value.value == (low + (total + len(ratios))) / (total << places):
        return value
    exactly = sum((Fraction(w * a, b) for (a, b), w in zip(ratios, weights, strict=True)), Fraction())
    return rational(exactly / total)
