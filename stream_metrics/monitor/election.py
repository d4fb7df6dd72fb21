"""Which of the workers that share a store evaluates the alerts, and the notes that only this one writes."""

from __future__ import annotations

import time

from stream_metrics.monitor.assignment import Assignment
from stream_metrics.monitor.notes import Notes
from stream_metrics.monitor.store.rows import Lease

__all__ = ["Election"]


class Election:
    """The election as one worker sees it; `lease` is the one under which it writes notes, None if it has none."""

    def __init__(self, assignment: Assignment, notes: Notes) -> None:
        self.lease: Lease | None = None
        self._assignment, self._notes = assignment, notes

    def leads(self) -> bool:
        """Tell whether this worker evaluates alerts; one that was just elected first loads the state of alerts."""
        replicas = self._assignment.replicas
        if replicas is None:
            return True
        replicas.asked = time.monotonic()
        lease, notes = replicas.elected()
        if lease is not None and lease != self.lease:
            self._notes.take_over(notes)
        self.lease = lease
        return lease is not None

    def lose(self, lease: Lease | None) -> None:
        """Leave alerts to another worker, which was elected since this lease was given."""
        if self.lease == lease:
            self.lease = None
        if self._assignment.replicas is not None and lease is not None:
            self._assignment.replicas.lose(lease)

    def note(self, name: str) -> bytes | None:
        """Return a note as it was last read from the store, as bytes; None if there is none."""
        replicas = self._assignment.replicas
        return self._notes.get(name) if replicas is None else replicas.elected()[1].get(name)

    def merge_common(self) -> None:
        """Merge the notes that any worker may change."""
        if self._assignment.replicas is not None:
            self._notes.merge(self.note)
