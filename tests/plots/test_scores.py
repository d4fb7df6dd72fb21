"""Figures of scores: points, areas with their bounds, and nothing covered."""

from __future__ import annotations

import io
import math
import re
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused

import stream_metrics as sm
from stream_metrics import plots
from stream_metrics.report.score_section import emphasized

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")

CURVES: list[Any] = [plots.roc, plots.precision_recall, plots.det, plots.reliability]
PANELS = ["Confusion matrix", "ROC", "Precision and recall", "Reliability"]


def binary(n: int = 400, **options: Any) -> sm.Snapshot:
    """Return a snapshot of a binary stream of single scores."""
    rng = np.random.default_rng(1)
    truth = rng.random(n) < 0.3
    state = sm.MetricSet(**({"scores": True} | options))
    state.update_many(truth, scores=1 / (1 + np.exp(1 - rng.normal(size=n) - 1.5 * truth)))
    return state.snapshot()


def classes(k: int, names: list[str] | None = None) -> sm.Snapshot:
    """Return a snapshot of `k` classes, the later the better told apart."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, k, 60 * k)
    logits = rng.normal(size=(len(truth), k)) + np.eye(k)[truth] * np.linspace(0.5, 4, k)
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    names = names or [f"class {i:02d}" for i in range(k)]
    state = sm.MetricSet(scores=True)
    state.update_many([names[i] for i in truth], scores=scores, classes=names)
    return state.snapshot()


def legend(ax: Any) -> list[str]:
    """Return the texts of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax: Any, label: str) -> tuple[np.ndarray, ...]:
    """Return the x and y of the line whose legend starts with a label."""
    drawn = next(line for line in ax.lines if line.get_label().startswith(label))
    return tuple(np.asarray(values, float) for values in drawn.get_data())


def titles(figure: Any) -> list[str]:
    """Draw a figure and return the first lines of its titles."""
    figure.draw_without_rendering()
    return [ax.get_title().split("\n")[0] for ax in figure.axes if ax.get_title()]


@pytest.mark.quick
def test_a_binary_stream_has_one_curve() -> None:
    """One ROC curve, its area, chance, and the threshold of the largest TPR - FPR; so has a stream of both scores."""
    taken = binary()
    ax = plots.roc(taken)
    curve, best = taken.roc_curve(), taken.best_threshold()
    x, y = line(ax, "best")
    state = sm.MetricSet(scores=True, pos_label="spam")
    for at in range(20):
        state.update(("ham", "spam")[at % 3 == 0], {"spam": at / 20, "ham": 1 - at / 20})

    assert np.array_equal(line(ax, "True"), (curve.x, curve.y))
    assert legend(ax)[:2] == [f"True: {taken['roc_auc']:.4f}", "chance: 0.5"]
    assert legend(ax)[2] == f"best threshold {best.threshold:.4g},\nYouden's J {best.value:.3f}"
    assert (y - x)[0] == pytest.approx(best.value)
    for draw in CURVES:
        (name,) = (text for text in legend(draw(state.snapshot())) if text.startswith(("ham", "spam")))
        assert name.startswith("spam")


@pytest.mark.quick
def test_a_value_has_the_decimals_it_deserves() -> None:
    """Decimals that both bounds share; fewer than three, and the bounds stand beside it, as in the legend."""
    for value, low, high, text in (
        (0.75, 0.75, 0.75, "0.7500"),
        (0.93659, 0.93657, 0.93661, "0.9366"),
        (0.95334, 0.95324, 0.95344, "0.953"),
        (0.92759, 0.92739, 0.92780, "0.9276 [0.9273, 0.9278]"),
        (0.43, 0.4146, 0.4462, "0.43 [0.41, 0.45]"),
        (0.99999, 0.99998, 0.99999, ">.9999"),
        (math.nan, math.nan, math.nan, "undefined"),
    ):
        assert emphasized(sm.Estimate(value, low, high, 0.0, "certified")) == text
    taken = binary(3000, buckets=16, sample=64)
    estimate = taken.estimate("roc_auc")
    low, high = (float(part) for part in legend(plots.roc(taken))[0].split("[")[1].strip("]").split(", "))
    assert low <= estimate.low < estimate.high <= high


