"""Records to events: JSON with nested fields, or a decoder that is named by an entry point.

Scores of an event are bytes: a double for each of its classes, little-endian. They take a sixth of the memory of a
mapping, are written as they are, and those of many events are a table once they are put together.

Events are checked when they arrive, not when they are joined, so the record at fault is the one that is rejected.

Classes that are no text have scores whose keys are text, since keys of JSON are: `labels.class_names` says what they
name. Where that depends on the truth, which comes later, keys stay as they are until the event is counted; but where
the prediction (or else the truth) of the event is a number, true or false, each key must be one.

A compiled reader takes records one after another and knows plain events (see ``stream_metrics.monitor._core``); what it
does not know is read here, in a way that takes longer and can say what is wrong.

`msgspec` parses JSON in a fifth of the time of the standard library. What it refuses is tried again with the standard
library, which also reads NaN and lone surrogates. (orjson takes 15 to 40 % longer for an event with three scores.)
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, TypeAlias, TypeGuard, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import StreamMetricsError
from stream_metrics.inputs.arguments import ID, spellings
from stream_metrics.inputs.times import LIMIT, nanoseconds, parse_duration
from stream_metrics.labels import Label, canonical, most_likely
from stream_metrics.labels.class_names import ClassNames
from stream_metrics.labels.pos_label import check_whole
from stream_metrics.monitor._core.kernels import Reader
from stream_metrics.monitor.config import CountingTable, FieldsTable
from stream_metrics.monitor.events.records import (
    MISSING,
    Checked,
    Classes,
    Event,
    Events,
    Prediction,
    Record,
    Rejected,
    Scores,
    Truth,
)

DOUBLE = 8  # bytes


def packed(values: Iterable[float]) -> bytes:
    """Return numbers as bytes."""
    numbers = tuple(values)
    return struct.pack(f"<{len(numbers)}d", *numbers)


def mapping(scores: bytes, classes: Sequence[Label]) -> dict[Label, float]:
    """Return the scores by class."""
    return dict(zip(classes, struct.unpack(f"<{len(classes)}d", scores), strict=True))


def table(rows: Sequence[bytes], width: int) -> NDArray[np.float64]:
    """Return the scores of events that have equally many, one row for each."""
    return np.frombuffer(b"".join(rows), "<f8").reshape(-1, width)


PLAIN = {str, int, bool}
EARLIEST = -LIMIT / 1e9
LATEST = LIMIT / 1e9
MOST_NAMES = 10_000
LIGHTEST = 2.0**-64  # the unit of weights: less would be rounded, to 0 if it is below half of it
HEAVIEST = 2.0**53  # so that no single event can take up the 2**63 that all weights together may have

Check: TypeAlias = Callable[[object, object, object, object, object, object, object, float], Checked]


class RejectedRecord(ValueError):
    """A record that cannot be counted: one of REASONS, and a text that explains it."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def checker(counting: CountingTable, parser: ScoreParser) -> Check:
    """Return a function of the fields of an event and the latest time allowed to the event as it is joined.

    Where there are scores but no prediction, that is None: its label is that of the largest score. The function raises
    ``RejectedRecord``.
    """
    allowed = frozenset(counting.labels) if counting.labels else None

    def check_label(value: Any, name: str) -> Prediction:
        if value is MISSING or value is None:
            return value
        label = value if type(value) in PLAIN else _label(value, name, "label", cast(Classes, counting.labels))
        if allowed is not None and label not in allowed:
            raise RejectedRecord("label", f"{name} {label!r} is none of the labels {list(counting.labels)}")
        return label

    def check(
        key: Any, time: Any, truth: Any, prediction: Any, scores: object, weight: Any, group: Any, latest: float
    ) -> Checked:
        if type(key) is not str and type(key) is not int:
            key = _key(key)
        if type(time) is not float:
            time = seconds(time)
        if not EARLIEST < time <= latest:
            raise _wrong_time(time, latest)
        truth = MISSING if truth is None else check_label(truth, "truth")
        prediction = check_label(prediction, "prediction")
        classes = None
        if scores is MISSING or scores is None:
            scores = None
        else:
            prediction, scores, classes = parser.read(scores, prediction, truth)
        if weight is MISSING or weight is None:
            weight = None
        elif (type(weight) is not int and type(weight) is not float) or not 0 <= weight <= HEAVIEST:
            raise RejectedRecord("weight", f"weight {weight!r} is not a number from 0 to 2**53")
        elif 0 < weight < LIGHTEST:
            raise RejectedRecord("weight", f"weight {weight!r} is less than 2**-64, the least that is counted")
        if group is MISSING or group is None:
            group = None
        elif type(group) not in PLAIN:
            group = _label(group, "group", "field")
        if prediction is MISSING and truth is MISSING:
            raise RejectedRecord("field", "neither a prediction, nor scores, nor a truth")
        return Checked(key, time, truth, prediction, scores, weight, group, classes)

    return check


