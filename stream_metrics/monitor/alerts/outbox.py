"""What has to be told and was not yet: kept with the checkpoint until it is delivered.

A change is delivered only once a checkpoint holds it, and forgotten by the first checkpoint after its delivery. So a
crash loses none, and one between the two has it delivered again, with the same id: at least once, and a receiver that
wants it exactly once keeps the ids that came. If a checkpoint fails, changes are delivered all the same: an alert about
a full disk must not wait for the disk. A crash before the next checkpoint then sends it again, under another id.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

from stream_metrics.monitor.alerts.engine import Change

__all__ = ["MOST", "Outbox"]

LOG = logging.getLogger("stream_metrics.monitor")
MOST = 1000  # beyond, the oldest are given up


class Outbox:
    """What one sink has to tell, in order; for several threads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._items: deque[Change] = deque()
        self._added = 0
        self._free = 0  # how many of the items may be delivered
        self._changed = threading.Condition()
        self._closed = False

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)

    def add(self, changes: Iterable[Change]) -> None:
        """Put changes at the end; they wait for `release`."""
        with self._changed:
            before = len(self._items)
            self._items.extend(changes)
            self._added += len(self._items) - before
            lost = max(len(self._items) - MOST, 0)
            for _ in range(lost):
                self._items.popleft()
            self._free = max(self._free - lost, 0)
        if lost:
            LOG.error("%d alerts were never told by %s: more than %d wait", lost, self.name, MOST)

    def mark(self) -> int:
        """Return what `release` takes for all that is there now."""
        with self._changed:
            return self._added

    def release(self, mark: int) -> None:
        """Let everything be delivered that was there at the mark."""
        with self._changed:
            self._free = max(len(self._items) - (self._added - mark), self._free)
            self._changed.notify_all()

    def first(self, timeout: float | None = 0.0) -> Change | None:
        """Return what is to be delivered next; None if there is nothing within `timeout` seconds, or it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._free > 0, timeout)
            return self._items[0] if self._free and not self._closed else None

    def delivered(self, change: Change) -> None:
        """Forget a change, if it is still the first."""
        with self._changed:
            if self._items and self._items[0] == change:
                self._items.popleft()
                self._free -= 1
                self._changed.notify_all()

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)

    def drained(self, timeout: float) -> bool:
        """Wait until everything that may be delivered has been; False if it has not within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self._free, timeout)

    def close(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def state(self) -> list[list[object]]:
        """Return what was not delivered, as plain data."""
        with self._changed:
            return [list(change) for change in self._items]

    def restore(self, data: Any) -> None:
        """Take over what `state` returned, to be delivered; ValueError if it is no such data."""
        try:
            changes = [_change(row) for row in data]
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected what `state` returned, but got other data: {error}") from None
        self.add(changes)
        self.release(self.mark())


def _change(row: Any) -> Change:
    name, title, rule, state, at, since, value = row
    return Change(str(name), str(title), str(rule), str(state), float(at), float(since), float(value))
