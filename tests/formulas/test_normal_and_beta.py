"""The normal and the beta distribution against SciPy and against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_metrics.formulas.stats import normal
from stream_metrics.formulas.stats.normal import (
    beta_cdf,
    beta_quantile,
    distinct_pairs,
    log_beta,
    normal_quantile,
    t_quantile,
)

special = pytest.importorskip("scipy.special", reason="SciPy is the oracle here and is not installed")
PARAMETERS = [(0.5, 0.5), (1.0, 3.0), (0.5, 200.5), (60.5, 40.5), (3e3, 7e6), (0.25, 1.75), (5e8, 2e8)]


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
@pytest.mark.parametrize("q", [0.005, 0.025, 0.5, 0.975])
def test_quantiles_are_those_of_scipy(a, b, q):
    """A quantile is right to eleven digits of its distance from the nearer end, or as near as SciPy has it."""
    found, expected = beta_quantile(q, a, b), float(special.betaincinv(a, b, q))

    assert found == pytest.approx(expected, rel=1e-11)
    assert beta_cdf(found, a, b) == pytest.approx(q, rel=1e-8)


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_the_distribution_function_is_that_of_scipy(a, b):
    """From far below the mean to far above it."""
    mean, spread = a / (a + b), math.sqrt(a * b / (a + b + 1)) / (a + b)
    for x in (mean + step * spread for step in (-3.0, -1.0, 0.0, 0.5, 2.0)):
        if 0 < x < 1:
            assert beta_cdf(x, a, b) == pytest.approx(float(special.betainc(a, b, x)), rel=1e-8)


def test_ends_are_certain():
    """Outside the unit interval nothing is left to sum."""
    assert (beta_cdf(0.0, 2, 3), beta_cdf(1.0, 2, 3), beta_cdf(-1.0, 2, 3)) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_log_beta_is_that_of_scipy(a, b):
    """The logarithm of the beta function, to nine digits where SciPy itself cancels."""
    assert log_beta(a, b) == pytest.approx(float(special.betaln(a, b)), rel=1e-9)


def test_normal_and_student_quantiles():
    """The reach of Student's T falls to that of the normal distribution."""
    assert normal_quantile(0.975) == pytest.approx(1.959963984540054, abs=1e-14)
    for degrees in (1, 2, 13, 400):
        expected = float(special.stdtrit(degrees, 0.975))
        assert t_quantile(0.95, degrees) == pytest.approx(expected, rel=1e-9)
    z = 1.959963984540054
    for degrees in (1e6, 1e9, 1e12):  # Cornish and Fisher, whose next term is below 1e-17
        expected = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        assert t_quantile(0.95, degrees) == pytest.approx(expected, rel=1e-13)


def test_newtons_steps_end_where_rounding_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """They went on by bisection, forty times, wherever the rounding of the tail led out of the bracket."""
    steps = []
    term = normal.beta_term
    monkeypatch.setattr(normal, "beta_term", lambda *given: steps.append(given) or term(*given))
    for a in (0.5, 1, 2, 3, 7, 40, 500.5, 1e5):
        for b in (0.5, 1, 3, 5, 40, 3e4):
            for q in (1e-4, 0.025, 0.3, 0.6, 0.975, 0.9999):
                before = len(steps)
                normal.beta_quantile.__wrapped__(q, a, b)
                assert len(steps) - before <= 24
    assert len(steps) < 9 * 8 * 6 * 6


def test_distinct_pairs_are_found_in_numbers_of_any_size() -> None:
    for x, n in (([1, 2, 1, 2.5], [3, 2, 3, 4]), ([1, 2, 1, 0], [3, 2, 3, 3]), ([1, 2, 1, 2**40], [3, 2, 3, 2**41])):
        columns = np.array(x * 5, np.float64), np.array(n * 5, np.float64)
        pairs = distinct_pairs(*columns)
        assert pairs is not None
        assert sorted(zip(pairs.x.tolist(), pairs.n.tolist(), strict=True)) == sorted(set(zip(x, n, strict=True)))
        assert pairs.x[pairs.places].tolist() == columns[0].tolist()
        assert pairs.n[pairs.places].tolist() == columns[1].tolist()
