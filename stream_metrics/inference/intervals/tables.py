"""Many confusion matrices at once: one for each draw of a bootstrap, or one for each direction of a derivative.

Arrays have the matrices first and the classes last. Numbers are floats, or complex where a derivative is taken by a
complex step; so nothing here compares sizes or takes absolute values, but for tests on 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.frozen import shared
from stream_metrics.formulas.protocol import Counts, Floats, Form

__all__ = ["Cells", "Tables", "cells_of", "make_cells", "table", "tables_of"]


class Cells(NamedTuple):
    """The non-zero cells of one matrix in row-major order."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats
    k: int
    on: NDArray[np.intp]
    """Which of them lie on the diagonal."""


class Tables(NamedTuple):
    """Totals by class, (..., K), with their grand totals, (..., 1); and the cells, (..., cells), where they are kept.
    """

    diagonal: Any
    true: Any
    predicted: Any
    total: Any
    cells: Any
    where: Cells

    def ratios(self, numerator: Form, denominator: Form) -> Any:
        """Return numerator / denominator for every class, nan where the denominator is 0; see `Counts.ratios`."""
        top, below = self.form(numerator), self.form(denominator)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(below == 0, np.nan, top / below)

    def form(self, form: Form) -> Any:
        """Return a C_kk + b t_k + c p_k + d N for every class."""
        parts = zip(form, (self.diagonal, self.true, self.predicted, self.total), strict=True)
        terms = [part if factor == 1 else factor * part for factor, part in parts if factor]
        return sum(terms[1:], start=terms[0])

    @property
    def n(self) -> Any:
        """N, without the axis of classes."""
        return self.total[..., 0]

    @property
    def hits(self) -> Any:
        """The sum of the diagonal."""
        return self.diagonal.sum(-1)

    @property
    def matrix(self) -> Any:
        """The matrices, (..., K, K)."""
        rows, columns, _, k, _ = self.where
        full = np.zeros((*self.cells.shape[:-1], k, k), self.cells.dtype)
        full[..., rows, columns] = self.cells
        return full


def cells_of(c: Counts) -> Cells:
    """Return the non-zero cells of counts."""
    rows, columns, values = c.cells()
    return make_cells(rows, columns, np.asarray(values, np.float64), len(c.labels))


def make_cells(rows: NDArray[np.int64], columns: NDArray[np.int64], values: Floats, k: int) -> Cells:
    """Return cells that are in row-major order."""
    return Cells(rows, columns, values, k, np.flatnonzero(rows == columns))


def tables_of(values: Any, where: Cells) -> Tables:
    """Return the tables whose cells are `values`, (..., cells), in the places of `where`."""
    rows, columns, _, k, on = where
    diagonal = np.zeros((*values.shape[:-1], k), values.dtype)
    diagonal[..., rows[on]] = values[..., on]
    order = np.argsort(columns, kind="stable")
    true, predicted = _sums(values, rows, k), _sums(values[..., order], columns[order], k)
    return Tables(diagonal, true, predicted, true.sum(-1, keepdims=True), values, where)


@shared
def table(c: Counts) -> Tables:
    """Return the counts as tables of one matrix."""
    where = cells_of(c)
    return tables_of(where.values, where)


def _sums(values: Any, places: NDArray[np.int64], k: int) -> Any:
    """Return the sums by place, which must be in order."""
    sums = np.zeros((*values.shape[:-1], k), values.dtype)
    if len(places):
        starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
        sums[..., places[starts]] = np.add.reduceat(values, starts, axis=-1)
    return sums
