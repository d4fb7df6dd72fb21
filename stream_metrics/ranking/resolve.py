"""Estimates within the cells of a column: the simplest estimator with the accuracy of the benchmarks.

An ordinary mixed row takes the share of ordered pairs from its two exact means, which is exact where both densities
are linear within the row; that leaves 1e-7 on smooth scores. Rows that hold much of both classes, and only those, also
have enough sampled codes to be inspected (`sample`). The sample is unbiased but noisy, the means are exact but
say little about a narrow cluster in a wide cell. So the sample replaces the means only where it contradicts them: in
one row by 3 standard errors, or in all remaining rows together by 2. Taking the sample everywhere would cost a factor
of 100 on smooth scores, never taking it would be off by up to 0.3 on narrow clusters with wide tails.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.protocol import Floats
from stream_metrics.ranking.protocol import OWN, REST, Codes, RankColumn
from stream_metrics.ranking.sample import UNIFORM, CellDistribution, Comparison, cell_distribution, compare, place_atoms

DENSE = 20  # sampled codes of each class from which a cell is inspected
SINGLE = 3.0  # standard errors by which one cell's sample must contradict its means to be believed
OVERALL = 2.0  # standard errors by which the samples of all others must contradict theirs together


class DenseCell(NamedTuple):
    """A mixed row that the sample shows from inside."""

    at: int
    """Its number among the mixed rows."""
    rest: CellDistribution
    own: CellDistribution
    comparison: Comparison


class Resolution(NamedTuple):
    """For each mixed row the share of its pairs in which own is above, and how far that may be off."""

    shares: Floats
    std_errors: Floats
    dense: list[DenseCell]


def estimate_within_cells(
    column: RankColumn, cells: NDArray[np.intp], inside: Floats, means: Floats
) -> Resolution:
    """Return the shares of the mixed rows in these cells.

    `inside` is how many pairs each of them holds, in any unit, and `means` are the shares from two means.
    """
    chosen = means.copy()
    std_errors = np.full(len(chosen), UNIFORM)
    dense = [inspect_cell(column, int(cells[at]), at) for at in dense_rows(column, cells).tolist()]
    if dense:
        rows = np.array([cell.at for cell in dense])
        std_errors[rows] = [cell.comparison.std_error for cell in dense]
        chosen[rows] = _choose(chosen[rows], [cell.comparison for cell in dense], inside[rows])
    return Resolution(chosen, std_errors, dense)


def dense_rows(column: RankColumn, cells: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return which mixed rows, by their cells, hold at least `DENSE` sampled codes of each class."""
    level = np.uint64(column.level)
    crowds = _crowds(column.sample_codes[OWN] >> level)
    if len(crowds):
        crowds = np.intersect1d(crowds, _crowds(column.sample_codes[REST] >> level))
    return np.flatnonzero(np.isin(column.cells[cells], crowds)) if len(crowds) else np.zeros(0, np.intp)


def _crowds(cells: Codes) -> Codes:
    """Return the cells that occur at least `DENSE` times in a sorted array."""
    last = cells[DENSE - 1 :]
    full = last == cells[: len(last)]
    return np.unique(last[full]) if full.any() else last[:0]


def inspect_cell(column: RankColumn, cell: int, at: int) -> DenseCell:
    """Return what the sample shows of a cell, which is the mixed row at that place among the mixed rows."""
    counts = [int(column.counts[cell, c]) / column.units for c in (REST, OWN)]
    distributions = []
    for c in (REST, OWN):
        codes, sampled = sampled_in(column, cell, c)
        start = int(column.cells[cell]) << column.level
        places = (codes - np.uint64(start)).astype(np.float64) * 2.0**-column.level
        mean = float(column.offsets[cell, c])
        distributions.append(cell_distribution(places, sampled, counts[c], mean, column.tau[c]))
    rest, own = place_atoms(distributions[REST], distributions[OWN], counts[REST], counts[OWN])
    return DenseCell(at, rest, own, compare(rest, own))


def sampled_in(column: RankColumn, cell: int, c: int) -> tuple[Codes, Floats]:
    """Return the sampled codes of one class in a cell, and their weights."""
    start = int(column.cells[cell]) << column.level
    codes = column.sample_codes[c]
    low = int(codes.searchsorted(np.uint64(start)))
    high = int(codes.searchsorted(np.uint64(start + (1 << column.level) - 1), "right"))
    return codes[low:high], column.sample_weights[c][low:high].astype(np.float64) / column.units


def _choose(means: Floats, samples: list[Comparison], inside: Floats) -> Floats:
    """Return for each dense row the share from its means, or from its sample where that contradicts them."""
    from_sample = np.array([sample.share for sample in samples])
    errors = np.array([sample.se for sample in samples])
    single = np.abs(from_sample - means) > SINGLE * errors
    others = np.where(single, 0.0, inside)
    together = abs(float(others.dot(from_sample - means))) > OVERALL * math.sqrt(float(((others * errors) ** 2).sum()))
    return np.where(single | together, from_sample, means)
