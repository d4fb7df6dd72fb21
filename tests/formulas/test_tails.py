"""Tail probabilities against exact rational sums and against SciPy."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy import special

from stream_metrics.formulas.tails import binomial_tail, chi_square_tail


@pytest.mark.parametrize("n", [1, 2, 7, 40, 90])
def test_binomial_tail_is_the_exact_sum(n: int) -> None:
    """Every tail of a few trials is the sum of its terms, computed in whole numbers."""
    for mean in range(0, n + 1, max(1, n // 6)):
        terms = [math.comb(n, x) * mean**x * (n - mean) ** (n - x) for x in range(n + 1)]
        for x in range(n + 1):
            exact = Fraction(sum(terms[x:]), n**n)

            assert binomial_tail(x, n, mean) == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
@pytest.mark.parametrize("z", [-6, -1, 0, 0.3, 2, 9, 30])
def test_binomial_tail_of_many_trials(n: int, z: float) -> None:
    """Tails of up to 10^9 trials are those of SciPy to nine digits, in the centre and 30 standard deviations away."""
    x = round(n / 2 + z * math.sqrt(n) / 2)
    expected = special.betainc(x, n - x + 1, 0.5)

    assert binomial_tail(x, n, n / 2) == pytest.approx(expected, rel=1e-9)


def test_binomial_term_far_out() -> None:
    """A tail of one term, 0.5^1000, keeps all its digits."""
    assert binomial_tail(1000, 1000, 500) == pytest.approx(0.5**1000, rel=1e-13)


@pytest.mark.parametrize(("x", "n", "mean", "expected"), [(0, 5, 0, 1), (1, 5, 0, 0), (5, 5, 5, 1), (6, 5, 3, 0)])
def test_binomial_tail_at_the_ends(x: float, n: float, mean: float, expected: float) -> None:
    """Impossible and certain events have probability 0 and 1."""
    assert binomial_tail(x, n, mean) == expected


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 45, 4950, 499500])
def test_chi_square_tail(degrees: int) -> None:
    """The chi-square tail is SciPy's for one and for half a million degrees of freedom."""
    for factor in (0.01, 0.5, 0.9, 1, 1.05, 1.5, 3):
        expected = special.chdtrc(degrees, degrees * factor)

        assert chi_square_tail(degrees * factor, degrees) == pytest.approx(expected, rel=1e-10, abs=1e-290)


def test_chi_square_tail_at_the_ends() -> None:
    """A statistic of 0, or no degree of freedom, is no evidence."""
    assert [chi_square_tail(0, 3), chi_square_tail(5, 0), chi_square_tail(1e9, 2)] == [1, 1, 0]
