"""The input of ``run``: files of lines or of tables, counted by one worker or by several.

Pieces for several workers are whole files of lines, and row groups of tables.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterable
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from stream_metrics.cli.counting import Counter, Skipped, Tick
from stream_metrics.cli.errors import FileError, UsageError
from stream_metrics.cli.progress import Progress
from stream_metrics.cli.reading import RowKeys, rows
from stream_metrics.cli.sources import TABLES, InputFile, InputSource, Reached, open_input, total_size

if TYPE_CHECKING:
    from stream_metrics.cli.tables import Unit

__all__ = ["MIXED", "Piece", "count_here", "fastest_jobs", "plan_jobs"]

PIECES = 64  # of each worker, so that the last one to end does it at most that much later
SMALLEST = 1 << 18  # rows of a piece: dealing one out takes as long as counting some thousands
WORTH_A_PROCESS = 1 << 25  # bytes of lines: fewer are counted while a process starts
MIXED = "their labels differ in type, so they cannot be counted in one run"

Feed: TypeAlias = Callable[[Tick], None]


class Piece(NamedTuple):
    """A part of a file, or all of it if ``part`` is None: the records after one number up to another or the end."""

    file: InputFile
    part: Unit | None
    size: int
    after: int = 0
    until: int | None = None


def count_here(files: list[InputFile], form: str | None, fields: RowKeys, counter: Counter) -> tuple[Feed, Progress]:
    """Return a function that counts all files into ``counter``, and its progress."""
    return (_tables if form in TABLES else _lines)(files, form, fields, counter)


def fastest_jobs(files: list[InputFile], form: str | None) -> int:
    """Return how many workers count files fastest: one for each processor, but no process for a few lines."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    if form in TABLES:
        return processors
    return max(1, min(processors, len(files), (total_size(files) or 0) // WORTH_A_PROCESS))


def plan_jobs(
    files: list[InputFile], form: str | None, fields: RowKeys, jobs: int, skipped: Skipped
) -> tuple[str, list[Piece]]:
    """Return the format, and the pieces of all files, for this number of workers."""
    if form in TABLES:
        tables = _table_module()
        units = _units(files, form, fields, skipped)
        least = max(sum(unit.rows for unit in units) / jobs / PIECES, SMALLEST)
        units = tables.merge_units(units, math.inf if skipped.files_allowed else least)
        return form or "", [
            Piece(unit.file, unit, unit.rows, unit.first, last) for unit, last in zip(units, _ends(units), strict=True)
        ]
    pieces: list[Piece] = []
    for file in files:
        try:
            with open_input(file, form) as source:
                form = _same_format(source, form, fields)
        except FileError as error:
            skipped.add_file(file, error)
        else:
            pieces.append(Piece(file, None, file.size or 0))
    return form or "", pieces


def _ends(units: list[Unit]) -> Iterable[int | None]:
    """Return the last row of each unit, None of the last unit of a file."""
    for unit, later in pairwise(units):
        yield unit.first + unit.rows if later.first else None
    if units:
        yield None


def _lines(files: list[InputFile], form: str | None, fields: RowKeys, counter: Counter) -> tuple[Feed, Progress]:
    reached = Reached()

    def feed(tick: Tick) -> None:
        known = form
        for file in files:
            with counter.part(file), open_input(file, form) as source:
                known = _same_format(source, known, fields)
                reached.enter(source)
                counter.feed(source.name, rows(source, fields, counter.refuse), tick)
                reached.leave()

    return feed, Progress(lambda: (counter.seen, reached.position()), total_size(files))


def _same_format(source: InputSource, form: str | None, fields: RowKeys) -> str:
    """Return the format of a source; UsageError if an earlier source has another, or options are of another."""
    if fields.delimiter and source.format != "csv":
        raise UsageError(f"--delimiter is of CSV, but {source.name} is {source.format}")
    if form not in (None, source.format):
        raise UsageError(f"{source.name} is {source.format}, but what came before it is {form}: {MIXED}")
    return source.format


def _tables(files: list[InputFile], form: str | None, fields: RowKeys, counter: Counter) -> tuple[Feed, Progress]:
    tables = _table_module()
    units = tables.merge_units(_units(files, form, fields, counter.skipped), math.inf)
    reader = tables.TableReader(fields, form)

    def feed(tick: Tick) -> None:
        for unit in units:
            with counter.part(unit.file):
                counter.feed_batches(unit.file.path, reader.batches(unit), tick)

    return feed, Progress(lambda: (counter.seen, counter.passed), sum(unit.rows for unit in units))


def _units(files: list[InputFile], form: str | None, fields: RowKeys, skipped: Skipped) -> list[Unit]:
    """Return the row groups of all files, in order; every file is looked at before anything is counted."""
    reader = _table_module().TableReader(fields, form)
    units: list[Unit] = []
    for file in files:
        try:
            units += reader.units(file)
        except FileError as error:
            skipped.add_file(file, error)
    return units


def _table_module() -> ModuleType:
    """Return the module that reads tables; UsageError if the package for it is missing."""
    try:
        return importlib.import_module("stream_metrics.cli.tables")
    except ImportError as error:
        raise UsageError(str(error)) from None
