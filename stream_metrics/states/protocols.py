"""What containers, folds and readers call of an accumulator, whatever it counts.

`formulas.protocol.CountState`, `ranking.classes.RankState` and `formulas.losses.LossState` say what formulas read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

if TYPE_CHECKING:
    from stream_metrics.states.limits import Load

# Lets a state count the rows of a batch, in some order, from one place on and before another. After an error the state
# must be discarded.
CountRows: TypeAlias = Callable[[Any, int, int], None]


class Mergeable(Protocol):
    """What `stream_metrics.testing` checks: counters that merge, of this package or of a user."""

    @property
    def update(self) -> Callable[..., None]:
        """Count one sample; which arguments a sample has depends on the class."""

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


class Accumulator(Mergeable, Protocol):
    """What containers need: a state, a metric, a set of metrics, a window, groups."""

    KIND: ClassVar[str]

    @property
    def n(self) -> int:
        """The number of samples, abstentions not included."""

    @property
    def abstained(self) -> int:
        """The number of samples without a prediction."""

    @property
    def update_many(self) -> Callable[..., None]:
        """Count a batch, or nothing of it."""

    def _content(self) -> list[object]:
        """Return what an accumulator that contains this one writes of it."""

    @classmethod
    def _from_content(cls, content: object) -> Self:
        """Return the accumulator of a content."""

    def _merge_load(self) -> Load:
        """Return bounds of what a merge adds up."""
