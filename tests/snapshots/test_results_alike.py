"""The three kinds of result behave alike: mappings, data, tables, reports, figures, equality by value, warnings."""

from __future__ import annotations

import html as html_module
import inspect
import json
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.report.layout import display_width
from stream_metrics.snapshots.comparison import ComparisonSnapshot, Difference
from stream_metrics.snapshots.groups import GroupSnapshot
from stream_metrics.snapshots.snapshot import Snapshot

KINDS = ["snapshot", "groups", "comparison"]


def results(kind: str, seed: int = 0, n: int = 400) -> Any:
    """Return a result of three classes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(list("abc"), n)
    first, second = (np.where(rng.random(n) < share, truth, rng.choice(list("abc"), n)) for share in (0.6, 0.8))
    if kind == "comparison":
        models = sm.Comparison("old", "new")
        models.update_many(truth, first, second)
        return models.snapshot()
    return sm.evaluate(truth, first, group=rng.choice(list("xyz"), n) if kind == "groups" else None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_a_mapping(kind: str) -> None:
    """`keys`, `items`, `get`, `in`, `len` and `dict` agree with each other."""
    result = results(kind)

    assert isinstance(result, Mapping)
    assert len(result) == len(list(result)) == len(dict(result)) > 2
    for key, value in result.items():
        assert key in result
        assert result.get(key) == value == result[key]
    assert "nothing" not in result
    assert result.get("nothing", "else") == "else"
    with pytest.raises(KeyError, match="nothing"):
        result["nothing"]


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_equal_by_value(kind: str) -> None:
    """Equal counters make equal results, also through pickle; others differ; nothing of it can be hashed."""
    result = results(kind)

    assert result == results(kind) == pickle.loads(pickle.dumps(result))
    assert result != results(kind, seed=1)
    assert all(result != results(other) for other in KINDS if other != kind)
    with pytest.raises(TypeError, match="unhashable"):
        hash(result)


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_can_be_shown_everywhere(kind: str) -> None:
    """Data, JSON, table, text, HTML, figure and one line for each kind."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    result = results(kind)

    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))
    assert set(result.to_frame().index) == (set(result) if kind != "snapshot" else {"a", "b", "c"})
    assert "Accuracy" in str(result)
    assert result._repr_html_().startswith('<div class="sm-report">')
    assert result._repr_html_().count("<table") == result._repr_html_().count("</table>") > 0
    assert len(result.plot().axes) > 0
    assert "\n" not in repr(result)
    assert len(repr(result)) < 80


@pytest.mark.parametrize("width", [40, 60, 80, 140])
@pytest.mark.parametrize("kind", KINDS)
def test_reports_fit_the_width(kind: str, width: int) -> None:
    """No line is wider than asked, on every kind of result."""
    result = results(kind)
    text = result.report(width=width)

    assert max(map(display_width, text.split("\n"))) <= width


def test_long_and_wide_names_of_models_keep_the_columns() -> None:
    """Names of models may hold anything: lines fit, columns stay aligned, HTML is escaped."""
    models = sm.Comparison("<b>一个很长的模型名字</b>\n", "x" * 100)
    models.update_many([0, 1] * 50, [0, 1] * 50, [0, 1] * 49 + [1, 1])
    result = models.snapshot()
    for width in (60, 80):
        lines = result.report(width=width).split("\n")
        at = next(index for index, line in enumerate(lines) if line.startswith("Score"))

        assert max(map(display_width, lines)) <= width
        assert len({display_width(line) for line in lines[at : at + 6]}) == 1
    assert "<b>一" not in result._repr_html_()
    assert html_module.escape("<b>一") in result._repr_html_()


