"""The text report: correct at every width, it names what it leaves out, and any label is safe."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.values import html, snapshot
from support.widths import columns, widest

import stream_metrics as sm

BLEIK_GAUHER = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
ABC = ["a", "b", "c"]
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


def report(matrix: Any, labels: Any = None, width: int = 80, **options: Any) -> str:
    """Return the report of a matrix."""
    return snapshot(matrix, labels, **options).report(width)


def many(count: int) -> sm.Snapshot:
    """Return a snapshot of `count` classes with errors all over."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, count, 60 * count)
    predicted = np.where(rng.random(len(truth)) < 0.8, truth, rng.integers(0, count, len(truth)))
    names = np.array([f"class_{k:03d}" for k in range(count)])
    state = sm.ConfusionMatrix(labels=names.tolist())
    state.update_many(names[truth].tolist(), names[predicted].tolist())
    return state.snapshot()


@pytest.mark.quick
def test_the_report_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole report of a published example; without a width it is as wide as the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    taken = snapshot(BLEIK_GAUHER, ABC)

    assert taken.report(80) == str(taken) == taken.report() == AT_80
    monkeypatch.setenv("COLUMNS", "300")
    long = taken.with_warning("and so on " * 30)
    assert str(long) == long.report(140) != long.report(141)


def test_no_line_is_wider_than_asked() -> None:
    """Every line fits, from 40 columns on, for any number of classes."""
    for classes in (2, 10, 60, 200):
        taken = many(classes)
        for width in (1, 40, 60, 80, 100, 140, 200):
            assert widest(taken.report(width)) <= max(width, 40), (classes, width)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6, unique=True), st.integers(40, 150), st.integers(0, 10**9))
def test_no_label_breaks_the_tables(labels: list[str], width: int, scale: int) -> None:
    """Whatever is in a label, lines fit and their number does not depend on it."""
    text = report(scale * (np.arange(len(labels) ** 2).reshape(len(labels), -1) % 7), labels, width)

    assert widest(text) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", text)
    assert text.splitlines() == text.split("\n")


@pytest.mark.quick
def test_labels_are_visible_and_aligned() -> None:
    """Control characters are escaped, blanks at the ends quoted; wide characters take two columns."""
    names = {
        "plain": "plain", "a\tb\nc\x1b[31m": "a\\tb\\nc\\x1b[31m", "\u202eabc": "\\u202eabc", "": "''", " a": "' a'",
        "日本 語": "日本 語", "cafe\u0301": "cafe\u0301", "\ud800": "\\ud800",
    }  # fmt: skip
    lines = report(20 * np.eye(8, dtype=int) + 1, list(names), 120).split("\n")
    at = next(index for index, line in enumerate(lines) if line.startswith("Class"))

    for line, name in zip(lines[at + 1 : at + 9], names.values(), strict=True):
        assert line.startswith(f"{name} ")
    assert len({columns(line) for line in lines[at : at + 9]}) == 1


@pytest.mark.quick
def test_long_names_are_shortened_in_the_middle() -> None:
    """Both ends survive, no character is cut in two, and names that become equal are numbered."""
    for part, middles in (("x", "abc"), ("日", "本語人"), ("e\u0301", "aou")):
        labels = [f"A{part * 40}{middle}{part * 40}Z" for middle in middles]
        shown = re.findall(r"^(A\S+…\S+?)(#\d)", report(BLEIK_GAUHER, labels, 60), re.M)
        assert [number for _, number in shown[:3]] == ["#1", "#2", "#3"]
        assert all(re.fullmatch(f"A({part})*…({part})*Z?", name) for name, _ in shown), shown
    texts = [report([[5, 1], [1, 5]], ["abcdefghij" * 8, "b"], width) for width in range(40, 50)]
    halves = [re.findall(r"^(abcde\w*)…(\w*ghij) ", text, re.M)[0] for text in texts]
    assert {len(head) - len(tail) for head, tail in halves} == {0, 1}


