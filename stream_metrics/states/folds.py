"""The fold of a sample: a fixed hash of its unit, or of what is counted of it, so that all shards agree."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stream_metrics.inputs.columns import checked_column, factorize
from stream_metrics.inputs.tensors import is_single
from stream_metrics.labels import Label, canonical, ordering
from stream_metrics.wire import encoded

if TYPE_CHECKING:
    from stream_metrics.states.score_labels import Scores


def fold_of(unit: Label, folds: int) -> int:
    """Return the fold of a unit, a fixed function of its value; equal numbers of different types are one unit."""
    unit = _whole(unit)
    if isinstance(unit, int) and -(2**63) <= unit < 2**63:
        return int(_mixed(np.array([unit], np.int64))[0] % np.uint64(folds))
    return _hashed(unit, folds)


def content_fold(y_true: object, *scores: Scores, folds: int) -> int:
    """Return the fold of a sample without a unit: a hash of its truth and scores."""
    return _hashed([_whole(canonical(y_true, "y_true")), *map(_plain, scores)], folds)


def _hashed(content: object, folds: int) -> int:
    return int.from_bytes(hashlib.blake2b(encoded(content), digest_size=8).digest(), "little") % folds


def _plain(pred: Scores) -> object:
    """Return scores in one form, regardless of the order and types in which they came."""
    if not isinstance(pred, Mapping):
        return float(pred) + 0.0
    labels = [canonical(label) for label in pred]
    scores = [float(score) + 0.0 for score in pred.values()]
    return [[_whole(labels[i]), scores[i]] for i in ordering(labels)]


def _whole(label: Label) -> Label:
    """Return a number that is whole as an int, regardless of its type; any other label as it is."""
    return int(label) if isinstance(label, int | float) and label == int(label) else label


def folds_of(unit: object, n: int, folds: int) -> NDArray[np.int64]:
    """Return the fold of every row of a batch, of a column of units or one unit; `folds` where there is none."""
    if unit is None:
        return np.full(n, folds, np.int64)
    c = checked_column([unit] * n if is_single(unit) else unit, "unit", rows=n)
    if c.names is None and c.values.dtype.kind == "i":
        return (_mixed(c.values.astype(np.int64)) % np.uint64(folds)).astype(np.int64)
    codes, names = factorize(c)
    return np.array([fold_of(name, folds) for name in names], np.int64)[codes]


def _mixed(x: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the splitmix64 finaliser of each number. Steele et al. 2014."""
    z = x.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
