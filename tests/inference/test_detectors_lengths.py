"""How long detectors run without a change and how soon they find one, over simulated streams with fixed seeds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.states.detector import ChangeDetector

RUNS = 400


def lengths(detector: ChangeDetector, rate: float, longest: int) -> list[int]:
    """Return the samples until the first alarm in each run, `longest` where there was none."""
    twin = detector.copy()
    return [twin._first_alarm(rate, longest, run) or longest for run in range(RUNS)]


def delay(make: Any, quiet: int, rates: tuple[float, float], longest: int = 4000, runs: int = 60) -> float:
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


@pytest.mark.parametrize("direction", ["up", "down", "both"])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
@pytest.mark.parametrize(
    "level", [{"p0": None}, *({"reference": n, "learn": "running"} for n in (1, 20, 1000))], ids=str
)
def test_the_mean_run_length_is_near_the_one_stated(level: dict[str, Any], rate: float, direction: Any) -> None:
    """Between 1 and 1.4 times `arl`, whether the level is given or learned, however small the reference is."""
    options = {"p0": rate} if "p0" in level else level
    runs = lengths(ChangeDetector(**options, arl=300, direction=direction, restart="stop"), rate, 6000)

    assert 0.93 < np.mean(runs) / 300 < 1.4  # the standard error is .06


@pytest.mark.parametrize(
    "options", [{"p0": 0.1}, {"p0": 0.1, "method": "cusum"}, {"reference": 100, "learn": "running"}], ids=str
)
def test_an_alarm_within_n_samples_is_as_probable_as_said(options: dict[str, Any]) -> None:
    """At most n / arl for every n; about one half for n = arl, but for e-CUSUM."""
    detector = ChangeDetector(**options, arl=500)
    chances = [detector.alarm_probability(n, rate=0.1) for n in (25, 50, 125, 500)]

    for n, chance in zip((25, 50, 125, 500), chances, strict=True):
        assert chance <= n / 500 + 3 * (n / 500 / RUNS) ** 0.5
    assert 0.45 < chances[-1] < 0.64 or options.get("method") == "cusum"
    assert detector.n == 0
    assert detector.alarm_probability(50, rate=0.1) == chances[1]


@pytest.mark.parametrize("direction", ["up", "down", "both"])
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_a_calibrated_threshold_uses_the_run_length_up(rate: float, direction: Any) -> None:
    """1 to 1.5 times `arl`, where the threshold that is proven gives 10 times and more."""
    options = {"arl": 1000, "direction": direction, "restart": "stop"}
    runs = lengths(ChangeDetector(rate, method="calibrated", **options), rate, 10_000)
    proven = lengths(ChangeDetector(rate, method="cusum", **options), rate, 3000)

    assert 0.93 < np.mean(runs) / 1000 < 1.5
    assert np.mean(proven) > 2500


def test_evidence_of_a_calibrated_threshold_is_of_the_stated_run_length() -> None:
    """It reaches `arl` with the alarm, from bytes too; too rare errors have the threshold that is proven."""
    detector, rare = ChangeDetector(0.1, method="calibrated"), ChangeDetector(1e-5, method="calibrated")
    proven = ChangeDetector(1e-5, method="cusum")
    detector.update_many([0.0] * 20 + [1.0] * 4)
    rare.update_many([0.0, 1.0])
    proven.update_many([0.0, 1.0])
    again = sm.from_bytes(detector.to_bytes())
    before = 0.0
    while not detector.alarm:
        before = detector.evidence
        detector.update(1.0)
        again.update(1.0)

    assert 1000 < before < detector.arl
    assert again == detector
    assert rare.evidence == proven.evidence > 0


def test_a_learned_level_costs_little_delay() -> None:
    """After 2,000 quiet samples, less than twice the delay of a level that is given, and half of that of the bound."""
    given, running, bound = (
        delay(lambda options=options: ChangeDetector(**options), 2000, (0.1, 0.15))
        for options in ({"p0": 0.1}, {"reference": 1000, "learn": "running"}, {"reference": 1000, "learn": "bound"})
    )

    assert running < 2 * given
    assert running < 0.5 * bound


def test_losses_between_0_and_1_run_as_long() -> None:
    """Losses that are no errors are drawn as such: the mean run length stays."""
    random, runs = np.random.default_rng(8), []
    for _ in range(150):
        detector = ChangeDetector(reference=50, learn="running", arl=100, restart="stop")
        detector.update_many(random.beta(0.5, 2, 1500))
        runs.append(detector.changes[0] - 50 if detector.changed else 1450)

    assert 0.93 < np.mean(runs) / 100 < 1.5


def test_sums_run_as_long_and_find_a_change() -> None:
    """Known by their number per pane alone, errors are compared in a random order."""
    random, runs = np.random.default_rng(9), []
    for _ in range(150):
        detector = ChangeDetector(reference=100, learn="running", arl=300, restart="stop")
        for errors in random.binomial(10, 0.1, 400).tolist():
            detector.update_sum(errors, 10)
        runs.append(detector.changes[0] - 100 if detector.changed else 3900)
    found = ChangeDetector(reference=1000)
    for errors in [*random.binomial(50, 0.1, 40).tolist(), *random.binomial(50, 0.3, 10).tolist()]:
        found.update_sum(errors, 50)

    assert 0.93 < np.mean(runs) / 300 < 1.5
    assert 2000 < found.changes[0] <= 2150


def runs_of_errors(rate: float, correlation: float, n: int, random: np.random.Generator) -> Any:
    """Return errors with a rate, each with probability `correlation` the same as the one before."""
    fresh = random.random(n) >= correlation
    fresh[0] = True
    return (random.random(n) < rate)[np.maximum.accumulate(np.where(fresh, np.arange(n), 0))].astype(float)


@pytest.mark.parametrize("options", [{"p0": 0.1}, {"reference": 400, "learn": "running"}], ids=str)
@pytest.mark.parametrize("correlation", [0.0, 0.5])
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


@pytest.mark.parametrize("direction", ["up", "down", "both"])
def test_blocks_run_as_long_for_independent_errors(direction: Any) -> None:
    """As stated, whether the level is given or learned."""
    for options in ({"p0": 0.2}, {"reference": 100, "learn": "running"}):
        detector = ChangeDetector(**options, arl=500, direction=direction, block=20, restart="stop")  # type: ignore[arg-type]
        assert 0.93 < np.mean(lengths(detector, 0.2, 10_000)) / 500 < 1.5


def test_a_bet_on_a_block_is_fair() -> None:
    """The factor of a block is linear in its mean, 1 at the level, never 0; alarms come at its end; sums are blocks."""
    detector, sums = (ChangeDetector(0.2, block=5, arl=1e9, bets=[2.0]) for _ in range(2))
    seen = []
    for total in range(6):
        detector.reset()
        sums.reset()
        detector.update_many([0.0] * (5 - total) + [1.0] * total)
        sums.update_sum(total, 5)
        assert detector.evidence == sums.evidence
        seen.append(detector.evidence / 5)
    alarms = ChangeDetector(0.2, block=5, arl=20, restart="stop")
    alarms.update_many([1.0] * 33)

    assert np.diff(seen) == pytest.approx([seen[1] - seen[0]] * 5)
    assert seen[1] == pytest.approx(1)  # a mean of .2
    assert seen[0] >= 0.1
    assert alarms.changes[0] % 5 == 0


@pytest.mark.parametrize("block", [1, 7])
def test_bytes_keep_the_comparison(block: int) -> None:
    """From bytes, a pickle or a copy at any moment, the same alarms; numbers that cannot be are refused."""
    random = np.random.default_rng(4)
    losses = (random.random(600) < np.where(np.arange(600) < 300, 0.1, 0.6)).astype(float).tolist()
    whole = ChangeDetector(reference=100, learn="running", arl=200, block=block)
    whole.update_many(losses)
    for cut in (0, 10, 25, 60, 100, 101, 303, 500):
        part = ChangeDetector(reference=100, learn="running", arl=200, block=block)
        part.update_many(losses[:cut])
        for again in (sm.from_bytes(part.to_bytes()), pickle.loads(pickle.dumps(part)), part.copy()):
            again.update_many(losses[cut:])
            assert again.to_bytes() == whole.to_bytes()
    good = whole._numbers()
    wrongs = [(6, 20), (7, 0.5), (7, 1e9), (8, []), (8, [0.1, 0.2]), (9, []), (10, 1e9), (10, 0.5)]
    for place, wrong in [*wrongs, (11, 7), (12, 9.0)] if block > 1 else wrongs:
        numbers = [wrong if at == place else number for at, number in enumerate(good)]
        with pytest.raises(ValueError, match=r"number|level|error|samples|block"):
            whole.copy()._take(numbers)
    assert whole.alarms > 0
