"""The report of scores: values with certified bounds, for every combination of states."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stream_metrics as sm
from stream_metrics.report.html import html
from stream_metrics.report.intervals import bounds
from stream_metrics.report.layout import display_width
from stream_metrics.report.score_section import emphasized
from stream_metrics.report.text import report
from stream_metrics.snapshots.snapshot import Estimate, Snapshot

BINARY = [(True, 0.9), (True, 0.6), (False, 0.7), (False, 0.2)]
BINARY_AT_80 = """\
Scores                                value
ROC AUC of "True"                    0.7500
Average precision of "True"          0.8333
Log loss (cross-entropy)             0.5108
Brier score                          0.1750
Calibration error of the prediction  0.3500

Class  true  pred   prec  recall     F1   spec    MCC    AUC     AP    ECE
False     2     1  1.000   0.500  0.667  1.000  0.577
True      2     3  0.667   1.000  0.800  0.500  0.577  0.750  0.833  0.350
"""


def binary(**options):
    """Return a set that has seen four hand-made samples."""
    state = sm.MetricSet(**({"scores": True} | options))
    for truth, value in BINARY:
        state.update(truth, value)
    return state


def coarse(classes=3, buckets=16):
    """Return a set whose sketches are too small for their scores, so that areas are not exact."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, classes, 900)
    logits = rng.normal(size=(900, classes)) + 1.5 * np.eye(classes)[truth]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    state = sm.MetricSet(scores=True, buckets=buckets, sample=64)
    state.update_many(truth, scores=scores, classes=range(classes))
    return state


def filled(state):
    """Return the state after one sample of each of two classes."""
    state.update(True, 0.8)
    state.update(False, 0.3)
    return state


def rows(text):
    """Return the rows of the block of scores: title, then numbers."""
    block = next(part for part in text.split("\n\n") if part.startswith("Scores"))
    split = [re.split(r" {2,}", line) for line in block.split("\n")[1:] if not line.startswith(("Certified", "  "))]
    return {title: numbers for title, *numbers in split}


def test_exact_values_stand_without_bounds():
    """Four samples: AUC 3/4, AP (1 + 2/3)/2, losses and errors by hand, and no columns for bounds."""
    text = report(binary().snapshot(), 80)
    log_loss = -sum(math.log(p) for p in (0.9, 0.6, 0.3, 0.8)) / 4

    assert f"{log_loss:.4f}" == "0.5108"
    assert f"{(0.1**2 + 0.4**2 + 0.7**2 + 0.2**2) / 4:.4f}" == "0.1750"
    assert f"{(0.1 + 0.4 + 0.7 + 0.2) / 4:.3f}" == "0.350"  # each sample is a bin of its own
    assert BINARY_AT_80 in text


def test_bounds_contain_the_value_and_are_told_apart():
    """Certified bounds are rounded outwards, around the value, and differ; exact rows have none."""
    taken = coarse().snapshot()
    found = rows(report(taken, 80))
    estimate = taken.estimate("roc_auc_ovo")
    value, low, high = map(float, found["ROC AUC, Hand and Till's M"])

    assert low <= estimate.low < estimate.high <= high
    assert low < value < high
    assert high - low < 1.3 * (estimate.high - estimate.low)
    assert len(found["Brier score"]) == 1
    assert "certified low  certified high" in report(taken, 80)
    assert "Certified: the full list of scores gives" in report(taken, 80)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.integers(0, 8))
