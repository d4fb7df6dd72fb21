"""Records to events: JSON with nested fields, or a decoder that is named by an entry point.

A compiled reader takes records one after another and knows plain events (see ``stream_metrics.monitor._core``); what it
does not know is read here, in a way that takes longer and can say what is wrong.

`msgspec` parses JSON in a fifth of the time of the standard library. What it refuses is tried again with the standard
library, which also reads NaN and lone surrogates. (orjson takes 15 to 40 % longer for an event with three scores.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points

import msgspec

from stream_metrics.inputs.field_names import ID, spellings
from stream_metrics.inputs.times import parse_duration
from stream_metrics.monitor._core.kernels import Reader
from stream_metrics.monitor.config import CountingTable, FieldsTable
from stream_metrics.monitor.events.checking import EARLIEST, HEAVIEST, LIGHTEST, RejectedRecord, ScoreParser, checker
from stream_metrics.monitor.events.records import MISSING, Checked, Event, Events, Record, Rejected

__all__ = ["GROUP", "Decoder", "shortened"]

GROUP = "stream_metrics.decoders"
loads = msgspec.json.Decoder().decode
ERRORS = (ValueError, RecursionError)  # those of msgspec are ValueErrors


class Decoder:
    """Reads records: the events that they hold, and why others hold none.

    Raises ``ValueError`` if there is no decoder of the name that `fields` has, or more than one.
    """

    def __init__(self, fields: FieldsTable, counting: CountingTable, ahead: str = "10m") -> None:
        parser = ScoreParser(counting)
        self._check = checker(counting, parser)
        self._ahead = parse_duration(ahead, "ahead", zero=True) / 1e9
        self._decode = None if fields.decoder == "json" else _entry_point(fields)
        names = fields.id, fields.time, fields.truth, fields.prediction, fields.scores, fields.weight, fields.group
        self._names = tuple(map(spellings, names))
        self._rejected: list[Rejected] = []
        find = None if "." not in "".join(names) else self._fields
        self._reader = Reader(
            self._decode or loads,
            self._names,
            find if self._decode is None else tuple,
            self._unusual,
            parser.shape,
            MISSING,
            counting.labels,
            parser.keeps_scores,
            parser.low,
            parser.high,
            EARLIEST,
            LIGHTEST,
            HEAVIEST,
        )

    def read(self, records: Sequence[Record], now: float) -> tuple[Events, list[Rejected]]:
        """Return the events of records, and the records that were rejected."""
        self._rejected = []
        columns = self._reader.read(list(records), now, now + self._ahead)
        return Events._make(columns), self._rejected

    def _unusual(self, record: Record, now: float, latest: float) -> Checked | None:
        """Return an event that the compiled reader leaves to Python, or None if it is rejected."""
        try:
            key, time, truth, prediction, scores, weight, group = self._value(record)
            if time is MISSING or time is None:
                time = now if record[4] is None else record[4]
            return self._check(key, time, truth, prediction, scores, weight, group, latest)
        except RejectedRecord as refused:
            self._rejected.append(Rejected(*record[:3], refused.reason, shortened(refused)))
            return None

    def _value(self, record: Record) -> Sequence[object]:
        """Return the seven fields of a record; the ID of a pair that has none is its position."""
        value = record.value
        if value is None:
            raise RejectedRecord("decode", "a record without a value")
        if self._decode is None:
            fields = self._fields(_parsed(value))
            if fields[0] is MISSING and not (self._names[0] == (ID,) and _is_pair(fields)):
                raise RejectedRecord("field", f"no field {self._names[0][0]!r} in {value!r:.150}")
            if fields[0] is MISSING:
                fields[0] = f"{record.topic}[{record.partition}]@{record.offset}"
            return fields
        try:
            key, time, truth, prediction, scores, weight, group = self._decode(value)
        except Exception as error:  # whatever a foreign decoder raises is about this record
            raise RejectedRecord("decode", f"{type(error).__name__}: {error}") from error
        return key, time, truth, prediction, scores, weight, group

    def _fields(self, value: object) -> list[object]:
        if not isinstance(value, dict):
            raise RejectedRecord("decode", f"no JSON object, but {value!r:.60}")
        return [_field(value, name) for name in self._names]


def shortened(error: object) -> str:
    """Return what an error says, at most 200 characters of it."""
    return str(error)[:200]


def _parsed(line: bytes) -> object:
    """Return the value of a record; RejectedRecord if it has none."""
    for parse in (loads, json.loads):
        try:
            return parse(line)
        except json.JSONDecodeError as error:
            refused = RejectedRecord("decode", f"not JSON: {error.msg} at column {error.colno}")
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            refused = RejectedRecord("decode", f"not UTF-8 text: byte 0x{byte:02x} at {error.start}")
        except ERRORS as error:
            refused = RejectedRecord("decode", f"not JSON: {error}")
    raise refused


def _is_pair(fields: Sequence[object]) -> bool:
    """Tell whether fields have a truth and a prediction, so that nothing is left to be joined."""
    _, _, truth, prediction, scores, _, _ = fields
    predicted = prediction is not MISSING or not (scores is MISSING or scores is None)
    return predicted and not (truth is MISSING or truth is None)


def _field(record: Mapping[str, object], names: tuple[str, ...]) -> object:
    """Return the value of the first key that the record has, or else of a path of keys joined by dots."""
    for name in names:
        if name in record:
            return record[name]
    return _along(record, names[0].split(".")) if "." in names[0] else MISSING


def _along(value: object, path: Iterable[str]) -> object:
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return MISSING
        value = value[part]
    return value


def _entry_point(fields: FieldsTable) -> Callable[[bytes], Event]:
    points = entry_points(group=GROUP, name=fields.decoder)
    if len(points) != 1:
        names = sorted({point.name for point in entry_points(group=GROUP)} | {"json"})
        raise ValueError(f"Expected `decoder` to name one of {names}, but got {fields.decoder!r}")
    (point,) = points
    decode: Callable[[bytes], Event] = point.load()(fields)
    return decode