def test_the_comparison_report_is_whole_at_80_columns() -> None:
    """Both models, the difference and both intervals fit 80 columns with scores as well."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 2000)
    models = sm.Comparison("baseline", "candidate", scores=True, pos_label=1)
    models.update_many(truth, 0.4 * truth + 0.6 * rng.random(2000), 0.5 * truth + 0.5 * rng.random(2000))
    text = models.snapshot().report(width=80)

    assert "Left out at this width" not in text
    assert all(line.count("[") == 2 for line in text.split("\n") if line.startswith(("Accuracy", "Brier", "ROC AUC")))


def test_a_comparison_blanks_intervals_that_are_not_to_be_trusted() -> None:
    """Three samples have no interval for one look in the report, which says why; data still have it with its note."""
    models = sm.Comparison("old", "new")
    models.update_many([0, 1, 1], [0, 1, 0], [0, 1, 1])
    result = models.snapshot()
    lines = [line for line in result.report(width=80).split("\n") if line.startswith("Macro F1")]

    assert len(lines) == 1
    assert lines[0].split()[5] == "-"
    assert "no trustworthy interval for one look: " in result.report(width=140)
    assert "a class has 1 sample, too few" in result.report(width=140)
    assert result.to_dict()["differences"]["macro_f1"]["low"] < 0


def test_differences_by_key_and_label() -> None:
    """`s[key]` is the difference, `s[key, label]` that of a class, and a per-class key alone a dict of all classes."""
    result = results("comparison")

    assert result["accuracy"] == result.difference("accuracy")
    assert result["mcc"] == result["matthews_corrcoef"]
    assert result["recall", "a"] == result.difference("recall", label="a")
    assert result["recall"] == {label: result["recall", label] for label in "abc"}
    assert all(isinstance(difference, Difference) for difference in result.values())
    low, high = result["accuracy"]
    assert low < result["accuracy"].value < high


def test_a_comparison_of_weights_lists_what_it_omits() -> None:
    """Without a method for weights there is nothing to iterate over, `omitted` says why, and asking raises."""
    models = sm.Comparison()
    models.update_many([0, 1, 1], [0, 1, 0], [0, 1, 1], w=[1, 2, 3])
    result = models.snapshot()

    assert dict(result) == {}
    assert "weight" in result.omitted["accuracy"]
    with pytest.raises(ValueError, match="weight"):
        result["accuracy"]
    assert result.report(width=200).count("Left out: Accuracy, Balanced accuracy, Macro F1, ") == 1


def test_an_empty_comparison_says_so() -> None:
    """Before the first sample there is no table of hyphens and no test, in text, HTML and figure."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    result = sm.Comparison("old", "new").snapshot()

    assert result.report(width=80) == "new against old: 0 samples\n\nNothing compared yet."
    assert "<table" not in result._repr_html_()
    assert result.plot().axes[0].texts[0].get_text() == "nothing counted yet"


@pytest.mark.parametrize(
    ("names", "better", "expected"),
    [
        (("old", "new"), "new", "new"),
        (("old", "new"), "old", "old"),
        (("old", "new"), "a", "old"),
        (("old", "new"), "b", "new"),
        (("b", "a"), "a", "a"),
        (("b", "a"), "b", "b"),
        (("x", "a"), "a", "a"),
        (("x", "a"), "b", "a"),
        (("old", "either"), "either", "either"),
    ],
)
def test_evidence_takes_the_name_of_a_model(names: tuple[str, str], better: str, expected: str) -> None:
    """A name comes before a place; "either" is never a name; the evidence says whose it is."""
    models = sm.Comparison(*names)
    models.update_many([1] * 60, [0] * 60, [1] * 60)
    evidence = models.snapshot().evidence(better)
    second = expected == names[1] and better != "either"

    assert evidence.better == expected
    assert evidence.at_least() is (second or better == "either")


def test_every_reading_of_a_class_takes_its_label_by_name() -> None:
    """A method that names one class has a parameter `label`."""
    for kind in (Snapshot, GroupSnapshot, ComparisonSnapshot):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith("_") or name in ("get", "with_keys", "displayed_interval"):
                continue
            parameters = inspect.signature(method).parameters
            if "key" in parameters or name.endswith("_curve"):
                assert "label" in parameters, f"{kind.__name__}.{name}"


def test_nothing_in_common_is_said() -> None:
    """Labels of other types or spellings are warned of in text, HTML and data."""
    result = sm.evaluate([0, 1, 1, 0], ["0", "1", "1", "0"])
    (warning,) = result.warnings

    assert warning.startswith("True labels and predictions have no class in common: 0, 1 and '0', '1'")
    assert result.to_dict()["warnings"] == [warning]
    assert f"Warning: {warning}."[:70] in str(result)
    assert html_module.escape(warning) in result._repr_html_()


@pytest.mark.parametrize(
    ("truth", "predicted"),
    [([0, 1], ["0", "1"]), (["a", "b"], [b"a", b"b"]), ([True, False], ["true", "false"]), (["0"], [0])],
)
def test_labels_of_other_types_are_warned_of_at_once(truth: list[Any], predicted: list[Any]) -> None:
    """Two samples are enough where types differ, and too few where only the labels do."""
    (warning,) = sm.evaluate(truth, predicted).warnings

    assert "no class in common" in warning
    assert sm.evaluate(["a", "b"], ["b", "a"]).warnings == sm.evaluate(["a", "b"], ["c", "d"]).warnings == ()


def test_floats_of_another_width_are_refused() -> None:
    """What float32 makes of 0.1 is another label than 0.1; neither counts silently."""
    with pytest.raises(sm.LabelError, match="with a fraction"):
        sm.evaluate([0.1, 0.2], np.array([0.1, 0.2], np.float32))
    with pytest.raises(sm.LabelError, match="one of the fixed labels"):
        sm.evaluate([0.1, 0.2], np.array([0.1, 0.2], np.float32), labels=[0.1, 0.2])
    assert sm.evaluate(np.array([1, 2], np.float32), [1, 2])["accuracy"] == 1.0


