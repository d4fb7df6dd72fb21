"""Every golden value that needs a confusion matrix only: exact where the formula is one ratio of integers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.exact_metrics import REFERENCES, ROUNDED
from support.values import value

pytestmark = pytest.mark.quick
FILE = Path(__file__).parents[1] / "golden" / "golden.json"
CASES = [case for case in json.loads(FILE.read_text()) if case["confusion_matrix"]]


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
    if case["metric"] == "n" or REFERENCES[case["metric"]][1] == ROUNDED:
        return actual == expected
    if case["metric"].startswith("generalized_mcc"):
        return abs(actual - expected) <= 1e-12
    return abs(actual - expected) <= max(4 * math.ulp(expected), 1e-14 * abs(expected))


def test_golden() -> None:
    """A value is the golden one: bit for bit for ratios of sums, within 4 ulp or 1e-14 otherwise; 0/0 is what is said.

    Without a value for 0/0 no other golden value changes, but for averages with a component that is 0/0.
    """
    failures, changed = [], set()
    for case in CASES:
        zero, one, lost = (read(case, zero) for zero in (0.0, 1.0, math.nan))
        if not agrees(zero, case) or (case["note"].startswith("0/0:") and repr((one, lost)) != "(1.0, nan)"):
            failures.append((case["id"], zero, one, lost, case["value"]))
        if not agrees(lost, case) and not case["note"].startswith("0/0:"):
            changed.add((case["id"].split(".")[0], case["metric"]))

    assert len(CASES) > 500
    assert sum(case["note"].startswith("0/0:") for case in CASES) == 8
    assert not failures
    assert {matrix for matrix, _ in changed} <= {"grandini_fig9", "itai_katz_cyclic"}
    assert not {metric for _, metric in changed} & {"accuracy", "cohen_kappa", "support", "expected_matrix", "chi2"}
