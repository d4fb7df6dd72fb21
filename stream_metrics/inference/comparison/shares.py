"""Differences of rates that both models have on the same samples: accuracy, recalls, and the mean of the recalls.

b samples are right by the first model only and c by the second only, of n that count. **One look**: Tango's score
interval (1998), the differences that a test with the probabilities estimated under the difference does not reject. At
a difference of 0 this test is McNemar's; where McNemar's mid-p test, which is on the safe side with few discordant
samples, does not reject, the interval holds 0, so that both say the same. A mean over classes has the squared distances
of the ends added (MOVER; Donner and Zou 2012). **All looks**: `difference_sequence`, for a mean over K classes each
with a K-th of the error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.stats.normal import normal_quantile
from stream_metrics.inference.comparison.tests import mcnemar_test
from stream_metrics.inference.intervals.anytime import difference_sequence

if TYPE_CHECKING:
    from stream_metrics.inference.comparison.methods import Joint
    from stream_metrics.labels import Label


STEPS = 60
ACCURACIES = ("accuracy", "micro_f1", "micro_fbeta", "micro_precision", "micro_recall", "weighted_recall")
RECALLS = ("balanced_accuracy", "macro_recall", "weighted_balanced_accuracy")


class DiscordantPairs(NamedTuple):
    """Samples that only the first model gets right, that only the second does, and all that count."""

    b: int
    c: int
    n: int


def pairs_of(key: str, joint: Joint, label: Label | None) -> tuple[list[DiscordantPairs], int]:
    """Return the counts of the rates whose mean a metric is, and the sign of its difference; none if it is no mean."""
    right = np.stack([joint.a == joint.truth, joint.b == joint.truth])
    if key in (*ACCURACIES, "zero_one_loss"):
        return [_pairs(joint, right, slice(None))], -1 if key == "zero_one_loss" else 1
    if key in RECALLS:
        return [_pairs(joint, right, joint.truth == at) for at in np.unique(joint.truth)], 1
    if key in ("recall", "specificity") and label in joint.labels:
        at = joint.labels.index(label)
        if key == "recall":
            return [_pairs(joint, right, joint.truth == at)], 1
        return [_pairs(joint, np.stack([joint.a != at, joint.b != at]), joint.truth != at)], 1
    return [], 1


def _pairs(joint: Joint, right: NDArray[np.bool_], which: NDArray[np.bool_] | slice) -> DiscordantPairs:
    (a, b), values = right[:, which], joint.values[which]
    return DiscordantPairs(int(values[a & ~b].sum()), int(values[b & ~a].sum()), int(values.sum()))


def paired_bounds(pairs: list[DiscordantPairs], level: float) -> tuple[float, float]:
    """Return the limits of a mean of differences for one look."""
    ends = np.array([tango(*one, level) for one in pairs])
    values = np.array([(one.c - one.b) / one.n for one in pairs])
    below, above = np.sqrt(((ends.T - values) ** 2).sum(1)) / len(pairs)
    return float(values.mean() - below), float(values.mean() + above)


def paired_sequence(pairs: list[DiscordantPairs], level: float) -> tuple[float, float]:
    """Return the limits of a mean of differences for all looks."""
    ends = [difference_sequence(*one, 1 - (1 - level) / len(pairs)) for one in pairs]
    low, high = np.mean(ends, axis=0).tolist()
    return low, high


def tango(b: int, c: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of the difference (c - b) / n of two paired proportions for one look. Tango 1998."""
    z = -normal_quantile((1 - level) / 2)
    low, high = -_upper(c, b, n, z), _upper(b, c, n, z)
    if (low > 0 or high < 0) and mcnemar_test(b, c) > 1 - level:
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high


def _upper(b: int, c: int, n: int, z: float) -> float:
    """Return the largest difference that the score test does not reject, by bisection: the statistic falls with it."""
    value = (c - b) / n
    low, high = value, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        slope = -b - c + (2 * n + b - c) * middle
        share = (math.sqrt(slope * slope + 8 * n * b * middle * (1 - middle)) - slope) / (4 * n)
        variance = n * (2 * share + middle * (1 - middle))
        low, high = (middle, high) if n * (middle - value) <= z * math.sqrt(max(variance, 0.0)) else (low, middle)
    return high
