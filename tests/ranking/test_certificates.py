"""Certified intervals against values computed as fractions from raw scores and the weights as given."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.ranking import areas as ranks
from stream_metrics.ranking import calibration, curves
from stream_metrics.ranking.average_precision import average_precision, pr_auc_trapezoid
from stream_metrics.ranking.protocol import Certified
from stream_metrics.states.ranks import RankSketch

Rows = list[tuple[float, bool, Fraction]]
BINS = 7
FPR, RECALL = 0.3, 0.6


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


MEASURES: dict[str, tuple[Callable[..., Certified], Callable[[Rows], Fraction]]] = {
    "roc_auc": (ranks.roc_auc, area),
    "gini": (ranks.gini, lambda rows: 2 * area(rows) - 1),
    "ks": (curves.ks_statistic, distance),
    "partial": (lambda c: curves.partial_auc(c, max_fpr=FPR), standardized),
    "raw": (lambda c: curves.partial_auc(c, max_fpr=FPR, standardized=False), lambda r: area(r, Fraction(FPR))),
    "average_precision": (average_precision, precision_mean),
    "lines": (pr_auc_trapezoid, lines),
    "tpr": (lambda c: curves.tpr_at_fpr(c, fpr=FPR), reached),
    "precision": (lambda c: curves.precision_at_recall(c, recall=RECALL), precise),
    "ece": (lambda c: calibration.expected_calibration_error(c, bins=BINS), expected_error),
    "mce": (lambda c: calibration.maximum_calibration_error(c, bins=BINS), largest_error),
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
    }
    return kinds[kind]


def scores(g: np.random.Generator, n: int) -> np.ndarray:
    """Return probabilities, with ties, atoms, 0 and 1, or crowded."""
    x = g.uniform(size=n) ** g.choice([0.3, 1.0, 8.0])
    x = np.where(g.uniform(size=n) < g.choice([0.0, 0.5]), np.round(x, 1), x)
    crowd: np.ndarray = np.where(g.uniform(size=n) < g.choice([0.0, 0.3]), 0.5 + 1e-9 * g.normal(size=n), x)
    return crowd


def case(g: np.random.Generator, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, RankSketch]:
    """Return scores, which of them are own, weights, and a sketch of them, exact or coarse."""
    n = int(g.integers(2, 60))
    own, x, w = g.uniform(size=n) < 0.4, scores(g, n), weights(g, kind, n)
    own[:2] = True, False
    sketch = RankSketch(int(g.choice([2, 8, 1024])), int(g.choice([4, 64])))
    sketch.update_many(own, x, w)
    return own, x, w, sketch


def rows_of(own: np.ndarray, x: np.ndarray, w: np.ndarray) -> Rows:
    """Return samples with their weights as fractions."""
    return [(a, b, Fraction(c)) for a, b, c in zip(x.tolist(), own.tolist(), w.tolist(), strict=True)]


def assert_holds(found: Certified, value: Fraction, *, known: bool, name: str = "") -> None:
    """The interval contains the value; where it is known, it is one double, the nearest."""
    assert found.low <= found.value <= found.high, name
    if known:
        assert found.low == found.value == found.high == float(value), name
    else:
        assert Fraction(found.low) <= value <= Fraction(found.high), name


@pytest.mark.parametrize("kind", ["whole", "tenths", "any size", "tiny", "normalized", "equal"])
def test_intervals_hold_the_value_of_the_weights_as_given(kind: str) -> None:
    """Whatever weights are rounded and whatever cells are coarse; without either the value is correctly rounded."""
    g = np.random.default_rng(5)
    roundings = 0
    for _ in range(100):
        own, x, w, sketch = case(g, kind)
        rows, column = rows_of(own, x, w), sketch.column(True)
        roundings += sketch.rounded > 0
        for name, (measure, exactly) in MEASURES.items():
            found = measure(column)
            width_0 = column.level == 0 and not sketch.rounded
            assert_holds(found, exactly(rows), known=width_0 or found.low == found.high, name=name)
    assert (roundings > 0) == (kind not in ("whole", "tenths"))


@pytest.mark.parametrize("kind", ["whole", "tenths", "any size", "equal"])
@pytest.mark.parametrize("buckets", [3, 1024])
def test_intervals_of_several_classes_hold(kind: str, buckets: int) -> None:
    """Means over classes and over pairs, plain and by support, and pooled scores."""
    g = np.random.default_rng(6)
    for _ in range(25):
        n = int(g.integers(6, 30))
        truth = np.append([0, 1, 2], g.integers(0, 3, n - 3))
        table = np.stack([scores(g, n) for _ in range(3)], axis=1)
        w = weights(g, kind, n)
        state = sm.MetricSet(scores=True, buckets=buckets, sample=4)
        state.update_many(truth, scores=table, classes=[0, 1, 2], w=w)
        snapshot, rounded = state.snapshot(), state.scored.ranks.rounded
        level = max(state.scored.ranks.column(k).level for k in range(3))
        each = [rows_of(truth == k, table[:, k], w) for k in range(3)]
        support = [sum((c for _, b, c in rows if b), Fraction()) for rows in each]
        everything = [row for rows in each for row in rows]
        pairs = [
            area(rows_of(truth[s] == i, table[s, i], w[s]))
            for i in range(3)
            for j in range(3)
            for s in [np.isin(truth, [i, j])]
            if i != j
        ]
        expected = {
            "roc_auc_ovr": sum(map(area, each), Fraction()) / 3,
            "roc_auc_ovr_weighted": sum((area(rows) * b for rows, b in zip(each, support, strict=True)), Fraction())
            / sum(support, Fraction()),
            "roc_auc_ovo": sum(pairs, Fraction()) / 6,
            "roc_auc_micro": area(everything),
            "average_precision_ovr": sum(map(precision_mean, each), Fraction()) / 3,
            "average_precision_micro": precision_mean(everything),
            "pr_auc_trapezoid_ovr": sum(map(lines, each), Fraction()) / 3,
        }
        for name, value in expected.items():
            low, high = (getattr(snapshot.estimate(name), end) for end in ("low", "high"))
            assert_holds(
                Certified(snapshot[name], low, high, 0.0),
                value,
                known=(level == 0 and not rounded) or low == high,
                name=name,
            )
