"""Figures: drawn off screen, legible, and without side effects."""

from __future__ import annotations

import io
import itertools
import math
import re
import subprocess
import sys
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused, refused
from support.values import snapshot

import stream_metrics as sm
from stream_metrics import plots
from stream_metrics.report.content import emphasized

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
colors, Figure = pytest.importorskip("matplotlib.colors"), pytest.importorskip("matplotlib.figure").Figure

MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
CURVES: list[Any] = [plots.roc, plots.precision_recall, plots.det, plots.reliability]
PANELS = ["Confusion matrix", "ROC", "Precision and recall", "Reliability"]
LONG = [f"a class with quite a long name, number {k:03d}" for k in range(100)]


def cells(ax: Any) -> list[str]:
    """Draw the figure and return what its cells say."""
    ax.figure.draw_without_rendering()
    return [text.get_text() for text in ax.texts]


def legend(ax: Any) -> list[str]:
    """Draw the figure and return the names in its legend."""
    ax.figure.draw_without_rendering()
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def y_labels(ax: Any) -> list[str]:
    """Return the labels of the vertical axis."""
    return [tick.get_text() for tick in ax.get_yticklabels()]


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


def line(ax: Any, label: str) -> tuple[np.ndarray, ...]:
    """Return the x and y of the line whose legend starts with a label."""
    drawn = next(line for line in ax.lines if line.get_label().startswith(label))
    return tuple(np.asarray(values, float) for values in drawn.get_data())


def titles(figure: Any) -> list[str]:
    """Draw a figure and return the first lines of its titles."""
    figure.draw_without_rendering()
    return [ax.get_title().split("\n")[0] for ax in figure.axes if ax.get_title()]


@pytest.mark.quick
def test_cells_say_counts_or_percent() -> None:
    """Cells carry counts, or per cent of row, column or everything; zeros stay empty; an empty row is masked."""
    for normalize, texts in (
        (None, ["24", "2", "1", "3", "30", "4", "5", "31"]),
        ("true", ["89", "7", "4", "8", "81", "11", "14", "86"]),
        ("pred", ["89", "5", "3", "11", "81", "11", "14", "86"]),
        ("all", ["24", "2", "1", "3", "30", "4", "5", "31"]),
    ):
        assert cells(plots.confusion_matrix(snapshot(MATRIX), normalize=normalize)) == texts
    empty_row = plots.confusion_matrix(snapshot([[4, 1], [0, 0]]), normalize="true").images[0].get_array()
    assert np.ma.getmaskarray(empty_row).tolist() == [[False, False], [True, True]]


