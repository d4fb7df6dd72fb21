"""Counts as whole numbers: in units of 2^-64 once a weight had a fraction.

Weights are stored as whole numbers of 2^-64, but an array of weights with fractions is float64, and a difference of two
rounded products can be anything. A formula that takes differences, or that must tell whether two values are equal,
reads `in_units(c)` instead: the same counts, whose numbers are all whole. There is one body for both kinds of weights.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.arithmetic import dot
from stream_metrics.formulas.memoized import MemoizedCounts, memoized
from stream_metrics.formulas.protocol import Counts, Floats, Form, Numbers

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["in_units", "in_weights"]


class UnitCounts:
    """Counts of weights with fractions in units of 1 / `unit`; arrays hold Python ints, which have any size."""

    def __init__(self, counts: Counts) -> None:
        """Read the totals; cells are read on first use."""
        self._counts = counts
        self.k, self.labels, self.unit = counts.k, counts.labels, 1
        true, predicted, diagonal = counts.unit_totals()
        self.total, self.hits = sum(true), sum(diagonal)
        self.true_totals, self.predicted_totals, self.diagonal = map(_ints, (true, predicted, diagonal))

    @cached_property
    def true_dot_true(self) -> int:
        """sum t_k^2."""
        product: int = dot(self.true_totals, self.true_totals)
        return product

    @cached_property
    def true_dot_predicted(self) -> int:
        """sum t_k p_k."""
        product: int = dot(self.true_totals, self.predicted_totals)
        return product

    @cached_property
    def predicted_dot_predicted(self) -> int:
        """sum p_k^2."""
        product: int = dot(self.predicted_totals, self.predicted_totals)
        return product

    @cached_property
    def matrix(self) -> Numbers:
        """The square matrix."""
        rows, columns, values = self.cells()
        square = np.zeros(self._counts.matrix.shape, object)
        square[rows, columns] = values
        return square

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
        """Return rows, columns and values of the non-zero cells in row-major order."""
        rows, columns, values = self._counts.unit_cells()
        return rows, columns, _ints(values)

    def unit_totals(self) -> tuple[list[int], list[int], list[int]]:
        """Return true totals, predicted totals and diagonal."""
        return self.true_totals.tolist(), self.predicted_totals.tolist(), self.diagonal.tolist()

    def unit_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Return the non-zero cells, as `cells`."""
        return self._counts.unit_cells()

    def _ratios(self, numerator: Form, denominator: Form) -> Floats:
        """Return the ratio of two forms for every class; it does not depend on the unit."""
        return self._counts._ratios(numerator, denominator)

    def _mean_ratio(self, numerator: Form, denominator: Form, undefined: float, by_support: bool = False) -> float:
        """Return the mean of the ratios; it does not depend on the unit."""
        return self._counts._mean_ratio(numerator, denominator, undefined, by_support)

    def one_vs_rest(self, label: Label) -> Counts:
        """Return the counts of `label` and everything else."""
        return in_units(self._counts.one_vs_rest(label))


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
