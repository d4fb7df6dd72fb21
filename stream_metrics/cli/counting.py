"""Rows to counts, in chunks.

A chunk goes to ``update_many``, many times faster than one call per row. It rejects the whole chunk if one row is
bad; then each half of the chunk is counted on its own, down to the bad row, which is thus named.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import stream_metrics as sm
from stream_metrics.cli.interrupts import interrupts_held
from stream_metrics.cli.problems import Problem
from stream_metrics.cli.reading import Fields, Row
from stream_metrics.cli.scores import table
from stream_metrics.report.layout import number

__all__ = ["Counter", "Skipped"]

CHUNK = 8192
SHOWN = 5


class Skipped:
    """The bad records: how many, the first few with their reasons; unless ``allowed``, the first one ends the run."""

    def __init__(self, allowed: bool) -> None:
        self.allowed = allowed
        self.count = 0
        self.first: list[dict[str, Any]] = []

    def add(self, source: str, line: int, reason: str) -> None:
        """Note a bad record, or raise ``Problem``."""
        if not self.allowed:
            raise Problem(f"{source}, line {line}: {reason}")
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append({"file": source, "line": line, "reason": reason})

    def report(self) -> None:
        """Say on stderr what was skipped, if anything was."""
        if not self.count:
            return
        print(f"stream-metrics: skipped {number(self.count)} bad record{'s' * (self.count > 1)}", file=sys.stderr)
        for bad in self.first:
            print(f"  {bad['file']}, line {bad['line']}: {bad['reason']}", file=sys.stderr)
        if self.count > len(self.first):
            print(f"  and {number(self.count - len(self.first))} more", file=sys.stderr)


class Counter:
    """Counts rows into ``state`` and calls ``report`` after every ``every`` records counted."""

    def __init__(self, state: Any, fields: Fields, skipped: Skipped, every: int, report: Callable[[], None]) -> None:
        self.state = state
        self.counted = 0
        self.waiting: list[Row] = []
        self._source = ""
        self._weighted = fields.weight is not None
        self._predicted = fields.prediction is not None
        self._scored = fields.scores is not None
        self.skipped = skipped
        self._every = every
        self._report = report
        self._room = self._next_room()

    @property
    def seen(self) -> int:
        """Records counted, and those that wait for their chunk."""
        return self.counted + len(self.waiting)

    def refuse(self, source: str, line: int, reason: str) -> None:
        """Note what is no row at all, after the rows before it, so that the first bad record is the one reported."""
        if len(self.skipped.first) < SHOWN:
            self.flush()
        self.skipped.add(source, line, reason)

    def feed(self, source: str, rows: Iterable[Row], tick: Callable[[], None] | None = None) -> None:
        """Count all rows of one source; ``tick`` is called after each."""
        self._source = source
        for row in rows:
            self.waiting.append(row)
            if len(self.waiting) >= self._room:
                self.flush()
            if tick is not None:
                tick()
        self.flush()

    def flush(self) -> None:
        """Count the rows that wait."""
        before = self.counted
        with interrupts_held():
            self._count(self.waiting)
            self.waiting.clear()
        self._room = self._next_room()
        if self._every and self.counted > before and self.counted % self._every == 0:
            self._report()

    def _next_room(self) -> int:
        return min(CHUNK, self._every - self.counted % self._every) if self._every else CHUNK

    def _count(self, rows: list[Row]) -> None:
        if not rows:
            return
        try:
            self._update(rows)
            self.counted += len(rows)
        except (sm.StreamMetricsError, OverflowError) as error:
            if len(rows) == 1:
                self.skipped.add(self._source, rows[0][-1], _reason(error))
                return
            half = len(rows) // 2
            self._count(rows[:half])
            self._count(rows[half:])

    def _update(self, rows: list[Row]) -> None:
        truths, weights = [row[0] for row in rows], [row[2] for row in rows] if self._weighted else None
        predictions = [row[1] for row in rows] if self._predicted else None
        if not self._scored:
            self.state.update_many(truths, predictions, weights)
            return
        scores, classes = table([row[3] for row in rows])
        self.state.update_many(truths, predictions, weights, scores=scores, classes=classes)


def _reason(error: Exception) -> str:
    """Return what is wrong with the only row of a batch."""
    reason = str(error).replace(" at position 0", "", 1)
    if "to be probabilities" in reason and re.search(r"got -?\d", reason):
        reason += "; --margins keeps scores that are no probabilities"
    return reason