def luminance(colour: Any) -> float:
    """Return the relative luminance of a colour, as WCAG defines it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.quick
def test_cells_have_contrast_and_hue() -> None:
    """Text has 4.5 to 1 everywhere; right cells are blue, wrong ones orange, darker with their share; zeros white."""
    ax = plots.confusion_matrix(snapshot(np.arange(1, 65).reshape(8, 8) ** 2))
    colours = ax.images[0].to_rgba(ax.images[0].get_array())
    for text in ax.texts:
        column, row = map(round, text.get_position())
        low, high = sorted([luminance(colours[row, column]), luminance(colors.to_rgb(text.get_color()))])
        assert (high + 0.05) / (low + 0.05) >= 4.5
    image = plots.confusion_matrix(snapshot([[60, 40, 0], [0, 100, 0], [5, 0, 95]])).images[0]
    red, _, blue, _ = np.moveaxis(image.to_rgba(image.get_array()), -1, 0)
    assert all(blue[at, at] > red[at, at] for at in range(3))
    assert red[0, 1] > blue[0, 1]
    assert red[2, 0] > blue[2, 0]
    assert (red + blue)[0, 1] < (red + blue)[2, 0] < 2
    assert red[0, 2] == blue[0, 2] == 1


def test_figures_that_would_be_illegible_are_left_out() -> None:
    """In a small frame or with many classes the cells carry no figures; given axes are drawn on and come back."""
    small = Figure(figsize=(1.5, 1.5)).add_subplot()
    assert cells(plots.confusion_matrix(snapshot(np.ones((100, 100), int)))) == []
    assert plots.confusion_matrix(snapshot(np.full((10, 10), 12345)), ax=small) is small
    assert list(small.texts) == []
    own = Figure().add_subplot()
    assert plots.per_class(snapshot(MATRIX), ax=own) is own


@pytest.mark.quick
def test_labels_are_never_markup() -> None:
    """Dollar signs and control characters in labels are shown as they are."""
    taken = snapshot(MATRIX, ["$x_1$", "$\\bad{", "a\nb"])
    ax = plots.confusion_matrix(taken)
    cells(ax)
    cells(plots.per_class(taken))
    assert y_labels(ax) == ["$x_1$", "$\\bad{", "a\\nb"]


@pytest.mark.quick
def test_values_of_classes() -> None:
    """The weakest of many are drawn, worst on top, which is said; 0/0 is hollow; keys of scores are drawn as well."""
    taken = snapshot(np.diag(np.arange(200)) + 5 * np.eye(200, k=1, dtype=int))
    ax, f1 = plots.per_class(taken, ["f1"]), taken.per_class["f1"]
    hollow, plain = (plots.per_class(snapshot(matrix)) for matrix in ([[4, 0], [1, 0]], MATRIX))
    scored = sm.evaluate(["a", "b"], scores=np.array([[0.9, 0.1], [0.2, 0.8]]), classes=["a", "b"])
    areas = plots.per_class(scored, ["roc_auc", "average_precision"])

    assert any(len(mark.get_offsets()) and not len(mark.get_facecolors()) for mark in hollow.collections)
    assert [f1[int(label)] for label in y_labels(ax)] == sorted(f1.values())[:40]
    assert ax.get_title() == "The 40 classes with the lowest F1, of 200"
    assert ax.yaxis_inverted()
    assert legend(hollow) == ["precision", "recall", "F1", "undefined (0/0)"]
    assert legend(plain) == legend(hollow)[:3]
    assert y_labels(areas) == ["a", "b"]
    assert areas.collections[0].get_offsets()[:, 0].tolist() == [1.0, 1.0]


@pytest.mark.quick
def test_what_cannot_be_drawn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown keys or classes, none or too many; unknown normalizations; no scores; figures without matplotlib."""
    taken = snapshot(MATRIX)
    wrong: list[Any] = [(), "recall", ["accuracy"], ["recall"] * 7]
    calls: list[Any] = [(lambda keys=keys: plots.per_class(taken, keys), ValueError, "metrics") for keys in wrong]
    running = [
        ({}, ValueError, "1 to 6 metrics, but got 0"),
        ({key: [0.5] for key in "abcdefg"}, ValueError, "1 to 6 metrics, but got 7"),
        ({"accuracy": [0.5, 0.6]}, ValueError, "Expected 1 values of 'accuracy', one a point, but got 2"),
        ({"acuracy": [0.5]}, KeyError, "acuracy"),
    ]
    calls += [(lambda values=values: plots.running([1], values), kind, about) for values, kind, about in running]
    calls += [(lambda draw=draw: draw(taken), KeyError, "(scores=True)") for draw in [*CURVES, plots.scores]]
    names: list[Any] = ["class 01", [], [f"class {i:02d}" for i in range(7)]]
    several = classes(8)
    for draw in CURVES:
        calls += [(lambda draw=draw, some=some: draw(several, some), ValueError, "1 to 6 classes") for some in names]
        calls += [(lambda draw=draw: draw(several, ["dog"]), KeyError, "'dog'")]
    all_refused(calls)
    error = refused(lambda: plots.confusion_matrix(taken, normalize="rows"), ValueError, '"true", "pred" or "all"')
    assert "but got 'rows'" in str(error)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # as if matplotlib were not installed
    for draw in (plots.confusion_matrix, plots.per_class, plots.overview):
        refused(lambda draw=draw: draw(taken), ImportError, "pip install stream-metrics[plot]")


