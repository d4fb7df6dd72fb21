"""Samples with scores, as rows of JSON that Spark reads from files and topics."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

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


def as_columns(data: dict[str, list[Any]], fields: Any, scores: Any, rows: Sequence[int]) -> dict[str, Any]:
    """Return the arguments of `update_many` for some rows of columns; scores are in a form of their own."""
    names = {"y_true": fields.y_true, "y_pred": fields.y_pred, "w": fields.weight, "t": fields.time}
    columns = {argument: data[name] for argument, name in names.items() if name is not None}
    columns |= {} if scores is None else {"scores": scores}
    return {argument: [values[at] for at in rows] for argument, values in columns.items()}


def by_key(data: dict[str, list[Any]], keys: list[str], rows: Sequence[int] | None = None) -> dict[str, list[int]]:
    """Return which rows have each combination of keys, by its text."""
    at_key: dict[str, list[int]] = {}
    for at in range(len(data[keys[0]])) if rows is None else rows:
        at_key.setdefault(repr(tuple(data[key][at] for key in keys)), []).append(at)
    return at_key
