"""Count rows in chunks, and tables in batches.

A chunk goes to ``update_many``, many times faster than one call per row. It rejects the whole chunk if one row is
bad; then the chunk is counted row by row, which names the bad row. A batch that is rejected is counted in such chunks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Any, Protocol

import numpy as np

import stream_metrics as sm
from stream_metrics.cli.errors import CliError
from stream_metrics.cli.interrupts import defer_interrupts
from stream_metrics.cli.reading import Fields, Row
from stream_metrics.cli.scores import sample, table
from stream_metrics.cli.sources import BadRecord
from stream_metrics.report.layout import number
from stream_metrics.states.protocols import Accumulator

__all__ = ["Batch", "Counter", "SHOWN", "Skipped"]

CHUNK = 8192
SHOWN = 5


class Skipped:
    """The bad records: how many, and the first few with their reasons; unless ``allowed``, the first ends the run.

    ``place`` is what a number counts: lines or rows.
    """

    def __init__(self, allowed: bool, place: str = "line") -> None:
        self.allowed = allowed
        self.place = place
        self.count = 0
        self.first: list[dict[str, str | int]] = []

    def add(self, source: str, line: int, reason: str) -> None:
        """Note a bad record, or raise ``CliError``."""
        if not self.allowed:
            raise CliError(f"{source}, {self.place} {line}: {reason}")
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append({"file": source, self.place: line, "reason": reason})

    def report(self) -> None:
        """Print to stderr what was skipped, if anything was."""
        if not self.count:
            return
        print(f"stream-metrics: skipped {number(self.count)} bad record{'s' * (self.count > 1)}", file=sys.stderr)
        for bad in self.first:
            print(f"  {bad['file']}, {self.place} {bad[self.place]}: {bad['reason']}", file=sys.stderr)
        if self.count > len(self.first):
            print(f"  and {number(self.count - len(self.first))} more", file=sys.stderr)


class Batch(Protocol):
    """Rows of a table, to be counted together or one by one."""

    @property
    def n(self) -> int:
        """The number of rows."""

    def part(self, at: int, n: int) -> Batch:
        """Return `n` rows from row `at` on."""

    def counted_by(self, state: Accumulator) -> bool:
        """Count all rows together; False, and no change, if one of them is bad."""

    def rows(self, source: str, bad: BadRecord) -> Iterator[Row]:
        """Yield the rows one by one; call `bad` for those that cannot be read."""


class Counter:
    """Counts rows into ``state`` and calls ``report`` after every ``every`` records counted."""

    def __init__(
        self, state: Accumulator, fields: Fields, skipped: Skipped, every: int, report: Callable[[], None]
    ) -> None:
        self.state = state
        self.counted = 0
        self.passed = 0  # rows of tables that were counted or refused
        self.waiting: list[Row] = []
        self._source = ""
        self._fields = fields
        self.skipped = skipped
        self._every = every
        self._report = report
        self._chunk = self._next_chunk()

    @property
    def seen(self) -> int:
        """Records counted, and those that wait for their chunk."""
        return self.counted + len(self.waiting)

    def refuse(self, source: str, line: int, reason: str) -> None:
        """Note a record that cannot be read, after the rows before it, so that the first bad record is reported."""
        if len(self.skipped.first) < SHOWN:
            self.flush()
        self.skipped.add(source, line, reason)

    def feed(self, source: str, rows: Iterable[Row], tick: Callable[[], None] | None = None) -> None:
        """Count all rows of one source; ``tick`` is called after each."""
        self._source = source
        for row in rows:
            self.waiting.append(row)
            if len(self.waiting) >= self._chunk:
                self.flush()
            if tick is not None:
                tick()
        self.flush()

    def feed_batches(self, source: str, batches: Iterable[Batch], tick: Callable[[], None] | None = None) -> None:
        """Count all batches of one source; ``tick`` is called after each."""
        self._source = source
        for batch in batches:
            at = 0
            while at < batch.n:
                part = batch.part(at, min(batch.n - at, self._left() or batch.n))
                self._count_batch(part)
                at += part.n
                self.passed += part.n
            if tick is not None:
                tick()

    def _count_batch(self, batch: Batch) -> None:
        with defer_interrupts():
            whole = batch.counted_by(self.state)
            self.counted += batch.n if whole else 0
        self._chunk = self._next_chunk()
        if not whole:
            self.feed(self._source, batch.rows(self._source, self.refuse))
        elif self._every and self.counted % self._every == 0:
            self._report()

    def flush(self) -> None:
        """Count the rows that wait."""
        before = self.counted
        with defer_interrupts():
            self._count(self.waiting)
            self.waiting.clear()
        self._chunk = self._next_chunk()
        if self._every and self.counted > before and self.counted % self._every == 0:
            self._report()

    def _next_chunk(self) -> int:
        return min(CHUNK, self._left() or CHUNK)

    def _left(self) -> int:
        """Return how many records may be counted before the next report; 0 if there is none."""
        return self._every - self.counted % self._every if self._every else 0

    def _count(self, rows: list[Row]) -> None:
        if not rows:
            return
        fields = self._fields
        truths, weights = [row[0] for row in rows], [row[2] for row in rows] if fields.weight is not None else None
        predictions = [row[1] for row in rows] if fields.prediction is not None else None
        named: dict[str, Any] = {}
        if fields.scores is not None:
            named["scores"], named["classes"] = table([row[3] for row in rows])
        if fields.time is not None:
            named["t"] = np.array([row[5] for row in rows], "datetime64[ns]")
        if fields.group is not None:
            named["group"] = [row[6] for row in rows]
        try:
            self.state.update_many(truths, predictions, weights, **named)
            self.counted += len(rows)
        except sm.StreamMetricsError:
            for row in rows:
                self._count_one(row)

    def _count_one(self, row: Row) -> None:
        truth, prediction, weight, scores, line, at, group = row
        named: dict[str, Any] = {} if self._fields.scores is None else {"scores": sample(scores)}
        if self._fields.time is not None:
            named["t"] = np.datetime64(at, "ns")
        if self._fields.group is not None:
            named["group"] = group
        try:
            self.state.update(truth, prediction, weight, **named)
            self.counted += 1
        except sm.StreamMetricsError as error:
            margin = isinstance(error, sm.ScoreError) and isinstance(error.got, float) and isfinite(error.got)
            hint = "; --margins keeps scores that are no probabilities" if margin else ""
            self.skipped.add(self._source, line, f"{error}{hint}")
