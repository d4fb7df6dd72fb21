"""Count records of lines in chunks, and tables in batches, and note the bad ones."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import stream_metrics as sm
from stream_metrics.cli.errors import CliError, FileError
from stream_metrics.cli.interrupts import defer_interrupts
from stream_metrics.cli.reading import Row, RowKeys
from stream_metrics.cli.scores import table
from stream_metrics.cli.sources import InputFile, Piece
from stream_metrics.errors import quantity
from stream_metrics.report.layout import number
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.counting import START, Place, count_columns

if TYPE_CHECKING:
    from stream_metrics.cli.table_rows import RowBatch


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
            if self._done and row[4] <= self._done:
                continue
            self.waiting.append(row)
            if len(self.waiting) >= self._chunk:
                self.flush()
            if tick is not None:
                tick()
        self.flush()

    def feed_batches(self, source: str, batches: Iterable[RowBatch], tick: Tick = None) -> None:
        """Count all batches of one source but for rows counted before; ``tick`` is called after each."""
        self._source = source
        for batch in batches:
            at = max(self._done - batch.first, 0)
            while at < batch.n:
                part = batch.part(at, min(batch.n - at, self._left() or batch.n))
                self._count(part.columns(), part.n, partial(operator.add, part.first + 1))
                at += part.n
            if tick is not None:
                tick()

    def flush(self) -> None:
        """Count the rows that wait."""
        if self.waiting:
            rows = self.waiting
            self._count(self._columns(rows), len(rows), lambda at: rows[at][4])

    def _next_chunk(self) -> int:
        return min(CHUNK, self._left() or CHUNK)

    def _left(self) -> int:
        """Return how many records may be counted before the next report; 0 if there is none."""
        return self._every - self.counted % self._every if self._every else 0

    def _columns(self, rows: list[Row]) -> dict[str, Any]:
        """Return rows as arguments of `update_many`."""
        fields = self._fields
        columns: dict[str, Any] = {"y_true": [row[0] for row in rows]}
        if fields.prediction is not None:
            columns["y_pred"] = [row[1] for row in rows]
        if fields.weight is not None:
            columns["w"] = [row[2] for row in rows]
        if fields.scores is not None:
            columns["scores"], columns["classes"] = table([row[3] for row in rows])
        if fields.time is not None:
            columns["t"] = np.array([row[5] for row in rows], "datetime64[ns]")
        if fields.group is not None:
            columns["group"] = [row[6] for row in rows]
        return columns

    def _count(self, columns: dict[str, Any], n: int, number_of: Callable[[int], int]) -> None:
        """Count n records but for those that the state refuses, and report; `number_of` is that in the file."""
        refused: list[tuple[int, Exception]] = []

        def refuse(error: Exception, place: Place, rows: Sequence[int]) -> None:
            refused.extend((number_of(row), error) for row in rows)

        with defer_interrupts():
            try:
                count_columns(self.state, columns, START, refuse)
            except ValueError as error:
                raise CliError(f"{self._source}, {self.skipped.place} {number_of(0)} and later: {error}") from None
            for line, problem in sorted(refused, key=operator.itemgetter(0)):
                self.skipped.add(self._source, line, _reason(problem, self._fields))
            self.counted += n - len(refused)
            self.position = number_of(n - 1)
            self.waiting.clear()
        self._chunk = self._next_chunk()
        if self._every and len(refused) < n and self.counted % self._every == 0:
            self._report()


def _reason(error: Exception, fields: RowKeys) -> str:
    """Return why a state refuses a record, with the names of its fields."""
    if not isinstance(error, sm.StreamMetricsError):
        return str(error)
    names = zip(
        ("y_true", "y_pred", "w", "scores", "t", "group"), (*fields[:4], fields.time, fields.group), strict=True
    )
    name = dict(names).get(error.argument or "")
    if name is not None and error._subject == f"`{error.argument}`":
        error = error.with_subject(f"field {name!r}")
    margin = isinstance(error, sm.ScoreError) and isinstance(error.got, float) and isfinite(error.got)
    text = str(error.with_position(None)).replace("pos_label=", "--pos-label")
    return f"{text}{'; --margins keeps scores that are no probabilities' if margin else ''}"
