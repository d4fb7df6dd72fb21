"""Metrics of scores from the state to the snapshot: golden values, scikit-learn, fractions worked out, 0/0."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve
from support.metric_classes import CLASSES

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG

CASES = [
    case
    for case in json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text())
    if case["metric"] == "log_loss" or case["metric"].startswith(("roc_auc", "average_precision"))
]
INPUTS = {case["id"]: case["inputs"] for case in CASES}


def close(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    """Assert that numbers, or arrays of them, agree within rounding."""
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def fed(truth: Any, table: Any, classes: Any = None, w: Any = None, **options: Any) -> Any:
    """Return the snapshot of a set that has counted a batch."""
    metrics = sm.MetricSet(**({"scores": True} | options))
    metrics.update_many(truth, None, w, scores=table, classes=classes)
    return metrics.snapshot()


def golden_inputs(case: dict[str, Any]) -> tuple[list[Any], list[dict[Any, float]]]:
    """Return truths and mappings of scores of a golden case, of separate models for one class against the rest."""
    inputs = INPUTS.get(case["inputs"].get("same_as", ""), case["inputs"])
    if "p_true" in inputs:
        chances = [float(p) for p in inputs["p_true"]]
        return ["a"] * len(chances), [{"a": p, "b": 1 - p} for p in chances]
    rows = inputs["posterior" if case["metric"].startswith("roc_auc_ovo") else "ova_posterior"]
    return inputs["y_true"], [dict(zip(case["labels"], row, strict=True)) for row in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.parametrize("scores", [True, "any"])
def test_golden_through_a_set(case: dict[str, Any], scores: Any) -> None:
    """A set has the golden values: areas to the bit, means and losses within 4 ulp, with an interval of no width."""
    truth, rows = golden_inputs(case)
    metrics = sm.MetricSet([case["metric"]], scores=scores)
    metrics.update_many(truth, rows)
    snapshot = metrics.snapshot()
    labels = [] if case["class"] is None else case["class"].replace("|", "/").split("/")
    expected = float(Fraction(case["rational"])) if case["rational"] else float(case["value"])
    found = snapshot.estimate(case["metric"], *labels)
    if case["params"]:
        value = snapshot.value(case["metric"], **case["params"])
    elif len(labels) == 1:
        value = snapshot.per_class[case["metric"]][labels[0]]
    elif labels:
        value = snapshot[case["metric"]][tuple(snapshot.labels.index(label) for label in labels)]
    else:
        value = snapshot[case["metric"]]

    exact = case["metric"] in ("roc_auc", "roc_auc_ovo_directed")
    assert abs(value - expected) <= (0 if exact else 4 * math.ulp(expected))
    assert case["params"] or found[:4] == (value, value, value, 0.0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden_through_a_class(case: dict[str, Any]) -> None:
    """The live class of a row has the golden value, one sample after the other."""
    name = CATALOG[case["metric"]].class_name
    if name is None:
        assert case["metric"] in ("roc_auc_ovo_directed", "roc_auc_ovo_pair")
        return
    pos_label = {"pos_label": case["class"]} if case["class"] else {}
    metric = CLASSES[name](**case["params"], **pos_label)
    for y_true, row in zip(*golden_inputs(case), strict=True):
        metric.update(y_true, row)
    expected = float(Fraction(case["rational"])) if case["rational"] else float(case["value"])

    assert abs(metric.get() - expected) <= 4 * math.ulp(expected)


def test_a_certain_miss() -> None:
    """Probability 0 for the true class costs 52 ln 2, whether stated, left out or never seen."""
    for scores in ({"a": 0.0, "b": 1.0}, {"b": 1.0}, {"b": 1e-300, "a": 1e-300}):
        metric, alias = sm.CrossEntropy(), sm.LogLoss()
        metric.update("a", scores)
        alias.update("a", scores)
        assert metric.get() == alias.get() == 52 * math.log(2)
    assert sm.LogLoss is sm.CrossEntropy


def rows(seed: int, n: int = 400, k: int = 5) -> tuple[Any, Any, Any]:
    """Return truths, rows of probabilities that sum to 1 with many ties, and weights."""
    rng = np.random.default_rng(seed)
    table = rng.multinomial(64, rng.dirichlet(np.ones(k)), n) / 64
    truth = np.array([rng.choice(k, p=row) for row in (table + 1 / k) / 2])
    return truth, table, rng.choice([0.25, 1, 3], n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_several_classes_against_sklearn(seed: int, weighted: bool) -> None:
    """Means over classes, pairs, pooled scores, losses and ranks are those of scikit-learn."""
    truth, table, weights = rows(seed)
    w = weights if weighted else None
    snapshot = fed(truth, table, range(5), w)
    one_hot = np.eye(5)[truth]
    auc = lambda **options: sk.roc_auc_score(truth, table, sample_weight=w, **options)  # noqa: E731
    ap = lambda average: sk.average_precision_score(one_hot, table, average=average, sample_weight=w)  # noqa: E731

    close(snapshot["roc_auc_ovr"], auc(multi_class="ovr", average="macro"))
    close(snapshot["roc_auc_ovr_weighted"], sk.roc_auc_score(one_hot, table, average="weighted", sample_weight=w))
    close(snapshot["roc_auc_micro"], sk.roc_auc_score(one_hot, table, average="micro", sample_weight=w))
    close(list(snapshot.per_class["roc_auc"].values()), sk.roc_auc_score(one_hot, table, average=None, sample_weight=w))
    close(list(snapshot.per_class["average_precision"].values()), ap(None))
    close(snapshot["average_precision_ovr"], ap("macro"))
    close(snapshot["average_precision_ovr_weighted"], ap("weighted"))
    close(snapshot["average_precision_micro"], ap("micro"))
    close(snapshot["brier_score"], sk.brier_score_loss(truth, table, sample_weight=w, labels=range(5)))
    if not weighted:
        close(snapshot["roc_auc_ovo"], auc(multi_class="ovo", average="macro"))
    with warnings.catch_warnings(action="ignore"):
        close(snapshot["log_loss"], sk.log_loss(truth, table, sample_weight=w, labels=range(5)))
    for k in (1, 2, 3):
        untied = table - np.arange(5) * 1e-9  # scikit-learn prefers the later of equal classes, we the earlier
        expected = sk.top_k_accuracy_score(truth, untied, k=k, sample_weight=w, labels=range(5))
        close(snapshot.value("top_k_accuracy", k=k), expected)
    best = table.argmax(axis=1)
    close(snapshot["accuracy"], sk.accuracy_score(truth, best, sample_weight=w))
    close(snapshot["confidence_auc"], sk.roc_auc_score(best == truth, table.max(axis=1), sample_weight=w))


def binary(seed: int) -> tuple[Any, Any]:
    """Return truths and probabilities with ties, 0 and 1 among them."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 41, 300) / 40
    return rng.random(300) < scores * 0.6 + 0.2, scores


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_against_sklearn(seed: int) -> None:
    """Single scores have the values and the curves of scikit-learn; thresholds are the scores."""
    truth, scores = binary(seed)
    snapshot = fed(truth, scores)
    for key, function in (("roc_auc", sk.roc_auc_score), ("average_precision", sk.average_precision_score)):
        close(snapshot[key], function(truth, scores))
        assert snapshot.per_class[key] == {True: snapshot[key]}
    close(snapshot["log_loss"], sk.log_loss(truth, np.clip(scores, 2.0**-52, 1 - 2.0**-52)))
    close(snapshot["brier_score"], sk.brier_score_loss(truth, scores))
    close(snapshot.value("partial_roc_auc", max_fpr=0.3)[True], sk.roc_auc_score(truth, scores, max_fpr=0.3))

    fpr, tpr, thresholds = sk.roc_curve(truth, scores, drop_intermediate=False)
    curve = snapshot.roc_curve()
    close((curve.x, curve.y), (fpr, tpr), 1e-15)
    assert np.array_equal(curve.thresholds, thresholds)
    assert curve.exact.all()
    precision, recall, thresholds = sk.precision_recall_curve(truth, scores)
    curve = snapshot.pr_curve()
    close((curve.x, curve.y), (recall[::-1], precision[::-1]), 1e-15)
    assert np.array_equal(curve.thresholds[1:], thresholds[::-1])
    fpr, fnr, thresholds = sk.det_curve(truth, scores)
    curve = snapshot.det_curve(True)
    ours = set(zip(curve.x.round(12), curve.y.round(12), curve.thresholds, strict=True))
    assert set(zip(fpr.round(12), fnr.round(12), thresholds, strict=True)) <= ours
    own, curve = int(np.sum(truth)), snapshot.roc_curve()
    tp, fp = (np.rint(a * n).astype(int).tolist() for a, n in ((curve.y, own), (curve.x, len(truth) - own)))
    gaps = [abs(Fraction(a, own) - Fraction(b, len(truth) - own)) for a, b in zip(tp, fp, strict=True)]
    assert snapshot["ks_statistic"] == float(max(gaps))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_against_sklearn(strategy: str) -> None:
    """Bins have the mean scores and shares of scikit-learn, where no score lies on an edge."""
    rng = np.random.default_rng(5)
    scores = rng.random(500)
    truth = rng.random(500) < scores**2
    snapshot = fed(truth, scores, scores="any")
    shares, means = calibration_curve(truth, scores, n_bins=10, strategy=strategy)
    found = snapshot.reliability_curve(bins=10, strategy=strategy)

    close(found.scores, means, 1e-9)
    close(found.shares, shares, 1e-15 if strategy == "uniform" else 1e-9)
    assert found.weights.sum() == 500
    if strategy == "uniform":
        error = np.sum(found.weights * np.abs(means - shares)) / 500
        close(snapshot.value("expected_calibration_error", bins=10)[True], error, 1e-9)
        close(snapshot.value("maximum_calibration_error", bins=10)[True], np.abs(means - shares).max(), 1e-9)


