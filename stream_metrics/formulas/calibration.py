"""How well scores that claim to be probabilities match the shares they predict.

Bins are made of whole cells, each placed by its mean score, which the first moments give to 2^-20 of a cell or better.
Of bins with fixed edges only the cells across an edge are in doubt; the certified interval lets their samples fall on
either side. Bins of equal mass have no such cells: they are cut between cells by definition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.formulas.protocol import Floats
from stream_metrics.formulas.rank_sample import UNIFORM
from stream_metrics.formulas.rank_table import Table, tabulate
from stream_metrics.formulas.ranks_protocol import OWN, REST, UNDEFINED, ZERO, Certified, RankColumn, certified
from stream_metrics.formulas.score_codes import edge

MOMENT_BITS = 20  # the lowest bits of a code, which moments leave out
ONE_OCTAVE = 52  # levels up to here have cells over which a score is linear in its code


class Reliability(NamedTuple):
    """Mean score, share of own, and weight of every bin that has a weight; lowest scores first."""

    scores: Floats
    shares: Floats
    weights: Floats


class _Rows(NamedTuple):
    rest: Floats
    own: Floats
    low: Floats
    mean: Floats
    high: Floats
    radius: Floats  # how far the mean may be off


class _Bins(NamedTuple):
    weight: Floats  # of the rows placed in a bin
    sure: Floats  # of those that cannot belong elsewhere
    most: Floats  # of all rows that may belong
    residual: Floats  # own less the sum of scores
    low: Floats
    high: Floats  # certified bounds of the residual


def reliability_curve(column: RankColumn, *, bins: int = 15, strategy: str = "uniform") -> Reliability:
    """Mean score and share of own per bin; no bins if a score lies outside [0, 1].

    Bins are (k/bins, (k+1)/bins], 0 in the first, or with strategy "quantile" of equal mass.
    Source: Murphy and Winkler 1977; Niculescu-Mizil and Caruana 2005.
    """
    _check(bins, strategy)
    rows = _rows(column)
    if rows is None:
        return Reliability(*(np.zeros(0) for _ in range(3)))
    place, weight = _place(rows, bins, strategy), rows.rest + rows.own
    total, scores, own = (_sums(place, a, bins) for a in (weight, weight * rows.mean, rows.own))
    kept = total > 0
    return Reliability(scores[kept] / total[kept], own[kept] / total[kept], total[kept])


def expected_calibration_error(column: RankColumn, *, bins: int = 15, strategy: str = "uniform") -> Certified:
    """The mean distance between score and share over the bins, by weight.

    Formula: sum_k w_k / W |share_k - score_k|. Range: [0, 1]. Undefined: no weight, or a score outside [0, 1].
    Source: Naeini et al. 2015; Guo et al. 2017, eq. 3. Depends on the bins.
    """
    _check(bins, strategy)
    rows = _rows(column)
    if rows is None:
        return UNDEFINED
    found, total = _fill(rows, bins, strategy), float(np.sum(rows.rest + rows.own))
    low = np.maximum(0.0, np.maximum(found.low, -found.high))
    high = np.maximum(np.abs(found.low), np.abs(found.high))
    value, least, most = (float(np.sum(a)) / total for a in (np.abs(found.residual), low, high))
    return certified(value, least, min(1.0, most), UNIFORM * (most - least))


def maximum_calibration_error(column: RankColumn, *, bins: int = 15, strategy: str = "uniform") -> Certified:
    """The largest distance between score and share of a bin.

    Formula: max_k |share_k - score_k|. Range: [0, 1]. Undefined: no weight, or a score outside [0, 1].
    Source: Naeini et al. 2015; Guo et al. 2017, eq. 5. One nearly empty bin decides it.
    """
    _check(bins, strategy)
    rows = _rows(column)
    if rows is None:
        return UNDEFINED
    found = _fill(rows, bins, strategy)
    value = _ratio(np.abs(found.residual), found.weight).max()
    low = _ratio(np.maximum(0.0, np.maximum(found.low, -found.high)), found.most).max()
    reach = np.maximum(np.abs(found.low), np.abs(found.high))
    high = np.where(found.sure > 0, np.minimum(1.0, _ratio(reach, found.sure)), np.where(found.most > 0, 1.0, 0.0))
    return certified(float(value), float(low), float(high.max()), UNIFORM * float(high.max() - low))


def _check(bins: int, strategy: str) -> None:
    if bins < 1:
        raise ValueError(f"Expected `bins` to be at least 1, but got {bins!r}")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f"Expected `strategy` to be 'uniform' or 'quantile', but got {strategy!r}")


def _ratio(a: Floats, b: Floats) -> Floats:
    return np.asarray(a / np.where(b > 0, b, 1.0))


def _rows(column: RankColumn) -> _Rows | None:
    """Return the rows with their mean scores; None without weight or with a score outside [0, 1]."""
    table = tabulate(column)
    if not len(table.starts) or table.starts[0] < ZERO:
        return None
    ends = table.starts.copy()
    pure = np.ones(len(ends), bool)
    pure[table.mixed] = False
    table.starts[pure], ends[pure] = (_sole(column, table, pure),) * 2
    base = column.cells[table.cells] << np.uint64(column.level)
    ends[table.mixed] = base + np.uint64((1 << column.level) - 1)
    low, high = edge(table.starts), edge(ends)
    if low[-1] > 1:
        return None
    rest, own = (a.astype(np.float64) / table.units for a in (table.rest, table.own))
    mean, radius = low.copy(), np.zeros(len(low))
    offset, known = _offsets(column, table, rest[table.mixed], own[table.mixed])
    code = base + np.minimum(offset * 2.0**column.level, (1 << column.level) * (1 - 2.0**-53)).astype(np.uint64)
    mean[table.mixed] = np.clip(edge(code), low[table.mixed], high[table.mixed])
    precise = known & (column.level <= ONE_OCTAVE)
    width = (high - low)[table.mixed]
    radius[table.mixed] = np.where(precise, np.minimum(width, width * 2.0 ** (MOMENT_BITS - column.level)), width)
    return _Rows(rest, own, low, np.minimum(mean, 1.0), np.minimum(high, 1.0), radius)


def _sole(column: RankColumn, table: Table, pure: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the only code of each row that has only one."""
    starts = table.starts[pure]
    if not column.level or not len(column.cells):
        return starts
    cell = np.minimum(column.cells.searchsorted(starts >> np.uint64(column.level)), len(column.cells) - 1)
    return np.where(starts == np.uint64(ZERO), starts, column.sole[cell])


