"""Lines to records: JSON Lines and CSV to rows of (truth, prediction, weight, line).

A prediction that is null, or an empty CSV field, is None: an abstention. A field that is absent is an error, never an
abstention: a misspelt name would otherwise look like a model that never answers. Nor is an empty truth in a CSV a class
without a name: it is an error. JSON values keep their type; CSV values are text.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from stream_metrics.cli.problems import Problem
from stream_metrics.cli.sources import BadRecord, Source

__all__ = ["Fields", "Row", "rows"]

Row: TypeAlias = tuple[Any, Any, "int | float", int]


class Fields(NamedTuple):
    """The names of the three fields; without ``weight`` every record weighs 1."""

    true: str
    prediction: str
    weight: str | None


def rows(source: Source, fields: Fields, bad: BadRecord) -> Iterator[Row]:
    """Yield the records of ``source``; what is no record goes to ``bad``."""
    return (_json_rows if source.format == "jsonl" else _csv_rows)(source, fields, bad)


def _json_rows(source: Source, fields: Fields, bad: BadRecord) -> Iterator[Row]:
    decode = json.JSONDecoder().decode
    truth, prediction = _getter(fields.true), _getter(fields.prediction)
    weight = _getter(fields.weight) if fields.weight is not None else None
    for text in source.text(bad):
        if text.isspace():
            continue
        try:
            record = decode(text)
            if type(record) is not dict:
                raise ValueError(f"expected a JSON object, but got {text.strip()[:40]}")
            amount = 1 if weight is None else _number(weight(record))
            row = truth(record), prediction(record), amount, source.line
        except json.JSONDecodeError as error:
            bad(source.name, source.line, f"not JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:
            bad(source.name, source.line, str(error))
        else:
            yield row


def _getter(name: str) -> Callable[[dict[str, Any]], Any]:
    """Return a reader of the field ``name``: a key of the record, or else a path of keys joined by dots."""
    parts = name.split(".")

    def get(record: dict[str, Any]) -> Any:
        if name in record:
            return record[name]
        value: Any = record
        for part in parts:
            if type(value) is not dict or part not in value:
                raise ValueError(f"no field {name!r}; the record has {_listed(record)}")
            value = value[part]
        return value

    return get


def _csv_rows(source: Source, fields: Fields, bad: BadRecord) -> Iterator[Row]:
    reader = csv.reader(source.text(bad), strict=True)
    header = _header(reader, source)
    if header is None:
        return
    true, prediction = _column(header, fields.true, source), _column(header, fields.prediction, source)
    weight = _column(header, fields.weight, source) if fields.weight is not None else None
    while True:
        start = source.line + 1
        try:
            values = next(reader)
            if not values:
                continue
            if len(values) != len(header):
                raise ValueError(f"expected {len(header)} fields as in the header, but got {len(values)}")
            if not values[true]:
                raise ValueError(f"field {fields.true!r} is empty")
            amount = 1 if weight is None else _number(values[weight])
            row = values[true], values[prediction] or None, amount, source.line
        except StopIteration:
            return
        except csv.Error as error:
            begun = f" (the record begins in line {start})" if start < source.line else ""
            bad(source.name, source.line, f"not CSV: {error}{begun}")
        except ValueError as error:
            bad(source.name, source.line, str(error))
        else:
            yield row


def _header(reader: Iterator[list[str]], source: Source) -> list[str] | None:
    try:
        return next((values for values in reader if values), None)
    except csv.Error as error:
        raise Problem(f"{source.name}, line {source.line}: not CSV: {error}") from None


def _column(header: list[str], name: str, source: Source) -> int:
    if header.count(name) != 1:
        found = "is there more than once" if name in header else "is not in the header"
        raise Problem(f"{source.name}, line {source.line}: column {name!r} {found}, which has {_listed(header)}")
    return header.index(name)


def _number(value: Any) -> int | float:
    """Return a weight as a number; its range is checked where it is counted."""
    if isinstance(value, str):
        try:
            return int(value) if value.strip().isdecimal() else float(value)
        except ValueError:
            raise ValueError(f"expected the weight to be a number, but got {value!r}") from None
    if type(value) is int or type(value) is float:
        return value
    raise ValueError(f"expected the weight to be a number, but got {json.dumps(value)[:40]}")


def _listed(names: dict[str, Any] | list[str]) -> str:
    shown = [repr(name) for name in list(names)[:8]]
    return (", ".join(shown) or "none") + (", ..." if len(names) > len(shown) else "")
