"""How many labels are needed: until an interval is narrow enough, and until a difference would be seen.

Guesses come from a snapshot or from experience. All of it is for independent samples. The power of McNemar's test is
exact where few discordant samples are expected; the other formulas of power are normal approximations, held against
simulation in the tests: within one point where 100 discordant samples are expected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.table import find
from stream_metrics.evaluation.evaluation import Evaluation
from stream_metrics.formulas.protocol import Counts, Floats, Numbers
from stream_metrics.formulas.stats.normal import normal_quantile
from stream_metrics.inference.comparison.tests import mcnemar_test
from stream_metrics.inference.intervals import count_intervals
from stream_metrics.inference.intervals.anytime import beta_binomial_sequence, late_multiplier
from stream_metrics.inference.intervals.batched_counts import MatrixCounts
from stream_metrics.inference.intervals.interval import Interval, IntervalRequest
from stream_metrics.inputs.arguments import real

if TYPE_CHECKING:
    from stream_metrics.labels import Label


MOST = 2**62
MOST_CLASSES = 512  # whose matrix is scaled
TINY = 1e-300
FEW_PAIRS = 100  # discordant samples, fewer of which are counted out


class HasIntervals(Protocol):
    """The part of a `Snapshot` that planning reads."""

    evaluation: Evaluation

    @property
    def n(self) -> int:
        """The number of samples."""

    def interval(self, key: str, level: float = ..., **options: object) -> Interval | dict[Label, Interval]:
        """See `Snapshot.interval`."""


def samples_needed(
    width: float,
    rate: float | None = None,
    *,
    snapshot: HasIntervals | None = None,
    key: str = "accuracy",
    label: Label | None = None,
    se: float | None = None,
    n: int | None = None,
    level: float = 0.95,
    valid: str = "fixed",
    t_opt: float | None = None,
) -> int:
    """Return how many samples make the interval of a metric at most `width` wide.

    Parameters
    ----------
    width : float
        The width of the interval, both sides together.
    rate : float, optional
        The proportion, if the metric is one. For a rate of a class, the samples are those of the class.
    snapshot : Snapshot, optional
        A snapshot from which the value and its spread are read.
    key : str, default "accuracy"
        The metric of the snapshot.
    label : Label, optional
        The class of a per-class metric.
    se : float, optional
        Standard error of the metric at `n` samples.
    n : int, optional
        Number of samples of `se`.
    level : float, default 0.95
        Confidence of the interval, in (0, 1).
    valid : {"fixed", "anytime"}, default "fixed"
        "fixed" is for one look at a moment that was chosen beforehand, "anytime" for any number of looks.
    t_opt : float, optional
        Number of samples near which an interval for all looks is tightest; to be chosen before the first look.

    Returns
    -------
    int
        Number of samples.

    Raises
    ------
    ValueError
        If the width is not above 0, if not exactly one of `rate`, `snapshot` and `se` is given, or if it says nothing:
        a standard error of 0.

    Notes
    -----
    For a proportion, the smallest n whose interval (Wilson; with valid="anytime" the beta-binomial sequence) is that
    narrow. From a snapshot with valid="anytime", by the interval that counts in the same proportions would have;
    otherwise, and for metrics of scores, the interval is taken to shrink as 1/sqrt(n). From a standard error with
    valid="anytime", by the asymptotic sequence.

    The width depends on the samples: the interval is at most that wide in about half of experiments, and a little wider
    in the others.

    Examples
    --------
    >>> from stream_metrics import samples_needed
    >>> samples_needed(0.02, 0.9)
    3461
    """
    width, level, t_opt = real(width, "width"), real(level, "level"), _optional(t_opt, "t_opt")
    rate, se, samples = _optional(rate, "rate"), _optional(se, "se"), _optional(n, "n")
    _check_options(width, level, valid, t_opt)
    if sum(guess is not None for guess in (rate, snapshot, se)) != 1:
        raise ValueError("Expected exactly one of `rate`, `snapshot` and `se` with `n`")
    if rate is not None:
        width_at = _width_of_rate(rate, level, valid, t_opt)
        return _first(lambda m: width_at(m) <= width)
    if snapshot is not None:
        scaled = _scaled(snapshot, key, label, level, t_opt) if valid == "anytime" else None
        if scaled is not None:
            return _first(lambda m: scaled(m) <= width)
        deviation = _deviation(snapshot, key, label, level)
    else:
        if se is None or samples is None or not samples >= 1:
            raise ValueError(
                f"Expected `se` together with the number `n` of samples that it has, but got {se!r}, {n!r}"
            )
        deviation = se * math.sqrt(samples)
    if not 0 < deviation < math.inf:
        raise ValueError(f"Expected a guess with a standard error above 0, but got {deviation!r} for one sample")
    z = -normal_quantile((1 - level) / 2)

    def narrow(m: int) -> bool:
        margin = z if valid == "fixed" else late_multiplier(m, t_opt, level)
        return 2 * margin * deviation / math.sqrt(m) <= width

    return _first(narrow)


def _check_options(width: float, level: float, valid: str, t_opt: float | None) -> None:
    if not width > 0:
        raise ValueError(f"Expected `width` to be above 0, but got {width!r}")
    if not 0 < level < 1 or valid not in ("fixed", "anytime"):
        raise ValueError(
            f"Expected a `level` in (0, 1) and `valid` 'fixed' or 'anytime', but got {level!r} and {valid!r}"
        )
    if t_opt is not None and not t_opt > 0:
        raise ValueError(f"Expected `t_opt` to be a number of samples above 0, but got {t_opt!r}")


def _width_of_rate(rate: float, level: float, valid: str, t_opt: float | None) -> Callable[[int], float]:
    """Return the width of the interval of a proportion by the number of samples."""
    if not 0 <= rate <= 1:
        raise ValueError(f"Expected `rate` to be between 0 and 1, but got {rate!r}")
    if valid == "fixed":
        return lambda m: _wilson_width(rate, m, level)
    return lambda m: _sequence_width(rate, m, level, t_opt)


def _one(interval: Interval | dict[Label, Interval], key: str) -> Interval:
    """Return a single interval; `ValueError` for those of all classes."""
    if isinstance(interval, dict):
        raise ValueError(f"Expected the `label` of a class for {key!r}, which has a value for each, but got none")
    return interval


def _deviation(snapshot: HasIntervals, key: str, label: Label | None, level: float) -> float:
    """Return what the standard error of a metric would be for one sample, from the width of its interval."""
    interval = _one(snapshot.interval(key, level, label=label), key)
    z = -normal_quantile((1 - level) / 2)
    return float(interval.high - interval.low) / (2 * z) * math.sqrt(snapshot.n)


def _scaled(
    snapshot: HasIntervals, key: str, label: Label | None, level: float, t_opt: float | None
) -> Callable[[int], float] | None:
    """Return the width of an interval for all looks by the number of samples.

    The counts have the proportions of the snapshot's. None for many classes, and for a metric that does not read the
    counts.
    """
    now, row = _one(snapshot.interval(key, level, label=label, valid="anytime", t_opt=t_opt), key), find(key)
    if math.isnan(now.low):
        raise ValueError(f"Expected a guess with a value of {key!r}, but it is 0/0")
    if key == "top_k_accuracy":
        return lambda m: _sequence_width(now.value, m, level, t_opt)
    view = snapshot.evaluation.views.get("counts")
    if row.state != "counts" or view is None or view.k > MOST_CLASSES:
        return None
    request, zero = IntervalRequest(level, "anytime", t_opt, 2, 0), row.zero_division
    matrix, totals = np.zeros((view.k, view.k)), _totals(view)
    rows, columns, counts = view.cells()
    matrix[rows, columns] = counts / view.total
    values = np.full(view.k, now.value)

    def width_at(m: int) -> float:
        scaled = MatrixCounts(np.rint(matrix * m).astype(np.int64), view.labels)
        if any(((before > 0) & (then == 0)).any() for before, then in zip(totals, _totals(scaled), strict=True)):
            return math.inf  # a class would not have occurred yet
        if row.kind == "whole":
            interval = count_intervals.whole(row, scaled, (now.value, False), request, zero)
        else:
            interval = count_intervals.per_class(row, scaled, (values, ()), request, zero)[label]  # type: ignore[index]
        return interval.high - interval.low if interval.low == interval.low else math.inf

    return width_at


def _totals(c: Counts) -> tuple[Numbers, Numbers]:
    return c.true_totals, c.predicted_totals


def _sequence_width(p: float, n: int, level: float, t_opt: float | None) -> float:
    low, high = beta_binomial_sequence(np.array(p * n), np.array(n), level, t_opt)
    return float(high - low)


def _wilson_width(p: float, n: int, level: float) -> float:
    """Return the width of the Wilson interval of a proportion p of n, cut off at 0 and 1."""
    z = -normal_quantile((1 - level) / 2)
    middle, margin = (p + z * z / (2 * n)) / (1 + z * z / n), math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    margin *= z / (1 + z * z / n)
    return min(1.0, middle + margin) - max(0.0, middle - margin)


def power(
    n: int,
    difference: float,
    *,
    discordance: float | None = None,
    rate: float | None = None,
    n_b: int | None = None,
    level: float = 0.95,
) -> float:
    """Return the probability that a difference in accuracy of two models is found significant, two-sided.

    Parameters
    ----------
    n : int
        Number of samples, of the first model if `n_b` is given.
    difference : float
        Accuracy of the second model less that of the first.
    discordance : float, optional
        For both models on the same samples: the share of samples that exactly one gets right.
    rate : float, optional
        For different samples: the accuracy of the first model.
    n_b : int, optional
        For different samples: number of samples of the second model; `n` by default.
    level : float, default 0.95
        1 less the significance level, in (0, 1).

    Returns
    -------
    float
        The probability, in (0, 1).

    Raises
    ------
    ValueError
        Unless exactly one of `discordance` and `rate` is given, or if a number is out of range.

    Notes
    -----
    With the same samples the test is McNemar's mid-p test. Where fewer than 100 discordant samples are expected, its
    power is summed over all numbers of them; else it is Phi((d sqrt(n) - z sqrt(s)) / sqrt(s - d^2)) with d the
    absolute difference and s the discordance. With different samples it is the test of two proportions.

    References
    ----------
    .. [1] Miettinen 1968. O. S. Miettinen, The matched pairs design in the case of all-or-none responses. Biometrics
       24(2), 339-352.
    .. [2] Fleiss et al. 2003, sec. 4. J. L. Fleiss, B. Levin and M. C. Paik, Statistical methods for rates and
       proportions, third edition. Wiley.

    Examples
    --------
    >>> from stream_metrics import power
    >>> round(power(1000, 0.02, discordance=0.1), 3)
    0.516
    """
    difference, level = real(difference, "difference"), real(level, "level")
    discordance, rate = _optional(discordance, "discordance"), _optional(rate, "rate")
    m = real(n if n_b is None else n_b, "n" if n_b is None else "n_b")
    if not real(n, "n") >= 1 or not m >= 1 or not 0 < level < 1:
        raise ValueError(
            f"Expected numbers of samples above 0 and a `level` in (0, 1), but got {n!r}, {n_b!r}, {level!r}"
        )
    d, z = abs(difference), -normal_quantile((1 - level) / 2)
    if discordance is not None and rate is None:
        if not (0 < discordance <= 1 and d <= discordance and n_b is None):
            raise ValueError(
                f"Expected a `discordance` from the difference, {d!r}, to 1, and no `n_b`, "
                f"but got {discordance!r} and {n_b!r}"
            )
        if n * discordance < FEW_PAIRS:
            return _power_of_few(int(n), d, discordance, level)
        edge, deviation = z * math.sqrt(discordance / n), math.sqrt((discordance - d * d) / n)
    elif rate is not None and discordance is None:
        other = rate + difference
        if not (0 < rate < 1 and 0 < other < 1):
            raise ValueError(f"Expected `rate` and `rate` + `difference` in (0, 1), but got {rate!r} and {other!r}")
        mean = (n * rate + m * other) / (n + m)
        edge = z * math.sqrt(mean * (1 - mean) * (1 / n + 1 / m))
        deviation = math.sqrt(rate * (1 - rate) / n + other * (1 - other) / m)
    else:
        raise ValueError("Expected exactly one of `discordance` (the same samples) and `rate` (different ones)")
    phi = NormalDist().cdf
    return phi((d - edge) / max(deviation, TINY)) + phi((-d - edge) / max(deviation, TINY))


def _power_of_few(n: int, d: float, s: float, level: float) -> float:
    """Return the power of McNemar's mid-p test, summed over the numbers of discordant samples.

    There are m of them with a binomial probability, and of these x favour one model, also a binomial number.
    """
    mean = n * s
    m = np.arange(min(n, int(mean + 12 * math.sqrt(mean) + 30)) + 1)
    share, total = (s + d) / (2 * s), 0.0
    for pairs, chance in zip(m.tolist(), _binomial(n, m, s).tolist(), strict=True):
        least = _rejected_from(pairs, level)
        x = np.arange(pairs + 1)
        total += chance * float(_binomial(pairs, x, share)[(x >= least) | (x <= pairs - least)].sum())
    return min(total, 1.0)


def _binomial(n: int, x: NDArray[np.int64], p: float) -> Floats:
    """Return the probabilities of x = 0, 1, ... successes in n trials."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ways = np.concatenate([[0.0], np.cumsum(np.log((n - x[:-1]) / (x[:-1] + 1)))])
        hits = np.where(x > 0, x * np.log(p), 0.0)
        return np.asarray(np.exp(ways + hits + np.where(x < n, (n - x) * np.log1p(-p), 0.0)))


