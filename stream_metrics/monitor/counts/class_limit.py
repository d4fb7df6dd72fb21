"""At most so many classes: the first that come are counted apart, all others together as one.

**Which ones.** The same wherever counts are added up. A class is admitted before its first sample is counted, and for
good. The first one that does not fit closes the pool, also for good. So every class is either counted apart in all
partitions or folded in all of them, and the counts are those of one worker that had known the classes from the start.
That needs one place that decides: a `Registry`, such as the store that workers share. A pool asks it only for classes
that it does not know yet, and not at all once it is full.

Rejected: to let each worker decide and to fold what is too much when counts are merged, such as all but the classes of
the smallest hashes; and to admit classes with the checkpoint that has them. Scores that were counted apart cannot be
folded afterwards, since the sum of two scores of a sample is no longer known.

**Folding.** The cost of a state, a checkpoint and a view grows with the classes. A field that holds ids instead of
classes would stop all of them, so what comes after `max_classes` classes is folded:

- a truth becomes OTHER;
- a prediction becomes OTHER if it is the truth, else ANOTHER where the truth is folded too, and OTHER where it is not.
  So a prediction is right if and only if it was right, and accuracy, samples and weights stay exact;
- scores of folded classes are one score of OTHER: their sum, or the largest if scores are no probabilities.

Which classes are counted apart is decided by a `ClassPool`, once and for all: what was folded cannot be taken apart
again. A class that is counted apart has all of its samples, since it is admitted before its first one is counted.
Partitions that were counted with different pools, such as those of two stores, may have folded different classes;
`partial` has the classes that only some of them folded.

A checkpoint has the classes only if samples were folded; else they are those of the total.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from stream_metrics.errors import DecodeError, LabelError
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.monitor.config import CountingTable
from stream_metrics.monitor.counts.batches import CountedRows

OTHER = "__other__"
ANOTHER = "__another__"


class Admitted(NamedTuple):
    """The classes admitted, in order, and whether one did not fit."""

    labels: tuple[Label, ...] = ()
    full: bool = False

    def plus(self, labels: Iterable[Label], most: int | None) -> Admitted:
        """Return what is admitted after these asked in this order; with `most` None all are."""
        admitted, full = dict.fromkeys(self.labels), self.full
        for label in labels:
            if label not in admitted:
                full = full or (most is not None and len(admitted) >= most)
                if most is None or not full:
                    admitted[label] = None
        return Admitted(tuple(admitted), full)


NONE = Admitted()


class Registry(Protocol):
    """The one place that admits classes."""

    def admit(self, labels: Sequence[Label], most: int | None) -> Admitted:
        """Admit classes as `Admitted.plus` does, for everybody, and return all that are admitted."""


def exempt_classes(config: CountingTable) -> frozenset[Label | None]:
    """Return the classes that are always counted apart, and what stands for no class or for folded ones."""
    return frozenset((config.pos_label, *config.labels, None, OTHER, ANOTHER))


class ClassPool:
    """The classes that all partitions of a process count apart: at most `max_classes` beside the `exempt` ones.

    `admitted` are those so far. Without a `registry` the process decides alone. Fixed classes (`labels`) have no limit.
    """

    def __init__(self, config: CountingTable, registry: Registry | None = None, admitted: Admitted = NONE) -> None:
        if config.max_classes < 1:
            raise ValueError(f"Expected `max_classes` to be above 0, but got {config.max_classes}")
        self.most, self.fixed, self.exempt = config.max_classes, bool(config.labels), exempt_classes(config)
        self._registry = registry
        self._note(admitted)

    def _note(self, admitted: Admitted) -> None:
        self.admitted, self.labels = admitted, frozenset(admitted.labels)

    def take(self, labels: Iterable[Label]) -> None:
        """Admit new classes in this order, as far as they fit."""
        self._admit([label for label in labels if label not in self.labels], self.most)

    def take_all(self, labels: Collection[Label], full: bool) -> None:
        """Admit classes that were counted apart before, however many; `full` if others were folded."""
        self._admit([label for label in labels if label not in self.labels], None)
        self._note(self.admitted._replace(full=self.admitted.full or full))

    def _admit(self, labels: Sequence[Label], most: int | None) -> None:
        full = self.admitted.full
        if labels and not (full and most is not None):
            registry = self._registry
            after = self.admitted.plus(labels, most) if registry is None else registry.admit(labels, most)
            self._note(after._replace(full=after.full or full))


class ClassLimit:
    """The classes that one partition counts apart, or those of several that were merged.

    `full` says that samples were folded, so that no other class can be counted apart. With `probabilities` folded
    scores are added.
    """

    def __init__(self, pool: ClassPool, *, probabilities: bool = True) -> None:
        self.pool, self.probabilities = pool, probabilities
        self.labels: set[Label | None] = set(pool.exempt)
        self.full = False
        self.partial: frozenset[Label | None] = frozenset()

    def fold(self, batches: Sequence[CountedRows]) -> list[CountedRows]:
        """Return rows with the classes that they are counted as; new classes are added in the order of rows."""
        if self.pool.fixed:
            return list(batches)
        if not all(map(self._known, batches)) and not self.full:
            new = sorted((classes for rows in batches for classes in self._new(rows)), key=itemgetter(0, 1))
            self._admit([label for _, _, labels in new for label in labels if not self._is_known(label)])
        return [rows if self._known(rows) else self._folded(rows) for rows in batches]

    def _known(self, rows: CountedRows) -> bool:
        """Tell whether all classes of rows are counted apart."""
        try:
            labels_known = self.labels.issuperset(rows.truths) and self.labels.issuperset(rows.labels)
        except TypeError:  # a value that is no label, which the state refuses
            labels_known = all(map(self._is_known, (*rows.truths, *rows.labels)))
        return labels_known and all(map(self.labels.issuperset, _classes(rows)))

    def _is_known(self, label: Any) -> bool:
        return not _is_label(label) or label in self.labels

    def _new(self, rows: CountedRows) -> Iterator[tuple[int, int, Iterable[Any]]]:
        """Yield the place of rows with new classes, 0 for truth and prediction or 1 for scores, and the classes."""
        for place, truth, label in zip(rows.places, rows.truths, rows.labels, strict=True):
            if not (self._is_known(truth) and self._is_known(label)):
                yield place, 0, (truth, label)
        for place, classes in zip(rows.places, _classes(rows), strict=False):
            if not self.labels.issuperset(classes):
                unordered = list(classes)  # as the columns of a table are
                yield place, 1, [unordered[at] for at in ordering(unordered)]

    def _admit(self, labels: Sequence[Label]) -> None:
        self.pool.take(labels)
        self.full = not self.pool.labels.issuperset(labels)
        self.labels |= self.pool.labels if self.full else set(labels)

    def _folded(self, rows: CountedRows) -> CountedRows:
        truths, labels = list(rows.truths), list(rows.labels)
        for at, (truth, label) in enumerate(zip(rows.truths, rows.labels, strict=True)):
            unknown = not self._is_known(truth)
            if unknown:
                truths[at] = OTHER
            if not self._is_known(label):
                labels[at] = ANOTHER if unknown and label != truth else OTHER
        folded = rows._replace(truths=truths, labels=labels)
        if rows.classes is not None and not self.labels.issuperset(rows.classes):
            assert isinstance(rows.scores, np.ndarray)
            apart = np.array([label in self.labels for label in rows.classes])
            rest = rows.scores[:, ~apart]
            together = rest.sum(axis=1).clip(max=1.0) if self.probabilities else rest.max(axis=1)
            scores = np.column_stack([rows.scores[:, apart], together])
            classes = tuple(label for label in rows.classes if label in self.labels)
            return folded._replace(scores=scores, classes=(*classes, OTHER))
        if rows.classes is None and isinstance(rows.scores, list):
            return folded._replace(scores=[self._folded_scores(scores) for scores in rows.scores])
        return folded

    def _folded_scores(self, scores: Mapping[Label, float]) -> Mapping[Label, float]:
        rest = [score for label, score in scores.items() if label not in self.labels]
        if not rest:
            return scores
        apart = {label: score for label, score in scores.items() if label in self.labels}
        return apart | {OTHER: min(sum(rest), 1.0) if self.probabilities else max(rest)}

    def merge(self, other: Self) -> Self:
        """Add the classes of another partition and return self."""
        self.partial |= other.partial
        self.partial |= other.labels - self.labels if self.full else frozenset()
        self.partial |= self.labels - other.labels if other.full else frozenset()
        self.labels |= other.labels
        self.full |= other.full
        return self

    def copy(self) -> Self:
        """Return an independent copy, of the same pool."""
        twin = type(self)(self.pool, probabilities=self.probabilities)
        twin.labels, twin.full, twin.partial = set(self.labels), self.full, self.partial
        return twin

    def content(self) -> list[Label] | None:
        """Return the classes as plain data; None if nothing was folded."""
        return _ordered(self.labels - self.pool.exempt) if self.full else None

    def fill(self, content: Any, counted: Iterable[Label]) -> None:
        """Take over what `content` returned, or the classes that are counted; DecodeError if it is no such content."""
        try:
            labels = {label for label in (counted if content is None else content) if label not in self.pool.exempt}
        except TypeError as error:
            raise DecodeError(f"Expected classes as they are written, but: {error}") from None
        self.full, self.labels = content is not None, {*labels, *self.pool.exempt}
        self.pool.take_all(_ordered(labels), self.full)


def _ordered(labels: Iterable[Label | None]) -> list[Label]:
    known = [label for label in labels if label is not None]
    return [known[at] for at in ordering(known)]


def _is_label(label: Any) -> bool:
    """Tell whether a value is a label: others are refused by the state, and must not be folded into a class."""
    try:
        canonical(label)
        hash(label)
    except (LabelError, TypeError):
        return False
    return True


def _classes(rows: CountedRows) -> Sequence[Iterable[Any]]:
    """Return the classes of the scores: once for all rows of a table, or for each row of mappings."""
    if rows.classes is not None:
        return [rows.classes]
    return rows.scores if isinstance(rows.scores, list) else []