def test_calibration_of_the_prediction() -> None:
    """The error of the largest score compares it with the share of right predictions."""
    truth, table, _ = rows(9)
    snapshot = fed(truth, table, range(5))
    largest, right = table.max(axis=1), table.argmax(axis=1) == truth
    place = np.searchsorted(np.linspace(0, 1, 16)[1:-1], largest)
    errors = [abs(largest[place == b].sum() - right[place == b].sum()) for b in range(15)]
    found = snapshot.reliability_curve()

    close(snapshot["expected_calibration_error_top"], sum(errors) / 400, 1e-9)
    assert [right[place == b].mean() for b in np.unique(place)] == found.shares.tolist()
    close(found.scores, [largest[place == b].mean() for b in np.unique(place)], 1e-9)
    assert fed(truth, table, range(5), scores="any", pos_label=2).reliability_curve().weights.sum() == 400


def pairs(rows: list[tuple[Any, dict[Any, float], int]], label: Any, own: Any, rest: set[Any]) -> Fraction:
    """Return the area of the score of a class, own against the rest, pair by pair."""
    above, everything = Fraction(0), 0
    for mine, high, w in rows:
        for theirs, low, v in rows:
            if mine == own and theirs in rest:
                a, b = high.get(label, 0.0), low.get(label, 0.0)
                above += w * v * (Fraction(a > b) + Fraction(a == b) / 2)
                everything += w * v
    return above / everything


