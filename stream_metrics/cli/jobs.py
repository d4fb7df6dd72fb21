"""Files counted in batches of records, side by side with ``run --jobs N``, and the bad records noted.

The merge of the counts of workers equals the count of one worker.

Workers on tables are threads, since Arrow reads and the kernels count without the interpreter's lock, and a process
takes half a second of processor time to start. Workers on lines are processes: the readers of CSV and JSON Lines hold
the lock, so that two threads are slower than one (0.9x). Processes are spawned: a forked one would have a copy of the
locks of Arrow's and NumPy's threads, but not the threads that release them, and could wait forever.

Files are merged in their order, so of several errors that of the first file ends the run.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from math import isfinite
from typing import Any, NamedTuple

import stream_metrics as sm
from stream_metrics.cli import lines
from stream_metrics.cli.errors import CliError, FileError, UsageError, defer_interrupts, handled_by
from stream_metrics.cli.logs import INTERVAL, Progress
from stream_metrics.cli.sources import TABLES, Batch, Fields, InputFile, format_of, open_input
from stream_metrics.errors import quantity
from stream_metrics.report.layout import number
from stream_metrics.states.protocols import Accumulator
from stream_metrics.tables.counting import START, Place, count_columns

MIXED = "their labels differ in type, so they cannot be counted in one run"
SHOWN = 5


class StopCounting(Exception):
    """The rest of a file is not wanted, since the run ends."""


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
    """Counts files into ``state`` and calls ``report`` after every ``every`` records counted.

    ``log`` has the last record that was counted of each file, None for the last one of the file.
    """

    def __init__(
        self,
        state: Accumulator,
        fields: Fields,
        skipped: Skipped,
        every: int = 0,
        report: Callable[[], None] = lambda: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.state, self.skipped = state, skipped
        self.counted = 0
        self.log: dict[InputFile, int | None] = {}
        self.format: str | None = None  # of the lines so far
        self._fields, self._every, self._report, self._stopped = fields, every, report, stopped
        self._finished = 0  # bytes of files
        self._source: Any = None  # the file of lines, or table, that is read
        self._position = 0  # of the last record that was counted or refused, in its file

    def position(self) -> int:
        """Return how many bytes of all files were read."""
        return self._finished + (0 if self._source is None else self._source.position())

    def count(self, file: InputFile, form: str | None) -> None:
        """Count the records of a file that were not counted before, and log how far, also if that is interrupted.

        Nothing of a file that cannot be read is counted, if such files may be skipped.
        """
        skipped = self.skipped
        before = (self.state.copy(), self.counted, skipped.count, skipped.first[:]) if skipped.files_allowed else None
        self._position = file.done
        try:
            with self._open(file, form) as (self._source, batches):
                for batch in batches:
                    self._count(batch, self._source.name)
                    if self._stopped():
                        raise StopCounting
            with defer_interrupts():
                self.log[file] = None
        except FileError as error:
            skipped.add_file(file, error)
            if before is not None:
                self.state, self.counted, skipped.count, skipped.first = before
        except (KeyboardInterrupt, StopCounting):
            self.log[file] = self._position
            raise
        self._source = None
        self._finished += file.size or 0

    @contextmanager
    def _open(self, file: InputFile, form: str | None) -> Iterator[tuple[Any, Iterator[Batch]]]:
        """Open a file, and read it in batches."""
        if form in TABLES:
            from stream_metrics.cli.tables import TableSource

            own = format_of(file.path)
            table = TableSource(file, self._fields, own if own in TABLES else form)
            yield table, table.batches(self._room, file.done)
            return
        with open_input(file, form, not self.skipped.allowed) as source:
            if self._fields.delimiter and source.format != "csv":
                raise UsageError(f"--delimiter is of CSV, but {source.name} is {source.format}")
            self.check_format(source.format, source.name)
            yield source, lines.batches(source, self._fields, self._room)

    def check_format(self, form: str | None, name: str) -> None:
        """Refuse a file of lines if an earlier one has another format."""
        if self.format and form and form != self.format:
            raise UsageError(f"{name} is {form}, but what came before it is {self.format}: {MIXED}")
        self.format = form or self.format

    def _room(self) -> int:
        """Return how many records may be counted before the next report; 0 if there is none."""
        return self._every - self.counted % self._every if self._every else 0

    def _count(self, batch: Batch, name: str) -> None:
        """Count a batch but for the records that the state refuses, and report."""
        numbers, problems = batch.numbers, list(batch.refused)

        def refuse(error: Exception, place: Place, rows: Sequence[int]) -> None:
            problems.extend((numbers[row], _reason(error, self._fields)) for row in rows)

        with defer_interrupts():
            try:
                if numbers:
                    count_columns(self.state, batch.columns, START, refuse)
            except ValueError as error:
                where = f"{name}, {self.skipped.place} {numbers[0]} and later"
                raise CliError(f"{where}: {_reason(error, self._fields)}") from None
            for number, reason in sorted(problems):
                self.skipped.add(name, number, reason)
            good = len(numbers) + len(batch.refused) - len(problems)
            self.counted += good
            self._position = max([self._position, *numbers[-1:], *(number for number, _ in batch.refused)])
        if self._every and good and self.counted % self._every == 0:
            self._report()


def _reason(error: Exception, fields: Fields) -> str:
    """Return why a state refuses a record, with the names of its fields."""
    if not isinstance(error, sm.StreamMetricsError):
        return str(error)
    names = {**fields.named, "scores": fields.scores}
    name = names.get(error.argument or "")
    if name is not None and error._subject == f"`{error.argument}`":
        error = error.with_subject(f"field {name!r}")
    margin = isinstance(error, sm.ScoreError) and isinstance(error.got, float) and isfinite(error.got)
    text = str(error.with_position(None)).replace("pos_label= ", "--pos-label ").replace("pos_label=", "--pos-label ")
    text = text.replace("`classes`", "--classes A,B")
    return f"{text}{'; --margins keeps scores that are no probabilities' if margin else ''}"


WORTH_A_PROCESS = 1 << 25  # bytes of lines: fewer are counted while a process starts


def fastest_jobs(files: list[InputFile], form: str | None) -> int:
    """Return how many workers count files fastest: one for each processor, but no process for a few lines."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    worth = len(files) if form in TABLES else sum(file.size or 0 for file in files) // WORTH_A_PROCESS
    return max(1, min(processors, len(files), worth))


