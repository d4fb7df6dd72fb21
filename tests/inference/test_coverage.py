"""Coverage of default intervals in hard cases, for one look and for all: rare classes, chance, few errors.

Each design is one in which an interval by class totals held the truth in 0 to 84 % of the runs. The seeds are fixed and
the bounds are five points below what was measured with more runs (`benchmarks/coverage.py` has the grid). Three designs
and few runs are for every day, the rest is for the night.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from support.values import snapshot

import stream_metrics as sm

RUNS = 100
NORMAL = NormalDist()
TENTH = NORMAL.inv_cdf(0.9)
Cells = np.ndarray[Any, Any]


def shares(k: int, ratio: float) -> Cells:
    """Return the shares of classes, the first `ratio` times as frequent as the last."""
    weights = float(ratio) ** (-np.arange(k) / (k - 1))
    return weights / weights.sum()


def table(k: int, ratio: float, recalls: Any) -> Cells:
    """Return the cell probabilities; errors go to the other classes as often as these occur."""
    share = shares(k, ratio)
    matrix = share[:, None] * (1 - np.array(recalls))[:, None] * share / (1 - share)[:, None]
    np.fill_diagonal(matrix, share * recalls)
    return matrix


def chance(k: int, ratio: float) -> Cells:
    """Return predictions that know nothing of the truth."""
    return np.outer(shares(k, ratio), shares(k, ratio))


def ordinary(k: int, ratio: float) -> Cells:
    """Return recalls from .9 to .7."""
    return table(k, ratio, np.linspace(0.9, 0.7, k))


def drawn(matrix: Cells, n: int, runs: int) -> Iterator[sm.Snapshot]:
    """Yield snapshots of samples from a population."""
    for counts in np.random.default_rng(0).multinomial(n, matrix.ravel() / matrix.sum(), runs):
        yield snapshot(counts.reshape(matrix.shape))


DAILY = {
    "near-perfect 1:100": (table(2, 100, [0.999, 0.999]), 10_000, ("balanced_accuracy", "geometric_mean", "macro_f1")),
    "chance 1:200": (
        chance(2, 200), 5000,
        ("matthews_corrcoef", "cohen_kappa", "macro_f1", "balanced_accuracy", "cramers_v", "weighted_kappa"),
    ),
    "ordinary 1:10": (ordinary(2, 10), 1000, ("balanced_accuracy", "macro_f1", "matthews_corrcoef", "cramers_v")),
}  # fmt: skip
NIGHTLY = {
    "easy rare class 1:100": (table(2, 100, [0.9, 0.97]), 3000, ("geometric_mean", "macro_specificity")),
    "easy rare class 1:1000": (table(2, 1000, [0.95, 0.97]), 30_000, ("balanced_accuracy",)),
    "easy rare class 1:50": (table(2, 50, [0.95, 0.99]), 2000, ("balanced_accuracy", "macro_recall")),
    "chance 1:50": (chance(2, 50), 2000, ("matthews_corrcoef", "macro_jaccard", "f1_ovo", "generalized_mcc")),
    "chance, five classes": (chance(5, 20), 10_000, ("cramers_v", "matthews_corrcoef", "general_f1_harmonic")),
    "rarely predicted 1:100": (table(2, 100, [0.9999, 0.3]), 3000, ("macro_precision", "macro_f1")),
    "12 classes 1:50": (table(12, 50, np.full(12, 0.9)), 300, ("macro_precision", "macro_f1")),
    "20 classes 1:100": (ordinary(20, 100), 1000, ("balanced_accuracy", "macro_f1", "general_f1_harmonic")),
    "20 classes 1:1000": (ordinary(20, 1000), 1000, ("macro_f1", "matthews_corrcoef", "weighted_f1")),
}


@pytest.mark.parametrize(
    ("name", "runs"),
    [(name, 50) for name in DAILY] + [pytest.param(name, RUNS, marks=pytest.mark.nightly) for name in DAILY | NIGHTLY],
)
def test_misses_are_few_or_said(name: str, runs: int) -> None:
    """The interval holds the truth, or its note says why it may not; so do those of classes."""
    matrix, n, keys = (DAILY | NIGHTLY)[name]
    truth, missed = snapshot(np.round(matrix * 2**45).astype(np.int64)), dict.fromkeys(keys, 0)
    runs = runs // 4 if len(matrix) > 5 else runs
    of_classes = ("recall", "precision", "f1", "ova_matthews_corrcoef", "p4") if name in list(DAILY)[:2] else ()
    classes = dict.fromkeys(of_classes, 0)
    for taken in drawn(matrix, n, runs):
        for key in keys:
            actual = taken.interval(key)
            missed[key] += not actual.low <= truth[key] <= actual.high and not actual.note
        for key in classes:
            classes[key] += sum(not x.low <= truth[key, at] <= x.high for at, x in taken.interval(key).items())

    assert {key: count for key, count in missed.items() if count > 0.12 * runs} == {}
    assert {key: count for key, count in classes.items() if count > 0.2 * runs} == {}  # of both classes


def test_ordinary_counts_have_no_note_and_rare_classes_have() -> None:
    """Where nothing is rare the delta method is taken; a mean of a hundred classes that were hardly seen is biased."""
    (taken,), (rare,) = drawn(ordinary(5, 3), 2000, 1), drawn(ordinary(100, 1000), 10_000, 1)
    for key in ("macro_f1", "balanced_accuracy", "matthews_corrcoef", "cramers_v", "weighted_kappa"):
        assert (taken.interval(key).method, taken.interval(key).note) == ("delta", "")
    assert "fewer than 10 samples" in rare.interval("macro_f1").note
    assert rare.interval("cohen_kappa").note == ""


def test_options_and_functions_are_held() -> None:
    """F2 and a user's function with hardly an error, where all draws of a bootstrap are alike in most runs."""
    matrix = table(2, 1, [0.999, 0.999])
    population = snapshot(np.round(matrix * 2**45).astype(np.int64))
    expected = population.value("fbeta", beta=2.0)[1], population["macro_f1"]

    def macro_f1(c: Any) -> float:
        return float(np.mean(2 * c.diagonal / (c.true_totals + c.predicted_totals)))

    hits = np.zeros(2)
    for taken in drawn(matrix, 300, 12):
        actual = taken.interval("fbeta", label=1, beta=2.0, draws=200), taken.interval(macro_f1, draws=200)
        hits += [one.low <= value <= one.high for one, value in zip(actual, expected, strict=True)]
        assert all(one.low < one.high for one in actual)
    assert hits.min() >= 11


