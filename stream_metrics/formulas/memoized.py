"""Counts that no longer change, and what several formulas have in common.

A report evaluates a hundred formulas on the same counts. Most of that time would go into reading the same totals, cells
and pairs again, so `MemoizedCounts` stores each answer. A formula stays a pure function of counts: it calls a
`memoized` function, which looks the answer up if it is given `MemoizedCounts` and computes it otherwise. Nothing is
stored outside that object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from stream_metrics.formulas.protocol import Integers, Numbers

C = TypeVar("C")
T = TypeVar("T")


class MemoizedCounts:
    """A view of a state that reads every attribute at most once; the state must not change while the view is used."""

    def __init__(self, counts: Any) -> None:
        self._counts = counts
        self.memo: dict[object, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_counts":
            raise AttributeError(name)
        value = getattr(self._counts, name)
        self.__dict__[name] = value
        return value

    def cells(self) -> tuple[Integers, Integers, Numbers]:
        """Return the non-zero cells; see `Counts.cells`."""
        cells: tuple[Integers, Integers, Numbers] = self._counts.cells()
        self.__dict__["cells"] = lambda: cells
        return cells


def memo_of(counts: object) -> dict[object, Any]:
    """Return the dictionary in which results for these counts are stored; a new one for counts that may change."""
    return counts.memo if type(counts) is MemoizedCounts else {}


def memoized(compute: Callable[[C], T]) -> Callable[[C], T]:
    """Compute a function of counts once per `MemoizedCounts`."""

    def read(c: C) -> T:
        if type(c) is not MemoizedCounts:
            return compute(c)
        memo: dict[object, T] = c.memo  # type: ignore[attr-defined]
        if compute not in memo:
            memo[compute] = compute(c)
        return memo[compute]

    read.__doc__ = compute.__doc__
    return read
