"""Sums of losses: terms, forms of scores, ranks, errors, bytes."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics.errors import WeightError
from stream_metrics.states.losses import ProbabilityLosses
from stream_metrics.wire import from_bytes

CLASSES = ["cat", "dog", "bird", "cow"]
CERTAIN_MISS = 52 * math.log(2)


def fed(*samples: tuple[Any, ...], **options: Any) -> ProbabilityLosses:
    """Return a state that has counted the samples one by one."""
    state = ProbabilityLosses(**options)
    for sample in samples:
        state.update(*sample)
    return state


def drawn(n: int, k: int, seed: int = 1) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return true columns and probabilities, some of them tied, zero or one."""
    rng = np.random.default_rng(seed)
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
            found = Decimal(fed((True, p)).log_loss_units) / 2**104

        assert abs(found - exact) <= Decimal(math.ulp(float(exact)))


def test_terms_by_hand() -> None:
    """One sample: -ln .5; (.5 - 1)^2 + .25^2 + .25^2; .5 / sqrt(.375); rank 1."""
    values = fed(("a", {"a": 0.5, "b": 0.25, "c": 0.25})).snapshot()

    assert values["log_loss"] == math.log(2)
    assert values["brier_score"] == 0.375
    assert values["spherical_score"] == pytest.approx(0.5 / math.sqrt(0.375), rel=1e-15)
    assert values.value("top_k_accuracy", k=1) == 1.0


def test_missing_true_class_is_probability_zero() -> None:
    """A true class without a score costs -ln 2^-52, 1 more than the squares, and ranks after all listed classes."""
    state = fed(("a", {"b": 0.5, "c": 0.5, "d": 0.0}))
    values = state.snapshot()

    assert values["log_loss"] == pytest.approx(CERTAIN_MISS, rel=1e-15)
    assert values["brier_score"] == 1.5
    assert values["spherical_score"] == 0.0
    assert [units >> 64 for units in state.rank_units[:5]] == [0, 0, 0, 1, 0]


def test_missing_column_is_probability_zero() -> None:
    """A true class that has no column is probability 0 in a batch as well."""
    state = ProbabilityLosses(classes=["b", "c", "d"])
    state.update_many(["a"], [[0.5, 0.5, 0.0]])

    assert state == fed(("a", [0.5, 0.5, 0.0]), classes=["b", "c", "d"])
    assert state.numbers() == fed(("a", {"b": 0.5, "c": 0.5, "d": 0.0})).numbers()


@pytest.mark.parametrize(
    ("truth", "scores", "rank"),
    [
        ("a", {"a": 0.5, "b": 0.5}, 1),
        ("b", {"a": 0.5, "b": 0.5}, 2),
        ("b", {"b": 0.0, "a": 0.0, "c": 0.0}, 2),
        (2, {10: 0.3, 2: 0.3, "1": 0.3}, 1),
        ("1", {10: 0.3, 2: 0.3, "1": 0.3}, 3),
        (True, 0.5, 2),
        (False, 0.5, 1),
        (True, 0.6, 1),
        (False, 0.6, 2),
        ("z", {str(i): 0.0 for i in range(10)}, 11),
        ("z", {str(i): 0.0 for i in range(30)}, 11),
    ],
)
def test_rank(truth: Any, scores: Any, rank: int) -> None:
    """Tied classes count in label order; beside a single score the other class comes first."""
    assert fed((truth, scores)).rank_units.index(1 << 64) == rank - 1


def test_single_score_is_a_row_of_two() -> None:
    """The probability of one class equals the mapping of both classes."""
    one = fed((True, 0.75), (False, 0.75), (True, 0.0), (False, 1.0))
    two = fed(*((y, {True: p, False: 1 - p}) for y, p in [(True, 0.75), (False, 0.75), (True, 0.0), (False, 1.0)]))

    assert one == two


@given(st.booleans(), st.one_of(st.floats(0, 1), st.floats(-60, 0).map(lambda x: 2.0**x)), st.booleans())
def test_single_score_next_to_an_end(truth: bool, p: float, far: bool) -> None:
    """However near to 0 or 1 a probability is, its row is that of the mapping, and no loss leaves its range."""
    p = 1 - p if far else p
    one = fed((truth, p))

    assert one.brier_units == fed((truth, {True: p, False: 1 - p})).brier_units
    assert 0 <= one.brier_units <= 2 << 104
    assert 0 <= one.spherical_units <= 1 << 104


