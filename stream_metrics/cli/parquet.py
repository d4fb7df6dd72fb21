"""Parquet files in pieces: which row groups there are, and their rows in batches that fit into memory.

Only the columns of the fields are read, and labels of text as the dictionary that they are written with. A file is read
through a buffer and a row group batch by batch, so memory depends neither on the number of rows nor on the size of row
groups. One process reads with one thread, so that --jobs says how many processors are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from stream_metrics.cli.errors import CliError
from stream_metrics.cli.reading import Fields

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    raise ImportError('Parquet needs pyarrow: pip install "stream-metrics[parquet]"') from missing

from stream_metrics.cli.parquet_columns import Layout
from stream_metrics.cli.parquet_rows import Batch

__all__ = ["Reader", "Unit", "merge_units", "units"]

BUFFER = 1 << 20  # bytes of a column that are read at once
BATCH = 1 << 19  # values that are counted at once: more leave the cache, of fewer the fixed cost of a call shows
LEAST = 1 << 10  # rows of a batch, however many columns


class Unit(NamedTuple):
    """Consecutive row groups of one file, in which ``rows`` rows follow the ``first`` of the file."""

    path: str
    groups: tuple[int, ...]
    first: int
    rows: int


class Reader:
    """Reads units one after another; a file stays open for the next unit of it."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._path = ""
        self._file: pq.ParquetFile
        self._layout: Layout

    def units(self, path: str) -> list[Unit]:
        """Return the row groups of a file, one by one; CliError if it does not have the fields."""
        self._open(path)
        metadata = self._file.metadata
        units: list[Unit] = []
        first = 0
        for group in range(metadata.num_row_groups):
            units.append(Unit(path, (group,), first, metadata.row_group(group).num_rows))
            first += units[-1].rows
        return units

    def batches(self, unit: Unit) -> Iterator[Batch]:
        """Yield the rows of a unit."""
        self._open(unit.path)
        columns, size = self._layout.columns, max(BATCH // self._layout.width, LEAST)
        first = unit.first
        try:
            for table in self._file.iter_batches(size, unit.groups, columns, use_threads=False):
                yield Batch(self._layout, table, first)
                first += table.num_rows
        except (pa.ArrowException, OSError) as error:
            raise CliError(f"{unit.path}, after row {first}: {_reason(error)}") from None

    def _open(self, path: str) -> None:
        if path == self._path:
            return
        try:
            if not os.path.isfile(path):
                os.stat(path)
                raise CliError(f"{path}: is no regular file, as Parquet has to be")
            file = pq.ParquetFile(path, buffer_size=BUFFER)
            layout = Layout(file.schema_arrow, self._fields, path)
            if layout.encoded:
                file = pq.ParquetFile(path, buffer_size=BUFFER, metadata=file.metadata, read_dictionary=layout.encoded)
        except (OSError, pa.ArrowException) as error:
            raise CliError(f"{path}: {_reason(error)}") from None
        self._path, self._file, self._layout = path, file, layout


def units(paths: list[str], fields: Fields) -> list[Unit]:
    """Return the row groups of all files, in order; every file is looked at before anything is counted."""
    reader = Reader(fields)
    return [unit for path in paths for unit in reader.units(path)]


def merge_units(units: list[Unit], least: float) -> list[Unit]:
    """Return the same row groups in units of at least `least` rows, if files have as many."""
    joint: list[Unit] = []
    for unit in units:
        last = joint[-1] if joint else None
        if last is not None and last.rows < least and unit.first:
            joint[-1] = Unit(last.path, last.groups + unit.groups, last.first, last.rows + unit.rows)
        else:
            joint.append(unit)
    return joint


def _reason(error: Exception) -> str:
    """Return the reason of an error in one line."""
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__