@pytest.mark.quick
def test_only_exact_values_look_exact() -> None:
    """A score is 0, 1 or -1 in print only if it is, and a share 0 or 100 %; all others show on which side they are."""
    for matrix, recall, mcc in (
        ([[99996, 4], [4, 99996]], ">.999", ">.999"),
        ([[4, 99996], [99996, 4]], "<.001", "<-.999"),
        ([[0, 9], [9, 0]], "0.000", "-1.000"),
        ([[9, 0], [0, 9]], "1.000", "1.000"),
        ([[99996, 100004], [100000, 100000]], "0.500", ">-.001"),
        ([[100004, 99996], [100000, 100000]], "0.500", "<.001"),
        ([[3, 5], [5, 3]], "0.375", "-0.250"),
    ):
        (line,) = re.findall(r"^0 +\d.*", report(matrix, width=140).split("\n\n")[2], re.M)
        assert (line.split()[-4], line.split()[-1]) == (recall, mcc), line
    shares = np.eye(50, dtype=int) * 3000
    shares[3, 4:6], shares[7, 1], shares[8, :9], shares[9, 2] = (1, 0), 3000, [2999] + [0] * 7 + [1], 1
    shares[9, 9] = 3
    text = report(shares)
    for place, share in (("7 +-> 1", "50"), ("8 +-> 0", ">99"), ("3 +-> 4", "<1"), ("9 +-> 2", "25")):
        assert re.search(rf"^{place} .* {share} %$", text, re.M), place


@pytest.mark.quick
def test_intervals_in_the_report_hold_those_that_were_computed() -> None:
    """For values of both signs, and no bound is written as minus zero."""
    rng = np.random.default_rng(0)
    titles = {"Accuracy": "accuracy", r"MCC \(Matthews\)": "matthews_corrcoef", "Cohen's kappa": "cohen_kappa"}
    for _ in range(60):
        taken = snapshot(rng.integers(5, 10.0 ** rng.uniform(1.5, 5), (2, 2)))
        text = taken.with_intervals().report(120)
        for title, key in titles.items():
            (ends,) = re.findall(rf"^{title} +\S+ +\[(\S+), (\S+)\]", text, re.M)
            interval: Any = taken.interval(key)
            assert Decimal(ends[0]) <= Decimal(interval.low) < Decimal(interval.high) <= Decimal(ends[1])
            assert not any(re.fullmatch(r"-0\.0+", end) for end in ends)


@pytest.mark.quick
def test_marks_and_their_notes() -> None:
    """What is not above every baseline, what is 0/0, and classes without samples are marked, with a note for each."""
    text = report([[40, 0], [10, 0]], ("no", "yes"))
    rare = report([[30, 2, 0], [1, 30, 0], [0, 0, 0]], ABC)
    few = snapshot([[3, 0], [2, 0]], ["a", "b"]).with_intervals(0.9)

    assert re.search(r"Accuracy +0\.8000! +0\.8000 +0\.5000 +0\.6800$", text, re.M)
    assert "! the model is not above every baseline" in text
    assert re.search(r"MCC \(Matthews\) +0\.0000\*", text)
    assert re.search(r"yes +10 +0 +0\.000\* +0\.000 ", text)
    assert "* undefined (0/0), replaced by zero_division" in text
    assert "nan*" in report([[40, 0], [10, 0]], zero_division=math.nan)
    assert re.search(r"^c +0 +0 +- +- +- +1\.000 +-$", rare, re.M)
    assert "- undefined (0/0)" in rare
    assert "*" not in rare
    assert few.report(140).count("\n* undefined (0/0)") == 2
    assert few.report(40).count("\n* undefined (0/0)") == 1
    assert "Left out at this width: support, predicted, precision" in " ".join(few.report(40).split())


def test_a_row_has_fewer_than_three_marks() -> None:
    """However few samples there are, no row of a table is full of marks; baselines come with 30 samples."""
    for n, classes in ((1, 2), (3, 3), (29, 3), (30, 3), (40, 12), (400, 4)):
        rng = np.random.default_rng(n)
        truth = rng.integers(0, classes, n)
        metrics = sm.MetricSet(labels=list(range(classes + 1)))
        metrics.update_many(truth, np.where(rng.random(n) < 0.4, truth, 0))
        for taken in (metrics.snapshot(), metrics.snapshot().with_intervals()):
            for width in (60, 80, 140):
                text = taken.report(width)
                assert all(len(re.findall(r"\d[*!]|nan\*|\]\?", line)) < 3 for line in text.split("\n"))
                assert ("most frequent" in text) == ("McNemar" in text) == (n >= 30), (n, width)
                assert widest(text) <= width