def test_zero_scores_may_be_left_out() -> None:
    """A class of probability zero that is not the true one changes no loss."""
    full, sparse = fed(("a", {"a": 0.5, "b": 0.5, "c": 0.0})), fed(("a", {"a": 0.5, "b": 0.5}))

    assert (full.brier_units, full.spherical_units) == (sparse.brier_units, sparse.spherical_units)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, object, float, str])
def test_truth_of_every_type(dtype: Any) -> None:
    """A column of true labels may hold integers of any width, floats, text or objects."""
    truth, rows = drawn(200, 5)
    column = truth.astype(dtype)
    names = sorted(set(column.tolist()))
    state = ProbabilityLosses()
    state.update_many(column, rows, classes=names)

    assert state == fed(
        *zip(column.tolist(), [dict(zip(names, row, strict=True)) for row in rows.tolist()], strict=True)
    )


def test_whole_weights_are_repeated_samples() -> None:
    """A weight of 3 is three samples in every sum, to the bit; only n differs."""
    scores = {"a": 0.1, "b": 0.7, "c": 0.2}
    once, thrice = fed(("a", scores, 3)), fed(*[("a", scores)] * 3)

    assert once.numbers()[2:] == thrice.numbers()[2:]


def test_weights_multiply_exactly() -> None:
    """A weight, fraction or huge, multiplies the term and is rounded once, to 2^-104."""
    term = fed((True, 0.3)).log_loss_units
    for w in (0.1, 2.0**-64, 2**53 + 1, 2**62, 1e15 + 0.25, 3.75):
        found = fed((True, 0.3, w)).log_loss_units

        assert abs(found - term * Fraction(w)) <= Fraction(1, 2)


def test_sums_beyond_2_to_the_63() -> None:
    """The loss of a certain miss times the largest weights does not overflow."""
    state = fed((True, 0.0, 2**62), (True, 0.0, 2**62 - 1024))

    assert state.snapshot()["log_loss"] == pytest.approx(CERTAIN_MISS, rel=1e-15)
    assert from_bytes(state.to_bytes()) == state
    with pytest.raises(WeightError, match=r"stay below 2\*\*63"):
        state.update(True, 0.5, 2048)


def test_many_classes() -> None:
    """Squares of a row longer than one stride are summed exactly."""
    rows = np.random.default_rng(3).random((3, 3000))
    state = ProbabilityLosses(classes=range(3000))
    state.update_many([0, 1, 2999], rows)
    exact = sum(Fraction(round(p * 2**52), 2**52) ** 2 for p in rows.ravel().tolist())
    exact += sum(1 - 2 * Fraction(round(p * 2**52), 2**52) for p in (rows[0, 0], rows[1, 1], rows[2, 2999]))

    assert Fraction(state.brier_units, 2**104) == exact


@pytest.mark.parametrize("scores", [None, {}])
def test_abstentions_are_counted_apart(scores: Any) -> None:
    """None and {} are in no sum, one by one and in a batch."""
    state = fed(("a", scores), ("a", {"a": 1.0}))
    batch = ProbabilityLosses()
    batch.update_many(["a", "a"], [scores, {"a": 1.0}])

    assert state == batch
    assert (state.n, state.abstained, state.weight) == (1, 1, 1)


def test_rounding_excess_is_allowed() -> None:
    """A float32 softmax may exceed 1 by 1e-7, a difference may fall below 0 by 1e-17: they count as 1 and 0."""
    assert fed((True, 1 + 1e-7), (False, -1e-17)) == fed((True, 1.0), (False, 0.0))


def test_named_positive_label() -> None:
    """A single score belongs to `pos_label`, and every other label of its type is the rest."""
    state = ProbabilityLosses("spam")
    state.update_many(["spam", "ham", "eggs"], [0.9, 0.2, 0.3])

    assert state.snapshot()["brier_score"] == pytest.approx((0.01 + 0.04 + 0.09) / 3, rel=1e-15)


def test_merge_with_itself() -> None:
    """A state merged with itself has counted everything twice."""
    state = fed((True, 0.3, 0.1))

    assert state.copy().merge(state) == fed((True, 0.3, 0.1), (True, 0.3, 0.1))
    assert state.merge(state) == fed((True, 0.3, 0.1), (True, 0.3, 0.1))


def test_state_stays_small() -> None:
    """A million samples take as many bytes as the numbers need: under 500."""
    truth, rows = drawn(10**5, 10)
    state = ProbabilityLosses(classes=range(10))
    for _ in range(10):
        state.update_many(truth, rows)

    assert len(state.to_bytes()) < 500
