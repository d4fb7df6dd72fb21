"""Golden values, and values worked by hand, with their arithmetic, of options and of 0/0."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.exact_metrics import REFERENCES, ROUNDED
from support.values import same, snapshot, value

pytestmark = pytest.mark.quick
FIG2 = [[20, 5], [10, 15]]  # precision 20/30, 15/20; recall 20/25, 15/25
FIG9 = [[40, 0], [10, 0]]  # the second class is never predicted
SMALL = [[2, 1], [0, 1]]
ORDERED = [[2, 1, 0], [0, 2, 1], [1, 0, 3]]  # totals 3, 3, 4 both ways
DOERING = [[35, 0, 0, 5, 5], [0, 9, 0, 1, 0], [0, 5, 10, 0, 0], [0, 0, 2, 23, 0], [2, 2, 0, 0, 1]]
NAN = math.nan
WORKED = [
    ("fbeta", FIG2, {"beta": 2}, [5 * 20 / (4 * 25 + 30), 5 * 15 / (4 * 25 + 20)]),
    ("fbeta", FIG2, {"beta": 0}, [20 / 30, 15 / 20]),
    ("fbeta", FIG2, {"beta": math.inf}, [20 / 25, 15 / 25]),
    ("fbeta", FIG2, {"beta": 1000}, [1000001 * 20 / (25000030), 1000001 * 15 / 25000020]),
    ("macro_fbeta", FIG2, {"beta": 2}, (100 / 130 + 75 / 120) / 2),
    ("weighted_fbeta", [[1, 1], [1, 5]], {"beta": 2}, (2 * (5 / 10) + 6 * (25 / 30)) / 8),
    ("micro_fbeta", FIG2, {"beta": 2}, 35 / 50),
    ("general_f1", SMALL, {"average": min}, 2 / 3),
    ("general_f1", SMALL, {"average": "power", "p": math.inf}, 4 / 5),
    ("general_f1", SMALL, {"average": "power", "p": -math.inf}, 2 / 3),
    ("ovo", ORDERED, {"metric": "precision"}, ((1 + 2 / 3) + (2 / 3 + 1) + (1 + 3 / 4)) / 6),
    ("ovo", SMALL, {"metric": "p4"}, 4 * 2 * 1 / (4 * 2 * 1 + 3 * 1)),
    ("ovo", SMALL, {"metric": "fowlkes_mallows"}, (math.sqrt(2 / 3) + math.sqrt(1 / 2)) / 2),
    ("baseline_accuracy", SMALL, {"prior": {0: 1, 1: 3}}, 0.75 * 0.25 + 0.25 * 0.75),
    ("baseline_accuracy", SMALL, {"strategy": "most_frequent"}, 0.75),
    ("baseline_precision", SMALL, {"prior": [0, 5]}, [0, 0.25]),
    ("baseline_recall", SMALL, {"prior": {0: 1, 1: 3}}, [0.25, 0.75]),
    ("baseline_f1", SMALL, {"prior": {0: 1, 1: 3}}, [2 * 0.75 * 0.25, 2 * 0.25 * 0.75]),
    ("baseline_matrix", SMALL, {"prior": {0: 1, 1: 3}}, [[0.75, 2.25], [0.25, 0.75]]),
    ("mcnemar", [[10, 8], [2, 20]], {"correction": False}, (8 - 2) ** 2 / 10),
    ("mcnemar_p_value", [[10, 8], [2, 20]], {}, math.erfc(math.sqrt(2.5 / 2))),
    ("mcnemar_p_value", [[10, 5], [5, 20]], {"exact": True}, 1),
    ("mcnemar_p_value", [[9, 3, 0], [1, 9, 0], [2, 0, 9]], {}, math.exp(-3 / 2)),
    ("generalized_mcc", SMALL, {"alpha": 1}, (3 * 2 - 2 * 1) / math.sqrt(5 * 3 * 4 * 4)),
    ("weighted_balanced_accuracy", FIG2, {"weights": {0: 3, 1: 1, 7: 9}}, (3 * 0.8 + 0.6) / 4),
    # the two counter-examples of the reference: an association where MCC is 0, and kappa below 0 where phi is 1
    ("cramers_v", [[1, 2, 0], [0, 1, 2], [2, 0, 1]], {}, 1 / math.sqrt(3)),
    ("cohen_kappa", [[0, 0, 1], [1, 0, 0], [0, 1, 0]], {}, -0.5),
]
COMPONENTS = [  # with zero_division 0, 1 and nan, where the precision of a class is 0/0
    ("macro_precision", FIG9, {}, (0.4, 0.9, 0.8)),
    ("macro_f1_of_means", FIG9, {}, (4 / 9, 2 * 0.9 * 0.5 / 1.4, 2 * 0.8 * 0.5 / 1.3)),
    ("power_mean_precision_recall", FIG9, {"p": 1.0}, ([0.9, 0.0], [0.9, 0.5], [0.9, NAN])),
    ("power_mean_precision_recall", FIG9, {"p": -1.0}, ([8 / 9, 0], [8 / 9, 0], [8 / 9, 0])),
    ("power_mean_all_precision_recall", FIG9, {"p": 1.0}, (1.8 / 4, 2.8 / 4, 1.8 / 3)),
    ("power_mean_all_precision_recall", FIG9, {"p": 0.0}, (0, 0, 0)),
    # a pair with one F1 that is defined counts with that one alone, and an empty pair not at all
    ("f1_ovo", [[4, 0, 0], [0, 0, 0], [0, 0, 0]], {}, ((0.5 + 0.5 + 0) / 3, 1.0, 1.0)),
    ("f1_ovo_first_positive", [[4, 0, 0], [0, 0, 0], [0, 0, 0]], {}, (2 / 3, 1.0, 1.0)),
]


def test_values() -> None:
    """Values of options are the ones worked by hand; those of 0/0 inside an average for each choice."""
    failures = []
    for key, matrix, options, expected in WORKED:
        if not same(actual := value(key, matrix, **options), expected):
            failures.append((key, options, actual, expected))
    for key, matrix, options, by_zero in COMPONENTS:
        if not same(actual := [value(key, matrix, zero_division=zero, **options) for zero in (0.0, 1.0, NAN)], by_zero):
            failures.append((key, options, actual, by_zero))

    assert not failures
    assert f"{value('nir_p_value', DOERING):.3e}" == "1.637e-11"  # as R's caret prints it


def test_presets_are_their_options() -> None:
    """A preset has the value of the general key with that option, and takes none itself."""
    taken = snapshot([[6, 0, 1], [3, 9, 1], [1, 0, 10]])
    for preset, key, options in (
        ("macro_f1_of_means", "macro_f1", {"variant": "f1_of_means"}),
        ("general_f1_power_2", "general_f1", {"average": "power", "p": 2}),
        ("balanced_accuracy_adjusted", "balanced_accuracy", {"adjusted": True}),
        ("weighted_kappa_quadratic", "weighted_kappa", {"weights": "quadratic"}),
        ("baseline_most_frequent_f1", "baseline_f1", {"strategy": "most_frequent"}),
    ):
        assert taken.value(preset) == taken.value(key, **options)


def test_the_determinant_is_exact_up_to_eight_classes() -> None:
    """For whole numbers; that of other numbers is not, and alpha is added to the diagonal."""
    square = [[(7 * i + 3 * j * j) % 11 + (9 if i == j else 0) for j in range(8)] for i in range(8)]
    halves = [[cell + 0.5 for cell in row] for row in square]

    assert same(value("generalized_mcc", halves), value("generalized_mcc", [[int(2 * x) for x in r] for r in halves]))
    assert same(value("generalized_mcc", square), value("generalized_mcc", square, alpha=1e-13), 1e-10)


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
    """A value is the golden one: bit for bit for ratios of sums, within 4 ulp or 1e-14 otherwise; a 0/0 is undefined.

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
