"""Numbers of labels and power, against the intervals and tests that they plan."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused
from support.values import snapshot

import stream_metrics as sm
from stream_metrics import power, samples_for_power, samples_needed

pytestmark = pytest.mark.quick
stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle here and is not installed")
MATRIX = np.array([[900, 60, 40], [30, 200, 20], [5, 10, 85]])


def test_an_interval_is_that_narrow_then_and_not_before() -> None:
    """Of a proportion, for one look and for all: n samples are enough, n - 1 are not."""
    z2 = stats.norm.ppf(0.975) ** 2
    for rate, width in ((0.5, 0.1), (0.9, 0.02), (0.01, 0.005), (0.0, 0.01), (1.0, 0.001)):
        n = samples_needed(width, rate)
        wide = [2 * (z2 * (rate * (1 - rate) / m + z2 / (4 * m * m))) ** 0.5 / (1 + z2 / m) for m in (n, n - 1)]
        assert wide[0] <= width < wide[1]
    for rate, width in ((0.5, 0.1), (0.9, 0.02), (1.0, 0.01)):
        n, actual = samples_needed(width, rate, valid="anytime"), []
        for m in (n + 10, n - 10):
            x = round(rate * m)
            one: Any = snapshot([[x, m - x], [0, 0]]).interval("accuracy", valid="anytime")
            actual.append((one.high - one.low) / width)
        assert actual[0] <= 1.001
        assert actual[1] > 0.999


def test_a_snapshot_tells_how_many_more() -> None:
    """The interval of macro F1 after that many samples is as narrow as wanted, within 5 %."""
    random, sizes = np.random.default_rng(2), [2000]
    for _ in range(2):
        metrics, truth = sm.MetricSet(), random.integers(0, 3, sizes[-1])
        metrics.update_many(truth, np.where(random.random(sizes[-1]) < 0.8, truth, random.integers(0, 3, sizes[-1])))
        sizes.append(samples_needed(0.02, snapshot=metrics.snapshot(), key="macro_f1"))
    actual = metrics.snapshot().interval("macro_f1")

    assert actual.high - actual.low == pytest.approx(0.02, rel=0.05)
    assert samples_needed(0.1, se=0.05, n=100) == 385
    assert samples_needed(0.05, se=0.05, n=100) == 1537  # half the width needs four times the samples
    assert samples_needed(0.1, se=0.05, n=100, valid="anytime") > 2 * 385
    assert samples_needed(0.02, 0.9, valid="anytime") > 2 * samples_needed(0.02, 0.9)


def test_planned_sequences_are_the_ones_given() -> None:
    """Counts in the same proportions have, at the number planned, an interval for all looks that is that narrow."""
    for key, label in (("accuracy", None), ("matthews_corrcoef", None), ("recall", 2), ("p4", 1)):
        n = samples_needed(0.04, snapshot=snapshot(MATRIX), key=key, label=label, valid="anytime")
        then = snapshot(np.rint(MATRIX * (n / MATRIX.sum())).astype(int))
        actual: Any = then.interval(key, label=label, valid="anytime")
        assert actual.high - actual.low == pytest.approx(0.04, rel=0.01), key


def test_power_is_how_often_a_test_rejects() -> None:
    """McNemar's mid-p test by exact sums over pairs of counts, and 20,000 simulations of two proportions."""
    for n, difference, discordance, within in (
        (1000, 0.02, 0.1, 0.01), (300, 0.0, 0.2, 1e-7), (200, 0.05, 0.12, 1e-7), (300, 0.01, 0.012, 1e-7),
        (9, 1, 1, 1e-7),
    ):  # fmt: skip
        share, rejected = (discordance + difference) / (2 * discordance), 0.0
        for m in range(1, n + 1):
            chance = stats.binom.pmf(m, n, discordance)
            if chance > 1e-9:
                c = np.arange(m + 1)
                few = np.minimum(c, m - c)
                midp = np.minimum(2 * stats.binom.cdf(few, m, 0.5) - stats.binom.pmf(few, m, 0.5), 1)
                rejected += chance * stats.binom.pmf(c, m, share)[midp <= 0.05].sum()
        assert power(n, difference, discordance=discordance) == pytest.approx(rejected, abs=within)
    for n, m, rate, difference in ((500, 500, 0.8, 0.06), (2000, 1000, 0.9, -0.02)):
        random = np.random.default_rng(4)
        a, b = random.binomial(n, rate, 20_000) / n, random.binomial(m, rate + difference, 20_000) / m
        pooled = (n * a + m * b) / (n + m)
        rejects = np.abs(b - a) > 1.959964 * np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        assert power(n, difference, rate=rate, n_b=m) == pytest.approx(rejects.mean(), abs=0.015)


def test_samples_for_power_are_the_fewest() -> None:
    """That many samples have the power, one less has not; the same samples for both models need fewer."""
    numbers = []
    for options in ({"discordance": 0.1}, {"rate": 0.9}):
        numbers.append(samples_for_power(0.8, 0.02, **options))
        assert power(numbers[-1], 0.02, **options) >= 0.8 > power(numbers[-1] - 1, 0.02, **options)
    assert numbers[0] < numbers[1]


def test_bad_arguments_are_refused() -> None:
    """Errors name the argument and what came."""
    empty, counts = sm.MetricSet().snapshot(), snapshot([[9, 1], [2, 8]])
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], str]] = [
        (samples_needed, (0, 0.5), {}, "`width`"), (samples_needed, (0.1,), {}, "exactly one"),
        (samples_needed, (0.1, 0.5), {"se": 0.1, "n": 5}, "exactly one"), (samples_needed, (0.1,), {"se": 0.1}, "`n`"),
        (samples_needed, (0.1,), {"se": 0.0, "n": 5}, "standard error above 0"),
        (samples_needed, (0.1, 1.5), {}, "`rate`"), (samples_needed, (0.1, 0.9), {"level": 2}, "`level`"),
        (samples_needed, (0.1, 0.5), {"valid": "anytime", "t_opt": 0}, "`t_opt`"),
        (samples_needed, (0.1,), {"snapshot": counts, "key": "recall"}, "`label`"),
        (samples_needed, (0.1,), {"snapshot": empty, "key": "accuracy", "valid": "anytime"}, "0/0"),
        (power, (100, 0.1), {}, "exactly one"), (power, (100, 0.3), {"discordance": 0.2}, "`discordance`"),
        (power, (100, 0.3), {"rate": 0.9}, "`rate`"), (power, (0, 0.1), {"rate": 0.5}, "numbers of samples"),
        (samples_for_power, (0.8, 0.0), {"rate": 0.5}, "a difference"),
        (samples_for_power, (0.5, 1e-12), {"rate": 0.5}, "a number of samples"),
    ]  # fmt: skip
    all_refused((partial(call, *values, **options), ValueError, about) for call, values, options, about in calls)
