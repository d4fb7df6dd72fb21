"""Tail probabilities against exact sums of whole numbers, against 60 digits, and against SciPy."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from scipy import special

from stream_metrics.formulas.stats.tails import beta_tail, binomial_tail, chi_square_tail
from stream_metrics.inference.comparison.tests import log_e_discordant, mcnemar_test

CLOSE = 1e-12  # the relative error that is promised
REFERENCES = json.loads(Path(__file__).with_name("tail_references.json").read_text())


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40, 90])
@pytest.mark.parametrize(("times", "of"), [(1, 2), (1, 3), (1, 1000), (999, 1000), (3, 7)])
def test_binomial_tail_is_the_exact_sum(n: int, times: int, of: int) -> None:
    """Every tail of a few trials is the sum of its terms, computed in whole numbers."""
    term, total = times**n, 0
    for x in range(n, 0, -1):
        total += term
        term = term * x * (of - times) // ((n - x + 1) * times)

        assert binomial_tail(x, n, times, of) == pytest.approx(float(Fraction(total, of**n)), rel=CLOSE, abs=1e-300)


@pytest.mark.parametrize(("n", "times", "of"), [(10**5, 1, 2), (10**4, 1, 3), (10**4, 9, 10), (10**4, 1, 100)])
def test_binomial_tail_of_many_trials_is_the_exact_sum(n: int, times: int, of: int) -> None:
    """Up to 10^5 trials, from tails of 1e-290 to those near 1."""
    mean, spread = n * times // of, math.isqrt(n * times * (of - times)) // of
    places = {mean + z * spread for z in (-8, -3, -1, 0, 1, 2, 5, 10, 20, 30)} | {mean + 1}
    top = min(n, mean + 40 * spread)
    term = math.comb(n, top) * times**top * (of - times) ** (n - top)
    total, below = 0, of**n
    for x in range(top, mean - 8 * spread - 1, -1):  # what is above `top` is less than 1e-30 of the smallest
        total += term
        term = term * x * (of - times) // ((n - x + 1) * times)
        if x in places:
            assert binomial_tail(x, n, times, of) == pytest.approx(total / below, rel=CLOSE)


def test_binomial_tail_of_any_number_of_trials() -> None:
    """Up to 2^63 trials, probabilities near 0, 1/2 and 1, tails from 1e-300 to 1; see `write_tail_references`."""
    assert len(REFERENCES) > 300
    for *case, expected in REFERENCES:
        x, n, times, of = map(int, case)

        assert binomial_tail(x, n, times, of) == pytest.approx(float(expected), rel=CLOSE), case


def test_equal_errors() -> None:
    """With b = c the upper tail is just above 1/2 by half its first term, at any size."""
    for b in (1, 10, 10**4, 10**9, 2**53, 2**61):
        half_term = math.exp(math.lgamma(2 * b + 1) - 2 * math.lgamma(b + 1)) / 4**b / 2 if b < 100 else 0.0
        half_term = half_term or (1 - 1 / (8 * b) + 1 / (128.0 * b * b)) / math.sqrt(math.pi * b) / 2

        assert binomial_tail(b, 2 * b, 1, 2) == pytest.approx(0.5 + half_term, rel=CLOSE)
        assert binomial_tail(b + 1, 2 * b, 1, 2) == pytest.approx(0.5 - half_term, rel=CLOSE)
        assert mcnemar_test(b, b) == pytest.approx(1 - half_term, rel=CLOSE)
        assert mcnemar_test(b, b, "exact") == 1.0


def test_only_one_kind_of_error() -> None:
    """With b = 0 the tail is its last term."""
    for c in (1, 5, 52, 900):
        assert binomial_tail(c, c, 1, 2) == pytest.approx(0.5**c, rel=CLOSE)
        assert binomial_tail(0, c, 1, 2) == 1.0
        assert mcnemar_test(0, c) == pytest.approx(0.5**c, rel=CLOSE)
    assert mcnemar_test(0, 10**18) == 0.0


def test_evidence_of_many_equal_errors() -> None:
    """The e-value of b = c is 1 / sqrt(pi b) but for 1 / b, where its two logarithms are 10^17."""
    for b in (10**6, 10**12, 10**17):
        assert log_e_discordant(b, b) == pytest.approx(-0.5 * math.log(math.pi * b), rel=1e-6 if b < 10**9 else 1e-14)


@pytest.mark.parametrize("n", [10**4, 10**6, 10**9])
@pytest.mark.parametrize("z", [-6, -1, 0, 0.3, 2, 9, 30])
def test_binomial_tail_is_that_of_scipy(n: int, z: float) -> None:
    """In the centre and 30 standard deviations away, as far as SciPy has digits."""
    x = round(n / 2 + z * math.sqrt(n) / 2)

    assert binomial_tail(x, n, 1, 2) == pytest.approx(special.betainc(x, n - x + 1, 0.5), rel=1e-9)


@pytest.mark.parametrize("a", [0.25, 0.5, 1.0, 1.5, 40.25, 2999.5, 3000.5, 1e5 + 0.5, 1e9])
@pytest.mark.parametrize("b", [0.25, 0.5, 1.0, 7.75, 2999.5, 3000.5, 2e6 + 0.25, 1e9])
def test_beta_tail_of_parameters_that_are_not_whole(a: float, b: float) -> None:
    """On both sides of where the method changes."""
    mean = a / (a + b)
    spread = math.sqrt(a * b / (a + b + 1)) / (a + b)
    for x in (mean + z * spread for z in (-8, -2, -0.5, 0, 1, 3)):
        if 0 < x < 1:
            gap = float(Fraction(a) - Fraction(a + b) * Fraction(x))
            expected = float(special.betainc(a, b, x))
            assert beta_tail(a, b, x, 1 - x, gap) == pytest.approx(expected, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize(
    ("x", "n", "times", "of", "expected"),
    [(0, 5, 0, 1, 1), (1, 5, 0, 1, 0), (5, 5, 1, 1, 1), (6, 5, 1, 2, 0), (6, 5, 1, 1, 0), (0, 0, 1, 2, 1)],
)
def test_binomial_tail_at_the_ends(x: int, n: int, times: int, of: int, expected: float) -> None:
    """Impossible and certain events have probability 0 and 1."""
    assert binomial_tail(x, n, times, of) == expected


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 45, 4950, 499500])
def test_chi_square_tail(degrees: int) -> None:
    """The chi-square tail is SciPy's for one and for half a million degrees of freedom."""
    for factor in (0.01, 0.5, 0.9, 1, 1.05, 1.5, 3):
        expected = special.chdtrc(degrees, degrees * factor)

        assert chi_square_tail(degrees * factor, degrees) == pytest.approx(expected, rel=1e-10, abs=1e-290)


def test_chi_square_tail_at_the_ends() -> None:
    """A statistic of 0, or no degree of freedom, is no evidence."""
    assert [chi_square_tail(0, 3), chi_square_tail(5, 0), chi_square_tail(1e9, 2)] == [1, 1, 0]
