"""A plain matrix as the counts that formulas read, for a user's formula and for formulas with options."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.protocol import Counts, Floats, Form, Numbers
from stream_metrics.labels import Label

__all__ = ["MatrixCounts"]


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