def test_bounds_are_rounded_outwards(a, b, digits):
    """For any numbers, the text of a bound never lies inside the interval."""
    low, high = sorted([a, b])
    texts = bounds(low, high, digits)

    assert Decimal(texts[0]) <= Decimal(low)
    assert Decimal(texts[1]) >= Decimal(high)
    assert "-0" not in {text.rstrip("0.") for text in texts}


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (0.75, 0.75, 0.75, "0.7500"),
        (0.93659, 0.93657, 0.93661, "0.9366"),
        (0.95334, 0.95324, 0.95344, "0.953"),
        (0.92759, 0.92739, 0.92780, "0.9276 [0.9273, 0.9278]"),
        (0.43, 0.4146, 0.4462, "0.43 [0.41, 0.45]"),
        (0.99999, 0.99998, 0.99999, ">.9999"),
        (math.nan, math.nan, math.nan, "undefined"),
    ],
)
def test_a_value_has_the_decimals_it_deserves(value, low, high, text):
    """Decimals that both bounds share; fewer than three, and the bounds stand beside it."""
    assert emphasized(Estimate(value, low, high, 0.0, "certified")) == text


@pytest.mark.parametrize("width", [40, 50, 60, 70, 80, 120])
def test_no_line_is_wider_than_asked(width):
    """Scores fit every width; bounds go together, and per-class values of scores before those of labels."""
    text = report(coarse().snapshot(), width)
    block = next(part for part in text.split("\n\n") if part.startswith("Scores"))
    headings = next(line for line in text.split("\n") if line.startswith("Class")).split()

    assert max(map(display_width, text.split("\n"))) <= width
    shown = [f"{word} {end}" in block.split("\n")[0] for end in ("low", "high") for word in ("certified", "cert.")]
    assert shown[:2] == shown[2:]
    assert ("Left out at this width: certified low, certified high" in " ".join(block.split())) == (not any(shown))
    assert ("ECE" in headings) <= ("AP" in headings) <= ("AUC" in headings) <= ("MCC" in headings)


@given(st.lists(st.text(max_size=30), min_size=2, max_size=4, unique=True), st.integers(40, 120), st.booleans())
def test_no_label_breaks_the_block_of_scores(labels, width, asked):
    """Whatever is in a label, lines fit, and nothing in it is a control character or markup."""
    state = sm.MetricSet(scores=True, pos_label=labels[0] if asked else True)
    for label in labels:
        state.update(label, dict.fromkeys(labels, 0.25) | {label: 0.5})
    text = report(state.snapshot(), width)

    assert max(map(display_width, text.split("\n"))) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", text)
    ElementTree.fromstring(html(state.snapshot()))


def test_narrow_reports_name_what_is_left_out():
    """At 40 columns neither bounds nor per-class areas fit, and the notes say so."""
    text = " ".join(report(coarse().snapshot(), 40).split())

    assert "Left out at this width: certified low, certified high" in text
    assert "ROC AUC, avg. precision, calibr. error" in text


def test_samples_without_scores_are_counted_apart():
    """Where only some samples have scores, the heading and the first line say how many."""
    state = binary()
    state.update(True, False)
    text = report(state.snapshot(), 80)

    assert text.startswith("5 samples, 2 classes, 4 with scores\n")
    assert "\nScores of 4 samples " in text


def test_labels_alone_give_no_values_of_scores():
    """A set that keeps scores, but was given labels only, says that there are none yet."""
    state = sm.MetricSet(scores=True)
    state.update("a", "b")
    text = report(state.snapshot(), 80)

    assert "0 with scores" in text
    assert "No sample came with scores yet." in text
    assert "No sample came with scores yet." in html(state.snapshot())
    assert "nan" not in text
    assert "ROC" not in text


def test_undefined_values_are_marked():
    """With one class only, areas are 0/0: nan with a star, and a note."""
    state = sm.MetricSet(scores=True)
    state.update("cat", {"cat": 0.6, "dog": 0.4})
    text = report(state.snapshot(), 80)

    assert rows(text)["ROC AUC, mean over classes"] == ["nan*"]
    assert re.search(r"^cat .* - +1\.000 +0\.400$", text, re.M)
    assert "* undefined (0/0), replaced by zero_division" in text
    assert "- undefined (0/0)" in text


