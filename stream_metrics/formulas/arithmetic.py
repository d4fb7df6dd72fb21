"""Exact ratios, means, and the integers behind a two-by-two table.

Integers are combined as integers and divided once: Python's int / int is correctly rounded at any size. An array
needs more care, because a product of two int64 counts overflows silently from 2^31 on; there the arrays become arrays
of Python integers, as they are for weights with fractions (see `units`). That is slow (0.05 us a number) but needed
only by streams of more than two thousand million samples, and by fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from stream_metrics.formulas.frozen import shared
from stream_metrics.formulas.protocol import Counts, Exact, Floats, Numbers
from stream_metrics.formulas.units import in_units

NAN = math.nan
SAFE = 2**31  # products of two counts up to here fit into int64

Average: TypeAlias = str | Callable[[list[float]], float]


class Binary(NamedTuple):
    """Counts of two-by-two tables, one per position: a class against the rest, or one class of a pair against the
    other.
    """

    tp: Numbers
    fn: Numbers
    fp: Numbers
    tn: Numbers


def ratio(a: Exact, b: Exact) -> float:
    """Return a / b, correctly rounded; nan if b is 0."""
    return float(a / b) if b else NAN


def plain(a: Exact) -> int | float:
    """Return an exact number as int, or as float if it is no whole number."""
    return a if isinstance(a, int) else float(a)


def correlation(covariance: Exact, a: Exact, b: Exact) -> float:
    """Return covariance / sqrt(a b), 0 <= covariance^2 <= a b, at most one unit in the last place off; nan if a b = 0.

    The square is a quotient of two exact numbers: exactly 1 where they are equal, and never more.
    """
    if not a or not b:
        return NAN
    return math.copysign(math.sqrt(covariance * covariance / (a * b)), covariance)


@shared
def one_vs_all(c: Counts) -> Binary:
    """Return the table of every class against the rest, in whole numbers of 1 / `c.unit`."""
    c = in_units(c)
    tp, true = c.diagonal, c.true_totals
    fp = c.predicted_totals - tp
    return Binary(tp, true - tp, fp, c.total - true - fp)


def wide(counts: Numbers, total: Exact) -> Numbers:
    """Return whole counts whose products of two are exact: as they are below 2^31, Python ints from there on."""
    return counts if total < SAFE or counts.dtype != np.int64 else counts.astype(object)


def divide(a: Numbers, b: Numbers) -> Floats:
    """Return a / b, nan where both are 0; correctly rounded for Python ints."""
    if a.dtype == b.dtype == object:
        return np.array([x / y if y else NAN for x, y in zip(a.tolist(), b.tolist(), strict=True)], np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(real(a) / real(b))


def real(a: Numbers) -> Numbers:
    """Return Python integers as float64, other arrays as they are."""
    return a.astype(np.float64) if a.dtype == object else a


def matthews(table: Binary) -> Floats:
    """Return (TP TN - FP FN) / sqrt((TP+FN)(TN+FP)(TP+FP)(TN+FN)); nan where a factor is 0."""
    tp, fn, fp, tn = table
    product = real((tp + fn) * (tn + fp)) * 1.0 * real((tp + fp) * (tn + fn))
    return np.maximum(np.minimum(divide(tp * tn - fp * fn, np.sqrt(product)), 1.0), -1.0)


def kappa(table: Binary) -> Floats:
    """Return 2 (TP TN - FP FN) / ((TP+FN)(FN+TN) + (TP+FP)(FP+TN)); nan where that is 0."""
    tp, fn, fp, tn = table
    value = divide(2 * (tp * tn - fp * fn), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))
    return np.maximum(np.minimum(value, 1.0), -1.0) if tp.dtype == np.float64 else value


def harmonic_of_four(table: Binary) -> Floats:
    """Return 4 TP TN / (4 TP TN + (TP+TN)(FP+FN)); 0 if TP+TN = 0 < FP+FN, nan where everything is in one cell."""
    tp, fn, fp, tn = table
    right, product = tp + tn, 4.0 * tp * tn
    return divide(product, product + (right + (right == 0)) * 1.0 * (fp + fn))


def geometric_of_two(a: Floats, b: Floats) -> Floats:
    """Return sqrt(a b), 0 where only one of them is nan: then its partner is 0."""
    mean = np.sqrt(a * b)
    if has_nan(mean):
        mean[np.isnan(a) != np.isnan(b)] = 0.0
    return mean


def has_nan(values: Floats) -> bool:
    """Tell whether a vector of finite numbers has a nan; three times as fast as `isnan` and `any` for a few classes."""
    return math.isnan(values.dot(values))


def components(values: Floats, zero_division: float) -> Floats:
    """Return the values of an average: nan becomes `zero_division`, or is left out if that is nan."""
    if not has_nan(values):
        return values
    lost = np.isnan(values)
    return values[~lost] if math.isnan(zero_division) else np.where(lost, zero_division, values)


def power_mean(values: Sequence[float], p: float) -> float:
    """Return (sum a^p / n)^(1/p) of numbers >= 0: p = 0 geometric, +-inf maximum and minimum; 0 if p <= 0 and one is 0.

    In the form m exp(log1p(mean(expm1(p log(a/m)))) / p) neither a large nor a tiny p loses digits; m is the largest
    number, or the smallest if p <= 0. Itai and Katz 2022, eq. 4.
    """
    n = len(values)
    if p == 1:
        return math.fsum(values) / n
    most = max(values) if p > 0 else min(values)
    if not most or math.isinf(p):
        return most
    if p == 0:
        return min(most * math.exp(math.fsum([math.log(a / most) for a in values]) / n), max(values))
    powers = [math.expm1(p * math.log(a / most)) if a else -1.0 for a in values]
    return min(most * math.exp(math.log1p(math.fsum(powers) / n) / p), max(values))


def exponent(average: Average, p: float | None) -> float | Callable[[list[float]], float]:
    """Return the exponent of the power mean that `average` names, or the function that it is."""
    exponents = {"arithmetic": 1.0, "geometric": 0.0, "harmonic": -1.0, "power": p}
    if callable(average):
        return average
    if not isinstance(average, str) or average not in exponents:
        raise ValueError(f"Expected `average` to be a function or one of {', '.join(exponents)}, but got {average!r}")
    chosen = exponents[average]
    if not isinstance(chosen, int | float) or isinstance(chosen, bool) or math.isnan(chosen):
        raise ValueError(f"Expected `p` to be a number with average='power', but got {p!r}")
    return chosen


def combine(values: Floats, average: float | Callable[[list[float]], float]) -> float:
    """Return the power mean with that exponent, or what the function makes of the values; nan if there are none."""
    if not len(values):
        return NAN
    return float(average(values.tolist())) if callable(average) else power_mean(values.tolist(), average)
