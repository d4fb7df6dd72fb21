"""Baselines: the metrics of a guess that knows how frequent the classes are and nothing else.

if TYPE_CHECKING:
    from stream_metrics.labels import Label

A guess names class j with probability r_j for every sample: the most frequent class always, every class alike,
each class as often as it occurs, or by a given prior. The values are metrics of the expected matrix t_i r_j, not
expectations of the metric. Bleik and Gauher 2016; the strategies are those of scikit-learn's DummyClassifier.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stream_metrics.formulas.arithmetic import NAN, harmonic_of_two, ratio
from stream_metrics.formulas.counts import prevalence
from stream_metrics.formulas.protocol import Counts, Floats
from stream_metrics.formulas.units import in_units
from stream_metrics.formulas.weights import PerClass, per_class_numbers

if TYPE_CHECKING:
    from stream_metrics.labels import Label

STRATEGIES = ("most_frequent", "uniform", "stratified")


def majority_class(c: Counts) -> Label | None:
    """Class with the most samples.

    argmax t_k, the first one in the order of the labels on ties

    None without data.
    """
    return c.labels[largest_class(c)] if c.total else None


def largest_class(c: Counts) -> int:
    """Return the position of the class with the most samples, the first one on ties; rounding makes no tie."""
    return int(in_units(c).true_totals.argmax())


def no_information_rate(c: Counts) -> float:
    """Accuracy of always predicting the most frequent class.

    max t_k / N
    """
    return float(prevalence(c).max()) if c.total else NAN


def baseline_uniform_accuracy(c: Counts) -> float:
    """Accuracy of guessing every class alike.

    1 / K
    """
    return 1 / c.k if c.total else NAN


def baseline_stratified_accuracy(c: Counts) -> float:
    """Accuracy of guessing each class as often as it occurs.

    sum t_k^2 / N^2
    """
    return ratio(c.true_dot_true, c.total * c.total)


def _guess(c: Counts, strategy: str, prior: PerClass | None) -> Floats:
    """Return r_k, which sums to 1; nan without data."""
    if strategy not in STRATEGIES:
        raise ValueError(f"Expected `strategy` to be one of {', '.join(STRATEGIES)}, but got {strategy!r}")
    numbers = None if prior is None else per_class_numbers(c, prior, "prior")
    if not c.total:
        return np.full(c.k, NAN)
    if numbers is not None:
        if not numbers.any():
            raise ValueError("Expected `prior` to have a positive number for some class, but all are 0")
        return numbers / math.fsum(numbers.tolist())
    if strategy == "stratified":
        return prevalence(c)
    if strategy == "uniform":
        return np.full(c.k, 1 / c.k)
    guess = np.zeros(c.k)
    guess[largest_class(c)] = 1.0
    return guess


def baseline_accuracy(c: Counts, *, strategy: str = "stratified", prior: PerClass | None = None) -> float:
    """Accuracy of a guess by `strategy`, or by `prior` if that is given.

    sum t_k r_k / N with the probability r_k of guessing class k
    """
    guess = _guess(c, strategy, prior)
    return math.fsum((prevalence(c) * guess).tolist()) if c.total else NAN


def baseline_precision(c: Counts, *, strategy: str = "stratified", prior: PerClass | None = None) -> Floats:
    """Precision of a guess by `strategy`, or by `prior` if that is given.

    t_k / N, or 0 for a class that is never guessed
    """
    guess = _guess(c, strategy, prior)
    return np.where(guess == 0, 0.0, prevalence(c))


def baseline_recall(c: Counts, *, strategy: str = "stratified", prior: PerClass | None = None) -> Floats:
    """Recall of a guess by `strategy`, or by `prior` if that is given.

    r_k, the probability of guessing class k
    """
    return _guess(c, strategy, prior)


def baseline_f1(c: Counts, *, strategy: str = "stratified", prior: PerClass | None = None) -> Floats:
    """F1 of a guess by `strategy`, or by `prior` if that is given.

    2 a_k r_k / (a_k + r_k) with a_k = t_k / N and the probability r_k of guessing class k
    """
    return harmonic_of_two(prevalence(c), _guess(c, strategy, prior))


def baseline_matrix(c: Counts, *, strategy: str = "stratified", prior: PerClass | None = None) -> Floats:
    """Confusion matrix to expect of a guess by `strategy`, or by `prior` if that is given.

    t_i r_j with the probability r_j of guessing class j
    """
    true = c.true_totals.astype(np.float64)
    if strategy == "stratified" and prior is None and c.total:
        return np.multiply.outer(true, true) / float(c.total)
    return np.multiply.outer(true, _guess(c, strategy, prior))
