"""The table of metrics: complete, consistent, and strict about keys and options."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.oracle import Oracle

from stream_metrics import ConfusionMatrix
from stream_metrics.catalog.bibliography import references
from stream_metrics.catalog.table import CATALOG, find
from stream_metrics.evaluation.evaluate import evaluate
from stream_metrics.formulas.memoized import MemoizedCounts

FIG2 = [[20, 5], [10, 15]]
both_counts = pytest.mark.parametrize("counts_class", [Oracle, ConfusionMatrix])
OF_COUNTS = [row for row in CATALOG.values() if row.state == "counts"]


@pytest.mark.parametrize("key", CATALOG)
def test_row(key: str) -> None:
    """A row names its formula's undefined case, range, source and title, and its formula says what it measures."""
    row = CATALOG[key]

    assert row.key == key
    assert row.state in ("counts", "ranks", "confidence", "losses")
    assert row.low < row.high
    assert row.direction in ("higher", "lower", None)
    assert all((row.undefined_when, row.source, row.family, row.title, row.definition))
    assert row.summary.endswith(".")
    assert len(references(row.source)) == row.source.count(";") + 1
    assert len(row.title) <= 60
    assert getattr(row.formula, "func", row.formula).__doc__


def test_class_names_are_unique() -> None:
    """No two rows make a class of the same name."""
    names = [name for row in CATALOG.values() for name in (row.class_name, row.alias) if name]

    assert len(names) == len(set(names))


def test_printed_mistakes_are_in_no_default_snapshot() -> None:
    """A literal form, a matrix and a metric that needs an argument are computed only when asked for."""
    default = [row for row in CATALOG.values() if row.default]

    assert not any(row.key.endswith("_literal") or row.kind == "matrix" for row in default)
    assert not any({"beta", "prior", "weights", "metric"} & row.options.keys() for row in default)


def test_options() -> None:
    """Options are the keyword arguments of the formula; a preset has fixed its own."""
    assert find("general_f1").options == {"average": "arithmetic", "p": None}
    assert find("general_f1_power_2").options == {}
    assert find("baseline_uniform_f1").options == {}
    assert find("mcnemar_p_value").options == {"correction": True, "exact": False}
    assert find("macro_f1").uses_zero_division
    assert not find("accuracy").uses_zero_division


def test_presets_are_their_options() -> None:
    """A preset has the value of the general row with that option."""
    counts = Oracle.from_matrix([[6, 0, 1], [3, 9, 1], [1, 0, 10]])
    for key, base, options in (
        ("macro_f1_of_means", "macro_f1", {"variant": "f1_of_means"}),
        ("general_f1_power_2", "general_f1", {"average": "power", "p": 2}),
        ("balanced_accuracy_adjusted", "balanced_accuracy", {"adjusted": True}),
        ("weighted_kappa_quadratic", "weighted_kappa", {"weights": "quadratic"}),
        ("baseline_most_frequent_f1", "baseline_f1", {"strategy": "most_frequent"}),
    ):
        preset, general = evaluate(find(key), counts)[0], evaluate(find(base), counts, **options)[0]
        assert np.array_equal(preset, general)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [("acuracy", "'accuracy'"), ("MCC", "'matthews_corrcoef'"), ("macro-f1", "'macro_f1'"), ("zzzzzz", "metrics()")],
)
def test_unknown_key(asked: str, answer: str) -> None:
    """An unknown key raises a KeyError that suggests what may be meant, or says where the keys are."""
    with pytest.raises(KeyError) as caught:
        find(asked)

    assert answer in str(caught.value)
    assert repr(asked) in str(caught.value)


@pytest.mark.parametrize("zero_division", [0.5, -1, "nan", None.__class__, math.inf])
def test_zero_division_is_one_of_three(zero_division: Any) -> None:
    """Anything but 0.0, 1.0 and nan is refused."""
    with pytest.raises(ValueError, match=r"`zero_division` to be 0\.0, 1\.0 or nan"):
        evaluate(find("accuracy"), Oracle.from_matrix(FIG2), zero_division)


def test_undefined_classes_are_named() -> None:
    """The second result says what was 0/0: True, or the classes."""
    counts = Oracle.from_matrix([[40, 0], [10, 0]], ["yes", "no"])

    assert evaluate(find("precision"), counts)[1] == ["no"]
    assert evaluate(find("matthews_corrcoef"), counts) == (0.0, True)
    assert evaluate(find("recall"), counts)[1] == []
    assert evaluate(find("support"), counts)[1] == []
    assert evaluate(find("generalized_mcc_matrix"), counts, 1.0)[0][0, 1] == 1.0


