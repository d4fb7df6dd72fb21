"""Numbers of labels and power, against the intervals and tests that they plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.inference.comparison.tests import mcnemar_test
from stream_metrics.inference.intervals.proportions import wilson
from stream_metrics.inference.intervals.sequences import beta_binomial_sequence
from stream_metrics.inference.planning import power, samples_for_power, samples_needed


@pytest.mark.parametrize(("rate", "width"), [(0.5, 0.1), (0.9, 0.02), (0.01, 0.005), (0.0, 0.01), (1.0, 0.001)])
def test_the_wilson_interval_is_that_narrow_then_and_not_before(rate: float, width: float) -> None:
    """n samples are enough, n - 1 are not."""
    n = samples_needed(width, rate)
    widths = [
        float(np.subtract(*(bound for bound in wilson(np.array(rate * m), np.array(m))[::-1]))) for m in (n, n - 1)
    ]

    assert widths[0] <= width < widths[1]


def test_a_snapshot_tells_how_many_more() -> None:
    """The interval of macro F1 after that many samples is as narrow as wanted, within 5 %."""
    random, sizes = np.random.default_rng(2), [2000]
    for _ in range(2):
        metrics, truth = sm.MetricSet(), random.integers(0, 3, sizes[-1])
        metrics.update_many(truth, np.where(random.random(sizes[-1]) < 0.8, truth, random.integers(0, 3, sizes[-1])))
        snapshot = metrics.snapshot()
        sizes.append(samples_needed(0.02, snapshot=snapshot, key="macro_f1"))
    found = snapshot.interval("macro_f1")

    assert found.high - found.low == pytest.approx(0.02, rel=0.05)


def test_a_standard_error_shrinks_as_the_root() -> None:
    """Half the width needs four times the samples; looking all the time needs more."""
    assert samples_needed(0.1, se=0.05, n=100) == 385
    assert samples_needed(0.05, se=0.05, n=100) == 1537
    assert samples_needed(0.1, se=0.05, n=100, valid="anytime") > 2 * 385
    assert samples_needed(0.02, 0.9, valid="anytime") > 2 * samples_needed(0.02, 0.9)


@pytest.mark.parametrize(("rate", "width"), [(0.9, 0.02), (0.5, 0.1), (0.01, 0.005), (1.0, 0.01)])
def test_a_sequence_is_that_narrow_then_and_not_before(rate: float, width: float) -> None:
    """Of a proportion, for all looks: n samples are enough, n - 1 are not."""
    n = samples_needed(width, rate, valid="anytime")
    widths = [float(np.subtract(*beta_binomial_sequence(np.array(rate * m), np.array(m))[::-1])) for m in (n, n - 1)]

    assert widths[0] <= width < widths[1]


@pytest.mark.parametrize(
    ("key", "label"),
    [("accuracy", None), ("matthews_corrcoef", None), ("balanced_accuracy", None), ("recall", 2), ("p4", 1)],
)
def test_planned_sequences_are_the_ones_given(key: str, label: Any) -> None:
    """Counts in the same proportions have, at the number planned, an interval for all looks that is that narrow."""
    matrix = np.array([[900, 60, 40], [30, 200, 20], [5, 10, 85]])
    pilot = sm.ConfusionMatrix.from_matrix(matrix).snapshot()
    n = samples_needed(0.04, snapshot=pilot, key=key, label=label, valid="anytime")
    then = sm.ConfusionMatrix.from_matrix(np.rint(matrix * (n / matrix.sum())).astype(int)).snapshot()
    found = then.interval(key, label=label, valid="anytime")

    assert found.high - found.low == pytest.approx(0.04, rel=0.01)


@pytest.mark.parametrize(
    ("n", "difference", "discordance", "within"),
    [(1000, 0.02, 0.1, 0.03), (5000, 0.02, 0.3, 0.03), (300, 0.0, 0.2, 0.02), (200, 0.05, 0.12, 0.05)],
)
def test_paired_power_is_how_often_mcnemar_rejects(
    n: int, difference: float, discordance: float, within: float
) -> None:
    """4,000 simulated comparisons; the error of the simulation is 0.008."""
    chances = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    counts = np.random.default_rng(3).multinomial(n, chances, 4000)
    pairs, times = np.unique(counts[:, :2], axis=0, return_counts=True)
    rejected = sum(t for (c, b), t in zip(pairs.tolist(), times.tolist(), strict=True) if mcnemar_test(b, c) <= 0.05)

    assert power(n, difference, discordance=discordance) == pytest.approx(rejected / 4000, abs=within)


@pytest.mark.parametrize(("n", "m", "rate", "difference"), [(500, 500, 0.8, 0.06), (2000, 1000, 0.9, -0.02)])
def test_unpaired_power_is_how_often_two_proportions_differ(n: int, m: int, rate: float, difference: float) -> None:
    """20,000 simulated comparisons of the pooled test."""
    random = np.random.default_rng(4)
    a, b = random.binomial(n, rate, 20_000) / n, random.binomial(m, rate + difference, 20_000) / m
    pooled = (n * a + m * b) / (n + m)
    rejected = (np.abs(b - a) > 1.959964 * np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))).mean()

    assert power(n, difference, rate=rate, n_b=m) == pytest.approx(rejected, abs=0.015)


def test_samples_for_power_are_the_fewest() -> None:
    """That many samples have the power, one less has not; the same samples for both models need fewer."""
    paired, unpaired = samples_for_power(0.8, 0.02, discordance=0.1), samples_for_power(0.8, 0.02, rate=0.9)

    assert power(paired, 0.02, discordance=0.1) >= 0.8 > power(paired - 1, 0.02, discordance=0.1)
    assert paired < unpaired


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: samples_needed(0, 0.5), "`width`"),
        (lambda: samples_needed(0.1), "exactly one"),
        (lambda: samples_needed(0.1, 0.5, se=0.1, n=5), "exactly one"),
        (lambda: samples_needed(0.1, se=0.1), "`n`"),
        (lambda: samples_needed(0.1, se=0.0, n=5), "standard error above 0"),
        (lambda: samples_needed(0.1, 1.5), "`rate`"),
        (lambda: power(100, 0.1), "exactly one"),
        (lambda: power(100, 0.3, discordance=0.2), "`discordance`"),
        (lambda: power(100, 0.3, rate=0.9), "`rate`"),
        (lambda: power(0, 0.1, rate=0.5), "numbers of samples"),
        (lambda: samples_for_power(0.8, 0.0, rate=0.5), "a difference"),
    ],
)
def test_bad_arguments_are_refused(call: Any, match: str) -> None:
    """Errors name the argument and what came."""
    with pytest.raises(ValueError, match=match):
        call()
