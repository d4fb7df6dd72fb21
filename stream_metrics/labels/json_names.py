"""Data that JSON can hold: a name for every label, null for nan and infinities.

The keys of a JSON object are text. A `str` label is its own name. Any other label is named by its `repr`: `1`,
`True`, `0.5`, `b'x'`, `(1, 'a')`; where a `str` label of the same set already has that name, by its type and repr,
`int(1)`, as often as needed. Distinct labels have distinct reprs, so names never collide, and they depend on the set
of labels alone. (Always writing `int(1)` would need no case distinction, but would make the common case, integer
classes, ugly for everyone.)
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_metrics.labels import Label

TYPED = re.compile(r"(?:bool|int|float|bytes|tuple)\((.*)\)", re.DOTALL)


def label_names(labels: Sequence[Label]) -> list[str]:
    """Return one distinct text per label, by the rule above."""
    texts = {label for label in labels if isinstance(label, str)}
    if len(texts) == len(labels):
        return [str(label) for label in labels]
    names = []
    for label in labels:
        name = label if isinstance(label, str) else repr(label)
        while not isinstance(label, str) and name in texts:
            name = f"{type(label).__name__}({name})"
        names.append(name)
    return names


def labels_shown_as(text: str) -> frozenset[object]:
    """Return the labels that `label_names` shows as this text: the text itself, and the other label that it spells.

    `int(1)`, as 1 is shown beside the text "1", is the number alone.
    """
    typed = TYPED.fullmatch(text)
    try:
        spelt = ast.literal_eval(text if typed is None else typed[1])
        return frozenset((spelt,)) if typed is not None else frozenset((text, spelt))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return frozenset((text,))


def json_number(value: object) -> int | float | None:
    """Return a number as JSON has it; None for nan, an infinity, and anything that is no number."""
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        return None
    return number


def json_data(data: Any) -> Any:
    """Return nested data as JSON has it: dicts with keys of text, lists, text, true, false, null, finite numbers.

    nan and infinities become None. A named tuple or a data class becomes a dict, an object of another kind its `repr`.
    """
    if data is None or isinstance(data, str | bool | int):
        return data
    if isinstance(data, float):
        return float(data) if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): json_data(value) for key, value in data.items()}
    if hasattr(data, "_asdict"):
        return json_data(data._asdict())
    if is_dataclass(data) and not isinstance(data, type):
        return json_data({field.name: getattr(data, field.name) for field in fields(data)})
    if isinstance(data, list | tuple | set | frozenset):
        return [json_data(value) for value in data]
    return json_data(data.tolist()) if hasattr(data, "tolist") else repr(data)
