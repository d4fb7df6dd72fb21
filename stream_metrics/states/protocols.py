"""What containers, folds and readers call of an accumulator, whatever it counts.

`formulas.protocol.CountState`, `ranking.classes.RankState` and `formulas.losses.LossState` say what formulas read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

__all__ = ["Accumulator"]


class Accumulator(Protocol):
    """Counters that merge: a state, a metric, a set of metrics, a window, groups."""

    KIND: ClassVar[str]

    @property
    def n(self) -> int:
        """The number of samples, abstentions not included."""

    @property
    def update(self) -> Callable[..., None]:
        """Count one sample; which arguments a sample has depends on the class."""

    @property
    def update_many(self) -> Callable[..., None]:
        """Count a batch, or nothing of it."""

    @property
    def snapshot(self) -> Callable[..., Any]:
        """Return a frozen copy to be read."""

    def merge(self, other: Self) -> Self:
        """Add the counts of another accumulator, which stays as it is; return this one."""

    def copy(self) -> Self:
        """Return an independent copy."""

    def reset(self) -> None:
        """Forget every sample; the configuration stays."""

    def to_bytes(self) -> bytes:
        """Return configuration and counts as bytes."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the accumulator of bytes; DecodeError if they are of none, or of another kind."""
