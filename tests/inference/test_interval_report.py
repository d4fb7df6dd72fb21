"""Intervals in reports, HTML, data, figures and on the command line."""

from __future__ import annotations

import io
import json
import math
import pickle
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import run_command
from support.refusals import refused
from support.values import html, snapshot
from support.widths import widest

import stream_metrics as sm
from stream_metrics import plots

ABC = list("abc")
MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]


def scored(n: int = 300) -> sm.Snapshot:
    """Return the snapshot of a set with scores of two classes."""
    rng = np.random.default_rng(1)
    truth = rng.random(n) < 0.4
    state = sm.MetricSet(scores=True)
    state.update_many(truth, scores=1 / (1 + np.exp(-rng.normal(size=n) - 2 * truth + 1)))
    return state.snapshot()


@pytest.mark.quick
def test_the_report_fits_every_width() -> None:
    """Of labels, of scores and of groups; what does not fit is left out and named; nothing is shown unasked."""
    groups, plain = sm.ByGroup(sm.MetricSet()), snapshot(MATRIX, ABC)
    for i in range(300):
        groups.update("abc"[i % 3], "abc"[(i % 3 + (i % 5 == 0)) % 3], group=f"country {i % 4}")
    text = plain.with_intervals().report(80)

    assert re.search(r"^Accuracy +0\.8500 +\[0\.76, 0\.92\] +0\.3700 +0\.3333 +0\.3394$", text, re.M)
    assert re.search(
        r"^c +36 +36 +0\.861 \[0\.70, 0\.96\] +0\.861 \[0\.70, 0\.96\] +0\.861 \[0\.74, 0\.94\]$", text, re.M
    )
    assert "Left out at this width: specificity, MCC" in text
    assert "95 % intervals, valid for this one look, of independent samples" in text
    for valid, taken, width in product(("fixed", "anytime"), (plain, scored(), groups.snapshot()), (40, 60, 80, 120)):
        shown = taken.with_intervals(0.9, valid).report(width)
        assert "90 %" in shown
        assert widest(shown) <= width
    for shown in (plain.report(80), html(plain), plain.to_json()):
        assert "interval" not in shown
    again = pickle.loads(pickle.dumps(plain.with_intervals(0.8)))
    assert again.report(80) == plain.with_intervals(0.8).report(80)


@pytest.mark.quick
def test_html_and_data() -> None:
    """The same figures in cells of their own; bounds and methods by key and by class; nan is null; frames have both."""
    taken = snapshot(MATRIX, ABC)
    shown, data = taken.with_intervals(), taken.with_intervals(0.9).to_dict()["intervals"]
    mcc: Any = taken.interval("matthews_corrcoef", 0.9)
    recall: Any = taken.interval("recall", 0.9)
    lost = snapshot([[5, 0, 0], [3, 0, 0], [0, 0, 0]], ABC).with_intervals().to_json()

    assert "<th>95 % interval</th>" in html(shown)
    assert html(shown).count("[0.77, 0.91]") == 1
    assert "0.889\u2007[0.70, 0.98]" in html(shown)
    assert (data["level"], data["valid"]) == (0.9, "fixed")
    assert data["metrics"]["matthews_corrcoef"] == {"low": mcc.low, "high": mcc.high, "method": "delta"}
    assert data["per_class"]["recall"]["b"]["low"] == recall["b"].low
    assert "nir_p_value" not in data["metrics"]
    assert json.loads(lost)["intervals"]["per_class"]["precision"]["b"]["low"] is None
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = taken.with_intervals(0.9).to_frame()
    assert frame.loc["a", "recall_low"] == recall["a"].low
    assert frame.loc["c", "recall_high"] == recall["c"].high
    assert "support_low" not in frame


@pytest.mark.quick
def test_areas_have_more_decimals_where_intervals_are_narrow() -> None:
    """What is written of scores holds what was computed; the width of accuracy is nearly that of its text."""
    text, area = scored().with_intervals().report(100), scored().interval("roc_auc", label=True)
    line = next(line for line in text.splitlines() if line.startswith("ROC AUC"))
    assert [*map(float, line.split("[")[1].strip("]").split(", "))] == pytest.approx([*area], abs=1e-4)
    assert len(next(line for line in text.splitlines() if line.startswith("Log loss")).split()) == 6
    for times in (1, 1000, 10**7):
        taken: Any = snapshot(np.array(MATRIX) * times).with_intervals()
        low, high = re.findall(r"^Accuracy .*\[(\S+), (\S+)\]", taken.report(80), re.M)[0]
        width = taken.interval("accuracy").high - taken.interval("accuracy").low
        assert float(high) - float(low) < max(1.2 * width, width + 0.021)


@pytest.mark.quick
def test_reasons_are_said_instead() -> None:
    """A report of weighted samples says why it shows none; one that is too early for all looks as well."""
    state = sm.ConfusionMatrix()
    state.update("a", "a", 2)
    shown, always = state.snapshot().with_intervals(), snapshot(MATRIX, ABC).with_intervals(valid="anytime").report(120)
    data = shown.to_dict()["intervals"]

    assert "No intervals: 1 sample weighs 2" in shown.report(120)
    assert (data["metrics"], "weigh" in data["reason"]) == ({}, True)
    assert "valid for every look" in always
    assert "too early" in always
    assert "too early" not in snapshot(np.array(MATRIX) * 100).with_intervals(valid="anytime").report(120)


