"""Accuracy, its complement, averages of recall that do not depend on how frequent the classes are; class weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, combine, count, ratio
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.formulas.rates import RECALL
from stream_metrics.formulas.two_classes import TwoByTwo

if TYPE_CHECKING:
    from stream_metrics.labels import Label

PerClass: TypeAlias = "Mapping[Label, float] | Sequence[float] | Floats"


def per_class_numbers(c: Counts, given: PerClass, name: str) -> Floats:
    """Return the numbers in the order of report.

    A mapping may name further labels (they may come later in a stream) but must name every class; a sequence is
    parallel to the labels. Every number must be finite and >= 0. `ValueError` says which is not.
    """
    labels = c.labels
    if not isinstance(given, Mapping):
        if isinstance(given, str | bytes | Set) or not isinstance(given, Iterable):
            raise ValueError(f"Expected `{name}` to be a mapping or a sequence of numbers, but got {given!r:.60}")
        numbers = list(given)
        if len(numbers) != len(labels):
            raise ValueError(f"Expected `{name}` to have {len(labels)} numbers, one per class, but got {len(numbers)}")
        given = dict(zip(labels, numbers, strict=True))
    for label, number in given.items():
        if not isinstance(number, Real) or not math.isfinite(number) or number < 0:
            raise ValueError(f"Expected `{name}` of {label!r} to be a finite number >= 0, but got {number!r}")
    missing = [label for label in labels if label not in given]
    if missing:
        raise ValueError(f"Expected `{name}` to have a number for every class, but {missing[0]!r} has none")
    return np.array([float(given[label]) for label in labels])


def accuracy(c: Counts | TwoByTwo) -> float:
    """Share of the samples that are predicted right.

    c / N
    """
    return ratio(c.hits, c.total)


def zero_one_loss(c: Counts) -> float:
    """Share of the samples that are predicted wrong, the error rate.

    (N - c) / N
    """
    return ratio(c.total - c.hits, c.total)


def average_accuracy(c: Counts) -> float:
    """Mean over the classes of the accuracy of the class against the rest.

    ((K - 2) N + 2 c) / (K N)

    The value is at least 1 - 2/K.
    """
    return ratio((c.k - 2) * c.total + 2 * c.hits, c.k * c.total)


def balanced_accuracy(c: Counts, *, adjusted: bool = False) -> float:
    """Mean recall of the classes that have samples.

    sum R_k / K' over the K' classes with t_k > 0

    Classes without samples are left out, whatever `zero_division` is. Adjusted for chance it is (BA - 1/K') / (1 -
    1/K'), in [-1, 1], which is 0/0 if K' = 1 (Brodersen et al. 2010).
    """
    mean = c._mean_ratio(*RECALL, NAN)
    if not adjusted:
        return mean
    classes = count(c.true_totals)
    return ratio((classes * mean - 1) * (classes > 1), classes - 1)  # of one class 0/0, in many matrices as in one


def weighted_balanced_accuracy(c: Counts, *, weights: PerClass | None = None) -> float:
    """Mean recall of the classes that have samples, with a weight for each class.

    sum w_k R_k / sum w_k over the classes with t_k > 0

    The weights may have any scale. Without weights it is the balanced accuracy.
    """
    if weights is None:
        return balanced_accuracy(c)
    recalls, numbers = c._ratios(*RECALL), per_class_numbers(c, weights, "weights")
    occurs = ~np.isnan(recalls)
    below = math.fsum(numbers[occurs].tolist())
    return math.fsum((numbers[occurs] * recalls[occurs]).tolist()) / below if below else NAN


def geometric_mean(c: Counts) -> float:
    """Geometric mean of the recalls of the classes that have samples.

    (prod R_k)^(1/K') over the K' classes with t_k > 0

    It is 0 if one of these recalls is 0.
    """
    return combine(c._ratios(*RECALL), 0.0, NAN)