def test_scores_that_are_no_probabilities_have_no_calibration():
    """With a score outside [0, 1] calibration errors are left out, which is said; areas stay."""
    state = sm.MetricSet(scores="any", threshold=0.0)
    state.update_many([True, True, False], scores=[2.0, -1.0, -3.0])
    text = report(state.snapshot(), 80)

    assert list(rows(text).items())[:2] == [
        ('ROC AUC of "True"', ["1.0000"]),
        ('Average precision of "True"', ["1.0000"]),
    ]
    assert "Calibration errors left out: a score lies outside [0, 1]" in text
    assert "Calibration errors left out: a score lies outside [0, 1]" in html(state.snapshot())
    assert "ECE" not in text


@pytest.mark.parametrize("make", [sm.RankSketch, sm.ROCAUC, sm.ProbabilityLosses, sm.LogLoss, sm.HandTillAUC])
def test_scores_without_labels_have_a_report(make):
    """States of scores alone report, in text and HTML, empty or not, without a matrix."""
    empty, taken = make().snapshot(), filled(make()).snapshot()
    tree = ElementTree.fromstring(html(taken))

    assert "Nothing scored yet." in report(empty, 80)
    assert "Nothing scored yet." in html(empty)
    assert report(taken, 80).startswith("2 samples")
    assert "Confusion" not in report(taken, 80)
    assert len(tree.findall("table")) == report(taken, 80).count("\n\n")


def test_the_report_of_a_rank_sketch():
    """Areas and calibration of the one class that a stream of single numbers asks about."""
    expected = """\
2 samples, 2 classes

Scores                        value
ROC AUC of "True"            1.0000
Average precision of "True"  1.0000
Calibration error of "True"  0.2500

Class  ROC AUC  avg. precision  calibr. error
True     1.000           1.000          0.250"""

    assert report(filled(sm.RankSketch()).snapshot(), 80) == expected


def test_many_classes_of_scores_alone():
    """Of many classes without a matrix the ones with the lowest area are listed, worst first."""
    state = sm.RankSketch(pairs=False)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 70, 700)
    state.update_many(truth, rng.random((700, 70)) + 0.02 * truth[:, None] * np.eye(70)[truth], classes=range(70))
    taken = state.snapshot()
    text = report(taken, 80)
    shown = [int(label) for label in re.findall(r"^(\d+)(?: +[\w.<>*]+){3}$", text, re.M)]
    areas = taken.per_class["roc_auc"]

    assert "The 25 classes with the lowest ROC AUC, of 70" in text
    assert shown == sorted(areas, key=areas.__getitem__)[:25]
    assert "Hand and Till" not in text


def test_chosen_keys_are_what_the_report_shows():
    """Keys of labels stand beside baselines, whole keys of scores in their own block, per-class ones by class."""
    text = report(binary(metrics=["accuracy", "log_loss", "roc_auc_ovr", "roc_auc"], scores=False).snapshot(), 80)

    assert rows(text) == {"Log loss (cross-entropy)": ["0.5108"], "ROC AUC, mean over classes": ["0.7500"]}
    assert re.search(r"^Accuracy +0\.7500$", text, re.M)
    assert re.search(r"^Class +ROC AUC\nFalse\nTrue +0\.750$", text, re.M)


def test_html_holds_the_same_numbers():
    """The notebook report has the values and bounds of the text report."""
    taken = coarse().snapshot()
    table = ElementTree.fromstring(html(taken)).findall("table")[1]
    cells = {row.find("th").text: [cell.text or "" for cell in row.findall("td")] for row in table.find("tbody")}
    plain = {title: [text.strip("\u2007") for text in texts if text.strip("\u2007")] for title, texts in cells.items()}

    assert plain == rows(report(taken, 80))
    assert [cell.text for cell in table.find("thead")[0]] == ["Scores", "value", "certified low", "certified high"]


def test_confidence_alone_has_a_report():
    """A snapshot of the largest scores alone shows how well they are calibrated."""
    whole = binary().snapshot()
    taken = Snapshot(confidence=binary().scored.confidence)

    assert rows(report(taken, 80)) == {"Calibration error of the prediction": ["0.3500"]}
    assert whole["expected_calibration_error_top"] == pytest.approx(0.35)