class Result(NamedTuple):
    """What was counted of a file, and how far it was read."""

    state: Accumulator
    counted: int
    skipped: Skipped
    log: dict[InputFile, int | None]
    format: str | None


class Job(NamedTuple):
    """What all workers have in common: the format, the fields, the empty state, what may be skipped."""

    form: str | None
    fields: Fields
    empty: Accumulator
    skipped: Skipped  # which has skipped nothing yet
    stop: Any  # an event, after which no more is counted

    def run(self, file: InputFile) -> Result:
        """Count a file."""
        counter = Counter(self.empty.copy(), self.fields, self.skipped.empty(), stopped=self.stop.is_set)
        with suppress(StopCounting):
            if not self.stop.is_set():
                counter.count(file, self.form)
        return Result(counter.state, counter.counted, counter.skipped, counter.log, counter.format)


def count_in_parallel(
    form: str | None, fields: Fields, empty: Accumulator, files: list[InputFile], jobs: int, total: Counter
) -> bool:
    """Count files with several workers into `total`; return whether Ctrl-C ended it."""
    executor: Executor
    if form in TABLES:
        job = Job(form, fields, empty, total.skipped.empty(), threading.Event())
        executor, count = ThreadPoolExecutor(jobs), job.run
    else:
        import multiprocessing  # which takes a twentieth of the start of a command
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context("spawn")
        job = Job(form, fields, empty, total.skipped.empty(), context.Event())
        executor, count = ProcessPoolExecutor(jobs, context, _start_process, (job,)), _count_file
    try:
        return _merge_all(executor, count, files, job.stop, total)
    except BrokenExecutor:
        raise CliError("a process of --jobs has ended, out of memory perhaps; nothing is saved") from None
    except MemoryError:
        raise CliError("out of memory") from None
    finally:
        job.stop.set()
        executor.shutdown(cancel_futures=True)


def _merge_all(
    executor: Executor, count: Callable[[InputFile], Result], files: list[InputFile], stop: Any, total: Counter
) -> bool:
    with handled_by(signal.SIG_IGN):  # which processes inherit: Ctrl-C reaches all those of a terminal
        waiting: deque[tuple[InputFile, Future[Result]]] = deque((file, executor.submit(count, file)) for file in files)
    sizes = [file.size for file in files]
    finished = 0
    with Progress(lambda: (total.counted, finished), None if None in sizes else sum(size or 0 for size in sizes)):
        while waiting:
            file, future = waiting[0]
            try:
                while not future.done():
                    wait([future], INTERVAL)  # Windows interrupts no wait without a timeout
                with defer_interrupts():
                    waiting.popleft()
                    finished += file.size or 0
                    if not future.cancelled():
                        _add(total, future.result(), file)
            except KeyboardInterrupt:
                stop.set()
                for _, later in waiting:
                    later.cancel()
    return bool(stop.is_set())


def _add(total: Counter, part: Result, file: InputFile) -> None:
    total.check_format(part.format, file.path)
    try:
        total.state.merge(part.state)
    except sm.StreamMetricsError as error:
        raise CliError(f"the counts of all workers together: {error}") from None
    total.counted += part.counted
    total.skipped.extend(part.skipped)
    total.log |= part.log


_JOB: Job  # of a worker process


def _start_process(job: Job) -> None:
    """Prepare a process, which ends with the main process."""
    import multiprocessing

    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    global _JOB
    _JOB = job


def _count_file(file: InputFile) -> Result:
    return _JOB.run(file)