def test_many_classes_show_the_worst_and_say_what_is_missing() -> None:
    """With 200 classes the report stays short, lists the lowest F1 first, and says how to get the rest."""
    taken, state = many(200), sm.ConfusionMatrix()
    text, f1 = taken.report(80), taken.per_class["f1"]
    shown = re.findall(r"^(class_\d+) .*\d$", text.split("The 25 classes")[1].split("\n\n")[0], re.M)
    state.update_many(np.arange(5000), np.arange(5000) // 2 * 2)

    assert [f1[label] for label in shown] == sorted(f1.values())[:25]
    assert "175 classes left out: JSON has all of them" in text
    assert "most frequent of" in text
    assert "The 200 x 200 matrix does not fit here: JSON has it" in text
    assert text.count("\n") < 80
    assert "matrix does not fit here: JSON has its cells" in state.snapshot().report(100)
    assert "No confusions: every prediction is right." in report(np.eye(50, dtype=int))


@pytest.mark.quick
def test_confusions_are_listed_by_frequency() -> None:
    """The most frequent confusion comes first, with its share of the true class."""
    matrix = np.eye(50, dtype=int) * 90
    matrix[3, 4], matrix[7, 1] = 10, 30

    assert re.search(r"All confusions\n.*\n7 +-> 1 +30 +25 %\n3 +-> 4 +10 +10 %\n", report(matrix))


@pytest.mark.quick
def test_what_does_not_fit_is_named() -> None:
    """At 40 columns the least important columns go; a matrix too wide in counts is shown in per cent of the rows."""
    narrow = report(BLEIK_GAUHER, ABC, 40)
    large = report(np.full((8, 8), 12_345_678) + np.eye(8, dtype=int))

    assert "Left out at this width: specificity, MCC" in narrow
    assert "frequent" in narrow
    assert "stratified" not in narrow
    assert "percent of the row" in large
    assert "98 765 425" in large


@pytest.mark.quick
def test_amounts() -> None:
    """Without samples there are no tables; thousands are grouped; one weight with a fraction gives all decimals."""
    absent, weighted = sm.ConfusionMatrix(labels=["a", "b"]), sm.ConfusionMatrix()
    absent.update("a", None)
    weighted.update_many(["a", "b", "b"], ["a", "a", "b"], [2.0, 1e-9, 1234.5])
    twice = sm.evaluate([0, 1] * 20, [0, 1] * 20, w=[2] * 40).report(80)
    text = weighted.snapshot().report(80)

    assert sm.ConfusionMatrix().snapshot().report(80) == "0 samples, 0 classes\n\nNothing counted yet. Classes: none"
    assert 'against always "0": no p-value, which needs samples of weight 1' in twice
    assert "1 abstained" in absent.snapshot().report(80)
    assert "Classes: a, b" in absent.snapshot().report(80)
    assert "3 samples, 2 classes, weight 1 236.50 (figures are weighted)" in text
    assert re.search(r"^a +\[2\.00\] ", text, re.M)
    assert re.search(r"^b +\(<\.01\) +\[1 234\.50\]", text, re.M)
    assert report([[1234000, 567], [0, 0]]).startswith("1 234 567 samples")


@pytest.mark.quick
def test_chosen_keys_are_what_the_report_shows() -> None:
    """Those and no others, amounts without decimals; a rough test is called one, and the valid one is named."""
    text = report(BLEIK_GAUHER, ABC, keys=["macro_precision", "cov_true_pred", "recall"])
    asked, caution = snapshot(BLEIK_GAUHER, ABC, keys=["nir_p_value", "accuracy"]), "nir_p_value is no valid test"

    assert re.search(r"Macro precision +0\.8536 +0\.1233 +0\.3333 +0\.3333$", text, re.M)
    assert re.search(r"^Covariance.* 5 106$", text, re.M)
    assert re.search(r"Class +recall$", text, re.M)
    assert "F1" not in text
    assert caution in asked.report(80)
    assert caution in html(asked)
    assert "majority_p_value tests the same question" in " ".join(asked.report(80).split())


@pytest.mark.quick
def test_intervals_that_are_not_to_be_trusted_are_left_out_of_crowded_rows() -> None:
    """Where a row would have three intervals in doubt, they are left out with the reason."""
    groups = sm.evaluate([0, 1] * 20, [0, 1, 1, 1] * 10, group=["x"] * 36 + ["y"] * 4).with_intervals()
    lines = groups.report(140).split("\n")

    assert "?" not in next(line for line in lines if line.startswith("y "))
    assert any("Intervals that are not to be trusted are left out: " in line for line in lines)
