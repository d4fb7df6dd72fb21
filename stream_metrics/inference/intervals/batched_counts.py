"""Counts of many confusion matrices at once, and of one plain matrix, as formulas read them.

`BatchedCounts` has one matrix for each draw of a posterior, or each direction of a derivative.
Arrays have the matrices first and the classes last. Numbers are floats, or complex where a derivative is taken by a
complex step. The formulas of the catalogue take `BatchedCounts` as they take the counts of one matrix.

`RaggedCounts` has matrices of different sizes: their classes are one after another in an array, and their cells in
another. `MatrixCounts` is one matrix, for a user's formula and for formulas with options.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.intervals.kernels import MatrixSlopes
from stream_metrics.formulas.arithmetic import divide, inner, mean_of, per_class, sums_in_order
from stream_metrics.formulas.protocol import Counts, Floats, Form, Integers, NumberOrArray, Numbers, memoized
from stream_metrics.labels import Label

Batch: TypeAlias = NDArray[Any]  # float64, or complex128


class MatrixCells(NamedTuple):
    """The non-zero cells of one matrix in row-major order."""

    rows: Integers
    columns: Integers
    values: Floats
    k: int
    on: NDArray[np.intp]
    """Which of them lie on the diagonal."""


def dot(a: Batch, b: Batch) -> Any:
    """Return the inner products over the last axis, with that axis; of two vectors a number, which is faster."""
    return inner(a, b) if a.ndim == 1 else (a * b).sum(-1, keepdims=True)


class BatchedCounts:
    """Totals by class, (..., K), with their sums, (...); and the cells, (..., cells), where they are known.

    Implements `formulas.protocol.Counts`, with an array of one number for each matrix in place of a number.
    """

    unit = 1

    def __init__(
        self, diagonal: Batch, true: Batch, predicted: Batch, total: Any, values: Batch | None, where: MatrixCells
    ) -> None:
        """Take over the arrays."""
        self.diagonal, self.true_totals, self.predicted_totals = diagonal, true, predicted
        self.total, self.where, self.k = total, where, where.k
        self._values = values

    @property
    def values(self) -> Batch:
        """The weights of the cells of `where`."""
        assert self._values is not None, "these counts have totals only"
        return self._values

    @property
    def totals(self) -> tuple[Batch, Batch, Batch]:
        """C_kk, t_k and p_k."""
        return self.diagonal, self.true_totals, self.predicted_totals

    @cached_property
    def hits(self) -> Any:
        """The sums of the diagonals."""
        return self.diagonal.sum(-1)

    @cached_property
    def true_dot_true(self) -> Any:
        """sum t_k^2."""
        return (self.true_totals * self.true_totals).sum(-1)

    @cached_property
    def true_dot_predicted(self) -> Any:
        """sum t_k p_k."""
        return (self.true_totals * self.predicted_totals).sum(-1)

    @cached_property
    def predicted_dot_predicted(self) -> Any:
        """sum p_k^2."""
        return (self.predicted_totals * self.predicted_totals).sum(-1)

    @property
    def samples(self) -> Any:
        """N, which combines with numbers per class."""
        return per_class(self.total) if isinstance(self.total, np.ndarray) else float(self.total)

    @property
    def classes(self) -> Any:
        """K, which combines with numbers per class."""
        return self.k

    def class_sum(self, a: Batch) -> Any:
        """Return the sums of numbers per class, with their axis; of one matrix a number."""
        return a.sum() if a.ndim == 1 else a.sum(-1, keepdims=True)

    def class_dot(self, a: Batch, b: Batch) -> Any:
        """Return the inner products of numbers per class, with their axis; of one matrix a number."""
        return dot(a, b)

    @property
    def matrix(self) -> Batch:
        """The matrices, (..., K, K)."""
        rows, columns, _, k, _ = self.where
        full = np.zeros((*self.values.shape[:-1], k, k), self.values.dtype)
        full[..., rows, columns] = self.values
        return full

    @cached_property
    def places_with_average(self) -> tuple[Integers, tuple[Integers, Integers]]:
        """The classes of one matrix that occur; rows and columns of its cells and, for each of these, of three more.

        The diagonal, the row with an average class in the columns, and the column with that class, K, in the rows.
        """
        rows, columns, _, k, _ = self.where
        (occurs,) = np.nonzero(self.true_totals + self.predicted_totals)
        average = np.full(len(occurs), k)
        places = np.concatenate([rows, occurs, occurs, average]), np.concatenate([columns, occurs, average, occurs])
        return occurs, places

    def cells(self) -> tuple[Integers, Integers, Batch]:
        """Return rows, columns and weights of the cells that one of the matrices may have."""
        return self.where.rows, self.where.columns, self.values

    def _ratios(self, numerator: Form, denominator: Form) -> Batch:
        """Return numerator / denominator for every class, nan where the denominator is 0; see `Counts._ratios`."""
        values: Batch = divide(self.form(numerator), self.form(denominator))
        return values

    def _mean_ratio(self, numerator: Form, denominator: Form, undefined: float, by_support: bool = False) -> Any:
        """Return the mean of the ratios over the classes; see `Counts._mean_ratio`."""
        return mean_of(self._ratios(numerator, denominator), undefined, self.true_totals if by_support else 1.0)

    def form(self, form: Form) -> Batch:
        """Return a C_kk + b t_k + c p_k + d N for every class."""
        parts = zip(form, (*self.totals, self.samples), strict=True)
        terms = [part if factor == 1 else factor * part for factor, part in parts if factor]
        weighted: Batch = sum(terms[1:], start=terms[0])
        return weighted


def cells_of(c: Counts) -> MatrixCells:
    """Return the non-zero cells of counts."""
    rows, columns, values = c.cells()
    return make_cells(rows, columns, np.asarray(values, np.float64), len(c.labels))


def make_cells(rows: Integers, columns: Integers, values: Floats, k: int) -> MatrixCells:
    """Return cells that are in row-major order."""
    return MatrixCells(rows, columns, values, k, np.flatnonzero(rows == columns))


def batched(values: Batch, where: MatrixCells) -> BatchedCounts:
    """Return the counts of matrices whose cells are `values`, (..., cells), in the places of `where`."""
    rows, columns, _, k, on = where
    diagonal = np.zeros((*values.shape[:-1], k), values.dtype)
    diagonal[..., rows[on]] = values[..., on]
    order = np.argsort(columns, kind="stable")
    true, predicted = sums_in_order(rows, values, k), sums_in_order(columns[order], values[..., order], k)
    return BatchedCounts(diagonal, true, predicted, true.sum(-1), values, where)


@memoized
def batch_of_one(c: Counts) -> BatchedCounts:
    """Return the counts of one matrix as a batch without leading axes."""
    where = cells_of(c)
    return batched(where.values, where)


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


class MatrixCounts:
    """The counts of a square matrix, rows true, with the labels of the matrix that it stands for.

    The numbers need not be whole: those of a matrix that was drawn from a posterior are not.
    """

    unit = 1

    def __init__(self, matrix: Numbers, labels: tuple[Label, ...]) -> None:
        """Take over the matrix."""
        self.matrix, self.labels, self.k = matrix, labels, len(labels)
        self.true_totals, self.predicted_totals = matrix.sum(axis=1), matrix.sum(axis=0)
        self.diagonal = matrix.diagonal()
        self.total, self.hits = self.true_totals.sum().item(), self.diagonal.sum().item()
        total: float = self.total
        self.n = self.weight = round(total)

    @property
    def true_dot_true(self) -> int:
        """sum t_k^2."""
        return _dot(self.true_totals, self.true_totals)

    @property
    def true_dot_predicted(self) -> int:
        """sum t_k p_k."""
        return _dot(self.true_totals, self.predicted_totals)

    @property
    def predicted_dot_predicted(self) -> int:
        """sum p_k^2."""
        return _dot(self.predicted_totals, self.predicted_totals)

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
        """Return rows, columns and values of the non-zero cells in row-major order."""
        rows, columns = np.nonzero(self.matrix)
        return rows, columns, self.matrix[rows, columns]

    def unit_totals(self) -> tuple[list[int], list[int], list[int]]:
        """Return true totals, predicted totals and diagonal."""
        return self.true_totals.tolist(), self.predicted_totals.tolist(), self.diagonal.tolist()

    def unit_cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Return the non-zero cells, as `cells`."""
        rows, columns, values = self.cells()
        return rows, columns, values.tolist()

    def _ratios(self, numerator: Form, denominator: Form) -> Floats:
        """Return numerator / denominator for every class, nan where the denominator is 0."""
        below = self._form(denominator)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(below == 0, np.nan, self._form(numerator) / below)

    def _form(self, form: Form) -> Numbers:
        parts = (self.diagonal, self.true_totals, self.predicted_totals, self.total)
        return np.asarray(sum(factor * part for factor, part in zip(form, parts, strict=True) if factor))

    def _mean_ratio(self, numerator: Form, denominator: Form, undefined: float, by_support: bool = False) -> float:
        """Return the mean of the ratios over the classes; see `Counts._mean_ratio`."""
        values = self._ratios(numerator, denominator)
        weights = self.true_totals if by_support else np.ones(self.k)
        values = np.where(np.isnan(values), undefined, values)
        defined = ~np.isnan(values)
        below = math.fsum(weights[defined].tolist())
        return math.fsum((weights[defined] * values[defined]).tolist()) / below if below else math.nan

    def one_vs_rest(self, label: Label) -> Counts:
        """Return the counts of `label` and everything else."""
        at = self.labels.index(label)
        tp, true, predicted = (int(part[at]) for part in (self.diagonal, self.true_totals, self.predicted_totals))
        rest = self.total - true - predicted + tp
        return MatrixCounts(np.array([[tp, true - tp], [predicted - tp, rest]]), (label, "rest"))


def _dot(a: Numbers, b: Numbers) -> int:
    return sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))