@pytest.mark.quick
def test_marks_are_right_in_coarse_sketches() -> None:
    """Where a heavy cell is spread over estimated points, the marks still lie at the exact best thresholds."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = rng.random(2000) < 0.4
        narrow = 0.5 + 1e-4 * (rng.normal(size=2000) + truth)
        state = sm.MetricSet(scores=True, buckets=8 + seed, sample=64)
        state.update_many(truth, scores=np.where(rng.random(2000) < 0.1, rng.random(2000), narrow))
        taken = state.snapshot()
        (x,), (y,) = line(plots.roc(taken), "best")
        (recall,), (precision,) = line(plots.precision_recall(taken), "best")

        assert not taken.roc_curve().exact.all()
        assert y - x == pytest.approx(taken.best_threshold().value)
        assert 2 * recall * precision / (recall + precision) == pytest.approx(taken.best_threshold(metric="f1").value)


@pytest.mark.quick
def test_the_drawn_precision_recall_curve_has_the_area_it_names() -> None:
    """The area under the drawn steps, with ties and without, is the average precision in the legend."""
    for decimals in (1, 9):
        rng = np.random.default_rng(4)
        state = sm.RankSketch()
        truth = rng.random(300) < 0.4
        state.update_many(truth, np.round(rng.random(300) * 0.6 + 0.3 * truth, decimals))
        x, y = line(plots.precision_recall(state.snapshot()), "True")
        assert np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2) == pytest.approx(state.snapshot()["average_precision"])


def test_every_class_has_its_own_look() -> None:
    """Up to six classes all have a curve, and no two share colour or dashes."""
    taken = classes(6)
    for draw in (plots.roc, plots.precision_recall):
        ax, svg = draw(taken), io.StringIO()
        drawn = [line for line in ax.lines if line.get_label().startswith("class")]
        for at, curve in enumerate(drawn):
            curve.set_gid(f"curve{at}")
        ax.figure.savefig(svg, format="svg")
        looks = re.findall(r'<g id="curve\d">.*?(?:stroke-dasharray: (.*?);)? stroke: (#\w+)', svg.getvalue(), re.S)

        assert [text[:8] for text in legend(ax)[:6]] == [f"class {i:02d}" for i in range(6)]
        assert [len(set(parts)) for parts in zip(*looks, strict=True)] == [6, 6]


@pytest.mark.quick
def test_of_many_classes_the_worst_are_drawn() -> None:
    """Of more than six classes the six with the lowest area are drawn, worst first, and the title says so."""
    taken = classes(12)
    areas = taken.per_class["roc_auc"]
    for draw in CURVES[:3]:
        ax = draw(taken)
        assert [text[:8] for text in legend(ax)[:6]] == sorted(areas, key=areas.__getitem__)[:6]
        assert ax.get_title().endswith(": 6 of 12 classes, lowest ROC area")


def test_the_legend_hides_nothing() -> None:
    """The legend stands beside the axes and inside the figure, and titles fit."""
    long = [classes(k, [f"a class with quite a long name {i}" for i in range(k)]) for k in (3, 10)]
    for taken in (binary(), *long):
        for draw in CURVES:
            ax = draw(taken)
            ax.figure.draw_without_rendering()
            box, title, right = ax.get_legend().get_window_extent(), ax.title.get_window_extent(), ax.figure.bbox.x1
            assert ax.get_window_extent().x1 <= box.x0 <= box.x1 <= right + 1
            assert 0 <= title.x0 <= title.x1 <= right


@pytest.mark.quick
def test_det_axes_are_normal_deviates() -> None:
    """Each point lies at the probits of its two rates; rates of 0 and 1 are left out."""
    taken = binary()
    curve = taken.det_curve()
    inner = (curve.x > 0) & (curve.x < 1) & (curve.y > 0) & (curve.y < 1)
    ax, probit = plots.det(taken), NormalDist().inv_cdf
    x, y = line(ax, "True")

    assert 0 < inner.sum() < len(curve.x)
    assert x.tolist() == [probit(rate) for rate in curve.x[inner]]
    assert y.tolist() == [probit(rate) for rate in curve.y[inner]]
    for axis in (ax.xaxis, ax.yaxis):
        texts = [text.get_text().rstrip("%") for text in axis.get_ticklabels()]
        assert axis.get_ticklocs().tolist() == pytest.approx([probit(float(text) / 100) for text in texts])


def test_reliability() -> None:
    """Points, errors and samples of each bin: of the positive class, of the largest score, or of classes by name."""
    taken, several = binary(), classes(3)
    ax, top = plots.reliability(taken), plots.reliability(several)
    named = plots.reliability(several, ["class 01", "class 02"])
    points, largest = taken.reliability_curve(True), several.reliability_curve()
    bars = [bar.get_height() for bar in ax.figure.axes[1].patches]

    assert np.array_equal(line(ax, "True"), (points.scores, points.shares))
    assert ax.get_title() == f"Reliability, 400 samples\nECE {taken['expected_calibration_error']:.4f}"
    assert [height for height in bars if height] == points.weights.tolist()
    assert (len(bars), len(ax.figure.axes)) == (15, 2)
    assert np.array_equal(line(top, "largest"), (largest.scores, largest.shares))
    assert re.fullmatch(r"Reliability of predictions, \S+ samples\nECE 0\.\d+( \[.*\])?", top.get_title())
    assert [text[:10] for text in legend(named)] == ["calibrated", "class 01: ", "class 02: "]
    assert len(named.figure.axes[1].patches) == 2
    sketch = sm.RankSketch()
    sketch.update_many(np.arange(30) % 3, np.eye(3)[np.arange(30) % 3] * 0.5 + 0.25, classes=range(3))
    title = plots.reliability(sketch.snapshot()).get_title()
    assert title == "Reliability, 30 samples,\nmean ECE of all classes 0.2500"
    assert "mean ECE" not in named.get_title()


def test_axes_labels_and_empty_states() -> None:
    """Given axes are used and come back; labels are never markup; before the first score there is a note."""
    from matplotlib.figure import Figure

    hostile = classes(3, ["$x_1$", "$\\bad{", "a\nb"])
    makes: list[Any] = [sm.RankSketch, sm.ROCAUC, lambda: sm.MetricSet(scores=True)]
    for draw in CURVES:
        own, shown = Figure().add_subplot(), draw(hostile, hostile.labels)
        assert draw(binary(), ax=own) is own
        assert own.figure.axes == [own]
        titles(shown.figure)
        assert {"$x_1$", "$\\bad{", "a\\nb"} <= {text.split(":")[0] for text in legend(shown)}
        for make in makes:
            ax = draw(make().snapshot())
            titles(ax.figure)
            assert [text.get_text() for text in ax.texts] == ["nothing scored yet"]
            assert not ax.lines


@pytest.mark.quick
def test_curves_that_are_undefined_say_why() -> None:
    """One class has no ROC curve, perfect scores have no errors to trade, and margins no calibration."""
    state = sm.MetricSet(scores="any")
    state.update("a", {"a": 3.0, "b": -1.0})
    one = state.snapshot()
    state.update("b", {"a": 1.0, "b": 2.0})
    for draw, taken, reason in (
        (plots.roc, one, "needs samples of two classes"),
        (plots.det, state.snapshot(), "no threshold makes errors of both kinds"),
        (plots.reliability, state.snapshot(), "a score lies outside [0, 1]"),
    ):
        assert draw(taken).texts[0].get_text() == f"undefined: {reason}"
    assert legend(plots.precision_recall(one))[:2] == ["a: 1.0000", "b: undefined"]


@pytest.mark.quick
def test_what_cannot_be_drawn_is_refused() -> None:
    """Scores that are not there; `labels` that are not a sequence of one to six classes that have scores."""
    taken, without = classes(8), sm.MetricSet().snapshot()
    wrong: list[Any] = ["class 01", [], [f"class {i:02d}" for i in range(7)]]
    calls: list[Any] = [
        (lambda draw=draw: draw(without), KeyError, "MetricSet(scores=True)") for draw in [*CURVES, plots.scores]
    ]
    for draw in CURVES:
        calls += [(lambda draw=draw, names=names: draw(taken, names), ValueError, "1 to 6 classes") for names in wrong]
        calls += [(lambda draw=draw: draw(taken, ["dog"]), KeyError, "'dog'")]
    all_refused(calls)


def test_the_overview_has_what_the_snapshot_has() -> None:
    """The matrix and the curves, as far as the snapshot has them, lie apart; `scores` draws three side by side."""
    for taken, panels in (
        (binary(), PANELS),
        (classes(12), PANELS),
        (sm.MetricSet(scores=True).snapshot(), PANELS),
        (sm.RankSketch().snapshot(), PANELS[1:]),
        (sm.MetricSet().snapshot(), ["Confusion matrix", "Per class"]),
    ):
        assert all(a.startswith(b) for a, b in zip(titles(plots.overview(taken)), panels, strict=True)), panels
    three = [title.split(",")[0] for title in titles(plots.scores(binary()))]
    assert three == PANELS[1:]
    figure = plots.overview(classes(12, [f"a class with quite a long name {i}" for i in range(12)]))
    figure.draw_without_rendering()
    matrix, roc, curve, above, below = figure.axes
    boxes = [ax.get_tightbbox() for ax in (matrix, roc, curve)]
    boxes.append(above.get_tightbbox().union([above.get_tightbbox(), below.get_tightbbox()]))

    assert not any(a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1 for a, b in combinations(boxes, 2))
