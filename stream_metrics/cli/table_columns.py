"""Columns of tables: which columns of a file are the fields, and their types.

A field is a column, or a path of names joined by dots into nested columns. Labels and groups are text, numbers,
decimals, true or false, dates, or bytes; nothing else is turned into a label, so a time is refused before anything is
counted. Scores are a column of structs, maps or lists, a column of numbers, or columns for each class. As in JSON Lines
the names of classes are text where the truth is, and else numbers. What no column has may be a partition of the path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from stream_metrics.cli.errors import FileError, UsageError, listed
from stream_metrics.cli.reading import RowKeys, hint
from stream_metrics.cli.scores import BOTH, JsonScores, csv_columns
from stream_metrics.cli.sources import InputFile
from stream_metrics.inputs.field_names import field_in
from stream_metrics.labels import Label

is_ = pa.types
Kinds: TypeAlias = tuple[Callable[[pa.DataType], bool], ...]
BYTES = (is_.is_binary, is_.is_large_binary, is_.is_fixed_size_binary)
TEXT = (is_.is_string, is_.is_large_string, getattr(is_, "is_string_view", is_.is_string))
NUMBER = (is_.is_integer, is_.is_floating)
LIST = (is_.is_list, is_.is_large_list, is_.is_fixed_size_list)
LABEL = (*TEXT, *NUMBER, *BYTES, is_.is_boolean, is_.is_null, is_.is_decimal, is_.is_date)
TIME = (*TEXT, *NUMBER, is_.is_timestamp, is_.is_date)


class SourceColumn(NamedTuple):
    """A column by the names that lead to it, and its type."""

    path: tuple[str, ...]
    type: pa.DataType
    constant: pa.Scalar | None = None  # of a partition

    @property
    def name(self) -> str:
        """The name as Parquet has it."""
        return ".".join(self.path)

    @property
    def value_type(self) -> pa.DataType:
        """The type of its values, encoded or not."""
        return self.type.value_type if is_.is_dictionary(self.type) else self.type

    def of(self, table: pa.RecordBatch) -> pa.Array:
        """Return this column of a batch; where the struct that it is in is null, it is null."""
        if self.constant is not None:
            values = pa.array([self.constant.as_py()], self.type)
            return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), table.num_rows), values)
        values = table.column(self.path[0])
        for name in self.path[1:]:
            values = values.flatten()[values.type.get_field_index(name)]
        return values


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a type is that of lists."""
    return any(is_kind(kind) for is_kind in LIST)


