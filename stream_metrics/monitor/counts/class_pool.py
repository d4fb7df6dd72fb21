"""Which classes are counted apart: at most so many, and the same ones wherever counts are added up.

A class is admitted before its first sample is counted, and for good. The first one that does not fit closes the pool,
also for good. So every class is either counted apart in all partitions or folded in all of them, and the counts are
those of one worker that had known the classes from the start. That needs one place that decides: a `Registry`, such as
the store that workers share. A pool asks it only for classes that it does not know yet, and not at all once it is full.

Rejected: to let each worker decide and to fold what is too much when counts are merged, such as all but the classes of
the smallest hashes; and to admit classes with the checkpoint that has them. Scores that were counted apart cannot be
folded afterwards, since the sum of two scores of a sample is no longer known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from stream_metrics.labels import Label
from stream_metrics.monitor.config import CountingTable

__all__ = ["ANOTHER", "Admitted", "ClassPool", "OTHER", "Registry", "exempt_classes"]

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
