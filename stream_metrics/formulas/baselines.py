"""Baselines, the metrics of a guess that knows how frequent the classes are and nothing else, and tests against them.

A guess names class j with probability r_j for every sample: the most frequent class always, every class alike,
each class as often as it occurs, or by a given prior. The values are metrics of the expected matrix t_i r_j, not
expectations of the metric. Bleik and Gauher 2016; the strategies are those of scikit-learn's DummyClassifier.

**Tests** compare accuracy with the class frequencies, and totals of truth with those of prediction. A p-value is never
0/0: without data, or without a sample that could speak against the hypothesis, it is 1. Each is valid for one look, not
for a stream that is watched until it turns significant. All are about samples: with weights other than 1 they would
depend on the unit of the weights, so the catalog refuses them there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stream_metrics.formulas.accuracy import PerClass, per_class_numbers
from stream_metrics.formulas.arithmetic import NAN, harmonic_of_two, ratio
from stream_metrics.formulas.counts import prevalence
from stream_metrics.formulas.protocol import Counts, Floats, memoized
from stream_metrics.formulas.stats.tails import binomial_tail, chi_square_tail
from stream_metrics.formulas.two_classes import in_units

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


def nir_p_value(c: Counts) -> float:
    """One-sided binomial test of the accuracy against the no-information rate, as in R caret.

    P[X >= c], X binomial with N trials of probability max t_k / N

    It takes the rate as known, so it rejects too often; `majority_p_value` does not. 1 without data.
    """
    # the rate is estimated from the same samples: at 5 % the test rejects in 9 to 12 % of samples if the accuracy is
    # the share of a class of 60 to 90 %
    return binomial_tail(int(c.hits), int(c.total), int(c.true_totals.max()), int(c.total)) if c.total else 1.0


def majority_p_value(c: Counts) -> float:
    """Exact one-sided McNemar test against always predicting the most frequent class m.

    P[X >= b], X binomial with b + w trials of probability 1/2, b = c - C_mm and w = t_m - C_mm

    1 if b = 0.
    """
    if not c.total:
        return 1.0
    most = int(c.true_totals.argmax())
    both = int(c.diagonal[most])
    better, worse = int(c.hits) - both, int(c.true_totals[most]) - both
    return binomial_tail(better, better + worse, 1, 2)


def mcnemar(c: Counts, *, correction: bool = True) -> float:
    """Test statistic of equal totals of truth and prediction: McNemar's for two classes, Bowker's for more.

    (abs(b - c) - 1)^2 / (b + c) for two classes, b and c the two kinds of error, without the 1 if `correction` is off
    or b = c; sum (C_ij - C_ji)^2 / (C_ij + C_ji) over the pairs with errors for more. In [0, inf); 0 without errors.
    McNemar 1947; Edwards 1948 (correction); Bowker 1948.
    """
    return _corrected(c) if correction and c.k == 2 else _symmetry(c)[0]


def mcnemar_p_value(c: Counts, *, correction: bool = True, exact: bool = False) -> float:
    """P-value of the McNemar or Bowker statistic.

    P[Y >= statistic], Y chi-square with as many degrees of freedom as pairs of classes have errors

    With `exact`, for two classes, a binomial test. 1 without errors.
    """
    if not exact:
        return chi_square_tail(mcnemar(c, correction=correction), _symmetry(c)[1])
    if c.k > 2:
        raise ValueError(f"Expected `exact` to be False for more than two classes, but got True for {c.k}")
    one, other = _two_errors(c)
    return min(1.0, 2 * binomial_tail(max(one, other), one + other, 1, 2))


def _two_errors(c: Counts) -> tuple[int, int]:
    if c.k < 2:
        return 0, 0
    missed = (c.true_totals - c.diagonal).tolist()
    return int(missed[0]), int(missed[1])


def _corrected(c: Counts) -> float:
    one, other = _two_errors(c)
    return (abs(one - other) - 1) ** 2 / (one + other) if one != other else 0.0


@memoized
def _symmetry(c: Counts) -> tuple[float, int]:
    """Return Bowker's statistic and the number of pairs of classes with errors.

    Every cell off the diagonal is met with its mirror image; where both are there, the pair comes up twice.
    """
    rows, columns, values = c.cells()
    off = rows != columns
    rows, columns, values = rows[off], columns[off], values[off]
    if not len(values):
        return 0.0, 0
    places, mirrored = rows * c.k + columns, columns * c.k + rows
    at = np.minimum(np.searchsorted(places, mirrored), len(places) - 1)
    reverse = np.where(places[at] == mirrored, values[at], 0)
    share = np.where(reverse > 0, 0.5, 1.0)
    difference, errors = (values - reverse).astype(np.float64), (values + reverse).astype(np.float64)
    return float((share * difference**2 / errors).sum()), round(share.sum())