def normal_scores(own: float, n: int, raised: float, rng: np.random.Generator) -> Any:
    """Return the snapshot of normal scores, those of own raised."""
    truth, sketch = rng.random(n) < own, sm.RankSketch()
    truth[:2] = True, False
    sketch.update_many(truth, rng.normal(size=n) + raised * truth)
    return sketch.snapshot()


@pytest.mark.parametrize(
    ("own", "n", "runs"),
    [
        (0.1, 1000, 40),
        *(pytest.param(*case, RUNS, marks=pytest.mark.nightly) for case in ((0.01, 10_000), (0.1, 1000), (0.5, 1000))),
    ],
)
def test_areas_near_1_are_held(own: float, n: int, runs: int) -> None:
    """A few positives below many negatives make up the variance, and most samples have too few of them."""
    rng, raised, hits = np.random.default_rng(1), 4.370248, 0
    for _ in range(runs):
        actual = normal_scores(own, n, raised, rng).interval("roc_auc", label=True)
        hits += actual.low <= NORMAL.cdf(raised / math.sqrt(2)) <= actual.high
    assert hits >= 0.9 * runs


@pytest.mark.parametrize("key", ["tpr_at_fpr", "partial_roc_auc"])
def test_points_of_a_good_curve_are_held(key: str) -> None:
    """The true positive rate at one false positive in ten, where no draw of a bootstrap loses a positive."""
    rng, raised, hits = np.random.default_rng(2), 4.07, 0
    truth = NORMAL.cdf(raised - TENTH)
    if key == "partial_roc_auc":
        thresholds = np.linspace(TENTH, 8, 20_001)
        tails, powers = (np.array([NORMAL.cdf(-x) for x in thresholds + by]) for by in (0, -raised))
        area = float(np.sum((tails[:-1] - tails[1:]) * (powers[:-1] + powers[1:]) / 2))
        truth = (1 + (area - 0.005) / 0.095) / 2
    for _ in range(12):
        actual = normal_scores(0.5, 150, raised, rng).interval(key, label=True, draws=50)
        hits += actual.low <= truth <= actual.high
        assert actual.low < actual.high
    assert hits >= 11


