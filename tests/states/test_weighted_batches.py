"""A batch with weights has the bytes of its samples one by one, for labels of every integer type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics import Categorical, ConfusionMatrix, WeightError
from stream_metrics._core.numeric.kernels import split_weights

TYPES = st.sampled_from([np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
LARGEST = 2**63 - 1024  # weights are below it


@st.composite
def columns(draw: st.DrawFn, n: int) -> np.ndarray:
    """Return integers that lie close together or far apart, anywhere in the range of their type."""
    dtype = draw(TYPES)
    limits = np.iinfo(dtype)
    low = draw(st.one_of(st.sampled_from([limits.min, 0, limits.max - 100]), st.integers(limits.min, limits.max - 100)))
    steps = draw(st.lists(st.integers(0, draw(st.sampled_from([1, 3, 100]))), min_size=n, max_size=n))
    return np.array([low + step for step in steps], dtype)


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, object, np.ndarray]:
    n = draw(st.integers(1, 12)) * draw(st.sampled_from([1, 30]))
    truth = draw(columns(n))
    predicted: object = draw(columns(n))
    if draw(st.booleans()):  # code -1 is an abstention
        codes = draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n))
        predicted = Categorical(np.array(codes, draw(st.sampled_from(["i1", "i4"]))), ["a", "b", "c"])
    whole = st.integers(0, 3)
    weights = st.one_of(whole, st.floats(0, 4, allow_subnormal=True), st.sampled_from([2.0**-70, 1e-320, 2.0**-11]))
    w = draw(st.lists(draw(st.sampled_from([whole, weights])), min_size=n, max_size=n))
    return truth, predicted, np.array(w)


@given(batches())
def test_a_batch_has_the_bytes_of_its_samples(batch: tuple[np.ndarray, object, np.ndarray]) -> None:
    truth, predicted, w = batch
    together, apart = ConfusionMatrix(), ConfusionMatrix()
    together.update_many(truth, predicted, w)
    if isinstance(predicted, Categorical):
        labels = [None if code < 0 else predicted.categories[code] for code in np.asarray(predicted.codes).tolist()]
    else:
        labels = np.asarray(predicted).tolist()
    for sample in zip(truth.tolist(), labels, w.tolist(), strict=True):
        apart.update(*sample)
    assert together.to_bytes() == apart.to_bytes()


@given(st.lists(st.floats(0, 2**40, allow_subnormal=True), min_size=1))
def test_a_weight_is_the_nearest_multiple_of_its_unit(weights: list[float]) -> None:
    wholes, parts = split_weights(np.array(weights))
    parts = np.zeros(len(weights), np.uint64) if parts is None else parts
    for x, whole, part in zip(weights, wholes.tolist(), parts.tolist(), strict=True):
        assert (whole << 64) + part == round(Fraction(x) * 2**64)


@pytest.mark.parametrize("count", [1, 300])
def test_the_sum_of_weights_may_not_overflow_in_the_middle(count: int) -> None:
    state = ConfusionMatrix()
    state.update_many([1], [1], [5])
    before = state.to_bytes()
    with pytest.raises(WeightError, match="sum of all weights"):
        state.update_many(np.arange(2 * count) % 2, np.zeros(2 * count, int), np.full(2 * count, LARGEST // count - 1))
    assert state.to_bytes() == before


@pytest.mark.parametrize("weight", [-1, LARGEST])
def test_a_refused_weight_is_named_by_its_position(weight: int) -> None:
    with pytest.raises(WeightError) as error:
        ConfusionMatrix().update_many([0, 1, 0], [0, 0, 0], np.array([1, LARGEST - 1, weight]))
    assert (error.value.position, error.value.got) == (2, weight)
