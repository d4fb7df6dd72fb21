"""Intervals in reports, HTML, data, figures and on the command line."""

from __future__ import annotations

import io
import json
import math
import pickle

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics import plots
from stream_metrics.cli.main import main
from stream_metrics.report.intervals import bounds
from stream_metrics.report.layout import display_width

ABC = list("abc")
MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
AT_80 = """\
100 samples, 3 classes

95 % intervals, valid for this one look, of independent samples

Score               model  95 % interval  most frequent  uniform  stratified
Accuracy           0.8500   [0.76, 0.92]         0.3700   0.3333      0.3394
Balanced accuracy  0.8536   [0.77, 0.92]         0.3333   0.3333      0.3333
Macro F1           0.8536   [0.77, 0.91]         0.1800   0.3317      0.3333
Weighted F1        0.8500   [0.76, 0.91]         0.1999   0.3349      0.3394
MCC (Matthews)     0.7729   [0.64, 0.86]         0.0000   0.0000      0.0000
Cohen's kappa      0.7729   [0.64, 0.86]         0.0000   0.0000      0.0000
Guessing without a model: most frequent = always "b"; uniform = every class
  alike; stratified = classes as often as they are true
Accuracy against always "b": p = 1.2e-10 (McNemar)

Class  true  pred                prec              recall                  F1
a        27    27  0.889 [0.70, 0.98]  0.889 [0.70, 0.98]  0.889 [0.76, 0.96]
b        37    37  0.811 [0.64, 0.93]  0.811 [0.64, 0.93]  0.811 [0.68, 0.90]
c        36    36  0.861 [0.70, 0.96]  0.861 [0.70, 0.96]  0.861 [0.74, 0.94]
Left out at this width: specificity, MCC
"""


def snap(matrix=MATRIX, labels=ABC):
    """Return the snapshot of a matrix."""
    return sm.ConfusionMatrix.from_matrix(matrix, labels).snapshot()


def scored(n=300):
    """Return the snapshot of a set with scores of two classes."""
    rng = np.random.default_rng(1)
    truth = rng.random(n) < 0.4
    found = sm.MetricSet(scores=True)
    found.update_many(truth, scores=1 / (1 + np.exp(-rng.normal(size=n) - 2 * truth + 1)))
    return found.snapshot()


def test_the_report_at_80_columns():
    """Headline and classes carry intervals; what does not fit is left out and named."""
    assert snap().with_intervals().report(80).startswith(AT_80)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("valid", ["fixed", "anytime"])
def test_no_line_is_too_wide(width, valid):
    """Of labels and of scores, and of groups."""
    groups = sm.ByGroup(sm.MetricSet())
    for i in range(300):
        groups.update("abc"[i % 3], "abc"[(i % 3 + (i % 5 == 0)) % 3], group=f"country {i % 4}")
    taken = [view.with_intervals(0.9, valid) for view in (snap(), scored(), groups.snapshot())]

    for view in taken:
        lines = view.report(width).splitlines()
        assert any("90 %" in line for line in lines)
        assert all(display_width(line) <= width for line in lines)


def test_the_plain_report_is_as_before():
    """Nothing is shown that was not asked for."""
    assert "[0.7" not in snap().report(80)
    assert "interval" not in snap()._repr_html_()
    assert "intervals" not in snap().to_dict()


def test_bounds_are_rounded_outwards():
    """What is written holds what was computed, with more decimals where intervals are narrow."""
    snapshot = snap(np.array(MATRIX) * 10_000)
    found = snapshot.interval("accuracy")
    line = next(line for line in snapshot.with_intervals().report(80).splitlines() if line.startswith("Accuracy "))
    low, high = (float(text) for text in line.split("[")[1].split("]")[0].split(","))

    assert low <= found.low < found.high <= high
    assert high - low < found.high - found.low + 2.1e-4