class Layout:
    """Where the fields are in files of one schema; ``source`` names the file in errors."""

    def __init__(self, schema: pa.Schema, fields: RowKeys, file: InputFile) -> None:
        self._schema, self._source, self._partitions = schema, file.path, dict(file.partitions)
        self.fields = fields
        self.truth = self._column(fields.true, LABEL, "a label (text, a number, true or false)")
        self.prediction = self._optional(fields.prediction, LABEL, "a label (text, a number, true or false)")
        self.weight = self._optional(fields.weight, NUMBER, "a weight (a number)")
        self.time = self._optional(fields.time, TIME, "a time (a timestamp, a date, seconds since 1970, ISO 8601 text)")
        self.group = self._optional(fields.group, LABEL, "a group (text, a number, true or false)")
        self.single: SourceColumn | None = None  # one column of all scores
        self.scores: list[SourceColumn] = []  # or one for each of the classes
        self.classes: tuple[Label, ...] = ()
        if fields.scores is not None:
            self._find_scores(fields.scores)

    def _column(self, name: str, kinds: Kinds, what: str) -> SourceColumn:
        name = field_in(self._schema.names, name)
        if self._schema.names.count(name) > 1:
            raise FileError(f"{self._source}: column {name!r} is there more than once")
        column = self._find((name,)) or self._find(tuple(name.split("."))) or self._partition(name)
        if column is None:
            columns = listed(self._schema.names)
            raise FileError(f"{self._source}: column {name!r} is not in the file, which has {columns}{hint(name)}")
        if not any(is_kind(column.value_type) for is_kind in kinds):
            raise FileError(f"{self._source}: expected column {name!r} to hold {what}, but its type is {column.type}")
        return column

    def _optional(self, name: str | None, kinds: Kinds, what: str) -> SourceColumn | None:
        return None if name is None else self._column(name, kinds, what)

    def _find(self, path: tuple[str, ...]) -> SourceColumn | None:
        field = self._schema
        for at, name in enumerate(path):
            index = field.get_field_index(name) if at == 0 or is_.is_struct(field) else -1
            if index < 0:
                return None
            field = field.field(index).type
        return SourceColumn(path, field)

    def _partition(self, name: str) -> SourceColumn | None:
        """Return the column that a partition of the path is."""
        if name not in self._partitions:
            return None
        value = pa.scalar(self._partitions[name])
        return SourceColumn((name,), value.type, value)

    def _find_scores(self, spec: str) -> None:
        used = [column.name for column in (self.truth, self.prediction, self.weight, self.time, self.group) if column]
        keys, columns = csv_columns(spec, self._schema.names, used, None, self._source)
        if keys is None:
            kinds = (*NUMBER, *LIST, is_.is_struct, is_.is_map)
            self.single = self._column(columns[0], kinds, "scores (numbers, or structs, maps or lists of numbers)")
            keys = self._keys(self.single)
        else:
            self.scores = [self._column(column, NUMBER, "scores (numbers)") for column in columns]
        self.classes = self._named(keys)

    def _keys(self, column: SourceColumn) -> tuple[str, ...]:
        """Return the keys of a struct or list; no keys for a map, whose rows differ, and for a number."""
        value_type = column.type
        if any(is_kind(value_type) for is_kind in NUMBER):
            if self.fields.classes.both is None:
                raise UsageError(f"one column of scores needs {BOTH}")
            return ()
        in_lists = is_list(value_type)
        if in_lists and self.fields.listed is None:
            raise FileError(f"{self._source}: column {column.name!r} holds lists: --classes A,B names their classes")
        one = value_type.value_type if in_lists else value_type.item_type if is_.is_map(value_type) else None
        kinds = [field.type for field in value_type] if one is None else [one]
        if not all(any(is_kind(kind) for is_kind in (*NUMBER, is_.is_null)) for kind in kinds):
            message = f"expected column {column.name!r} to hold numbers, but its type is {value_type}"
            raise FileError(f"{self._source}: {message}")
        if in_lists:
            return self.fields.listed or ()
        return () if is_.is_map(value_type) else tuple(field.name for field in value_type)

    def _named(self, keys: tuple[str, ...]) -> tuple[Label, ...]:
        """Return the classes that keys stand for, as JSON Lines with such a truth have it."""
        if not keys:
            return ()
        number = any(is_kind(self.truth.value_type) for is_kind in (*NUMBER, is_.is_boolean, is_.is_decimal))
        try:
            scores = JsonScores(self.fields.classes).read(dict.fromkeys(keys, 0.0), 0 if number else "")
        except ValueError as error:
            raise FileError(f"{self._source}: {error}") from None
        return scores[0] if isinstance(scores, tuple) else ()

    @property
    def columns(self) -> list[str]:
        """The columns to read, each once."""
        one = (self.truth, self.prediction, self.weight, self.time, self.group, self.single)
        stored = [column for column in (*one, *self.scores) if column is not None and column.constant is None]
        return list(dict.fromkeys(column.name for column in stored))

    @property
    def tops(self) -> list[str]:
        """The columns to read, each once, with all that is nested in them."""
        return list(dict.fromkeys(name if name in self._schema.names else name.split(".")[0] for name in self.columns))

    @property
    def encoded(self) -> list[str]:
        """The columns to read as dictionaries: labels and groups of text. In structs Arrow does not join them."""
        labels = [column for column in (self.truth, self.prediction, self.group) if column is not None]
        kinds = (*TEXT, *BYTES[:2])
        whole = [c for c in labels if len(c.path) == 1 and c.constant is None]
        return [c.name for c in whole if any(is_kind(c.type) for is_kind in kinds)]

    @property
    def width(self) -> int:
        """How many values a row has, about."""
        single = self.single
        inside = 0 if single is None else 64 if is_.is_map(single.type) else max(single.type.num_fields, 1)
        inside = max(inside, len(self.classes))
        return max(len(self.columns) + inside, 1)
