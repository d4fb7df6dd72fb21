"""What is read of the scores of two models: whole, and without each fold in turn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stream_metrics.catalog import evaluate, value_labels
from stream_metrics.catalog_row import Row
from stream_metrics.formulas.tails import chi_square_tail

__all__ = ["left_out", "read", "uneven"]

UNEVEN = 1e-6  # the p-value of equally large folds below which samples are taken to repeat

Folds = Mapping[int, tuple[dict[str, Any], ...]]


def read(row: Row, state: Any, label: Any) -> float:
    """Return a value of a state of scores; nan where it is 0/0."""
    value, _ = evaluate(row, state, math.nan)
    if row.kind == "whole":
        return float(value)
    labels = value_labels(row, state)
    wanted = state.pos_label if label is None else label
    return float(value[labels.index(wanted)]) if wanted in labels else math.nan


def left_out(folds: Folds, reads: str) -> tuple[list[Any], list[list[Any]]]:
    """Return the states of both models, and those without each fold; three merges a fold, by prefix and suffix."""
    states = [[side[reads] for side in pair] for pair in folds.values()]
    ahead, behind = _running(states), _running(states[::-1])[::-1]
    rest = [
        [x if y is None else y.copy() if x is None else x.copy().merge(y) for x, y in zip(p, q, strict=True)]
        for p, q in zip(ahead[:-1], behind[1:], strict=True)
    ]
    return ahead[-1], [pair for pair in rest if None not in pair]


def _running(folds: list[list[Any]]) -> list[list[Any]]:
    """Return the merges of no fold, of the first, of the first two, and so on."""
    total: list[list[Any]] = [[None] * len(folds[0])]
    for pair in folds:
        total.append([y.copy() if x is None else x.copy().merge(y) for x, y in zip(total[-1], pair, strict=True)])
    return total


def uneven(folds: Folds, parts: int) -> bool:
    """Tell whether samples are spread over the folds by more than chance: then their hashes repeat."""
    sizes = np.zeros(parts)
    for fold, pair in folds.items():
        sizes[fold] = pair[0]["ranks"].n
    mean = sizes.mean()
    return bool(chi_square_tail(float(((sizes - mean) ** 2).sum() / mean), parts - 1) < UNEVEN)
