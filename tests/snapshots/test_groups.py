"""Snapshots of groups: worst groups, gaps, data and the text report."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from support.refusals import all_refused
from support.widths import widest

import stream_metrics as sm

pytestmark = pytest.mark.quick


def groups(**more: Any) -> sm.ByGroup:
    """Return three groups: `good` all right, `half` half right, `bad` all wrong; and one without a prediction."""
    state = sm.ByGroup(sm.MetricSet(), **more)
    for group, predictions in (("good", "aabb"), ("half", "abab"), ("bad", "bbaa")):
        for y_true, y_pred in zip("aabb", predictions, strict=True):
            state.update(y_true, y_pred, group=group)
    state.update("a", None, group="none")
    return state


def test_worst_groups_and_gaps() -> None:
    """By the better direction of the metric; groups of 0/0 are left out; a gap has two ends."""
    taken = groups().snapshot()

    assert taken.worst("accuracy") == [("bad", 0.0), ("half", 0.5), ("good", 1.0)]
    assert taken.worst("zero_one_loss", 2) == [("bad", 1.0), ("half", 0.5)]
    assert taken.worst("recall", 1, label="a") == [("bad", 0.0)]
    assert taken.worst("accuracy", least=5) == taken.worst("recall", label="never seen") == []
    assert taken.max_gap("accuracy") == 1.0
    assert tuple(taken.gap("accuracy")) == tuple(taken.gap("precision", label="a")) == (1.0, "bad", "good")
    assert taken.values_of("accuracy") == {"bad": 0.0, "good": 1.0, "half": 0.5}
    assert math.isnan(sm.ByGroup(sm.MetricSet()).snapshot().max_gap("accuracy"))
    all_refused(
        [
            (lambda: taken.worst("support", label="a"), ValueError, "better"),
            (lambda: taken.worst("recall"), KeyError, "`label`"),
            (lambda: taken.gap("accuracy", label="a"), KeyError, "no label"),
            (lambda: taken.gap("acuracy"), KeyError, "'accuracy'"),
            (lambda: taken["nobody"], KeyError, "nobody"),
        ]
    )


def test_scores_compare_by_the_class_asked_for() -> None:
    """A per-class value of scores is that of `pos_label` unless another is named."""
    state = sm.ByGroup(sm.MetricSet(scores=True))
    for group, scores in (("up", (0.9, 0.1)), ("down", (0.1, 0.9))):
        state.update(True, scores[0], group=group)
        state.update(False, scores[1], group=group)
    taken = state.snapshot()

    assert taken.worst("roc_auc", 1) == [("down", 0.0)]
    assert taken.worst("log_loss", 1)[0][0] == "down"
    assert taken.max_gap("roc_auc", label=True) == 1.0


def test_data_has_every_group_by_name() -> None:
    """JSON holds all groups, what is folded, and all samples, of one moment; names of groups do not collide."""
    state, free = groups(max_groups=2), sm.ByGroup(sm.Accuracy())
    for key in (1, "1", ("x", 1)):
        free.update(1, 1, group=key)
    before, taken = state.snapshot().to_json(), state.snapshot()
    state.update("a", "a", group=1)
    state.update("a", "a", group="1")
    data = json.loads(state.snapshot().to_json())

    assert taken.to_json() == before != state.snapshot().to_json()
    assert set(data) == {"overall", "groups", "other", "warnings"}
    assert len(data["groups"]) == 2
    assert data["overall"]["n"] == 14 == data["other"]["n"] + sum(view["n"] for view in data["groups"].values())
    assert list(json.loads(free.snapshot().to_json())["groups"]) == ["int(1)", "1", "('x', 1)"]


def test_the_report_shows_worst_groups_and_gaps() -> None:
    """Sizes, groups from the worst, all together, and where they differ most."""
    lines = groups().snapshot().report(80).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("Group"))

    assert lines[0] == "12 samples in 4 groups"
    assert [line.split()[0] for line in lines[start + 1 : start + 6]] == ["bad", "half", "good", "none", "(all)"]
    assert lines[start + 4].split() == ["none", "0", "-", "-", "-", "-"]
    assert lines[start + 5].split() == ["(all)", "12", "0.500", "0.500", "0.500", "0.000"]
    assert "Groups in order of balanced accuracy, worst first" in lines
    assert lines[-1].split() == ["Matthews", "correlation", "2.000", "bad", "-1.000", "good", "1.000"]
    assert str(sm.ByGroup(sm.MetricSet()).snapshot()) == "0 samples in 0 groups"
    assert repr(groups().snapshot()) == "<GroupSnapshot n=12, groups=4>"
    for inner in (sm.Accuracy(), sm.CrossEntropy(), sm.ConfusionMatrix()):
        state = sm.ByGroup(inner)
        for truth, group in ((True, "a"), (False, "b")):
            state.update(truth, 0.7 if isinstance(inner, sm.CrossEntropy) else True, group=group)
        assert "Largest difference" in state.snapshot().report(80)


def test_the_report_fits_any_width() -> None:
    """Long and strange names of groups, many groups, folded ones: no line is wider than asked for."""
    state = sm.ByGroup(sm.MetricSet(scores=True), max_groups=30, other="everybody else")
    for i in range(200):
        state.update(
            i % 3 == 0, (i % 10) / 10, group=f"a customer with a long name, number {i % 50}\n" + "长" * (i % 4)
        )
    taken = state.snapshot()
    for width in (40, 57, 80, 200):
        text = taken.report(width)
        assert widest(text) <= width
        assert "groups left out" in text
        assert "(eve" in text or width < 60
