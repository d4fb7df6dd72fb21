"""Exact ratios, means, and the integers behind a two-by-two table.

Integers are combined as integers and divided once: Python's int / int is correctly rounded at any size. An array
needs more care, because a product of two int64 counts overflows silently from 2^31 on; there the arrays become arrays
of Python integers, which is slow (0.05 us a number) but needed only by streams of more than two thousand million
samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from stream_metrics.formulas.frozen import shared
from stream_metrics.formulas.protocol import Counts, Exact, Floats, Form, Numbers

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


def integers(values: Numbers) -> list[int]:
    """Return the numbers as Python ints: as they are, or in units of 2^-64 if weights had fractions."""
    if values.dtype == np.int64:
        return list(values.tolist())
    return [int(value * 2.0**64) for value in values.tolist()]


def correlation(covariance: Exact | float, a: Exact, b: Exact) -> float:
    """Return covariance / sqrt(a b) within [-1, 1]; nan if a or b is 0.

    With the product of the two roundings, not of the integers, equal a, b and covariance give exactly 1 at any size.
    """
    if not a or not b:
        return NAN
    value = float(covariance) / math.sqrt(float(a) * float(b))
    return max(-1.0, min(1.0, value))


@shared
def one_vs_all(c: Counts) -> Binary:
    """Return the table of every class against the rest, without rounding noise where a count is zero."""
    tp = c.diagonal
    if tp.dtype != np.int64:
        return Binary(tp, *(_real(c, form) for form in ((-1, 1, 0, 0), (-1, 0, 1, 0), (1, -1, -1, 1))))
    true, fp = c.true_totals, c.predicted_totals - tp
    return Binary(tp, true - tp, fp, int(c.total) - true - fp)


def _real(c: Counts, form: Form) -> Floats:
    return c.ratios(form, (0, 0, 0, 1)) * float(c.total) if c.total else np.zeros(c.k)


def wide(counts: Numbers, total: Exact) -> Numbers:
    """Return counts whose products of two are exact: as they are below 2^31, Python ints from there on, or float64."""
    return counts if total < SAFE or counts.dtype != np.int64 else counts.astype(object)


def divide(a: Numbers, b: Numbers) -> Floats:
    """Return a / b, nan where both are 0."""
    with np.errstate(invalid="ignore"):
        return np.asarray(a.astype(np.float64) / b.astype(np.float64))


def matthews(table: Binary) -> Floats:
    """Return (TP TN - FP FN) / sqrt((TP+FN)(TN+FP)(TP+FP)(TN+FN)); nan where a factor is 0."""
    tp, fn, fp, tn = table
    a, b = (tp + fn) * (tn + fp), (tp + fp) * (tn + fn)
    return np.clip(divide(tp * tn - fp * fn, np.sqrt(a.astype(np.float64) * b.astype(np.float64))), -1.0, 1.0)


def kappa(table: Binary) -> Floats:
    """Return 2 (TP TN - FP FN) / ((TP+FN)(FN+TN) + (TP+FP)(FP+TN)); nan where that is 0."""
    tp, fn, fp, tn = table
    return divide(2 * (tp * tn - fp * fn), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def harmonic_of_four(table: Binary) -> Floats:
    """Return 4 TP TN / (4 TP TN + (TP+TN)(FP+FN)); 0 if TP+TN = 0 < FP+FN, nan where everything is in one cell."""
    tp, fn, fp, tn = table
    wrong, product = fp + fn, 4.0 * tp * tn
    below = product + (tp + tn) * (wrong * 1.0)
    return divide(product, np.where(wrong > 0, np.maximum(below, product == 0), below))


def geometric_of_two(a: Floats, b: Floats) -> Floats:
    """Return sqrt(a b), 0 where only one of them is nan: then its partner is 0."""
    mean = np.sqrt(a * b)
    lost = np.isnan(mean)
    if lost.any():
        mean[lost & ~(np.isnan(a) & np.isnan(b))] = 0.0
    return mean


def components(values: Floats, zero_division: float) -> Floats:
    """Return the values of an average: nan becomes `zero_division`, or is left out if that is nan."""
    lost = np.isnan(values)
    if not lost.any():
        return values
    return values[~lost] if math.isnan(zero_division) else np.where(lost, zero_division, values)


def mean(values: Floats) -> float:
    """Return the arithmetic mean, whatever the order; nan if there are no values."""
    return math.fsum(values.tolist()) / len(values) if len(values) else NAN


def power_mean(values: Floats, p: float) -> Floats:
    """Return (sum a^p / n)^(1/p) along the first axis, for a >= 0: p = 0 geometric, +-inf maximum and minimum.

    0 where p <= 0 and some a is 0. In the form m exp(log1p(mean(expm1(p log(a/m)))) / p) neither a large nor a tiny p
    loses digits; m is the largest a, or the smallest if p <= 0. Itai and Katz 2022, eq. 4.
    """
    if math.isnan(p):
        raise ValueError(f"Expected `p` to be a number, +inf or -inf, but got {p!r}")
    if p == 1:
        return np.asarray(values.sum(axis=0) / len(values))
    largest = values.max(axis=0) if p > 0 else values.min(axis=0)
    if math.isinf(p):
        return np.asarray(largest)
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(values / np.where(largest > 0, largest, 1.0))
        if p == 0:
            exponent = logs.sum(axis=0) / len(values)
        else:
            exponent = np.log1p(np.expm1(p * logs).sum(axis=0) / len(values)) / p
    return np.asarray(np.where(largest > 0, largest * np.exp(exponent), 0.0))


def combine(values: Floats, average: Average, p: float | None) -> float:
    """Return the mean that `average` names, or calls; nan if there are no values."""
    exponents = {"arithmetic": 1.0, "geometric": 0.0, "harmonic": -1.0, "power": p}
    if not callable(average) and average not in exponents:
        raise ValueError(f"Expected `average` to be a function or one of {', '.join(exponents)}, but got {average!r}")
    if average == "power" and p is None:
        raise ValueError("Expected `p` with average='power', but got None")
    if not len(values):
        return NAN
    if callable(average):
        return float(average(values.tolist()))
    exponent = exponents[average]
    assert exponent is not None
    return mean(values) if exponent == 1 else float(power_mean(values, exponent))
