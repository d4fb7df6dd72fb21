"""What a label is, and in which order labels are reported.

A label is a ``str``, ``int``, ``bool``, finite ``float``, ``bytes``, or a tuple of these. NumPy and other
zero-dimensional scalars become the Python value that they hold; instances of subclasses (``IntEnum``, ``np.str_``)
become the plain base type. A whole ``Decimal`` becomes an int, one that a float equals a float, and a ``date`` its ISO
text, which is what the same value is in CSV and JSON; any other ``Decimal`` and every other time is refused, because
its text or its float would not be exact. Equality is Python's: ``True``, ``1`` and ``1.0`` are one label. A label that
is a number is shown in the narrowest type in which it was seen (bool, int, float), which the counters track; a number
inside a tuple is shown as an int if it equals one.

What is counted can be written, read, and shown as text, so labels have limits, the same wherever one comes in. An int
has at most 2,048 bits: that is under 640 digits, the most that Python always writes as text. Text has at most 2**20
characters, and bytes at most 2**20 bytes. Tuples are nested at most 32 deep, and are as long as text at most, where an
item at any depth counts as 1,024 characters besides its own.

The order of report is by type first (numbers, text, bytes, tuples), then by value, so it never depends on arrival.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from stream_metrics.errors import LabelError, ScoreError

Label: TypeAlias = str | int | float | bytes | tuple["Label", ...]

ALLOWED = "a str, int, bool, finite float, bytes, or a tuple of these"
DEEPEST, LONGEST, LARGEST_INT = 32, 2**20, 2048  # levels of tuples, characters or bytes, bits
ITEM = 1024  # characters that an item of a tuple counts as


def canonical(value: object, argument: str = "label", position: int | None = None) -> Label:
    """Return the label that ``value`` stands for, as a plain Python object.

    Raises ``LabelError``, naming ``argument`` and ``position``, for anything that is no label: None, NaN, an infinity,
    an array, a container other than a tuple, a time, any other type.
    """
    kind = type(value)
    if kind is bool:
        return value  # type: ignore[return-value]
    if kind is int or kind is str or kind is bytes:
        return _limited(value, argument, position)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _error(value, argument, position)
        return float(value) + 0.0  # -0.0 becomes 0.0
    if isinstance(value, tuple):
        return _items(value, argument, position, DEEPEST)[0]
    if isinstance(value, str):
        return _limited(str.__str__(value), argument, position)
    if isinstance(value, int):
        return _limited(int.__index__(value), argument, position)
    if isinstance(value, bytes):
        return _limited(bytes(memoryview(value)), argument, position)
    if isinstance(value, Decimal):
        return canonical(_exact(value, argument, position), argument, position)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if getattr(value, "shape", None) == () and hasattr(value, "item") and _numpy_kind(value) not in ("M", "m"):
        item = value.item()
        if type(item) is kind and _numpy_kind(value) == "f":
            item = float(value)  # type: ignore[arg-type]  # a long double, which has no item of Python
        if type(item) is not kind:
            return canonical(item, argument, position)
    raise _error(value, argument, position)


def _exact(value: Decimal, argument: str, position: int | None) -> int | float:
    """Return the int or the float equal to a Decimal; LabelError if neither is exact."""
    if value.is_finite() and value.adjusted() <= LARGEST_INT:
        whole = int(value)
        if whole == value:
            return whole
        if float(value) == value:
            return float(value)
    raise _error(value, argument, position)


def is_missing(value: object) -> bool:
    """Tell whether a value says that there is none: None, nan, or what NumPy and pandas write for it."""
    if value is None:
        return True
    if isinstance(value, float):
        return value != value
    if isinstance(value, Decimal):
        return value.is_nan()
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas, which need not be there
        return True
    if getattr(value, "shape", None) != ():
        return False
    if getattr(value, "mask", False) is not False and bool(value.mask):  # type: ignore[attr-defined]
        return True
    return _numpy_kind(value) in ("f", "m", "M") and bool(value != value)


def _numpy_kind(value: object) -> object:
    return getattr(getattr(value, "dtype", None), "kind", None)


def _limited(value: Any, argument: str, position: int | None) -> Label:
    """Return an int, text or bytes; LabelError if it is too long."""
    if isinstance(value, int):
        if value.bit_length() > LARGEST_INT:
            expected, but = f"to be an int of at most {LARGEST_INT} bits", f"got one of {value.bit_length()}"
            raise LabelError(argument=argument, position=position, expected=expected, but=but)
    elif len(value) > LONGEST:
        raise _too_long(argument, position)
    return value  # type: ignore[no-any-return]


def _too_long(argument: str, position: int | None) -> LabelError:
    expected = f"to have at most {LONGEST} characters or bytes, and a tuple as many less {ITEM} for each item"
    return LabelError(argument=argument, position=position, expected=expected, but="got more")


def _items(
    values: tuple[object, ...], argument: str, position: int | None, deeper: int
) -> tuple[tuple[Label, ...], int]:
    """Return a tuple of labels and its length in characters."""
    if deeper == 0:
        expected = f"to be nested at most {DEEPEST} deep"
        raise LabelError(argument=argument, position=position, expected=expected, but="got a deeper tuple")
    labels: list[Label] = []
    size = ITEM * len(values)
    if size > LONGEST:
        raise _too_long(argument, position)
    for value in values:
        if isinstance(value, tuple):
            label, inside = _items(value, argument, position, deeper - 1)
            size += inside
        else:
            label = _inside(value, argument, position)  # type: ignore[assignment]
            size += len(label) if isinstance(label, str | bytes) else 0
        labels.append(label)
        if size > LONGEST:
            raise _too_long(argument, position)
    return tuple(labels), size


def _inside(value: object, argument: str, position: int | None) -> Label:
    label = canonical(value, argument, position)
    return int(label) if isinstance(label, int | float) and label == int(label) else label


def _error(value: object, argument: str, position: int | None) -> LabelError:
    got = float(value) if isinstance(value, float) else None  # a NaN or an infinity
    hint = "; did you mean `scores=`?" if argument == "y_pred" and isinstance(value, list | dict) else ""
    if argument == "y_true" and isinstance(value, list | set | frozenset):
        hint = "; did you mean MultiLabel?"
    but = f"got {_brief(value)}{hint}"
    return LabelError(argument=argument, position=position, expected=f"to be {ALLOWED}", got=got, but=but)


def _brief(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python writes
        text = "a long int"
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def sort_key(label: Label) -> tuple[int, Any]:
    """Return a key that puts labels of all types in the order of report."""
    if isinstance(label, int | float):
        return 0, label
    if isinstance(label, str):
        return 1, label
    if isinstance(label, bytes):
        return 2, label
    return 3, tuple(sort_key(item) for item in label)


def ordering(labels: Sequence[Label]) -> list[int]:
    """Return the positions of ``labels`` in the order of report."""
    if {str}.issuperset(map(type, labels)):
        return sorted(range(len(labels)), key=labels.__getitem__)
    keys = [sort_key(label) for label in labels]
    return sorted(range(len(labels)), key=keys.__getitem__)


def unique(labels: Iterable[object], argument: str = "labels") -> tuple[Label, ...]:
    """Return the labels of a fixed set as a tuple in the given order; ``LabelError`` names a label that comes twice."""
    if isinstance(labels, str | bytes | set | frozenset) or not isinstance(labels, Iterable):
        raise LabelError(argument=argument, expected="to be a sequence of labels", but=f"got {_brief(labels)}")
    checked = tuple(canonical(label, argument, position) for position, label in enumerate(labels))
    seen: set[Label] = set()
    for position, label in enumerate(checked):
        if label in seen:
            but = f"got {_brief(label)} again"
            raise LabelError(
                argument=argument, position=position, expected="to be distinct", got=label, but=but, position_last=True
            )
        seen.add(label)
    return checked


def same_labels(mine: tuple[Label, ...] | None, theirs: tuple[Label, ...] | None) -> bool:
    """Return whether two fixed sets have the same labels, of the same types, in any order; None is no set."""
    if mine is None or theirs is None:
        return mine is theirs
    return set(map(repr, mine)) == set(map(repr, theirs))


def most_likely(scores: Mapping[Any, Any], argument: str = "y_pred", position: int | None = None) -> Label:
    """Return the label with the largest score, the first in the order of report among equals.

    Raises ``ScoreError`` for a score that is no finite number, ``LabelError`` for a key that is no label.
    """
    if set(map(type, scores)) == {str} and set(map(type, scores.values())) == {float}:  # nearly always, and fast
        largest = max(scores.values())
        if math.isfinite(sum(scores.values())):
            names: list[str] = [label for label, score in scores.items() if score == largest]
            return min(names)
    best: Label | None = None
    best_score = 0.0
    for key, score in scores.items():
        label = canonical(key, argument, position)
        try:
            value = math.nan if isinstance(score, str | bytes | bytearray) else float(score)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            subject, but = f"every score in `{argument}`", f"got {score!r} for {label!r}"
            expected = "to be a finite number"
            raise ScoreError(
                argument=argument, position=position, subject=subject, expected=expected, got=score, but=but
            )
        if best is None or value > best_score or (value == best_score and sort_key(label) < sort_key(best)):
            best, best_score = label, value
    if best is None:
        raise ScoreError(argument=argument, position=position, expected="to hold a score", but="got an empty mapping")
    return best
