"""Metrics of scores from the state to the snapshot: golden values, scikit-learn, fractions worked out, 0/0."""

from __future__ import annotations

import json
import math
import pickle
import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused

import stream_metrics as sm

pytestmark = pytest.mark.quick
METRICS = sm.metrics()
OF_SCORES = [key for key, info in METRICS.items() if info.reads != "labels"]
LOSSES = {"log_loss", "brier_score", "spherical_score", "top_k_accuracy"}
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


def test_golden() -> None:
    """One area bit for bit, the rest within 4 ulp: of probabilities, of any scores, and of the class of the row."""
    failures = []
    for case in CASES:
        key, labels = case["metric"], re.split(r"[|/]", case["class"] or "")
        expected = float(Fraction(case["rational"])) if case["rational"] else float(case["value"])
        truth, table = golden_inputs(case)
        actual = [fed(truth, table, scores=True)] + ([] if key == "log_loss" else [fed(truth, table, scores="any")])
        options = {"label": labels[0]} if METRICS[key].kind == "per_class" else {}
        values = [taken.value(key, **options, **case["params"]) for taken in actual]
        if len(labels) == 2:
            at = tuple(actual[0].labels.index(label) for label in labels)
            values = [value[at] for value in values]
        name = METRICS[key].class_name
        if name is not None:
            metric = getattr(sm, name)(**case["params"], **({"pos_label": labels[0]} if labels[0] else {}))
            for y_true, row in zip(truth, table, strict=True):
                metric.update(y_true, row)
            values.append(metric.get())
        ulps = 0 if key in ("roc_auc", "roc_auc_ovo_directed") else 4
        if any(abs(value - expected) > ulps * math.ulp(expected) for value in values):
            failures.append((case["id"], values, expected))

    assert len(CASES) == 40
    assert not failures
    for split, area in (("iris_split_new", 0.982084), ("iris_split_old", 0.951500)):  # as R's package ROCR has it
        case = next(each for each in CASES if each["id"].startswith(split) and "_ovo" not in each["metric"])
        assert fed(*golden_inputs(case), scores="any")["pr_auc_trapezoid_ovr"] == pytest.approx(area, abs=5e-7)


def rows(seed: int, n: int = 400, k: int = 5) -> tuple[Any, Any, Any]:
    """Return truths, rows of probabilities that sum to 1 with many ties, and weights."""
    rng = np.random.default_rng(seed)
    table = rng.multinomial(64, rng.dirichlet(np.ones(k)), n) / 64
    truth = np.array([rng.choice(k, p=row) for row in (table + 1 / k) / 2])
    return truth, table, rng.choice([0.25, 1, 3], n)


@pytest.mark.parametrize("weighted", [False, True])
def test_several_classes_against_sklearn(weighted: bool) -> None:
    """Losses, ranks and calibration are those of scikit-learn; `ranking` has areas."""
    from sklearn import metrics as sk

    truth, table, weights = rows(int(weighted))
    w = weights if weighted else None
    snapshot, given = fed(truth, table, range(5), w), {"sample_weight": w}
    close(snapshot["brier_score"], sk.brier_score_loss(truth, table, labels=range(5), **given))
    with warnings.catch_warnings(action="ignore"):
        close(snapshot["log_loss"], sk.log_loss(truth, table, labels=range(5), **given))
    for k in (1, 2, 3):
        untied = table - np.arange(5) * 1e-9  # scikit-learn prefers the later of equal classes, we the earlier
        expected = sk.top_k_accuracy_score(truth, untied, k=k, labels=range(5), **given)
        close(snapshot.value("top_k_accuracy", k=k), expected)
    best, largest = table.argmax(axis=1), table.max(axis=1)
    right, place = best == truth, np.searchsorted(np.linspace(0, 1, 16)[1:-1], largest)
    close(snapshot["accuracy"], sk.accuracy_score(truth, best, **given))
    close(snapshot["confidence_auc"], sk.roc_auc_score(right, largest, **given))
    sums = [abs(np.dot(weights**weighted * (largest - right), place == b)) for b in range(15)]
    close(snapshot["expected_calibration_error_top"], sum(sums) / np.sum(weights**weighted), 1e-9)


