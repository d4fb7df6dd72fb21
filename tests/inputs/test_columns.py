"""Columns of labels that are numbers, booleans or mixed are counted as their rows would be one by one, to the byte."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from support.input_forms import in_batch, one_by_one


def test_numbers_far_apart() -> None:
    """Integers may lie at the ends of their type, far from others; an unsigned one is never read as negative."""
    failures = []
    far = [[-(2**63), 2**63 - 1, 0, -1], [10**18 + k * 7919**3 for k in range(300)], list(range(-600, 600))]
    far += [[*range(40), 10**12], [2**62, 2**62 + 1] * 5, [2**100, 5, -(2**100)], [5]]
    columns: list[tuple[Any, Any]] = [(rows, rows[1:] + rows[:1]) for rows in far]
    columns += [(np.array(rows), np.array(rows[1:] + rows[:1])) for rows in far]
    for bits in (8, 16, 32, 64):
        high = np.array([0, 2**bits - 1, 2 ** (bits - 1), 1] * 3, f"u{bits // 8}")
        columns += [(high, np.array([0, 1, 100, 0] * 3).astype(other)) for other in ("u1", "i1", "u8", "i8", "f8", "?")]
        assert in_batch(high[:1], high[:1]).labels == (0,)
    outlier = np.zeros(10_000, np.int64)
    outlier[9_000:] = [900, -70_000] * 500  # after the rows that are looked at first
    columns.append((outlier, outlier[::-1]))
    for (one, other), w in product(columns, (None, 2)):
        weights = None if w is None else [w] * len(one)
        for truth, predicted in ((one, other), (other, one)):
            rows = [column.tolist() if isinstance(column, np.ndarray) else column for column in (truth, predicted)]
            if in_batch(truth, predicted, weights) != one_by_one(*rows, weights):
                failures.append((truth, predicted, w))

    assert not failures


@pytest.mark.quick
def test_a_list_of_everything() -> None:
    """A list may mix labels of all types, NumPy scalars, scores and abstentions; bytes are not text."""
    pairs: list[tuple[Any, Any]] = [
        ("a", 1), (1, "a"), (True, 1.0), (1.0, np.True_), (2**70, -(2**70)), (b"a", "a"), ((1, "x"), (True, "x")),
        (np.int8(3), 3.0), (np.str_("a"), {"a": 1, "b": 2}), ((), {(): 1}), (-0.0, 0), ("a", None), ("a", {}),
        ("b", {"a": np.float32(1)}),
    ]  # fmt: skip
    truth, predicted = [t for t, _ in pairs], [p for _, p in pairs]

    assert in_batch(truth, predicted) == one_by_one(truth, predicted)
    assert in_batch(truth, np.array([*predicted, None], object)[:-1]) == one_by_one(truth, predicted)
    for dtype in ("S3", object):
        state = in_batch(np.array([b"a", b"bc"], dtype), ["a", b"bc"])
        assert state == one_by_one([b"a", b"bc"], ["a", b"bc"])
        assert state.labels == ("a", b"a", b"bc")
