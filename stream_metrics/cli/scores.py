"""The scores that ``--scores`` names: one for each class, or one number, the score of ``--pos-label``.

In JSON Lines they are an object or a number; null and {} are no scores. `labels.class_names` says which classes keys
name; a key that names none of --labels, or no number where the truth is one, makes a bad record.

In CSV they are one column, or a column for each class; fields that are all empty are no scores. Classes are text.

The numbers of a record wait for their chunk as bytes: objects by the ten thousand would cost a fifth of the time.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stream_metrics.cli.errors import FileError, UsageError, listed
from stream_metrics.labels import Label
from stream_metrics.labels.class_names import ClassNames

BOTH = "both classes named: --labels A,B --pos-label B"
BOTH_NUMBERS = "both classes named: --labels '[1, 2]' --pos-label 2"
NUMBERS = {int, float, bool}
PLAIN = {str, *NUMBERS}

Scores: TypeAlias = "tuple[tuple[Label, ...], bytes | Sequence[object]] | float | None"  # (classes, their scores)
Row: TypeAlias = "dict[Label, object] | float | None"  # of one record, as `update` takes them
Take: TypeAlias = Callable[..., Sequence[str]]


class Classes(NamedTuple):
    """The classes of a state: a fixed set, and the two that one number tells apart, the scored one last."""

    labels: tuple[Label, ...] | None
    both: tuple[Label, Label] | None


class JsonScores:
    """Reads the scores of one record after another; the classes of a row of equal keys are looked up once."""

    def __init__(self, classes: Classes, listed_classes: tuple[str, ...] | None = None) -> None:
        self._classes, self._listed = classes, listed_classes
        self._keys = ClassNames(classes.labels)
        self._text = True
        self._names: tuple[Label, ...] = ()
        self._take: Take = tuple
        self._pack = struct.Struct("").pack

    def read(self, value: object, truth: object) -> Scores:
        """Return the scores that ``value`` holds; ValueError says why it holds none."""
        if type(value) is list:
            value = self._named_list(value)
        if type(value) is not dict:
            return self._single(value, truth)
        if not value:
            return None
        text = type(truth) not in NUMBERS
        if len(value) == len(self._names) and text is self._text:
            try:
                return self._names, self._pack(*self._take(value))
            except (KeyError, struct.error, OverflowError):
                pass
        self._names = self._named(tuple(value), truth, text)
        self._text, self._take = text, _taker(tuple(value))
        self._pack = struct.Struct(f"{len(value)}d").pack
        try:
            return self._names, self._pack(*value.values())
        except (struct.error, OverflowError):  # the state names the error
            return self._names, tuple(value.values())

    def _named_list(self, scores: list[object]) -> dict[str, object]:
        if self._listed is None:
            raise ValueError(
                f"expected the scores to be an object or a number, but got {json.dumps(scores)[:40]}; --classes A,B "
                "names the classes of a list"
            )
        if len(scores) != len(self._listed):
            raise ValueError(f"expected {len(self._listed)} scores, as --classes has, but got {len(scores)}")
        return dict(zip(self._listed, scores, strict=True))

    def _named(self, keys: tuple[str, ...], truth: object, text: bool) -> tuple[Label, ...]:
        names = tuple(self._keys.of(key, not text) for key in keys)
        if self._classes.labels is not None:
            wrong = "a class of --labels"
        else:
            wrong = f"a number, true or false, as the truth is, {json.dumps(truth)}"
        if None in names:
            raise ValueError(f"expected every key of the scores to be {wrong}, but got {keys[names.index(None)]!r}")
        if len(set(names)) < len(names):
            raise ValueError(f"expected one score for each class, but got the keys {listed(keys)}")
        return tuple(name for name in names if name is not None)

    def _single(self, value: object, truth: object) -> float | None:
        """Return one number for all classes, refused unless the truth is one of the two that it tells apart."""
        if value is None:
            return None
        if type(value) is not float and type(value) is not int:
            raise ValueError(f"expected the scores to be an object or a number, but got {json.dumps(value)[:40]}")
        both = self._classes.both
        if both is None:
            raise ValueError(f"one number as the scores needs {BOTH}")
        if type(truth) in PLAIN and truth not in both:
            raise ValueError(
                f"one number as the scores tells {_shown(both[1])} from {_shown(both[0])}, but the truth is "
                f"{_shown(truth)}: it needs {BOTH if isinstance(truth, str) else BOTH_NUMBERS}"
            )
        return float(value)


def _shown(label: object) -> str:
    """Return a label as JSON writes it, which may be a label that JSON does not have."""
    return json.dumps(label, default=repr)


def csv_columns(
    spec: str, header: list[str], other: list[str], labels: tuple[Label, ...] | None, source: str
) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the classes and their columns that ``spec`` stands for; classes are None for a single column.

    ``spec`` is a column, or class=column,class=column, or a pattern whose * stands for the class; ``other`` are columns
    that the pattern leaves out.
    """
    if spec in header or not ("=" in spec or "*" in spec):
        return None, [spec]
    pairs = _listed_columns(spec) if "=" in spec else _matching_columns(spec, [c for c in header if c not in other])
    if not pairs:
        raise FileError(f"{source}: no column is like {spec!r} of --scores; the header has {listed(header)}")
    names = tuple(name for name, _ in pairs)
    unknown = [] if labels is None else [name for name in names if name not in labels]
    if unknown:
        raise UsageError(f"--scores has the class {unknown[0]!r}, but --labels has {listed(labels or ())}")
    return names, [column for _, column in pairs]


