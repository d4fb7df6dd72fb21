"""Files of lines, JSON Lines and CSV, as batches of columns.

A prediction that is null, or an empty CSV field, is None: an abstention. A field that is absent is an error, never an
abstention: a misspelt name would otherwise look like a model that never answers. Nor is an empty truth or group in a
CSV one without a name: it is missing. JSON values keep their type; CSV values are text, but for weights, times and
scores, which are numbers. What is no number stays text, which the state refuses by the name of the field.
"""

from __future__ import annotations

import csv
import itertools
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import msgspec
import numpy as np

from stream_metrics.cli.errors import FileError, UsageError, listed
from stream_metrics.cli.sources import Batch, Fields, InputSource
from stream_metrics.inputs.arguments import Y_PRED, Y_TRUE, field_in, spellings

CHUNK = 8192
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}  # that the header of a CSV may tell
HINTS = {
    Y_TRUE: "; --true FIELD names the truth",
    Y_PRED: "; --pred FIELD names the prediction, and --scores takes it from scores",
}  # for a field that is missing, if its name is a default
Columns: TypeAlias = dict[str, Any]
Rows: TypeAlias = tuple[Iterator[Sequence[Any]], Callable[[list[Any]], Columns]]  # and what makes columns of some


def batches(source: InputSource, fields: Fields, room: Callable[[], int]) -> Iterator[Batch]:
    """Yield the records, at most as many at a time as there is room for.

    Ctrl-C while a record is awaited raises after the batch of those that were read.
    """
    rows, columns_of = (_json if source.format == "jsonl" else _csv)(source, fields)
    ended = interrupted = False
    while not ended:
        taken: list[Sequence[Any]] = []
        most = min(room() or CHUNK, CHUNK)
        try:
            taken.extend(itertools.islice(rows, most))
            ended = len(taken) < most
        except KeyboardInterrupt:  # what came before it is in the list
            ended = interrupted = True
        numbers, refused = source.numbers[: len(taken)], source.refused[:]
        del source.numbers[:], source.refused[:]
        if taken or refused:
            yield Batch(columns_of(taken) if taken else {}, numbers, refused)
    if interrupted:
        raise KeyboardInterrupt


def _json(source: InputSource, fields: Fields) -> Rows:
    arguments, names = list(fields.named), list(fields.named.values())
    if fields.scores is not None:
        arguments.append("scores")
        names.append(fields.scores)
    take, decode = _taker(names), msgspec.json.Decoder().decode

    def rows() -> Iterator[Sequence[Any]]:
        done, note = source.done, source.numbers.append
        for text in source.text():
            try:
                try:
                    record = decode(text)
                except (ValueError, RecursionError):  # of numbers, too, that JSON does not have
                    if not text.strip():
                        continue
                    record = _json_value(text)
                try:
                    row = take(record)
                except (LookupError, TypeError):
                    row = _fields_of(record, names, source.partitions, text)
            except (ValueError, RecursionError) as error:
                if source.refuse(str(error)):
                    return
            else:
                if source.line > done:
                    note(source.line)
                    yield row

    def columns_of(taken: list[Any]) -> Columns:
        columns: Columns = dict(zip(arguments, map(list, zip(*taken, strict=True)), strict=True))
        if "t" in columns:
            columns["t"] = list(map(_number, columns["t"]))
        if fields.scores is not None:
            columns["scores"], columns["classes"] = _as_table(columns["scores"], fields.classes)
        return columns

    return rows(), columns_of


