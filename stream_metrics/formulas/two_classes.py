"""Two-by-two tables as counts, and counts as whole numbers.

**Units.** Weights are stored as whole numbers of 2^-64, but an array of weights with fractions is float64, and a
difference of two rounded products can be anything. A formula that takes differences, or that must tell whether two
values are equal, reads `in_units(c)` instead: the same counts, whose numbers are all whole. There is one body for both
kinds of weights.

**Tables.** A table of a class against the rest, or of one class of a pair against the other, is a confusion matrix of
two classes. The formulas of MCC, kappa, accuracy and every rate take such tables as well as a whole matrix. What is a
difference of sums over the classes there is a difference of two products here, which loses fewer digits if weights have
fractions.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from stream_metrics.formulas.arithmetic import SAFE, dot, per_class, ratio
from stream_metrics.formulas.protocol import (
    Counts,
    Floats,
    Form,
    Integers,
    MemoizedCounts,
    NumberOrArray,
    Numbers,
    memoized,
)


class UnitCounts:
    """Counts of weights with fractions in units of 1 / `unit`; arrays hold Python ints, which have any size.

    What does not depend on the unit, such as ratios, is that of the counts.
    """

    def __init__(self, counts: Counts) -> None:
        """Read the totals; cells are read on first use."""
        self._counts, self.unit = counts, 1
        totals, predicted, diagonal = counts.unit_totals()
        self.total, self.hits = sum(totals), sum(diagonal)
        self.true_totals, self.predicted_totals, self.diagonal = map(_ints, (totals, predicted, diagonal))
        self.true_dot_true = dot(self.true_totals, self.true_totals)
        self.true_dot_predicted = dot(self.true_totals, self.predicted_totals)
        self.predicted_dot_predicted = dot(self.predicted_totals, self.predicted_totals)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._counts, name)

    @cached_property
    def matrix(self) -> Numbers:
        """The square matrix."""
        rows, columns, values = self.cells()
        square = np.zeros(self._counts.matrix.shape, object)
        square[rows, columns] = values
        return square

    def cells(self) -> tuple[Integers, Integers, Numbers]:
        """Return rows, columns and values of the non-zero cells in row-major order."""
        rows, columns, values = self._counts.unit_cells()
        return rows, columns, _ints(values)


def in_units(c: Counts) -> Counts:
    """Return the counts as whole numbers of 1 / `c.unit`: `c` itself unless a weight has a fraction."""
    return c if c.unit == 1 else _in_units(c)


@memoized
def _in_units(c: Counts) -> Counts:
    counts: Any = MemoizedCounts(UnitCounts(c))
    return counts  # type: ignore[no-any-return]


def in_weights(numbers: Numbers, unit: int) -> Numbers:
    """Return whole numbers of 1 / `unit` as weights: int64, or the nearest float64 where weights have fractions."""
    return numbers if unit == 1 else np.array([number / unit for number in numbers.tolist()], np.float64)


def _ints(values: list[int]) -> Numbers:
    array = np.empty(len(values), object)
    array[:] = values
    return array


@final
class TwoByTwo(NamedTuple):
    """Counts of two classes, in numbers or in arrays of one shape; values per class are those of the first class."""

    tp: NumberOrArray
    fn: NumberOrArray
    fp: NumberOrArray
    tn: NumberOrArray

    @property
    def total(self) -> NumberOrArray:
        """N, the sum of all four."""
        return self.tp + self.fn + self.fp + self.tn

    @property
    def hits(self) -> NumberOrArray:
        """The sum of the diagonal."""
        return self.tp + self.tn

    @property
    def covariances(self) -> tuple[NumberOrArray, NumberOrArray, NumberOrArray]:
        """Half of c N - sum t_k p_k, N^2 - sum t_k^2 and N^2 - sum p_k^2: a covariance and two variances, times N^2."""
        tp, fn, fp, tn = self
        return tp * tn - fp * fn, (tp + fn) * (tn + fp), (tp + fp) * (tn + fn)

    @property
    def beyond_chance(self) -> tuple[NumberOrArray, NumberOrArray]:
        """c N - sum t_k p_k and N^2 - sum t_k p_k: the agreement beyond that of chance, and the most it can be."""
        tp, fn, fp, tn = self
        return 2 * (tp * tn - fp * fn), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)

    @property
    def swapped(self) -> TwoByTwo:
        """The same tables with the second class first."""
        return TwoByTwo(self.tn, self.fp, self.fn, self.tp)

    def _ratios(self, numerator: Form, denominator: Form) -> Floats:
        """Return the ratio of two linear forms of TP, the true, the predicted and the whole total; see `Counts`."""
        values: NumberOrArray = ratio(self.form(numerator), self.form(denominator))  # a number, for tables of numbers
        return values  # type: ignore[no-any-return]

    def form(self, form: Form) -> NumberOrArray:
        """Return a TP + b (TP + FN) + c (TP + FP) + d N."""
        d, t, p, n = form
        factors = (d + t + p + n, t + n, p + n, n)
        terms = [part if factor == 1 else factor * part for factor, part in zip(factors, self, strict=True) if factor]
        return sum(terms[1:], start=terms[0])


@memoized
def one_vs_all(c: Counts | TwoByTwo) -> TwoByTwo:
    """Return the table of every class against the rest, in whole numbers of 1 / `c.unit`."""
    if isinstance(c, TwoByTwo):
        return c
    c = in_units(c)
    tp, true = c.diagonal, c.true_totals
    fp = c.predicted_totals - tp
    return TwoByTwo(tp, true - tp, fp, per_class(c.total) - true - fp)


def wide_table(table: TwoByTwo, total: NumberOrArray) -> TwoByTwo:
    """Return tables whose products of two are exact; see `wide`."""
    if table.tp.dtype != np.int64 or total < SAFE:
        return table
    return TwoByTwo(*(part.astype(object) for part in table))
