"""The scores of one column as formulas read them, and estimates with their certified intervals.

A column is a histogram over `code >> level`, where the code is a monotone 64-bit image of the score (see `edge`) and
the level is the smallest one at which the histogram fits. At level 0 every cell holds one score and all formulas are
exact. "Own" is the class whose score the column is, "rest" the class or classes it is compared with.

**Certificates.** Intervals contain the exact value although weights, quotients and sums were rounded. Bounds that are
ratios of integers are rounded down or up once. Bounds that were computed in floats are moved outwards by what their
rounding errors can add up to. A value that is known exactly has an interval of width 0 and is correctly rounded: it is
the double next to the exact value.

Weights that were rounded (`RankColumn.slack`) change what a metric is about: the distribution of the scores of a class.
If the weights w of a class become w', with a sum of P', and sum |w - w'| <= d, then the total variation between the two
distributions is at most d / P', and so is the change of every mean of numbers from [0, 1] over the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.ranks import kernels
from stream_metrics.formulas.protocol import Floats, Numbers

MIXED = 2**64 - 1  # no score has this code
ZERO = 2**63  # the code of 0.0 and -0.0
ENDS = (1, 2**64 - 2)  # codes of very large scores, each shared by many
REST, OWN = 0, 1  # positions of the two classes
NAN = math.nan

Codes: TypeAlias = NDArray[np.uint64]
T = TypeVar("T")


class _Column(NamedTuple):
    """What a column consists of."""

    level: int
    """How many low bits of the code a cell ignores."""
    cells: Codes
    """`code >> level`, strictly increasing; each has a count, and the code of 0 is never among them."""
    sole: Codes
    """The only code seen in a cell, or MIXED; at level 0 the same as `cells`."""
    counts: Numbers
    """(cells, 2): weight of rest and own, as integer numbers of units; Python integers where int64 is too small."""
    offsets: Floats
    """(cells, 2): mean place within the cell, in [0, 1); nan where it is not known."""
    totals: Numbers
    """(2,): weight of rest and own with the scores that are 0, in units."""
    sample_codes: tuple[Codes, Codes]
    """Per class the codes with the smallest hashes, increasing; empty at level 0."""
    sample_weights: tuple[Numbers, Numbers]
    """The weight of each sampled code, in units."""
    tau: tuple[float, float]
    """The share of all codes that the sample of each class would hold."""
    units: int = 1
    """How many units a weight of 1 has, a power of 2: 1 unless weights have fractions."""
    slack: float = 0.0
    """The most by which rounding may have moved the weights of all samples, added up."""
    above: bool = False
    """Whether any score is above 1."""
    grain: float = 1.0
    """The mean weight of a sample if weights have fractions; whole weights count as repeated samples."""

    def weight(self, c: int) -> float:
        """Return the weight of rest or own."""
        return int(self.totals[c]) / self.units


class RankColumn(_Column):
    """The scores of one column by cell and class, as a rank sketch keeps them, and what was computed of them."""

    def in_units(self, units: int, wide: bool = False) -> RankColumn:
        """Return the column with weights in units that are as small or smaller, as Python integers if `wide`."""
        factor = units // self.units
        if factor == 1 and not wide:
            return self

        def scaled(weights: Numbers) -> Numbers:
            return np.asarray((weights.astype(object) if wide else weights) * factor)

        counts, totals, (rest, own) = scaled(self.counts), scaled(self.totals), map(scaled, self.sample_weights)
        return self._replace(counts=counts, totals=totals, sample_weights=(rest, own), units=units)

    @cached_property
    def memo(self) -> dict[object, Any]:
        """Results of functions of this column."""
        return {}


def once(compute: Callable[[RankColumn], T]) -> Callable[[RankColumn], T]:
    """Compute a function of a column once for each column. Callers must not change what it returns."""

    @wraps(compute)
    def read(column: RankColumn) -> T:
        memo: dict[object, T] = column.memo
        if compute not in memo:
            memo[compute] = compute(column)
        return memo[compute]

    return read


class Certified(NamedTuple):
    """A value, an interval that contains the exact value for certain, and the standard error of the sketch.

    The standard error says how far the value may be from that of the raw scores; it knows nothing of the data being a
    sample themselves. An exact value has low == high and se == 0.
    """

    value: float
    low: float
    high: float
    se: float


UNDEFINED = Certified(NAN, NAN, NAN, NAN)


def edge(codes: Codes) -> Floats:
    """Return the smallest double whose code is at least the given one; inf if there is none.

    The code of a score is the bit pattern of |x| around 0, mirrored around 1/2 and once more around 1, so that
    probabilities near 0 and near 1, and scores near 1, are resolved alike. It rises with the score and saturates
    beyond 1.5 * 2^921. Plain bit patterns would crowd everything near 1 into a few cells; the sketch of a sigmoid's
    outputs would be 400 times less exact.
    """
    codes = np.asarray(codes, np.uint64)
    return kernels.edges(codes.ravel()).reshape(codes.shape)


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