def _json_value(text: str) -> Any:
    """Return what a line of JSON holds; NaN, infinite numbers and lone surrogates as Python reads them."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        text = text.strip()
        advice = _lines_of_json(text) if error.pos >= len(text) else ""
        raise ValueError(f"not JSON: {error.msg} at column {error.colno}{advice}") from None


def _lines_of_json(text: str) -> str:
    """Return how JSON that begins so, and has several lines or a list of records, becomes JSON Lines."""
    command = {"{": "jq -c .", "[": "jq -c '.[]'"}.get(text[0])
    return "" if command is None else f"; each line has to be one object, as {command} writes them"


def _fields_of(record: object, names: list[str], partitions: dict[str, object], text: str) -> list[object]:
    """Return the values of a record in which a field has another spelling, or is a path of keys joined by dots."""
    if type(record) is not dict:
        raise ValueError(f"expected a JSON object, but got {text.strip()[:40]}{_lines_of_json(text.strip())}")
    values: list[object] = []
    record = partitions | record
    for name in names:
        spelling = next((spelling for spelling in spellings(name) if spelling in record), None)
        value: object = record
        for key in name.split(".") if spelling is None else (spelling,):
            if type(value) is not dict or key not in value:
                raise ValueError(f"no field {name!r}; the record has {listed(record)}{hint(name)}")
            value = value[key]
        values.append(value)
    return values


def _as_table(rows: list[Any], classes: tuple[str, ...] | None) -> tuple[Any, Any]:
    """Return objects of scores with the same keys as a table and its classes, other scores as they are.

    As objects they would take ten times as long.
    """
    keys = tuple(rows[0]) if type(rows[0]) is dict else ()
    try:
        if keys and set(map(len, rows)) == {len(keys)}:
            numbers = array("d", itertools.chain.from_iterable(map(_taker(keys), rows)))
            return np.frombuffer(numbers).reshape(len(rows), len(keys)), keys
    except (LookupError, TypeError, OverflowError):  # the state refuses what is no number
        pass
    return rows, classes


def hint(name: str) -> str:
    """Return how a field that is missing is named, if its name is a default."""
    return HINTS.get(name, "")


def _taker(keys: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
    """Return a function that takes the values of keys."""
    if len(keys) < 2:
        return lambda values: [values[key] for key in keys]
    return itemgetter(*keys)


def _number(value: Any) -> Any:
    """Return the number that a text spells, anything else as it is."""
    try:
        return value if type(value) is not str else int(value) if value.isdecimal() else float(value)
    except ValueError:
        return value


def _csv(source: InputSource, fields: Fields) -> Rows:
    lines = source.text()
    first = next((line for line in lines if line.strip("\r\n")), "")
    delimiter = fields.delimiter or _sniff_delimiter(first, fields)
    reader = csv.reader(itertools.chain((first,), lines), strict=True, delimiter=delimiter)
    try:
        header = next((values for values in reader if values), None)
    except csv.Error as error:
        raise FileError(f"{source.name}, line {source.line}: not CSV: {error}") from None
    if header is None and source.declared and not source.refused:
        raise FileError(f"{source.name}: expected a header, but the CSV is empty")
    if header is None:
        return iter(()), dict
    source.separator = delimiter
    partitions = source.partitions
    constants = {key: partitions[name] for key, name in fields.named.items() if name in partitions.keys() - {*header}}
    arguments = [key for key in fields.named if key not in constants]
    places = [_column(header, fields.named[key], source) for key in arguments]
    names: tuple[str, ...] | None = ()
    if fields.scores is not None:
        names, columns = score_columns(fields.scores, header, fields.named.values(), source.name)
        places += [_column(header, column, source) for column in columns]
    take, width = _taker(places), len(header)

    def rows() -> Iterator[Sequence[Any]]:
        line, done, note = source.line, source.done, source.numbers.append
        while True:
            try:
                for values in reader:
                    if len(values) == width:
                        line = source.line
                        if line > done:
                            note(line)
                            yield take(values)
                    elif values:
                        line = source.line
                        if source.refuse(f"expected {width} fields as in the header, but got {len(values)}"):
                            return
                return
            except csv.Error as error:
                begun = f" (the record begins in line {line + 1})" if line + 1 < source.line else ""
                line = source.line
                if source.refuse(f"not CSV: {error}{begun}"):
                    return

    def columns_of(taken: list[Any]) -> Columns:
        by_place = list(map(list, zip(*taken, strict=True)))
        columns: Columns = dict(zip(arguments, by_place, strict=False))
        for key, column in columns.items():
            if "" in column:
                columns[key] = [value or None for value in column]
        columns |= {key: list(map(_number, columns[key])) for key in ("w", "t") if key in columns}
        if fields.scores is not None:
            columns["scores"], columns["classes"] = _score_rows(by_place[len(arguments) :], names)
        return columns | {key: [value] * len(taken) for key, value in constants.items()}

    return rows(), columns_of


def _score_rows(texts: list[list[str]], names: tuple[str, ...] | None) -> tuple[Any, Any]:
    """Return columns of scores as a table and its classes, or as rows where some are empty or no numbers."""
    if names is None:
        return [_number(text) if text else None for text in texts[0]], None
    try:
        return np.column_stack([list(map(float, column)) for column in texts]), names
    except ValueError:
        rows = zip(*texts, strict=True)
        return [dict(zip(names, map(_number, row), strict=True)) if any(row) else None for row in rows], None


def _sniff_delimiter(header: str, fields: Fields) -> str:
    """Return the delimiter by which most of the fields are columns, of several the one of most columns."""

    def columns(delimiter: str) -> tuple[int, int]:
        names = next(csv.reader((header,), delimiter=delimiter))
        return sum(field_in(names, name) in names for name in fields.named.values()), len(names)

    try:
        return max(DELIMITERS, key=columns)
    except csv.Error:  # it comes again when the header is read
        return ","


def _column(header: list[str], name: str, source: InputSource) -> int:
    name = field_in(header, name)
    if header.count(name) != 1:
        problem = "is there more than once in the header" if name in header else "is not in the header"
        separator = DELIMITERS.get(source.separator, repr(source.separator))
        separated = "" if len(header) < 2 else f", separated by {separator}"
        where = f"{source.name}, line {source.line}"
        raise FileError(f"{where}: column {name!r} {problem}, which has {listed(header)}{separated}{hint(name)}")
    return header.index(name)


def score_columns(
    spec: str, header: Sequence[str], other: Iterable[str], source: str
) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the classes and their columns that ``spec`` stands for; classes are None for a single column.

    ``spec`` is a column, or class=column,class=column, or a pattern whose * stands for the class; ``other`` are columns
    that the pattern leaves out.
    """
    if spec in header or not ("=" in spec or "*" in spec):
        return None, [spec]
    if "=" in spec:
        pairs = [part.partition("=")[::2] for part in spec.split(",")]
        if not all(map(all, pairs)) or len(dict(pairs)) < len(pairs):
            raise UsageError(f"expected --scores as class=column,class=column with distinct classes, but got {spec!r}")
    else:
        if spec.count("*") != 1:
            raise UsageError(f"expected one * in --scores, for the name of the class, but got {spec!r}")
        start, end = spec.split("*")
        columns = [name for name in header if name not in {*other} and name.startswith(start) and name.endswith(end)]
        pairs = [(name[len(start) : len(name) - len(end)], name) for name in columns if len(name) > len(start + end)]
    if not pairs:
        raise FileError(f"{source}: no column is like {spec!r} of --scores; the header has {listed(header)}")
    return tuple(name for name, _ in pairs), [column for _, column in pairs]
