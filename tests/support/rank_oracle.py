"""One column of a rank sketch in plain NumPy, computed from all raw scores at once.

It is the specification of the compiled sketch, never a fallback: no state, no merging, and the level is found by
trying one after the other. It shares nothing with the package but the shape of the answer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from stream_metrics.ranking.protocol import RankColumn

E = 2**52
HALF = 1022 * E
ZERO = 2**63
MIXED = 2**64 - 1
ENDS = (1, 2**64 - 2)
UNIT = 2**64  # a weight is a whole number of 1/UNIT
SHIFT = 20  # moments leave out the lowest bits


def code(x: Any) -> np.ndarray:
    """Return the 64-bit codes of finite scores."""
    x = np.asarray(x, np.float64) + 0.0
    a = np.abs(x)
    bits, below, above = (np.abs(y).view(np.uint64) for y in (a, 1 - a, a - 1))
    magnitude = np.select(
        [a <= 0.5, a < 1, a == 1, a <= 1.5],
        [bits, np.uint64(2 * HALF) - below, np.uint64(1075 * E), above + np.uint64(105 * E)],
        np.minimum(bits, np.uint64(1944 * E + E // 2 - 2)) + np.uint64(103 * E + E // 2),
    )
    return np.where(x >= 0, np.uint64(ZERO) + magnitude, ~(np.uint64(ZERO) + magnitude))


def edge(codes: Any) -> np.ndarray:
    """Return the smallest double with at least that code, by bisection over all finite doubles; inf if none."""
    codes = np.asarray(codes, np.uint64)
    largest = np.float64(np.finfo(np.float64).max).view(np.int64)
    low, high = np.full(codes.shape, -largest - 1), np.full(codes.shape, largest + 1)  # low: below, high: at least
    for _ in range(66):
        middle = (low & high) + ((low ^ high) >> 1)
        enough = (code(_ordered(np.clip(middle, -largest, largest))) >= codes) | (middle > largest)
        low, high = np.where(enough, low, np.maximum(middle, low)), np.where(enough, middle, high)
    return np.where(high > largest, np.inf, _ordered(np.clip(high, -largest, largest)))


def _ordered(index: np.ndarray) -> np.ndarray:
    """Return the double at that place in the order of all doubles, 0 in the middle."""
    return np.where(index < 0, -np.abs(index).view(np.float64), np.abs(index).view(np.float64)) + 0.0


def mixed(codes: np.ndarray) -> np.ndarray:
    """Return the splitmix64 finaliser of each code."""
    x = codes.copy()
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class RankOracle:
    """The sketch of one column with at most `buckets` cells and `sample` sampled codes per class."""

    def __init__(self, buckets: int = 1024, sample: int = 512) -> None:
        self.buckets, self.sample = buckets, sample

    def column(self, scores: Any, own: Any, weights: Any = None) -> RankColumn:
        """Return the column of raw scores in units of 2^-64; `own` tells which belong to the class asked for."""
        codes, own = code(scores), np.asarray(own, bool)
        weights = [1] * len(codes) if weights is None else np.asarray(weights).tolist()
        units = np.array([max(round(Fraction(w) * UNIT), w > 0) for w in weights], object)
        groups = [(codes[own == c], units[own == c]) for c in (False, True)]
        stated = [(c[c != ZERO], w[c != ZERO]) for c, w in groups]
        level, cells, sole = self._cells(np.unique(codes[codes != ZERO]))
        sums = [_sums(level, cells, sole, *group) for group in stated]
        samples = [self._sample(*group) if level else self._sample(*(g[:0] for g in group)) for group in stated]
        counts = np.stack([counts for counts, _ in sums], axis=1)
        totals = np.array([w.sum() for _, w in groups], object)
        every = np.concatenate([counts.ravel(), totals, samples[0][1], samples[1][1]])
        return RankColumn(
            level,
            cells,
            sole,
            counts,
            np.stack([offsets for _, offsets in sums], axis=1),
            totals,
            (samples[0][0], samples[1][0]),
            (samples[0][1], samples[1][1]),
            (samples[0][2], samples[1][2]),
            UNIT,
            float(sum(w < 2.0**-11 and w * 2.0**64 % 1 != 0 for w in weights)) * 2.0**-64,
            bool(np.any(codes > ZERO + 1075 * E)),
            int(totals.sum()) / UNIT / len(codes) if (every % UNIT).any() else 1.0,
        )

    def _cells(self, distinct: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """Return the smallest level that fits, its cells, and the only code of each."""
        level = 0
        while np.count_nonzero(np.diff(distinct >> np.uint64(level))) >= self.buckets:
            level += 1
        cells, first, times = np.unique(distinct >> np.uint64(level), return_index=True, return_counts=True)
        pure = (times == 1) & ~np.isin(distinct[first], np.array(ENDS, np.uint64))
        return level, cells, cells if not level else np.where(pure, distinct[first], np.uint64(MIXED))

    def _sample(self, codes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the codes with the smallest hashes, their weights, and the share of all codes below the last hash."""
        distinct, index = np.unique(codes, return_inverse=True)
        totals = np.zeros(len(distinct), object)
        np.add.at(totals, index, weights)
        order = np.argsort(mixed(distinct))[: self.sample]
        tau = 1.0 if len(order) < self.sample else float(mixed(distinct[order[-1:]])[0]) / 2.0**64
        order.sort()
        return distinct[order], totals[order], tau


def _sums(
    level: int, cells: np.ndarray, sole: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight and the mean offset of one class in every cell."""
    index = np.searchsorted(cells, codes >> np.uint64(level))
    counts = np.zeros(len(cells), object)
    np.add.at(counts, index, weights)
    if level <= SHIFT:
        return counts, np.full(len(cells), np.nan)
    start = (cells << np.uint64(level)) >> np.uint64(SHIFT)
    moments = np.zeros(len(cells), object)
    np.add.at(moments, index, weights * ((codes >> np.uint64(SHIFT)) - start[index]).astype(object))
    mean = (moments / UNIT).astype(np.float64)  # rounded once
    fits = np.array([int(count) << (level - SHIFT) < UNIT << 64 for count in counts], bool)
    usable = (counts > 0) & (sole == np.uint64(MIXED)) & fits
    span = (counts / UNIT).astype(np.float64) * 2.0 ** (level - SHIFT)
    return counts, np.where(usable, mean / np.where(usable, span, 1.0), np.nan)
