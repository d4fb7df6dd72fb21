"""Sums of losses and of their squares: terms, forms of scores, ranks, weights, bytes, and what is refused."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import state_checks
from support.changed_bytes import bytes_of, content_of
from support.refusals import refused
from support.state_checks import check_refused, with_batch

import stream_metrics as sm
from stream_metrics import ProbabilityLosses

GOLDEN = Path(__file__).parents[1] / "golden"
CERTAIN_MISS = 52 * math.log(2)
CLASSES = ("a", "b", "c")
UNIT = Fraction(1, 2**104)
HALF = {"a": 0.5, "b": 0.5}
rows = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])), min_size=3, max_size=3)
SAMPLES = st.lists(
    st.tuples(st.sampled_from(CLASSES), st.one_of(st.none(), rows), st.sampled_from([1, 1, 1, 1.0, 2, 0.5, 0])),
    max_size=12,
)


def fed(*samples: tuple[Any, ...], **options: Any) -> ProbabilityLosses:
    """Return a state that has counted the samples one by one."""
    return state_checks.fed(ProbabilityLosses(**options), samples)


def drawn(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return true columns and probabilities, some of them tied, zero or one."""
    rng = np.random.default_rng(1)
    rows = rng.dirichlet(np.full(k, 0.3), n)
    rows[::7] = np.round(rows[::7], 1)
    rows[::11] = 0.0
    rows[::11, 0] = 1.0
    return rng.integers(0, k, n), rows


def test_logarithm_is_within_one_ulp() -> None:
    """A log loss is the nearest double to -ln p or the next one, for probabilities of every size."""
    rng = random.Random(1)
    draw = [rng.random() for _ in range(2000)] + [2 ** -rng.uniform(0, 52) for _ in range(2000)]
    draw += [1 - 2**-53, 1 - 1e-10, math.sqrt(0.5), 0.5, 2.0**-52, 1.0]
    for p in draw:
        with localcontext(prec=40):
            exact = -Decimal(p).ln()
            loss = Decimal(fed((True, p)).log_loss_units) / 2**104
        assert abs(loss - exact) <= Decimal(math.ulp(float(exact)))


RANKS: list[tuple[Any, Any, int]] = [
    ("a", HALF, 1), ("b", HALF, 2), ("b", {"b": 0.0, "a": 0.0, "c": 0.0}, 2),
    *((truth, {10: 0.3, 2: 0.3, "1": 0.3}, rank) for truth, rank in ((2, 1), ("1", 3))),
    *((truth, p, 1 + (truth is not (p > 0.5))) for truth in (True, False) for p in (0.5, 0.6)),
    *(("z", {str(i): 0.0 for i in range(n)}, 11) for n in (10, 30)),
]  # fmt: skip


@pytest.mark.quick
@given(st.booleans(), st.one_of(st.floats(0, 1), st.floats(-60, 0).map(lambda x: 2.0**x)), st.booleans())
def test_single_score_is_a_row_of_two(truth: bool, p: float, far: bool) -> None:
    """However near to 0 or 1 a probability is, its row is that of the mapping, and no loss leaves its range."""
    p = 1 - p if far else p
    one, two = fed((truth, p)), fed((truth, {True: p, False: 1 - p}))
    assert one.brier_units == two.brier_units
    assert 0 <= one.brier_units <= 2 << 104
    assert 0 <= one.spherical_units <= 1 << 104
    samples = [(True, 0.75), (False, 0.75), (True, 0.0), (False, 1.0)]
    assert fed(*samples) == fed(*((y, {True: x, False: 1 - x}) for y, x in samples))
    assert fed((True, 1 + 1e-7), (False, -1e-17)) == fed((True, 1.0), (False, 0.0))  # errors of rounding


def test_batches_have_the_bytes_of_samples() -> None:
    """Whatever type the true classes of a table have; squares of single scores are those of a table."""
    truth, table = drawn(200, 5)
    for dtype in (np.int8, np.uint64, object, float, str):
        column = truth.astype(dtype)
        names = sorted(set(column.tolist()))
        mappings = [dict(zip(names, row, strict=True)) for row in table.tolist()]
        state = with_batch(ProbabilityLosses(), column, table, classes=names)
        assert state == fed(*zip(column.tolist(), mappings, strict=True)), dtype
    own = table[:, 1] > 0.3
    single = with_batch(ProbabilityLosses(), own, table[:, 0])
    assert single == fed(*zip(own.tolist(), table[:, 0].tolist(), strict=True))
    assert single.squares()[:2] == [0, 0]


def test_weights_and_sizes() -> None:
    """A weight multiplies a term exactly; sums have room for 2^63 certain misses, for 3000 classes, and stay small."""
    scores = {"a": 0.1, "b": 0.7, "c": 0.2}
    assert fed(("a", scores, 3)).numbers()[2:] == fed(*[("a", scores)] * 3).numbers()[2:]
    term = fed((True, 0.3)).log_loss_units
    for w in (0.1, 2.0**-64, 2**53 + 1, 2**62, 1e15 + 0.25, 3.75):
        assert abs(fed((True, 0.3, w)).log_loss_units - term * Fraction(w)) <= Fraction(1, 2)
    large = fed((True, 0.0, 2**62), (True, 0.0, 2**62 - 1024))
    assert large.snapshot()["log_loss"] == pytest.approx(CERTAIN_MISS, rel=1e-15)
    assert sm.from_bytes(large.to_bytes()) == large
    check_refused(large, "update", [((True, 0.5, 2048), sm.WeightError)])
    twice = fed((True, 0.3, 0.1), (True, 0.3, 0.1))
    state = fed((True, 0.3, 0.1))
    assert state.merge(state) == twice

    many = np.random.default_rng(3).random((3, 3000))
    state = with_batch(ProbabilityLosses(classes=range(3000)), [0, 1, 2999], many)
    exact = sum(Fraction(round(p * 2**52), 2**52) ** 2 for p in many.ravel().tolist())
    exact += sum(1 - 2 * Fraction(round(p * 2**52), 2**52) for p in (many[0, 0], many[1, 1], many[2, 2999]))
    assert Fraction(state.brier_units, 2**104) == exact
    truth, table = drawn(10**5, 10)
    state = ProbabilityLosses(classes=range(10))
    for _ in range(10):
        state.update_many(truth, table)
    assert len(state.to_bytes()) < 500


