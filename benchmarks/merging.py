"""What does it cost to merge two states of a thousand classes, beside adding their matrices?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import streams
from timing import Line, best

import stream_metrics as sm

Array = np.ndarray[Any, Any]
K = 1000
ROUNDS = 60


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    draw = np.random.default_rng(4)
    names = np.array(streams.names(K))
    matrix, other = draw.integers(1, 10, (K, K)), draw.integers(1, 10, (K, K))
    ours = state(matrix, names, np.arange(K))
    same = state(other, names, np.arange(K))
    shuffled = state(other, names, draw.permutation(K))
    assert same == shuffled
    assert np.array_equal(ours.copy().merge(shuffled).matrix, matrix + other)
    ns = best(
        {
            "same": lambda: ours.merge(same),
            "shuffled": lambda: ours.merge(shuffled),
            "add": lambda: np.add(matrix, other, out=matrix),
            "new": lambda: np.add(matrix, other),
        },
        ROUNDS,
    )
    for name, order in (("same", "in the same order"), ("shuffled", "in another order")):
        figures = f"{ns[name] / 1e3:.0f} / {ns['add'] / 1e3:.0f} us; `np.add` into a new array {ns['new'] / 1e3:.0f}"
        what = f"`merge` / `np.add(a, b, out=a)`, labels arrived {order}"
        yield Line(what, ns[name] / ns["add"], target=3, figures=figures)


def state(matrix: Array, names: Array, arrival: Array) -> sm.ConfusionMatrix:
    """Return the state of a matrix whose labels arrived in the given order."""
    counts = sm.ConfusionMatrix()
    for label in names[arrival].tolist():
        counts.update(label, label)
    matrix = matrix - np.eye(len(matrix), dtype=matrix.dtype)
    rows, columns = np.repeat(np.indices(matrix.shape).reshape(2, -1), matrix.ravel(), axis=1)
    counts.update_many(sm.Categorical(rows, names), sm.Categorical(columns, names))
    return counts