@pytest.mark.parametrize("state", ["sketch", "set", "set with predictions"])
def test_classes_of_scores_that_never_occur_are_warned_of(state: str) -> None:
    """Scores of other classes than the true ones are warned of, also beside predictions that are right."""
    truth, scores = [0, 1, 2], [{"00": 0.5, "01": 0.5}] * 3
    counts: Any = sm.RankSketch() if state == "sketch" else sm.MetricSet(scores=True)
    counts.update_many(truth, truth if state == "set with predictions" else None, scores=scores)
    (warning,) = counts.snapshot().warnings

    assert warning.startswith("True labels and ")
    assert "have no class in common: 0, 1, 2 and '00'" in warning


def test_single_scores_of_the_other_class_are_no_doubt() -> None:
    """Where only samples of class 0 came so far, the scores of class 1 are of no wrong class."""
    counts = sm.MetricSet(scores=True)
    counts.update_many([0, 0], scores=[0.25, 0.75])

    assert counts.snapshot().warnings == ()


def test_a_comparison_names_the_model_whose_labels_are_wrong() -> None:
    """Only the model with other labels is warned of."""
    models = sm.Comparison("old", "new")
    models.update_many(["a", "b", "a"], ["a", "b", "b"], ["A", "B", "A"])
    (warning,) = models.snapshot().warnings

    assert "predictions of new" in warning
    assert "Warning: " in str(models.snapshot())


def test_a_single_class_is_said() -> None:
    """One class in the truth is warned of once there are a few samples."""
    assert sm.evaluate([1, 1], [1, 0]).warnings == ()
    assert sm.evaluate([1, 1, 1], [1, 0, 1]).warnings[0].startswith("All 3 true labels are 1")


def test_probabilities_that_do_not_sum_to_1_are_said() -> None:
    """The mean of the sums is known from the counters; single probabilities of `pos_label` need not sum to 1."""
    table = np.array([[0.9, 0.4], [0.1, 0.6], [0.4, 0.6]])
    for factor, warned in ((1.0, False), (0.5, True)):
        metrics = sm.MetricSet(scores=True)
        metrics.update_many([0, 1, 1], scores=table * factor, classes=[0, 1])
        sums = [text for text in metrics.snapshot().warnings if "sum to" in text]
        assert bool(sums) is (warned or not np.isclose(table.sum() / 3, 1, atol=0.01))
    single = sm.MetricSet(scores=True, pos_label=1)
    single.update_many([0, 1, 1], scores=[0.2, 0.3, 0.4])
    assert single.snapshot().warnings == ()


def test_scores_that_are_no_probabilities_are_said() -> None:
    """Scores outside [0, 1] are margins, and the result says so."""
    assert "outside [0, 1]" in sm.evaluate([0, 1, 1], scores=[2.0, 3.0, -1.0]).warnings[0]
    assert sm.evaluate([0, 1, 1], scores=[0.2, 0.3, 0.9]).warnings == ()


def test_rounded_weights_are_said() -> None:
    """A weight that is no multiple of 2^-64 moves scores, by next to nothing."""
    result = sm.evaluate([0, 1, 1], scores=[0.2, 0.3, 0.9], w=[1, 1e-10 / 3, 1])

    assert result.warnings == ("The weight of 1 sample was rounded to 2^-64",)


def test_groups_warn_of_all_samples() -> None:
    """The warnings of groups are those of all samples together; a single class in one group is none."""
    same = sm.evaluate([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], group=list("xxxyyy"))
    other = sm.evaluate([1, 1, 1, 0, 0, 0], list("111000"), group=list("xxxyyy"))

    assert same.warnings == ()
    assert other.warnings == other.overall.warnings != ()
    assert "Warning: " in str(other)
    assert "Warning:" in other._repr_html_()


@pytest.mark.parametrize("kind", ["snapshot", "groups"])
def test_a_warning_from_outside_stays_with_the_result(kind: str) -> None:
    """It is in text, HTML and data, survives pickling and intervals, and makes results differ."""
    plain = results(kind)
    warned = plain.with_warning("2 of 3 rows were bad")
    again = pickle.loads(pickle.dumps(warned))

    assert warned.warnings == ("2 of 3 rows were bad", *plain.warnings) == again.warnings
    assert again == warned != plain
    assert "2 of 3 rows were bad" in warned.with_intervals().warnings
    assert "2 of 3 rows were bad" in str(warned)
    assert "2 of 3 rows were bad" in warned._repr_html_()
    assert "2 of 3 rows were bad" in warned.to_dict()["warnings"]