def test_areas_show_sampling_intervals():
    """Of scores, the certified bounds give way to intervals, and losses have some; what has none stays without."""
    text = scored().with_intervals().report(100)
    found = scored().interval("roc_auc", label=True)
    line = next(line for line in text.splitlines() if line.startswith("ROC AUC"))

    low, high = map(float, line.split("[")[1].strip("]").split(", "))

    assert low == pytest.approx(found.low, abs=1e-4)
    assert high == pytest.approx(found.high, abs=1e-4)
    assert len(next(line for line in text.splitlines() if line.startswith("Log loss")).split()) == 6


def test_the_html_report():
    """The same figures in cells of their own, and behind the values of classes."""
    text = snap().with_intervals()._repr_html_()

    assert "<th>95 % interval</th>" in text
    assert text.count("[0.77, 0.91]") == 1
    assert "0.889\u2007[0.70, 0.98]" in text


def test_weights_are_said_instead():
    """A report of weighted samples says why it shows no intervals."""
    state = sm.ConfusionMatrix()
    state.update("a", "a", 2)
    shown = state.snapshot().with_intervals()

    assert "No intervals: 1 sample weighs 2" in shown.report(120)
    assert shown.to_dict()["intervals"]["metrics"] == {}
    assert "weigh" in shown.to_dict()["intervals"]["reason"]


def test_too_early_is_said():
    """Where an interval is still the whole range, the report says why."""
    text = snap().with_intervals(valid="anytime").report(120)

    assert "valid for every look" in text
    assert "too early" in text
    assert "too early" not in snap(np.array(MATRIX) * 100).with_intervals(valid="anytime").report(120)


def test_data():
    """`to_dict` has bounds and methods by key and by class; nan is null in JSON."""
    found = snap().with_intervals(0.9).to_dict()["intervals"]
    mcc = snap().interval("matthews_corrcoef", 0.9)

    assert (found["level"], found["valid"]) == (0.9, "fixed")
    assert found["metrics"]["matthews_corrcoef"] == {"low": mcc.low, "high": mcc.high, "method": "delta"}
    assert found["per_class"]["recall"]["b"]["low"] == snap().interval("recall", 0.9, label="b").low
    assert "nir_p_value" not in found["metrics"]
    text = snap([[5, 0, 0], [3, 0, 0], [0, 0, 0]]).with_intervals().to_json()
    assert json.loads(text)["intervals"]["per_class"]["precision"]["b"]["low"] is None


def test_frames():
    """Two more columns for each key that has intervals."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = snap().with_intervals().to_frame()

    assert frame.loc["a", "recall_low"] == snap().interval("recall", label="a").low
    assert frame.loc["c", "f1_high"] == snap().interval("f1", label="c").high
    assert "support_low" not in frame


def test_it_survives_pickling_and_is_one_of_many():
    """The choice goes with the snapshot; the snapshot it was made from shows none."""
    plain = snap()
    shown = plain.with_intervals(0.8)

    assert pickle.loads(pickle.dumps(shown)).report(80) == shown.report(80)
    assert "interval" not in plain.report(80)
    with pytest.raises(ValueError, match="`level`"):
        plain.with_intervals(2)


def test_groups():
    """Each group has its intervals; a folded one too."""
    groups = sm.ByGroup(sm.MetricSet(), max_groups=2)
    for i in range(400):
        groups.update(i % 3, (i + (i % 10 == 0)) % 3, group=f"g{i % 4}")
    shown = groups.snapshot().with_intervals(0.9)
    text = shown.report(120)

    first = next(iter(shown))
    low, high = shown.intervals("accuracy", 0.9)[first]
    written = [f"[{', '.join(bounds(low, high, digits))}]" for digits in (2, 3)]
    assert any(one in text for one in written)
    assert shown.to_dict()["groups"][first]["intervals"]["metrics"]["accuracy"]["low"] == low
    assert shown.other is not None
    assert "intervals" in shown.to_dict()["other"]


def test_figures():
    """Classes have lines from low to high, running values have bands."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    ax = plots.per_class(snap().with_intervals(), ["recall"])
    ax.figure.savefig(io.BytesIO(), format="png")
    segments = [line for part in ax.collections if hasattr(part, "get_segments") for line in part.get_segments()]
    found = snap().interval("recall")

    assert [segment[:, 0].tolist() for segment in segments] == [[one.low, one.high] for one in found.values()]
    values, bounds = {"accuracy": [0.5, 0.6, 0.7]}, {"accuracy": [(0.4, 0.6), (0.5, 0.7), (math.nan, math.nan)]}
    ax = plots.running([1, 2, 3], values, bounds=bounds)
    ax.figure.savefig(io.BytesIO(), format="png")
    assert len(ax.collections) == 1
    ax = plots.running([1, 2], {"cohen_kappa": [0.5, 0.6]}, bounds={"cohen_kappa": [(-1.0, 1.0), (0.5, 0.7)]})
    assert ax.get_ylim()[0] > 0
    with pytest.raises(ValueError, match="one a point"):
        plots.running([1, 2, 3], values, bounds={"accuracy": [(0, 1)]})


