"""Intervals of mean losses, of calibration without noise, and of areas."""

from __future__ import annotations

import importlib.util
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.refusals import refused

import stream_metrics as sm

ROOT = Path(__file__).parents[2]
LOSSES = ("log_loss", "brier_score", "spherical_score")


SPEC: Any = importlib.util.spec_from_file_location("streams", ROOT / "benchmarks/probability_streams.py")
STREAMS: Any = importlib.util.module_from_spec(SPEC)  # whose truth is known
SPEC.loader.exec_module(STREAMS)


def of_probabilities(truth: Any, scores: Any, w: Any = None) -> Any:
    """Return the snapshot of losses of a batch."""
    state = sm.ProbabilityLosses()
    state.update_many(truth, scores, w)
    return state.snapshot()


def ranked(truth: Any, scores: Any, classes: Any = None, **options: Any) -> Any:
    """Return the snapshot of a rank sketch of a batch."""
    state = sm.RankSketch(**options)
    state.update_many(truth, scores, classes=classes)
    return state.snapshot()


@pytest.mark.parametrize(
    ("name", "n"),
    [
        *(("calibrated", 30), ("1 % positive", 30)),
        *(pytest.param(name, n, marks=pytest.mark.nightly) for name in STREAMS.STREAMS for n in (30, 300)),
    ],
)
def test_one_look_holds_the_truth(name: str, n: int) -> None:
    """At least 88 % of 60 intervals do, also where hardly any error is seen; with more runs, 93 % or more."""
    rng, stream = np.random.default_rng(n), STREAMS.STREAMS[name]
    truth, hits = STREAMS.truths(stream), dict.fromkeys(LOSSES, 0)
    for _ in range(60):
        taken = of_probabilities(*STREAMS.drawn(stream, n, rng))
        for key in LOSSES:
            low, high = taken.interval(key)
            hits[key] += low <= truth[key] + 1e-9 and truth[key] - 1e-9 <= high
            assert low < high
    assert min(hits.values()) >= 0.88 * 60


@pytest.mark.parametrize(
    ("name", "runs"),
    [("1 % positive", 6)]
    + [pytest.param(name, 20, marks=pytest.mark.nightly) for name in ("calibrated", "1 % positive", "knows nothing")],
)
def test_sequences_are_hardly_ever_wrong(name: str, runs: int) -> None:
    """From the first sample on: at most 2 of 20 streams, where 1 is allowed on average."""
    rng, stream = np.random.default_rng(5), STREAMS.STREAMS[name]
    truth, missed = STREAMS.truths(stream), np.zeros(len(LOSSES))
    looks = [*range(1, 10), *np.geomspace(10, 2000, 15).astype(int).tolist()]
    for _ in range(runs):
        positive, scores = STREAMS.drawn(stream, looks[-1], rng)
        taken = [of_probabilities(positive[:n], scores[:n]) for n in looks]
        for at, key in enumerate(LOSSES):
            ends = np.array([tuple(one.interval(key, valid="anytime")) for one in taken])
            missed[at] += ends[:, 0].max() > truth[key] + 1e-9 or ends[:, 1].min() < truth[key] - 1e-9
    assert max(missed) <= runs // 10


@pytest.mark.quick
@pytest.mark.parametrize(("large", "p"), [(1.0, 0.1), (0.25, 0.5)])
def test_a_bounded_mean_is_ever_wrong_as_seldom_as_promised(large: float, p: float) -> None:
    """Losses of two values: the exact probability over 25 looks, by recursion over the counts; the claim is 5 %."""
    chances, wrong, mean = np.array([1.0]), 0.0, p * large + (1 - p) * 0.01
    for n in range(1, 26):
        chances = np.append(chances * (1 - p), 0.0) + np.append(0.0, chances * p)
        for x, chance in enumerate(chances.tolist()):
            misses = np.array([large] * x + [0.01] * (n - x))
            actual = of_probabilities([True] * n, 1 - np.sqrt(misses)).interval("brier_score", valid="anytime")
            if chance > 1e-9 and not actual.low <= mean <= actual.high:
                wrong, chances[x] = wrong + chance, 0.0
    assert wrong < 0.05


