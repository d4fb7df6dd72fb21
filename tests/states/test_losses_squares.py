"""Sums of squares of losses: exact, mergeable, absent from old bytes."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.states.losses import ProbabilityLosses

GOLDEN = Path(__file__).parents[1] / "golden"
CLASSES = ("a", "b", "c")
UNIT = Fraction(1, 2**104)
SAMPLES = st.lists(
    st.tuples(
        st.sampled_from(CLASSES),
        st.one_of(
            st.none(),
            st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])), min_size=3, max_size=3),
        ),
        st.sampled_from([1, 1, 1, 1.0, 2, 0.5, 0]),
    ),
    max_size=12,
)


def fed(samples: Any) -> ProbabilityLosses:
    """Return the state after the samples, one by one."""
    state = ProbabilityLosses(classes=CLASSES)
    for sample in samples:
        state.update(*sample)
    return state


def on_grid(units: int) -> Fraction:
    """Return a loss, given in units of 2^-104, rounded to the nearest multiple of 2^-52, halves upwards."""
    return Fraction((units + (1 << 51)) >> 52, 2**52)


def expected(samples: Any) -> list[Any]:
    """Return the squares of samples with fractions, from the losses of each alone."""
    weighted, beyond, sums = 0, 0, [Fraction(0)] * 3
    for sample in samples:
        one = fed([sample])
        if not one.n:
            continue
        if sample[2] != 1:
            weighted += 1
            continue
        terms = [on_grid(units) for units in (one.log_loss_units, one.brier_units, one.spherical_units)]
        if one.brier_units * UNIT >= 2 + Fraction(1, 2**10):
            beyond, terms[1] = beyond + 1, Fraction(0)
        sums = [a + b * b for a, b in zip(sums, terms, strict=True)]
    return [weighted, beyond, *(x / UNIT for x in sums)]


@given(SAMPLES, st.data())
def test_squares_are_exact_under_any_sharding(samples: Any, data: Any) -> None:
    """Shards merged in any order have the squares that fractions give, and those of one state, byte for byte."""
    shards = [ProbabilityLosses(classes=CLASSES) for _ in range(3)]
    for sample in samples:
        shards[data.draw(st.integers(0, 2))].update(*sample)
    first, *rest = data.draw(st.permutations(shards))
    for shard in rest:
        first.merge(ProbabilityLosses.from_bytes(shard.to_bytes()))

    assert first.squares() == expected(samples)
    assert first.to_bytes() == fed(samples).to_bytes()


def test_batches_have_the_squares_of_samples() -> None:
    """Tables, single columns and lists of objects count the squares that one update after another counts."""
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(3), 500)
    truth, w = [CLASSES[i] for i in rng.integers(0, 3, 500)], rng.integers(0, 3, 500)
    one = fed(zip(truth, rows.tolist(), w.tolist(), strict=True))
    for form in (rows, rows.tolist()):
        state = ProbabilityLosses(classes=CLASSES)
        state.update_many(truth, form, w)

        assert state == one
    single, alone = ProbabilityLosses(), ProbabilityLosses()
    single.update_many(rows[:, 1] > 0.3, rows[:, 0])
    for positive, p in zip((rows[:, 1] > 0.3).tolist(), rows[:, 0].tolist(), strict=True):
        alone.update(positive, p)

    assert single == alone
    assert single.squares()[:2] == [0, 0]  # type: ignore[index]


def test_largest_losses_have_room() -> None:
    """A certain miss is counted 2^50 times without overflow."""
    state = fed([("a", [0.0, 1.0, 0.0], 1)])
    for _ in range(50):
        state.merge(state)

    assert state.squares() == [0, 0, *(x * 2**50 for x in expected([("a", [0.0, 1.0, 0.0], 1)])[2:])]
    assert state.squares()[2] * UNIT / 2**50 == pytest.approx((52 * math.log(2)) ** 2, rel=1e-12)  # type: ignore[index]


@given(SAMPLES, SAMPLES)
def test_unknown_squares_stay_unknown_until_nothing_is_left(old: Any, new: Any) -> None:
    """Bytes without squares give a state without, and so is what it is merged into, until no sample is left."""
    before, after = fed(old), fed(new)
    content = before._content()
    read = ProbabilityLosses.from_content(tuple(content[:20]))
    both = fed(new).merge(read)

    assert read.squares() == (None if before.n else [0] * 5)
    assert both.squares() == (None if before.n else after.squares())
    assert both == read.copy().merge(after)
    assert both.numbers() == fed([*old, *new]).numbers()
    assert ProbabilityLosses.from_bytes(both.to_bytes()) == both
    for sample in new:
        both.revert(*sample)

    assert both == read
    assert both.subtract(read) == fed([])
    assert both.squares() == [0] * 5


def test_bytes_without_samples_are_those_of_earlier_releases() -> None:
    """Only states with losses have squares in their bytes."""
    assert ProbabilityLosses().to_bytes() == (GOLDEN / "losses_v1_empty.bin").read_bytes()
    assert fed([("a", None)])._content()[2:] == fed([("a", None)]).numbers()
    assert sm.from_bytes((GOLDEN / "losses_v1_single.bin").read_bytes()).squares() is None
    assert sm.from_bytes((GOLDEN / "losses_v1_single_squares.bin").read_bytes()).squares() is not None


@pytest.mark.parametrize(
    ("place", "value"), [(0, -1), (0, 5), (1, 5), (2, -1), (3, 1 << 191), (0, 4), (0, 1.0), (1, 4), (2, None)]
)
def test_impossible_squares_are_refused(place: int, value: Any) -> None:
    """Squares below zero, of more samples than there are, or without a sample, cannot be read."""
    content = fed([("a", [0.5, 0.25, 0.25], 1)] * 4)._content()
    content[20 + place] = value
    with pytest.raises(sm.errors.DecodeError):
        ProbabilityLosses.from_content(tuple(content))


def test_revert_with_another_weight_is_refused() -> None:
    """The squares show that no sample of another weight was counted; nothing changes."""
    state = fed([("a", [0.5, 0.25, 0.25], 1)] * 2)
    data = state.to_bytes()
    with pytest.raises(sm.errors.WeightError, match="Expected to revert a sample that was counted"):
        state.revert("a", [0.5, 0.25, 0.25], 0.5)

    assert state.to_bytes() == data