def test_areas_are_fractions_worked_out_pair_by_pair() -> None:
    """Every area is the nearest double of the fraction that counting pairs gives, weights and missing scores too."""
    rng = np.random.default_rng(11)
    samples = []
    for _ in range(80):
        labels = rng.permutation(["a", "b", "c"])[: rng.integers(1, 4)].tolist()
        scores = (rng.integers(0, 9, len(labels)) / 8).tolist()
        samples.append(
            (str(rng.choice(["a", "b", "c"])), dict(zip(labels, scores, strict=True)), int(rng.integers(1, 4)))
        )
    metrics = sm.MetricSet(scores=True)
    for sample in samples:
        metrics.update(*sample)
    snapshot = metrics.snapshot()
    areas = {x: pairs(samples, x, x, set("abc") - {x}) for x in "abc"}
    directed = [[None if i == j else pairs(samples, i, i, {j}) for j in "abc"] for i in "abc"]

    assert dict(snapshot.per_class["roc_auc"]) == {label: float(area) for label, area in areas.items()}
    assert dict(snapshot.per_class["gini"]) == {label: float(2 * area - 1) for label, area in areas.items()}
    for i in range(3):
        for j in {0, 1, 2} - {i}:
            assert snapshot["roc_auc_ovo_directed"][i, j] == float(directed[i][j])
            assert snapshot.estimate("roc_auc_ovo_directed", "abc"[i], "abc"[j]).value == float(directed[i][j])
            close(snapshot["roc_auc_ovo_pair"][i, j], float((directed[i][j] + directed[j][i]) / 2), 1e-15)
    m = sum(area for row in directed for area in row if area is not None) / 6
    assert abs(snapshot["roc_auc_ovo"] - float(m)) <= math.ulp(1.0)
    single = [pairs(samples, "a", j, {i}) for i, j in ("ab", "ac", "bc")]
    found = fed([t for t, _, _ in samples], [s for _, s, _ in samples], None, [w for *_, w in samples], pos_label="a")
    assert abs(found["roc_auc_single_score"] - float(sum(single) / 3)) <= math.ulp(1.0)
    assert abs(found.value("roc_auc_single_score", direction="down") - float(1 - sum(single) / 3)) <= math.ulp(1.0)