@pytest.mark.quick
def test_groups() -> None:
    """Each group has its intervals; a folded one too."""
    groups, rows = sm.ByGroup(sm.MetricSet(), max_groups=2), np.arange(400)
    groups.update_many(rows % 3, (rows + (rows % 10 == 0)) % 3, group=[f"g{i % 4}" for i in rows])
    shown = groups.snapshot().with_intervals(0.9)
    first, text, data = next(iter(shown)), shown.report(120), shown.to_dict()
    low, _ = shown.intervals("accuracy", 0.9)[first]

    assert f"[{math.floor(low * 100) / 100:.2f}" in text
    assert re.search(r"^Accuracy +0\.200 \[0\.\d\d, 0\.\d\d\] ", text, re.M)  # the largest difference
    assert data["groups"][first]["intervals"]["metrics"]["accuracy"]["low"] == low
    assert "intervals" in data["other"]


def test_figures() -> None:
    """Classes have lines from low to high, running values have bands."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    taken: Any = snapshot(MATRIX, ABC)
    ax: Any = plots.per_class(taken.with_intervals(), ["recall"])
    segments = [line for part in ax.collections if hasattr(part, "get_segments") for line in part.get_segments()]
    assert [segment[:, 0].tolist() for segment in segments] == [[*one] for one in taken.interval("recall").values()]

    values, ends = {"accuracy": [0.5, 0.6, 0.7]}, [(0.4, 0.6), (0.5, 0.7), (math.nan, math.nan)]
    ax = plots.running([1, 2, 3], values, bounds={"accuracy": ends})
    ax.figure.savefig(io.BytesIO(), format="png", dpi=40)
    assert len(ax.collections) == 1
    ax = plots.running([1, 2], {"cohen_kappa": [0.5, 0.6]}, bounds={"cohen_kappa": [(-1.0, 1.0), (0.5, 0.7)]})
    assert ax.get_ylim()[0] > 0
    refused(lambda: plots.running([1, 2, 3], values, bounds={"accuracy": [(0, 1)]}), ValueError, "one a point")


@pytest.fixture
def records(tmp_path: Path) -> str:
    """Return a file of 200 records."""
    path = tmp_path / "records.jsonl"
    path.write_text("".join(f'{{"y_true": {i % 2}, "y_pred": {(i % 2) ^ (i % 7 == 0)}}}\n' for i in range(200)))
    return str(path)


def counted(start: int, stop: int) -> sm.Snapshot:
    """Return the snapshot of a stretch of the records."""
    state, rows = sm.ConfusionMatrix(), range(start, stop)
    state.update_many([i % 2 for i in rows], [(i % 2) ^ (i % 7 == 0) for i in rows])
    return state.snapshot()


def test_show_and_run(records: str, tmp_path: Path) -> None:
    """`--intervals` prints them as table and as JSON, at its own level; a state shows what a run does."""
    state = str(tmp_path / "a.state")
    run, show = (
        run_command(*order, "--intervals", "0.9") for order in (("run", records, "--state", state), ("show", state))
    )
    assert (run.status, run.out) == (show.status, show.out) == (0, run.out)
    assert "90 % intervals, valid for this one look" in run.out
    shown = run_command("show", state, "--intervals", "--anytime", "--format", "json")
    data = json.loads(shown.out)["intervals"]
    assert (data["level"], data["valid"]) == (0.95, "anytime")
    assert data["metrics"]["accuracy"]["method"] == "beta_binomial"
    for arguments, message in (
        (["--anytime"], "changes --intervals"), (["--intervals", "95"], "between 0 and 1"),
        (["--intervals", "x"], "'x'"),
    ):  # fmt: skip
        usage = run_command("run", records, *arguments)
        assert (usage.status, message in usage.err) == (2, True), usage


def test_running_values_hold_for_all_looks(records: str) -> None:
    """Lines of `--every` carry intervals that are valid at every line; those of a window, which slides, of one look."""
    every = ["run", records, "--every", "100", "--intervals"]
    as_json = run_command(*every, "--metrics", "accuracy,cohen_kappa", "--format", "json").out.splitlines()[0]
    for key in ("accuracy", "cohen_kappa"):
        assert json.loads(as_json)["intervals"][key] == [*counted(0, 100).interval(key, valid="anytime")]
    _, line, low, high = run_command(*every, "--metrics", "accuracy").out.splitlines()[:4]
    ends = [f"{end:.4f}" for end in counted(0, 100).interval("accuracy", valid="anytime")]
    assert len(line) == len(low) == len(high)
    assert [low.split(), high.split()] == [["low", ends[0]], ["high", ends[1]]]
    window = [*every, "--window", "80", "--metrics", "accuracy"]
    first = json.loads(run_command(*window, "--format", "json").out.splitlines()[0])
    assert first["intervals"]["accuracy"] == [*counted(20, 100).interval("accuracy")]
    refusal = run_command(*window, "--anytime")
    assert (refusal.status, "in a window" in refusal.err) == (2, True)
