"""Where rows come from, as far as it is known."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A file or a partition, None where that is unknown, and the number of its first row, None if rows have none."""

    file: str | None = None
    partition: int | None = None
    row: int | None = 0

    def at(self, position: int) -> Place:
        """Return the place that is some rows further."""
        return self if self.row is None else self._replace(row=self.row + position)

    @property
    def holder(self) -> str | None:
        """What holds the rows, in words; None if that is unknown."""
        partition = None if self.partition is None else f"partition {self.partition}"
        return " of ".join(name for name in (partition, self.file) if name is not None) or None


START = Place()  # the first row of whatever is counted
UNKNOWN = Place(row=None)  # of rows that have no number
