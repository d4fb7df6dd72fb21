"""A column from its highest scores down: what a falling threshold lets through, row by row.

**Tables** have the lowest scores first, and counts that multiply exactly. Weights are whole numbers of units: int64
while the product of the two totals fits, Python integers from there on.

**Within cells** the simplest estimator with the accuracy of the benchmarks is used. An ordinary mixed row takes the
share of ordered pairs from its two exact means, which is exact where both densities are linear within the row; that
leaves 1e-7 on smooth scores. Rows that hold much of both classes, and only those, also have enough sampled codes to be
inspected (`_core/ranks/crowded_cells.pxi`). The sample is unbiased but noisy, the means are exact but say little about
a narrow cluster in a wide cell. So the sample replaces the means only where it contradicts them: in one row by 3
standard errors, or in all remaining rows together by 2. Taking the sample everywhere would cost a factor of 100 on
smooth scores, never taking it would be off by up to 0.3 on narrow clusters with wide tails.

**Steps.** The start of every row is a threshold at which the counts are exact at any level. The fine steps also go
through the dense cells code by code; those points are estimates. Ordinary mixed rows stay whole.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.ranks import kernels
from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.ranking.protocol import ENDS, MIXED, OWN, REST, ZERO, Codes, RankColumn, edge, once

SAFE = 2**61  # twice the product of two totals up to here fits into int64


class ScoreTable(NamedTuple):
    """Rows in ascending order; a mixed row may hold several scores in any order, any other row holds one score."""

    starts: Codes
    """The smallest code that a row may hold."""
    rest: Numbers
    own: Numbers
    """Integer weights of the two classes, in units."""
    mixed: NDArray[np.intp]
    """The numbers of the mixed rows, increasing."""
    cells: NDArray[np.intp]
    """For each mixed row the number of its cell in the column."""
    units: int
    """How many units a weight of 1 has."""


def tabulate(column: RankColumn) -> ScoreTable:
    """Return the rows of a column that have a count, the zeros among them as one row."""
    level, cells, sole, counts, _, totals, *_ = column
    if counts.dtype == totals.dtype == np.int64 and _is_safe(column):
        return ScoreTable(*kernels.table_rows(level, cells, sole, counts, totals), column.units)
    return large_table(column)


def large_table(column: RankColumn) -> ScoreTable:
    """Return the rows of a column whose products of counts may not fit into int64, with Python integers."""
    counts, totals = column.counts.astype(object), column.totals.astype(object)
    rest, own = np.ascontiguousarray(counts.T)
    level = np.uint64(column.level)
    starts = column.cells << level
    rows = cells = np.flatnonzero(column.sole == np.uint64(MIXED)) if level else _ends(column.cells)
    zeros = int(totals[REST] - rest.sum()), int(totals[OWN] - own.sum())
    place = int(column.cells.searchsorted(np.uint64(ZERO) >> level))
    if level and place < len(starts) and starts[place] == ZERO:
        starts[place] = ZERO + 1
    if zeros != (0, 0):
        rest, own, starts = (_insert(a, place, b) for a, b in ((rest, zeros[0]), (own, zeros[1]), (starts, ZERO)))
        rows = rows + (rows >= place)
    return ScoreTable(starts, rest, own, rows, cells, column.units)


def _is_safe(column: RankColumn) -> bool:
    """Return whether all products of counts of a column fit into int64."""
    totals = column.totals
    return max(int(totals[REST]), 1) * max(int(totals[OWN]), 1) <= SAFE


def _ends(cells: Codes) -> NDArray[np.intp]:
    """Return the cells that many scores share although they hold one code."""
    return np.array([i for i in sorted({0, len(cells) - 1}) if len(cells) and int(cells[i]) in ENDS], np.intp)


def _insert(a: Numbers, place: int, value: int) -> Numbers:
    return np.concatenate([a[:place], np.array([value], a.dtype), a[place:]])


class Pairs(NamedTuple):
    """Pairs of one own and one rest score, exact."""

    sure: int
    """Twice the pairs in order plus the tied pairs, of all pairs whose order the table knows."""
    open: int
    """The pairs within one mixed row."""
    all: int


def count_pairs(table: ScoreTable) -> Pairs:
    """Return the exact numbers of pairs, in units squared."""
    rest, own, mixed = table.rest, table.own, table.mixed
    if not len(own):
        return Pairs(0, 0, 0)
    upto = rest.cumsum()
    inside = int(own[mixed].dot(rest[mixed])) if len(mixed) else 0
    same = int(own.dot(rest))
    ordered = int(own.dot(upto)) - same
    return Pairs(2 * ordered + same - inside, inside, int(upto[-1]) * int(own.sum()))


class MixedCells(NamedTuple):
    """The mixed rows of a column."""

    cells: NDArray[np.intp]
    """For each mixed row the number of its cell in the column."""
    inside: Floats
    """Which share of all pairs it holds."""
    above: Floats
    """In which share of its pairs own is above, from the two means; see `shares`."""


def pairs_of(column: RankColumn) -> tuple[Pairs, MixedCells]:
    """Return the exact numbers of pairs of a column, in units squared, and its mixed rows."""
    level, cells, sole, counts, offsets, totals, *_ = column
    if counts.dtype == totals.dtype == np.int64 and _is_safe(column):
        sure, inside, everything, mixed, each, above = kernels.count_pairs(level, cells, sole, counts, offsets, totals)
        return Pairs(sure, inside, everything), MixedCells(mixed, each, above)
    table = tabulate(column)
    pairs = count_pairs(table)
    products = (table.own[table.mixed] * table.rest[table.mixed]).astype(np.float64)
    return pairs, MixedCells(table.cells, products / max(pairs.all, 1), shares(column, table.cells))


def shares(column: RankColumn, cells: NDArray[np.intp]) -> Floats:
    """Return for each mixed row the share of its pairs in which own is above, from the two means.

    It is exact where both densities are linear within the row, and the best guess from two means alone otherwise; 1/2
    where a mean is not known.
    """
    share = (column.offsets[:, OWN] - column.offsets[:, REST])[cells] + 0.5
    np.minimum(np.maximum(share, 0.0, out=share), 1.0, out=share)
    if math.isnan(share.dot(share)):
        share[np.isnan(share)] = 0.5
    return share


def root_sum_square(values: Floats) -> float:
    """Return the root of the sum of squares."""
    return math.sqrt(float(values.dot(values)))


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


class CurveSteps(NamedTuple):
    """Rows in descending order."""

    starts: Codes
    """The smallest code of the row."""
    rest: Floats
    own: Floats
    """The weights of the row."""
    fp: Floats
    tp: Floats
    """The weights at or above the start of the row."""
    fp_before: Floats
    tp_before: Floats
    """The weights above the row; a difference of floats would be wrong where the row is much heavier."""
    mixed: NDArray[np.bool_]
    """Rows whose scores may be in any order; the scores of the others are equal."""
    shares: Floats
    """The share of the pairs of a row in which own is above, 1/2 in rows of equal scores."""
    exact: NDArray[np.bool_]
    """Rows whose start is a threshold with exact counts."""

    @property
    def thresholds(self) -> Floats:
        """The smallest score of each row."""
        return edge(self.starts)


class Units(NamedTuple):
    """The coarse rows as integers, in units of weight."""

    rest: Numbers
    own: Numbers
    fp: Numbers
    tp: Numbers
    mixed: NDArray[np.bool_]


class ThresholdSweep(NamedTuple):
    """The steps of a column, without and with its dense cells expanded."""

    units: Units
    coarse: CurveSteps
    fine: CurveSteps
    std_errors: Floats
    """For each coarse row how far its share may be off; 0 in rows of equal scores."""
    cells: NDArray[np.intp]
    """For each coarse row its cell in the column if it is mixed, otherwise -1."""


@once
def threshold_sweep(column: RankColumn) -> ThresholdSweep:
    """Return the steps of a column."""
    table = tabulate(column)
    rows, mixed = len(table.starts), table.mixed
    inside = (table.own[mixed] * table.rest[mixed]).astype(np.float64)
    resolution = Resolution(np.zeros(0), np.zeros(0), [])
    if len(mixed):
        resolution = estimate_within_cells(column, table.cells, inside, shares(column, table.cells))
    std_errors, cells = np.zeros(rows), np.full(rows, -1)
    std_errors[mixed], cells[mixed] = resolution.std_errors, table.cells
    units = _in_units(table)
    coarse = _whole_rows(table, units, resolution.shares)
    fine = _expand(coarse, column, table, resolution.dense) if resolution.dense else coarse
    return ThresholdSweep(units, coarse, fine, std_errors[::-1], cells[::-1])


def _in_units(table: ScoreTable) -> Units:
    """Return the rows of a table from the highest down, with the weights at or above each."""
    rest, own = table.rest[::-1], table.own[::-1]
    mixed = np.zeros(len(rest), bool)
    mixed[table.mixed] = True
    return Units(rest, own, np.cumsum(rest), np.cumsum(own), mixed[::-1])


def _whole_rows(table: ScoreTable, units: Units, shares: Floats) -> CurveSteps:
    """Return the rows of a table as steps."""
    before = units.fp - units.rest, units.tp - units.own
    values = (a.astype(np.float64) / table.units for a in (*units[:4], *before))
    share = np.full(len(units.rest), 0.5)
    share[table.mixed] = shares
    return CurveSteps._make([table.starts[::-1], *values, units.mixed, share[::-1], np.ones(len(share), bool)])


def _expand(coarse: CurveSteps, column: RankColumn, table: ScoreTable, dense: list[DenseCell]) -> CurveSteps:
    """Return the steps with each dense row replaced by its codes."""
    pieces, done = [], 0
    for cell in reversed(dense):
        row = len(table.starts) - 1 - int(table.mixed[cell.at])
        pieces.append(CurveSteps._make(a[done:row] for a in coarse))
        pieces.append(_inner_steps(CurveSteps._make(a[row : row + 1] for a in coarse), column.level, cell))
        done = row + 1
    pieces.append(CurveSteps._make(a[done:] for a in coarse))
    return CurveSteps._make(np.concatenate(parts) for parts in zip(*pieces, strict=True))


def _inner_steps(row: CurveSteps, level: int, cell: DenseCell) -> CurveSteps:
    """Return the codes of one dense row as steps that add up to the row."""
    places = np.unique(np.concatenate([cell.rest.places, cell.own.places]))
    masses = [np.zeros(len(places)), np.zeros(len(places))]
    for mass, distribution, count in zip(masses, (cell.rest, cell.own), (row.rest, row.own), strict=True):
        np.add.at(mass, places.searchsorted(distribution.places), distribution.mass * count)
    filled = masses[REST] + masses[OWN] > 0
    places, counts = places[filled][::-1], [mass[filled][::-1] for mass in masses]
    ends = (row.fp, row.tp)
    starts_at = (row.fp_before, row.tp_before)
    upto = [np.minimum(a + np.cumsum(m), b) for m, a, b in zip(counts, starts_at, ends, strict=True)]
    upto[REST][-1], upto[OWN][-1] = row.fp[0], row.tp[0]
    before = [np.concatenate([a, m[:-1]]) for m, a in zip(upto, starts_at, strict=True)]
    base, width = int(row.starts[0]) >> level << level, float(2**level)
    inner = np.minimum(places * width, width - max(1.0, width * 2.0**-53)).astype(np.uint64)
    starts = np.minimum(np.maximum(inner + np.uint64(base), row.starts), np.uint64(ENDS[1]))
    no, half = np.zeros(len(places), bool), np.full(len(places), 0.5)
    return CurveSteps._make([starts, *counts, *upto, *before, no, half, no])
