"""Two-by-two tables as counts.

A table of a class against the rest, or of one class of a pair against the other, is a confusion matrix of two classes.
The formulas of MCC, kappa, accuracy and every rate take such tables as well as a whole matrix. What is a difference of
sums over the classes there is a difference of two products here, which loses fewer digits if weights have fractions.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from stream_metrics.formulas.arithmetic import SAFE, per_class, ratio
from stream_metrics.formulas.memoized import memoized
from stream_metrics.formulas.protocol import Counts, Floats, Form, NumberOrArray
from stream_metrics.formulas.units import in_units


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
