"""The share of recent records that were rejected.

A share since the start would hide an hour in which every record is rejected, once a model has run for months.
"""

from __future__ import annotations

from collections import deque

__all__ = ["RecentRejects"]

SPAN = 300.0  # seconds
LEAST = 1000  # records; if these took longer than the span, it is extended to them
FEWEST = 100  # least denominator, so that one bad record of three is no alarm


class RecentRejects:
    """What was rejected in the last 5 minutes, or of the last 1,000 records if these came in a longer time."""

    def __init__(self) -> None:
        self._read = self._rejected = 0
        self._marks: deque[tuple[float, int, int]] = deque()  # a time, and the records read and rejected before it

    def note(self, now: float, read: int, rejected: int) -> None:
        """Add records of which some were rejected; `now` is in seconds."""
        if not self._marks or now - self._marks[-1][0] >= 1.0:
            self._marks.append((now, self._read, self._rejected))
        self._read += read
        self._rejected += rejected

    def share(self, now: float) -> float | None:
        """Return the share of recent records that were rejected, of 100 at least; None before there is a record."""
        marks = self._marks
        while len(marks) > 1 and marks[1][0] <= now - SPAN and self._read - marks[1][1] >= LEAST:
            marks.popleft()
        if not marks:
            return None
        _, read, rejected = marks[0]
        return (self._rejected - rejected) / max(self._read - read, FEWEST)
