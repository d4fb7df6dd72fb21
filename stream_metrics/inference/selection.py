"""Intervals and tests for values that were chosen because they are the largest or the smallest of many.

The interval of one group holds with its level if that group was named beforehand. Of 20 equal groups the one with the
worst value was far from the common truth by chance, so its interval of 95 % holds it in 58 % of samples only. Intervals
at 1 - (1 - level) / m of each of m groups hold all together with `level` (Bonferroni), however the groups depend on
each other; so the interval of a group picked by any rule holds, and so does every conclusion from all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stream_metrics.formulas.stats.normal import beta_cdf, log_beta
from stream_metrics.inference.intervals.interval import Interval

if TYPE_CHECKING:
    from stream_metrics.labels import Label


MOST_PAIRED = 500  # groups of which all pairs are compared
LARGEST = 700.0  # the logarithm of the largest e-value that is returned


def level_of_each(level: float, m: int) -> float:
    """Return the level of each of m intervals that hold together with `level`."""
    return 1 - (1 - level) / max(m, 1)


def range_of(intervals: Mapping[Label, Interval], level: float, valid: str, paired: bool = False) -> Interval:
    """Return the interval of the largest difference of values, whose own intervals hold together with `level`.

    If all hold, the true largest difference is at most the highest end less the lowest, and at least the largest
    distance between two intervals, which is 0 where all overlap. The value, the largest difference of estimates, is
    above the true one on average.

    If they are `paired`, they have the level that all pairs need together instead, and the interval of each difference
    follows from those of its two values as if these were normal (MOVER, Newcombe 1998). It is narrower, and for one
    look only.
    """
    method = "mover" if paired else "simultaneous"
    if len(intervals) < 2:
        return Interval(math.nan, math.nan, math.nan, level, method, valid)
    every = list(intervals.values())
    values, lows, highs = (np.array([getattr(one, end) for one in every]) for end in ("value", "low", "high"))
    notes = [f"{group!r}: {one.note}" for group, one in intervals.items() if one.note]
    note = f"{len(notes)} of {len(every)} intervals have a note, as that of {notes[0]}" if notes else ""
    if paired:
        below, above = (values - lows) ** 2, (highs - values) ** 2
        differences = values[:, np.newaxis] - values
        low = (differences - np.sqrt(below[:, np.newaxis] + above)).max()
        high = (differences + np.sqrt(above[:, np.newaxis] + below)).max()
    else:
        low, high = lows.max() - highs.min(), highs.max() - lows.min()
    ends, n = (max(float(low), 0.0), float(high)), sum(one.n for one in every)
    return Interval(float(values.max() - values.min()), *ends, level, method, valid, n=n, note=note)


def e_value_below(x: int, n: int, target: float) -> float:
    """Return the evidence of x successes in n trials against a probability of success of at least `target`.

    The mean likelihood ratio of probabilities below the target, all alike, against the target. If the probability is at
    least the target, whatever it is, this is an e-process: P[it is ever 1/a or more] <= a, at however many looks.
    """
    share = beta_cdf(target, x + 1, n - x + 1)
    if share <= 0:
        return 0.0
    ratio = log_beta(x + 1, n - x + 1) - x * math.log(target) - (n - x) * math.log1p(-target)
    return math.exp(min(ratio + math.log(share) - math.log(target), LARGEST))


def e_benjamini_hochberg(e_values: Mapping[Label, float], fdr: float = 0.05) -> dict[Label, float]:
    """Return the e-values that are rejected, largest first: of these at most a share of `fdr` is expected to be wrong.

    The k largest of m, for the largest k whose smallest is at least m / (k fdr); however the e-values depend on each
    other. Wang and Ramdas 2022.
    """
    ranked = sorted(e_values.items(), key=lambda item: -item[1])
    most = max((k for k, (_, e) in enumerate(ranked, 1) if e * k * fdr >= len(ranked)), default=0)
    return dict(ranked[:most])
