"""What a formula reads: the exact counts of a confusion matrix.

The protocol is narrow on purpose. Sums over classes come as exact numbers (`total`, `hits`, the three inner
products), ratios per class come from linear forms (`_ratios`, `_mean_ratio`), and cells come sparse (`cells`), so that
a formula costs O(1), O(K) or O(non-zero cells) in every implementation.

Types are those of one matrix. The formulas also take counts of many matrices, whose numbers are arrays with one element
for each matrix, and arrays per class have the matrices first. They return such arrays then.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from stream_metrics.labels import Label


Exact: TypeAlias = int | Fraction
Form: TypeAlias = tuple[float, float, float, float]
Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
NumberOrArray: TypeAlias = Any  # a number, or an array of one for each matrix or class
Numbers: TypeAlias = NDArray[Any]  # int64, or float64 where a weight had a fraction; in units Python ints


class HasRatios(Protocol):
    """Anything with ratios per class: `Counts`, or tables of two classes."""

    def _ratios(self, numerator: Form, denominator: Form) -> Floats:
        """See `Counts._ratios`."""


class Counts(Protocol):
    """Weights by (true class, predicted class), rows true.

    A class is one of a fixed set, or one with a count. "Order of report" is the order of a fixed set, otherwise
    canonical. Exact numbers are Python ints, or Fractions once a weight had a fraction.
    """

    @property
    def k(self) -> int:
        """The number of classes."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes in the order of report."""

    @property
    def total(self) -> Exact:
        """N, the sum of all weights."""

    @property
    def hits(self) -> Exact:
        """c, the weight on the diagonal."""

    @property
    def true_dot_true(self) -> Exact:
        """sum t_k^2."""

    @property
    def true_dot_predicted(self) -> Exact:
        """sum t_k p_k."""

    @property
    def predicted_dot_predicted(self) -> Exact:
        """sum p_k^2."""

    @property
    def true_totals(self) -> Numbers:
        """t_k in the order of report."""

    @property
    def predicted_totals(self) -> Numbers:
        """p_k in the order of report."""

    @property
    def diagonal(self) -> Numbers:
        """C_kk in the order of report."""

    @property
    def unit(self) -> int:
        """How many units of `unit_totals` and `unit_cells` a weight of 1 is: 1, or 2^64 if a weight has a fraction."""

    def unit_totals(self) -> tuple[list[int], list[int], list[int]]:
        """Return t_k, p_k and C_kk in the order of report as whole numbers of 1 / `unit`, without rounding."""

    def unit_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Return the non-zero cells as `cells`, their values as whole numbers of 1 / `unit`, without rounding."""

    @property
    def matrix(self) -> Numbers:
        """The square matrix in the order of report; `ValueError` above 4096 classes."""

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
        """Return rows, columns and values of the non-zero cells in row-major order."""

    def _ratios(self, numerator: Form, denominator: Form) -> Floats:
        """Return numerator / denominator for every class, nan where the denominator is exactly 0.

        A form (a, b, c, d) stands for a*C_kk + b*t_k + c*p_k + d*N.
        """

    def _mean_ratio(self, numerator: Form, denominator: Form, undefined: float, by_support: bool = False) -> float:
        """Return the mean over the classes of ratios in [0, 1]; their order does not matter.

        A class whose denominator is 0 counts as `undefined`, or is left out if that is nan; nan if no class is left.
        With `by_support` the classes are weighted by t_k.
        """

    def one_vs_rest(self, label: Label) -> Counts:
        """Return the counts of two classes: `label` first, then everything else."""


class CountState(Counts, Protocol):
    """Counts that know how many samples they come from."""

    @property
    def n(self) -> int:
        """The number of samples."""

    @property
    def weight(self) -> int | float:
        """The sum of the weights."""

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""
