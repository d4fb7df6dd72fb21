"""One number of a snapshot, whichever kind of key it is asked for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from stream_metrics.catalog.table import find
from stream_metrics.labels import canonical

if TYPE_CHECKING:
    from stream_metrics.labels import Label

__all__ = ["number_of"]


def number_of(snapshot: Any, key: str, label: Label | None = None) -> float:
    """Return a value as a float; nan if it is 0/0, or there is no such class."""
    row = find(key)
    if row.kind == "matrix":
        raise KeyError(f"Expected a key with one value, but {key!r} is a matrix")
    if row.kind == "whole":
        if label is not None:
            raise KeyError(f"Expected no label for {key!r}, which is one value, but got {label!r}")
        value, undefined = snapshot._entry(key)
        return math.nan if undefined or not isinstance(value, int | float) else float(value)
    if label is None:
        if row.state != "ranks":
            raise KeyError(f"Expected `label` to be the class for the per-class key {key!r}, but got none")
        label = snapshot._view("ranks", key).pos_label
    found = canonical(label, "label")
    table = snapshot._table(key)
    undefined = snapshot._entry(key)[1]
    return math.nan if found not in table or found in undefined else float(table[found])
