"""Intervals of mean losses, of calibration without noise, and of areas of several classes."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics._core.intervals.kernels import refuted_distance
from stream_metrics.catalog.table import CATALOG
from stream_metrics.inference.intervals.methods import METHODS, refusal
from stream_metrics.inference.intervals.sequences import BETS, DISTANCES, PARTS, REFINEMENTS, bounded_sequence
from stream_metrics.ranking.areas import delong_se
from stream_metrics.ranking.protocol import OWN

ROOT = Path(__file__).parents[2]
LOSSES = ("log_loss", "brier_score", "spherical_score")
RUNS = 60


def streams() -> Any:
    """Return the streams of the benchmarks, whose truth is known."""
    spec = importlib.util.spec_from_file_location("probability_streams", ROOT / "benchmarks/probability_streams.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STREAMS = streams()


def of_probabilities(truth: Any, scores: Any, **options: Any) -> Any:
    """Return the snapshot of losses of a batch."""
    state = sm.ProbabilityLosses()
    state.update_many(truth, scores, **options)
    return state.snapshot()


@pytest.mark.parametrize("name", STREAMS.STREAMS)
@pytest.mark.parametrize("n", [30, 300])
def test_one_look_holds_the_truth(name: str, n: int) -> None:
    """At least 88 % of 60 intervals do, also where hardly any error is seen; with more runs, 93 % or more."""
    rng, stream = np.random.default_rng(n), STREAMS.STREAMS[name]
    truth, held = STREAMS.truths(stream), dict.fromkeys(LOSSES, 0)
    for _ in range(RUNS):
        snapshot = of_probabilities(*STREAMS.drawn(stream, n, rng))
        for key in LOSSES:
            found = snapshot.interval(key)
            held[key] += found.low <= truth[key] + 1e-9 and truth[key] - 1e-9 <= found.high

            assert found.low < found.high

    assert min(held.values()) >= 0.88 * RUNS


@pytest.mark.parametrize("name", ["calibrated", "1 % positive", "knows nothing"])
def test_sequences_are_hardly_ever_wrong(name: str) -> None:
    """From the first sample on: at most 2 of 20 streams, where 1 is allowed on average."""
    rng, stream = np.random.default_rng(5), STREAMS.STREAMS[name]
    truth, missed = STREAMS.truths(stream), dict.fromkeys(LOSSES, 0)
    looks = [*range(1, 10), *np.geomspace(10, 2000, 15).astype(int).tolist()]
    for _ in range(20):
        positive, scores = STREAMS.drawn(stream, looks[-1], rng)
        wrong = dict.fromkeys(LOSSES, False)
        for n in looks:
            snapshot = of_probabilities(positive[:n], scores[:n])
            for key in LOSSES:
                found = snapshot.interval(key, valid="anytime")
                wrong[key] |= found.low > truth[key] + 1e-9 or found.high < truth[key] - 1e-9
        for key in LOSSES:
            missed[key] += wrong[key]

    assert max(missed.values()) <= 2


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@example([8.9e-155])
@example([1e-320] * 3)
@example([1 - 2**-53])
def test_bounded_sequence_refutes_only_what_bets_refute(values: list[float]) -> None:
    """Of a mean that is left out, the product of bets, computed sample by sample, or the mixture is large enough."""
    x, level = np.array(values), 0.5
    low, high = bounded_sequence(float(x.sum()), float(x @ x), len(x), level)

    assert 0 <= low <= x.mean() + 1e-12
    assert x.mean() - 1e-12 <= high <= 1
    for end, side in ((low, x), (1 - high, 1 - x)):
        if end > 1e-6:
            assert wealth(side, end * (1 - 1e-9)) >= 2 / (1 - level)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.sampled_from([1, 10, 10**6]))
def test_the_refuted_mean_is_the_nearest_of_the_distances(values: list[float], times: int) -> None:
    """The compiled search finds what a search over arrays of all distances finds."""
    x, goal = np.array(values), math.log(80)
    total, squares, n = times * float(x.sum()), times * float(x @ x), times * len(x)
    assume(total / n > 1e-100)
    distance = refuted_distance(total, squares, n, goal, BETS, DISTANCES, PARTS, REFINEMENTS)
    distances, near = DISTANCES, 0.0
    for _ in range(REFINEMENTS):
        m = (total / n) * (1 - distances)
        first, second = (total - n * m) / m, np.maximum((squares - 2 * m * total + n * m * m) / (m * m), 0.0)
        logs = first[:, None] * BETS[0] + second[:, None] * BETS[1] + BETS[2]
        refuted = np.flatnonzero(np.logaddexp.reduce(logs, 1) >= goal)
        if not len(refuted):
            assert distance == 1
            return
        near, far = distances[refuted[0] - 1] if refuted[0] else near, distances[refuted[0]]
        distances = np.append(near + (far - near) * PARTS[:-1], far)

    assert distance == pytest.approx(distances[-1], rel=1e-11)


@pytest.mark.parametrize("n", [1, 3, 1000, 10**6, 10**12])
@pytest.mark.parametrize("exponent", [*range(20), 100, 200, 320])
def test_sequences_have_two_ends_however_near_a_mean_is_to_0_or_1(n: int, exponent: int) -> None:
    """The interval lies in [0, 1] and holds the mean, but for rounding."""
    mean = 0.3 * 10.0**-exponent
    for total, squares in ((n * mean, n * mean * mean), (n - n * mean, n - 2 * n * mean + n * mean * mean)):
        low, high = bounded_sequence(total, squares, n)

        assert 0 <= low <= total / n * (1 + 1e-12) + 1e-300
        assert total / n * (1 - 1e-12) <= high <= 1


def wealth(x: Any, mean: float) -> float:
    """Return the larger one of the wealth of the bets against a mean and of the mixture, whose error is equal."""
    from stream_metrics.formulas.stats.normal import log_beta
    from stream_metrics.inference.intervals.sequences import SHARE_WEIGHTS, SHARES

    bets = np.log1p(SHARES[:, None] * (x / mean - 1)).sum(1) + SHARE_WEIGHTS
    total, n = float(x.sum()), len(x)
    mixture = log_beta(total + 0.5, n - total + 0.5) - log_beta(0.5, 0.5)
    mixture -= total * math.log(mean) + (n - total) * math.log1p(-mean)
    return max(float(np.exp(bets).sum()) / 2, math.exp(mixture))


def test_brier_score_of_every_kind() -> None:
    """Half of the squared distance has half of the interval, and nothing else."""
    rng = np.random.default_rng(1)
    snapshot = of_probabilities(*STREAMS.drawn(STREAMS.STREAMS["calibrated"], 500, rng))
    half, auto, whole = (snapshot.interval("brier_score", scale_by_half=x) for x in (True, "auto", False))

    assert half == auto
    assert [2 * x for x in (half.value, half.low, half.high, half.se)] == pytest.approx(
        [whole.value, whole.low, whole.high, whole.se]
    )
    with pytest.raises(ValueError, match="normalize=True"):
        snapshot.interval("log_loss", normalize=False)


def test_standard_errors_are_those_of_the_losses() -> None:
    """As computed from the losses themselves, also where they hardly differ."""
    rng = np.random.default_rng(2)
    for spread in (1.0, 1e-4):
        p = 0.3 + 0.2 * spread * rng.random(1000)
        snapshot = of_probabilities(np.ones(1000, bool), p)
        expected = -np.log(p), (1 - p) ** 2, p / np.hypot(p, 1 - p)
        for key, losses in zip(LOSSES, expected, strict=True):
            assert snapshot.interval(key).se == pytest.approx(losses.std(ddof=1) / math.sqrt(1000), rel=1e-6)


def test_what_has_no_squares_says_why() -> None:
    """Old bytes, weights that sum to the number of samples, and rows that do not sum to 1."""
    old = sm.from_bytes((ROOT / "tests/golden/losses_v1_single.bin").read_bytes()).snapshot()
    with pytest.raises(ValueError, match="squares of all losses for the interval of 'log_loss', but some samples come"):
        old.interval("log_loss")

    assert "[" not in next(x for x in old.with_intervals().report().splitlines() if x.startswith("Log loss"))
    weighted = of_probabilities([True, False], [0.5, 0.5], w=[2, 0])
    with pytest.raises(ValueError, match="2 of 2 samples have a weight other than 1"):
        weighted.interval("brier_score")
    rows = of_probabilities(["a"], [{"a": 0.1, "b": 0.9, "c": 0.9, "d": 0.9}])
    with pytest.raises(ValueError, match="the Brier loss of 1 of 1 samples is above 2"):
        rows.interval("brier_score")

    assert rows.interval("log_loss").n == 1


def test_few_samples_that_make_up_a_loss_are_noted() -> None:
    """One large loss among small ones."""
    truth = np.arange(100) != 7

    assert of_probabilities(truth, np.full(100, 0.999)).interval("log_loss").note
    assert not of_probabilities(np.arange(100) % 2 == 0, np.full(100, 0.6)).interval("log_loss").note


@pytest.mark.parametrize("name", ["calibrated", "too sure", "1 % positive", "knows nothing"])
def test_calibration_error_without_noise(name: str) -> None:
    """The interval holds the truth, and the value is near it, also near 0."""
    rng, stream = np.random.default_rng(3), STREAMS.STREAMS[name]
    truth, held, values = STREAMS.truths(stream)["debiased_calibration_error"], 0, []
    for _ in range(RUNS):
        state = sm.RankSketch()
        state.update_many(*STREAMS.drawn(stream, 400, rng))
        found = state.snapshot().interval("debiased_calibration_error", label=True)
        held += found.low <= truth + 1e-9 and truth <= found.high
        values.append(found.value)

        assert 0 <= found.low <= found.value <= found.high <= 1

    assert held >= 0.88 * RUNS
    assert abs(np.median(values) - truth) < 0.025


def test_calibration_error_by_hand() -> None:
    """Two bins: the squared distance of each less the variance of its mean; a bin with one sample is left out."""
    state = sm.RankSketch()
    truth, scores = np.array([1, 0, 1, 1, 1, 0, 1, 1], bool), np.array([0.25, 0.25, 0.25, 0.75, 0.75, 0.75, 0.75, 0.75])
    state.update_many(truth, scores)
    expected = 0.0
    for s in (0.25, 0.75):
        d = truth[scores == s] - s
        expected += len(d) / 8 * (d.mean() ** 2 - d.var(ddof=1) / len(d))
    view = state.snapshot()

    assert view["debiased_calibration_error"] == pytest.approx(math.sqrt(max(expected, 0.0)), abs=1e-7)


def test_mean_over_two_classes_is_no_wider_than_one_area() -> None:
    """With two classes both areas are one, and so are the pooled scores and their standard errors at most."""
    rng = np.random.default_rng(4)
    positive, scores = STREAMS.drawn(STREAMS.STREAMS["calibrated"], 400, rng)
    state = sm.RankSketch()
    state.update_many(positive, np.column_stack([1 - scores, scores]), classes=[False, True])
    snapshot = state.snapshot()
    one = snapshot.interval("roc_auc", label=True)

    assert snapshot.interval("roc_auc_ovr").se == pytest.approx(one.se)
    assert snapshot.interval("roc_auc_ovo").se == pytest.approx(one.se)


def test_means_over_classes_are_not_the_worst_case() -> None:
    """With ten classes the bound is far below the mean of the standard errors, and above the spread of the values."""
    rng, values, bounds = np.random.default_rng(6), [], []
    for _ in range(25):
        state = sm.RankSketch()
        truth, scores = STREAMS.multiclass(10, 600, rng)
        state.update_many(truth, scores, classes=range(10))
        snapshot = state.snapshot()
        keys = ("roc_auc_ovr", "roc_auc_ovr_weighted", "roc_auc_ovo", "roc_auc_micro", "average_precision_micro")
        found = [snapshot.interval(key) for key in keys]
        values.append([one.value for one in found])
        bounds.append([one.se for one in found])
        worst = np.mean([delong_se(state.column(label)) for label in range(10)])

        assert found[0].se < 0.7 * worst
        assert state.column(0).weight(OWN) > 10

    assert (np.mean(bounds, 0) > np.std(values, 0)).all()


def test_every_metric_has_an_interval_or_a_reason() -> None:
    """No key of the catalog is refused without a reason of its own."""
    for key, row in CATALOG.items():
        assert (key in METHODS) == (refusal(row) is None)
        assert refusal(row) != "no method for it is known here"
