"""A column from its highest scores down: what a falling threshold lets through, row by row.

The start of every row is a threshold at which the counts are exact at any level. The fine steps also go through
the dense cells code by code; those points are estimates. Ordinary mixed rows stay whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.ranking.protocol import ENDS, OWN, REST, Codes, RankColumn, edge, once
from stream_metrics.ranking.resolve import DenseCell, Resolution, estimate_within_cells
from stream_metrics.ranking.table import ScoreTable, shares, tabulate


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
