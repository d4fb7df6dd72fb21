"""Intervals that stay valid however often one looks: confidence sequences of metrics of the confusion matrix.

P(the truth is ever outside) <= 1 - level, over all looks together, so a stream may be watched for ever and stopped at
any moment. They are functions of the counts at the moment of looking: merge first, then compute. Intersecting the
intervals of several shards would be wrong, since each covers the parameter of its own shard.

**When an asymptotic sequence may start.** It takes the standard error as known, so it may start only where a few more
samples would not change it: when a rare class has shown 50 right answers and no mistake, the standard error of its
recall is 0, and an interval from it wrong. Add half a true positive, half a false negative and half a false positive
to every class. The sequence starts when the variance rests on `STEADY` samples, (sum f^2)^2 / sum f^4 with f the
influence of a sample, and at most `ADDED` of it comes from the added halves. It has the share `LATE` of the allowed
error. Theory asks for a standard error that is consistent in almost every stream (Waudby-Smith et al. 2024); no finite
count proves that, so `benchmarks/coverage_anytime.py` measures how often the sequence is ever wrong.

**Before that, an exact interval** from the first sample on, with the rest of the allowed error:

mean over classes of a rate   A rate is a proportion, of the samples of a class or of those predicted as one, so each
                              class has a beta-binomial sequence with a K-th of the error. The mean rises with every
                              rate and lies between its values at all lower and at all upper ends.
two classes; one class        The share of the class, its recall and its specificity have a third of the error each.
against all others            Kappa, MCC, P4 and the like rise with recall and specificity; over the interval of the
                              share they are evaluated on a grid.

Other metrics have the whole range until the asymptotic sequence starts, and a note that says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.intervals.kernels import lower_root, refuted_distance
from stream_metrics.formulas.arithmetic import mean_of, power_means
from stream_metrics.formulas.protocol import Counts, Floats, Form, NumberOrArray, Numbers, memoized
from stream_metrics.formulas.rates import F1, JACCARD, PRECISION, RECALL, SPECIFICITY
from stream_metrics.formulas.stats.normal import distinct_pairs, expit, log_beta
from stream_metrics.formulas.two_classes import TwoByTwo, one_vs_all
from stream_metrics.inference.intervals.adequacy import HALF, effective_count, influence, least_cells, padded
from stream_metrics.inference.intervals.batched_counts import BatchedCounts, batch_of_one, batched, make_cells
from stream_metrics.inference.intervals.gradients import MARGINS, PER_CLASS, BatchedFormula, class_slopes, gradient

BISECTIONS = 50
MIX = 0.5  # both parameters of the mixing beta distribution
SHARES: Floats = np.geomspace(1e-5, 0.9, 64)  # of the wealth that is bet
DISTANCES: Floats = np.geomspace(1e-5, 1 - 1e-9, 64)  # from a mean, as a share of it
PARTS: Floats = np.arange(1, 33) / 32
REFINEMENTS = 9
NEGLIGIBLE = 1e-100  # a mean whose square could be rounded to 0 counts as 0
SHARE_WEIGHTS: Floats = np.log(SHARES**0.25 / (SHARES**0.25).sum())
BETS = SHARES, np.log1p(-SHARES) + SHARES, SHARE_WEIGHTS


def beta_binomial_sequence(
    x: Numbers, n: Numbers, level: float = 0.95, t_opt: float | None = None
) -> tuple[Floats, Floats]:
    """The proportions that a beta-binomial mixture has not refuted: valid from the first sample on, at any n.

    {p : B(x + a, n - x + b) / B(a, b) < p^x (1 - p)^(n - x) / alpha}; [0, 1] where n is 0. The left side over the
    right, times alpha, is a non-negative martingale of mean 1 under p. It is so for any a and b, also if they depend on
    p: they are 1/2, or with `t_opt` c p and c (1 - p), which bets on shares about as far from p as t_opt samples can
    tell. Then the interval is 17 to 23 % narrower from t_opt samples on, if a few of these are hits and a few misses,
    and wider long before. Robbins 1970; Howard et al. 2021.
    """
    x, n = np.asarray(x, np.float64), np.asarray(n, np.float64)
    if (pairs := distinct_pairs(x, n)) is not None:
        low, high = beta_binomial_sequence(pairs.x, pairs.n, level, t_opt)
        return low[pairs.places], high[pairs.places]
    alpha, counts = 1 - level, zip(x.ravel().tolist(), n.ravel().tolist(), strict=True)
    if t_opt is None:
        ends = [_limits(hits, of, alpha) if of > 0 else (0.0, 1.0) for hits, of in counts]
    else:
        ends = [_tuned_limits(hits, of, alpha, t_opt) if of > 0 else (0.0, 1.0) for hits, of in counts]
    low, high = np.array(ends, np.float64).reshape(-1, 2).T
    return low.reshape(x.shape), high.reshape(x.shape)


@lru_cache(maxsize=16384)  # groups with many classes have the same small counts again and again
def _limits(x: float, n: float, alpha: float) -> tuple[float, float]:
    """Return where n log(1 + e^u) - x u, convex in the logit u, reaches the bound, by Newton's steps from outside."""
    goal = log_beta(MIX, MIX) - math.log(alpha) - log_beta(MIX + x, MIX + (n - x))
    if x <= n * NEGLIGIBLE:
        return 0.0, -math.expm1(-goal / n)
    if x >= n:
        return math.exp(-goal / n), 1.0
    return expit(lower_root(x, n - x, n, goal)), expit(-lower_root(n - x, x, n, goal))


