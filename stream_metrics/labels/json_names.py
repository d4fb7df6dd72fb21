"""Data that JSON can hold: a name for every label, null for nan.

The keys of a JSON object are text. A `str` label is its own name. Any other label is named by its `repr`: `1`,
`True`, `0.5`, `b'x'`, `(1, 'a')`; where a `str` label of the same set already has that name, by its type and repr,
`int(1)`, as often as needed. Distinct labels have distinct reprs, so names never collide, and they depend on the set
of labels alone. (Always writing `int(1)` would need no case distinction, but would make the common case, integer
classes, ugly for everyone.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["label_names", "without_nan"]


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


def without_nan(data: Any) -> Any:
    """Return nested lists and dicts with None in place of nan."""
    if isinstance(data, float):
        return None if math.isnan(data) else data
    if isinstance(data, dict):
        return {key: without_nan(value) for key, value in data.items()}
    if isinstance(data, list):
        return [without_nan(value) for value in data]
    return data
