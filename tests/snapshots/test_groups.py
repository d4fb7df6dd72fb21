"""Snapshots of groups: worst groups, gaps, data and the text report."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.snapshots.groups import Gap


def groups(**more: Any) -> sm.ByGroup:
    """Return three groups: `good` all right, `half` half right, `bad` all wrong; and one without a prediction."""
    made = sm.ByGroup(sm.MetricSet(), **more)
    for group, predictions in (("good", "aabb"), ("half", "abab"), ("bad", "bbaa")):
        for y_true, y_pred in zip("aabb", predictions, strict=True):
            made.update(y_true, y_pred, group=group)
    made.update("a", None, group="none")
    return made


def test_worst_groups_come_first() -> None:
    """By the better direction of the metric: low accuracy is worse, high loss is worse; groups of 0/0 are left out."""
    snapshot = groups().snapshot()

    assert snapshot.worst("accuracy") == [("bad", 0.0), ("half", 0.5), ("good", 1.0)]
    assert snapshot.worst("zero_one_loss", 2) == [("bad", 1.0), ("half", 0.5)]
    assert snapshot.worst("recall", 1, label="a") == [("bad", 0.0)]
    assert snapshot.worst("accuracy", least=5) == []
    assert snapshot.worst("recall", label="never seen") == []


def test_the_largest_gap_has_two_ends() -> None:
    """max - min over groups, and which groups these are."""
    snapshot = groups().snapshot()

    assert snapshot.max_gap("accuracy") == 1.0
    assert snapshot.gap("accuracy") == Gap(1.0, "bad", "good")
    assert snapshot.gap("precision", label="a") == Gap(1.0, "bad", "good")
    assert snapshot.values_of("accuracy") == {"bad": 0.0, "good": 1.0, "half": 0.5}
    assert math.isnan(sm.ByGroup(sm.MetricSet()).snapshot().max_gap("accuracy"))


def test_scores_compare_by_the_class_asked_for() -> None:
    """A per-class value of scores is that of `pos_label` unless another is named."""
    made = sm.ByGroup(sm.MetricSet(scores=True))
    for group, scores in (("up", (0.9, 0.1)), ("down", (0.1, 0.9))):
        made.update(True, scores[0], group=group)
        made.update(False, scores[1], group=group)
    snapshot = made.snapshot()

    assert snapshot.worst("roc_auc", 1) == [("down", 0.0)]
    assert snapshot.worst("log_loss", 1)[0][0] == "down"
    assert snapshot.max_gap("roc_auc", label=True) == 1.0


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda s: s.worst("support", label="a"), ValueError, "more, or less, is better"),
        (lambda s: s.worst("recall"), KeyError, "`label` to be the class"),
        (lambda s: s.gap("accuracy", label="a"), KeyError, "Expected no label"),
        (lambda s: s.gap("acuracy"), KeyError, "did you mean 'accuracy'"),
        (lambda s: s["nobody"], KeyError, "nobody"),
    ],
)
def test_questions_without_an_answer(ask: Any, error: type[Exception], message: str) -> None:
    """The error says what was expected."""
    with pytest.raises(error, match=message):
        ask(groups().snapshot())


def test_a_snapshot_does_not_move() -> None:
    """Later updates are in none of its parts."""
    made = groups()
    snapshot = made.snapshot()
    before = snapshot.to_json()
    made.update("a", "b", group="good")

    assert snapshot.to_json() == before
    assert made.snapshot().to_json() != before


def test_data_has_every_group_by_name() -> None:
    """JSON holds all groups, what is folded, and all samples; names of groups do not collide."""
    made = groups(max_groups=2)
    made.update("a", "a", group=1)
    made.update("a", "a", group="1")
    data = json.loads(made.snapshot().to_json())
    free = sm.ByGroup(sm.Accuracy())
    for key in (1, "1", ("x", 1)):
        free.update(1, 1, group=key)

    assert set(data) == {"overall", "groups", "other", "warnings"}
    assert len(data["groups"]) == 2
    assert data["overall"]["n"] == 14 == data["other"]["n"] + sum(view["n"] for view in data["groups"].values())
    assert list(json.loads(free.snapshot().to_json())["groups"]) == ["int(1)", "1", "('x', 1)"]


REPORT = """\
12 samples in 4 groups

Group  samples  Balanced accuracy  Accuracy  Macro F1  Matthews correlation
bad          4              0.000     0.000     0.000                -1.000
half         4              0.500     0.500     0.500                 0.000
good         4              1.000     1.000     1.000                 1.000
none         0                  -         -         -                     -
(all)       12              0.500     0.500     0.500                 0.000
Groups in order of balanced accuracy, worst first
-: 0/0, left out of comparisons

Largest difference      gap      lowest     highest
Balanced accuracy     1.000   bad 0.000  good 1.000
Accuracy              1.000   bad 0.000  good 1.000
Macro F1              1.000   bad 0.000  good 1.000
Matthews correlation  2.000  bad -1.000  good 1.000"""


def test_the_report_shows_worst_groups_and_gaps() -> None:
    """Sizes, groups from the worst, all together, and where they differ most."""
    assert groups().snapshot().report(80) == REPORT
    assert str(sm.ByGroup(sm.MetricSet()).snapshot()) == "0 samples in 0 groups"
    assert repr(groups().snapshot()) == "<GroupSnapshot n=12, groups=4>"


@pytest.mark.parametrize("width", [40, 57, 80, 200])
def test_the_report_fits_any_width(width: int) -> None:
    """Long and strange names of groups, many groups, folded ones: no line is wider than asked for."""
    made = sm.ByGroup(sm.MetricSet(scores=True), max_groups=30, other="everybody else")
    for i in range(200):
        made.update(i % 3 == 0, (i % 10) / 10, group=f"a customer with a long name, number {i % 50}\n" + "长" * (i % 4))
    lines = made.snapshot().report(width).splitlines()

    assert all(sm.report.layout.display_width(line) <= width for line in lines)
    assert any(line.startswith("(") and "everybody"[:3] in line for line in lines) or width < 60
    assert any("groups left out" in line for line in lines)
    assert "\n" not in "".join(lines)


def test_metrics_of_one_number_have_a_report_too() -> None:
    """Groups of single metrics show what their states can say."""
    for inner in (sm.Accuracy(), sm.CrossEntropy(), sm.ConfusionMatrix()):
        made = sm.ByGroup(inner)
        made.update(True, 0.7 if isinstance(inner, sm.CrossEntropy) else True, group="a")
        made.update(False, 0.6 if isinstance(inner, sm.CrossEntropy) else True, group="b")

        assert "Largest difference" in made.snapshot().report(80)
