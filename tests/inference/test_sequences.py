"""Intervals for any number of looks, of what is no proportion: when they begin, how wide they are, how often wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.values import snapshot

import stream_metrics as sm


def watched(population: Any, key: str, looks: Any, rng: np.random.Generator) -> bool:
    """Return whether the interval misses the value of the population at any look of one stream."""
    shares = np.array(population, float) / np.sum(population)
    truth = snapshot(np.rint(shares * 2**40).astype(np.int64))[key]
    for counts in rng.multinomial(np.diff(looks, prepend=0), shares.ravel()).cumsum(0):
        actual = snapshot(counts.reshape(shares.shape)).interval(key, valid="anytime")
        if actual.low > truth or actual.high < truth:
            return True
    return False


HARD = [
    ([[90, 10], [0.03, 0.97]], "balanced_accuracy"),  # an easy rare class: all of 50 are right in 22 % of streams
    ([[9801, 99], [99, 1]], "matthews_corrcoef"),  # chance, 1:100
    ([[9900, 0.5], [90, 9.5]], "macro_precision"),  # precise, but rarely predicted
    ([[300, 20, 10], [20, 150, 10], [3, 3, 50]], "balanced_accuracy"),  # ordinary
]


@pytest.mark.parametrize(
    ("population", "key", "streams", "most"),
    [
        *((*case, 8, 12) for case in HARD[:2]),
        *(pytest.param(*case, 40, 30, marks=pytest.mark.nightly) for case in HARD),
    ],
)
def test_watching_misses_rarely_where_it_is_hard(population: Any, key: str, streams: int, most: int) -> None:
    """Looks to 40,000 samples: streams that are ever wrong, with three standard errors."""
    rng, looks = np.random.default_rng(4), np.unique(np.geomspace(20, 40_000, most).astype(int))
    missed = np.mean([watched(population, key, looks, rng) for _ in range(streams)])

    assert missed <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / streams)


@pytest.mark.quick
def test_asymptotic_sequences_wait_for_the_cells_that_matter() -> None:
    """Not for samples of a class but for mistakes: until the standard error has seen them, the interval is exact."""
    early, late = snapshot([[9000, 1000], [0, 100]]), snapshot([[9000, 1000], [60, 1940]])
    exact = ("balanced_accuracy", "geometric_mean", "accuracy")

    assert {early.interval(key, valid="anytime").method for key in exact} == {"beta_binomial"}
    assert {late.interval(key, valid="anytime").method for key in exact[:2]} == {"asymptotic"}
    assert early.interval("macro_f1", valid="anytime").method == "asymptotic"  # rests on the false alarms


@pytest.mark.quick
def test_what_has_no_exact_sequence_is_the_whole_range_at_first() -> None:
    """Of three classes MCC has none; of one class nothing has."""
    actual = snapshot([[50, 0, 0], [0, 50, 1], [0, 0, 50]]).interval("matthews_corrcoef", valid="anytime")
    one = snapshot([[50]]).interval("balanced_accuracy", valid="anytime")

    assert (actual.low, actual.high) == (-1.0, 1.0)
    assert actual.note.startswith("too early")
    assert (one.low, one.high) == (0.0, 1.0)
    assert "one class" in one.note


@pytest.mark.quick
def test_t_opt_is_a_choice() -> None:
    """The multiplier of the standard error is the printed one; a sequence is tightest near `t_opt` samples."""

    def width(n: int, **options: Any) -> float:
        wrong = n * 3 // 26
        one = snapshot([[n // 2 - wrong, wrong], [wrong, n // 2 - wrong]]).interval("cohen_kappa", **options)
        return one.high - one.low

    for n, tighter, wider in ((260, 200, 10**6), (2_600_000, 10**6, 200)):
        assert width(n, valid="anytime", t_opt=tighter) < width(n, valid="anytime", t_opt=wider)
    for n, printed in ((520, 3.0), (2080, 3.1), (10_400, 3.3), (104_000, 3.7)):
        assert width(n, valid="anytime", t_opt=500) / width(n) == pytest.approx(printed / 1.96, rel=0.05)


@pytest.mark.quick
def test_the_sequence_of_an_area() -> None:
    """A perfect ranking of few samples may be far from one; the classes are alike in both directions; many are sure."""

    def area(own: int, rest: int, raised: float) -> Any:
        sketch = sm.RankSketch()
        positive, negative = np.arange(own) / own + raised, np.arange(rest) / rest
        sketch.update_many([True] * own + [False] * rest, np.concatenate([positive, negative]))
        return sketch.snapshot().interval("roc_auc", label=True, valid="anytime")

    for own, rest in ((1, 1), (50, 5000), (5000, 50), (300, 300)):
        up, down = area(own, rest, 2.0), area(rest, own, -2.0)
        assert 0 <= up.low < 1 == up.high
        assert (down.low, down.high) == pytest.approx((0.0, 1 - up.low), abs=1e-12)
    many = area(100_000, 10_000, 0.5)
    assert many.low > many.value - 0.03
