"""Which classes the keys of scores name: JSON, structs and data frames have keys of text, where classes need not be.

With a fixed set of classes a key names the class that it is, else the number, true or false that it spells, else the
class with that `repr`. Without, the truth of the sample decides: beside a number, if all keys are text, a key that
spells a number is that number (`"1"`, `"2.5"`, `"true"`). Otherwise a key is the class itself. So what is counted for a
sample follows from its truth and its keys alone, never from the samples before it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from stream_metrics.errors import ScoreError
from stream_metrics.labels.label import LARGEST_INT, Label

LONGEST_NUMBER = 640  # characters, as many as the digits of the longest int that is a label


def number_named(text: str) -> int | float | bool | None:
    """Return the number, or true or false, that a text spells as JSON does, in any case; None if it spells none.

    A number that cannot be a label, such as 1e999, stays text.
    """
    return None if len(text) > LONGEST_NUMBER else _number_named(text)


@lru_cache(maxsize=4096)
def _number_named(text: str) -> int | float | bool | None:
    try:
        value = json.loads(text.lower())
    except (ValueError, RecursionError):  # brackets in brackets, too deep
        return None
    if type(value) is float:
        return value + 0.0 if math.isfinite(value) else None  # -0.0 becomes 0.0
    return value if type(value) is bool or (type(value) is int and value.bit_length() <= LARGEST_INT) else None


class ClassNames:
    """The classes that keys of scores name, among fixed labels or any."""

    __slots__ = ("fixed",)

    def __init__(self, labels: Iterable[Label] | None) -> None:
        self.fixed: dict[Label, Label] | None = None if labels is None else {label: label for label in labels}

    def of(self, key: Any, numeric: bool) -> Label | None:
        """Return the class that a key names, or None; `numeric` says whether the truth is a number.

        A key that is no text is the class itself.
        """
        if not isinstance(key, str):
            return key  # type: ignore[no-any-return]
        if self.fixed is None:
            return number_named(key) if numeric else key
        if key in self.fixed:
            return key
        number = number_named(key)
        if number is not None and number in self.fixed:
            return self.fixed[number]  # 1 for the key "1.0" or "true"
        return next((label for label in self.fixed if not isinstance(label, str) and repr(label) == key), None)

    def of_all(self, keys: tuple[Label, ...], numeric: bool, position: int | None = None) -> tuple[Label, ...]:
        """Return the classes that keys name; a key that names none stays as it is.

        Raises ScoreError if two keys name one class.
        """
        if self.fixed is None and not (numeric and all(isinstance(key, str) for key in keys)):
            return keys
        named = [self.of(key, numeric) for key in keys]
        classes = tuple(key if label is None else label for key, label in zip(keys, named, strict=True))
        if len(set(classes)) < len(set(keys)):
            subject, expected, but = "one score", "for every class", f"got the keys {list(keys)!r:.200}"
            raise ScoreError(
                argument="scores", position=position, subject=subject, expected=expected, but=but, position_last=True
            )
        return keys if all(label is key for label, key in zip(classes, keys, strict=True)) else classes

    def of_mapping(self, scores: Mapping[Any, Any], numeric: bool, position: int | None = None) -> Mapping[Any, Any]:
        """Return scores by the classes that their keys name; the same object if these are its keys."""
        keys = tuple(scores)
        classes = self.of_all(keys, numeric, position)
        return scores if classes is keys else dict(zip(classes, scores.values(), strict=True))


OPEN = ClassNames(None)