class ScoreParser:
    """Scores of one event after another."""

    def __init__(self, counting: CountingTable) -> None:
        self.keeps_scores = counting.scores is not False
        self.low, self.high = (0.0, 1.0) if counting.scores is True else (-sys.float_info.max, sys.float_info.max)
        self._labels = cast(Classes, counting.labels)
        self._allowed = frozenset(counting.labels)
        self._most = counting.max_classes
        self._texts = all(type(label) is str for label in counting.labels)
        self._names = ClassNames(self._labels or None)
        self._named: dict[str, Label | None] = {}  # labels by key, None for a key that names none
        self._shapes: dict[tuple[Classes, bool], Classes] = {}

    def _may_be(self, score: object) -> TypeGuard[float]:
        return (type(score) is float or type(score) is int) and self.low <= score <= self.high

    def read(
        self, scores: object, prediction: Prediction, truth: Truth
    ) -> tuple[Prediction, Scores, Classes | None]:
        """Return the prediction, the scores and their classes as they are joined."""
        given = prediction is not MISSING and prediction is not None
        if given and not self.keeps_scores:
            return prediction, None, None
        parsed = scores if isinstance(scores, dict) else self._other(scores)
        if isinstance(parsed, dict):
            if not parsed:  # an abstention, as everywhere
                return prediction if given else None, None, None
            if not self._labels and len(parsed) > self._most:
                raise RejectedRecord("score", f"scores of {len(parsed):,} classes, where max_classes is {self._most:,}")
            if not all(map(self._may_be, parsed.values())):
                raise self._wrong(list(parsed.values())[:20])
            parsed = self.named(parsed, prediction if given else truth)
        if not self.keeps_scores and not self._waits(parsed):
            return _largest(parsed), None, None
        prediction = prediction if given else None
        if isinstance(parsed, dict):
            return prediction, packed(parsed.values()), tuple(parsed)
        return prediction, parsed, None

    def _waits(self, scores: float | dict[Label, float]) -> bool:
        """Tell whether the label of the largest score cannot be known before the truth: keys may be text or numbers."""
        if self._labels or not isinstance(scores, dict):
            return False
        return any(type(key) is str and self._label(key) is not None for key in scores)

    def _wrong(self, score: object) -> RejectedRecord:
        bounds = "in [0, 1]" if self.high == 1.0 else "finite"
        return RejectedRecord("score", f"expected each score to be a number, {bounds}, but got {score!r}")

    def _other(self, scores: object) -> float | dict[Any, Any]:
        """Return a list as a mapping, a single number as it is."""
        if type(scores) is list or type(scores) is tuple:
            if not scores or len(scores) != len(self._labels):
                raise RejectedRecord("score", f"{len(scores)} scores in a list for {len(self._labels)} labels")
            return dict(zip(self._labels, scores, strict=True))
        if not self._may_be(scores):
            raise self._wrong(scores)
        return scores

    def named(self, scores: dict[Any, float], hint: object) -> dict[Label, float]:
        """Return the scores with labels as their keys, as far as these follow without the truth."""
        if self._labels:
            if self._texts and scores.keys() <= self._allowed:
                return scores
            names: list[Any] = [self._label(key) if type(key) is str else key for key in scores]
            wrong = f"one of the labels {list(self._labels)}"
        elif hint is MISSING or type(hint) is str or any(type(key) is not str for key in scores):
            return scores
        else:
            names = [self._label(key) for key in scores]
            wrong = f"a number, true or false, as {hint!r} is"
        if None in names or not (not self._labels or self._allowed.issuperset(names)):
            raise RejectedRecord("score", f"expected each key of the scores to be {wrong}, but got {list(scores)[:20]}")
        if len(set(names)) < len(names):
            raise RejectedRecord("score", f"two scores of one label, in the keys {list(scores)[:20]}")
        return dict(zip(names, scores.values(), strict=True)) if self._labels else scores

    def shape(self, names: Classes, text: bool) -> Classes | None:
        """Return the classes that keys of scores stand for beside labels that are text, or not; None if any is none."""
        key = names, text
        if key not in self._shapes:
            if not names or set(map(type, names)) != {str} or (not self._labels and len(names) > self._most):
                return None
            if len(self._shapes) >= MOST_NAMES:
                self._shapes.clear()
            try:
                self._shapes[key] = tuple(self.named(dict.fromkeys(names, 0.0), MISSING if text else 0))
            except RejectedRecord:
                return None
        return self._shapes[key]

    def _label(self, key: str) -> Label | None:
        """Return the label that a key names where classes are no text; None if it names none."""
        if key not in self._named:
            if len(self._named) >= MOST_NAMES:
                self._named.clear()
            self._named[key] = self._names.of(key, True)
        return self._named[key]


def _largest(scores: float | dict[Label, float]) -> Label:
    if not isinstance(scores, dict):
        raise RejectedRecord("score", f"a single score, {scores!r}, names no class where no scores are counted")
    try:
        return most_likely(scores, "scores")
    except StreamMetricsError as error:
        raise RejectedRecord("score", str(error)) from None


def _label(value: object, name: str, reason: str, named: Iterable[Label] | None = None) -> Label:
    """Return a label; one that is counted (`named` are those of the configuration) has a fraction only if they have."""
    try:
        label = canonical(value, name)
        if named is not None:
            check_whole(label, named, name)
        return label
    except StreamMetricsError as error:
        raise RejectedRecord(reason, str(error)) from None


def _key(value: object) -> Label:
    """Return an id in the one form in which equal ids are written alike."""
    if value is MISSING or value is None:
        raise RejectedRecord("field", "no id")
    key = _label(value, "id", "field")
    return int(key) if isinstance(key, int | float) and key == int(key) else key


def seconds(value: object) -> float:
    """Return a time in seconds since 1970; RejectedRecord if it is none."""
    if type(value) is int and EARLIEST < value < LATEST:
        return float(value)
    try:
        return nanoseconds(value) / 1e9
    except (TypeError, ValueError) as error:
        raise RejectedRecord("time", str(error)) from None


def _wrong_time(time: float, latest: float) -> RejectedRecord:
    if not EARLIEST < time < LATEST:
        return RejectedRecord("time", f"time {time!r} is not from 1824 to 2115")
    return RejectedRecord("time", f"time {time!r} is {time - latest:.0f} s further ahead of the clock than is allowed")


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
