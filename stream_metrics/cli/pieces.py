"""The input of ``run`` in pieces: whole files of lines, and row groups of tables, counted one after another."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from stream_metrics.cli.counting import Counter, Skipped, Tick
from stream_metrics.cli.errors import FileError, UsageError
from stream_metrics.cli.reading import RowKeys, rows
from stream_metrics.cli.sources import TABLES, InputFile, InputSource, Piece, open_input

PIECES = 64  # of each worker, so that the last one to end does it at most that much later
SMALLEST = 1 << 18  # rows of a piece: dealing one out takes as long as counting some thousands
WORTH_A_PROCESS = 1 << 25  # bytes of lines: fewer are counted while a process starts
MIXED = "their labels differ in type, so they cannot be counted in one run"


def fastest_jobs(files: list[InputFile], form: str | None) -> int:
    """Return how many workers count files fastest: one for each processor, but no process for a few lines."""
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity else os.cpu_count() or 1
    if form in TABLES:
        return processors
    return max(1, min(processors, len(files), sum(file.size or 0 for file in files) // WORTH_A_PROCESS))


def total_size(pieces: list[Piece]) -> int | None:
    """Return the size of all pieces, None where one is not known."""
    sizes = [piece.size for piece in pieces]
    return None if None in sizes else sum(size or 0 for size in sizes)


def plan(
    files: list[InputFile], form: str | None, fields: RowKeys, jobs: int, skipped: Skipped
) -> tuple[str | None, list[Piece]]:
    """Return the format, and the pieces of all files in order, for this number of workers.

    Every table is looked at before anything is counted, and so is every file of lines that is one of several workers'.
    """
    if form not in TABLES and jobs == 1:
        return form, [Piece(file, file.size) for file in files]
    reader = PieceReader(fields, form)
    pieces: list[Piece] = []
    for file in files:
        try:
            pieces += reader.pieces(file)
        except FileError as error:
            skipped.add_file(file, error)
    if form not in TABLES:
        return reader.format, pieces
    whole = jobs == 1 or skipped.files_allowed
    least = math.inf if whole else max(sum(piece.size or 0 for piece in pieces) / jobs / PIECES, SMALLEST)
    return form, _joined(pieces, least)


def _joined(pieces: list[Piece], least: float) -> list[Piece]:
    """Return the same row groups in pieces of at least `least` rows, if files have as many."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is not None and (last.size or 0) < least and piece.first:
            size = (last.size or 0) + (piece.size or 0)
            joined[-1] = last._replace(groups=last.groups + piece.groups, size=size, ends=piece.ends)
        else:
            joined.append(piece)
    return joined


class PieceReader:
    """Reads pieces one after another; ``format`` is that of the lines so far."""

    def __init__(self, fields: RowKeys, form: str | None) -> None:
        self._fields, self._form = fields, form
        self.format = form
        self._tables: Any = None
        if form in TABLES:
            try:
                self._tables = import_module("stream_metrics.cli.tables").TableReader(fields, form)
            except ImportError as error:
                raise UsageError(str(error)) from None
        self._finished = 0  # of the size of all pieces
        self._position: Callable[[], int] | None = None  # in the piece that is counted

    def pieces(self, file: InputFile) -> list[Piece]:
        """Return the row groups of a table, or a file of lines as it is; FileError if it cannot be read."""
        if self._tables is not None:
            return list(self._tables.pieces(file))
        with open_input(file, self._form) as source:
            self._check_format(source)
        return [Piece(file, file.size)]

    def count(self, piece: Piece, counter: Counter, tick: Tick) -> None:
        """Count a piece; ``tick`` is called after each record, or each batch of a table."""
        with counter.part(piece):
            if self._tables is not None:
                self._position = lambda: counter.position - piece.first
                counter.feed_batches(piece.file.path, self._tables.batches(piece), tick)
            else:
                with open_input(piece.file, self._form) as source:
                    self._check_format(source)
                    self._position = source.position
                    counter.feed(source.name, rows(source, self._fields, counter.refuse), tick)
                    self._position = None
        self._position = None
        self._finished += piece.size or 0

    def position(self) -> int:
        """Return how much was counted so far, of the size of all pieces."""
        return self._finished + (0 if self._position is None else self._position())

    def _check_format(self, source: InputSource) -> None:
        """Refuse a source if an earlier source has another format, or options are of another."""
        if self._fields.delimiter and source.format != "csv":
            raise UsageError(f"--delimiter is of CSV, but {source.name} is {source.format}")
        if self.format not in (None, source.format):
            raise UsageError(f"{source.name} is {source.format}, but what came before it is {self.format}: {MIXED}")
        self.format = source.format
