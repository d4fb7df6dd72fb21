"""Counts of many matrices of different sizes: their classes in one array after another, and their cells in another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.intervals.kernels import MatrixSlopes
from stream_metrics.formulas.protocol import Counts, Floats, NumberOrArray
from stream_metrics.inference.intervals.batched_counts import Batch, BatchedCounts, MatrixCells, make_cells

__all__ = ["RaggedCounts", "ragged"]


class RaggedCounts(BatchedCounts):
    """The counts of matrices with samples, of `sizes` classes and `filled` cells each; the first class has number 0.

    Sums over the classes of a matrix are arrays of one number for each class, so that formulas which combine them with
    numbers per class serve one matrix and many.
    """

    def __init__(
        self,
        totals: tuple[Floats, Floats, Floats],
        values: Floats,
        where: MatrixCells,
        sizes: NDArray[np.intp],
        filled: NDArray[np.intp],
    ) -> None:
        """Take over the arrays."""
        self.sizes, self._filled = sizes, filled
        self._first, self._first_cell = (np.cumsum(part) - part for part in (sizes, filled))
        super().__init__(*totals, self.class_sums(totals[1]), values, where)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The matrix of each class."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def cell_owner(self) -> NDArray[np.intp]:
        """The matrix of each cell."""
        return np.repeat(np.arange(len(self.sizes)), self._filled)

    @cached_property
    def samples(self) -> Any:
        """N of the matrix of each class."""
        return self.total[self.owner]

    @cached_property
    def classes(self) -> Any:
        """K of the matrix of each class."""
        return self.sizes[self.owner]

    def class_sum(self, a: Batch) -> Any:
        """Return the sum over the classes of its matrix for each class."""
        return self.class_sums(a)[self.owner]

    def class_dot(self, a: Batch, b: Batch) -> Any:
        """Return the inner product over the classes of its matrix for each class."""
        return self.class_sum(a * b)

    def class_sums(self, a: Batch) -> Floats:
        """Return the sum over classes for each matrix."""
        return np.add.reduceat(a, self._first, dtype=np.float64)

    def cell_sums(self, a: Batch) -> Floats:
        """Return the sum over cells for each matrix."""
        return np.add.reduceat(a, self._first_cell, dtype=np.float64)

    def least(self, a: Batch) -> Floats:
        """Return the least number of the classes for each matrix."""
        return np.minimum.reduceat(a, self._first)

    def part(self, matrix: int) -> slice:
        """Return where the classes of a matrix are."""
        return slice(int(self._first[matrix]), int(self._first[matrix] + self.sizes[matrix]))

    def slopes(self, diagonal: NumberOrArray, true: NumberOrArray, predicted: NumberOrArray) -> MatrixSlopes:
        """Return the cells with the derivatives of a value in C_kk, t_k and p_k."""
        each = (
            np.ascontiguousarray(np.broadcast_to(np.asarray(part, np.float64), self.diagonal.shape))
            for part in (diagonal, true, predicted)
        )
        where = self.where
        return MatrixSlopes(self.values, where.rows, where.columns, self._first, self._first_cell, *each)

    def padded(self, more: Batch) -> RaggedCounts:
        """Return counts with so many samples more of each of the three kinds in each class, and the same cells."""
        totals = self.diagonal + more, self.true_totals + 2 * more, self.predicted_totals + 2 * more
        twin = RaggedCounts(totals, self.values, self.where, self.sizes, self._filled)
        twin.total = self.total + 3 * self.class_sums(more)
        return twin


def ragged(matrices: Sequence[Counts]) -> RaggedCounts:
    """Return the counts of matrices, each of which has samples."""
    cells, sizes = [c.cells() for c in matrices], np.array([c.k for c in matrices])
    filled, first = np.array([len(part[0]) for part in cells]), np.cumsum(sizes) - sizes
    shift = np.repeat(first, filled)
    rows, columns, values = (np.concatenate([part[at] for part in cells]) for at in range(3))
    where = make_cells(rows + shift, columns + shift, values.astype(np.float64), int(sizes.sum()))
    totals = [
        np.concatenate([getattr(c, name) for c in matrices]).astype(np.float64)
        for name in ("diagonal", "true_totals", "predicted_totals")
    ]
    return RaggedCounts((totals[0], totals[1], totals[2]), where.values, where, sizes, filled)