@pytest.mark.quick
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.sampled_from([1, 2**30]))
@example([0.0], 1)
@example([1e-9] * 3, 2**30)
@example([1 - 2**-50], 1)
def test_a_bounded_mean_has_two_ends(values: list[float], times: int) -> None:
    """The interval lies in [0, 1] and holds the mean, however near it is to 0 or 1, however many samples there are."""
    state = sm.ProbabilityLosses()
    state.update_many([True] * len(values), 1 - np.sqrt(values))
    for _ in range(times.bit_length() - 1):
        state.merge(state.copy())
    actual: Any = state.snapshot().interval("brier_score", valid="anytime")

    assert 0 <= actual.low <= actual.value + 1e-15
    assert actual.value - 1e-15 <= actual.high <= 1


@pytest.mark.quick
def test_values_of_losses() -> None:
    """Half of the squared distance has half of the interval; standard errors are those of the losses themselves."""
    rng = np.random.default_rng(1)
    taken = of_probabilities(*STREAMS.drawn(STREAMS.STREAMS["calibrated"], 500, rng))
    half, auto, whole = (taken.interval("brier_score", scale_by_half=x) for x in (True, "auto", False))

    assert half == auto
    for name in ("value", "low", "high", "se"):
        assert 2 * getattr(half, name) == pytest.approx(getattr(whole, name))
    refused(lambda: taken.interval("log_loss", normalize=False), ValueError, "normalize=True")
    for spread in (1.0, 1e-4):
        p = 0.3 + 0.2 * spread * rng.random(1000)
        expected = -np.log(p), (1 - p) ** 2, p / np.hypot(p, 1 - p)
        for key, losses in zip(LOSSES, expected, strict=True):
            actual = of_probabilities(np.ones(1000, bool), p).interval(key)
            assert actual.se == pytest.approx(losses.std(ddof=1) / math.sqrt(1000), rel=1e-6)


@pytest.mark.quick
def test_what_has_no_squares_says_why() -> None:
    """Old bytes, weights that sum to the number of samples, and rows that do not sum to 1; few losses have a note."""
    old = sm.from_bytes((ROOT / "tests/golden/losses_v1_single.bin").read_bytes()).snapshot()
    weighted = of_probabilities([True, False], [0.5, 0.5], [2, 0])
    rows = of_probabilities(["a"], [{"a": 0.1, "b": 0.9, "c": 0.9, "d": 0.9}])

    for taken, key, about in (
        (old, "log_loss", "squares of all losses for the interval of 'log_loss'"),
        (weighted, "brier_score", "2 of 2 samples have a weight other than 1"),
        (rows, "brier_score", "1 of 1 samples is above 2"),
    ):
        refused(partial(taken.interval, key), ValueError, about)
    assert "[" not in next(x for x in old.with_intervals().report().splitlines() if x.startswith("Log loss"))
    assert rows.interval("log_loss").n == 1
    assert of_probabilities(np.arange(100) != 7, np.full(100, 0.999)).interval("log_loss").note
    assert not of_probabilities(np.arange(100) % 2 == 0, np.full(100, 0.6)).interval("log_loss").note


@pytest.mark.parametrize("name", ["calibrated", *(pytest.param(x, marks=pytest.mark.nightly) for x in STREAMS.STREAMS)])
def test_calibration_error_without_noise(name: str) -> None:
    """The interval holds the truth, and the value is near it, also near 0."""
    rng, stream = np.random.default_rng(3), STREAMS.STREAMS[name]
    truth, hits, values = STREAMS.truths(stream)["debiased_calibration_error"], 0, []
    for _ in range(40):
        actual = ranked(*STREAMS.drawn(stream, 400, rng)).interval("debiased_calibration_error", label=True)
        hits += actual.low <= truth + 1e-9 and truth <= actual.high
        values.append(actual.value)
        assert 0 <= actual.low <= actual.value <= actual.high <= 1
    assert hits >= 0.88 * 40
    assert abs(np.median(values) - truth) < 0.025


@pytest.mark.quick
def test_calibration_error_by_hand() -> None:
    """Two bins: the squared distance of each less the variance of its mean; a bin with one sample is left out."""
    truth, scores, expected = np.array([1, 0, 1, 1, 1, 0, 1, 1], bool), np.repeat([0.25, 0.75], [3, 5]), 0.0
    for s in (0.25, 0.75):
        d = truth[scores == s] - s
        expected += len(d) / 8 * (d.mean() ** 2 - d.var(ddof=1) / len(d))

    assert ranked(truth, scores)["debiased_calibration_error"] == pytest.approx(math.sqrt(max(expected, 0)), abs=1e-7)


