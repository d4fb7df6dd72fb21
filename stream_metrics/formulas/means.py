"""Power means of the components of an average, of one matrix to the last digits and of many at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, components, mean_of
from stream_metrics.formulas.protocol import Floats, NumberOrArray

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
