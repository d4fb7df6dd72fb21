"""Figures of scores: points, areas with their bounds, and nothing covered."""

from __future__ import annotations

import io
import re
from statistics import NormalDist

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics import plots

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")

CURVES = [plots.roc, plots.precision_recall, plots.det, plots.reliability]


def binary(n=400, **options):
    """Return a snapshot of a binary stream of single scores."""
    rng = np.random.default_rng(1)
    truth = rng.random(n) < 0.3
    state = sm.MetricSet(**({"scores": True} | options))
    state.update_many(truth, scores=1 / (1 + np.exp(1 - rng.normal(size=n) - 1.5 * truth)))
    return state.snapshot()


def classes(k, names=None, **options):
    """Return a snapshot of `k` classes, the later the better told apart."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, k, 60 * k)
    logits = rng.normal(size=(len(truth), k)) + np.eye(k)[truth] * np.linspace(0.5, 4, k)
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    names = names or [f"class {i:02d}" for i in range(k)]
    state = sm.MetricSet(**({"scores": True} | options))
    state.update_many([names[i] for i in truth], scores=scores, classes=names)
    return state.snapshot()


def legend(ax):
    """Return the texts of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    """Return the x and y of the line whose legend starts with a label."""
    found = next(line for line in ax.lines if line.get_label().startswith(label))
    return tuple(np.asarray(values, float) for values in found.get_data())


def save(figure):
    """Draw a figure."""
    figure.savefig(io.BytesIO(), format="png", dpi=50)


def test_a_binary_stream_has_one_curve():
    """One ROC curve, its area, chance, and the threshold of the largest TPR - FPR."""
    taken = binary()
    ax = plots.roc(taken)
    curve, best = taken.roc_curve(), taken.best_threshold()
    x, y = line(ax, "best")

    assert np.array_equal(line(ax, "True"), (curve.x, curve.y))
    assert legend(ax)[:2] == [f"True: {taken['roc_auc']:.4f}", "chance: 0.5"]
    assert legend(ax)[2] == f"best threshold {best.threshold:.4g},\nYouden's J {best.value:.3f}"
    assert (y - x)[0] == pytest.approx(best.value)


@pytest.mark.parametrize("draw", CURVES)
def test_two_classes_with_scores_of_both_are_one_question(draw):
    """Where both classes have scores and one is `pos_label`, only that one has a curve."""
    state = sm.MetricSet(scores=True, pos_label="spam")
    for at in range(20):
        state.update(("ham", "spam")[at % 3 == 0], {"spam": at / 20, "ham": 1 - at / 20})
    names = [text for text in legend(draw(state.snapshot())) if text.startswith(("ham", "spam"))]

    assert len(names) == 1
    assert names[0].startswith("spam")


@pytest.mark.parametrize("seed", range(8))
def test_the_mark_is_right_in_coarse_sketches(seed):
    """Where a heavy cell is spread over estimated points, the marks still lie at the exact best thresholds."""
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


@pytest.mark.parametrize("decimals", [1, 9])
def test_the_drawn_precision_recall_curve_has_the_area_it_names(decimals):
    """The area under the drawn steps, with ties and without, is the average precision in the legend."""
    rng = np.random.default_rng(4)
    state = sm.RankSketch()
    truth = rng.random(300) < 0.4
    state.update_many(truth, np.round(rng.random(300) * 0.6 + 0.3 * truth, decimals))
    taken = state.snapshot()
    x, y = line(plots.precision_recall(taken), "True")

    assert np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2) == pytest.approx(taken["average_precision"])


def test_every_class_has_its_own_look():
    """Up to six classes all have a curve, and no two share colour or line style."""
    taken = classes(6)
    for draw in (plots.roc, plots.precision_recall):
        ax = draw(taken)
        drawn = [line for line in ax.lines if line.get_label().startswith("class")]

        assert [text[:8] for text in legend(ax)[:6]] == [f"class {i:02d}" for i in range(6)]
        assert len({line.get_color() for line in drawn}) == 6
        assert len({str(line._unscaled_dash_pattern) for line in drawn}) == 6


