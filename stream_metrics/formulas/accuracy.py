"""Accuracy, its complement, and the averages of recall that do not depend on how frequent the classes are."""

from __future__ import annotations

import math

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, count, ratio
from stream_metrics.formulas.means import combine
from stream_metrics.formulas.protocol import Counts
from stream_metrics.formulas.rates import RECALL
from stream_metrics.formulas.two_classes import TwoByTwo
from stream_metrics.formulas.weights import PerClass, per_class_numbers


def accuracy(c: Counts | TwoByTwo) -> float:
    """Share of the samples predicted right. c / N, in [0, 1]; 0/0 without data. Grandini et al. 2020, eq. 3, 4."""
    n = c.total
    if type(n) is int:  # as `ratio`, without a call: this is read after single samples
        return float(c.hits / n) if n else NAN
    return ratio(c.hits, n)


def zero_one_loss(c: Counts) -> float:
    """Share of the samples predicted wrong (error rate).

    (N - c) / N, in [0, 1]; 0/0 without data. Grandini et al. 2020, sec. 2.
    """
    return ratio(c.total - c.hits, c.total)


def average_accuracy(c: Counts) -> float:
    """Mean over the classes of the accuracy of telling the class from the rest.

    ((K - 2) N + 2 c) / (K N), in [1 - 2/K, 1]; 0/0 without data. Bleik and Gauher 2016.
    """
    return ratio((c.k - 2) * c.total + 2 * c.hits, c.k * c.total)


def balanced_accuracy(c: Counts, *, adjusted: bool = False) -> float:
    """Mean recall of the classes that have samples.

    sum R_k / K' over the K' classes with t_k > 0, in [0, 1]; 0/0 without data. Grandini et al. 2020, eq. 5, 6.
    Adjusted for chance: (BA - 1/K') / (1 - 1/K'), in [-1, 1]; 0/0 also if K' = 1. Brodersen et al. 2010.
    """
    mean = c._mean_ratio(*RECALL, NAN)
    if not adjusted:
        return mean
    classes = count(c.true_totals)
    return ratio((classes * mean - 1) * (classes > 1), classes - 1)  # of one class 0/0, in many matrices as in one


def weighted_balanced_accuracy(c: Counts, *, weights: PerClass | None = None) -> float:
    """Mean recall of the classes that have samples, each class with a weight of its own.

    sum w_k R_k / sum w_k over the classes with t_k > 0, in [0, 1]; 0/0 if these weights are all 0. Without weights
    all classes weigh the same: balanced accuracy. Weights of any scale will do. Grandini et al. 2020, eq. 7, 8, as
    intended.
    """
    if weights is None:
        return balanced_accuracy(c)
    recalls, numbers = c._ratios(*RECALL), per_class_numbers(c, weights, "weights")
    occurs = ~np.isnan(recalls)
    below = math.fsum(numbers[occurs].tolist())
    return math.fsum((numbers[occurs] * recalls[occurs]).tolist()) / below if below else NAN


def geometric_mean(c: Counts) -> float:
    """Geometric mean of the recalls of the classes that have samples.

    (prod R_k)^(1/K') over the K' classes with t_k > 0, in [0, 1]; 0/0 without data. Kubat and Matwin 1997.
    """
    return combine(c._ratios(*RECALL), 0.0, NAN)
