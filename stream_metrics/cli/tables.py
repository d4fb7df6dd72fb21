"""Files of tables, Parquet, Arrow IPC (Feather) and ORC, as batches of columns.

A field is a column, a path of names joined by dots into nested columns, or a partition of the path. Null means the same
as in JSON Lines. Scores are a column of structs, maps or lists, a column of numbers, or columns for each class. Types
that have no labels, weights, times or scores are refused by the state, by the name of the field.

Only the columns of the fields are read, and labels of text as the dictionary that Parquet has them with. Memory depends
neither on the number of rows nor on the size of the row groups of Parquet, which is why its files are read here and not
as fragments of `pyarrow.dataset`: these hold whole row groups, and cost a tenth more time. Others are read as such. One
worker reads with one thread, so that --jobs says how many processors are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from stream_metrics.cli.errors import CliError, FileError, UsageError, listed
from stream_metrics.cli.lines import hint, score_columns
from stream_metrics.cli.sources import ARROW, PARQUET, Batch, Fields, InputFile, is_url, open_file
from stream_metrics.inputs.arguments import field_in

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise UsageError('Parquet, Arrow and ORC need pyarrow: pip install "stream-metrics[parquet]"') from None

BUFFER = 1 << 20  # bytes of a column that are read at once
BATCH = 1 << 19  # values that are counted at once: more leave the cache, of fewer the fixed cost of a call shows
ENCODED = {"string", "large_string", "string_view", "binary", "large_binary"}  # types that are read as dictionaries
LEAST = 1 << 10  # rows of a batch, however many columns

is_ = pa.types
# What columns may hold, by the names that `pyarrow.types` has for types.
NUMBERS = {"integer", "floating", "decimal", "boolean", "null"}
TEXTS = {"string", "large_string", "string_view", "null"}
LABELS = (
    "a label (text, a number, true or false)",
    NUMBERS | TEXTS | {"binary", "large_binary", "binary_view", "fixed_size_binary", "date"},
)
USES = {
    "w": ("a weight (a number)", NUMBERS),
    "t": ("a time", NUMBERS - {"boolean"} | TEXTS | {"timestamp", "date"}),
}
SCORES = NUMBERS | {"struct", "map", "list", "large_list", "fixed_size_list"}
Read: TypeAlias = Callable[["list[Column]", int], Iterator[pa.RecordBatch]]


class Column(NamedTuple):
    """A column by the names that lead to it, and its type; ``constant`` is the value of a partition."""

    path: tuple[str, ...]
    type: pa.DataType
    constant: pa.Scalar | None = None

    def of(self, table: pa.RecordBatch) -> pa.Array:
        """Return this column of a batch; where the struct that it is in is null, it is null."""
        if self.constant is not None:
            return pa.repeat(self.constant, table.num_rows)
        values = table.column(self.path[0])
        for name in self.path[1:]:
            values = values.flatten()[values.type.get_field_index(name)]
        return values


class TableSource:
    """One open file of a table; ``row`` is the number of rows read so far."""

    def __init__(self, file: InputFile, fields: Fields, form: str | None) -> None:
        self.name, self._file, self._fields = file.path, file, fields
        self.row = 0
        self._errors: tuple[type[Exception], ...] = (OSError, pa.ArrowException)
        if is_url(file.path):
            self._errors = (Exception,)  # of any package
        try:
            self._schema, self._read, self._rows = (_parquet if form == PARQUET else _dataset)(file, form)
        except FileNotFoundError as error:  # a wrong name, and no damaged file
            raise CliError(f"{self.name}: {error.strerror or 'No such file or directory'}") from None
        except self._errors as error:
            raise FileError(f"{self.name}: {_reason(error)}") from None
        self._columns = {key: self._column(name) for key, name in fields.named.items()}
        for key, column in self._columns.items():
            self._check(column, *USES.get(key, LABELS))
        self._scores: list[Column] = []
        self._names: tuple[str, ...] | None = None  # of the classes, if each has a column
        if fields.scores is not None:
            used = [column.path[0] for column in self._columns.values()]
            self._names, columns = score_columns(fields.scores, self._schema.names, used, self.name)
            self._scores = [self._column(column) for column in columns]
            for column in self._scores:
                self._check(column, "scores", SCORES)
                if fields.classes is None and hasattr(column.type, "value_field") and not is_.is_map(column.type):
                    lists = f"column {'.'.join(column.path)!r} holds lists: --classes A,B names their classes"
                    raise FileError(f"{self.name}: {lists}")

    def position(self) -> int:
        """Return how much of the size of the file was read."""
        return (self._file.size or 0) * self.row // max(self._rows, 1)

    def batches(self, room: Callable[[], int], done: int) -> Iterator[Batch]:
        """Yield the rows after the first `done`, at most as many at a time as there is room for."""
        columns = [*self._columns.values(), *self._scores]
        inside = sum(64 if is_.is_map(column.type) else column.type.num_fields for column in self._scores)
        width = len(columns) + max(inside, len(self._fields.classes or ()))
        try:
            for table in self._read(columns, max(BATCH // width, LEAST)):
                begin, self.row = self.row, self.row + table.num_rows
                at = max(done - begin, 0)
                while at < table.num_rows:
                    part = table.slice(at, room() or table.num_rows)
                    yield Batch(self._arguments(part), range(begin + at + 1, begin + at + part.num_rows + 1), [])
                    at += part.num_rows
        except self._errors as error:
            raise FileError(f"{self.name}, after row {self.row}: {_reason(error)}") from None

    def _arguments(self, table: pa.RecordBatch) -> dict[str, Any]:
        """Return the arguments of `update_many`."""
        arguments: dict[str, Any] = {key: column.of(table) for key, column in self._columns.items()}
        if not self._scores:
            return arguments
        scores = [column.of(table) for column in self._scores]
        if is_.is_struct(scores[0].type) and any(
            each.null_count > scores[0].null_count for each in scores[0].flatten()
        ):
            # Arrow fills in null for the keys that a record lacks.
            rows = [
                row and {key: value for key, value in row.items() if value is not None} for row in scores[0].to_pylist()
            ]
            return arguments | {"scores": rows}
        if self._names is not None:
            return arguments | {"scores": pa.record_batch(scores, list(self._names))}
        return arguments | {"scores": scores[0], "classes": self._fields.classes}

    def _column(self, name: str) -> Column:
        """Return the column of a field; FileError if there is none."""
        names = self._schema.names
        name = field_in(names, name)
        if names.count(name) > 1:
            raise FileError(f"{self.name}: column {name!r} is there more than once")
        column = self._find((name,)) or self._find(tuple(name.split(".")))
        partitions = dict(self._file.partitions)
        if column is None and name in partitions:
            value = pa.scalar(partitions[name])
            column = Column((name,), value.type, value)
        if column is None:
            raise FileError(f"{self.name}: column {name!r} is not in the file, which has {listed(names)}{hint(name)}")
        return column

    def _check(self, column: Column, what: str, kinds: set[str]) -> None:
        """Raise FileError for a type that no row can have a use for, so that not every row is refused."""
        kind = column.type.value_type if is_.is_dictionary(column.type) else column.type
        if column.constant is None and not any(getattr(is_, f"is_{name}", bool)(kind) for name in kinds):
            name = ".".join(column.path)
            raise FileError(f"{self.name}: expected column {name!r} to hold {what}, but its type is {column.type}")

    def _find(self, path: tuple[str, ...]) -> Column | None:
        field = self._schema
        for at, name in enumerate(path):
            index = field.get_field_index(name) if at == 0 or is_.is_struct(field) else -1
            if index < 0:
                return None
            field = field.field(index).type
        return Column(path, field)


def _parquet(file: InputFile, form: str | None) -> tuple[pa.Schema, Read, int]:
    """Return the schema of a file of Parquet, what reads columns in batches of some rows, and its rows."""
    opened = pq.ParquetFile(_content(file), buffer_size=BUFFER)

    def read(columns: list[Column], rows: int) -> Iterator[pa.RecordBatch]:
        stored = [column for column in columns if column.constant is None]
        encoded = [each.path[0] for each in stored if len(each.path) == 1 and str(each.type) in ENCODED]
        again = pq.ParquetFile(_content(file), metadata=opened.metadata, read_dictionary=encoded, buffer_size=BUFFER)
        names = list(dict.fromkeys(".".join(column.path) for column in stored))
        yield from again.iter_batches(rows, columns=names, use_threads=False)

    return opened.schema_arrow, read, opened.metadata.num_rows


def _dataset(file: InputFile, form: str | None) -> tuple[pa.Schema, Read, int]:
    """Return the same of a file that `pyarrow.dataset` reads."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    content = _content(file)
    system = LocalFileSystem() if isinstance(content, str) else None
    fragment = (ds.IpcFileFormat if form == ARROW else ds.OrcFileFormat)().make_fragment(content, filesystem=system)

    def read(columns: list[Column], rows: int) -> Iterator[pa.RecordBatch]:
        names = list(dict.fromkeys(column.path[0] for column in columns if column.constant is None))
        yield from fragment.to_batches(columns=names, batch_size=rows, use_threads=False)

    return fragment.physical_schema, read, fragment.count_rows()


def _content(file: InputFile) -> Any:
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
