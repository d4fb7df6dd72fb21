"""Certified intervals against values computed as fractions from raw scores and the weights as given."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from support.rank_reading import bounds, estimate, sketched
from support.rank_shapes import random_hard

import stream_metrics as sm

Rows = list[tuple[float, bool, Fraction]]
BINS, FPR, RECALL = 15, 0.1, 0.9  # the options that metrics have by default


def steps(rows: Rows) -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
    """Return for each distinct score from the highest down: rest, own, and rest and own at or above it."""
    out, fp, tp = [], Fraction(), Fraction()
    for score in sorted({row[0] for row in rows}, reverse=True):
        rest, own = (sum((w for x, y, w in rows if x == score and y == c), Fraction()) for c in (False, True))
        fp, tp = fp + rest, tp + own
        out.append((rest, own, fp, tp))
    return out


def area(rows: Rows, limit: Fraction = Fraction(1)) -> Fraction:
    """Return the ROC area over false positive rates up to a limit."""
    path = steps(rows)
    all_rest, all_own = path[-1][2:]
    total = Fraction()
    for rest, own, fp, tp in path:
        width = max(Fraction(), min(rest, limit * all_rest - (fp - rest)))
        total += width * (tp - own) + (own * width * width / rest / 2 if rest else 0)
    return total / (all_rest * all_own)


def standardized(rows: Rows) -> Fraction:
    """Return the standardised partial area."""
    limit = Fraction(FPR)
    least = limit**2 / 2
    return (1 + (area(rows, limit) - least) / (limit - least)) / 2


def precision_mean(rows: Rows) -> Fraction:
    """Return the average precision."""
    path = steps(rows)
    return sum((own * tp / (tp + fp) for _, own, fp, tp in path), Fraction()) / path[-1][3]


def lines(rows: Rows) -> Fraction:
    """Return the area under straight lines between points of the precision-recall curve that add own."""
    path, total, before = steps(rows), Fraction(), Fraction(1)
    for _, own, fp, tp in path:
        if own:
            total += own * (tp / (tp + fp) + before) / 2
            before = tp / (tp + fp)
    return total / path[-1][3]


def distance(rows: Rows) -> Fraction:
    """Return the Kolmogorov-Smirnov distance."""
    path = steps(rows)
    return max(abs(tp / path[-1][3] - fp / path[-1][2]) for _, _, fp, tp in path)


def reached(rows: Rows) -> Fraction:
    """Return the largest true positive rate at a false positive rate, which is compared as a double."""
    path = steps(rows)
    return max([tp for _, _, fp, tp in path if float(fp / path[-1][2]) <= FPR], default=Fraction()) / path[-1][3]


def precise(rows: Rows) -> Fraction:
    """Return the largest precision at a recall, which is compared as a double."""
    path = steps(rows)
    return max(tp / (tp + fp) for _, _, fp, tp in path if float(tp / path[-1][3]) >= RECALL)


def bin_sums(rows: Rows) -> list[tuple[Fraction, Fraction]]:
    """Return the residual and the weight of every bin that has a weight."""
    edges = np.linspace(0, 1, BINS + 1)[1:-1]
    places = [int(np.searchsorted(edges, x)) for x, _, _ in rows]
    out = []
    for k in set(places):
        inside = [row for row, place in zip(rows, places, strict=True) if place == k]
        residual = sum(((y - Fraction(x)) * w for x, y, w in inside), Fraction())
        out.append((abs(residual), sum((w for _, _, w in inside), Fraction())))
    return [(residual, weight) for residual, weight in out if weight]


def expected_error(rows: Rows) -> Fraction:
    """Return the expected calibration error."""
    sums = bin_sums(rows)
    return sum((residual for residual, _ in sums), Fraction()) / sum((weight for _, weight in sums), Fraction())


def largest_error(rows: Rows) -> Fraction:
    """Return the maximum calibration error."""
    return max(residual / weight for residual, weight in bin_sums(rows))


MEASURES: dict[str, Callable[[Rows], Fraction]] = {
    "roc_auc": area,
    "gini": lambda rows: 2 * area(rows) - 1,
    "ks_statistic": distance,
    "partial_roc_auc": standardized,
    "average_precision": precision_mean,
    "pr_auc_trapezoid": lines,
    "tpr_at_fpr": reached,
    "precision_at_recall": precise,
    "expected_calibration_error": expected_error,
    "maximum_calibration_error": largest_error,
}


def weights(g: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """Return weights: whole, exact fractions, of any size, of one small size, or of a sum of 1."""
    exponential = g.exponential(size=n)
    kinds: dict[str, np.ndarray] = {
        "whole": g.integers(1, 5, n).astype(float),
        "tenths": g.integers(1, 30, n) / 10,
        "any size": 2.0 ** g.uniform(g.choice([-80, -60, -20]), 40, n),
        "tiny": exponential * 2.0 ** g.uniform(-70, -20),
        "normalized": exponential / exponential.sum() * 1e-3 + 2.0**-64,
        "equal": np.full(n, 1 / (3_000_000 + g.integers(1000))),
        "huge": g.integers(2**31, 2**40, n).astype(float),
    }
    return kinds[kind]


def scores(g: np.random.Generator, n: int) -> np.ndarray:
    """Return probabilities, with ties, atoms, 0 and 1, or crowded."""
    x = g.uniform(size=n) ** g.choice([0.3, 1.0, 8.0])
    x = np.where(g.uniform(size=n) < g.choice([0.0, 0.5]), np.round(x, 1), x)
    crowd: np.ndarray = np.where(g.uniform(size=n) < g.choice([0.0, 0.3]), 0.5 + 1e-9 * g.normal(size=n), x)
    return crowd


def rows_of(own: np.ndarray, x: np.ndarray, w: np.ndarray) -> Rows:
    """Return samples with their weights as fractions."""
    return [(a, b, Fraction(c)) for a, b, c in zip(x.tolist(), own.tolist(), w.tolist(), strict=True)]


def fault(estimated: sm.Estimate, value: Fraction, *, known: bool) -> str:
    """Return what is wrong with an interval: it must contain the value, and be the nearest double where it is known."""
    low, middle, high = bounds(estimated)
    if not low <= middle <= high:
        return "the value is outside"
    if known:
        return "" if low == middle == high == float(value) else "it is not the nearest double"
    return "" if Fraction(low) <= value <= Fraction(high) else "it is missed"


def many(few: int, several: int) -> pytest.MarkDecorator:
    """Run a few trials at all times, and several every night."""
    return pytest.mark.parametrize("trials", [few, pytest.param(several, marks=pytest.mark.nightly)])


KINDS = ["whole", "tenths", "any size", "tiny", "normalized", "equal", "huge"]


@many(20, 200)
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_value_of_the_weights_as_given(kind: str, trials: int) -> None:
    """Whatever weights are rounded and whatever cells are coarse; without either the value is correctly rounded.

    Every third trial has a hard shape: clusters, tails and atoms, whose scores need be no probabilities.
    """
    g = np.random.default_rng(5)
    roundings, failures = 0, []
    for trial in range(trials):
        n = int(g.integers(2, 60))
        own, x, w = g.uniform(size=n) < 0.4, scores(g, n), weights(g, kind, n)
        own[:2] = True, False
        if trial % 3 == 2:
            x, own = random_hard(g, n)
            x = np.clip(x, -1e5, 1e5) * 1e276 if trial % 2 else x
        state = sketched(x, own, w, int(g.choice([2, 8, 1024])), int(g.choice([4, 64])))
        shared = np.abs(x).max() > 2.0**920  # where scores share codes
        rows, exact = rows_of(own, x, w), not (state.column(True).level or state.rounded or shared)
        roundings += state.rounded > 0
        for key, measure in MEASURES.items():
            if "calibration" in key and not (0 <= x.min() <= x.max() <= 1):
                continue
            estimated = estimate(state, key)
            wrong = fault(estimated, measure(rows), known=exact or estimated.low == estimated.high)
            failures += [(trial, key, wrong)] if wrong else []
        best, path = state.snapshot().best_threshold(), steps(rows)
        youden = float(max(tp / path[-1][3] - fp / path[-1][2] for _, _, fp, tp in path))
        if not (state.rounded or best.value - 1e-13 <= youden <= best.high + 1e-13):
            failures.append((trial, "best", best))
        raw = state.snapshot().value("partial_roc_auc", label=True, max_fpr=0.3, standardized=False)
        failures += [(trial, "raw")] if exact and raw != float(area(rows, Fraction(0.3))) else []

    assert not failures
    assert (roundings > 0) == (kind not in ("whole", "tenths", "huge"))


@many(6, 60)
@pytest.mark.parametrize("kind", ["whole", "tenths", "any size", "equal"])
@pytest.mark.parametrize("buckets", [3, 1024])
def test_intervals_of_several_classes_hold(kind: str, buckets: int, trials: int) -> None:
    """Of each pair, of means over classes and over pairs, plain and by support, and of pooled scores."""
    g = np.random.default_rng(6)
    failures = []
    for trial in range(trials):
        n = int(g.integers(6, 30))
        truth = np.append([0, 1, 2], g.integers(0, 3, n - 3))
        table = np.stack([scores(g, n) for _ in range(3)], axis=1)
        w = weights(g, kind, n)
        state = sm.RankSketch(buckets, 4)
        state.update_many(truth, table, w, classes=[0, 1, 2])
        exact = not state.rounded and max(state.column(k).level for k in range(3)) == 0
        each = [rows_of(truth == k, table[:, k], w) for k in range(3)]
        support = [sum((c for _, b, c in rows if b), Fraction()) for rows in each]
        everything = [row for rows in each for row in rows]
        chosen = {(i, j): np.isin(truth, [i, j]) for i, j in permutations(range(3), 2)}
        pairs = {(i, j): area(rows_of(truth[s] == i, table[s, i], w[s])) for (i, j), s in chosen.items()}
        by_support = sum((area(rows) * b for rows, b in zip(each, support, strict=True)), Fraction())
        expected = {
            "roc_auc_ovr": sum(map(area, each), Fraction()) / 3,
            "roc_auc_ovr_weighted": by_support / sum(support, Fraction()),
            "roc_auc_ovo": sum(pairs.values(), Fraction()) / 6,
            "roc_auc_micro": area(everything),
            "average_precision_ovr": sum(map(precision_mean, each), Fraction()) / 3,
            "average_precision_micro": precision_mean(everything),
            "pr_auc_trapezoid_ovr": sum(map(lines, each), Fraction()) / 3,
        }
        places: list[tuple[tuple[Any, ...], Fraction]] = [((key,), value) for key, value in expected.items()]
        for (i, j), value in pairs.items():
            places.append((("roc_auc_ovo_directed", i, j), value))
            places.append((("roc_auc_ovo_pair", i, j), (value + pairs[j, i]) / 2))
        for key, value in places:
            estimated = state.snapshot().estimate(*key)
            wrong = fault(estimated, value, known=exact or estimated.low == estimated.high)
            failures += [(trial, key, wrong)] if wrong else []

    assert not failures


def test_points_of_a_curve_are_exact_at_the_edges_of_cells() -> None:
    """There they are those of the raw scores, at their thresholds; the others rise between them."""
    g = np.random.default_rng(8)
    own = g.uniform(size=20_000) < 0.4
    x = np.where(g.uniform(size=20_000) < 0.1, g.uniform(size=20_000), 0.3 + 1e-7 * (g.normal(size=20_000) + own))
    x[g.uniform(size=20_000) < 0.05] = 0.0
    curve = sketched(x, own, None, 256).snapshot().roc_curve()
    rates = np.array([((x[~own] >= t).mean(), (x[own] >= t).mean()) for t in curve.thresholds])

    assert (~curve.exact).sum() > 0
    np.testing.assert_allclose(curve.x[curve.exact], rates[curve.exact, 0], rtol=1e-13)
    np.testing.assert_allclose(curve.y[curve.exact], rates[curve.exact, 1], rtol=1e-13)
    assert (np.diff(curve.x) >= 0).all()
    assert (np.diff(curve.y) >= 0).all()
    assert (np.diff(curve.thresholds) <= 0).all()
    assert np.abs(curve.y - rates[:, 1])[~curve.exact].max() < 0.1


def test_negated_scores_and_exchanged_classes_mirror_the_area() -> None:
    """In coarse cells the interval is mirrored to rounding, and exchanged classes mirror the value as well."""
    for seed in range(30):
        x, own = random_hard(np.random.default_rng(seed), 3000)
        area_of, negated, exchanged = (
            bounds(estimate(sketched(*rows, None, 64, 128), "roc_auc")) for rows in ((x, own), (-x, own), (x, ~own))
        )
        mirrored = [1 - end for end in reversed(area_of)]
        assert negated[::2] == pytest.approx(mirrored[::2], abs=1e-15)
        assert exchanged[::2] == pytest.approx(mirrored[::2], abs=1e-15)
        assert exchanged[1] == pytest.approx(mirrored[1], abs=1e-9)
