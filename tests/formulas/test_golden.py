"""Every golden value that needs a confusion matrix only: exact where the formula is one ratio of integers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.values import value

pytestmark = pytest.mark.quick
FILE = Path(__file__).parents[1] / "golden" / "golden.json"
CASES = [case for case in json.loads(FILE.read_text()) if case["confusion_matrix"]]
RATIOS_OF_INTEGERS = {
    *("accuracy", "average_accuracy", "cohen_kappa", "expected_accuracy", "expected_accuracy_term", "expected_matrix"),
    *("baseline_stratified_accuracy", "baseline_uniform_accuracy", "no_information_rate", "zero_one_loss"),
    *("cov_pred_pred", "cov_true_pred", "cov_true_true", "fn_sum", "fp_sum", "tn_sum", "tp_sum"),
    *("fn", "fp", "tn", "tp", "precision", "recall", "f1", "specificity", "npv", "f1_negative", "ova_accuracy"),
    *("detection_prevalence", "detection_rate", "prevalence", "predicted_count", "support", "majority_class"),
    *("false_discovery_rate", "false_negative_rate", "false_omission_rate", "false_positive_rate"),
    *("micro_f1", "micro_f1_code_literal", "micro_precision", "micro_recall", "weighted_recall"),
}


def read(case: dict[str, Any], zero_division: float = 0.0) -> float:
    """Return our value of a golden case."""
    if case["metric"] == "n":
        return float(sum(map(sum, case["confusion_matrix"])))
    labels, options = [str(label) for label in case["labels"]], dict(case["params"])
    if "weights" in options:
        options["weights"] = [Fraction(weight) for weight in options["weights"]]
    result = value(case["metric"], case["confusion_matrix"], case["labels"], zero_division, **options)
    if case["metric"] == "majority_class":
        return labels.index(result) + 1
    for label in [] if case["class"] is None else case["class"].split(","):
        result = result[labels.index(label)]
    return float(result)


def agrees(actual: float, case: dict[str, Any]) -> bool:
    """Tell whether a value is the golden one, as exactly as its formula allows."""
    expected = float(Fraction(case["rational"])) if case["rational"] else float(case["value"])
    if case["metric"] in RATIOS_OF_INTEGERS:
        return actual == expected
    if case["metric"].startswith("generalized_mcc"):
        return abs(actual - expected) <= 1e-12
    return abs(actual - expected) <= max(4 * math.ulp(expected), 1e-14 * abs(expected))


def test_golden() -> None:
    """The value is the golden one: bit for bit for ratios of integers, within 4 ulp or 1e-14 otherwise."""
    failures = [(case["id"], read(case), case["value"]) for case in CASES if not agrees(read(case), case)]

    assert len(CASES) > 500
    assert not failures


def test_undefined() -> None:
    """A golden value that is 0/0 is whatever zero_division says."""
    cases = [case for case in CASES if case["note"].startswith("0/0:")]
    for zero_division in (1.0, math.nan):
        assert [repr(read(case, zero_division)) for case in cases] == [repr(zero_division)] * 8


def test_only_the_marked_values_are_undefined() -> None:
    """Every other golden value stays the same under another zero_division, averages with a 0/0 component aside."""
    changed = {
        (case["id"].split(".")[0], case["metric"])
        for case in CASES
        if not agrees(read(case, math.nan), case) and not case["note"].startswith("0/0:")
    }

    assert {matrix for matrix, _ in changed} <= {"grandini_fig9", "itai_katz_cyclic"}
    assert not {metric for _, metric in changed} & {"accuracy", "cohen_kappa", "support", "expected_matrix", "chi2"}
