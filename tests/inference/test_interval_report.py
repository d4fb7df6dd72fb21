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
from support.state_checks import with_batch
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
    """Of labels, of scores and of groups; nothing is shown unasked."""
    groups, plain = sm.ByGroup(sm.MetricSet()), snapshot(MATRIX, ABC)
    for i in range(300):
        groups.update("abc"[i % 3], "abc"[(i % 3 + (i % 5 == 0)) % 3], group=f"country {i % 4}")

    for valid, taken, width in product(("fixed", "anytime"), (plain, scored(), groups.snapshot()), (40, 60, 80, 120)):
        shown = taken.with_intervals(0.9, valid).report(width)
        assert "90 %" in shown
        assert widest(shown) <= width
    assert "Left out at this width: specificity, MCC" in plain.with_intervals().report(80)
    for shown in (plain.report(80), html(plain), plain.to_json()):
        assert "interval" not in shown
    again = pickle.loads(pickle.dumps(plain.with_intervals(0.8)))
    assert again.report(80) == plain.with_intervals(0.8).report(80)


@pytest.mark.quick
def test_html_and_data() -> None:
    """The same figures in cells of their own; bounds and methods by key and by class; nan is null; frames have both."""
    taken = snapshot(MATRIX, ABC)
    shown, data = html(taken.with_intervals()), taken.with_intervals(0.9).to_dict()["intervals"]
    mcc, recall = (taken.interval(key, 0.9) for key in ("matthews_corrcoef", "recall"))
    lost = snapshot([[5, 0, 0], [3, 0, 0], [0, 0, 0]], ABC).with_intervals().to_json()

    assert (shown.count("[0.77, 0.91]"), "0.889\u2007[0.70, 0.98]" in shown) == (1, True)
    assert data["metrics"]["matthews_corrcoef"] == {"low": mcc.low, "high": mcc.high, "method": "delta"}
    assert data["per_class"]["recall"]["b"]["low"] == recall["b"].low
    assert "nir_p_value" not in data["metrics"]
    assert json.loads(lost)["intervals"]["per_class"]["precision"]["b"]["low"] is None
    frame = taken.with_intervals(0.9).to_frame()
    assert (frame.loc["a", "recall_low"], frame.loc["c", "recall_high"]) == (recall["a"].low, recall["c"].high)
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


def test_the_command_line(tmp_path: Path) -> None:
    """`--intervals` has its own level, and `--anytime`; lines of `--every` hold always, but in a window."""
    path, state = tmp_path / "records.jsonl", tmp_path / "a.state"
    rows = [(i % 2, (i % 2) ^ (i % 7 == 0)) for i in range(200)]
    path.write_text("".join(f'{{"y_true": {truth}, "y_pred": {predicted}}}\n' for truth, predicted in rows))
    orders = ("run", path, "--state", state), ("show", state)
    run, show = (run_command(*order, "--intervals", "0.9") for order in orders)
    assert (run.status, run.out) == (show.status, show.out) == (0, run.out)
    assert "90 % intervals, valid for this one look" in run.out
    data = json.loads(run_command("show", state, "--intervals", "--anytime", "--format", "json").out)["intervals"]
    assert (data["level"], data["valid"], data["metrics"]["accuracy"]["method"]) == (0.95, "anytime", "beta_binomial")

    for window, start, valid in (((), 0, "anytime"), (("--window", "80"), 20, "fixed")):
        options = ("--every", "100", "--intervals", "--metrics", "accuracy,cohen_kappa", "--format", "json", *window)
        line = json.loads(run_command("run", path, *options).out.splitlines()[0])
        counted = with_batch(sm.ConfusionMatrix(), *zip(*rows[start:100], strict=True)).snapshot()
        for key in ("accuracy", "cohen_kappa"):
            assert line["intervals"][key] == [*counted.interval(key, valid=valid)]
    for arguments, message in (
        (["--anytime"], "needs --intervals"), (["--intervals", "95"], "between 0 and 1"),
        (["--intervals", "x"], "'x'"), ([*options, "--anytime"], "in a window"),
    ):  # fmt: skip
        usage = run_command("run", path, *arguments)
        assert (usage.status, message in usage.err) == (2, True), usage
