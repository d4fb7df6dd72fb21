"""Areas under ROC curves: exact at level 0, certified above, golden values, symmetries."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score
from support.rank_oracle import RankOracle
from support.rank_shapes import exact_auc, random_hard

from stream_metrics.ranking.areas import (
    delong_se,
    gini,
    hand_till,
    mean,
    pair_areas,
    roc_auc,
    single_score_auc,
    turned,
)
from stream_metrics.ranking.average_precision import average_precision, pr_auc_trapezoid
from stream_metrics.ranking.pool import pool
from stream_metrics.ranking.protocol import Certified
from stream_metrics.ranking.table import Pairs, count_pairs, tabulate

CASES = [
    case
    for case in json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text())
    if case["metric"].startswith(("roc_auc", "average_precision"))
]
INPUTS = {case["id"]: case["inputs"] for case in CASES}


def scores_of(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return truth, scores of one model, and scores of separate one-vs-all models."""
    inputs = INPUTS.get(case["inputs"].get("same_as", ""), case["inputs"])
    return np.array(inputs["y_true"]), np.array(inputs["posterior"]), np.array(inputs["ova_posterior"])


def directed(truth: np.ndarray, scores: np.ndarray, labels: list[Any], sketch: RankOracle) -> list[list[Certified]]:
    """Return A(i|j) for all ordered pairs."""

    def area(i: int, j: int) -> Certified:
        chosen = np.isin(truth, [labels[i], labels[j]]) & (i != j)
        return roc_auc(sketch.column(scores[chosen, i], truth[chosen] == labels[i]))

    return [[area(i, j) for j in range(len(labels))] for i in range(len(labels))]


def golden(case: dict[str, Any]) -> float:
    """Return our value of a golden case."""
    truth, one, separate = scores_of(case)
    labels, kind = case["labels"], case["metric"]
    per_class = average_precision if kind.startswith("average_precision") else roc_auc
    columns = [RankOracle().column(separate[:, k], truth == label) for k, label in enumerate(labels)]
    matrix = directed(truth, one, labels, RankOracle())
    if kind.endswith("_ovr"):
        return mean([per_class(column) for column in columns]).value
    if kind == "roc_auc_ovo":
        return hand_till(matrix).value
    if kind == "roc_auc_ovo_pair":
        i, j = (labels.index(label) for label in case["class"].split("/"))
        return pair_areas(matrix)[i][j].value
    if kind == "roc_auc_ovo_directed":
        i, j = (labels.index(label) for label in case["class"].split("|"))
        return matrix[i][j].value
    return per_class(columns[labels.index(case["class"])]).value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    """The value is the golden one: bit for bit for one area, within 4 ulp for sums."""
    expected = float(Fraction(case["rational"]))
    exact = case["metric"] in ("roc_auc", "roc_auc_ovo_directed")

    assert golden(case) == pytest.approx(expected, rel=0 if exact else 1e-15, abs=0)


@pytest.mark.parametrize(("split", "area"), [("iris_split_new", 0.982084), ("iris_split_old", 0.951500)])
def test_trapezoid(split: str, area: float) -> None:
    """The mean trapezoid area of the iris models is that of ROCR."""
    truth, _, separate = scores_of(next(case for case in CASES if case["id"].startswith(split)))
    labels = ["setosa", "versicolor", "virginica"]
    columns = [RankOracle().column(separate[:, k], truth == label) for k, label in enumerate(labels)]

    assert mean([pr_auc_trapezoid(column) for column in columns]).value == pytest.approx(area, abs=5e-7)


@pytest.mark.parametrize("seed", range(60))
def test_exact_at_level_0(seed: int) -> None:
    """With few scores, ties and zeros included, areas are those of the raw scores, to the bit for ROC."""
    g = np.random.default_rng(seed)
    n = int(g.integers(2, 400))
    own = g.uniform(size=n) < g.uniform(0.05, 0.95)
    own[:2] = True, False
    scores = np.round(g.normal(size=n) + own, int(g.integers(0, 4)))
    column = RankOracle().column(scores, own)
    area, precision = roc_auc(column), average_precision(column)

    assert area == Certified(exact_auc(scores, own), area.value, area.value, 0.0)
    assert area.value == pytest.approx(roc_auc_score(own, scores), abs=1e-14)
    assert precision.value == pytest.approx(average_precision_score(own, scores), abs=1e-14)
    assert precision.low == precision.high


