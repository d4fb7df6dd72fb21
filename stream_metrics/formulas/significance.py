"""Tests on the matrix: accuracy against the class frequencies, and totals of truth against those of prediction.

A p-value is never 0/0: without data, or without a sample that could speak against the hypothesis, it is 1. Each is
valid for one look, not for a stream that is watched until it turns significant. All are about samples: with weights
other than 1 they would depend on the unit of the weights, so the catalog refuses them there.
"""

from __future__ import annotations

import numpy as np

from stream_metrics.formulas.memoized import memoized
from stream_metrics.formulas.protocol import Counts
from stream_metrics.formulas.stats.tails import binomial_tail, chi_square_tail


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
