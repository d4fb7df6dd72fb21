"""The kinds of result behave alike: mappings, data, tables, reports, figures, equality by value, warnings."""

from __future__ import annotations

import html as html_module
import json
import pickle
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support.refusals import refused
from support.values import html
from support.widths import columns, widest

import stream_metrics as sm

KINDS = ["snapshot", "groups", "comparison", "several labels"]


def results(kind: str, seed: int = 0, n: int = 400) -> Any:
    """Return a result of three classes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(list("abc"), n)
    first, second = (np.where(rng.random(n) < share, truth, rng.choice(list("abc"), n)) for share in (0.6, 0.8))
    if kind == "comparison":
        models = sm.Comparison("old", "new")
        models.update_many(truth, first, second)
        return models.snapshot()
    if kind == "several labels":
        tags = sm.MultiLabel()
        tags.update_many([{a, b} for a, b in zip(truth, second, strict=True)], [{a} for a in first])
        return tags.snapshot()
    return sm.evaluate(truth, first, group=rng.choice(list("xyz"), n) if kind == "groups" else None)


@pytest.mark.quick
@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_a_mapping_that_is_equal_by_value(kind: str) -> None:
    """`keys`, `items`, `get`, `in`, `len` and `dict` agree; equal counters make equal results, also through pickle."""
    result = results(kind)

    assert isinstance(result, Mapping)
    assert len(result) == len(list(result)) == len(dict(result)) > 2
    for key, value in result.items():
        assert key in result
        assert result.get(key) == value == result[key]
    assert "nothing" not in result
    assert result.get("nothing", "else") == "else"
    refused(lambda: result["nothing"], KeyError, "nothing")
    assert result == results(kind) == pickle.loads(pickle.dumps(result))
    assert result != results(kind, seed=1)
    assert all(result != results(other) for other in KINDS if other != kind)
    refused(lambda: hash(result), TypeError)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_can_be_shown_everywhere(kind: str) -> None:
    """Data, JSON, table, text of any width, HTML, figure and one line for each kind."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    result = results(kind)

    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))
    assert set(result.to_frame().index) == (set(result) if kind in ("groups", "comparison") else {"a", "b", "c"})
    assert "accuracy" in str(result).lower()
    assert html(result).startswith('<div class="sm-report">')
    assert html(result).count("<table") == html(result).count("</table>") > 0
    assert len(result.plot().axes) > 0
    empty = sm.Comparison("old", "new").snapshot().plot()
    assert empty.axes[0].texts[0].get_text() == "nothing counted yet"
    assert "\n" not in repr(result)
    assert len(repr(result)) < 80
    assert all(widest(result.report(width=width)) <= width for width in (40, 60, 80, 140))


@pytest.mark.quick
def test_long_and_wide_names_of_models_keep_the_columns() -> None:
    """Names of models may hold anything: lines fit, columns stay aligned, HTML is escaped."""
    models = sm.Comparison("<b>一个很长的模型名字</b>\n", "x" * 100)
    models.update_many([0, 1] * 50, [0, 1] * 50, [0, 1] * 49 + [1, 1])
    result = models.snapshot()
    for width in (60, 80):
        lines = result.report(width=width).split("\n")
        at = next(index for index, line in enumerate(lines) if line.startswith("Score"))
        assert max(map(columns, lines)) <= width
        assert len({columns(line) for line in lines[at : at + 6]}) == 1
    assert "<b>一" not in html(result)
    assert html_module.escape("<b>一") in html(result)


