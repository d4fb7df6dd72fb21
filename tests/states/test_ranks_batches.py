"""Large batches estimate which samples they need; the bytes do not depend on it, for any shape of scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.states.ranks import RankSketch

N = 9_000
SHAPES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "continuous": lambda rng, n: rng.random(n),
    "both signs": lambda rng, n: rng.standard_cauchy(n),
    "mostly 0": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, rng.random(n)),
    "an atom": lambda rng, n: np.where(rng.random(n) < 0.9, 0.3, rng.random(n)),
    "1300 values": lambda rng, n: rng.integers(1, 1300, n) / 1300,
    "as many values as buckets": lambda rng, n: rng.integers(1, 257, n) / 256,
    "10 values": lambda rng, n: rng.integers(0, 10, n) / 10,
    "huge": lambda rng, n: np.where(rng.random(n) < 0.5, 1.7e308, 1e308 * rng.random(n)),
}
WEIGHTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "none": lambda rng, n: None,
    "whole": lambda rng, n: rng.integers(0, 4, n),
    "fractions": lambda rng, n: rng.integers(0, 9, n) / 4,
}


def in_pieces(sketch: RankSketch, y: Any, scores: Any, w: Any, step: int, **options: Any) -> bytes:
    """Count a stream in batches of `step` rows and return the bytes."""
    for at in range(0, len(y), step):
        part = slice(at, at + step)
        sketch.update_many(y[part], scores[part], None if w is None else w[part], **options)
    return sketch.to_bytes()


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pairs", [True, False])
def test_one_large_batch_equals_small_ones(shape: str, weights: str, pairs: bool) -> None:
    """One batch, batches too small to guess, and halves merged have the same bytes, also where the guess fails."""
    rng = np.random.default_rng(len(shape))
    y, w = rng.random(N) < 0.3, WEIGHTS[weights](rng, N)
    scores = SHAPES[shape](rng, N)

    def sketch() -> RankSketch:
        return RankSketch(buckets=256, sample=64, pairs=pairs)

    halves = [sketch(), sketch()]
    for half, part in zip(halves, (slice(0, N // 2), slice(N // 2, N)), strict=True):
        half.update_many(y[part], scores[part], None if w is None else w[part])
    expected = in_pieces(sketch(), y, scores, w, 97)

    assert expected == in_pieces(sketch(), y, scores, w, N)
    assert expected == halves[0].merge(halves[1]).to_bytes()
    assert expected == RankSketch.from_bytes(expected).to_bytes()


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_of_a_table_in_any_layout(order: Any) -> None:
    """Tables by row, by column, reversed and strided give the bytes of one sample at a time."""
    rng = np.random.default_rng(0)
    names, n = ("a", "b", "c"), 3_000
    table = np.array(rng.normal(size=(n, 3)), order=order)
    y = [names[i] for i in rng.integers(0, 3, n)]
    wide = np.zeros((2 * n, 6), order=order)
    wide[::2, 1::2] = table

    single = RankSketch(buckets=256, sample=64)
    for label, row in zip(y, table.tolist(), strict=True):
        single.update(label, dict(zip(names, row, strict=True)))
    expected = single.to_bytes()

    assert expected == in_pieces(RankSketch(buckets=256, sample=64), y, table, None, n, classes=names)
    assert expected == in_pieces(RankSketch(buckets=256, sample=64), y, wide[::2, 1::2], None, n, classes=names)
    assert expected == in_pieces(RankSketch(buckets=256, sample=64), y[::-1], table[::-1], None, n, classes=names)


@pytest.mark.parametrize("late", [1, 40])
def test_labels_that_a_single_score_cannot_be_about(late: int) -> None:
    """A label that no row has is not refused; one that a row has is, by its first row."""
    names = [0, 1, *(f"label {i}" for i in range(late))]
    codes, scores = np.array([0, 1, 1, 0]), [0.25, 0.5, 0.75, 1.0]
    state, plain = RankSketch(), RankSketch()
    state.update_many(sm.Categorical(codes, names), scores)
    plain.update_many(codes, scores)
    before = state.to_bytes()

    assert before == plain.to_bytes()
    codes[2:] = 1 + late
    with pytest.raises(sm.LabelError) as caught:
        state.update_many(sm.Categorical(codes, names), scores)
    assert (caught.value.position, caught.value.argument, caught.value.got) == (2, "y_true", names[-1])
    assert state.to_bytes() == before
