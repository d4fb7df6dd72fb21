"""Square and sparse tables: the same readings and the same bytes, whichever a table is, and when it changes."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.oracle import Oracle, narrow

import stream_metrics as sm

PRECISION = (1, 0, 0, 0), (0, 0, 1, 0)
F1 = (2, 0, 0, 0), (0, 1, 1, 0)


def stream(seed: int, classes: int, n: int, fractions: bool) -> Iterator[tuple[Any, Any, Any]]:
    """Yield samples of labels of several types; the weights are whole, or have a few binary places."""
    rng = random.Random(seed)
    names = [i if i % 3 else f"class {i}" for i in range(classes)]
    for _ in range(n):
        truth = rng.choice(names)
        predicted = truth if rng.random() < 0.4 else rng.choice(names)
        yield truth, predicted, rng.choice([1, 3, 0.5, 2.25, 2**40]) if fractions else rng.choice([1, 1, 7, 2**40])


def in_plain_python(samples: list[tuple[Any, Any, Any]]) -> Oracle:
    """Return the oracle that counted the samples, summed at once: its own update takes time for every occupied cell."""
    oracle, table = Oracle(), defaultdict(Fraction)
    for truth, predicted, w in samples:
        table[truth, predicted] += Fraction(w)
    oracle.table = {cell: narrow(w) for cell, w in table.items()}
    oracle.n = len(samples)
    return oracle


def assert_same_readings(state: sm.ConfusionMatrix, oracle: Oracle) -> None:
    """Every reading of the state is that of the plain Python table."""
    for name in ("k", "labels", "n", "abstained", "total", "hits", "true_dot_true", "true_dot_predicted"):
        assert getattr(state, name) == getattr(oracle, name), name
    assert state.predicted_dot_predicted == oracle.predicted_dot_predicted
    for name in ("true_totals", "predicted_totals", "diagonal"):
        assert getattr(state, name).tolist() == getattr(oracle, name).tolist(), name
    for mine, theirs in zip(state.cells(), oracle.cells(), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert np.array_equal(state.ratios(*PRECISION), oracle.ratios(*PRECISION), equal_nan=True)
    assert np.array_equal(state.ratios(*F1), oracle.ratios(*F1), equal_nan=True)


@pytest.mark.parametrize("fractions", [False, True], ids=["whole", "fractions"])
def test_many_classes_are_read_as_in_plain_python(fractions: bool) -> None:
    """More than 1100 classes with weights, reverted in part: every reading is the oracle's."""
    samples = list(stream(0, 1300, 4000, fractions))
    state = sm.ConfusionMatrix()
    for sample in samples:
        state.update(*sample)
    assert state.k > 1100
    assert_same_readings(state, in_plain_python(samples))
    for sample in samples[:2500]:
        state.revert(*sample)

    oracle = in_plain_python(samples[2500:])
    assert_same_readings(state, oracle)
    assert_same_readings(sm.from_bytes(state.to_bytes()), oracle)
    assert_same_readings(state.copy(), oracle)


@pytest.mark.parametrize("fractions", [False, True], ids=["whole", "fractions"])
@pytest.mark.parametrize(("mine", "theirs"), [(12, 1300), (1300, 12)])
def test_tables_of_both_kinds_merge_as_in_plain_python(mine: int, theirs: int, fractions: bool) -> None:
    """Square into sparse, sparse into square: the merge reads as the oracle's, and subtracting undoes it."""
    streams = [list(stream(seed, classes, 3000, fractions)) for seed, classes in enumerate((mine, theirs))]
    states = [sm.ConfusionMatrix(), sm.ConfusionMatrix()]
    for state, samples in zip(states, streams, strict=True):
        for sample in samples:
            state.update(*sample)
    before = states[0].to_bytes()

    assert_same_readings(states[0].merge(states[1]), in_plain_python(streams[0] + streams[1]))
    assert states[0].subtract(states[1]).to_bytes() == before


@pytest.mark.parametrize("fractions", [False, True], ids=["whole", "fractions"])
def test_a_table_that_was_sparse_is_the_same_state(fractions: bool) -> None:
    """A state that had many classes once, and one that never had, are equal in bytes and readings."""
    few = list(stream(3, 40, 500, fractions))
    state, never = sm.ConfusionMatrix(), sm.ConfusionMatrix()
    many = list(stream(4, 2000, 5000, fractions))
    for sample in many + few:
        state.update(*sample)
    for sample in many:
        state.revert(*sample)
    for sample in few:
        never.update(*sample)

    assert state.to_bytes() == never.to_bytes()
    assert np.array_equal(state.matrix, never.matrix)
    assert state.snapshot().to_json() == never.snapshot().to_json()


