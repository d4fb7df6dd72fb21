"""One worker of ``run --jobs N``: it counts one piece after another into a state of its own.

A worker takes the next piece when it has finished the last one, so pieces of uneven cost balance. It starts from an
empty state with the configuration of the run and returns its state as bytes. Pieces are taken in order and numbered, so
bad records are reported in order and, of several errors that end the run, the first one is raised.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import stream_metrics as sm
from stream_metrics.cli.counting import CountedPart, Counter, Skipped, StopCounting
from stream_metrics.cli.errors import CliError
from stream_metrics.cli.plans import Piece
from stream_metrics.cli.progress import INTERVAL
from stream_metrics.cli.reading import RowKeys, rows
from stream_metrics.cli.sources import TABLES, InputFile, open_input

if TYPE_CHECKING:
    from stream_metrics.cli.tables import Unit

__all__ = ["Result", "SharedProgress", "Task", "ThreadContext", "WorkerProcess"]

LINES = 4096  # of text between two looks at the shared numbers


class Task(NamedTuple):
    """The input of all workers: the format, the fields, the empty state as bytes, and what may be skipped."""

    form: str
    fields: RowKeys
    empty: bytes
    skipped: Skipped  # which has skipped nothing yet
    pieces: list[Piece]


class ThreadContext:
    """Numbers that threads share, made as a context of multiprocessing makes those of processes."""

    Lock = staticmethod(threading.Lock)

    @staticmethod
    def Value(_: str, value: int, *, lock: bool) -> SimpleNamespace:
        """Return an object whose `value` is a number."""
        return SimpleNamespace(value=value)

    @staticmethod
    def Array(_: str, values: list[int], *, lock: bool) -> list[int]:
        """Return a sequence of numbers."""
        return values


class SharedProgress:
    """Numbers that all workers see: the next piece, the piece before which all stop, the progress of each.

    ``context`` makes them: that of multiprocessing for processes, `ThreadContext` for threads.
    """

    def __init__(self, context: Any, pieces: int, workers: int) -> None:
        self._lock = context.Lock()
        self._next = context.Value("q", 0, lock=False)
        self._end = context.Value("q", pieces, lock=False)
        self.records = context.Array("q", [0] * workers, lock=False)
        self.work_done = context.Array("q", [0] * workers, lock=False)

    def next_piece(self) -> int | None:
        """Return the number of the next piece to count; None if there is none."""
        with self._lock:
            piece: int = self._next.value
            self._next.value += 1
        return piece if self.wants(piece) else None

    def wants(self, piece: int) -> bool:
        """Return whether a piece is still to be counted."""
        return bool(piece < self._end.value)

    def stop_at(self, piece: int) -> None:
        """Leave out this piece and all after it: with 0, stop."""
        with self._lock:
            self._end.value = min(self._end.value, piece)


class Result(NamedTuple):
    """The result of a worker: its state, what it skipped of each piece, what it counted, the error that ended it."""

    state: bytes
    skipped: dict[int, Skipped]
    log: list[CountedPart]
    failure: tuple[int, str, int] | None  # piece, message, exit status


class WorkerProcess:
    """Counts one piece after another; `slot` is where its progress is shared."""

    def __init__(self, task: Task, shared: SharedProgress, slot: int) -> None:
        self._task, self._shared, self._slot = task, shared, slot
        self._counter = Counter(sm.from_bytes(task.empty), task.fields, task.skipped, 0, lambda: None)
        self._next_look = 0.0
        self._finished = 0  # of the work, by earlier pieces
        if task.form in TABLES:
            from stream_metrics.cli.tables import TableReader

            self._reader = TableReader(task.fields, task.form)

    def run(self) -> Result:
        """Count pieces until none is left."""
        skipped: dict[int, Skipped] = {}
        failure = None
        while (piece := self._shared.next_piece()) is not None:
            skipped[piece] = self._counter.skipped = self._task.skipped.empty()
            try:
                self._count(piece)
            except (CliError, MemoryError) as error:
                self._shared.stop_at(piece)
                failure = piece, str(error) or "out of memory", getattr(error, "status", CliError.status)
        return Result(self._counter.state.to_bytes(), skipped, self._counter.log, failure)

    def _count(self, number: int) -> None:
        file, part, size, after, until = self._task.pieces[number]
        with suppress(StopCounting), self._counter.part(file, after, until):
            if part is None:
                self._count_text(file, number)
            else:
                self._count_row_groups(part, number)
        self._finished += size
        self._report_progress(0)

    def _count_row_groups(self, unit: Unit, piece: int) -> None:
        before = self._counter.passed
        batches = self._reader.batches(unit)
        self._counter.feed_batches(unit.file.path, batches, lambda: self._tick(piece, self._counter.passed - before))

    def _count_text(self, file: InputFile, piece: int) -> None:
        with open_input(file, self._task.form) as source:
            lines = 0

            def tick() -> None:
                nonlocal lines
                lines += 1
                if lines % LINES == 0:
                    self._tick(piece, source.position())

            self._counter.feed(source.name, rows(source, self._task.fields, self._counter.refuse), tick)

    def _tick(self, piece: int, position: int) -> None:
        """Share the progress now and then; raise `StopCounting` if the piece is no longer wanted."""
        if (now := time.monotonic()) >= self._next_look:
            self._next_look = now + INTERVAL / 2
            self._report_progress(position)
        if not self._shared.wants(piece):
            raise StopCounting

    def _report_progress(self, position: int) -> None:
        self._shared.records[self._slot] = self._counter.seen
        self._shared.work_done[self._slot] = self._finished + position
