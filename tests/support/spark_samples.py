"""Samples with scores, as rows of JSON that Spark reads from files and topics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

__all__ = ["Rows", "counted", "samples"]

Rows = list[dict[str, Any]]


def samples(seed: int, n: int, **keys: Sequence[object]) -> Rows:
    """Return samples of two classes, some without a prediction, each with one of the given values of every key."""
    chance = random.Random(seed)
    rows: Rows = []
    for _ in range(n):
        p = round(chance.random(), 3)
        guess = None if chance.random() < 0.1 else "cat" if p > 0.5 else "dog"
        row = {name: chance.choice(values) for name, values in keys.items()}
        rows.append({**row, "truth": chance.choice(["cat", "dog"]), "guess": guess, "p": {"cat": p, "dog": 1 - p}})
    return rows


def counted(rows: Rows, prototype: Any) -> Any:
    """Return what one process counts."""
    state = prototype.copy()
    truth, guess, p = ([row[name] for row in rows] for name in ("truth", "guess", "p"))
    state.update_many(truth, guess, scores=p)
    return state