def test_the_comparison_report() -> None:
    """Whole at 80 columns with scores as well; intervals that are not to be trusted are blank; nothing is said so."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 2000)
    models, few = sm.Comparison("baseline", "candidate", scores=True, pos_label=1), sm.Comparison("old", "new")
    models.update_many(truth, 0.4 * truth + 0.6 * rng.random(2000), 0.5 * truth + 0.5 * rng.random(2000))
    few.update_many([0, 1, 1], [0, 1, 0], [0, 1, 1])
    text, result, empty = models.snapshot().report(width=80), few.snapshot(), sm.Comparison("old", "new").snapshot()
    (line,) = (line for line in result.report(width=80).split("\n") if line.startswith("Macro F1"))

    assert "Left out at this width" not in text
    for name in ("Accuracy", "AUC", "AP", "Log loss", "Brier"):
        assert len(re.findall(rf"^{name} .*\[.*\[", text, re.M)) == 1, name
    assert line.split()[5] == "-"
    assert "no trustworthy interval for one look: " in result.report(width=140)
    assert "a class has 1 sample, too few" in result.report(width=140)
    assert result.to_dict()["differences"]["macro_f1"]["low"] < 0
    assert empty.report(width=80) == "new against old: 0 samples\n\nNothing compared yet."
    assert "<table" not in html(empty)


@pytest.mark.quick
def test_differences_by_key_and_label() -> None:
    """`s[key]` is the difference, `s[key, label]` that of a class; what weights do not allow is omitted and raises."""
    result, models = results("comparison"), sm.Comparison()
    models.update_many([0, 1, 1], [0, 1, 0], [0, 1, 1], w=[1, 2, 3])
    weighted = models.snapshot()
    low, high = result["accuracy"]

    assert result["accuracy"] == result.difference("accuracy")
    assert result["mcc"] == result["matthews_corrcoef"]
    assert result["recall", "a"] == result.difference("recall", label="a")
    assert result["recall"] == {label: result["recall", label] for label in "abc"}
    assert low < result["accuracy"].value < high
    assert dict(weighted) == {}
    assert "weight" in weighted.omitted["accuracy"]
    refused(lambda: weighted["accuracy"], ValueError, "weight")
    assert weighted.report(width=200).count("Left out: Accuracy, Balanced accuracy, Macro F1, ") == 1


@pytest.mark.quick
def test_evidence_takes_the_name_of_a_model() -> None:
    """A name comes before a place; "either" is never a name; the evidence says whose it is."""
    for names, better, expected in (
        (("old", "new"), "new", "new"), (("old", "new"), "old", "old"), (("old", "new"), "a", "old"),
        (("old", "new"), "b", "new"), (("b", "a"), "a", "a"), (("b", "a"), "b", "b"), (("x", "a"), "a", "a"),
        (("x", "a"), "b", "a"), (("old", "either"), "either", "either"),
    ):  # fmt: skip
        models = sm.Comparison(*names)
        models.update_many([1] * 60, [0] * 60, [1] * 60)
        evidence = models.snapshot().evidence(better)
        second = expected == names[1] and better != "either"
        assert evidence.better == expected
        assert evidence.at_least() is (second or better == "either")


WARNED: list[tuple[Any, str]] = [
    (lambda: sm.evaluate([0, 1, 1, 0], ["0", "1", "1", "0"]), "no class in common: 0, 1 and '0', '1'"),
    (lambda: sm.evaluate(["a", "b"], [b"a", b"b"]), "no class in common"),
    (lambda: sm.evaluate([True, False], ["true", "false"]), "no class in common"),
    (lambda: sm.evaluate(["0"], [0]), "no class in common"),
    (lambda: sm.evaluate([0, 1, 2], scores=[{"00": 0.5, "01": 0.5}] * 3), "have no class in common: 0, 1, 2 and '00'"),
    (lambda: sm.evaluate([1, 1, 1], [1, 0, 1]), "All 3 true labels are 1"),
    (lambda: sm.evaluate([0, 1, 1], scores=[[0.4, 0.2], [0.1, 0.3], [0.2, 0.3]], classes=[0, 1]), "sum to"),
    (lambda: sm.evaluate([0, 1, 1], scores=[2.0, 3.0, -1.0]), "outside [0, 1]"),
    (lambda: sm.evaluate([0, 1, 1], scores=[0.2, 0.3, 0.9], w=[1, 1e-10 / 3, 1]), "1 sample was rounded to 2^-64"),
    (lambda: sm.evaluate([1, 1, 1, 0, 0, 0], list("111000"), group=list("xxxyyy")), "no class in common"),
]
FINE: list[Any] = [
    lambda: sm.evaluate(["a", "b"], ["b", "a"]),
    lambda: sm.evaluate(["a", "b"], ["c", "d"]),  # two samples are too few where types are the same
    lambda: sm.evaluate([1, 1], [1, 0]),
    lambda: sm.evaluate([0, 0], scores=[0.25, 0.75]),
    lambda: sm.evaluate([0, 1, 1], scores=[[0.6, 0.4], [0.1, 0.9], [0.4, 0.6]], classes=[0, 1]),
    lambda: sm.evaluate([0, 1, 1], scores=[0.2, 0.3, 0.9]),
    lambda: sm.evaluate([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], group=list("xxxyyy")),
]


@pytest.mark.quick
def test_doubts_are_said() -> None:
    """In text, HTML and data, and as Python warnings if no number means anything; else nothing is said."""
    failures = []
    for make, text in WARNED:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = make()
        expected = [(result.warnings[0], __file__)] if "in common" in text else []
        assert [(str(each.message), each.filename) for each in said] == expected
        if not any(text in warning for warning in result.warnings):
            failures.append((text, result.warnings))
        warning = result.warnings[0]
        assert result.to_dict()["warnings"] == list(result.warnings)
        assert f"Warning: {warning}."[:60] in " ".join(str(result).split())
        assert html_module.escape(warning) in html(result)
    failures += [("", result.warnings) for result in (make() for make in FINE) if result.warnings]

    assert not failures


@pytest.mark.quick
def test_doubts_of_states_and_models() -> None:
    """A sketch alone, a set beside right predictions, and the model of a comparison with other labels are warned of."""
    sketch, beside, models = sm.RankSketch(), sm.MetricSet(scores=True), sm.Comparison("old", "new")
    sketch.update_many([0, 1, 2], scores=[{"00": 0.5, "01": 0.5}] * 3)
    beside.update_many([0, 1, 2], [0, 1, 2], scores=[{"00": 0.5, "01": 0.5}] * 3)
    models.update_many(["a", "b", "a"], ["a", "b", "b"], ["A", "B", "A"])

    with pytest.warns(UserWarning, match="in common"):
        grouped = sm.evaluate([1, 1, 1, 0, 0, 0], list("111000"), group=list("xxxyyy"))
    assert grouped.warnings == grouped.overall.warnings
    for state in (sketch, beside):
        (warning,) = state.snapshot().warnings
        assert "have no class in common: 0, 1, 2 and '00'" in warning
    (warning,) = models.snapshot().warnings
    assert "predictions of new" in warning
    assert "Warning: " in str(models.snapshot())


@pytest.mark.quick
def test_floats_of_another_width_are_refused() -> None:
    """What float32 makes of 0.1 is another label than 0.1; neither counts silently."""
    narrow = np.array([0.1, 0.2], np.float32)
    refused(lambda: sm.evaluate([0.1, 0.2], narrow), sm.LabelError)
    refused(lambda: sm.evaluate([0.1, 0.2], narrow, labels=[0.1, 0.2]), sm.LabelError)
    assert sm.evaluate(np.array([1, 2], np.float32), [1, 2])["accuracy"] == 1.0


@pytest.mark.quick
@pytest.mark.parametrize("kind", ["snapshot", "groups"])
def test_a_warning_from_outside_stays_with_the_result(kind: str) -> None:
    """It is in text, HTML and data, survives pickling and intervals, and makes results differ."""
    plain, bad = results(kind), "2 of 3 rows were bad"
    warned = plain.with_warning(bad)
    again = pickle.loads(pickle.dumps(warned))

    assert warned.warnings == (bad, *plain.warnings) == again.warnings
    assert again == warned != plain
    for place in (warned.with_intervals().warnings, str(warned), html(warned), warned.to_dict()["warnings"]):
        assert bad in place
