"""What has to be told and was not yet: kept with the checkpoint until it is delivered or given up.

A change is delivered only once a checkpoint holds it, and forgotten by the first checkpoint after its delivery. So a
crash loses none, and one between the two has it delivered again, with the same id: at least once, and a receiver that
wants it exactly once keeps the ids that came. If a checkpoint fails, changes are delivered all the same: an alert about
a full disk must not wait for the disk. A crash before the next checkpoint then sends it again, under another id.

The changes of one rule are delivered in order. One that is refused is tried again later, and does not keep those of
other rules waiting. What is given up in the end is a dead letter, which views show for a day.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from stream_metrics.monitor.alerts.engine import Change
from stream_metrics.monitor.view.types import Undelivered

__all__ = ["MOST", "Outbox"]

LOG = logging.getLogger("stream_metrics.monitor")
MOST = 1000  # beyond, the oldest are given up
AGAIN = 0.1  # seconds until it is asked again who delivers
DEAD, SHOWN = 100, 86_400.0  # dead letters, and for how many seconds they are shown
SLOW, NO_ANSWER = 12.0, "no answer yet"  # seconds, more than a connection that says nothing is given
TOO_MANY = f"more than {MOST} alerts waited"


@dataclass
class _Item:
    change: Change
    number: int  # how many were added before
    tries: int = 0
    failed: float | None = None  # when it first failed, in seconds since 1970
    problem: str = ""
    due: float = 0.0  # of the monotonic clock
    handed: float | None = None  # since when it is being delivered, by the monotonic clock


class Outbox:
    """What one sink has to tell, in order; for several threads. `clock` returns seconds since 1970."""

    def __init__(self, name: str, clock: Callable[[], float] = time.time) -> None:
        self.name, self._clock = name, clock
        self._items: list[_Item] = []
        self._dead: list[tuple[Change, int, str, float]] = []  # with tries, the problem, and when it was given up
        self._added = self._free = 0  # how many were added, and how many of these may be delivered
        self._changed = threading.Condition()
        self._closed = False
        self._told: deque[str] = deque(maxlen=MOST)  # ids of what this process delivered
        self.may: Callable[[], bool] = lambda: True  # whether this process is the one that delivers

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)

    def add(self, changes: Iterable[Change]) -> None:
        """Put changes at the end; they wait for `release`."""
        with self._changed:
            for change in changes:
                self._items.append(_Item(change, self._added))
                self._added += 1
            lost = self._items[: max(len(self._items) - MOST, 0)]
            for item in lost:
                self._bury(item, item.problem or TOO_MANY)
        if lost:
            LOG.error("%d alerts were never told by %s: more than %d wait", len(lost), self.name, MOST)

    def mark(self) -> int:
        """Return what `release` takes for all that is there now."""
        with self._changed:
            return self._added

    def release(self, mark: int) -> None:
        """Let everything be delivered that was there at the mark."""
        with self._changed:
            self._free = max(mark, self._free)
            self._changed.notify_all()

    def first(self, timeout: float | None = 0.0) -> Change | None:
        """Return what is to be delivered next; None if there is nothing within `timeout` seconds, or it is closed."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                next_ones = self._next_ones()
                ready = next((item for item in next_ones if item.due <= now), None)
                may = ready is None or self.may()
                if ready is not None and may:
                    ready.handed = now if ready.handed is None else ready.handed
                    return ready.change
                if until is not None and now >= until:
                    return None
                ends = [item.due if may else now + AGAIN for item in next_ones] + ([] if until is None else [until])
                self._changed.wait(min(ends) - now if ends else None)
        return None

    def _next_ones(self) -> list[_Item]:
        """Return the first change of each rule among those that may be delivered."""
        rules: dict[str, _Item] = {}
        for item in self._items:
            if item.number < self._free:
                rules.setdefault(item.change.rule, item)
        return list(rules.values())

    def delivered(self, change: Change) -> None:
        """Forget a change."""
        with self._changed:
            self._told.append(change.id)
            self._items = [item for item in self._items if item.change != change]
            self._changed.notify_all()

    def failed(self, change: Change, problem: str, wait: Callable[[int], float], lasting: float) -> tuple[int, float]:
        """Note that a change was not delivered, and return how often that was so, and when to try again.

        `wait` returns for how many seconds to wait after so many failures; after `lasting` seconds of them the change
        is given up, and the time to wait is 0.
        """
        with self._changed:
            item = next((item for item in self._items if item.change == change), None)
            if item is None:
                return 0, 0.0
            now = self._clock()
            item.tries, item.problem, item.handed = item.tries + 1, problem, None
            item.failed = now if item.failed is None else min(item.failed, now)
            seconds = wait(item.tries)
            if now - item.failed + seconds > lasting:
                self._bury(item, problem)
                self._changed.notify_all()
                return item.tries, 0.0
            item.due = time.monotonic() + seconds
            self._changed.notify_all()
            return item.tries, seconds

    def _bury(self, item: _Item, problem: str) -> None:
        self._items.remove(item)
        self._dead = [*self._dead[-DEAD + 1 :], (item.change, item.tries, problem, self._clock())]

    def undelivered(self) -> list[Undelivered]:
        """Return what could not be delivered so far, and what was given up within a day."""
        with self._changed:
            since = self._clock() - SHOWN
            slow = time.monotonic() - SLOW
            waiting = [
                (item.change, item.tries, item.problem or NO_ANSWER, None)
                for item in self._items
                if item.tries or (item.handed is not None and item.handed < slow)
            ]
            dead = [each for each in self._dead if each[3] >= since]
            return [
                Undelivered(self.name, change.rule, change.state, change.at, tries, problem, given_up)
                for change, tries, problem, given_up in (*dead, *waiting)
            ]

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond `close`."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)

    def drained(self, timeout: float) -> bool:
        """Wait until everything that may be delivered has been; False if it has not within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or not self._next_ones(), timeout)

    def tried(self, timeout: float) -> bool:
        """Wait until nothing that may be delivered is still to be tried; False if not within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._closed or all(item.tries for item in self._next_ones()), timeout
            )

    def close(self) -> None:
        """Wake all waiting threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def state(self) -> dict[str, list[list[object]]]:
        """Return what was not delivered, as plain data."""
        with self._changed:
            since = self._clock() - SHOWN
            waiting: list[list[object]] = [
                [*each.change, each.tries, each.failed, each.problem] for each in self._items
            ]
            return {"waiting": waiting, "dead": [[*each[0], *each[1:]] for each in self._dead if each[3] >= since]}

    def restore(self, data: Any) -> None:
        """Have what `state` returned, to be delivered, but what this process delivered already.

        ValueError if it is no such data.
        """
        try:
            waiting, dead = (data["waiting"], data["dead"]) if isinstance(data, dict) else (data, ())
            items = [(_change(row[:7]), *_attempts(*row[7:])) for row in waiting]
            buried = [(_change(row[:7]), int(row[7]), str(row[8]), float(row[9])) for row in dead]
        except (IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"Expected what `state` returned, but got other data: {error}") from None
        with self._changed:
            self._items.clear()
            self._dead = buried
            items = [item for item in items if item[0].id not in self._told]
        self.add(change for change, *_ in items)
        with self._changed:
            restored = self._items[len(self._items) - min(len(items), MOST) :]
            for item, (_, tries, failed, problem) in zip(restored, items[-MOST:], strict=True):
                item.tries, item.failed, item.problem = tries, failed, problem
        self.release(self.mark())


def _change(row: Any) -> Change:
    name, title, rule, state, at, since, value = row
    return Change(str(name), str(title), str(rule), str(state), float(at), float(since), float(value))


def _attempts(tries: Any = 0, failed: Any = None, problem: Any = "") -> tuple[int, float | None, str]:
    return int(tries), None if failed is None else float(failed), str(problem)