def test_drawing_touches_no_global_state() -> None:
    """Neither pyplot is imported nor a setting changed; the module imports matplotlib when it draws; figures pickle."""
    code = """
import pickle, sys
import stream_metrics as sm
from stream_metrics import plots
assert "matplotlib" not in sys.modules
import matplotlib
before = matplotlib.rcParams.copy()
taken = sm.evaluate([True, False], scores=[0.5, 0.5])
axes = plots.per_class(taken), plots.det(taken), plots.running([1, 2], {"accuracy": [0.5, 0.6]})
assert all(drawn._repr_png_() for drawn in pickle.loads(pickle.dumps([taken.plot(), *axes])))
assert "matplotlib.pyplot" not in sys.modules
assert matplotlib.rcParams.copy() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_any_number_of_classes_fits() -> None:
    """Titles, ticks and legends lie inside the figure, with long names too, and ticks stay readable."""
    for size, named in ((0, False), (1, False), (2, True), (30, True), (100, True), (200, False)):
        errors = np.arange(size**2).reshape(size, size) % 3
        taken = snapshot(30 * np.eye(size, dtype=int) + errors, LONG[:size] if named else None)
        ax = plots.confusion_matrix(taken, normalize="true" if named else None)
        assert len(ax.get_xticklabels()) <= 60
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("Predicted class", "True class")
        for figure in (taken.plot(), plots.per_class(taken).figure, ax.figure):
            figure.draw_without_rendering()
            box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
            assert (min(box.x0, box.y0) >= 0, box.x1 <= width, box.y1 <= height) == (True, True, True), (size, named)


def edges(ax: Any) -> list[int]:
    """Return the lower, upper, left and right edge of axes in pixels."""
    box = ax.get_window_extent()
    return [round(edge) for edge in (box.y0, box.y1, box.x0, box.x1)]


def test_panels_of_the_overview_are_aligned() -> None:
    """Panels of a row share lower and upper edges, those of a column left and right ones; samples are said once."""
    scored = sm.evaluate([0, 1] * 50, scores=[i / 100 for i in range(100)])
    for taken in (scored, snapshot(MATRIX, LONG[:3])):
        figure = taken.plot()
        figure.draw_without_rendering()
        first, second, *below = (edges(ax) for ax in figure.axes)
        texts = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]

        assert sum("100 samples" in text for text in texts) == 1
        assert first[:2] == second[:2]
        for panel in (first, second):
            assert abs((panel[1] - panel[0]) - (panel[3] - panel[2])) <= 1
        assert bool(below) is (taken is scored)
        if below:
            third, reliability, weights = below
            assert third[2:] == first[2:]
            assert reliability[2:] == weights[2:] == second[2:]
            assert (weights[0], reliability[1]) == tuple(third[:2])


def test_groups_and_differences_are_drawn() -> None:
    """A panel for each metric with the worst group on top; a row for each difference around 0."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    groups = sm.evaluate(truth, truth ^ (rng.random(300) < 0.2), group=rng.choice(list("xyz"), 300))
    figure, models = groups.plot(), sm.Comparison("old", "new")
    models.update_many(truth, truth ^ (rng.random(300) < 0.4), truth ^ (rng.random(300) < 0.2))
    ax = plots.differences(models.snapshot())
    for each in (figure, ax.figure):
        each.draw_without_rendering()
        assert each.get_tightbbox().x0 >= 0

    assert y_labels(figure.axes[0]) == [group for group, _ in groups.worst("balanced_accuracy")]
    assert [panel.get_title() for panel in figure.axes][:2] == ["Balanced accuracy", "Accuracy"]
    assert all(len(panel.collections) >= 3 for panel in figure.axes)
    assert (len(ax.get_yticklabels()), ax.get_xlabel()) == (len(models.snapshot()), "Difference: new less old")
    assert ax.get_xlim()[0] == -ax.get_xlim()[1]
    loss = plots.groups(groups, ["zero_one_loss"]).axes[0]
    assert figure.axes[1].get_xlabel() == f"all: {groups.overall['accuracy']:.3f}"
    assert loss.get_xlabel() == f"all: {groups.overall['zero_one_loss']:.3f}, lower is better"
    assert loss.get_xlim() == figure.axes[1].get_xlim() == (-0.03, 1.03)
    assert sm.evaluate([], [], group=[]).plot() is not None
    refused(lambda: plots.groups(groups, []), ValueError, "metrics")


