"""Confidence sequences: exact identities, bounds, and coverage at every look."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import betaln

import stream_metrics as sm
from stream_metrics.formulas.stats.normal import expit, log_beta
from stream_metrics.inference.intervals import sequences
from stream_metrics.inference.intervals.sequences import area_sequence, asymptotic_multiplier, beta_binomial_sequence


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


@pytest.mark.parametrize("n", [10, 1000, 10**5, 10**8])
@pytest.mark.parametrize("share", [1e-9, 0.03, 0.5, 0.999])
def test_an_end_takes_a_dozen_steps(n, share, monkeypatch):
    """The search ends where rounding begins, however many samples there are."""
    steps = []
    monkeypatch.setattr(sequences, "expit", lambda u: steps.append(u) or expit(u))
    beta_binomial_sequence(np.array(n * share), np.array(n))

    assert len(steps) <= 2 * 12


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("p", [0.02, 0.5, 0.7])
def test_the_evidence_has_the_mean_1(n, p):
    """Summed over all outcomes, not simulated: the martingale is heavy-tailed."""
    total = sum(math.comb(n, x) * p**x * (1 - p) ** (n - x) * math.exp(evidence(x, n, p)) for x in range(n + 1))

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


def log_mixtures(n, p, t_opt):
    """Return the log of the mixture against p for every x of n, as the docstring of the sequence has it."""
    a = b = 0.5
    if t_opt is not None:
        reach = 2 * math.log(20)
        c = t_opt / (reach + math.log1p(reach))
        a, b = c * p, c * (1 - p)
    x = np.arange(n + 1)
    return betaln(a + x, b + n - x) - betaln(a, b) - x * math.log(p) - (n - x) * math.log1p(-p)


@pytest.mark.parametrize("t_opt", [None, 100.0, 1000.0])
@pytest.mark.parametrize("p", [0.5, 0.1, 0.01])
def test_watching_a_proportion_is_ever_wrong_as_seldom_as_promised(p, t_opt):
    """The exact probability over 1,500 looks, by recursion over the counts; the claim is 5 %."""
    chances, wrong = np.array([1.0]), 0.0
    for n in range(1, 1501):
        chances = np.append(chances * (1 - p), 0.0) + np.append(0.0, chances * p)
        refuted = log_mixtures(n, p, t_opt) >= math.log(20)
        wrong += chances[refuted].sum()
        chances[refuted] = 0

    assert 0.001 < wrong < 0.05


@pytest.mark.parametrize("t_opt", [30.0, 1000.0])
@pytest.mark.parametrize(("x", "n"), [(3, 10), (0, 7), (7, 7), (500, 1000), (20, 1000), (10, 10**6)])
def test_a_tuned_sequence_is_where_its_mixture_is_small(x, n, t_opt):
    """The ends are where the mixture reaches 20; it has the mean 1, and is narrower from t_opt samples on."""
    low, high = (float(end) for end in beta_binomial_sequence(np.array(x), np.array(n), 0.95, t_opt))
    plain = beta_binomial_sequence(np.array(x), np.array(n))

    assert low <= x / n <= high
    for end in (low, high):
        if 0 < end < 1:
            assert log_mixtures(n, end, t_opt)[x] == pytest.approx(math.log(20), abs=1e-6)
    if (n, t_opt) == (1000, 1000.0):
        assert high - low < 0.87 * float(plain[1] - plain[0])


def test_a_proportion_takes_t_opt():
    """Accuracy and rates per class are tightest near the number that is asked for."""
    snapshot = matrix([[900, 100], [100, 900]])
    for key in ("accuracy", "recall"):
        plain, tuned = (snapshot.interval(key, valid="anytime", t_opt=t) for t in (None, 1000))
        plain, tuned = (found if key == "accuracy" else found[0] for found in (plain, tuned))
        assert plain.low < tuned.low < tuned.high < plain.high


@pytest.mark.parametrize(("own", "rest"), [(1, 1), (50, 5000), (5000, 50), (300, 300)])
def test_the_sequence_of_an_area_holds_it(own, rest):
    """A perfect ranking of few samples may be far from one; equal classes are alike in both directions."""
    low, high = area_sequence((1.0, 1.0), own, rest, 0.95)
    assert 0 <= low < 1 == high
    down = area_sequence((0.0, 0.0), rest, own, 0.95)
    assert down == pytest.approx((0.0, 1 - low), abs=1e-12)
    assert area_sequence((0.9, 0.9), 10**6, 10**7, 0.95)[0] > 0.89


@pytest.mark.parametrize("share", [1e-300, 1e-17, 1e-9, 1 - 2**-53])
def test_a_share_of_a_sample_is_no_obstacle(share):
    """Sums of shares in [0, 1] may be as close to 0 or to n as floats are."""
    low, high = beta_binomial_sequence(np.array(share), np.array(1.0))

    assert 0 <= low <= share <= high <= 1


def watched(population, key, looks, rng):
    """Return whether the package's interval misses the value of the population at any look of one stream."""
    shares = population / population.sum()
    truth = matrix(np.rint(shares * 2**40).astype(np.int64))[key]
    drawn = rng.multinomial(np.diff(looks, prepend=0), shares.ravel()).cumsum(0)
    for counts in drawn:
        found = matrix(counts.reshape(shares.shape)).interval(key, valid="anytime")
        if found.low > truth or found.high < truth:
            return True
    return False


@pytest.mark.parametrize(
    ("population", "key"),
    [
        ([[90, 10], [0.03, 0.97]], "balanced_accuracy"),  # an easy rare class: all of 50 are right in 22 % of streams
        ([[9801, 99], [99, 1]], "matthews_corrcoef"),  # chance, 1:100
        ([[9900, 0.5], [90, 9.5]], "macro_precision"),  # precise, but rarely predicted
        ([[300, 20, 10], [20, 150, 10], [3, 3, 50]], "balanced_accuracy"),  # ordinary
    ],
)
def test_watching_misses_rarely_where_it_is_hard(population, key):
    """40 streams, 30 looks to 40,000 samples: streams that are ever wrong, with three standard errors."""
    rng, looks = np.random.default_rng(4), np.unique(np.geomspace(20, 40_000, 30).astype(int))
    missed = np.mean([watched(np.array(population, float), key, looks, rng) for _ in range(40)])

    assert missed <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 40)


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