@pytest.mark.parametrize("fractions", [False, True], ids=["whole", "fractions"])
@pytest.mark.parametrize("classes", [31, 34, 60, 150, 400])
def test_tables_that_change_their_form(classes: int, fractions: bool) -> None:
    """Few cells, then many, then few again, in one state and in shards: all bytes are equal, and readings exact."""
    samples = [*stream(classes, 20, 60, fractions), *stream(classes + 1, classes, 30_000, fractions)]
    whole, shards = sm.ConfusionMatrix(), [sm.ConfusionMatrix() for _ in range(5)]
    for at, sample in enumerate(samples):
        whole.update(*sample)
        shards[at % 5].update(*sample)
        if at in (10, 60, 90, 200, 1000, 5000):
            again = sm.ConfusionMatrix()
            again.update_many(*(list(column) for column in zip(*samples[: at + 1], strict=True)))
            merged = sm.merge(shards)
            assert whole.to_bytes() == again.to_bytes() == merged.to_bytes() == whole.copy().to_bytes()
            assert sm.from_bytes(whole.to_bytes()) == whole
            assert np.array_equal(whole.matrix, merged.matrix)
    assert_same_readings(whole, in_plain_python(samples))
    rest = sm.merge(shards)
    for sample in samples[100:]:
        whole.revert(*sample)
    for at in range(5):
        later = sm.ConfusionMatrix()
        for sample in samples[100:][at::5]:
            later.update(*sample)
        rest.subtract(sm.from_bytes(later.to_bytes()) if at % 2 else later)

    assert_same_readings(whole, in_plain_python(samples[:100]))
    assert rest.to_bytes() == whole.to_bytes()
    assert rest.merge(rest).total == 2 * whole.total


def test_cells_come_and_go_in_a_table_of_few() -> None:
    """A window over many classes empties as many cells as it fills, and its table does not grow."""
    names = [f"class {i}" for i in range(200)]
    state, window = sm.ConfusionMatrix(), list[tuple[str, str]]()
    rng = np.random.default_rng(8)
    for truth, predicted in rng.integers(0, 200, (8000, 2)).tolist():
        window.append((names[truth], names[predicted]))
        state.update(*window[-1])
        if len(window) > 100:
            state.revert(*window.pop(0))
    again = sm.ConfusionMatrix()
    again.update_many(*(list(column) for column in zip(*window, strict=True)))

    assert state.to_bytes() == again.to_bytes()


@pytest.mark.parametrize("classes", [1023, 1024, 1025])
def test_on_both_sides_of_the_limit(classes: int) -> None:
    """With the last square and the first sparse number of classes, batches, updates and merges agree."""
    labels = np.arange(classes)
    batch, one, halves = sm.ConfusionMatrix(), sm.ConfusionMatrix(), sm.ConfusionMatrix()
    batch.update_many(labels, labels[::-1])
    for label in labels:
        one.update(label, classes - 1 - label)
    for half in (slice(None, classes // 2), slice(classes // 2, None)):
        shard = sm.ConfusionMatrix()
        shard.update_many(labels[half], labels[::-1][half])
        halves.merge(shard)

    assert batch.to_bytes() == one.to_bytes() == halves.to_bytes()
    assert np.array_equal(batch.matrix, np.eye(classes)[::-1])


def test_a_table_with_fixed_labels_may_be_sparse_from_the_start() -> None:
    """A fixed set of many labels needs no square, and absent classes are read."""
    labels = [f"{i:05}" for i in range(5000)]
    state = sm.ConfusionMatrix(labels=labels)
    state.update("04999", "00000", 0.5)

    assert state.k == 5000
    assert state.true_totals.sum() == state.true_totals[-1] == 0.5
    assert [column.tolist() for column in state.cells()] == [[4999], [0], [0.5]]
    assert sm.from_bytes(state.to_bytes()) == state


def test_the_hash_of_cells_forgets_what_is_empty() -> None:
    """Cells that come and go among many classes leave neither counts nor memory."""
    state = sm.ConfusionMatrix(labels=range(2000))
    rng = np.random.default_rng(5)
    for _ in range(40):
        truth, predicted = rng.integers(0, 2000, (2, 2500)).tolist()
        for row in zip(truth, predicted, strict=True):
            state.update(*row)
        for row in zip(truth, predicted, strict=True):
            state.revert(*row)

    assert state == sm.ConfusionMatrix(labels=range(2000))
    assert len(state.cells()[0]) == 0


def test_a_hundred_thousand_classes_come_and_merge() -> None:
    """Shards of a stream with 100 000 classes merge to the whole, read at the same exact sums."""
    rng = np.random.default_rng(6)
    truth, predicted = rng.integers(0, 100_000, (2, 150_000))
    whole, shards = sm.ConfusionMatrix(), [sm.ConfusionMatrix() for _ in range(3)]
    whole.update_many(truth, predicted)
    for at, shard in enumerate(shards):
        shard.update_many(truth[at::3], predicted[at::3])
    merged = sm.merge(shards)
    true, guessed = np.bincount(truth, minlength=100_000), np.bincount(predicted, minlength=100_000)

    assert merged.to_bytes() == whole.to_bytes()
    assert whole.true_dot_predicted == int(true @ guessed)
    assert whole.k == np.count_nonzero(true | guessed)