@pytest.mark.quick
def test_asymptotic_sequences_wait_for_the_cells_that_matter() -> None:
    """Not for samples of a class but for mistakes: until the standard error has seen them, the interval is exact."""
    early, late = snapshot([[9000, 1000], [0, 100]]), snapshot([[9000, 1000], [60, 1940]])
    exact = ("balanced_accuracy", "geometric_mean", "accuracy")

    assert {early.interval(key, valid="anytime").method for key in exact} == {"beta_binomial"}
    assert {late.interval(key, valid="anytime").method for key in exact[:2]} == {"asymptotic"}
    assert early.interval("macro_f1", valid="anytime").method == "asymptotic"  # rests on the false alarms


@pytest.mark.quick
def test_what_has_no_exact_sequence_is_the_whole_range_at_first() -> None:
    """Of three classes MCC has none; of one class nothing has."""
    actual = snapshot([[50, 0, 0], [0, 50, 1], [0, 0, 50]]).interval("matthews_corrcoef", valid="anytime")
    one = snapshot([[50]]).interval("balanced_accuracy", valid="anytime")

    assert (actual.low, actual.high) == (-1.0, 1.0)
    assert actual.note.startswith("too early")
    assert (one.low, one.high) == (0.0, 1.0)
    assert "one class" in one.note


@pytest.mark.quick
def test_t_opt_is_a_choice() -> None:
    """The multiplier of the standard error is the printed one; a sequence is tightest near `t_opt` samples."""

    def width(n: int, **options: Any) -> float:
        wrong = n * 3 // 26
        one = snapshot([[n // 2 - wrong, wrong], [wrong, n // 2 - wrong]]).interval("cohen_kappa", **options)
        return one.high - one.low

    for n, tighter, wider in ((260, 200, 10**6), (2_600_000, 10**6, 200)):
        assert width(n, valid="anytime", t_opt=tighter) < width(n, valid="anytime", t_opt=wider)
    for n, printed in ((520, 3.0), (2080, 3.1), (10_400, 3.3), (104_000, 3.7)):
        assert width(n, valid="anytime", t_opt=500) / width(n) == pytest.approx(printed / 1.96, rel=0.05)


@pytest.mark.quick
def test_the_sequence_of_an_area() -> None:
    """A perfect ranking of few samples may be far from one; the classes are alike in both directions; many are sure."""

    def area(own: int, rest: int, raised: float) -> Any:
        sketch = sm.RankSketch()
        positive, negative = np.arange(own) / own + raised, np.arange(rest) / rest
        sketch.update_many([True] * own + [False] * rest, np.concatenate([positive, negative]))
        return sketch.snapshot().interval("roc_auc", label=True, valid="anytime")

    for own, rest in ((1, 1), (50, 5000), (5000, 50), (300, 300)):
        up, down = area(own, rest, 2.0), area(rest, own, -2.0)
        assert 0 <= up.low < 1 == up.high
        assert (down.low, down.high) == pytest.approx((0.0, 1 - up.low), abs=1e-12)
    many = area(100_000, 10_000, 0.5)
    assert many.low > many.value - 0.03
