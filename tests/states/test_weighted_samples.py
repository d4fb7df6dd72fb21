"""How many samples have a weight other than 1: what tells weighted samples from others whose weights sum to as much."""

from __future__ import annotations

import random

import pytest

import stream_metrics as sm

WEIGHTS = [1, 1.0, True, 2, 0.5, 0, 0.0, 2**40]
ROWS = [
    (random.Random(i).choice("abc"), random.Random(-i).choice(["a", "b", None]), WEIGHTS[i % 8]) for i in range(200)
]


def fed(rows: list[tuple[object, ...]], state: sm.ConfusionMatrix | None = None) -> sm.ConfusionMatrix:
    """Return a state that has counted the rows one by one."""
    state = sm.ConfusionMatrix() if state is None else state
    for row in rows:
        state.update(*row)
    return state


@pytest.mark.parametrize("weights", [[2, 1, 0.5, 0.5] * 50, [2, 1, 0, 1] * 50])
def test_weights_that_sum_to_the_number_of_samples_are_seen(weights: list[float]) -> None:
    """The samples are weighted, in whatever way they came, and have no interval."""
    truth, predicted = [0, 0, 1, 1] * 50, [0, 1, 0, 0] * 50
    batch = sm.ConfusionMatrix()
    batch.update_many(truth, predicted, weights)
    single = fed(list(zip(truth, predicted, weights, strict=True)))
    for state in (batch, single, sm.from_bytes(single.to_bytes()), sm.ConfusionMatrix().merge(batch)):
        assert state == batch
        assert state.weighted == sum(w != 1 for w in weights)
        with pytest.raises(ValueError, match="samples have a weight other than 1"):
            state.snapshot().interval("accuracy")
        assert "majority_p_value" in state.snapshot().omitted


def test_abstentions_are_not_counted() -> None:
    """Only samples with a prediction count; the laws show that batches, shards and bytes agree."""
    assert fed(ROWS).weighted == sum(w != 1 and p is not None for _, p, w in ROWS)


def test_states_without_weights_are_written_as_before() -> None:
    """The number is in the bytes of weighted states only."""
    state = fed([(t, p, 1) for t, p, _ in ROWS])
    assert len(state._content()) == 7
    state.update("a", "b", 2)
    assert len(state._content()) == 8
    state.revert("a", "b", 2)
    assert len(state._content()) == 7


def test_bytes_of_earlier_versions_are_judged_by_their_sum() -> None:
    """They lack the number: it is 0 and goes on from there, never below 0 nor above the number of samples."""
    content = fed([("a", "a", 3), ("b", "b", 0.5), ("a", "b", 1)])._content()[:7]
    old = sm.ConfusionMatrix._restore(_read(content))
    assert old.weighted == 0
    assert old._content() == content
    old.update("a", "a", 2)
    old.revert("a", "a", 2)
    assert old._content() == content
    old.revert("b", "b", 0.5)
    assert old.weighted == 0
    with pytest.raises(ValueError, match="2 samples weigh 4"):
        old.snapshot().interval("accuracy")


def _read(content: object) -> object:
    """Return a content as it is read from bytes."""
    return tuple(map(_read, content)) if isinstance(content, list | tuple) else content


@pytest.mark.parametrize("weighted", [0, -1, 4, True, 1.0, "1"])
def test_impossible_numbers_are_refused(weighted: object) -> None:
    """Bytes cannot hold none of them, or more than there are samples."""
    content = fed([("a", "a"), ("b", "b"), ("a", "b")])._content()
    with pytest.raises((ValueError, TypeError)):
        sm.ConfusionMatrix._restore(_read([*content, weighted]))
