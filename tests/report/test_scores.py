"""The report of scores: values with certified bounds, for every combination of states."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.values import html
from support.widths import widest

import stream_metrics as sm

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
OF_A_SKETCH = """\
2 samples, 2 classes

Scores                        value
ROC AUC of "True"            1.0000
Average precision of "True"  1.0000
Calibration error of "True"  0.2500

Class  ROC AUC  avg. precision  calibr. error
True     1.000           1.000          0.250"""


def binary(**options: Any) -> sm.MetricSet:
    """Return a set that has seen four hand-made samples."""
    state = sm.MetricSet(**({"scores": True} | options))
    for truth, value in BINARY:
        state.update(truth, value)
    return state


def coarse() -> sm.Snapshot:
    """Return a snapshot of sketches that are too small for their scores, so that areas are not exact."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 900)
    logits = rng.normal(size=(900, 3)) + 1.5 * np.eye(3)[truth]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    state = sm.MetricSet(scores=True, buckets=16, sample=64)
    state.update_many(truth, scores=scores, classes=range(3))
    return state.snapshot()


def block(text: str) -> str:
    """Return the block of scores."""
    return next(part for part in text.split("\n\n") if part.startswith("Scores"))


def rows(text: str) -> dict[str, list[str]]:
    """Return the rows of the block of scores: title, then numbers."""
    lines = block(text).split("\n")[1:]
    split = [re.split(r" {2,}", line) for line in lines if not line.startswith(("Certified", "  "))]
    return {title: numbers for title, *numbers in split}


@pytest.mark.quick
def test_exact_values_stand_without_bounds() -> None:
    """Four samples: AUC 3/4, AP (1 + 2/3)/2, losses and errors by hand; chosen keys alone if some are chosen."""
    log_loss = -sum(math.log(p) for p in (0.9, 0.6, 0.3, 0.8)) / 4
    chosen = binary(metrics=["accuracy", "log_loss", "roc_auc_ovr", "roc_auc"], scores=False).snapshot().report(80)
    right, largest = [True, True, False, True], [0.9, 0.6, 0.7, 0.8]
    confidence = sm.RankSketch()
    confidence.update_many(right, largest)

    assert f"{log_loss:.4f}" == "0.5108"
    assert f"{(0.1**2 + 0.4**2 + 0.7**2 + 0.2**2) / 4:.4f}" == "0.1750"
    assert f"{(0.1 + 0.4 + 0.7 + 0.2) / 4:.3f}" == "0.350"  # each sample is a bin of its own
    assert BINARY_AT_80 in binary().snapshot().report(80)
    assert rows(chosen) == {"Log loss (cross-entropy)": ["0.5108"], "ROC AUC, mean over classes": ["0.7500"]}
    assert re.search(r"^Accuracy +0\.7500$", chosen, re.M)
    assert re.search(r"^Class +ROC AUC\nFalse\nTrue +0\.750$", chosen, re.M)
    alone = rows(sm.Snapshot(confidence=confidence).report(80))
    assert alone == {"Calibration error of the prediction": ["0.3500"]}
    assert binary().snapshot()["expected_calibration_error_top"] == pytest.approx(0.35)


@pytest.mark.quick
def test_bounds_contain_the_value_and_are_told_apart() -> None:
    """Certified bounds are rounded outwards, around the value, and differ; HTML has the same; exact rows have none."""
    taken = coarse()
    text, estimate = taken.report(80), taken.estimate("roc_auc_ovo")
    value, low, high = map(float, rows(text)["ROC AUC, Hand and Till's M"])
    table = ElementTree.fromstring(html(taken)).findall("table")[1]
    cells = {row.find("th").text: [cell.text or "" for cell in row.findall("td")] for row in table.find("tbody")}

    assert low <= estimate.low < estimate.high <= high
    assert low < value < high
    assert high - low < 1.3 * (estimate.high - estimate.low)
    assert len(rows(text)["Brier score"]) == 1
    assert "certified low  certified high" in text
    assert "Certified: the full list of scores gives" in text
    assert {title: [x.strip("\u2007") for x in texts if x.strip("\u2007")] for title, texts in cells.items()} == rows(
        text
    )
    assert [cell.text for cell in table.find("thead")[0]] == ["Scores", "value", "certified low", "certified high"]


@pytest.mark.quick
def test_bounds_and_confidence_have_headings_of_their_own() -> None:
    """Bounds of the sketch are called certified, intervals of the population by their level, never both just low."""
    taken = sm.evaluate([0, 1] * 2000, scores=np.random.default_rng(0).random(4000))
    plain, confident = taken.report(80), taken.with_intervals().report(80)

    assert "certified low  certified high" in plain
    assert "95 %" not in plain
    assert "certified" not in confident.lower()
    assert re.search(r"^Scores +value +95 % interval$", confident, re.M)
    for text in (plain, confident):
        assert not re.search(r"^Scores.* {2}(low|high)\b", text, re.M)