@pytest.mark.quick
def test_values_are_drawn_over_samples() -> None:
    """Each metric is a line that the legend names, a single one the title; the axis says samples, thousands apart."""
    ax = plots.running([1000, 2000, 3000], {"accuracy": [0.5, 0.6, 0.7], "macro_f1": [0.4, 0.5, 0.6]})
    own = Figure().add_subplot()

    assert legend(ax) == ["Accuracy", "Macro F1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Samples", "Value")
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]]
    assert list(ax.lines[0].get_xdata()) == [1000, 2000, 3000]
    assert "2\u202f000" in [tick.get_text() for tick in ax.get_xticklabels()]
    assert plots.running([1, 2], {"accuracy": [0.5, 0.6]}, ax=own) is own
    assert legend(own) == []
    assert own.get_title().startswith("Accuracy over ")


@pytest.mark.quick
def test_values_are_drawn_over_time() -> None:
    """Times make an axis of times, in UTC; without points the figure says so."""
    at = np.array(["2024-03-01T10:00", "2024-03-01T11:00", "2024-03-01T12:00"], "datetime64[us]")
    ax, empty = plots.running(at, {"accuracy": [0.5, 0.6, 0.7]}), plots.running([], {"accuracy": []})
    legend(ax)
    legend(empty)

    assert ax.get_xlabel() == "Time (UTC)"
    assert {"10:00", "11:00", "12:00"} <= {tick.get_text() for tick in ax.get_xticklabels()}
    assert [text.get_text() for text in empty.texts] == ["nothing counted yet"]


@pytest.mark.quick
def test_lonely_values_are_marked() -> None:
    """Of many points those that no line shows are marked; undefined ones leave a gap."""
    for hole, marked in ((slice(0, 0), False), (50, False), (slice(1, None, 2), True)):
        values = np.full(100, 0.5)
        values[hole] = math.nan
        ax = plots.running(range(100), {"accuracy": values})
        legend(ax)
        assert marked == (ax.lines[0].get_marker() == "o")
        assert np.isnan(values).sum() == np.isnan(ax.lines[0].get_ydata()).sum()


# Figures of scores: points, areas with their bounds, and nothing covered.
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
        (0.75, 0.75, 0.75, "0.7500"), (0.93659, 0.93657, 0.93661, "0.9366"), (0.95334, 0.95324, 0.95344, "0.953"),
        (0.92759, 0.92739, 0.92780, "0.9276 [0.9273, 0.9278]"), (0.43, 0.4146, 0.4462, "0.43 [0.41, 0.45]"),
        (0.99999, 0.99998, 0.99999, ">.9999"), (math.nan, math.nan, math.nan, "undefined"),
    ):  # fmt: skip
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
    points, largest = taken.reliability_curve(), several.reliability_curve()
    bars = [bar.get_height() for bar in ax.figure.axes[1].patches]

    assert np.array_equal(points.shares, taken.reliability_curve(True).shares)  # as of `roc_curve`
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
    hostile = classes(3, ["$x_1$", "$\\bad{", "a\nb"])
    makes: list[Any] = [sm.RankSketch, sm.ROCAUC, lambda: sm.MetricSet(scores=True)]
    for draw in CURVES:
        (own, _), shown = Figure().subplots(1, 2), draw(hostile, hostile.labels)
        assert draw(binary(), ax=own) is own
        assert len(own.figure.axes) == 2
        own.figure.draw_without_rendering()
        box = own.get_legend().get_window_extent()
        assert own.bbox.x0 < box.x0 < box.x1 < own.bbox.x1
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

    pairs = itertools.combinations(boxes, 2)
    assert not any(a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1 for a, b in pairs)