@pytest.fixture
def records(tmp_path):
    """Return a file of 200 records."""
    path = tmp_path / "records.jsonl"
    lines = [json.dumps({"y_true": i % 2, "y_pred": (i % 2) ^ (i % 7 == 0)}) for i in range(200)]
    path.write_text("\n".join(lines))
    return path


def test_show_and_run(records, tmp_path, capsys):
    """`--intervals` prints them as table and as JSON, at its own level; a state shows what a run does."""
    state = str(tmp_path / "a.state")
    assert main(["run", str(records), "--intervals", "0.9", "--state", state]) == 0
    printed = capsys.readouterr().out
    assert "90 % intervals, valid for this one look" in printed
    assert main(["show", state, "--intervals", "0.9"]) == 0
    assert capsys.readouterr().out == printed

    assert main(["show", state, "--intervals", "--anytime", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["intervals"]
    assert (found["level"], found["valid"]) == (0.95, "anytime")
    assert found["metrics"]["accuracy"]["method"] == "beta_binomial"


def test_running_values_hold_for_all_looks(records, capsys):
    """Lines of `--every` carry intervals that are valid at every line."""
    every = ["run", str(records), "--every", "100", "--intervals"]
    main([*every, "--metrics", "accuracy,cohen_kappa", "--format", "json"])
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    state = sm.ConfusionMatrix()
    state.update_many([i % 2 for i in range(100)], [(i % 2) ^ (i % 7 == 0) for i in range(100)])
    expected = state.snapshot().interval("accuracy", valid="anytime")

    assert first["intervals"]["accuracy"] == [expected.low, expected.high]
    kappa = state.snapshot().interval("cohen_kappa", valid="anytime")
    assert first["intervals"]["cohen_kappa"] == [kappa.low, kappa.high]
    main([*every, "--metrics", "accuracy"])
    _, line, low, high = capsys.readouterr().out.splitlines()[:4]
    assert len(line) == len(low) == len(high)
    assert (low.split(), high.split()) == (["low", f"{expected.low:.4f}"], ["high", f"{expected.high:.4f}"])


def test_windows_have_one_look_only(records, capsys):
    """What slides has another truth at each look: its lines carry intervals of one look."""
    window = ["run", str(records), "--every", "100", "--intervals", "--window", "80", "--metrics", "accuracy"]
    main([*window, "--format", "json"])
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    state = sm.ConfusionMatrix()
    state.update_many([i % 2 for i in range(20, 100)], [(i % 2) ^ (i % 7 == 0) for i in range(20, 100)])

    assert first["intervals"]["accuracy"] == list(state.snapshot().interval("accuracy"))
    assert main([*window, "--anytime"]) == 2
    assert "in a window" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--anytime"], "changes --intervals"), (["--intervals", "95"], "between 0 and 1"), (["--intervals", "x"], "x")],
)
def test_wrong_usage(records, capsys, arguments, message):
    """One line and exit status 2."""
    assert main(["run", str(records), *arguments]) == 2
    assert message in capsys.readouterr().err
