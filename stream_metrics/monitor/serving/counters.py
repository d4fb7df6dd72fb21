"""Counters that never fall, and a bounded number of label values, both of which Prometheus needs.

Prometheus takes a counter that falls for one that was reset, and adds all of it once more. Counts of the total fall
when a label is corrected, and when a partition goes to another worker. So a counter shows the highest count so far.
When the partitions change it goes on from its value, since the counts of a new partition were shown by its earlier
owner, and those of a lost one were shown here. After a restart counts go on from the checkpoint.

Names become label values first come, first served, and keep their place, so that series do not come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stream_metrics.monitor.view_types import Number

__all__ = ["Counters", "LabelBudget", "OTHER", "label_text"]

OTHER = "__other__"  # the name of all that have no series of their own


def label_text(name: str) -> str:
    """Return a name as a label value may be: without lone surrogates, which are no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


class LabelBudget:
    """The first names that came, at most `most` of them, and what they are called."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.names: dict[str, str] = {}
        self._used = {OTHER}

    def take(self, names: Iterable[str]) -> None:
        """Choose names up to the limit; one that would be shown like another is never chosen."""
        for name in names:
            text = label_text(name)
            if len(self.names) < self.most and name not in self.names and text not in self._used:
                self.names[name] = text
                self._used.add(text)

    def shared(self, numbers: Mapping[str, Number], rest: Number = 0) -> dict[str, Number]:
        """Return the numbers of those that are chosen, and of all others together with `rest`, if there are any."""
        shown = {text: numbers[name] for name, text in self.names.items() if name in numbers}
        others = [number for name, number in numbers.items() if name not in self.names]
        return shown | {OTHER: sum(others, rest)} if others or rest else shown


@dataclass
class _Counter:
    shown: Number = 0
    offset: Number = 0


class Counters:
    """Counters by key, each the highest that it was."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, ...], _Counter] = {}
        self._partitions: frozenset[int] = frozenset()

    def note(self, counts: Mapping[tuple[str, ...], Number], partitions: frozenset[int]) -> None:
        """Take the counts of a moment, and of which partitions they are."""
        moved = partitions != self._partitions and any(counter.shown for counter in self._counters.values())
        self._partitions = partitions
        for key in counts:
            self._counters.setdefault(key, _Counter())
        if moved:
            for key, counter in self._counters.items():
                counter.offset = counter.shown - counts.get(key, 0)
        for key, count in counts.items():
            counter = self._counters[key]
            counter.shown = max(counter.shown, count + counter.offset)

    def of(self, family: str) -> list[tuple[tuple[str, ...], Number]]:
        """Return the counters whose key starts with `family`: the rest of the key, and the count."""
        return [(key[1:], counter.shown) for key, counter in self._counters.items() if key[0] == family]
