"""Count rows in chunks, and tables in batches.

A chunk goes to ``update_many``, many times faster than one call per row. It rejects the whole chunk if one row is
bad; then the chunk is counted row by row, which names the bad row. A batch that is rejected is counted in such chunks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any, Protocol, TypeAlias

import numpy as np

import stream_metrics as sm
from stream_metrics.cli.errors import CliError, FileError
from stream_metrics.cli.interrupts import defer_interrupts
from stream_metrics.cli.reading import Row, RowKeys
from stream_metrics.cli.scores import sample, table
from stream_metrics.cli.sources import BadRecord, InputFile, Piece
from stream_metrics.errors import quantity
from stream_metrics.report.layout import number
from stream_metrics.states.protocols import Accumulator

__all__ = ["CountableRows", "Counter", "SHOWN", "Skipped", "StopCounting", "Tick"]

CHUNK = 8192
SHOWN = 5

Tick: TypeAlias = "Callable[[], None] | None"


class StopCounting(Exception):
    """The rest of a piece is not wanted, since the run ends."""


class Skipped:
    """The bad records: how many, and the first few with their reasons; unless ``allowed``, the first ends the run.

    ``files`` are the files that could not be read, with the reasons; unless ``files_allowed``, the first ends the run.
    ``place`` is what a number counts: lines or rows.
    """

    def __init__(self, allowed: bool, place: str = "line", files_allowed: bool = False) -> None:
        self.allowed, self.files_allowed = allowed, files_allowed
        self.place = place
        self.count = 0
        self.first: list[dict[str, str | int]] = []
        self.files: list[dict[str, str]] = []

    def empty(self) -> Skipped:
        """Return one that allows the same and has skipped nothing."""
        return Skipped(self.allowed, self.place, self.files_allowed)

    def extend(self, later: Skipped) -> None:
        """Add later skips."""
        self.count += later.count
        self.first = [*self.first, *later.first][:SHOWN]
        self.files += later.files

    def add_file(self, file: InputFile, error: FileError) -> None:
        """Note a file that cannot be read, or raise the error."""
        if not self.files_allowed:
            raise error
        self.files.append({"file": file.path, "reason": str(error).removeprefix(file.path).lstrip(":, ")})

    def to_dict(self) -> dict[str, object]:
        """Return the skipped records and files, for JSON; only kinds that the options let skip."""
        fields: dict[str, object] = {}
        if self.allowed:
            fields["skipped"] = {"count": self.count, "first": self.first}
        if self.files_allowed:
            fields["skipped_files"] = self.files
        return fields

    def add(self, source: str, line: int, reason: str) -> None:
        """Note a bad record, or raise ``CliError``."""
        if not self.allowed:
            raise CliError(f"{source}, {self.place} {line}: {reason}")
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append({"file": source, self.place: line, "reason": reason})

    def report(self) -> None:
        """Print to stderr what was skipped, if anything was."""
        if self.files:
            print(f"stream-metrics: skipped {quantity(len(self.files), 'bad file', ' ')}", file=sys.stderr)
        for bad in self.files:
            print(f"  {bad['file']}: {bad['reason']}", file=sys.stderr)
        if not self.count:
            return
        print(f"stream-metrics: skipped {number(self.count)} bad record{'s' * (self.count > 1)}", file=sys.stderr)
        for record in self.first:
            where = f"{record['file']}, {self.place} {record[self.place]}"
            print(f"  {where}: {record['reason']}", file=sys.stderr)
        if self.count > len(self.first):
            print(f"  and {number(self.count - len(self.first))} more", file=sys.stderr)


class CountableRows(Protocol):
    """Rows of a table, to be counted together or one by one."""

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def first(self) -> int:
        """The number of rows before them in the file."""

    def part(self, at: int, n: int) -> CountableRows:
        """Return `n` rows from row `at` on."""

    def counted_by(self, state: Accumulator) -> bool:
        """Count all rows together; False, and no change, if one of them is bad."""

    def rows(self, source: str, bad: BadRecord) -> Iterator[Row]:
        """Yield the rows one by one; call `bad` for those that cannot be read."""


class Counter:
    """Counts rows into ``state`` and calls ``report`` after every ``every`` records counted."""

    def __init__(
        self, state: Accumulator, fields: RowKeys, skipped: Skipped, every: int, report: Callable[[], None]
    ) -> None:
        self.state = state
        self.counted = 0
        self.waiting: list[Row] = []
        self.log: dict[InputFile, int | None] = {}  # the last record counted of each file, None for the last one
        self.position = 0  # of the last record that was counted or refused, in its file
        self._done = 0  # records of the file that were counted before
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
        if line <= self._done:
            return
        if len(self.skipped.first) < SHOWN:
            self.flush()
        self.skipped.add(source, line, reason)

    @contextmanager
    def part(self, piece: Piece) -> Iterator[None]:
        """Count the records of a piece, and log how far its file was counted, also if the run is interrupted.

        Nothing of a file that cannot be read is counted, if such files may be skipped.
        """
        skipped = self.skipped
        before = (self.state.copy(), self.counted, skipped.count, skipped.first[:]) if skipped.files_allowed else None
        self.position, self._done = piece.first, piece.file.done
        try:
            yield
            with defer_interrupts():
                self.log[piece.file] = piece.until
        except FileError as error:
            skipped.add_file(piece.file, error)
            if before is not None:
                self.waiting.clear()
                self.state, self.counted, skipped.count, skipped.first = before
        except (KeyboardInterrupt, StopCounting):
            try:
                self.flush()
            finally:
                self.log[piece.file] = self.position
            raise

    def feed(self, source: str, rows: Iterable[Row], tick: Tick = None) -> None:
        """Count all rows of one source but for those counted before; ``tick`` is called after each."""
        self._source = source
        for row in rows:
            if row[4] <= self._done:
                continue
            self.waiting.append(row)
            if len(self.waiting) >= self._chunk:
                self.flush()
            if tick is not None:
                tick()
        self.flush()

    def feed_batches(self, source: str, batches: Iterable[CountableRows], tick: Tick = None) -> None:
        """Count all batches of one source but for rows counted before; ``tick`` is called after each."""
        self._source = source
        for batch in batches:
            at = max(self._done - batch.first, 0)
            while at < batch.n:
                part = batch.part(at, min(batch.n - at, self._left() or batch.n))
                self._count_batch(part)
                at += part.n
            if tick is not None:
                tick()

    def _count_batch(self, batch: CountableRows) -> None:
        with defer_interrupts():
            whole = batch.counted_by(self.state)
            if whole:
                self.counted += batch.n
                self.position = batch.first + batch.n
        self._chunk = self._next_chunk()
        if not whole:
            self.feed(self._source, batch.rows(self._source, self.refuse))
        elif self._every and self.counted % self._every == 0:
            self._report()

    def flush(self) -> None:
        """Count the rows that wait."""
        before = self.counted
        with defer_interrupts():
            if self.waiting:
                self._count(self.waiting)
                self.position = self.waiting[-1][4]
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
