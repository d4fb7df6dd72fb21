"""The text report: correct at every width, it names what it leaves out, and any label is safe."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.report.layout import display_width
from stream_metrics.report.text import report
from stream_metrics.snapshots.snapshot import Snapshot

BLEIK_GAUHER = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
AT_80 = """\
100 samples, 3 classes

Score               model  most frequent  uniform  stratified
Accuracy           0.8500         0.3700   0.3333      0.3394
Balanced accuracy  0.8536         0.3333   0.3333      0.3333
Macro F1           0.8536         0.1800   0.3317      0.3333
Weighted F1        0.8500         0.1999   0.3349      0.3394
MCC (Matthews)     0.7729         0.0000   0.0000      0.0000
Cohen's kappa      0.7729         0.0000   0.0000      0.0000
Guessing without a model: most frequent = always "b"; uniform = every class
  alike; stratified = classes as often as they are true
Accuracy against always "b": p = 1.2e-10 (McNemar)

Class  support  predicted  precision  recall     F1  specificity    MCC
a           27         27      0.889   0.889  0.889        0.959  0.848
b           37         37      0.811   0.811  0.811        0.889  0.700
c           36         36      0.861   0.861  0.861        0.922  0.783

Confusion matrix: rows true, columns predicted
true\\predicted   a    b    c | total
a              [24]  (2)   1 |    27
b                3  [30]  (4)|    37
c                .   (5) [31]|    36
total           27   37   36 |   100
[ ] correct, ( ) largest error of the row"""


ABC = ["a", "b", "c"]


def snap(matrix, labels=None, **options):
    """Return a snapshot of a matrix."""
    return Snapshot(sm.ConfusionMatrix.from_matrix(matrix, labels), **options)


def many(count, seed=0):
    """Return a snapshot of `count` classes with errors all over."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, count, 60 * count)
    predicted = np.where(rng.random(len(truth)) < 0.8, truth, rng.integers(0, count, len(truth)))
    state = sm.ConfusionMatrix(labels=[f"class_{k:03d}" for k in range(count)])
    state.update_many([f"class_{k:03d}" for k in truth], [f"class_{k:03d}" for k in predicted])
    return state.snapshot()


def widest(text):
    """Return the width of the longest line."""
    return max(map(display_width, text.split("\n")))


def test_the_report_at_80_columns():
    """Scores beside baselines, classes, matrix with marks: the whole report of a published example."""
    assert report(snap(BLEIK_GAUHER, ABC), 80) == AT_80


def test_the_width_of_the_terminal_is_used(monkeypatch):
    """Without a width, the report is as wide as the terminal."""
    monkeypatch.setenv("COLUMNS", "80")

    assert str(snap(BLEIK_GAUHER, ABC)) == snap(BLEIK_GAUHER, ["a", "b", "c"]).report() == AT_80


@pytest.mark.parametrize("width", [1, 40, 60, 80, 100, 140, 200])
@pytest.mark.parametrize("classes", [2, 10, 60, 200])
def test_no_line_is_wider_than_asked(width, classes):
    """Every line fits, from 40 columns on."""
    assert widest(many(classes).report(width)) <= max(width, 40)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=6, unique=True), st.integers(40, 150), st.integers(0, 10**9))
def test_no_label_breaks_the_tables(labels, width, scale):
    """Whatever is in a label, lines fit and their number does not depend on it."""
    matrix = scale * (np.arange(len(labels) ** 2).reshape(len(labels), -1) % 7)
    text = report(snap(matrix, labels), width)

    assert widest(text) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", text)
    assert text.splitlines() == text.split("\n")


def test_wide_characters_keep_the_columns_aligned():
    """A Chinese or Japanese name takes two columns a character, so figures stay below each other."""
    lines = report(snap(BLEIK_GAUHER, ("日本語", "b", "cafe\u0301")), 80).split("\n")
    at = next(index for index, line in enumerate(lines) if line.startswith("Class"))
    ends = {display_width(line) for line in lines[at : at + 4]}

    assert len(ends) == 1