@pytest.mark.parametrize("draw", [plots.roc, plots.precision_recall, plots.det])
def test_of_many_classes_the_worst_are_drawn(draw):
    """Of more than six classes the six with the lowest area are drawn, worst first, and the title says so."""
    taken = classes(12)
    areas = taken.per_class["roc_auc"]
    ax = draw(taken)

    assert [text[:8] for text in legend(ax)[:6]] == sorted(areas, key=areas.__getitem__)[:6]
    assert ax.get_title().endswith(": 6 of 12 classes, lowest ROC area")


def test_areas_that_are_not_certain_show_their_bounds():
    """A sketch that is too small for the scores gives its certified interval in the legend."""
    taken = binary(3000, buckets=16, sample=64)
    estimate = taken.estimate("roc_auc")
    low, high = (float(part) for part in legend(plots.roc(taken))[0].split("[")[1].strip("]").split(", "))

    assert low <= estimate.low < estimate.high <= high


@pytest.mark.parametrize("draw", CURVES)
@pytest.mark.parametrize("k", [1, 3, 10])
def test_the_legend_hides_nothing(draw, k):
    """The legend stands beside the axes and inside the figure, and titles fit."""
    taken = binary() if k == 1 else classes(k, [f"a class with quite a long name {i}" for i in range(k)])
    ax = draw(taken)
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()

    assert box.x0 >= ax.get_window_extent().x1
    assert box.x1 <= ax.figure.bbox.x1 + 1
    assert ax.title.get_window_extent().x0 >= 0
    assert ax.title.get_window_extent().x1 <= ax.figure.bbox.x1


def test_det_axes_are_normal_deviates():
    """Each point lies at the probits of its two rates; rates of 0 and 1 are left out."""
    taken = binary()
    curve = taken.det_curve()
    kept = (curve.x > 0) & (curve.x < 1) & (curve.y > 0) & (curve.y < 1)
    x, y = line(plots.det(taken), "True")
    probit = NormalDist().inv_cdf

    assert 0 < kept.sum() < len(curve.x)
    assert x.tolist() == [probit(rate) for rate in curve.x[kept]]
    assert y.tolist() == [probit(rate) for rate in curve.y[kept]]


def test_reliability_of_a_binary_stream():
    """Points, expected calibration error, and below them the samples of each bin."""
    taken = binary()
    ax = plots.reliability(taken)
    points = taken.reliability_curve(True)
    bars = [bar.get_height() for bar in ax.figure.axes[1].patches]

    assert np.array_equal(line(ax, "True"), (points.scores, points.shares))
    assert ax.get_title() == f"Reliability, 400 samples\nECE {taken['expected_calibration_error']:.4f}"
    assert len(bars) == 15
    assert [height for height in bars if height] == points.weights.tolist()
    assert len(ax.figure.axes) == 2


def test_reliability_of_many_classes_is_that_of_the_prediction():
    """With several classes the largest score is drawn, unless classes are named, which have their errors beside."""
    taken = classes(3)
    ax, named = plots.reliability(taken), plots.reliability(taken, ["class 01", "class 02"])
    points = taken.reliability_curve()

    assert np.array_equal(line(ax, "largest"), (points.scores, points.shares))
    assert re.fullmatch(r"Reliability of predictions, \S+ samples\nECE 0\.\d+( \[.*\])?", ax.get_title())
    assert [text[:10] for text in legend(named)] == ["calibrated", "class 01: ", "class 02: "]
    assert len(named.figure.axes[1].patches) == 2


@pytest.mark.parametrize("draw", CURVES)
def test_given_axes_are_used(draw):
    """With `ax` a figure is drawn there, alone, and the same axes come back."""
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()

    assert draw(binary(), ax=ax) is ax
    assert ax.figure.axes == [ax]


@pytest.mark.parametrize("draw", CURVES)
@pytest.mark.parametrize("make", [sm.RankSketch, sm.ROCAUC, lambda: sm.MetricSet(scores=True)])
def test_without_samples_the_figures_say_so(draw, make):
    """Before the first score there is a note in place of a curve."""
    ax = draw(make().snapshot())
    save(ax.figure)

    assert [text.get_text() for text in ax.texts] == ["nothing scored yet"]
    assert not ax.lines


