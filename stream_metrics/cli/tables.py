"""Tables in pieces: files of Parquet, Arrow IPC (Feather) and ORC, their row groups, and rows in batches.

Only the columns of the fields are read, and labels of text as the dictionary that Parquet has them with. Memory depends
neither on the number of rows nor on the size of the row groups of Parquet, which is why its files are read here and not
as fragments of `pyarrow.dataset`: these hold whole row groups, and cost a tenth more time. Others are read as such, and
each of their files is one piece. One worker reads with one thread, so that --jobs says how many processors are used.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from stream_metrics.cli.errors import CliError, FileError
from stream_metrics.cli.reading import RowKeys
from stream_metrics.cli.sources import ARROW, PARQUET, TABLES, InputFile, Piece, format_of
from stream_metrics.cli.storage import is_url, open_file

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as missing:
    raise ImportError('Parquet, Arrow and ORC need pyarrow: pip install "stream-metrics[parquet]"') from missing

from stream_metrics.cli.table_columns import Layout
from stream_metrics.cli.table_rows import RowBatch

BUFFER = 1 << 20  # bytes of a column that are read at once
BATCH = 1 << 19  # values that are counted at once: more leave the cache, of fewer the fixed cost of a call shows
LEAST = 1 << 10  # rows of a batch, however many columns


class TableReader:
    """Reads pieces one after another; a file stays open for the next piece of it."""

    def __init__(self, fields: RowKeys, form: str | None = None) -> None:
        self._fields, self._form = fields, form
        self._path = ""
        self._table: _Parquet | _Dataset

    def pieces(self, file: InputFile) -> list[Piece]:
        """Return the row groups of a file, one by one; FileError if it does not have the fields."""
        self._open(file)
        rows = self._table.group_rows
        firsts = accumulate(rows, initial=0)
        last = len(rows) - 1
        return [
            Piece(file, n, (at,), first, at == last) for at, (n, first) in enumerate(zip(rows, firsts, strict=False))
        ]

    def batches(self, piece: Piece) -> Iterator[RowBatch]:
        """Yield the rows of a piece."""
        self._open(piece.file)
        layout = self._table.layout
        first = piece.first
        try:
            for batch in self._table.batches(piece.groups, max(BATCH // layout.width, LEAST)):
                yield RowBatch(layout, batch, first)
                first += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"{piece.file.path}, after row {first}: {_reason(error)}") from None

    def _open(self, file: InputFile) -> None:
        if file.path == self._path:
            return
        form = format_of(file.path)
        form = form if form in TABLES else self._form
        try:
            self._table = _Parquet(file, self._fields) if form == PARQUET else _Dataset(file, self._fields, form)
        except FileNotFoundError as error:  # a wrong name, and no damaged file
            raise CliError(f"{file.path}: {os.strerror(error.errno or errno.ENOENT)}") from None
        except (OSError, pa.ArrowException) as error:
            raise FileError(f"{file.path}: {_reason(error)}") from None
        self._path = file.path


class _Parquet:
    """A file of Parquet."""

    def __init__(self, file: InputFile, fields: RowKeys) -> None:
        opened = pq.ParquetFile(_source(file), buffer_size=BUFFER)
        self.layout = layout = Layout(opened.schema_arrow, fields, file)
        if layout.encoded:
            more = {"metadata": opened.metadata, "read_dictionary": layout.encoded}
            opened = pq.ParquetFile(_source(file), buffer_size=BUFFER, **more)
        self._file = opened
        metadata = opened.metadata
        self.group_rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def batches(self, groups: tuple[int, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some row groups, so many at a time."""
        yield from self._file.iter_batches(rows, groups, self.layout.columns, use_threads=False)


class _Dataset:
    """A file that `pyarrow.dataset` reads."""

    def __init__(self, file: InputFile, fields: RowKeys, form: str | None) -> None:
        import pyarrow.dataset as ds
        from pyarrow.fs import LocalFileSystem

        kind: Callable[[], Any] = ds.IpcFileFormat if form == ARROW else ds.OrcFileFormat
        source = _source(file)
        system = LocalFileSystem() if isinstance(source, str) else None
        self._fragment = kind().make_fragment(source, filesystem=system)
        self.layout = Layout(self._fragment.physical_schema, fields, file)
        self.group_rows = [self._fragment.count_rows()]

    def batches(self, _: tuple[int, ...], rows: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows, at most so many at a time."""
        yield from self._fragment.to_batches(columns=self.layout.tops, batch_size=rows, use_threads=False)


def _source(file: InputFile) -> Any:
    """Return what pyarrow reads a file from."""
    if is_url(file.path):
        return open_file(file.path, seek=True)
    if file.size is None and os.path.exists(file.path):
        raise OSError("is not a regular file, as a table has to be")
    return file.path


def _reason(error: Exception) -> str:
    """Return the reason of an error in one line."""
    lines = str(getattr(error, "strerror", None) or error).splitlines()
    return lines[0] if lines else type(error).__name__