def test_a_model_that_does_not_beat_a_baseline_is_marked():
    """A score that is not above every baseline is marked once, and a note says what the mark means."""
    text = report(snap([[40, 0], [10, 0]], ("no", "yes")), 80)

    assert re.search(r"Accuracy +0\.8000! +0\.8000 +0\.5000 +0\.6800$", text, re.M)
    assert "! the model is not above every baseline" in text
    assert "!" not in AT_80


def test_undefined_values_are_marked():
    """A value that is 0/0 carries a star, and a note says so."""
    text = report(snap([[40, 0], [10, 0]], ("no", "yes")), 80)

    assert re.search(r"MCC \(Matthews\) +0\.0000\*", text)
    assert re.search(r"yes +10 +0 +0\.000\* +0\.000 ", text)
    assert "* undefined (0/0), replaced by zero_division" in text
    assert "nan*" in report(snap([[40, 0], [10, 0]], zero_division=math.nan), 80)
    assert "*" not in AT_80


def test_many_classes_show_the_worst_and_say_what_is_missing():
    """With 200 classes the report stays short, lists the lowest F1 first, and says how to get the rest."""
    taken = many(200)
    text = report(taken, 80)
    shown = re.findall(r"^(class_\d+) .*\d$", text.split("The 25 classes")[1].split("\n\n")[0], re.M)
    f1 = taken.per_class["f1"]

    assert [f1[label] for label in shown] == sorted(f1.values())[:25]
    assert "175 classes left out: JSON has all of them" in text
    assert "most frequent of" in text
    assert "The 200 x 200 matrix does not fit here: JSON has it" in text
    assert text.count("\n") < 80


def test_confusions_are_listed_by_frequency():
    """The most frequent confusion comes first, with its share of the true class."""
    matrix = np.eye(50, dtype=int) * 90
    matrix[3, 4], matrix[7, 1] = 10, 30
    text = report(snap(matrix), 80)

    assert re.search(r"All confusions\n.*\n7 +-> 1 +30 +25 %\n3 +-> 4 +10 +10 %\n", text)


def test_a_perfect_model_of_many_classes_has_no_confusions():
    """Where nothing is wrong, the report says so instead of an empty list."""
    assert "No confusions: every prediction is right." in report(snap(np.eye(50, dtype=int)), 80)