@pytest.mark.quick
def test_no_line_is_wider_than_asked() -> None:
    """Scores fit every width; bounds go together, per-class values of scores before those of labels; notes say so."""
    taken = coarse()
    for width in (40, 50, 60, 70, 80, 120):
        text = taken.report(width)
        head = block(text).split("\n")[0]
        headings = next(line for line in text.split("\n") if line.startswith("Class")).split()
        shown = [f"{word} {end}" in head for end in ("low", "high") for word in ("certified", "cert.")]
        note = "Left out at this width: certified low, certified high" in " ".join(block(text).split())
        assert widest(text) <= width
        assert shown[:2] == shown[2:]
        assert note == (not any(shown)), width
        assert ("ECE" in headings) <= ("AP" in headings) <= ("AUC" in headings) <= ("MCC" in headings)
    narrow = " ".join(taken.report(40).split())
    assert "Left out at this width: certified low, certified high" in narrow
    assert "ROC AUC, avg. precision, calibr. error" in narrow


@given(st.lists(st.text(max_size=30), min_size=2, max_size=4, unique=True), st.integers(40, 120), st.booleans())
def test_no_label_breaks_the_block_of_scores(labels: list[str], width: int, asked: bool) -> None:
    """Whatever is in a label, lines fit, and nothing in it is a control character or markup."""
    state = sm.MetricSet(scores=True, pos_label=labels[0] if asked else True)
    for label in labels:
        state.update(label, dict.fromkeys(labels, 0.25) | {label: 0.5})
    text = state.snapshot().report(width)

    assert widest(text) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", text)
    ElementTree.fromstring(html(state.snapshot()))


@pytest.mark.quick
def test_what_is_missing_is_said() -> None:
    """Samples without scores are counted apart; areas of one class are 0/0; margins have no calibration."""
    some, none, one = binary(), sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    margins = sm.MetricSet(scores="any", threshold=0.0)
    some.update(True, False)
    none.update("a", "b")
    one.update("cat", {"cat": 0.6, "dog": 0.4})
    margins.update_many([True, True, False], scores=[2.0, -1.0, -3.0])
    texts = [state.snapshot().report(80) for state in (some, none, one, margins)]
    areas = [('ROC AUC of "True"', ["1.0000"]), ('Average precision of "True"', ["1.0000"])]
    outside = "Calibration errors left out: a score lies outside [0, 1]"

    assert texts[0].startswith("5 samples, 2 classes, 4 with scores\n")
    assert "\nScores of 4 samples " in texts[0]
    assert "0 with scores" in texts[1]
    assert "No sample came with scores yet." in texts[1]
    assert "No sample came with scores yet." in html(none.snapshot())
    assert "nan" not in texts[1]
    assert "ROC" not in texts[1]
    assert rows(texts[2])["ROC AUC, mean over classes"] == ["nan*"]
    assert re.search(r"^cat .* - +1\.000 +0\.400$", texts[2], re.M)
    assert "* undefined (0/0), replaced by zero_division" in texts[2]
    assert "- undefined (0/0)" in texts[2]
    assert list(rows(texts[3]).items())[:2] == areas
    assert outside in texts[3]
    assert outside in html(margins.snapshot())
    assert "ECE" not in texts[3]


@pytest.mark.quick
def test_scores_without_labels_have_a_report() -> None:
    """States of scores alone report, in text and HTML, empty or not, without a matrix."""
    kinds: tuple[Any, ...] = (sm.RankSketch, sm.ROCAUC, sm.ProbabilityLosses, sm.LogLoss, sm.HandTillAUC)
    for make in kinds:
        empty, state = make().snapshot(), make()
        state.update(True, 0.8)
        state.update(False, 0.3)
        text, tree = state.snapshot().report(80), ElementTree.fromstring(html(state.snapshot()))
        assert "Nothing scored yet." in empty.report(80)
        assert "Nothing scored yet." in html(empty)
        assert text.startswith("2 samples")
        assert "Confusion" not in text
        assert len(tree.findall("table")) == text.count("\n\n")
        assert make is not sm.RankSketch or text == OF_A_SKETCH


@pytest.mark.quick
def test_many_classes_of_scores_alone() -> None:
    """Of many classes without a matrix the ones with the lowest area are listed, worst first."""
    state = sm.RankSketch(pairs=False)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 70, 700)
    state.update_many(truth, rng.random((700, 70)) + 0.02 * truth[:, None] * np.eye(70)[truth], classes=range(70))
    text, areas = state.snapshot().report(80), state.snapshot().per_class["roc_auc"]
    shown = [int(label) for label in re.findall(r"^(\d+)(?: +[\w.<>*]+){3}$", text, re.M)]

    assert "The 25 classes with the lowest ROC AUC, of 70" in text
    assert shown == sorted(areas, key=areas.__getitem__)[:25]
    assert "Hand and Till" not in text