@pytest.mark.quick
def test_standard_errors_of_areas() -> None:
    """That of the ROC area is DeLong's; that of average precision leaves out each sample in turn."""
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.4
    scores = np.round(rng.random(400) * 0.7 + 0.3 * truth * rng.random(400), 2)
    taken, places = ranked(truth, scores), range(0, 400, 2)
    left_out = [ranked(np.delete(truth, at), np.delete(scores, at))["average_precision"] for at in places]
    area = taken.interval("roc_auc", label=True)

    assert area.se == pytest.approx(taken.delong_se(True), rel=1e-12)
    assert taken.interval("gini", label=True).low == pytest.approx(2 * area.low - 1)
    jackknife = math.sqrt(399 * np.var(left_out))
    assert taken.interval("average_precision", label=True).se == pytest.approx(jackknife, rel=0.1)


@pytest.mark.quick
def test_areas_at_their_ends() -> None:
    """A perfect ranking is not certain; positives alone say nothing; of two classes all areas are one."""
    perfect = ranked([False] * 30 + [True] * 10, np.arange(40.0))
    actual = perfect.interval("roc_auc", label=True)
    alone = ranked([True] * 30, np.arange(30) / 30).interval("average_precision", label=True)
    positive, scores = STREAMS.drawn(STREAMS.STREAMS["calibrated"], 400, np.random.default_rng(4))
    two = ranked(positive, np.column_stack([1 - scores, scores]), [False, True])
    single = ranked(positive, scores)

    assert (actual.low, actual.high) == (pytest.approx(0.025 ** (1 / 10)), 1.0)
    assert perfect.interval("average_precision", label=True).low == actual.low
    assert (alone.low, alone.value, alone.high) == (0.0, 1.0, 1.0)
    tied = ranked([0, 1, 2] * 9, np.full((27, 3), 1 / 3), [0, 1, 2])
    assert tuple(tied.interval("roc_auc_micro")) == (0.0, 1.0)  # nothing is known of its spread
    for key in ("roc_auc_ovr", "roc_auc_ovo"):
        assert two.interval(key).se == pytest.approx(two.interval("roc_auc", label=True).se)
    assert tuple(single.interval("roc_auc_ovo")) == pytest.approx(tuple(single.interval("roc_auc", label=True)))


@pytest.mark.quick
def test_the_sketch_is_added_to_the_sample() -> None:
    """Of a coarse sketch the interval holds the certified one; one for all looks is wider by what is certainly open."""
    rng = np.random.default_rng(3)
    own = rng.random(3000) < 0.3
    scores = rng.normal(size=3000) + own
    coarse, fine = ranked(own, scores, buckets=64), ranked(own, scores, buckets=2**14)

    for key in ("roc_auc", "average_precision"):
        certain, actual = coarse.estimate(key), coarse.interval(key, label=True)
        assert actual.low <= certain.low < certain.high <= actual.high
        assert actual.se >= certain.se
        always, exact = (taken.interval(key, label=True, valid="anytime") for taken in (coarse, fine))
        assert always.high - always.low > exact.high - exact.low + 0.8 * (certain.high - certain.low)


@pytest.mark.parametrize("runs", [6, pytest.param(25, marks=pytest.mark.nightly)])
def test_means_over_classes_are_not_the_worst_case(runs: int) -> None:
    """With ten classes the bound is far below the mean of the standard errors, and above the spread of the values."""
    rng, values, bounds = np.random.default_rng(6), [], []
    keys = ("roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "roc_auc_micro", "average_precision_micro")
    for _ in range(runs):
        taken = ranked(*STREAMS.multiclass(10, 400, rng), range(10))
        actual = [taken.interval(key) for key in keys]
        values.append([one.value for one in actual])
        bounds.append([one.se for one in actual])
        assert actual[0].se < 0.7 * np.mean([taken.delong_se(label) for label in range(10)])
    assert (np.mean(bounds, 0) > np.std(values, 0)).all()
