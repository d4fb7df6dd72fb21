"""Intervals of one proportion: printed values, exact coverage, ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_metrics.inference.intervals.proportions import clopper_pearson, jeffreys, wilson
from stream_metrics.inference.intervals.sequences import beta_binomial_sequence

METHODS = [wilson, jeffreys, clopper_pearson]


def binomial(n, p):
    """Return the probabilities of 0 to n successes."""
    logs = [math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1) for x in range(n + 1)]
    x = np.arange(n + 1)
    return np.exp(np.array(logs) + x * math.log(p) + (n - x) * math.log1p(-p))


def test_printed_values():
    """The intervals of 81 of 263 (Newcombe 1998, table I, methods 3 and 5)."""
    low, high = wilson(np.array(81), np.array(263))
    assert (round(float(low), 4), round(float(high), 4)) == (0.2553, 0.3662)

    low, high = clopper_pearson(np.array(81), np.array(263))
    assert (round(float(low), 4), round(float(high), 4)) == (0.2527, 0.3676)


@pytest.mark.parametrize("n", [5, 50])
def test_clopper_pearson_is_the_exact_binomial_sum(n):
    """At each end, the tail beyond the observed count has exactly the probability alpha / 2."""
    x = np.arange(1, n)
    low, high = clopper_pearson(x, np.full(n - 1, n))

    for hits, below, above in zip(x.tolist(), low.tolist(), high.tolist(), strict=True):
        assert binomial(n, below)[hits:].sum() == pytest.approx(0.025, rel=1e-9)
        assert binomial(n, above)[: hits + 1].sum() == pytest.approx(0.025, rel=1e-9)


@pytest.mark.parametrize(
    ("method", "n", "least", "mean"),
    [
        (wilson, 20, 0.852, 0.953), (wilson, 200, 0.933, 0.951),
        (clopper_pearson, 20, 0.958, 0.977), (clopper_pearson, 200, 0.950, 0.961),
        (jeffreys, 20, 0.895, 0.951), (jeffreys, 200, 0.917, 0.950),
    ],
)  # fmt: skip
def test_exact_coverage(method, n, least, mean):
    """Coverage over p from .002 to .998, summed exactly, is what the literature's formulas give."""
    low, high = method(np.arange(n + 1), np.full(n + 1, n))
    shares = np.linspace(0.002, 0.998, 499)
    held = np.array([binomial(n, p)[(low <= p) & (p <= high)].sum() for p in shares.tolist()])

    assert held.min() == pytest.approx(least, abs=0.004)
    assert held.mean() == pytest.approx(mean, abs=0.002)


@pytest.mark.parametrize("method", METHODS)
def test_ends_are_one_sided_and_symmetric(method):
    """Nothing of n starts at 0, all of n ends at 1, each with an honest other end; hits and misses are alike."""
    n = np.array([1, 7, 1000])
    low, high = method(np.zeros(3), n)
    mirror_low, mirror_high = method(n, n)

    assert low.tolist() == [0.0] * 3
    assert mirror_high.tolist() == [1.0] * 3
    assert (high > 1.5 / (n + 1)).all()
    assert mirror_low == pytest.approx(1 - high, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_no_data_is_undefined(method):
    """Without samples there is no interval."""
    low, high = method(np.array([0]), np.array([0]))

    assert np.isnan([low[0], high[0]]).all()


@pytest.mark.parametrize("method", METHODS)
def test_large_counts(method):
    """Counts beyond 2^53 give the normal interval."""
    n = 2.0**60
    low, high = method(np.array(n / 4), np.array(n))
    reach = 1.959963984540054 * math.sqrt(0.25 * 0.75 / n)

    assert float(high - low) == pytest.approx(2 * reach, rel=1e-4)


@pytest.mark.parametrize("interval", [jeffreys, clopper_pearson, beta_binomial_sequence])
def test_many_proportions_are_computed_as_one_by_one(interval):
    """Of many proportions equal ones are computed once; each gets what it gets alone."""
    x = np.arange(60).reshape(5, 12) % 7
    n = 10 + x % 3
    low, high = interval(x, n)

    for at in np.ndindex(x.shape):
        assert (low[at], high[at]) == tuple(map(float, interval(x[at], n[at])))
