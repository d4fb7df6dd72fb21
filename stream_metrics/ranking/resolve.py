"""Estimates within the cells of a column: the simplest estimator with the accuracy of the benchmarks.

An ordinary mixed row takes the share of ordered pairs from its two exact means, which is exact where both densities
are linear within the row; that leaves 1e-7 on smooth scores. Rows that hold much of both classes, and only those, also
have enough sampled codes to be inspected (`_core/ranks/crowded_cells.pxi`). The sample is unbiased but noisy, the means
are exact but say little about a narrow cluster in a wide cell. So the sample replaces the means only where it
contradicts them: in one row by 3 standard errors, or in all remaining rows together by 2. Taking the sample everywhere
would cost a factor of 100 on smooth scores, never taking it would be off by up to 0.3 on narrow clusters with wide
tails.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.ranks import kernels
from stream_metrics.formulas.protocol import Floats
from stream_metrics.ranking.protocol import OWN, REST, Codes, RankColumn

SINGLE = 3.0  # standard errors by which one cell's sample must contradict its means to be believed
OVERALL = 2.0  # standard errors by which the samples of all others must contradict theirs together


class CellDistribution(NamedTuple):
    """The mass of one class in one cell, on places in [0, 1)."""

    places: Floats
    mass: Floats
    """Sums to 1."""


class DenseCell(NamedTuple):
    """A mixed row that the sample shows from inside."""

    at: int
    """Its number among the mixed rows."""
    rest: CellDistribution
    own: CellDistribution
    share: float
    """In which share of its pairs own is above, ties half."""
    se: float
    """The standard error of the share, for deciding whether it differs from another guess."""
    std_error: float
    """How far the share may be off, everything considered that the sample cannot show."""


class Resolution(NamedTuple):
    """For each mixed row the share of its pairs in which own is above, and how far that may be off."""

    shares: Floats
    std_errors: Floats
    dense: list[DenseCell]


def estimate_within_cells(column: RankColumn, cells: NDArray[np.intp], inside: Floats, means: Floats) -> Resolution:
    """Return the shares of the mixed rows in these cells.

    `inside` is how many pairs each of them holds, in any unit, and `means` are the shares from two means.
    """
    std_errors = np.full(len(cells), kernels.UNIFORM)
    dense = dense_cells(column, cells)
    if not dense:
        return Resolution(means, std_errors, dense)
    rows, chosen = np.array([cell.at for cell in dense]), means.copy()
    std_errors[rows] = [cell.std_error for cell in dense]
    chosen[rows] = _choose(means[rows], dense, inside[rows])
    return Resolution(chosen, std_errors, dense)


def dense_cells(column: RankColumn, cells: NDArray[np.intp]) -> list[DenseCell]:
    """Return what the sample shows of those mixed rows, given by their cells, that it can show from inside."""
    level, codes = column.level, column.sample_codes
    crowded = kernels.crowded_cells(level, column.cells, column.sole, codes[REST], codes[OWN])
    if not crowded:
        return []
    chosen = [cell for cell, *_ in crowded]
    counts = column.counts[chosen].astype(np.float64) / column.units
    rest, own = (weights.astype(np.float64) / column.units for weights in column.sample_weights)
    inspected = kernels.inspect_cells(
        level, crowded, column.cells, counts, column.offsets[chosen], codes, (rest, own), column.tau
    )
    return [
        DenseCell(at, CellDistribution(*rest_of), CellDistribution(*own_of), *shares)
        for at, (rest_of, own_of, *shares) in zip(cells.searchsorted(chosen).tolist(), inspected, strict=True)
    ]


def sampled_in(column: RankColumn, cell: int, c: int) -> tuple[Codes, Floats]:
    """Return the sampled codes of one class in a cell, and their weights."""
    start = int(column.cells[cell]) << column.level
    codes = column.sample_codes[c]
    low = int(codes.searchsorted(np.uint64(start)))
    high = int(codes.searchsorted(np.uint64(start + (1 << column.level) - 1), "right"))
    return codes[low:high], column.sample_weights[c][low:high].astype(np.float64) / column.units


def _choose(means: Floats, dense: list[DenseCell], inside: Floats) -> Floats:
    """Return for each dense row the share from its means, or from its sample where that contradicts them."""
    from_sample = np.array([cell.share for cell in dense])
    errors = np.array([cell.se for cell in dense])
    single = np.abs(from_sample - means) > SINGLE * errors
    others = np.where(single, 0.0, inside)
    together = abs(float(others.dot(from_sample - means))) > OVERALL * math.sqrt(float(((others * errors) ** 2).sum()))
    return np.where(single | together, from_sample, means)