def small_case(g: np.random.Generator) -> tuple[np.ndarray, np.ndarray, Any, RankOracle]:
    """Return scores with ties, atoms, saturation or clusters, weights or none, and a small sketch."""
    scores, own = random_hard(g, int(g.integers(3, 600)))
    if g.uniform() < 0.3:
        scores = np.round(scores, int(g.integers(0, 4)))
    if g.uniform() < 0.2:
        scores = np.clip(scores, -1e5, 1e5) * 1e276
    if g.uniform() < 0.3:
        scores = np.where(g.uniform(size=len(scores)) < 0.3, g.choice([0.0, 1.0, 0.5]), scores)
    kind = g.integers(4)
    weights = [None, None, g.integers(0, 5, len(scores)), np.round(g.uniform(0.25, 3, len(scores)), 2)][kind]
    if weights is not None:
        weights[:2] = 1
    return scores, own, weights, RankOracle(int(g.choice([2, 8, 64, 256])), int(g.choice([64, 128])))


@pytest.mark.parametrize("seed", range(8))
def test_certified(seed: int) -> None:
    """The intervals of ROC area and average precision hold the exact values, in each of 2400 hard random cases."""
    g = np.random.default_rng(1000 + seed)
    for _ in range(300):
        scores, own, weights, sketch = small_case(g)
        column = sketch.column(scores, own, weights)
        area, precision, lines = roc_auc(column), average_precision(column), pr_auc_trapezoid(column)
        exact = exact_auc(scores, own, weights)
        expected = average_precision_score(own, scores, sample_weight=weights)

        assert area.low <= exact <= area.high
        assert area.low <= area.value <= area.high
        assert precision.low - 1e-13 <= expected <= precision.high + 1e-13
        assert precision.low <= precision.value <= precision.high
        assert lines.low - 1e-13 <= straight(scores, own, weights) <= lines.high + 1e-13


def straight(scores: np.ndarray, own: np.ndarray, weights: Any) -> float:
    """Return the area under straight lines between the first points of scikit-learn's curve at each recall."""
    precision, recall, _ = precision_recall_curve(own, scores, sample_weight=weights)
    precision, recall = precision[::-1], recall[::-1]
    kept = np.concatenate([[True], np.diff(recall) > 0])
    return float(auc(recall[kept], precision[kept]))


@pytest.mark.parametrize("seed", range(30))
def test_negation(seed: int) -> None:
    """Negated scores and exchanged classes turn the counts of pairs round exactly, and with them the area."""
    g = np.random.default_rng(seed)
    scores, own = random_hard(g, 3000)
    sketch = RankOracle(64, 128)
    columns = [sketch.column(*a) for a in ((scores, own), (-scores, own), (scores, ~own))]
    pairs, negated, exchanged = (count_pairs(tabulate(column)) for column in columns)
    mirror = Pairs(2 * pairs.all - 2 * pairs.open - pairs.sure, pairs.open, pairs.all)

    assert negated == mirror
    assert exchanged == mirror
    assert roc_auc(columns[2]) == pytest.approx(turned(roc_auc(columns[0])), abs=1e-9)


def test_undefined() -> None:
    """Areas are nan without own or without rest; average precision needs own only."""
    own, rest = RankOracle().column([0.1, 0.2], [1, 1]), RankOracle().column([0.1, 0.2], [0, 0])
    nothing = RankOracle().column([], [])

    for column in (own, rest, nothing):
        assert np.isnan(roc_auc(column)).all()
        assert np.isnan(gini(column)).all()
        assert math.isnan(delong_se(column))
    assert average_precision(own).value == 1.0
    assert np.isnan(average_precision(rest)).all()
    assert np.isnan(mean([roc_auc(own)])).all()
    assert np.isnan(hand_till([[roc_auc(own)] * 2] * 2)).all()


