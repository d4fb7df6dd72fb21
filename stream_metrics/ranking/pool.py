"""Several columns as one: all scores of all classes against one threshold (micro average)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.ranking.protocol import ENDS, MIXED, OWN, REST, ZERO, Codes, RankColumn

ROOM = 2**62  # sums up to here fit into int64


def pool(columns: Sequence[RankColumn]) -> RankColumn:
    """Return the column of all scores together, at the highest level among the columns.

    The pooled table has no more certainty and no less: its cells are unions of cells, its sample is complete below the
    smallest of the thresholds. It may have more cells than one sketch.
    """
    level = max((column.level for column in columns), default=0)
    if not columns:
        nothing = np.zeros(0, np.uint64)
        empty = np.zeros((0, 2), np.int64)
        return RankColumn(0, nothing, nothing, empty, np.zeros((0, 2)), np.zeros(2, np.int64), (nothing,) * 2,
                          (empty[:, 0],) * 2, (1.0, 1.0))  # fmt: skip
    columns = _alike(columns)
    cells, index = np.unique(
        np.concatenate([c.cells >> np.uint64(level - c.level) for c in columns]), return_inverse=True
    )
    index = index.ravel()
    parts = np.concatenate([c.counts for c in columns])
    counts = np.zeros((len(cells), 2), parts.dtype)
    np.add.at(counts, index, parts)
    moments = np.zeros((len(cells), 2))
    np.add.at(moments, index, np.concatenate([_moments(c, level) for c in columns]))
    sole = _join(np.concatenate([_soles(c) for c in columns]), index, len(cells))
    known = (sole == np.uint64(MIXED))[:, None] & (counts > 0)
    offsets = np.where(known, moments / np.where(counts > 0, counts, 1).astype(np.float64), np.nan)
    samples = [_sample(columns, level, c) for c in (REST, OWN)]
    return RankColumn(
        level,
        cells,
        sole if level else cells,
        counts,
        offsets,
        np.sum([c.totals for c in columns], axis=0),
        (samples[REST][0], samples[OWN][0]),
        (samples[REST][1], samples[OWN][1]),
        (samples[REST][2], samples[OWN][2]),
        columns[0].units,
        math.fsum(c.slack for c in columns),
        any(c.above for c in columns),
        max(c.grain for c in columns),
    )


def _alike(columns: Sequence[RankColumn]) -> list[RankColumn]:
    """Return the columns in the same units, as Python integers if their sum could exceed int64."""
    units = max(column.units for column in columns)
    sums = sum(sum(column.totals.tolist()) * (units // column.units) for column in columns)
    return [column.in_units(units, wide=sums > ROOM) for column in columns]


def _soles(column: RankColumn) -> Codes:
    """Return the only code of each cell, MIXED for the codes that many scores share."""
    return np.where(np.isin(column.sole, np.array(ENDS, np.uint64)), np.uint64(MIXED), column.sole)


def _join(soles: Codes, index: Numbers, cells: int) -> Codes:
    """Return the only code of each cell, or MIXED."""
    low, high = np.full(cells, MIXED, np.uint64), np.zeros(cells, np.uint64)
    np.minimum.at(low, index, soles)
    np.maximum.at(high, index, soles)
    return np.where(low == high, low, np.uint64(MIXED))


def _moments(column: RankColumn, level: int) -> Floats:
    """Return weight times mean place within the coarser cell; nan where the place is not known."""
    start = (column.cells >> np.uint64(level - column.level)) << np.uint64(level)
    sole = _soles(column)
    pure = sole != np.uint64(MIXED)
    exact = (sole - start).astype(np.float64) * 2.0**-level
    child = ((column.cells << np.uint64(column.level)) - start).astype(np.float64)
    places = np.where(
        pure[:, None], exact[:, None], (child[:, None] + column.offsets * 2.0**column.level) * 2.0**-level
    )
    return np.where(column.counts > 0, places * column.counts.astype(np.float64), 0.0)


def _sample(columns: Sequence[RankColumn], level: int, c: int) -> tuple[Codes, Numbers, float]:
    """Return all codes of a class below the smallest threshold, with their weights."""
    tau = min(column.tau[c] for column in columns)
    codes, weights = [], []
    for column in columns if level else ():
        mine = column.counts[:, c] > 0 if not column.level else None
        codes.append(column.sample_codes[c] if mine is None else column.cells[mine])
        weights.append(column.sample_weights[c] if mine is None else column.counts[mine, c])
    if not codes:
        return np.zeros(0, np.uint64), np.zeros(0, np.int64), 1.0
    distinct, index = np.unique(np.concatenate(codes), return_inverse=True)
    totals = np.zeros(len(distinct), np.result_type(*weights))
    np.add.at(totals, index.ravel(), np.concatenate(weights))
    sampled = (_hashes(distinct).astype(np.float64) * 2.0**-64 <= tau) & (distinct != np.uint64(ZERO))
    return distinct[sampled], totals[sampled], tau


def _hashes(codes: Codes) -> Codes:
    """Return the splitmix64 finaliser of each code, the hash by which sketches sample."""
    x = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
