"""The rule by cells: which method is chosen, and what an interval says besides its ends."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.values import html, snapshot

import stream_metrics as sm

pytestmark = pytest.mark.quick


def test_few_cells_choose_another_method() -> None:
    """From ten of each kind in each class, or an influence of ten samples, the delta method; below the posterior."""
    chosen = [
        ("macro_f1", [[180, 15], [10, 10]], "delta"),
        ("macro_f1", [[180, 16], [5, 14]], "delta"),
        ("macro_f1", [[180, 1], [2, 4]], "posterior"),
        ("macro_f1", [[100, 1], [1, 91]], "posterior"),
        ("balanced_accuracy", [[300, 10], [10, 10]], "delta"),
        ("balanced_accuracy", [[300, 10], [1, 19]], "posterior"),
        ("balanced_accuracy", [[188, 2], [0, 10]], "posterior"),
        ("balanced_accuracy", [[2600, 300], [0, 30]], "posterior"),  # rests on a class without a miss
        ("cohen_kappa", [[2600, 300], [0, 30]], "delta"),  # rests on the false alarms
        ("accuracy", [[3000, 300], [1, 19]], "wilson"),
        ("accuracy", [[300, 10], [1, 19]], "clopper_pearson"),
    ]
    failures = [case for case in chosen if snapshot(case[1]).interval(case[0]).method != case[2]]
    rare = snapshot([[9801, 99], [100, 0]])

    assert not failures
    for one in (rare.interval("matthews_corrcoef"), *rare.interval("ova_matthews_corrcoef").values()):
        assert one.method == "posterior"  # of two classes the MCC of each is that of the matrix
        assert one.low < 0 < one.high


def test_notes_are_shown() -> None:
    """In text, HTML, JSON and groups, of areas too: a question mark behind the interval, and the reason below."""
    groups, scored = sm.ByGroup(sm.MetricSet()), sm.MetricSet(scores=True)
    for i in range(60):
        groups.update("a", "a", group="only a")
        groups.update("ab"[i % 2], "ab"[i % 2 ^ (i % 5 == 0)], group="both")
    rng, truth = np.random.default_rng(0), np.arange(200) % 40 == 0
    scored.update_many(truth, scores=np.clip(rng.random(200) + 0.3 * truth, 0, 1))
    shown, areas = groups.snapshot().with_intervals(), scored.snapshot().with_intervals()
    one = shown["only a"]

    for text in (one.report(100), html(one), shown.report(120)):
        assert "]?" in text
        assert "not to be trusted, only one class has samples" in text
    assert "]?" not in shown["both"].report(100)
    data = json.loads(one.to_json())["intervals"]["metrics"]
    assert data["macro_f1"]["note"].startswith("only one class")
    assert "note" not in data["accuracy"]
    assert "fewer than 10 samples" in areas.interval("roc_auc", label=True).note  # type: ignore[union-attr]
    for text in (areas.report(100), html(areas)):
        assert "?: not to be trusted, a class has fewer than" in text


def test_classes_never_seen_are_said() -> None:
    """Where several classes occurred once, others exist that did not; the note says how many samples they are."""
    matrix = np.diag([40, 30, 20, 1, 1, 1, 1]) + np.eye(7, k=1, dtype=int) * [0, 3, 3, 3, 0, 0, 0]
    matrix[0, 1] = 5
    single, taken = np.count_nonzero(matrix.sum(1) == 1), snapshot(matrix)
    share = f"about {100 * single / matrix.sum():.2g} % of samples are of classes never seen"

    assert single == 4
    assert share in taken.interval("macro_f1").note
    assert share in taken.interval("balanced_accuracy").note
    assert "never seen" not in snapshot([[40, 3, 1], [2, 30, 1], [0, 0, 1]]).interval("macro_f1").note
    assert "never seen" not in snapshot([[40, 1], [1, 0]]).interval("macro_f1").note
