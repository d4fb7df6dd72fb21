"""How long detectors run without a change and how soon they find one, over simulated streams with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_metrics import ChangeDetector

NIGHTLY = pytest.mark.nightly


def mean_length(detector: ChangeDetector, arl: int, rate: float) -> float:
    """Return the mean number of samples up to the first alarm: the integral of the probability that none came."""
    step = arl // 4
    none = 1 - np.array([0.0, *(detector.alarm_probability(n, rate=rate) for n in range(step, 10 * arl + 1, step))])
    return float((none[1:] + none[:-1]).sum() / 2 * step)


@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ({"p0": 0.1, "direction": "up"}, 0.1),
        ({"reference": 1, "direction": "down"}, 0.5),
        ({"reference": 20, "direction": "both"}, 0.1),
        ({"p0": 0.2, "block": 20, "arl": 500}, 0.2),
        ({"reference": 100, "block": 20, "arl": 500}, 0.2),
        ({"p0": 0.1, "method": "calibrated", "arl": 1000}, 0.1),
        *(
            pytest.param({**options, "direction": direction}, rate, marks=NIGHTLY)
            for direction in ("up", "down", "both")
            for rate in (0.02, 0.1, 0.5)
            for options in (
                *({"p0": rate}, {"reference": 1}, {"reference": 20}, {"reference": 1000}),
                *({"p0": rate, "block": 20, "arl": 500}, {"reference": 100, "block": 20, "arl": 500}),
                {"p0": rate, "method": "calibrated", "arl": 1000},
            )
        ),
    ],
)
def test_the_mean_run_length_is_near_the_one_stated(options: dict[str, Any], rate: float) -> None:
    """Between 1 and 1.4 times `arl`, whether the level is given or learned, however small the reference is; in blocks,
    and up to a calibrated threshold, 1.5 times, where the threshold that is proven gives three times and more.
    """
    learn = {"learn": "running"} if "reference" in options else {}
    options = {"arl": 300, **options, **learn, "restart": "stop"}
    most = 1.4 if options["arl"] == 300 else 1.5

    assert 0.93 < mean_length(ChangeDetector(**options), options["arl"], rate) / options["arl"] < most  # error .06
    if "method" in options:
        assert ChangeDetector(**{**options, "method": "cusum"}).alarm_probability(3000, rate=rate) < 0.35


@pytest.mark.parametrize(
    "options", [{"p0": 0.1}, {"p0": 0.1, "method": "cusum"}, {"reference": 20, "learn": "running"}], ids=str
)
def test_an_alarm_within_n_samples_is_as_probable_as_said(options: dict[str, Any]) -> None:
    """At most n / arl for every n; about one half for n = arl, but for e-CUSUM."""
    detector = ChangeDetector(**options, arl=500)
    chances = [detector.alarm_probability(n, rate=0.1) for n in (25, 50, 125, 500)]

    for n, chance in zip((25, 50, 125, 500), chances, strict=True):
        assert chance <= n / 500 + 3 * (n / 500 / 400) ** 0.5
    assert 0.45 < chances[-1] < 0.64 or options.get("method") == "cusum"
    assert detector.n == 0
    assert detector.alarm_probability(50, rate=0.1) == chances[1]


def test_losses_between_0_and_1_and_sums_run_as_long() -> None:
    """Losses that are no errors, and errors known by their number per pane alone: the mean run length stays."""
    for reference, arl, seed in ((50, 100, 8), (100, 300, 9)):
        random, lengths = np.random.default_rng(seed), []
        for _ in range(150):
            detector = ChangeDetector(reference=reference, learn="running", arl=arl, restart="stop")
            if arl == 100:
                detector.update_many(random.beta(0.5, 2, 1500))
            for errors in random.binomial(10, 0.1, 400).tolist() if arl == 300 else ():
                detector.update_sum(errors, 10)
            lengths.append(detector.changes[0] - reference if detector.changed else detector.n - reference)
        assert 0.93 < np.mean(lengths) / arl < 1.5
    actual = ChangeDetector(reference=1000)
    for errors in [*random.binomial(50, 0.1, 40).tolist(), *random.binomial(50, 0.3, 10).tolist()]:
        actual.update_sum(errors, 50)
    assert 2000 < actual.changes[0] <= 2150


@pytest.mark.parametrize("options", [{"p0": 0.1}, {"reference": 400, "learn": "running"}], ids=str)
@pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=NIGHTLY), 0.5])
def test_blocks_keep_the_run_length_of_errors_that_come_in_runs(options: dict[str, Any], correlation: float) -> None:
    """In blocks of 50 the mean run length is that stated, where sample by sample it is a fraction of it."""
    means = []
    for block in (50, 1):
        random, runs = np.random.default_rng(6), []
        for _ in range(80):
            fresh = random.random(4000) >= correlation  # else the outcome is that of the sample before
            fresh[0] = True
            latest = np.maximum.accumulate(np.where(fresh, np.arange(4000), 0))
            detector = ChangeDetector(**options, arl=600, block=block, restart="stop")
            detector.update_many((random.random(4000) < 0.1)[latest].astype(float))
            runs.append(detector.changes[0] - (detector.reference or 0) if detector.changed else 3600)
        means.append(float(np.mean(runs)) / 600)

    assert 0.85 < means[0] < 1.5  # the standard error is .13
    assert means[1] < 0.7 * means[0] or not correlation