@pytest.mark.parametrize(
    ("key", "options", "message"),
    [
        ("accuracy", {"beta": 2}, "options of 'accuracy' to be [], but got 'beta'"),
        ("general_f1_geometric", {"average": "harmonic"}, "to be [], but got 'average'"),
        ("fbeta", {"beta": -1}, "`beta` to be a number >= 0, but got -1"),
        ("fbeta", {"beta": math.nan}, "`beta` to be a number >= 0, but got nan"),
        ("macro_f1", {"variant": "x"}, "'mean_of_f1' or 'f1_of_means', but got 'x'"),
        ("general_f1", {"average": "median"}, "arithmetic, geometric, harmonic, power, but got 'median'"),
        ("general_f1", {"average": "power"}, "`p` to be a number with average='power', but got None"),
        ("power_mean_precision_recall", {"p": math.nan}, "`p` to be a number or an infinity, but got nan"),
        ("weighted_kappa", {"weights": "cubic"}, "'linear' or 'quadratic', but got 'cubic'"),
        ("generalized_mcc", {"alpha": -1}, "`alpha` to be a finite number >= 0, but got -1"),
        ("ovo", {"metric": "auc"}, "but got 'auc'"),
        ("baseline_f1", {"strategy": "coin"}, "most_frequent, uniform, stratified, but got 'coin'"),
        ("baseline_f1", {"prior": {0: 0, 1: 0}}, "a positive number for some class, but all are 0"),
        ("weighted_balanced_accuracy", {"weights": [1]}, "`weights` to have 2 numbers, one per class, but got 1"),
        ("weighted_balanced_accuracy", {"weights": {0: 1}}, "a number for every class, but 1 has none"),
        ("weighted_balanced_accuracy", {"weights": [1, -1]}, "`weights` of 1 to be a finite number >= 0, but got -1"),
        ("weighted_balanced_accuracy", {"weights": [1, math.inf]}, "a finite number >= 0, but got inf"),
        ("weighted_balanced_accuracy", {"weights": ["1", 1]}, "a finite number >= 0, but got '1'"),
        ("weighted_balanced_accuracy_eq7_literal", {"weights": [0, 1]}, "`weights` to be positive"),
    ],
)
def test_bad_options(key: str, options: dict[str, Any], message: str) -> None:
    """A bad option is refused with the option, what is allowed and what came."""
    with pytest.raises(ValueError, match=re.escape(message)):
        evaluate(find(key), Oracle.from_matrix(FIG2), **options)


@pytest.mark.parametrize("options", [{"average": "median"}, {"average": "power"}])
def test_bad_options_are_refused_without_data(options: dict[str, Any]) -> None:
    """Options are checked before the first sample, so that a stream does not start with a broken metric."""
    with pytest.raises(ValueError, match="Expected"):
        evaluate(find("general_f1"), Oracle(), **options)


def test_exact_mcnemar_is_for_two_classes() -> None:
    """The exact test of three classes is refused."""
    with pytest.raises(ValueError, match="`exact` to be False for more than two classes, but got True for 3"):
        evaluate(find("mcnemar_p_value"), Oracle.from_matrix([[1, 2, 0], [1, 1, 1], [0, 0, 1]]), exact=True)


@both_counts
def test_memoized_counts_change_no_value(counts_class: Any) -> None:
    """Sharing totals, cells and pairs between formulas gives the same values, and each is read once."""
    counts = counts_class.from_matrix([[6, 0, 1, 2], [3, 9, 1, 1], [1, 0, 10, 2], [1, 2, 1, 12]], list("abcd"))
    view = MemoizedCounts(counts)
    for row in OF_COUNTS:
        plain, shared = evaluate(row, counts), evaluate(row, view)
        assert np.array_equal(plain[0], shared[0])
        assert plain[1] == shared[1]

    assert view.cells() is view.cells()
    assert view.matrix is view.matrix


@both_counts
@pytest.mark.parametrize("key", [row.key for row in OF_COUNTS if row.kind == "whole"])
def test_whole_values_are_plain_numbers(counts_class: Any, key: str) -> None:
    """A whole value is a Python int or float, not a NumPy scalar, for whole and for fractional weights."""
    whole, fractional = counts_class.from_matrix(FIG2), counts_class.from_matrix([[20.25, 5], [10, 15.1]])

    for counts in (whole,) if find(key).needs else (whole, fractional):
        assert type(evaluate(find(key), counts)[0]) in (int, float)


def test_formulas_import_nothing_else() -> None:
    """A formula depends on NumPy, a few modules of the standard library and its neighbours."""
    allowed = {"math", "fractions", "functools", "itertools", "operator", "collections", "numbers", "typing", "numpy"}
    allowed |= {"inspect"}  # formulas made from a measure carry its signature
    folder = Path(__file__).parents[2] / "stream_metrics" / "formulas"
    found = set()
    for file in folder.glob("*.py"):
        found |= set(re.findall(r"^(?:from|import) ([\w.]+)", file.read_text(), re.MULTILINE))

    assert {name.split(".")[0] for name in found} <= allowed | {"__future__", "stream_metrics"}
    ours = {name for name in found if name.startswith("stream_metrics")}
    assert all(name.startswith(("stream_metrics.formulas", "stream_metrics.labels")) for name in ours)
