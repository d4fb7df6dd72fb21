"""How well scores that claim to be probabilities match the shares they predict.

Bins are made of whole cells, each placed by its mean score, which the first moments give to 2^-20 of a cell or better.
Of bins with fixed edges only the cells across an edge are in doubt; the certified interval lets their samples fall on
either side. Bins of equal mass have no such cells: they are cut between cells by definition.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics._core.ranks import kernels
from stream_metrics._core.ranks.kernels import UNIFORM
from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.ranking.protocol import (
    EPSILON,
    OWN,
    REST,
    UNDEFINED,
    ZERO,
    Certified,
    RankColumn,
    exact,
    once,
    shares_of,
    widened,
)
from stream_metrics.ranking.steps import tabulate

MOST_BINS = 2**20


class Reliability(NamedTuple):
    """Mean score, share of own, and weight of every bin that has a weight; lowest scores first."""

    scores: Floats
    shares: Floats
    weights: Floats


class Residuals(NamedTuple):
    """Samples of every bin, and the sums of truth less score, of its square, and of s (1 - s), the variance of truth.

    `error` is how far the sum of squares may be off.
    """

    n: Floats
    residual: Floats
    squares: Floats
    expected: Floats
    error: Floats


class _Rows(NamedTuple):
    rest: Floats
    own: Floats
    low: Floats
    mean: Floats
    high: Floats
    radius: Floats  # how far the mean may be off
    units: tuple[Numbers, Numbers]  # the weights of rest and own as integers
    unit: int
    slack: float


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
    place, weight = _likely(rows, bins, strategy), rows.rest + rows.own
    total, scores, own = (_sums(place, a, bins) for a in (weight, weight * rows.mean, rows.own))
    filled = total > 0
    return Reliability(scores[filled] / total[filled], own[filled] / total[filled], total[filled])


def has_margins(column: RankColumn) -> bool:
    """Tell whether a score lies outside [0, 1], so that the scores cannot be probabilities."""
    return any(column.totals) and _rows(column) is None


def expected_calibration_error(column: RankColumn, *, bins: int = 15, strategy: str = "uniform") -> Certified:
    """Mean distance between score and share of the class over bins of scores.

    sum_b w_b / W abs(share_b - score_b) over the bins b

    The value depends on the bins.
    """
    _check(bins, strategy)
    rows = _rows(column)
    if rows is None:
        return UNDEFINED
    if _is_exact(rows):
        residuals, weights = _residuals(rows, bins, strategy)
        return exact(sum(map(abs, residuals)), sum(weights))
    filled, total = _fill(rows, bins, strategy), float(np.sum(rows.rest + rows.own))
    low, high = _reach(filled)
    value, least, most = (float(np.sum(a)) / total for a in (np.abs(filled.residual), low, high))
    error = 2 * rows.slack / total + _rounding(rows)
    return widened(value, least, most, UNIFORM * (most - least), error, 0.0, 1.0)


def debiased_calibration_error(column: RankColumn, *, bins: int = 15, strategy: str = "uniform") -> Certified:
    """Root mean squared distance between score and share over bins of scores, without the noise of the bins.

    sqrt(max(0, sum_b n_b / n ((share_b - score_b)^2 - v_b / n_b))) with the variance v_b of truth less score, over the
    bins with two samples or more

    For calibrated scores it is about 0 at any number of samples and bins. A weight of 3 counts as three samples.
    """
    _check(bins, strategy)
    rows = _rows(column)
    if rows is None:
        return UNDEFINED
    if _is_exact(rows):
        value = math.sqrt(max(float(_exact_excess(rows, bins, strategy)), 0.0))
        return Certified(value, value, value, 0.0)
    one, total, rounding = _bin_residuals(rows, bins, strategy), float(np.sum(rows.rest + rows.own)), _rounding(rows)
    square = float(np.sum(_excess(one)[one.n >= 2])) / total
    least, most = (float(end.sum()) / total for end in _excess_bounds(_fill(rows, bins, strategy), one, rounding))
    value, low, high = (
        math.sqrt(max(x, 0.0)) for x in (square, min(least, square) - rounding, max(most, square) + rounding)
    )
    return widened(value, low, high, UNIFORM * (high - low), EPSILON, 0.0, 1.0)


def bin_residuals(column: RankColumn, *, bins: int = 15, strategy: str = "uniform") -> Residuals:
    """Return what the samples of the bins have in common with calibrated ones; scores must be in [0, 1]."""
    rows = _rows(column)
    assert rows is not None, "the value is undefined"
    return _bin_residuals(rows, bins, strategy)


def _excess(bins: Residuals) -> Floats:
    """Return n_k times the squared distance of a bin without its bias; nonsense for fewer than two samples."""
    return np.asarray((bins.residual**2 - bins.squares) / np.maximum(bins.n - 1, 1))


def _exact_excess(rows: _Rows, bins: int, strategy: str) -> Fraction:
    """Return the sum over the bins of the same, over the weight of all."""
    residuals, weights = _residuals(rows, bins, strategy)
    squares, places = [0] * bins, max(53 - int(np.frexp(rows.low)[1].min()), 0)
    scores = (int(Fraction(score) * 2**places) for score in rows.low.tolist())
    place = _likely(rows, bins, strategy).tolist()
    for k, rest, own, score in zip(place, *(a.tolist() for a in rows.units), scores, strict=True):
        squares[k] += own * ((1 << places) - score) ** 2 + rest * score * score
    one = rows.unit << places
    parts = (
        (Fraction(residual**2, one) - Fraction(square, 1 << places)) / (weight - one)
        for residual, square, weight in zip(residuals, squares, weights, strict=True)
        if weight >= 2 * one
    )
    return sum(parts, Fraction(0)) * one / sum(weights)


def _excess_bounds(filled: _Bins, one: Residuals, rounding: float) -> tuple[Floats, Floats]:
    """Return certified bounds of the same; 0 for bins with at most one sample, which are left out.

    The square of the residual is at most n_k times the sum of squares, so that a bin has from -2 to n_k.
    """
    (least, reach), error = _reach(filled), rounding * filled.most + one.error
    split = filled.most - filled.sure  # a sample that belongs elsewhere brings or takes a square of 1 at most
    below = least**2 - one.squares - error - split
    above = reach**2 - np.maximum(one.squares - error - split, 0.0)
    few, fewest, most = filled.sure < 2, np.maximum(filled.sure - 1, 1), np.maximum(filled.most - 1, 1)
    low = np.where(few, -np.minimum(filled.most, 2.0), np.minimum(below / fewest, below / most))
    high = np.where(few, filled.most, np.maximum(above / fewest, above / most))
    left_out = filled.most < 2
    return np.where(left_out, 0.0, low), np.where(left_out, 0.0, high)


def _bin_residuals(rows: _Rows, bins: int, strategy: str) -> Residuals:
    weight, place = rows.rest + rows.own, _likely(rows, bins, strategy)
    squares = rows.own * (1 - rows.mean) ** 2 + rows.rest * rows.mean**2
    expected, error = weight * rows.mean * (1 - rows.mean), 2 * weight * (rows.high - rows.low)
    parts = weight, rows.own - weight * rows.mean, squares, expected, error
    return Residuals(*(_sums(place, part, bins) for part in parts))


def maximum_calibration_error(column: RankColumn, *, bins: int = 15, strategy: str = "uniform") -> Certified:
    """Largest distance between score and share of the class in a bin of scores.

    max_b abs(share_b - score_b) over the bins b

    One nearly empty bin can decide it.
    """
    _check(bins, strategy)
    rows = _rows(column)
    if rows is None:
        return UNDEFINED
    if _is_exact(rows):
        largest = max(zip(*_residuals(rows, bins, strategy), strict=True), key=lambda bin: abs(bin[0]) / max(bin[1], 1))
        return exact(abs(largest[0]), max(largest[1], 1))
    filled, rounding = _fill(rows, bins, strategy), _rounding(rows)
    value = float(shares_of(np.abs(filled.residual), filled.weight).max())
    least, reach = _reach(filled)
    low = shares_of(least - 2 * rows.slack, filled.most).max() - rounding
    error = rounding * filled.most + 2 * rows.slack
    high = np.where(filled.sure > 0, shares_of(reach + error, filled.sure), np.where(filled.most > 0, 1.0, 0.0)).max()
    return widened(value, float(low), float(high), UNIFORM * max(0.0, float(high - low)), EPSILON, 0.0, 1.0)


def _reach(bins: _Bins) -> tuple[Floats, Floats]:
    """Return the least and the largest distance of the residual from 0 in each bin."""
    return np.maximum(0.0, np.maximum(bins.low, -bins.high)), np.maximum(np.abs(bins.low), np.abs(bins.high))


def _rounding(rows: _Rows) -> float:
    """Return how far sums over the rows of numbers from [-1, 1] times weights may be off, as a share of the weight."""
    return (4 * len(rows.low) + 64) * EPSILON


def _is_exact(rows: _Rows) -> bool:
    """Tell whether the score of every row is known, and no weight was rounded."""
    return not rows.slack and bool((rows.low == rows.high).all())


def _residuals(rows: _Rows, bins: int, strategy: str) -> tuple[list[int], list[int]]:
    """Return own less the sum of scores, and the weight, of each bin, as integers of one unit."""
    place = _likely(rows, bins, strategy).tolist()
    mantissas, exponents = np.frexp(rows.low)
    places = 53 - int(exponents.min())
    residuals, weights = [0] * bins, [0] * bins
    scores = zip((mantissas * 2.0**53).astype(np.int64).tolist(), (exponents - 53 + places).tolist(), strict=True)
    for k, rest, own, (mantissa, shift) in zip(place, *(a.tolist() for a in rows.units), scores, strict=True):
        residuals[k] += (own << places) - ((rest + own) * mantissa << shift)
        weights[k] += rest + own << places
    return residuals, weights


def _check(bins: int, strategy: str) -> None:
    if isinstance(bins, bool) or not isinstance(bins, Integral) or not 1 <= bins <= MOST_BINS:
        raise ValueError(f"Expected `bins` to be a whole number from 1 to {MOST_BINS}, but got {bins!r}")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f"Expected `strategy` to be 'uniform' or 'quantile', but got {strategy!r}")


@once
def _rows(column: RankColumn) -> _Rows | None:
    """Return the rows with their mean scores; None without weight or with a score outside [0, 1]."""
    table = tabulate(column)
    if not len(table.starts) or table.starts[0] < ZERO:
        return None
    rest, own = (a.astype(np.float64) / table.units for a in (table.rest, table.own))
    codes, (level, cells, sole, _, offsets, *_) = (table.starts, table.mixed, table.cells), column
    low, mean, high, radius = kernels.row_scores(codes, level, cells, sole, offsets, rest, own)
    if low[-1] > 1 or column.above:
        return None
    return _Rows(rest, own, low, mean, high, radius, (table.rest, table.own), table.units, column.slack)


def _place(rows: _Rows, bins: int, strategy: str) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the likely bin of each row, and the first and the last that it or a part of it may be in."""
    if strategy == "uniform":
        return _bin(rows.mean, bins), _bin(rows.low, bins), _bin(rows.high, bins)
    return _place_by_mass(rows, bins)


