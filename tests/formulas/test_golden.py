"""Every golden value that needs a confusion matrix only: exact where the formula is one ratio of integers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluate import evaluate

CASES = [
    case
    for case in json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text())
    if case["confusion_matrix"]
]
METRICS = sorted({case["metric"] for case in CASES})
RATIOS_OF_INTEGERS = {
    *("accuracy", "average_accuracy", "cohen_kappa", "expected_accuracy", "expected_accuracy_term", "expected_matrix"),
    *("baseline_stratified_accuracy", "baseline_uniform_accuracy", "no_information_rate", "zero_one_loss"),
    *("cov_pred_pred", "cov_true_pred", "cov_true_true", "fn_sum", "fp_sum", "tn_sum", "tp_sum"),
    *("fn", "fp", "tn", "tp"),
    *("detection_prevalence", "detection_rate", "prevalence", "predicted_count", "support", "majority_class", "n"),
    *("f1", "f1_negative", "npv", "ova_accuracy", "precision", "recall", "specificity", "weighted_recall"),
    *("false_discovery_rate", "false_negative_rate", "false_omission_rate", "false_positive_rate"),
    *("micro_f1", "micro_f1_code_literal", "micro_precision", "micro_recall"),
}


def read(counts: Any, case: dict[str, Any], zero_division: float = 0.0) -> float:
    """Return our value of a golden case."""
    labels = [str(label) for label in case["labels"]]
    if case["metric"] == "n":
        return float(counts.total)
    options = dict(case["params"])
    if "weights" in options:
        options["weights"] = [Fraction(weight) for weight in options["weights"]]
    found, _ = evaluate(CATALOG[case["metric"]], counts, zero_division, **options)
    if case["metric"] == "majority_class":
        return labels.index(found) + 1
    for label in [] if case["class"] is None else case["class"].split(","):
        found = found[labels.index(label)]
    return found


def agrees(actual: float, case: dict[str, Any]) -> bool:
    """Tell whether a value is the golden one, as exactly as its formula allows."""
    expected = float(Fraction(case["rational"])) if case["rational"] else float(case["value"])
    if case["metric"] in RATIOS_OF_INTEGERS:
        return actual == expected
    if case["metric"].startswith("generalized_mcc"):
        return abs(actual - expected) <= 1e-12
    return abs(actual - expected) <= max(4 * math.ulp(expected), 1e-14 * abs(expected))


@pytest.mark.parametrize("metric", METRICS)
def test_golden(counts_class: Any, metric: str) -> None:
    """The value is the golden one: bit for bit for ratios of integers, within 4 ulp or 1e-14 otherwise."""
    wrong = []
    for case in CASES:
        if case["metric"] == metric:
            actual = read(counts_class.from_matrix(case["confusion_matrix"], case["labels"]), case)
            if not agrees(actual, case):
                wrong.append((case["id"], actual, case["value"]))

    assert wrong == []


@pytest.mark.parametrize("zero_division", [1.0, math.nan])
def test_undefined(counts_class: Any, zero_division: float) -> None:
    """A golden value that is 0/0 is whatever zero_division says."""
    cases = [case for case in CASES if case["note"].startswith("0/0:")]
    actual = [
        read(counts_class.from_matrix(case["confusion_matrix"], case["labels"]), case, zero_division) for case in cases
    ]

    assert len(cases) == 8
    assert [repr(value) for value in map(float, actual)] == [repr(zero_division)] * 8


def test_only_the_marked_values_are_undefined(counts_class: Any) -> None:
    """Every other golden value stays the same under another zero_division, averages with a 0/0 component aside."""
    changed = set()
    for case in CASES:
        actual = read(counts_class.from_matrix(case["confusion_matrix"], case["labels"]), case, math.nan)
        if not agrees(actual, case) and not case["note"].startswith("0/0:"):
            changed.add((case["id"].split(".")[0], case["metric"]))

    assert {matrix for matrix, _ in changed} <= {"grandini_fig9", "itai_katz_cyclic"}
    assert {metric for _, metric in changed} <= {key for key, row in CATALOG.items() if row.uses_zero_division}
