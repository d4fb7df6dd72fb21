"""How long detectors run without a change and how soon they find one, over simulated streams with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_metrics import ChangeDetector

NIGHTLY = pytest.mark.nightly
RUNNING = {"reference": 20, "learn": "running"}


def mean_length(detector: ChangeDetector, arl: int, rate: float) -> float:
    """Return the mean number of samples up to the first alarm: the integral of the probability that none came."""
    chances = [0.0] + [detector.alarm_probability(n, rate=rate) for n in range(arl // 4, 10 * arl + 1, arl // 4)]
    none = 1 - np.array(chances)
    return float((none[1:] + none[:-1]).sum() / 2 * (arl // 4))


def delay(make: Any, quiet: int, rates: tuple[float, float], longest: int = 4000, runs: int = 30) -> float:
    """Return the mean number of samples from a change to an alarm, `longest` for none; earlier alarms are left out."""
    random, delays = np.random.default_rng(3), []
    for _ in range(runs):
        detector = make()
        detector.update_many((random.random(quiet) < rates[0]).astype(float))
        if detector.changed:
            continue
        detector.update_many((random.random(longest) < rates[1]).astype(float))
        delays.append(detector.changes[0] - quiet if detector.changed else longest)
    assert len(delays) > runs / 2
    return float(np.mean(delays))


DAILY = [("up", 0.1, "given"), ("down", 0.5, 1), ("both", 0.1, 20)]


@pytest.mark.parametrize(
    ("direction", "rate", "level"),
    [
        *DAILY,
        *(
            pytest.param(direction, rate, level, marks=NIGHTLY)
            for direction in ("up", "down", "both")
            for rate in (0.02, 0.1, 0.5)
            for level in ("given", 1, 20, 1000)
        ),
    ],
)
def test_the_mean_run_length_is_near_the_one_stated(direction: Any, rate: float, level: Any) -> None:
    """Between 1 and 1.4 times `arl`, whether the level is given or learned, however small the reference is."""
    options: Any = {"p0": rate} if level == "given" else {"reference": level, "learn": "running"}
    detector = ChangeDetector(**options, arl=300, direction=direction, restart="stop")
    assert 0.93 < mean_length(detector, 300, rate) / 300 < 1.4  # the standard error is .06


@pytest.mark.parametrize("options", [{"p0": 0.1}, {"p0": 0.1, "method": "cusum"}, RUNNING], ids=str)
def test_an_alarm_within_n_samples_is_as_probable_as_said(options: dict[str, Any]) -> None:
    """At most n / arl for every n; about one half for n = arl, but for e-CUSUM."""
    detector = ChangeDetector(**options, arl=500)
    chances = [detector.alarm_probability(n, rate=0.1) for n in (25, 50, 125, 500)]

    for n, chance in zip((25, 50, 125, 500), chances, strict=True):
        assert chance <= n / 500 + 3 * (n / 500 / 400) ** 0.5
    assert 0.45 < chances[-1] < 0.64 or options.get("method") == "cusum"
    assert detector.n == 0
    assert detector.alarm_probability(50, rate=0.1) == chances[1]


@pytest.mark.parametrize(
    ("direction", "rate"),
    [("up", 0.1)] + [pytest.param(d, r, marks=NIGHTLY) for d in ("up", "down", "both") for r in (0.02, 0.1, 0.5)],
)
def test_a_calibrated_threshold_uses_the_run_length_up(direction: Any, rate: float) -> None:
    """1 to 1.5 times `arl`, where the threshold that is proven gives 10 times and more."""
    options: Any = {"arl": 1000, "direction": direction, "restart": "stop"}
    proven = ChangeDetector(rate, method="cusum", **options)

    assert 0.93 < mean_length(ChangeDetector(rate, method="calibrated", **options), 1000, rate) / 1000 < 1.5
    assert proven.alarm_probability(3000, rate=rate) < 0.35


def test_a_learned_level_costs_little_delay() -> None:
    """After 2,000 quiet samples, less than twice the delay of a level that is given, and half of that of the bound."""
    given, running, bound = (
        delay(lambda options=options: ChangeDetector(**options), 2000, (0.1, 0.15))  # type: ignore[misc]
        for options in ({"p0": 0.1}, {"reference": 1000, "learn": "running"}, {"reference": 1000, "learn": "bound"})
    )

    assert running < 2 * given
    assert running < 0.5 * bound


def test_losses_between_0_and_1_and_sums_run_as_long() -> None:
    """Losses that are no errors, and errors known by their number per pane alone: the mean run length stays."""
    random, betas, sums = np.random.default_rng(8), [], []
    for _ in range(150):
        detector = ChangeDetector(reference=50, learn="running", arl=100, restart="stop")
        detector.update_many(random.beta(0.5, 2, 1500))
        betas.append(detector.changes[0] - 50 if detector.changed else 1450)
    random = np.random.default_rng(9)
    for _ in range(150):
        detector = ChangeDetector(reference=100, learn="running", arl=300, restart="stop")
        for errors in random.binomial(10, 0.1, 400).tolist():
            detector.update_sum(errors, 10)
        sums.append(detector.changes[0] - 100 if detector.changed else 3900)
    actual = ChangeDetector(reference=1000)
    for errors in [*random.binomial(50, 0.1, 40).tolist(), *random.binomial(50, 0.3, 10).tolist()]:
        actual.update_sum(errors, 50)

    assert 0.93 < np.mean(betas) / 100 < 1.5
    assert 0.93 < np.mean(sums) / 300 < 1.5
    assert 2000 < actual.changes[0] <= 2150


def runs_of_errors(rate: float, correlation: float, n: int, random: np.random.Generator) -> Any:
    """Return errors with a rate, each with probability `correlation` the same as the one before."""
    fresh = random.random(n) >= correlation
    fresh[0] = True
    return (random.random(n) < rate)[np.maximum.accumulate(np.where(fresh, np.arange(n), 0))].astype(float)


@pytest.mark.parametrize("options", [{"p0": 0.1}, {"reference": 400, "learn": "running"}], ids=str)
@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=NIGHTLY), 0.5])
def test_blocks_keep_the_run_length_of_errors_that_come_in_runs(options: dict[str, Any], correlation: float) -> None:
    """In blocks of 50 the mean run length is that stated, where sample by sample it is a fraction of it."""
    means = []
    for block in (50, 1):
        random, runs = np.random.default_rng(6), []
        for _ in range(80):
            detector = ChangeDetector(**options, arl=600, block=block, restart="stop")
            detector.update_many(runs_of_errors(0.1, correlation, 4000, random))
            runs.append(detector.changes[0] - (detector.reference or 0) if detector.changed else 3600)
        means.append(float(np.mean(runs)) / 600)

    assert 0.85 < means[0] < 1.5  # the standard error is .13
    assert means[1] < 0.7 * means[0] or not correlation


@pytest.mark.parametrize("direction", ["up", *(pytest.param(x, marks=NIGHTLY) for x in ("down", "both"))])
def test_blocks_run_as_long_for_independent_errors(direction: Any) -> None:
    """As stated, whether the level is given or learned."""
    for level in ({"p0": 0.2}, {"reference": 100, "learn": "running"}):
        options: Any = {**level, "arl": 500, "direction": direction, "block": 20, "restart": "stop"}
        assert 0.93 < mean_length(ChangeDetector(**options), 500, 0.2) / 500 < 1.5
