"""Counts that no longer change, and what several formulas have in common.

A report reads a hundred formulas from the same counts. Most of their time would go into reading the same totals,
cells and pairs again, so a frozen view keeps each answer. A formula stays a pure function of counts: it calls a
`shared` function, which looks into the view if it is given one and computes otherwise. Nothing is kept outside the
view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

C = TypeVar("C")
T = TypeVar("T")


class FrozenCounts:
    """A view of a state that reads everything at most once; the state must not change while it is in use."""

    def __init__(self, counts: Any) -> None:
        self._counts = counts
        self.kept: dict[Callable[[Any], Any], Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._counts, name)
        self.__dict__[name] = value
        return value

    def cells(self) -> Any:
        """Return the non-zero cells, as `Counts.cells`."""
        cells = self._counts.cells()
        self.__dict__["cells"] = lambda: cells
        return cells


def shared(make: Callable[[C], T]) -> Callable[[C], T]:
    """Let a function of counts be computed once per `FrozenCounts`."""

    def read(c: C) -> T:
        if type(c) is not FrozenCounts:
            return make(c)
        kept: dict[Any, T] = c.kept  # type: ignore[attr-defined]
        if make not in kept:
            kept[make] = make(c)
        return kept[make]

    read.__doc__ = make.__doc__
    return read