def _offsets(column: RankColumn, table: Table, rest: Floats, own: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the mean place in each mixed row over both classes, and whether it is known; the middle if not."""
    both = column.offsets[table.cells]
    parts = np.where(rest > 0, rest * both[:, REST], 0.0) + np.where(own > 0, own * both[:, OWN], 0.0)
    offset = parts / (rest + own)
    known = ~np.isnan(offset)
    return np.where(known, offset, 0.5), known


def _place(rows: _Rows, bins: int, strategy: str) -> NDArray[np.intp]:
    """Return the bin of each row."""
    if strategy == "quantile":
        weight = rows.rest + rows.own
        upto = np.cumsum(weight)
        return np.asarray(np.minimum(((upto - weight / 2) / upto[-1] * bins).astype(np.intp), bins - 1))
    return _bin(rows.mean, bins)


def _sums(place: NDArray[np.intp], values: Floats, bins: int) -> Floats:
    """Return the sum of the values in each bin."""
    return np.bincount(place, values, bins).astype(np.float64)


def _bin(scores: Floats, bins: int) -> NDArray[np.intp]:
    return np.asarray(np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], scores))


def _fill(rows: _Rows, bins: int, strategy: str) -> _Bins:
    """Return the bins with certified bounds."""
    weight, place = rows.rest + rows.own, _place(rows, bins, strategy)
    residual, slack = rows.own - weight * rows.mean, weight * rows.radius
    split = np.zeros(len(place), bool)
    if strategy == "uniform":
        first, last = _bin(rows.low, bins), _bin(rows.high, bins)
        split = first != last
    total, everything = (_sums(place, a, bins) for a in (weight, residual))
    sure, kept, wide = (_sums(place, np.where(split, 0.0, a), bins) for a in (weight, residual, slack))
    most, low, high = sure.copy(), kept - wide, kept + wide
    for row in np.flatnonzero(split):
        inside = slice(int(first[row]), int(last[row]) + 1)
        most[inside] += weight[row]
        low[inside] -= rows.rest[row] * rows.high[row]
        high[inside] += rows.own[row] * (1 - rows.low[row])
    return _Bins(total, sure, most, everything, low, high)
