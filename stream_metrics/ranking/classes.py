"""From the score columns of all classes to metrics: one class against the rest, means over classes, pairs of classes.

Each measure of one column (`areas`, `curves`, `average_precision`, `calibration`) becomes a value for each class, or a
mean over them. A column is read once per snapshot, an area once. Classes for which a measure is undefined are left out
of a mean, also where 0/0 is replaced by a number elsewhere.

A class that never has a score has the score 0 throughout. Not so where two classes occur and only `pos_label` has
scores: then the scores were single numbers, the question is a binary one, and it has one answer, that of `pos_label`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from stream_metrics.formulas.memoized import memoized
from stream_metrics.labels import Label
from stream_metrics.labels.pos_label import is_binary, is_default
from stream_metrics.ranking import areas as ranks
from stream_metrics.ranking.pool import pool
from stream_metrics.ranking.protocol import OWN, UNDEFINED, Certified, RankColumn
from stream_metrics.ranking.table import Pairs

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
