"""Confidence sequences: exact identities, bounds, and no peeking penalty."""

from __future__ import annotations

import math

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.inference.sequences import asymptotic_multiplier, beta_binomial_sequence
from stream_metrics.inference.special import log_beta


def evidence(x, n, p):
    """Return the log of the mixture martingale against p."""
    return log_beta(0.5 + x, 0.5 + n - x) - log_beta(0.5, 0.5) - x * math.log(p) - (n - x) * math.log1p(-p)


@pytest.mark.parametrize(("x", "n"), [(3, 10), (1, 1), (0, 1), (50, 100), (999_999, 1_000_000), (1, 10**7)])
def test_the_ends_are_where_the_evidence_is_enough(x, n):
    """At an end that is not 0 or 1 the martingale is exactly 1 / alpha."""
    low, high = (float(end) for end in beta_binomial_sequence(np.array(x), np.array(n)))

    assert low <= x / n <= high
    for end in (low, high):
        if 0 < end < 1:
            assert evidence(x, n, end) == pytest.approx(math.log(20), abs=1e-6)
    assert (low == 0) == (x == 0)
    assert (high == 1) == (x == n)


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("p", [0.02, 0.5, 0.7])
def test_the_evidence_has_the_mean_1(n, p):
    """Summed over all outcomes, not simulated: the martingale is heavy-tailed."""
    total = sum(
        math.comb(n, x) * p**x * (1 - p) ** (n - x) * math.exp(evidence(x, n, p)) for x in range(n + 1)
    )

    assert total == pytest.approx(1, rel=1e-12)


def test_no_samples_say_nothing():
    """The whole range."""
    low, high = beta_binomial_sequence(np.array([0]), np.array([0]))

    assert (low[0], high[0]) == (0.0, 1.0)


def test_multipliers():
    """The printed values for t_opt = 500; least near t_opt, and growing for ever."""
    found = [round(asymptotic_multiplier(t, 500), 1) for t in (100, 500, 2000, 10_000, 100_000)]

    assert found == [3.4, 3.0, 3.1, 3.3, 3.7]
    best = min(range(100, 3000, 10), key=lambda t: asymptotic_multiplier(t, 500))
    assert 300 < best < 1000


def test_watching_a_proportion_misses_rarely():
    """4000 looks in each of 300 streams: at most 5 % and three standard errors are ever missed."""
    rng, n, p = np.random.default_rng(8), np.arange(1, 4001), 0.1
    half = np.array([math.lgamma(k + 0.5) for k in range(4001)])
    whole = np.array([math.lgamma(k + 1) for k in n])
    missed = 0
    for _ in range(300):
        x = (rng.random(4000) < p).cumsum()
        log = half[x] + half[n - x] - whole - log_beta(0.5, 0.5) - x * math.log(p) - (n - x) * math.log1p(-p)
        missed += bool((log >= math.log(20)).any())

    assert missed / 300 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def matrix(cells):
    """Return the snapshot of a matrix."""
    return sm.ConfusionMatrix.from_matrix(cells).snapshot()


def test_asymptotic_sequences_wait_for_the_cells_that_matter():
    """Not for samples of a class but for mistakes: until the standard error has seen them, the interval is exact."""
    early, late = matrix([[9000, 1000], [0, 100]]), matrix([[9000, 1000], [60, 1940]])

    for key in ("balanced_accuracy", "geometric_mean"):
        assert early.interval(key, valid="anytime").method == "beta_binomial"
        found, once = late.interval(key, valid="anytime"), late.interval(key)
        assert found.method == "asymptotic"
        assert found.low < once.low < once.high < found.high
    assert early.interval("accuracy", valid="anytime").method == "beta_binomial"
    assert early.interval("macro_f1", valid="anytime").method == "asymptotic"  # rests on the false alarms


def test_what_has_no_exact_sequence_is_the_whole_range_at_first():
    """Of three classes MCC has none; of one class nothing has; Cramer's V has no sequence at all."""
    found = matrix([[50, 0, 0], [0, 50, 1], [0, 0, 50]]).interval("matthews_corrcoef", valid="anytime")

    assert (found.low, found.high) == (-1.0, 1.0)
    assert found.note.startswith("too early")
    one = matrix([[50]]).interval("balanced_accuracy", valid="anytime")
    assert (one.low, one.high) == (0.0, 1.0)
    assert "one class" in one.note
    with pytest.raises(ValueError, match="'cramers_v'"):
        matrix([[50, 9], [9, 50]]).interval("cramers_v", valid="anytime")


@pytest.mark.parametrize("cells", [[[9801, 99], [100, 0]], [[0, 10], [10, 0]], [[1, 0], [0, 1]], [[70, 0], [3, 0]]])
def test_exact_intervals_hold_chance_and_the_value(cells):
    """A coin that says "pos" one time in a hundred is not worse than chance."""
    snapshot = matrix(cells)
    for key in ("matthews_corrcoef", "cohen_kappa", "balanced_accuracy", "macro_f1", "weighted_f1", "macro_precision"):
        found = snapshot.interval(key, valid="anytime")
        assert not found.low > found.value
        assert not found.high < found.value
    found = matrix([[9801, 99], [100, 0]]).interval("matthews_corrcoef", valid="anytime")
    assert found.low < 0 < found.high


def test_t_opt_is_a_choice():
    """A sequence made for few samples is tighter there, one made for many is tighter there."""
    few = sm.ConfusionMatrix.from_matrix([[100, 30], [30, 100]]).snapshot()
    many = sm.ConfusionMatrix.from_matrix([[10**6, 3 * 10**5], [3 * 10**5, 10**6]]).snapshot()

    def width(snapshot, t_opt):
        found = snapshot.interval("cohen_kappa", valid="anytime", t_opt=t_opt)
        return found.high - found.low

    assert width(few, 200) < width(few, 10**6)
    assert width(many, 200) > width(many, 10**6)