def on_grid(units: int) -> Fraction:
    """Return a loss, given in units of 2^-104, rounded to the nearest multiple of 2^-52, halves upwards."""
    return Fraction((units + (1 << 51)) >> 52, 2**52)


def expected_squares(samples: Any) -> list[Any]:
    """Return the squares of samples with fractions, from the losses of each alone."""
    weighted, beyond, sums = 0, 0, [Fraction(0)] * 3
    for sample in samples:
        one = fed(sample, classes=CLASSES)
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


@given(SAMPLES, SAMPLES)
def test_squares_are_exact_or_unknown(old: Any, new: Any) -> None:
    """They are those of fractions; bytes without squares give states without, also merged, while samples are left."""
    before, after = (fed(*samples, classes=CLASSES) for samples in (old, new))
    earlier = sm.from_bytes(bytes_of("losses", content_of(before)[:20]))
    both = after.copy().merge(earlier)

    assert after.squares() == expected_squares(new)
    assert earlier.squares() == (None if before.n else [0] * 5)
    assert both.squares() == (None if before.n else after.squares())
    assert both == earlier.copy().merge(after)
    assert both.numbers() == fed(*old, *new, classes=CLASSES).numbers()
    assert sm.from_bytes(both.to_bytes()) == both
    for sample in new:
        both.revert(*sample)
    assert both == earlier
    assert both.subtract(earlier) == ProbabilityLosses(classes=CLASSES)
    assert both.squares() == [0] * 5


def test_squares_have_room_and_are_in_bytes_of_samples_only() -> None:
    """A certain miss is counted 2^50 times; states without losses have the bytes of earlier releases."""
    miss = ("a", [0.0, 1.0, 0.0], 1)
    state = fed(miss, classes=CLASSES)
    for _ in range(50):
        state.merge(state)
    assert state.squares() == [0, 0, *(x * 2**50 for x in expected_squares([miss])[2:])]
    assert state.squares()[2] * UNIT / 2**50 == pytest.approx(CERTAIN_MISS**2, rel=1e-12)

    golden = {name: (GOLDEN / f"losses_v1_{name}.bin").read_bytes() for name in ("empty", "single", "single_squares")}
    abstained = fed(("a", None))
    assert ProbabilityLosses().to_bytes() == golden["empty"]
    assert content_of(abstained)[2:] == abstained.numbers()
    assert sm.from_bytes(golden["single"]).squares() is None
    assert sm.from_bytes(golden["single_squares"]).squares() is not None


def test_impossible_numbers_are_not_read() -> None:
    """Numbers below zero, beyond their room, of more samples than there are, or without a sample, are refused."""
    counted = content_of(fed((True, 0.3), ("a", {"a": 0.1, "b": 0.5, "c": 0.4})))
    squared = content_of(fed(*[("a", [0.5, 0.25, 0.25], 1)] * 4, classes=CLASSES))
    squares = [(0, -1), (0, 5), (1, 5), (2, -1), (3, 1 << 191), (0, 4), (0, 1.0), (1, 4), (2, None)]
    cases = [(counted, place, value) for place in range(2, 20) for value in (-1, "1", 1 << 200)]
    for content, place, value in cases + [(squared, 20 + place, value) for place, value in squares]:
        changed = [*content[:place], value, *content[place + 1 :]]
        refused(lambda changed=changed: sm.from_bytes(bytes_of("losses", changed)), sm.DecodeError)


@pytest.mark.quick
def test_scores_that_are_refused() -> None:
    """A row needs `classes`, a single score a truth of its type, and a table a column for each class."""
    state, two = fed((True, 0.25)), ProbabilityLosses(classes=[0, 1])
    for call in (state.update, state.revert):
        refused(lambda call=call: call("a", [0.5, 0.5]), sm.ScoreError, "`classes` to say which class")
    refused(lambda: state.update("spam", 0.5), sm.LabelError, "pass pos_label=")
    forms = np.array([0.5, 0.5]), np.full((2, 2), 0.5), [{0: 0.5}, {1: 0.5}]
    batches = [(([0, 1], form, [2**62, 2**62]), sm.WeightError) for form in forms]
    check_refused(two, "update_many", [(([0], np.array([[0.2, 0.3, 0.5]])), sm.ScoreError, "scores", None), *batches])


@pytest.mark.quick
def test_what_was_not_counted_cannot_be_removed() -> None:
    """Another sample, weight or state is refused, and so is a merge with other options or another kind."""
    samples = [("b", HALF), ("a", {"a": 0.9, "b": 0.1}), ("a", None), ("a", HALF, 2)]
    check_refused(fed(("a", HALF)), "revert", [(sample, sm.WeightError) for sample in samples])
    row = ("a", [0.5, 0.25, 0.25])
    check_refused(fed(row, row, classes=CLASSES), "revert", [((*row, 0.5), sm.WeightError)])
    check_refused(fed((True, 0.5)), "subtract", [((fed((True, 0.5), (False, 0.5)),), sm.WeightError)])
    check_refused(ProbabilityLosses(), "merge", [((1,), sm.MergeError)])