def _listed_columns(spec: str) -> list[tuple[str, str]]:
    pairs = [part.partition("=")[::2] for part in spec.split(",")]
    names = [name for name, _ in pairs]
    if not all(name and column for name, column in pairs) or len(set(names)) < len(names):
        raise UsageError(f"expected --scores as class=column,class=column with distinct classes, but got {spec!r}")
    return pairs


def _matching_columns(spec: str, header: list[str]) -> list[tuple[str, str]]:
    if spec.count("*") != 1:
        raise UsageError(f"expected one * in --scores, for the name of the class, but got {spec!r}")
    start, end = spec.split("*")
    least = len(start) + len(end)
    columns = [c for c in header if len(c) > least and c.startswith(start) and c.endswith(end)]
    return [(column[len(start) : len(column) - len(end)], column) for column in columns]


def _taker(keys: tuple[str | int, ...]) -> Take:
    """Return a function that reads the values of ``keys``."""
    if len(keys) == 1:
        return lambda values: (values[keys[0]],)
    return itemgetter(*keys)


def csv_reader(names: tuple[str, ...] | None, header: list[str], places: list[int]) -> Callable[[list[str]], Scores]:
    """Return a function from the fields of a record to its scores; it raises ValueError naming the column."""
    take, pack = _taker(tuple(places)), struct.Struct(f"{len(places)}d").pack

    def read(values: list[str]) -> Scores:
        texts = take(values)
        try:
            numbers = list(map(float, texts))
        except ValueError:
            if not any(texts):
                return None
            numbers = [_number(text, header[place]) for text, place in zip(texts, places, strict=True)]
        return numbers[0] if names is None else (names, pack(*numbers))

    return read


def _number(text: str, column: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected the score in column {column!r} to be a number, but got {text!r}") from None


def table(rows: list[Scores]) -> tuple[NDArray[np.float64] | list[Row], tuple[Label, ...] | None]:
    """Return the scores of several records as ``update_many`` takes them, and the classes if it is an array of them."""
    first = rows[0]
    if isinstance(first, tuple):
        names = first[0]
        packed = [row[1] for row in rows if type(row) is tuple and row[0] is names and type(row[1]) is bytes]
        if len(packed) == len(rows):
            return np.frombuffer(b"".join(packed)).reshape(len(rows), len(names)), names
    return [sample(row) for row in rows], None


def sample(row: Scores) -> Row:
    """Return the scores of one record as ``update`` takes them."""
    if not isinstance(row, tuple):
        return row
    names, values = row
    if isinstance(values, bytes):
        values = struct.unpack(f"{len(names)}d", values)
    return dict(zip(names, values, strict=True))
