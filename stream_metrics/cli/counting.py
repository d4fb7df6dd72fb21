"""Rows to counts, in chunks.

A chunk goes to ``update_many``, many times faster than one call per row. It rejects the whole chunk if one row is
bad; then the chunk is counted row by row, which names the bad row.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import stream_metrics as sm
from stream_metrics.cli.interrupts import interrupts_held
from stream_metrics.cli.problems import Problem
from stream_metrics.cli.reading import Fields, Row
from stream_metrics.cli.scores import sample, table
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
        self._timed = fields.time is not None
        self._grouped = fields.group is not None
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
        truths, weights = [row[0] for row in rows], [row[2] for row in rows] if self._weighted else None
        predictions = [row[1] for row in rows] if self._predicted else None
        scores, classes = table([row[3] for row in rows]) if self._scored else (None, None)
        options: dict[str, Any] = {"scores": scores, "classes": classes} if self._scored else {}
        if self._timed:
            options["t"] = np.array([row[5] for row in rows], "datetime64[ns]")
        if self._grouped:
            options["group"] = [row[6] for row in rows]
        try:
            self.state.update_many(truths, predictions, weights, **options)
            self.counted += len(rows)
        except sm.StreamMetricsError:
            for row in rows:
                self._count_one(row)

    def _count_one(self, row: Row) -> None:
        truth, prediction, weight, scores, line, at, group = row
        options: dict[str, Any] = {"scores": sample(scores)} if self._scored else {}
        if self._timed:
            options["t"] = np.datetime64(at, "ns")
        if self._grouped:
            options["group"] = group
        try:
            self.state.update(truth, prediction, weight, **options)
            self.counted += 1
        except sm.StreamMetricsError as error:
            reason = str(error)
            if "to be probabilities" in reason and re.search(r"got -?\d", reason):
                reason += "; --margins keeps scores that are no probabilities"
            self.skipped.add(self._source, line, reason)