def test_by_hand() -> None:
    """Own at 0, 2, 3, rest at 0, 1, 2: 7 of 9 pairs in order, two ties among them as halves."""
    column = RankOracle().column([0, 2, 3, 0, 1, 2], [1, 1, 1, 0, 0, 0])

    assert roc_auc(column).value == (5 + 2 / 2 + 0) / 9 == 6 / 9
    assert gini(column).value == 1 / 3
    assert average_precision(column).value == pytest.approx((1 + 2 / 3 + 3 / 6) / 3)


def delong_direct(scores: np.ndarray, own: np.ndarray) -> float:
    """Return DeLong's standard error from all pairs."""
    wins = np.sign(scores[own][:, None] - scores[~own]) / 2 + 0.5
    v10, v01 = wins.mean(axis=1), wins.mean(axis=0)
    return math.sqrt(v10.var(ddof=1) / len(v10) + v01.var(ddof=1) / len(v01))


def test_delong() -> None:
    """DeLong's error is exact at level 0 and within 2% on a narrow cluster in a coarse sketch."""
    g = np.random.default_rng(5)
    own = g.uniform(size=3000) < 0.4
    scores = np.where(g.uniform(size=3000) < 0.1, g.uniform(size=3000), 0.5 + 1e-6 * (g.normal(size=3000) + own))
    rounded = np.round(g.normal(size=3000) + own, 1)
    exact, coarse = RankOracle().column(rounded, own), RankOracle(128, 512).column(scores, own)

    assert delong_se(exact) == pytest.approx(delong_direct(rounded, own), rel=1e-12)
    assert delong_se(coarse) == pytest.approx(delong_direct(scores, own), rel=0.02)


def test_hand_till() -> None:
    """M over columns is scikit-learn's macro one-vs-one area, at level 0 exactly, above it within its interval."""
    g = np.random.default_rng(6)
    truth = g.integers(4, size=1500)
    logits = g.normal(size=(1500, 4)) + np.eye(4)[truth]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = roc_auc_score(truth, scores, multi_class="ovo")
    exact, coarse = (hand_till(directed(truth, scores, [0, 1, 2, 3], RankOracle(b))) for b in (4096, 128))

    assert exact.value == exact.low == exact.high == pytest.approx(expected, abs=1e-14)
    assert coarse.low <= expected <= coarse.high
    assert coarse.value == pytest.approx(expected, abs=1e-4)


def test_micro() -> None:
    """The pooled column gives the micro average: exact at level 0, certified and close above."""
    g = np.random.default_rng(7)
    truth = g.integers(3, size=4000)
    scores = g.uniform(size=(4000, 3)) * 0.7 + 0.3 * np.eye(3)[truth]
    scores[g.uniform(size=scores.shape) < 0.1] = 0.0
    own = np.eye(3, dtype=bool)[truth]
    expected = exact_auc(scores.ravel(), own.ravel())
    for buckets in (10_000, 500, 64):
        area = roc_auc(pool([RankOracle(buckets).column(scores[:, k], own[:, k]) for k in range(3)]))

        assert area.low <= expected <= area.high
        assert area.value == pytest.approx(expected, abs=0 if area.se == 0 else 2e-4)
    mixed = [RankOracle(10_000 if k else 64).column(scores[:, k], own[:, k]) for k in range(3)]
    assert roc_auc(pool(mixed)).value == pytest.approx(expected, abs=2e-4)
    assert np.isnan(roc_auc(pool([]))).all()


def test_single_score() -> None:
    """One score for many classes: fixed directions mirror each other, "auto" follows the medians."""
    columns = [RankOracle().column(s, [0, 0, 0, 1, 1, 1]) for s in ([1, 2, 3, 2, 4, 5], [4, 4, 9, 1, 2, 3])]
    areas = [roc_auc(column).value for column in columns]

    assert single_score_auc(columns).value == sum(areas) / 2
    assert single_score_auc(columns, direction="down").value == pytest.approx(1 - sum(areas) / 2)
    assert single_score_auc(columns, direction="auto").value == pytest.approx((areas[0] + 1 - areas[1]) / 2)
    with pytest.raises(ValueError, match="direction"):
        single_score_auc(columns, direction="left")