@lru_cache(4096)
def _rejected_from(m: int, level: float) -> int:
    """Return of how many discordant samples of m in favour of one model on the mid-p test rejects; m + 1 if of none."""
    return next((x for x in range((m + 1) // 2, m + 1) if mcnemar_test(m - x, x) <= 1 - level), m + 1)


def samples_for_power(
    wanted: float,
    difference: float,
    *,
    discordance: float | None = None,
    rate: float | None = None,
    level: float = 0.95,
) -> int:
    """Return how many samples find a difference in accuracy with a wanted probability.

    Parameters
    ----------
    wanted : float
        The probability, in (0, 1).
    difference : float
        Accuracy of the second model less that of the first, not 0.
    discordance : float, optional
        For both models on the same samples: the share of samples that exactly one gets right.
    rate : float, optional
        For different samples: the accuracy of the first model.
    level : float, default 0.95
        1 less the significance level, in (0, 1).

    Returns
    -------
    int
        The smallest n with `power` >= wanted, up to steps of the exact power; of each model, if they are on different
        samples.

    Raises
    ------
    ValueError
        If the difference is 0, `wanted` is not in (0, 1), or `power` refuses the numbers.

    Examples
    --------
    >>> from stream_metrics import samples_for_power
    >>> samples_for_power(0.8, 0.02, discordance=0.1)
    1960
    """
    wanted, difference = real(wanted, "wanted"), real(difference, "difference")
    if not 0 < wanted < 1 or not difference:
        raise ValueError(f"Expected `wanted` in (0, 1) and a difference, but got {wanted!r} and {difference!r}")
    return _first(lambda n: power(n, difference, discordance=discordance, rate=rate, level=level) >= wanted)


def _optional(value: float | None, argument: str) -> float | None:
    return None if value is None else real(value, argument)


def _first(enough: Callable[[int], bool]) -> int:
    """Return the smallest number of samples that is enough, where more are enough as well."""
    high = 1
    while not enough(high):
        high *= 2
        if high > MOST:
            raise ValueError("Expected a number of samples below 2**62 to be enough, but none is")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
