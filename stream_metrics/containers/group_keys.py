"""The keys of groups: how they are read from a column, shown, and chosen where not all can be kept apart."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from stream_metrics.inputs.columns import checked_column, factorize
from stream_metrics.inputs.tensors import is_single
from stream_metrics.labels import Label, canonical
from stream_metrics.wire import encoded

__all__ = ["factorize_groups", "rank", "shown"]

TYPES: tuple[type[float], ...] = (bool, int, float)
FORMS: dict[type, int] = {kind: at for at, kind in enumerate(TYPES)}


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


def factorize_groups(
    group: object, n: int, samples: NDArray[np.int64] | None = None
) -> tuple[list[Label], NDArray[np.int64], NDArray[np.int64]]:
    """Return the keys of a column of groups, the types in which each was seen, and the number of the key of every row.

    Types are counted as bool, int, float and anything else. A row stands for one sample, or for as many as `samples`
    says; a key without samples is left out, and its rows have the number -1.
    """
    if is_single(group):
        codes, labels = np.zeros(n, np.int32), [canonical(group, "group")] * (n > 0)
    else:
        codes, labels = factorize(checked_column(group, "group", rows=n))
    if samples is None:
        seen = np.bincount(codes, minlength=len(labels)).tolist()
    else:
        sums = np.zeros(len(labels), np.int64)
        np.add.at(sums, codes, samples)
        seen = sums.tolist()
    keys: dict[Label, int] = {}
    places = [keys.setdefault(label, len(keys)) if times else -1 for label, times in zip(labels, seen, strict=True)]
    forms = np.zeros((len(keys), 4), np.int64)
    for label, place, times in zip(labels, places, seen, strict=True):
        if times:
            forms[place, FORMS.get(type(label), 3)] += times
    return list(keys), forms, np.array(places, np.int64)[codes]
