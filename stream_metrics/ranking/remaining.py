"""The scores that are left of a sketch when some samples were removed after it had coarsened.

A coarse sketch cannot forget a sample: which scores lie alone in a cell, and which codes a sample has dropped, is lost.
Weights and moments of cells can be subtracted, though, and so can the weights of sampled codes. So the removed samples
are counted in a second sketch, and its columns are subtracted when they are read. As the removed samples are among all
samples, the second sketch is never coarser, and its sample has every code that the first one has and that was removed.

What is left has exact weights at the level of the first sketch, so certified intervals hold. A cell that was mixed
stays mixed, which may make them wider than those of a sketch that never had the removed samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from stream_metrics.formulas.protocol import Floats, Numbers
from stream_metrics.labels import Label
from stream_metrics.ranking.classes import RankState
from stream_metrics.ranking.protocol import MIXED, NAN, OWN, REST, Codes, RankColumn

SHIFT = 20  # moments leave out the lowest bits of codes
BELOW_ONE = float(np.nextafter(1.0, 0.0))


class Sketch(RankState, Protocol):
    """A sketch from which another one can be subtracted."""

    @property
    def pairs(self) -> bool:
        """Whether classes should be counted apart."""

    @property
    def abstained(self) -> int:
        """The number of samples without scores."""

    @property
    def rounded(self) -> int:
        """The number of samples whose weight was rounded."""

    def _total_units(self) -> int:
        """Return the sum of all weights in units of 2**-64."""


class RemainingRanks:
    """The scores of `counted` without those of `removed`, as formulas read them; neither may change any more."""

    def __init__(self, counted: Sketch, removed: Sketch) -> None:
        self._counted, self._removed = counted, removed
        self._columns: dict[tuple[Label | None, ...], RankColumn] = {}
        self.pos_label, self.pairs, self.paired = counted.pos_label, counted.pairs, counted.paired
        self.n, self.abstained = counted.n - removed.n, counted.abstained - removed.abstained
        self.rounded = counted.rounded - removed.rounded

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The classes that still occur, in the order of report."""
        columns = ((label, self.column(label)) for label in self._counted.labels)
        return tuple(label for label, column in columns if column.totals[OWN] or len(column.cells))

    @property
    def weight(self) -> int | float:
        """The sum of all weights."""
        units = self._counted._total_units() - self._removed._total_units()
        return units / 2**64 if units % 2**64 else units >> 64

    def column(self, label: Label, own: Label | None = None, rest: Label | None = None) -> RankColumn:
        """Return the scores of a class; see `RankSketch.column`."""
        key = label, own, rest
        if key not in self._columns:
            column = subtract(self._counted.column(*key), self._removed.column(*key))
            grain = self.weight / self.n if column.units > 1 and self.n else 1.0
            self._columns[key] = column._replace(grain=grain)
        return self._columns[key]

    def _pairs_against(self, label: Label, rests: Sequence[Label]) -> list[None]:
        """Return that every column must be read; see `RankCounters._pairs_against`."""
        return [None] * len(rests)

    def check(self) -> None:
        """Raise ValueError unless the removed samples are among all samples, as far as counts can tell."""
        if not 0 < self._removed.n < self._counted.n or min(self.rounded, self.abstained, self.weight) < 0:
            raise ValueError("fewer removed samples than there are, and at least one")
        if not set(self._removed.labels) <= set(self._counted.labels):
            raise ValueError("removed samples of classes that occur")
        for label in self._counted.labels:
            for own in self._counted.labels if self.paired else (None,):
                self.column(label, own)


def subtract(counted: RankColumn, removed: RankColumn) -> RankColumn:
    """Return a column without the samples of another; ValueError if they are not among its samples."""
    units = max(counted.units, removed.units)
    all_, out = (column.in_units(units, wide=column.units != units) for column in (counted, removed))
    if out.level > all_.level:
        raise ValueError("removed scores in cells no larger than those of all scores")
    keys = out.cells >> np.uint64(all_.level - out.level)
    at = all_.cells.searchsorted(keys)
    if not np.array_equal(all_.cells.take(at, mode="clip") if len(all_.cells) else at[:0], keys):
        raise ValueError("removed scores in cells that have any")
    gone = np.zeros_like(all_.counts)
    np.add.at(gone, at, out.counts)
    counts, totals = all_.counts - gone, all_.totals - out.totals
    if (len(counts) and counts.min() < 0) or (totals < counts.sum(axis=0)).any():
        raise ValueError("no larger weights of removed scores than of all scores")
    offsets = all_.offsets if not len(at) else _offsets(all_, out, at, counts)
    some = (counts != 0).any(axis=1)
    samples = [_remaining_sample(all_, out, c) for c in (REST, OWN)]
    return all_._replace(
        cells=all_.cells[some],
        sole=all_.sole[some],
        counts=counts[some],
        offsets=offsets[some],
        totals=totals,
        sample_codes=(samples[REST][0], samples[OWN][0]),
        sample_weights=(samples[REST][1], samples[OWN][1]),
        slack=max(all_.slack - out.slack, 0.0),
    )


def _offsets(all_: RankColumn, out: RankColumn, at: Numbers, counts: Numbers) -> Floats:
    """Return the mean places of the remaining scores in each cell."""
    if all_.level <= SHIFT:
        return all_.offsets
    moments = np.nan_to_num(all_.offsets) * all_.counts.astype(np.float64)
    np.subtract.at(moments, at, np.nan_to_num(_places(all_, out, at)) * out.counts.astype(np.float64))
    left = counts.astype(np.float64)
    means = np.divide(moments, left, out=np.full(left.shape, NAN), where=left > 0)
    return np.where(np.isnan(all_.offsets), NAN, np.clip(means, 0.0, BELOW_ONE))


def _places(all_: RankColumn, out: RankColumn, at: Numbers) -> Floats:
    """Return the mean places of removed scores in the cells of all scores."""
    low = out.cells << np.uint64(out.level)
    alone = out.sole != np.uint64(MIXED)
    start = np.where(alone, out.sole, low) >> np.uint64(SHIFT)
    base = all_.cells[at] << np.uint64(all_.level) >> np.uint64(SHIFT)
    places: Floats = (start - base).astype(np.float64)[:, None] * 2.0 ** (SHIFT - all_.level)
    inside = 0.0 if out.level <= SHIFT else out.offsets * 2.0 ** (out.level - all_.level)
    return places + np.where(alone[:, None], 0.0, inside)


def _remaining_sample(all_: RankColumn, out: RankColumn, c: int) -> tuple[Codes, Numbers]:
    """Return the sampled codes of a class that are left, and their weights."""
    codes, weights = all_.sample_codes[c], all_.sample_weights[c]
    every = out.cells, out.counts[:, c]
    gone, gone_weights = every if out.level == 0 else (out.sample_codes[c], out.sample_weights[c])
    if not len(codes) or not len(gone):
        return codes, weights
    at = gone.searchsorted(codes)
    at[at == len(gone)] = 0
    left = weights - np.where(gone[at] == codes, gone_weights[at], 0)
    if left.min() < 0:
        raise ValueError("no larger weights of removed codes than of all codes")
    return codes[left > 0], left[left > 0]
