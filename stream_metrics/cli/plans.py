"""The input of ``run``: files of lines or of Parquet, in this process, or in pieces for several."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from stream_metrics.cli.counting import Counter
from stream_metrics.cli.errors import UsageError
from stream_metrics.cli.progress import Progress
from stream_metrics.cli.reading import Fields, rows
from stream_metrics.cli.sources import PARQUET, Reached, Source, open_input, total_size

if TYPE_CHECKING:
    from stream_metrics.cli.parquet import Unit

__all__ = ["MIXED", "count_here", "plan_jobs"]

PIECES = 64  # of each process, so that the last one to end does it at most that much later
SMALLEST = 1 << 18  # rows of a piece: dealing one out takes as long as counting some thousands
MIXED = "their labels differ in type, so they cannot be counted in one run"

Tick: TypeAlias = "Callable[[], None] | None"
Feed: TypeAlias = Callable[[Tick], None]
Pieces: TypeAlias = "list[tuple[str | Unit, int]]"  # units of work, and their sizes


def count_here(paths: list[str], form: str | None, fields: Fields, counter: Counter) -> tuple[Feed, Progress]:
    """Return a function that counts all files into ``counter``, and its progress."""
    return (_tables if form == PARQUET else _lines)(paths, form, fields, counter)


def plan_jobs(paths: list[str], form: str | None, fields: Fields, jobs: int) -> tuple[str, Pieces]:
    """Return the format, and the pieces of all files, for this number of processes."""
    if form == PARQUET:
        parquet = _parquet()
        units = parquet.units(paths, fields)
        least = max(sum(unit.rows for unit in units) / jobs / PIECES, SMALLEST)
        return PARQUET, [(unit, unit.rows) for unit in parquet.merge_units(units, least)]
    for path in paths:
        with open_input(path, form) as source:
            form = _same_format(source, form, fields)
    return form or "", [(path, os.path.getsize(path)) for path in paths]


def _lines(paths: list[str], form: str | None, fields: Fields, counter: Counter) -> tuple[Feed, Progress]:
    reached = Reached()

    def feed(tick: Tick) -> None:
        known = form
        for path in paths:
            with open_input(path, form) as source:
                known = _same_format(source, known, fields)
                reached.enter(source)
                counter.feed(source.name, rows(source, fields, counter.refuse), tick)
                reached.leave()

    return feed, Progress(lambda: (counter.seen, reached.position()), total_size(paths))


def _same_format(source: Source, form: str | None, fields: Fields) -> str:
    """Return the format of a source; UsageError if an earlier source has another, or options are of another."""
    if fields.delimiter and source.format != "csv":
        raise UsageError(f"--delimiter is of CSV, but {source.name} is {source.format}")
    if form not in (None, source.format):
        raise UsageError(f"{source.name} is {source.format}, but what came before it is {form}: {MIXED}")
    return source.format


def _tables(paths: list[str], _: str | None, fields: Fields, counter: Counter) -> tuple[Feed, Progress]:
    parquet = _parquet()
    units = parquet.merge_units(parquet.units(paths, fields), math.inf)
    reader = parquet.Reader(fields)

    def feed(tick: Tick) -> None:
        for unit in units:
            counter.feed_batches(unit.path, reader.batches(unit), tick)

    return feed, Progress(lambda: (counter.seen, counter.passed), sum(unit.rows for unit in units))


def _parquet() -> ModuleType:
    """Return the module that reads Parquet; UsageError if the package for it is missing."""
    try:
        return importlib.import_module("stream_metrics.cli.parquet")
    except ImportError as error:
        raise UsageError(str(error)) from None
