"""Counts of many confusion matrices at once: one for each draw of a bootstrap, or each direction of a derivative.

Arrays have the matrices first and the classes last. Numbers are floats, or complex where a derivative is taken by a
complex step. The formulas of the catalogue take `BatchedCounts` as they take the counts of one matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.arithmetic import divide, inner, mean_of, per_class, sums_in_order
from stream_metrics.formulas.memoized import memoized
from stream_metrics.formulas.protocol import Counts, Floats, Form, Integers

__all__ = ["Batch", "BatchedCounts", "MatrixCells", "batch_of_one", "batched", "cells_of", "dot", "make_cells"]

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
