"""A column of scores as a table of rows, lowest scores first, with counts that multiply exactly.

Weights are whole numbers of units: int64 while the product of the two totals fits, Python integers from there on.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.ranks import kernels
from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.ranking.protocol import ENDS, MIXED, OWN, REST, ZERO, Codes, RankColumn

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
