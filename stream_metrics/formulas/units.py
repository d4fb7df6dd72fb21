"""Counts as whole numbers: in units of 2^-64 once a weight had a fraction.

Weights are stored as whole numbers of 2^-64, but an array of weights with fractions is float64, and a difference of two
rounded products can be anything. A formula that takes differences, or that must tell whether two values are equal,
reads `in_units(c)` instead: the same counts, whose numbers are all whole. There is one body for both kinds of weights.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stream_metrics.formulas.arithmetic import dot
from stream_metrics.formulas.memoized import MemoizedCounts, memoized
from stream_metrics.formulas.protocol import Counts, Integers, Numbers

__all__ = ["in_units", "in_weights"]


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