def _tuned_limits(x: float, n: float, alpha: float, t_opt: float) -> tuple[float, float]:
    """Return where the logarithm of the mixture, which is convex in p and below 0 at x / n, reaches the bound."""
    twice_log = 2 * math.log(1 / alpha)
    c = t_opt / (twice_log + math.log1p(twice_log))

    def refuted(p: float) -> bool:
        a, b = c * p, c * (1 - p)
        mixture = log_beta(a + x, b + (n - x)) - log_beta(a, b)
        return mixture - x * math.log(p) - (n - x) * math.log1p(-p) >= -math.log(alpha)

    ends = []
    for outer in (0.0, 1.0):
        inner, end = x / n, outer
        for _ in range(BISECTIONS if inner != outer else 0):
            middle = (inner + end) / 2
            if not 0 < middle < 1:
                break
            inner, end = (inner, middle) if refuted(middle) else (middle, end)
        ends.append(end)
    return ends[0], ends[1]


def difference_sequence(b: int, c: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The differences of two paired proportions that bets have not refuted: valid from the first sample on, at any n.

    Of n samples b are -1, c are 1 and the others 0, and d is their mean in the population. A bet of the share r of all
    wealth against every mean of d or less turns a unit into the product of 1 - r + r (x + 1) / (d + 1) over the
    samples, a non-negative supermartingale; so does the mean over `SHARES` of r, with more weight on the larger ones.
    It falls with d; the lower end is where it is 2 / alpha, and the upper end the same with the signs exchanged.
    Waudby-Smith and Ramdas 2024; Choe and Ramdas 2024.
    """
    return _bet_limit(b, c, n, 1 - level), -_bet_limit(c, b, n, 1 - level)


def _bet_limit(b: int, c: int, n: int, alpha: float) -> float:
    if b >= n:
        return -1.0
    low, high = -1.0, (c - b) / n
    goal = math.log(2 / alpha)
    lost = b * np.log1p(-SHARES) + SHARE_WEIGHTS
    for _ in range(BISECTIONS):
        d = (low + high) / 2
        logs = lost + c * np.log1p(SHARES * (1 - d) / (1 + d)) + (n - b - c) * np.log1p(-SHARES * d / (1 + d))
        most = logs.max()
        low, high = (d, high) if most + math.log(np.exp(logs - most).sum()) >= goal else (low, d)
    return low


def bounded_sequence(total: float, squares: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The means in [0, 1] that are not refuted by n values in [0, 1] with this sum and sum of squares: at any n.

    The narrower of two sequences at each end, with half of the error each: that of a proportion (see `area_sequence`),
    which suits values that are 0 or 1, and bets, which suit values of small variance. A bet of the share r against the
    mean m turns a unit into the product of 1 + r (x - m) / m, a martingale, which is at least the exponential of the
    sum of r (x - m) / m + (log(1 - r) + r) (x - m)^2 / m^2 (Fan et al. 2015), a function of the sums. The mean over
    `SHARES` of r refutes m, and all below it, because the product falls with m. The upper end is that of 1 - x.
    """
    alpha = (1 - level) / 2
    low, high = _limits(total, n, alpha)
    below = _mean_limit(total, squares, n, alpha)
    above = _mean_limit(n - total, n - 2 * total + squares, n, alpha)
    return max(low, below), min(high, 1 - above)


def _mean_limit(total: float, squares: float, n: int, alpha: float) -> float:
    """Return a mean that bets refute with the factor 2 / alpha, the largest below that of the values; 0 without one."""
    mean, goal = total / n, math.log(2 / alpha)
    if not mean > NEGLIGIBLE:
        return 0.0
    return mean * (1 - refuted_distance(total, squares, n, goal, BETS, DISTANCES, PARTS, REFINEMENTS))


def area_sequence(area: tuple[float, float], own: float, rest: float, level: float) -> tuple[float, float]:
    """The ROC areas that are not refuted, for an area that lies between two values: from the first sample on.

    The area is the mean, over the smaller class, of the share of the larger one that a sample is on the right side of.
    These shares, in [0, 1], have the sequence of a proportion (a^z b^(1 - z) <= z a + (1 - z) b, so the mixture is a
    supermartingale for them as well). They are off by at most the distance of an empirical distribution of t samples
    from its population, which exceeds sqrt(log(pi^2 t^2 / 3 a) / 2t) at any t with probability a at most. Half of the
    error each. Massart 1990; Waudby-Smith and Ramdas 2024.
    """
    few, many, alpha = min(own, rest), max(own, rest), (1 - level) / 2
    off = math.sqrt(math.log(math.pi**2 * many * many / (3 * alpha)) / (2 * many))
    low, _ = _limits(few * max(area[0] - off, 0.0), few, alpha)
    _, high = _limits(few * min(area[1] + off, 1.0), few, alpha)
    return min(low, area[0]), max(high, area[1])


def asymptotic_multiplier(n: float, t_opt: float, alpha: float = 0.05) -> float:
    """How many standard errors an asymptotic confidence sequence reaches at sample n: estimate +- SE_n m(n).

    m = sqrt(2 (s + 1) / s log(sqrt(s + 1) / alpha)), s = n rho^2, rho^2 = (2 log(1/alpha) + log(1 + 2 log(1/alpha))) /
    t_opt. Tightest near n = t_opt, which must be fixed before looking. Waudby-Smith et al. 2021.
    """
    twice_log = 2 * math.log(1 / alpha)
    s = n * (twice_log + math.log1p(twice_log)) / t_opt
    return math.sqrt(2 * (s + 1) / s * math.log(math.sqrt(s + 1) / alpha))


STEADY = 30
ADDED = 0.1
LATE = 0.8
T_OPT = 1000.0  # samples at which the asymptotic sequence is tightest, by default
GRID = 129  # shares of a class at which a metric is evaluated
TWO = make_cells(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.zeros(4), 2)
TOO_EARLY = "too early: the standard error rests on too few samples"
ONE_CLASS = "too early: all samples so far are of one class"


class Exact(NamedTuple):
    """Bounds that hold from the first sample on."""

    low: NumberOrArray
    high: NumberOrArray


def _power(p: float) -> Callable[[Floats], NumberOrArray]:
    return lambda rates: power_means(rates, p, math.nan)


def _mean(rates: Floats) -> NumberOrArray:
    return mean_of(rates, math.nan)


def _adjusted(rates: Floats) -> NumberOrArray:
    return (rates.sum(-1) - 1) / max(rates.shape[-1] - 1, 1)


MEANS: dict[str, tuple[tuple[Form, Form], Callable[[Floats], NumberOrArray]]] = {  # a rate, and its mean
    **dict.fromkeys(("balanced_accuracy", "weighted_balanced_accuracy", "macro_recall"), (RECALL, _mean)),
    "balanced_accuracy_adjusted": (RECALL, _adjusted),
    "geometric_mean": (RECALL, _power(0.0)),
    "macro_precision": (PRECISION, _mean),
    "macro_specificity": (SPECIFICITY, _mean),
    **dict.fromkeys(("general_f1", "macro_f1", "macro_fbeta"), (F1, _mean)),
    "general_f1_geometric": (F1, _power(0.0)),
    "general_f1_harmonic": (F1, _power(-1.0)),
    "general_f1_power_2": (F1, _power(2.0)),
    "macro_jaccard": (JACCARD, _mean),
}
OF_ONE = ("fowlkes_mallows", "ova_balanced_accuracy", "ova_matthews_corrcoef", "p4", "power_mean_four_rates")


def late_multiplier(n: float, t_opt: float | None, level: float) -> float:
    """Return how many standard errors the asymptotic sequence reaches, with its share of the allowed error."""
    return asymptotic_multiplier(n, T_OPT if t_opt is None else t_opt, LATE * (1 - level))


def early_level(level: float, parts: int) -> float:
    """Return the level of each of some sequences that share the error of the exact interval."""
    return 1 - (1 - LATE) * (1 - level) / parts


@memoized
def _padded(c: Counts) -> BatchedCounts:
    return padded(batch_of_one(c), unseen=True)


def steady(key: str, c: Counts, zero: float) -> bool:
    """Tell whether an asymptotic sequence of a whole value may have started."""
    if key not in MARGINS:  # the gradient in empty cells is not known
        return least_cells(c) >= STEADY
    one = _padded(c)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights, f, _ = influence(one, gradient(key, one, zero))
    return rests_on_enough(weights, f, 3 * c.k)


def rests_on_enough(weights: Floats, f: Floats, added: int, enough: float = STEADY) -> bool:
    """Tell whether a variance rests on enough samples, and little of it on those that were added, the last ones."""
    parts = weights * f * f
    return effective_count(weights, f) >= enough and bool(parts[-added:].sum() <= ADDED * parts.sum())


def steady_classes(key: str, c: Counts, zero: float) -> NDArray[np.bool_]:
    """Tell of which classes an asymptotic sequence may have started; each is set against all others."""
    cells = np.stack([np.asarray(part, np.float64) for part in one_vs_all(c)]) + HALF
    total = cells.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b, p = class_slopes(key, TwoByTwo(*cells), zero)
    f = np.stack([a + b + p, b + 0 * a, p + 0 * a, 0 * a])
    f -= (cells * f).sum(0) / total
    squares = f * f
    second, fourth = (cells * squares).sum(0), (cells * squares * squares).sum(0)
    steady = (second * second >= STEADY * fourth) & (HALF * squares.sum(0) <= ADDED * second) & (second > 0)
    return np.asarray(steady)


def exact_bounds(key: str, c: Counts, level: float) -> Exact | None:
    """Return the bounds of a whole value before the asymptotic sequence starts; None where there are none."""
    if key in MEANS and c.k > 1:
        form, mean = MEANS[key]
        one = batch_of_one(c)
        x, n = (np.broadcast_to(one.form(part), one.true_totals.shape) for part in form)
        low, high = (mean(end) for end in beta_binomial_sequence(x, n, early_level(level, c.k)))
        return Exact(float(low), float(high))
    if key in MARGINS and c.k == 2:
        low, high = _bounds_of_tables(MARGINS[key], c, np.array([0]), level)
        return Exact(float(low[0]), float(high[0]))
    return None


def exact_classes(key: str, c: Counts, which: NDArray[np.intp], level: float) -> Exact | None:
    """Return the bounds of the values of some classes, given by their places."""
    if key not in OF_ONE or c.k < 2 or not len(which):
        return None
    formula = PER_CLASS[key]
    return Exact(*_bounds_of_tables(lambda counts, zero: formula(counts, zero)[..., 0], c, which, level))


def _bounds_of_tables(
    formula: BatchedFormula, c: Counts, which: NDArray[np.intp], level: float
) -> tuple[Floats, Floats]:
    """Return bounds of what rises with recall and specificity, for some classes against all others."""
    tp, true, predicted = (np.asarray(part)[which] for part in (c.diagonal, c.true_totals, c.predicted_totals))
    n = np.full(len(tp), int(c.total))
    right, below = np.stack([true, tp, n - true - (predicted - tp)]), np.stack([n, true, n - true])
    lows, highs = beta_binomial_sequence(right, below, early_level(level, 3))
    share = lows[0] + (highs[0] - lows[0]) * np.linspace(0, 1, GRID)[:, None] ** 2  # denser where classes are rare
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = (formula(_counts_of_rates(share, *ends[1:]), 0.0) for ends in (lows, highs))
    return np.nan_to_num(low, nan=-1.0).min(0), np.nan_to_num(high, nan=1.0).max(0)


def _counts_of_rates(share: Floats, recall: Floats, specificity: Floats) -> BatchedCounts:
    """Return the counts of two classes with these shares of the first and these rates."""
    tp, tn = share * recall, (1 - share) * specificity
    fn, fp = share - tp, 1 - share - tn
    return batched(np.stack([tp, fn, fp, tn], -1), TWO)
