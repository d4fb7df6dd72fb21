"""From the score columns of all classes to metrics: one class against the rest, means over classes, pairs of classes.

Each measure of one column (`areas`, `curves`, `average_precision`, `calibration`) becomes a value for each class, or a
mean over them. A column is read once per snapshot, an area once. Classes for which a measure is undefined are left out
of a mean, also where 0/0 is replaced by a number elsewhere.

A class that never has a score has the score 0 throughout. Not so where two classes occur and only `pos_label` has
scores: then the scores were single numbers, the question is a binary one, and it has one answer, that of `pos_label`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from stream_metrics.formulas.protocol import Floats, Numbers, memoized
from stream_metrics.labels import Label
from stream_metrics.labels.pos_label import is_binary, is_default
from stream_metrics.ranking import areas as ranks
from stream_metrics.ranking.protocol import ENDS, MIXED, OWN, REST, UNDEFINED, ZERO, Certified, Codes, RankColumn
from stream_metrics.ranking.steps import Pairs

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


Measure = Callable[..., Certified]
T = TypeVar("T")


class RankState(Protocol):
    """Columns of scores, one for each class."""

    @property
    def n(self) -> int:
        """The number of samples."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes that occur, as truth or with a score, in the order of report."""

    @property
    def paired(self) -> bool:
        """Whether any two classes can be compared."""

    @property
    def pos_label(self) -> Label:
        """The class whose score a single number is."""

    def column(self, label: Label, own: Label | None = None, rest: Label | None = None) -> RankColumn:
        """Return the scores of `label`, of the class `own` (default: `label`) against `rest` (default: all others)."""

    def _pairs_against(
        self, label: Label, rests: Sequence[Label]
    ) -> Sequence[tuple[int, int, int, float, float] | None]:
        """Return for each of `rests` what `areas.area_of` takes, or None where the column must be read."""


@memoized
def classes(r: RankState) -> tuple[Label, ...]:
    """Return the classes that a measure of one class has a value for, in the order of report."""
    labels = r.labels
    if len(labels) != 2 or r.pos_label not in labels:
        return labels
    other = labels[1 - labels.index(r.pos_label)]
    return labels if len(r.column(other).cells) else (labels[labels.index(r.pos_label)],)


def asked_class(r: RankState) -> Label | None:
    """Return the class that a question without a label is about; None if none was chosen, and they are not 0 and 1."""
    return r.pos_label if not is_default(r.pos_label) or all(map(is_binary, r.labels)) else None


@memoized
def columns(r: RankState) -> list[RankColumn]:
    """Return the column of each of the classes against the rest."""
    return [r.column(label) for label in classes(r)]


@memoized
def only_column(r: RankState) -> RankColumn:
    """Return the one column of a state that has a single question, that of its `pos_label`."""
    return r.column(r.pos_label)


@memoized
def pooled_column(r: RankState) -> RankColumn:
    """Return all scores of all classes as one column, against one threshold (micro average)."""
    return pool(columns(r))


def each(measure: Measure) -> Callable[..., list[Certified]]:
    """Return the measure of every class against the rest, in the order of report; `.measure` is that of one column."""

    def formula(r: RankState, **options: object) -> list[Certified]:
        return [measure(column, **options) for column in columns(r)]

    return _like(measure, formula)


def of_column(column_of: Callable[[RankState], RankColumn], measure: Measure) -> Callable[..., Certified]:
    """Return the measure of one column of a state: `only_column` or `pooled_column`."""

    def formula(r: RankState, **options: object) -> Certified:
        return measure(column_of(r), **options)

    return _like(measure, formula)


only = partial(of_column, only_column)
pooled = partial(of_column, pooled_column)


def over_classes(measure: Measure, *, by_support: bool = False) -> Callable[..., Certified]:
    """Return the mean of a measure over the classes where it is defined, plain or weighted by their true samples."""

    def formula(r: RankState, **options: object) -> Certified:
        each_column = columns(r)
        values = [measure(column, **options) for column in each_column]
        if not by_support:
            return ranks.mean(values)
        units = max((column.units for column in each_column), default=1)
        supports = [int(column.totals[OWN]) * (units // column.units) for column in each_column]
        slack = max((column.slack for column in each_column), default=0.0)
        return ranks.mean(values, supports, slack * units / max(sum(supports), 1))

    return _like(measure, formula)


def _like(measure: Measure, formula: Callable[..., T]) -> Callable[..., T]:
    """Give a formula the docstring and the keyword-only options of the measure of one column, which is `.measure`."""
    parameters = inspect.signature(measure).parameters.values()
    first = inspect.Parameter("r", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    formula.__signature__ = inspect.Signature([first, *(p for p in parameters if p.kind is p.KEYWORD_ONLY)])  # type: ignore[attr-defined]
    formula.__doc__, formula.measure = measure.__doc__, measure  # type: ignore[attr-defined]
    return formula


@memoized
def directed_areas(r: RankState) -> list[list[Certified]]:
    """A(i|j) for every pair of classes: own i, rest j, the score of class i; the diagonal is undefined.

    Undefined: one of the two does not occur, or the state has no pairs. Source: Hand and Till 2001; Doering 2018.
    """
    labels, measured = r.labels, classes(r) if r.paired else ()
    rows = [_areas_of(r, a, [b for b in labels if b != a]) if a in measured else [] for a in labels]
    for at, row in enumerate(rows):
        row[at:at] = [UNDEFINED] * (len(labels) - len(row))
    return rows


def _areas_of(r: RankState, label: Label, others: Sequence[Label]) -> list[Certified]:
    """Return A(label|j) for other classes; a column is made only where pairs cannot be counted without."""
    counted = r._pairs_against(label, others)
    return [
        ranks.roc_auc(r.column(label, label, other)) if parts is None else ranks.area_of(Pairs(*parts[:3]), *parts[3:])
        for other, parts in zip(others, counted, strict=True)
    ]


def pair_areas(r: RankState) -> list[list[Certified]]:
    """ROC AUC of every pair of classes, the mean of both directions.

    A(i,j) = (A(i|j) + A(j|i)) / 2

    The diagonal is undefined.
    """
    return ranks.pair_areas(directed_areas(r))


def hand_till(r: RankState) -> Certified:
    """Mean ROC AUC over all pairs of classes that occur, Hand and Till's M.

    2 / (c (c - 1)) sum_{i<j} A(i,j) over the c classes that occur, with A(i,j) the mean of both directions

    It does not depend on how frequent the classes are.
    """
    return ranks.hand_till(directed_areas(r)) if r.paired else UNDEFINED


def single_score(r: RankState, *, direction: str = "up") -> Certified:
    """Mean ROC AUC over all pairs of classes of one score, that of `pos_label`.

    mean over the pairs i < j of the ROC AUC of one score

    With direction "auto" each pair is ordered by its medians, which is optimistic.
    """
    occurring = _occurring(r) if r.paired else ()
    pairs = [(a, b) for i, a in enumerate(occurring) for b in occurring[i + 1 :]]
    return ranks.single_score_auc([r.column(r.pos_label, b, a) for a, b in pairs], direction=direction)


def _occurring(r: RankState) -> Sequence[Label]:
    """Return the classes that are the truth of a sample."""
    return [label for label in r.labels if r.column(label).totals[OWN]]
