"""The keys of groups: how they are read from a column, shown, and chosen where not all can be kept apart."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_metrics.errors import LabelError
from stream_metrics.labels import Label, canonical
from stream_metrics.wire import encoded

__all__ = ["coded", "rank", "shown"]

TYPES: tuple[type[Any], ...] = (bool, int, float)
FORMS: dict[type[Any], int] = {kind: at for at, kind in enumerate(TYPES)}


def rank(key: Label) -> tuple[bytes, bytes]:
    """Return by what groups are chosen: a hash of the key, in which equal numbers are equal, and the key itself."""
    whole = isinstance(key, int | float) and key == int(key)
    written = encoded(int(key) if whole else key)  # type: ignore[arg-type]
    return hashlib.blake2b(written, digest_size=8).digest(), written


def shown(key: Label, forms: tuple[int, ...]) -> Label:
    """Return the key of a group, a number in the narrowest type in which it was seen."""
    if isinstance(key, int | float):
        for kind, times in zip(TYPES, forms, strict=False):
            if times:
                number: int | float = kind(key)
                return number
    return key


def coded(group: Any, n: int) -> tuple[list[Label], NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys of a column of groups, how often each was seen as a bool, int, float or anything else, and the
    number of the key of every row."""
    if isinstance(group, str | bytes | int | float):
        group = [group] * n
    if hasattr(group, "codes") and hasattr(group, "categories"):
        categories = list(group.categories)
        values = [categories[code] if code >= 0 else None for code in np.asarray(group.codes).tolist()]
    else:
        values = list(next((getattr(group, name)() for name in ("tolist", "to_pylist") if hasattr(group, name)), group))
    if len(values) != n:
        raise LabelError(f"Expected `group` to have as many rows as `y_true`, {n}, but got {len(values)}")
    keys: dict[Label, int] = {}
    counts: list[list[int]] = []
    codes = np.empty(n, np.int64)
    for row, value in enumerate(values):
        key = canonical(value, "group", row)
        code = codes[row] = keys.setdefault(key, len(keys))
        if code == len(counts):
            counts.append([0, 0, 0, 0])
        counts[code][FORMS.get(type(key), 3)] += 1
    return list(keys), np.array(counts, np.int64).reshape(-1, 4), codes