def _likely(rows: _Rows, bins: int, strategy: str) -> NDArray[np.intp]:
    """Return the likely bin of each row."""
    return _bin(rows.mean, bins) if strategy == "uniform" else _place_by_mass(rows, bins)[0]


def _place_by_mass(rows: _Rows, bins: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return what `_place` does, for bins of equal mass."""
    weight = rows.units[REST] + rows.units[OWN]
    if int(weight.sum()) * 2 * bins >= 2**63:
        weight = weight.astype(object)
    upto, total = np.cumsum(weight), int(weight.sum())
    middle, slack = 2 * upto - weight, math.ceil(rows.slack * rows.unit * 3)

    def place(middles: Numbers, total: int) -> NDArray[np.intp]:
        return np.clip((middles * bins // (2 * total)).astype(np.intp), 0, bins - 1)

    likely = place(middle, total)
    if not slack:
        return likely, likely, likely
    middle = middle.astype(object)
    return likely, place(middle - slack, total + slack), place(middle + slack, max(total - slack, 1))


def _sums(place: NDArray[np.intp], values: Floats, bins: int) -> Floats:
    """Return the sum of the values in each bin."""
    return np.bincount(place, values, bins).astype(np.float64)


def _bin(scores: Floats, bins: int) -> NDArray[np.intp]:
    return _inner_edges(bins).searchsorted(scores)


@lru_cache(maxsize=16)
def _inner_edges(bins: int) -> Floats:
    return np.linspace(0, 1, bins + 1)[1:-1]


def _fill(rows: _Rows, bins: int, strategy: str) -> _Bins:
    """Return the bins with certified bounds."""
    weight, (place, first, last) = rows.rest + rows.own, _place(rows, bins, strategy)
    residual, slack = rows.own - weight * rows.mean, weight * rows.radius
    split = first != last
    total, everything = (_sums(place, a, bins) for a in (weight, residual))
    sure, certain, wide = (_sums(place, np.where(split, 0.0, a), bins) for a in (weight, residual, slack))
    most, low, high = sure.copy(), certain - wide, certain + wide
    for row in np.flatnonzero(split):
        inside = slice(int(first[row]), int(last[row]) + 1)
        most[inside] += weight[row]
        low[inside] -= rows.rest[row] * rows.high[row]
        high[inside] += rows.own[row] * (1 - rows.low[row])
    return _Bins(total, sure, most, everything, low, high)
