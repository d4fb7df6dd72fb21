"""Ratios, correlations, sums and means, exact for one matrix and elementwise for many.

**One matrix.** Integers are combined as integers and divided once: Python's int / int is correctly rounded at any size.
An array needs more care, because a product of two int64 counts overflows silently from 2^31 on; there the arrays become
arrays of Python integers, as they are for weights with fractions (see `two_classes`). That is slow (0.05 us a number),
but only streams of more than two thousand million samples and fractions need it.

**Many matrices.** The numbers are arrays with the matrices first and the classes, cells or pairs last: float64, or
complex where a derivative is taken by a complex step. So nothing here compares complex numbers or takes absolute
values, except for tests on 0.

**Power means** are those of the components of an average.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import copysign, sqrt
from operator import mul
from typing import TypeAlias, TypeVar

import numpy as np

from stream_metrics.formulas.protocol import Exact, Floats, Integers, NumberOrArray, Numbers

Number: TypeAlias = Exact | float | Numbers
F = TypeVar("F", float, Floats)
N = TypeVar("N", bound=Number)
NAN = math.nan
FLOAT = np.dtype(np.float64)  # compared by identity, which is five times as fast as `==`
LONG = 8192  # numbers; from 10,000 on BLAS starts threads
SAFE = 2**31  # products of two counts up to here fit into int64


def ratio(a: NumberOrArray, b: NumberOrArray) -> float:
    """Return a / b, nan where b is 0; of exact numbers a correctly rounded float."""
    if type(b) is int and type(a) is int:  # the usual case first: metrics are read after single samples
        return a / b if b else NAN
    if isinstance(b, np.ndarray):
        values: float = divide(a, b)
        return values
    return float(a / b) if b else NAN


def divide(a: NumberOrArray, b: NumberOrArray) -> NumberOrArray:
    """Return a / b elementwise, nan for 0/0; correctly rounded for Python ints, of which b may be one.

    Callers have no other quotients by 0, which are infinite in a vector of floats.
    """
    if a.dtype.kind == "O":
        if isinstance(b, int):
            return np.array([x / b if b else NAN for x in a.tolist()], np.float64)
        if b.dtype.kind == "O":
            return np.array([x / y if y else NAN for x, y in zip(a.tolist(), b.tolist(), strict=True)], np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return _quotients(real(a), real(b))


def _quotients(a: NumberOrArray, b: NumberOrArray) -> NumberOrArray:
    """Return a / b; 0/0 is nan without a test in one vector of floats, but not in complex numbers."""
    return np.asarray(a / b) if _is_vector(b) else np.where(b == 0, np.nan, a / b)


def correlation(covariance: NumberOrArray, a: NumberOrArray, b: NumberOrArray) -> float:
    """Return covariance / sqrt(a b), nan unless a and b are above 0; between -1 and 1 if covariance^2 <= a b.

    Of exact numbers it is at most one unit in the last place off: the square is a quotient of two exact numbers,
    exactly 1 where they are equal, and never more.
    """
    if type(a) is int or not isinstance(a, np.ndarray):  # the usual case first: metrics are read after single samples
        return copysign(sqrt(covariance * covariance / (a * b)), covariance) if a > 0 and b > 0 else NAN
    with np.errstate(invalid="ignore", divide="ignore"):
        values: float = clipped(_quotients(real(covariance), np.sqrt(real(a) * 1.0 * real(b))))
        return values


def plain(a: Exact) -> int | float:
    """Return an exact number as int, or as float if it is no whole number."""
    return a if isinstance(a, int) else float(a)


def wide(counts: Numbers, total: Exact) -> Numbers:
    """Return counts whose products of two are exact: int64 while they are below 2^31, Python ints from there on."""
    return counts if counts.dtype != np.int64 or total < SAFE else counts.astype(object)


def exact(counts: Numbers) -> Numbers:
    """Return whole counts as Python ints, which have any size; floats as they are."""
    return counts.astype(object) if counts.dtype == np.int64 else counts


def count(values: Numbers) -> NumberOrArray:
    """Return how many numbers are not 0 along the last axis."""
    return int(np.count_nonzero(values)) if values.ndim == 1 else np.count_nonzero(values, axis=-1)


def real(a: Numbers) -> Numbers:
    """Return Python integers as float64, other arrays as they are."""
    return a.astype(np.float64) if a.dtype.kind == "O" else a


def floats(a: Numbers) -> Numbers:
    """Return whole numbers as float64, floats and complex numbers as they are."""
    return a if a.dtype.kind in "fc" else a.astype(np.float64)


def dot(a: Numbers, b: Numbers) -> NumberOrArray:
    """Return the inner products over the last axis, exact for Python ints."""
    if a.dtype == object:
        return sum(map(mul, a.tolist(), b.tolist()))
    return np.dot(a, b).item() if a.ndim == 1 else a @ b if b.ndim == 1 else (a * b).sum(-1)


def inner(a: Floats, b: Floats) -> float:
    """Return the inner product of two vectors of floats, that of long ones in one thread.

    The threads of BLAS save some microseconds on idle processors and cost a millisecond on busy ones, and the last
    digits would depend on their number.
    """
    return float(a @ b) if len(a) < LONG else float((a * b).sum())


def sum_of(values: Floats) -> float:
    """Return the sums over the last axis, correctly rounded for one vector."""
    sums: float = math.fsum(values.tolist()) if _is_vector(values) else values.sum(-1)
    return sums


def total_of(values: Numbers) -> NumberOrArray:
    """Return the sums over the last axis; for one vector, of whole numbers, an int."""
    return int(values.sum()) if values.ndim == 1 else values.sum(-1)


def at(values: Numbers, places: Integers) -> Numbers:
    """Return the values at places of the last axis."""
    return values[places] if values.ndim == 1 else values.take(places, -1)


def sums_by(places: Integers, values: Numbers, size: int) -> Numbers:
    """Return the sums of values, (..., n), by their places, n numbers from 0 to size - 1."""
    order = np.argsort(places, kind="stable")
    return sums_in_order(places[order], values[..., order], size)


def sums_in_order(places: Integers, values: Numbers, size: int) -> Numbers:
    """Return the sums of values by their places, which must not decrease."""
    sums = np.zeros((*values.shape[:-1], size), values.dtype)
    if len(places):
        starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
        sums[..., places[starts]] = np.add.reduceat(values, starts, axis=-1)
    return sums


def per_class(total: N) -> N:
    """Return a number of each matrix with an axis for its classes, so that it combines with numbers per class."""
    return total[..., None] if isinstance(total, np.ndarray) else total  # type: ignore[return-value]


def if_counted(total: Exact, value: float) -> float:
    """Return a value, nan where a matrix is empty."""
    if isinstance(total, np.ndarray):
        return np.where(total == 0, np.nan, value)
    return value if total else NAN


def harmonic_of_two(a: F, b: F) -> F:
    """Return 2 a b / (a + b) of numbers >= 0, 0 where both are 0."""
    both = a + b
    if isinstance(both, np.ndarray):
        return 2 * a * b / np.where(both == 0, 1.0, both)
    return 2 * a * b / both if both else 0.0


def geometric_of_two(a: Floats, b: Floats) -> Floats:
    """Return sqrt(a b), 0 where only one of them is nan: then its partner is 0."""
    mean: Floats = np.sqrt(a * b)
    return np.where(np.isnan(a) != np.isnan(b), 0.0, mean) if has_nan(mean) else mean


def clipped(values: F, low: float = -1.0, high: float = 1.0) -> F:
    """Return floats moved into a range that rounding may have left; numbers of other types as they are."""
    if isinstance(values, np.ndarray) and values.dtype is FLOAT:
        return np.maximum(np.minimum(values, high), low)
    return values


def has_nan(values: Floats) -> bool:
    """Tell whether there is a nan; of one vector three times as fast as `isnan` and `any` for a few classes."""
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype is FLOAT:
        return math.isnan(values.dot(values))
    return bool(np.isnan(values).any())


def components(values: Floats, zero_division: float) -> Floats:
    """Return the values of an average: nan becomes `zero_division`; if that is nan, it is left out of one vector."""
    if not has_nan(values):
        return values
    lost = np.isnan(values)
    if not math.isnan(zero_division):
        return np.where(lost, zero_division, values)
    return values[~lost] if _is_vector(values) else values


def mean_of(values: Floats, zero_division: float, weights: Numbers | float = 1.0) -> float:
    """Return the means over the last axis; nan counts as `zero_division`, or is left out if that is nan."""
    values = components(values, zero_division)
    if values.ndim == 1 and values.dtype is FLOAT and isinstance(weights, float):
        return float(values.sum() / len(values)) if len(values) else NAN
    weights = np.broadcast_to(weights, values.shape)
    lost = np.isnan(values)
    if lost.any():
        weights, values = np.where(lost, 0.0, weights), np.where(lost, 0.0, values)
    means: float = divide((weights * values).sum(-1), weights.sum(-1))
    return means


def _is_vector(values: NumberOrArray) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind != "c"


Average: TypeAlias = str | Callable[[list[float]], float]
Exponent: TypeAlias = float | Callable[[list[float]], float]


def exponent(average: Average, p: float | None) -> Exponent:
    """Return the exponent of the power mean that `average` names, or the function that it is."""
    exponents = {"arithmetic": 1.0, "geometric": 0.0, "harmonic": -1.0, "power": p}
    if callable(average):
        return average
    if not isinstance(average, str) or average not in exponents:
        raise ValueError(f"Expected `average` to be a function or one of {', '.join(exponents)}, but got {average!r}")
    power = exponents[average]
    if not isinstance(power, int | float) or isinstance(power, bool) or math.isnan(power):
        raise ValueError(f"Expected `p` to be a number with average='power', but got {p!r}")
    return power


def combine(values: Floats, average: Exponent, zero_division: float) -> float:
    """Return the power mean with that exponent over the last axis, or what the function returns for the values.

    A value that is nan counts as `zero_division`, or is left out if that is nan; the mean of no values is nan.
    """
    if values.ndim > 1:
        if callable(average):
            means: NumberOrArray = np.apply_along_axis(lambda row: combine(row, average, zero_division), -1, values)
        else:
            means = power_means(values, average, zero_division)
        return means  # type: ignore[no-any-return]
    numbers = components(values, zero_division).tolist()
    if not numbers:
        return NAN
    return float(average(numbers)) if callable(average) else power_mean(numbers, average)


def power_mean(values: Sequence[float], p: float) -> float:
    """Return (sum a^p / n)^(1/p) of numbers >= 0: p = 0 geometric, +-inf maximum and minimum; 0 if p <= 0 and one is 0.

    In the form m exp(log1p(mean(expm1(p log(a/m)))) / p) neither a large nor a tiny p loses digits; m is the largest
    number, or the smallest if p <= 0. Itai and Katz 2022, eq. 4.
    """
    n = len(values)
    if p == 1:
        return math.fsum(values) / n
    scale = max(values) if p > 0 else min(values)
    if not scale or math.isinf(p):
        return scale
    if p == 0:
        return min(scale * math.exp(math.fsum([math.log(a / scale) for a in values]) / n), max(values))
    powers = [math.expm1(p * math.log(a / scale)) if a else -1.0 for a in values]
    return min(scale * math.exp(math.log1p(math.fsum(powers) / n) / p), max(values))


def power_means(values: Floats, p: float, zero_division: float) -> NumberOrArray:
    """Return the power means over the last axis of many rows, for exponents of ordinary size or infinite ones."""
    values = components(values, zero_division)
    if p == 1:
        return mean_of(values, NAN)
    if math.isinf(p):
        return (np.fmax if p > 0 else np.fmin).reduce(values, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if p == -1:
            means = 1 / mean_of(1 / values, NAN)
        elif p == 0:
            means = np.exp(mean_of(np.log(np.where(values == 0, 1.0, values)), NAN))
        else:
            means = mean_of(values**p, NAN) ** (1 / p)
    return means if p > 0 else np.where((values == 0).any(-1), 0.0, means)


def power_means_of_rates(rates: Floats, p: float, zero_division: float) -> Floats:
    """Return the power means over the last axis, of rates that may be 0/0.

    If p > 0, a rate that is 0/0 counts as `zero_division`; if p <= 0, the mean is 0/0 if a rate is, unless another is
    0. It is 0/0 as well if all rates are.
    """
    if rates.ndim <= 2 and rates.dtype == np.float64:
        return np.array([_power_mean_of_rates(row, p, zero_division) for row in rates.tolist()], np.float64)
    lost = np.isnan(rates)
    values = np.where(lost, zero_division, rates) if p > 0 else rates
    means = power_means(values, p, NAN)
    if p <= 0:
        means = np.where(lost.any(-1) & (rates != 0).all(-1), np.nan, means)
    return np.where(lost.all(-1), np.nan, means)


def _power_mean_of_rates(rates: list[float], p: float, zero_division: float) -> float:
    defined = [rate for rate in rates if not math.isnan(rate)]
    if len(defined) == len(rates):
        return power_mean(rates, p)
    if p <= 0:
        return 0.0 if 0.0 in defined else NAN
    return power_mean([*defined, *[zero_division] * (len(rates) - len(defined))], p) if defined else NAN
