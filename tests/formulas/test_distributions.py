"""Tails and quantiles against exact sums of whole numbers, against 60 digits, and against SciPy."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.values import snapshot

from stream_metrics.formulas.stats.normal import beta_cdf, beta_quantile, log_beta, normal_quantile, t_quantile
from stream_metrics.formulas.stats.tails import beta_tail, binomial_tail, chi_square_tail

pytestmark = pytest.mark.quick
special = pytest.importorskip("scipy.special", reason="SciPy is the oracle here and is not installed")
CLOSE = 1e-12  # the relative error that is promised
REFERENCES = json.loads(Path(__file__).with_name("tail_references.json").read_text())
PARAMETERS = [(0.5, 0.5), (1.0, 3.0), (0.5, 200.5), (60.5, 40.5), (3e3, 7e6), (0.25, 1.75), (5e8, 2e8)]


def test_binomial_tail_is_the_exact_sum() -> None:
    """A tail is the sum of its terms in whole numbers: all of a few trials, and of many from 1e-290 to those near 1."""
    few = [(n, times, of) for n in (1, 2, 7, 40, 90) for times, of in ((1, 2), (1, 3), (1, 1000), (999, 1000), (3, 7))]
    for n, times, of in [*few, (10**4, 1, 3), (10**4, 9, 10), (10**4, 1, 100)]:
        mean, spread = n * times // of, math.isqrt(n * times * (of - times)) // of
        places = {mean + z * spread for z in (-8, -3, -1, 0, 1, 2, 5, 10, 20, 30)} | {mean + 1}
        bottom, top = (mean - 8 * spread, min(n, mean + 40 * spread)) if n > 90 else (1, n)
        term, total = math.comb(n, top) * times**top * (of - times) ** (n - top), 0
        for x in range(top, bottom - 1, -1):  # what is above `top` is less than 1e-30 of the smallest
            total += term
            term = term * x * (of - times) // ((n - x + 1) * times)
            if n <= 90 or x in places:
                assert binomial_tail(x, n, times, of) == pytest.approx(total / of**n, rel=CLOSE, abs=1e-300)


def test_binomial_tail_of_any_number_of_trials() -> None:
    """Up to 2^63 trials, probabilities near 0, 1/2 and 1, tails from 1e-300 to 1; see `write_tail_references`."""
    assert len(REFERENCES) > 300
    for *case, expected in REFERENCES:
        x, n, times, of = map(int, case)
        assert binomial_tail(x, n, times, of) == pytest.approx(float(expected), rel=CLOSE), case
    ends = [(0, 5, 0, 1, 1), (1, 5, 0, 1, 0), (5, 5, 1, 1, 1), (6, 5, 1, 2, 0), (6, 5, 1, 1, 0), (0, 0, 1, 2, 1)]
    assert [binomial_tail(*case) for *case, _ in ends] == [expected for *_, expected in ends]


def test_beta_tail_of_parameters_that_are_not_whole() -> None:
    """On both sides of where the method changes."""
    for a in (0.25, 0.5, 1.5, 40.25, 2999.5, 3000.5, 1e5 + 0.5, 1e9):
        for b in (0.5, 1.0, 7.75, 2999.5, 3000.5, 2e6 + 0.25, 1e9):
            mean = a / (a + b)
            spread = math.sqrt(a * b / (a + b + 1)) / (a + b)
            for x in (mean + z * spread for z in (-8, -2, -0.5, 0, 1, 3)):
                if 0 < x < 1:
                    gap = float(Fraction(a) - Fraction(a + b) * Fraction(x))
                    expected = float(special.betainc(a, b, x))
                    assert beta_tail(a, b, x, 1 - x, gap) == pytest.approx(expected, rel=1e-10, abs=1e-300), (a, b)


def test_chi_square_tail() -> None:
    """The chi-square tail is SciPy's for one and for half a million degrees of freedom; 0 is no evidence."""
    for degrees in (1, 2, 3, 10, 45, 4950, 499500):
        for factor in (0.01, 0.5, 0.9, 1, 1.05, 1.5, 3):
            expected = special.chdtrc(degrees, degrees * factor)
            assert chi_square_tail(degrees * factor, degrees) == pytest.approx(expected, rel=1e-10, abs=1e-290)
    assert [chi_square_tail(0, 3), chi_square_tail(5, 0), chi_square_tail(1e9, 2)] == [1, 1, 0]


def test_beta_distribution() -> None:
    """Quantiles to eleven digits, the distribution function to eight, and the logarithm of the beta function."""
    for a, b in PARAMETERS:
        for q in (0.005, 0.025, 0.5, 0.975):
            actual = beta_quantile(q, a, b)
            assert actual == pytest.approx(float(special.betaincinv(a, b, q)), rel=1e-11)
            assert beta_cdf(actual, a, b) == pytest.approx(q, rel=1e-8)
        mean, spread = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
        for x in (mean + step * spread for step in (-3.0, 0.0, 2.0)):
            if 0 < x < 1:
                assert beta_cdf(x, a, b) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-8)
        assert log_beta(a, b) == pytest.approx(float(special.betaln(a, b)), rel=1e-9)
    assert (beta_cdf(0.0, 2, 3), beta_cdf(1.0, 2, 3), beta_cdf(-1.0, 2, 3)) == (0.0, 1.0, 0.0)
    for a, b in ((3.0, 1e17), (1e17, 3.0), (0.5, 2.0**60), (1e150, 1e-3)):  # one vanishes beside the other
        assert log_beta(a, b) == pytest.approx(float(special.betaln(a, b)), rel=1e-12)


def test_normal_and_student_quantiles() -> None:
    """The reach of Student's T falls to that of the normal distribution."""
    z = 1.959963984540054
    assert normal_quantile(0.975) == pytest.approx(z, abs=1e-14)
    for degrees in (1, 2, 7, 13, 31, 400):
        assert t_quantile(0.95, degrees) == pytest.approx(float(special.stdtrit(degrees, 0.975)), rel=1e-9)
    for degrees in (1e6, 1e9, 1e12):  # Cornish and Fisher, whose next term is below 1e-17
        expected = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        assert t_quantile(0.95, degrees) == pytest.approx(expected, rel=1e-13)


def test_the_test_against_the_largest_class_keeps_its_level() -> None:
    """A model that is right as often as the largest class is frequent: the binomial test takes the estimated share as
    known and rejects too often, as its docstring says; McNemar's test does not.
    """
    rng, rejected, n, share, runs = np.random.default_rng(11), np.zeros(2), 400, 0.75, 600
    for _ in range(runs):
        often = rng.binomial(n, share)
        one, other = rng.binomial(often, share), rng.binomial(n - often, share)
        taken = snapshot([[one, often - one], [n - often - other, other]], ["often", "rare"])
        rejected += [taken["nir_p_value"] <= 0.05, taken["majority_p_value"] <= 0.05]
    noise = 3 * (0.05 * 0.95 / runs) ** 0.5

    assert rejected[0] / runs > 0.05 + noise
    assert rejected[1] / runs < 0.05 + noise