def test_above_4096_classes_the_report_points_to_the_cells():
    """Where no square matrix can be had, the report names the sparse one and stays quick."""
    state = sm.ConfusionMatrix()
    state.update_many(np.arange(5000), np.arange(5000) // 2 * 2)

    assert "matrix does not fit here: JSON has its cells" in report(state.snapshot(), 100)


def test_columns_that_do_not_fit_are_named():
    """At 40 columns the least important columns go, and a note names them."""
    text = report(snap(BLEIK_GAUHER, ABC), 40)

    assert "Left out at this width: specificity, MCC" in text
    assert "frequent" in text
    assert "stratified" not in text


def test_large_counts_become_percent_where_they_do_not_fit():
    """A matrix that is too wide in counts is shown in per cent of the rows, which is said."""
    text = report(snap(np.full((8, 8), 12_345_678) + np.eye(8, dtype=int)), 80)

    assert "percent of the row" in text
    assert "98 765 425" in text


def test_names_that_look_alike_when_shortened_are_numbered():
    """Two long names that differ only in the middle stay apart."""
    labels = ["x" * 40 + middle + "y" * 40 for middle in "abc"]
    text = report(snap(BLEIK_GAUHER, labels), 60)

    assert "#1" in text
    assert "#3" in text


def test_without_samples_the_report_is_short():
    """Zero samples give a report without tables, also where only abstentions were seen."""
    assert report(sm.ConfusionMatrix().snapshot(), 80) == "0 samples, 0 classes\n\nNothing counted yet. Classes: none"
    state = sm.ConfusionMatrix(labels=["a", "b"])
    state.update("a", None)

    assert "1 abstained" in report(state.snapshot(), 80)
    assert "Classes: a, b" in report(state.snapshot(), 80)


def test_weights_are_announced():
    """Where weights were given, the header says that figures are weighted, and cells have decimals."""
    state = sm.ConfusionMatrix()
    state.update("a", "a", 2.5)
    state.update("b", "a", 0.001)
    text = report(state.snapshot(), 80)

    assert "2 samples, 2 classes, weight 2.50 (figures are weighted)" in text
    assert "(<.01)" in text


def test_a_footnote_is_printed_only_for_marks_that_are_shown():
    """At 40 columns the table of classes has no undefined value left, and so no note on them; the scores have one."""
    taken = snap([[3, 0], [2, 0]], ["a", "b"]).with_intervals(0.9)

    assert report(taken, 140).count("\n* undefined (0/0)") == 2
    assert report(taken, 40).count("\n* undefined (0/0)") == 1
    assert "Left out at this width: support, predicted, precision" in " ".join(report(taken, 40).split())


def test_chosen_keys_are_what_the_report_shows():
    """A snapshot of chosen keys reports those, amounts without decimals."""
    text = report(snap(BLEIK_GAUHER, ABC, keys=["macro_precision", "cov_true_pred", "recall"]), 80)

    assert re.search(r"Macro precision +0\.8536 +0\.1233 +0\.3333 +0\.3333$", text, re.M)
    assert re.search(r"^Covariance.* 5 106$", text, re.M)
    assert re.search(r"Class +recall$", text, re.M)
    assert "F1" not in text


def test_a_rough_test_is_called_one():
    """Who asks for the binomial test reads that it is not valid, in text and HTML, and which one is."""
    caution = "nir_p_value is no valid test"
    asked = snap(BLEIK_GAUHER, ABC, keys=["nir_p_value", "accuracy"])

    assert caution in report(asked, 80)
    assert caution in asked._repr_html_()
    assert caution not in report(snap(BLEIK_GAUHER, ABC), 80)
    assert "majority_p_value tests the same question" in " ".join(report(asked, 80).split())


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize(("n", "classes"), [(1, 2), (3, 3), (29, 3), (30, 3), (40, 12), (400, 4)])
def test_a_row_has_fewer_than_three_marks(n, classes, width, intervals):
    """However few samples there are, no row of a table is full of marks."""
    rng = np.random.default_rng(n)
    truth = rng.integers(0, classes, n)
    predicted = np.where(rng.random(n) < 0.4, truth, 0)
    metrics = sm.MetricSet(labels=list(range(classes + 1)))
    metrics.update_many(truth, predicted)
    taken = metrics.snapshot().with_intervals() if intervals else metrics.snapshot()
    text = taken.report(width)

    assert all(len(re.findall(r"\d[*!]|nan\*|\]\?", line)) < 3 for line in text.split("\n"))
    assert ("most frequent" in text) == (n >= 30)
    assert ("McNemar" in text) == (n >= 30)
    assert max(map(display_width, text.split("\n"))) <= width


def test_a_row_without_values_has_hyphens():
    """A class that never occurs has nothing to show, and the report says what the hyphens mean."""
    text = report(snap([[30, 2, 0], [1, 30, 0], [0, 0, 0]], ABC), 80)

    assert re.search(r"^c +0 +0 +- +- +- +1\.000 +-$", text, re.M)
    assert "- undefined (0/0)" in text
    assert "*" not in text


def test_intervals_that_are_not_to_be_trusted_are_left_out_of_crowded_rows():
    """Where a row would have three intervals in doubt, they are left out with the reason."""
    groups = sm.evaluate([0, 1] * 20, [0, 1, 1, 1] * 10, group=["x"] * 36 + ["y"] * 4).with_intervals()
    lines = groups.report(140).split("\n")
    small = next(line for line in lines if line.startswith("y "))

    assert "?" not in small
    assert any("Intervals that are not to be trusted are left out: " in line for line in lines)


def test_certified_bounds_and_confidence_have_headings_of_their_own():
    """Bounds of the sketch are called certified, intervals of the population by their level, never both just low."""
    truth, scores = [0, 1] * 2000, np.random.default_rng(0).random(4000)
    taken = sm.evaluate(truth, scores=scores)
    plain, confident = report(taken, 80), report(taken.with_intervals(), 80)

    assert "certified low  certified high" in plain
    assert "95 %" not in plain
    assert "certified" not in confident.lower()
    assert re.search(r"^Scores +value +95 % interval$", confident, re.M)
    for text in (plain, confident):
        assert not re.search(r"^Scores.* {2}(low|high)\b", text, re.M)
