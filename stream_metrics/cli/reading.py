"""Lines to records: JSON Lines and CSV to rows of (truth, prediction, weight, scores, line, time, group).

A prediction that is null, or an empty CSV field, is None: an abstention. A field that is absent is an error, never an
abstention: a misspelt name would otherwise look like a model that never answers. Nor is an empty truth in a CSV a class
without a name: it is an error, and so is an empty group. JSON values keep their type; CSV values are text. How scores
are read is in ``scores``, how times are in ``moments``.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from stream_metrics.cli.errors import FileError, UsageError, listed
from stream_metrics.cli.scores import BOTH, Classes, JsonScores, Scores, csv_columns, csv_reader
from stream_metrics.cli.sources import BadRecord, InputSource
from stream_metrics.containers.moments import nanoseconds
from stream_metrics.inputs.field_names import Y_PRED, Y_TRUE, field_in, spellings

DELIMITERS = (",", ";", "\t")  # that the header of a CSV may tell
HINTS = {
    Y_TRUE: "; --true FIELD names the truth",
    Y_PRED: "; --pred FIELD names the prediction, and --scores takes it from scores",
}  # for a field that is missing
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}
Row: TypeAlias = tuple[object, object, "int | float", Scores, int, int, object]


class RowKeys(NamedTuple):
    """The names of the fields; without ``weight`` every record weighs 1; only that of the truth is always there."""

    true: str
    prediction: str | None
    weight: str | None
    scores: str | None
    classes: Classes
    time: str | None = None
    group: str | None = None
    delimiter: str | None = None  # of CSV; None if the header tells it
    listed: tuple[str, ...] | None = None  # the classes of scores that are lists

    @property
    def names(self) -> list[str]:
        """The names of all fields but the scores."""
        return [name for name in (*self[:3], self.time, self.group) if name is not None]


def rows(source: InputSource, fields: RowKeys, bad: BadRecord) -> Iterator[Row]:
    """Yield the records of ``source``; call ``bad`` for those that cannot be read."""
    return (_json_rows if source.format == "jsonl" else _csv_rows)(source, fields, bad)


def _json_rows(source: InputSource, fields: RowKeys, bad: BadRecord) -> Iterator[Row]:
    decoder = json.JSONDecoder()
    truth = _getter(fields.true)
    prediction, weight, scores = (None if name is None else _getter(name) for name in fields[1:4])
    time, group = (None if name is None else _getter(name) for name in (fields.time, fields.group))
    read = JsonScores(fields.classes, fields.listed).read
    partitions = {name: value for name, value in source.partitions.items() if name in fields.names}
    for line in source.text(bad):
        text = line.strip(" \t\r\n")
        if not text:
            continue
        try:
            record, end = decoder.raw_decode(text)
            if end < len(text):
                decoder.decode(line)  # raises the error
            if type(record) is not dict:
                raise ValueError(f"expected a JSON object, but got {text[:40]}{_lines_of_json(text)}")
            if partitions:
                record = partitions | record
            true = truth(record)
            predicted = None if prediction is None else prediction(record)
            amount = 1 if weight is None else weight_of(weight(record))
            row_scores = None if scores is None else read(scores(record), true)
            at = 0 if time is None else nanoseconds(time(record))
            row = true, predicted, amount, row_scores, source.line, at, None if group is None else group(record)
        except json.JSONDecodeError as error:
            advice = _lines_of_json(text) if error.pos >= len(text) else ""
            bad(source.name, source.line, f"not JSON: {error.msg} at column {error.colno}{advice}")
        except (ValueError, OverflowError, RecursionError) as error:
            bad(source.name, source.line, str(error))
        else:
            yield row


def _lines_of_json(text: str) -> str:
    """Return how JSON that begins so, and has several lines or a list of records, becomes JSON Lines."""
    command = {"{": "jq -c .", "[": "jq -c '.[]'"}.get(text[0])
    return "" if command is None else f"; each line has to be one object, as {command} writes them"


def _getter(name: str) -> Callable[[dict[str, object]], object]:
    """Return a reader of the field ``name``: a key of the record, or else a path of keys joined by dots."""
    parts, others = name.split("."), spellings(name)[1:]

    def get(record: dict[str, object]) -> object:
        if name in record:
            return record[name]
        for other in others:
            if other in record:
                return record[other]
        value: object = record
        for part in parts:
            if type(value) is not dict or part not in value:
                raise ValueError(f"no field {name!r}; the record has {listed(record)}{hint(name)}")
            value = value[part]
        return value

    return get


def hint(name: str) -> str:
    """Return how a field that is missing is named, if its name is a default."""
    return HINTS.get(name, "")


def _csv_rows(source: InputSource, fields: RowKeys, bad: BadRecord) -> Iterator[Row]:
    lines = source.text(bad)
    first = next((line for line in lines if line.strip("\r\n")), "")
    delimiter = fields.delimiter or _sniff_delimiter(first, fields)
    reader = csv.reader(itertools.chain((first,), lines), strict=True, delimiter=delimiter)
    try:
        header = next((values for values in reader if values), None)
    except csv.Error as error:
        raise FileError(f"{source.name}, line {source.line}: not CSV: {error}") from None
    if header is None and source.declared:
        raise FileError(f"{source.name}: expected a header, but the CSV is empty")
    if header is None:
        return
    source.separator = delimiter
    width = len(header)
    constant = [name for name in source.partitions if name in fields.names and name not in header]
    values_of_path = [str(source.partitions[name] or "") for name in constant]
    header = header + constant
    true = _column(header, fields.true, source)
    prediction, weight = (None if name is None else _column(header, name, source) for name in fields[1:3])
    time, group = (None if name is None else _column(header, name, source) for name in (fields.time, fields.group))
    scores = None if fields.scores is None else _scores(header, fields, source)
    while True:
        start = source.line + 1
        try:
            values = next(reader)
            if not values:
                continue
            if len(values) != width:
                raise ValueError(f"expected {width} fields as in the header, but got {len(values)}")
            if constant:
                values += values_of_path
            if not values[true] or (group is not None and not values[group]):
                raise ValueError(f"field {(fields.group if values[true] else fields.true)!r} is empty")
            predicted = None if prediction is None else values[prediction] or None
            amount = 1 if weight is None else weight_of(values[weight])
            row_scores = None if scores is None else scores(values)
            at = 0 if time is None else nanoseconds(values[time])
            row = values[true], predicted, amount, row_scores, source.line, at, None if group is None else values[group]
        except StopIteration:
            return
        except csv.Error as error:
            begun = f" (the record begins in line {start})" if start < source.line else ""
            bad(source.name, source.line, f"not CSV: {error}{begun}")
        except ValueError as error:
            bad(source.name, source.line, str(error))
        else:
            yield row


def _scores(header: list[str], fields: RowKeys, source: InputSource) -> Callable[[list[str]], Scores]:
    """Return a function that reads the scores of a record."""
    labels = fields.classes.labels
    names, columns = csv_columns(fields.scores or "", header, fields.names, labels, source.name)
    places = [_column(header, column, source) for column in columns]
    if names is None and not (fields.classes.both and isinstance(fields.classes.both[1], str)):
        raise UsageError(f"one column of scores needs {BOTH}")
    return csv_reader(names, header, places)


def _sniff_delimiter(header: str, fields: RowKeys) -> str:
    """Return the delimiter by which most of the fields are columns, of several the one of most columns."""

    def columns(delimiter: str) -> tuple[int, int]:
        names = next(csv.reader((header,), delimiter=delimiter))
        return sum(field_in(names, name) in names for name in fields.names), len(names)

    try:
        return max(DELIMITERS, key=columns)
    except csv.Error:  # it comes again when the header is read
        return DELIMITERS[0]


def _column(header: list[str], name: str, source: InputSource) -> int:
    name = field_in(header, name)
    if header.count(name) != 1:
        problem = "is there more than once in the header" if name in header else "is not in the header"
        separated = "" if len(header) < 2 else f", separated by {NAMES.get(source.separator, repr(source.separator))}"
        where = f"{source.name}, line {source.line}"
        raise FileError(f"{where}: column {name!r} {problem}, which has {listed(header)}{separated}{hint(name)}")
    return header.index(name)


def weight_of(value: object) -> int | float:
    """Return the weight that a field holds as a number; its range is checked where it is counted."""
    if isinstance(value, str):
        try:
            return int(value) if value.strip().isdecimal() else float(value)
        except ValueError:
            raise ValueError(f"expected the weight to be a number, but got {value!r}") from None
    if type(value) is int or type(value) is float:
        return value
    raise ValueError(f"expected the weight to be a number, but got {json.dumps(value)[:40]}")