def test_curves_that_are_undefined_say_why():
    """One class has no ROC curve, perfect scores have no errors to trade, and margins no calibration."""
    state = sm.MetricSet(scores="any")
    state.update("a", {"a": 3.0, "b": -1.0})
    one = state.snapshot()
    state.update("b", {"a": 1.0, "b": 2.0})
    two = state.snapshot()

    assert plots.roc(one).texts[0].get_text() == "undefined: needs samples of two classes"
    assert legend(plots.precision_recall(one))[:2] == ["a: 1.0000", "b: undefined"]
    assert plots.det(two).texts[0].get_text() == "undefined: no threshold makes errors of both kinds"
    assert plots.reliability(two).texts[0].get_text() == "undefined: a score lies outside [0, 1]"


@pytest.mark.parametrize("draw", [*CURVES, plots.scores])
def test_snapshots_without_scores_are_refused(draw):
    """Where no scores are kept, the error says how to keep them."""
    with pytest.raises(KeyError, match="MetricSet\\(scores=True\\)"):
        draw(sm.MetricSet().snapshot())


@pytest.mark.parametrize("draw", CURVES)
def test_classes_are_named_one_by_one(draw):
    """`labels` is a sequence of at most six classes that have scores."""
    taken = classes(8)
    for labels in ("class 01", [], [f"class {i:02d}" for i in range(7)]):
        with pytest.raises(ValueError, match="1 to 6 classes"):
            draw(taken, labels)
    with pytest.raises(KeyError, match="'dog'"):
        draw(taken, ["dog"])


@pytest.mark.parametrize("draw", CURVES)
def test_labels_are_never_markup(draw):
    """Dollar signs and control characters in labels are shown as they are."""
    taken = classes(3, ["$x_1$", "$\\bad{", "a\nb"])
    ax = draw(taken, taken.labels)
    save(ax.figure)

    assert {"$x_1$", "$\\bad{", "a\\nb"} <= {text.split(":")[0] for text in legend(ax)}


@pytest.mark.parametrize(
    ("taken", "panels"),
    [
        (binary(), ["Confusion matrix", "ROC", "Precision and recall", "Reliability"]),
        (classes(12), ["Confusion matrix", "ROC", "Precision and recall", "Reliability"]),
        (sm.MetricSet(scores=True).snapshot(), ["Confusion matrix", "ROC", "Precision and recall", "Reliability"]),
        (sm.RankSketch().snapshot(), ["ROC", "Precision and recall", "Reliability"]),
        (sm.MetricSet().snapshot(), ["Confusion matrix", "Per class"]),
    ],
    ids=["binary", "classes", "empty", "ranks", "labels"],
)
def test_the_overview_has_what_the_snapshot_has(taken, panels):
    """One figure with the matrix and the curves, as far as the snapshot has them."""
    figure = plots.overview(taken)
    save(figure)
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]

    assert len(titles) == len(panels)
    assert all(title.startswith(panel) for title, panel in zip(titles, panels, strict=True))


def test_no_panel_of_the_overview_reaches_into_another():
    """Axes, legends and titles of the four panels lie apart."""
    figure = plots.overview(classes(12, [f"a class with quite a long name {i}" for i in range(12)]))
    figure.draw_without_rendering()
    matrix, roc, curve, above, below = figure.axes
    boxes = [ax.get_tightbbox() for ax in (matrix, roc, curve)]
    boxes.append(above.get_tightbbox().union([above.get_tightbbox(), below.get_tightbbox()]))
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :]]

    assert len(boxes) == 4
    assert not any(a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1 for a, b in pairs)


def test_three_figures_side_by_side():
    """`scores` draws ROC, precision-recall and reliability."""
    titles = [ax.get_title() for ax in plots.scores(binary()).axes if ax.get_title()]

    assert [title.split("\n")[0] for title in titles] == ["ROC", "Precision and recall", "Reliability"]