def test_two_classes_against_sklearn() -> None:
    """Single scores, mappings and tables of two columns have the losses of scikit-learn."""
    from sklearn import metrics as sk

    rng = np.random.default_rng(1)
    scores = rng.integers(0, 41, 300) / 40
    truth = rng.random(300) < scores * 0.6 + 0.2
    snapshot, both = fed(truth, scores), [{True: x, False: 1 - x} for x in scores.tolist()]
    for taken in (snapshot, fed(truth, both), fed(truth, np.column_stack([1 - scores, scores]), [False, True])):
        close(taken["log_loss"], sk.log_loss(truth, np.clip(scores, 2.0**-52, 1 - 2.0**-52)))
        close(taken["brier_score"], sk.brier_score_loss(truth, scores))
    names, columns = np.where(truth, "yes", "no"), np.column_stack([1 - scores, scores])
    named = sm.evaluate(names, scores=columns, classes=["no", "yes"], group=truth)
    for taken in (named.overall, pickle.loads(pickle.dumps(named)).overall, fed(names, columns, labels=["no", "yes"])):
        close(taken["brier_score"], snapshot["brier_score"])
    close(snapshot.value("brier_score", scale_by_half=False), 2 * snapshot["brier_score"])
    close(snapshot.value("log_loss", normalize=False), 300 * snapshot["log_loss"])


def test_losses_by_hand() -> None:
    """A certain hit costs nothing; a single probability has half a loss; options out of range are refused."""
    sure = fed(["a"], [{"a": 1.0, "b": 0.0}])
    three = fed([True, True, "a"], [0.0, {False: 1.0}, {"a": 1.0, "b": 0.0, "c": 0.0}])

    assert {key: sure[key] for key in LOSSES} == {**dict.fromkeys(LOSSES, 0), "spherical_score": 1, "top_k_accuracy": 1}
    assert fed([True], [{False: 1.0, True: 0.0}])["brier_score"] == 1.0
    assert (three["brier_score"], three.value("brier_score", scale_by_half=True)) == (1.0, 2 / 3)  # (1 + 2 + 0) / 3
    for k in (0, 11, 1.0, True, "1"):
        refused(lambda k=k: sure.value("top_k_accuracy", k=k), ValueError, "`k`")  # type: ignore[misc]
    refused(lambda: sure.value("brier_score", scale_by_half="no"), ValueError, "`scale_by_half`")


ORDER = [False, True, "c"]
ROW = st.dictionaries(st.sampled_from(ORDER), st.integers(0, 64), min_size=1)
SAMPLE = st.tuples(st.booleans(), ROW | st.integers(0, 64), st.integers(1, 3), st.integers(0, 2))


def exact_losses(samples: list[Any], labels: Any) -> dict[str, Fraction | float]:
    """Return mean losses by their definitions, of (truth, scores in 64ths, weight, ...); a number is that of True."""
    sums: dict[str, Any] = dict.fromkeys(LOSSES, Fraction(0))
    for truth, scores, w, _ in samples:
        row = {True: scores, False: 64 - scores} if isinstance(scores, int) else scores
        row = {label: Fraction(p, 64) for label, p in row.items()}
        own, squares = row.get(truth, Fraction(0)), sum(p * p for p in row.values())
        half = row.keys() == {True, False} if labels is None else len(labels) == 2
        ahead = [x for x in row if truth not in row or (-row[x], ORDER.index(x)) < (-own, ORDER.index(truth))]
        sums["brier_score"] += w * (1 - 2 * own + squares) / (2 if half else 1)
        sums["log_loss"] -= w * (math.log(own) if own else -52 * math.log(2))
        sums["spherical_score"] += w * (own / math.sqrt(squares) if squares else 0)
        sums["top_k_accuracy"] += w * (len(ahead) < 2)
    return {key: total / sum(w for *_, w, _ in samples) for key, total in sums.items()}


