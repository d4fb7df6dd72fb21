"""The laws of an accumulator hold for counts of pairs, rejected pairs included."""

from __future__ import annotations

from typing import Any

import pytest
from support.pair_streams import SOFT, pairs, placed

from stream_metrics import testing
from stream_metrics.monitor.counts.counting import Counts, Pair


class Fed:
    """Counts with the interface of an accumulator, for the kit of laws."""

    def __init__(self, counts: Counts | None = None) -> None:
        self.counts = Counts(SOFT) if counts is None else counts

    def update(self, *sample: Any) -> None:
        """Count one pair, if it can be counted."""
        self.update_many(*([value] for value in sample))

    def update_many(self, *columns: list[Any]) -> None:
        """Count pairs, if they can be counted."""
        drawn = placed([Pair(*row) for row in zip(*columns, strict=True)])
        rejected = {item.offset for item in self.counts.add(drawn)}
        self.counts.predictions([p.predicted_at for p in drawn if p.origin[2] not in rejected])

    def merge(self, other: Fed) -> Fed:
        """Merge."""
        self.counts.merge(other.counts)
        return self

    def copy(self) -> Fed:
        """Copy."""
        return Fed(self.counts.copy())

    def to_bytes(self) -> bytes:
        """Write."""
        return self.counts.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Fed:
        """Read."""
        return cls(Counts.from_bytes(SOFT, data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fed) and self.to_bytes() == other.to_bytes()

    def __deepcopy__(self, memo: Any) -> Fed:
        return self.copy()

    def __reduce__(self) -> Any:
        return Fed.from_bytes, (self.to_bytes(),)


LAWS = [law for law in testing.LAWS if law.__name__ not in ("copies_are_independent", "revert_undoes", "reset_forgets")]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_counts_obey_the_laws(law: testing.Law) -> None:
    """Counts are an accumulator like every other, pairs that are refused included."""
    law(Fed, pairs(good=False))
