"""A bounded number of label values, which Prometheus needs.

Names become label values first come, first served, and keep their place, so that series do not come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stream_metrics.monitor.view.types import Number

__all__ = ["LabelBudget", "OTHER", "label_text"]

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