@given(st.lists(SAMPLE, min_size=1, max_size=12), st.sampled_from([None, ORDER[:2], ORDER]), st.booleans())
def test_losses_are_means_over_samples(samples: list[Any], labels: Any, whole: bool) -> None:
    """Whatever shards, groups, windows and bytes samples pass through, losses are those that their definitions give."""
    samples = [x for x in samples if labels is None or isinstance(x[1], int) or x[1].keys() <= {*labels}]
    groups = {at: [x for x in samples if x[3] == at] for at in range(3)}
    metrics = sm.MetricSet([*LOSSES], labels=labels)
    inner = sm.ByGroup(sm.TimeWindow(metrics, 3, 3)), sm.ByGroup(sm.TimeWindow(metrics, 3, 3))
    for at, (truth, scores, w, group) in enumerate(samples):
        row = scores / 64 if isinstance(scores, int) else {label: p / 64 for label, p in scores.items()}
        if whole:
            metrics.update(truth, row, w)
        else:
            shard = metrics.copy()
            shard.reset()
            shard.update_many([truth], [row], [w])
            metrics = sm.from_bytes(shard.to_bytes()).merge(metrics)
        inner[at % 2].update(truth, row, w, group=group, t=group)
    by = inner[0].merge(inner[1]).snapshot()

    for part, counted in [(samples, metrics.snapshot()), *((part, by[at]) for at, part in groups.items() if part)]:
        for key, expected in exact_losses(part, labels).items() if part else ():
            exact = isinstance(expected, Fraction)
            assert counted[key] == (float(expected) if exact else pytest.approx(expected, rel=1e-14, abs=1e-15)), key


def test_no_data_and_one_class() -> None:
    """Without data every value is 0/0: nan, or what the caller says; with one class what needs no other is defined."""
    alone = {"average_precision", "pr_auc_trapezoid", "precision_at_recall", "calibration", "roc_auc_micro"}
    failures = []
    for zero in (None, 0.0, 1.0, math.nan):
        for rows in ([], [(True, None), (True, 0.5, 0)]):
            metrics = sm.MetricSet(scores=True, zero_division=zero)
            for row in rows:
                metrics.update(*row)
            values = {key: metrics.snapshot().value(key) for key in OF_SCORES}
            for key, actual in values.items():
                whole, nothing = METRICS[key].kind == "whole", repr(math.nan if zero is None else zero)
                if repr(actual) != nothing if whole else len(actual) and not rows:
                    failures.append((zero, key, actual))
    for key in OF_SCORES:
        taken = sm.MetricSet([key], zero_division=0.0)
        taken.update("a", {"a": 0.75, "b": 0.25})
        taken = taken.snapshot()
        place = key if METRICS[key].kind == "whole" else (key, "a")
        defined = key in LOSSES or any(word in key for word in alone)
        failures += [key] if METRICS[key].kind != "matrix" and (place in taken.undefined) is defined else []

    assert not failures


def test_classes_without_samples_are_left_out_of_means() -> None:
    """A class that has scores but no samples has no area, and the means are over the others whatever 0/0 is."""
    truth, table, _ = rows(2)
    truth = np.where(truth == 4, 0, truth)
    for zero in (0.0, 1.0, math.nan):
        snapshot = fed(truth, table, range(5), zero_division=zero)
        areas, directed = dict(snapshot.per_class["roc_auc"]), snapshot["roc_auc_ovo_directed"][:4, :4]
        assert repr(areas.pop(4)) == repr(zero)
        assert snapshot["roc_auc_ovr"] == pytest.approx(sum(areas.values()) / 4, rel=1e-15)
        assert snapshot["roc_auc_ovo"] == pytest.approx(directed[~np.eye(4, dtype=bool)].mean(), rel=1e-15)
