"""Figures: drawn off screen, legible, and without side effects."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics import plots
from stream_metrics.snapshots.snapshot import Snapshot

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")

MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]


def snap(matrix=MATRIX, labels=None):
    """Return a snapshot of a matrix."""
    return Snapshot(sm.ConfusionMatrix.from_matrix(matrix, labels))


def drawn(ax):
    """Draw the figure and return what its cells say."""
    ax.figure.savefig(io.BytesIO(), format="png")
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("classes", [0, 1, 2, 10, 50, 200])
@pytest.mark.parametrize("normalize", [None, "true"])
def test_any_number_of_classes_can_be_drawn(classes, normalize):
    """Both figures draw without a warning at every size, with labels on a readable number of ticks."""
    taken = snap(3 * np.eye(classes, dtype=int) + np.tri(classes, k=-1, dtype=int))
    ax = plots.confusion_matrix(taken, normalize=normalize)
    drawn(ax)
    drawn(plots.per_class(taken))

    assert len(ax.get_xticklabels()) <= 60
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Predicted class", "True class")


@pytest.mark.parametrize(
    ("normalize", "texts"),
    [
        (None, ["24", "2", "1", "3", "30", "4", "5", "31"]),
        ("true", ["89", "7", "4", "8", "81", "11", "14", "86"]),
        ("pred", ["89", "5", "3", "11", "81", "11", "14", "86"]),
        ("all", ["24", "2", "1", "3", "30", "4", "5", "31"]),
    ],
)
def test_cells_say_counts_or_percent(normalize, texts):
    """Cells carry counts, or per cent of row, column or everything; zeros stay empty."""
    assert drawn(plots.confusion_matrix(snap(), normalize=normalize)) == texts


def test_a_class_without_samples_is_grey():
    """Per cent of an empty row is 0/0: masked, not zero."""
    ax = plots.confusion_matrix(snap([[4, 1], [0, 0]]), normalize="true")

    assert np.ma.getmaskarray(ax.images[0].get_array()).tolist() == [[False, False], [True, True]]


def test_figures_in_cells_have_contrast():
    """Text is black on light cells and white on dark ones: at least 4.5 to 1 everywhere."""
    ax = plots.confusion_matrix(snap(np.arange(1, 65).reshape(8, 8) ** 2))
    image = ax.images[0]
    luminance = {"black": 0.0, "white": 1.0}
    for text in ax.texts:
        column, row = map(round, text.get_position())
        red, green, blue, _ = image.to_rgba(image.get_array())[row, column]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
        cell = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        low, high = sorted([cell, luminance[text.get_color()]])

        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_figures_that_would_be_illegible_are_left_out():
    """In a small frame or with many classes the cells carry no figures."""
    from matplotlib.figure import Figure

    assert drawn(plots.confusion_matrix(snap(np.ones((100, 100), int)))) == []
    small = Figure(figsize=(1.5, 1.5)).add_subplot()
    assert list(plots.confusion_matrix(snap(np.full((10, 10), 12345)), ax=small).texts) == []


@pytest.mark.parametrize("draw", [plots.confusion_matrix, plots.per_class])
def test_given_axes_are_used(draw):
    """With `ax` the figure is drawn there and the same axes come back."""
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()

    assert draw(snap(), ax=ax) is ax


def test_labels_are_never_markup():
    """Dollar signs and control characters in labels are shown as they are."""
    labels = ["$x_1$", "$\\bad{", "a\nb"]
    ax = plots.confusion_matrix(snap(labels=labels))
    drawn(ax)
    drawn(plots.per_class(snap(labels=labels)))

    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["$x_1$", "$\\bad{", "a\\nb"]


def test_the_weakest_of_many_classes_are_drawn():
    """Of 200 classes the 40 with the lowest F1 are drawn, worst on top, and the title says so."""
    matrix = np.diag(np.arange(200)) + 5 * np.eye(200, k=1, dtype=int)
    taken = snap(matrix)
    ax = plots.per_class(taken, ["f1"])
    shown = [int(tick.get_text()) for tick in ax.get_yticklabels()]
    f1 = taken.per_class["f1"]

    assert [f1[label] for label in shown] == sorted(f1.values())[:40]
    assert ax.get_title() == "The 40 classes with the lowest F1, of 200"
    assert ax.yaxis_inverted()


def test_undefined_values_are_hollow():
    """A 0/0 value is drawn hollow and the legend explains it."""
    legend = plots.per_class(snap([[4, 0], [1, 0]])).get_legend()

    assert [text.get_text() for text in legend.get_texts()] == ["precision", "recall", "F1", "undefined (0/0)"]
    assert len(plots.per_class(snap()).get_legend().get_texts()) == 3


@pytest.mark.parametrize("metrics", [(), "recall", ["accuracy"], ["recall"] * 7])
def test_metrics_must_be_a_few_per_class_keys(metrics):
    """Keys that are not per class, none at all, or more than can be told apart are refused."""
    with pytest.raises(ValueError, match="metrics"):
        plots.per_class(snap(), metrics)


def test_an_unknown_normalization_is_refused():
    """`normalize` names the allowed values in its error."""
    with pytest.raises(ValueError, match='None, "true", "pred" or "all", but got \'rows\''):
        plots.confusion_matrix(snap(), normalize="rows")


def test_scores_by_class_can_be_drawn_too():
    """Per-class keys that are read from scores are drawn, from a state of scores alone as well."""
    state = sm.RankSketch()
    state.update_many(["a", "b"], np.array([[0.9, 0.1], [0.2, 0.8]]), classes=["a", "b"])
    ax = plots.per_class(state.snapshot(), ["roc_auc", "average_precision"])

    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b"]
    assert ax.collections[0].get_offsets()[:, 0].tolist() == [1.0, 1.0]


def test_the_scale_beside_the_matrix_is_that_of_the_cells():
    """Beside the matrix stand the colours of right and wrong cells by their share in per cent."""
    ax = plots.confusion_matrix(snap())
    (bar,) = ax.child_axes
    image, scale = ax.images[0], bar.images[0]

    assert [tick.get_text() for tick in bar.get_yticklabels()] == ["0", "1", "5", "20", "50", "100"]
    assert [tick.get_text() for tick in bar.get_xticklabels()] == ["right", "wrong"]
    assert bar.get_ylabel() == "share of the true class, %"
    assert scale.to_rgba(scale.get_array())[-1].tolist() == image.to_rgba(np.array([100.0, -100.0])).tolist()


def test_drawing_touches_no_global_state():
    """Neither pyplot is imported nor a setting changed, and importing the module does not import matplotlib."""
    code = """
import sys
import stream_metrics as sm
from stream_metrics import plots
assert "matplotlib" not in sys.modules
import matplotlib
before = matplotlib.rcParams.copy()
state = sm.ConfusionMatrix()
state.update("a", "b")
taken = state.snapshot()
plots.confusion_matrix(taken)
plots.per_class(taken)
scored = sm.MetricSet(scores=True)
scored.update_many([True, False], scores=[0.5, 0.5])
plots.overview(scored.snapshot())
plots.det(scored.snapshot())
assert "matplotlib.pyplot" not in sys.modules
assert matplotlib.rcParams.copy() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    """A missing matplotlib is named, with the command that installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    with pytest.raises(ImportError, match=r"pip install stream-metrics\[plot\]"):
        plots.confusion_matrix(snap())
    with pytest.raises(ImportError, match=r"pip install stream-metrics\[plot\]"):
        plots.per_class(snap())
    with pytest.raises(ImportError, match=r"pip install stream-metrics\[plot\]"):
        plots.overview(snap())


LONG = [f"a class with quite a long name, number {k:03d}" for k in range(100)]


def matrix_of(classes):
    """Return counts of many errors in all places."""
    return 30 * np.eye(classes, dtype=int) + np.arange(classes**2).reshape(classes, -1) % 3


@pytest.mark.parametrize("classes", [2, 7, 30, 100])
@pytest.mark.parametrize("named", [False, True])
def test_nothing_is_cut_off(classes, named):
    """Titles, labels of ticks and legends lie inside the figure, with long names and many classes."""
    taken = snap(matrix_of(classes), LONG[:classes] if named else None)
    for figure in (
        taken.plot(),
        plots.confusion_matrix(taken).figure,
        plots.per_class(taken).figure,
    ):
        figure.draw_without_rendering()
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()

        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def edges(ax):
    """Return the lower, upper, left and right edge of axes in pixels."""
    box = ax.get_window_extent()
    return [round(edge) for edge in (box.y0, box.y1, box.x0, box.x1)]


@pytest.mark.parametrize("scored", [False, True])
def test_panels_of_the_overview_are_aligned(scored):
    """Panels of a row share their lower and upper edges, those of a column their left and right ones."""
    scores = [i / 100 for i in range(100)]
    taken = sm.evaluate([0, 1] * 50, scores=scores) if scored else snap(matrix_of(7), LONG[:7])
    figure = taken.plot()
    figure.draw_without_rendering()
    first, second, *below = (edges(ax) for ax in figure.axes)

    assert first[:2] == second[:2]
    for panel in (first, second):
        assert abs((panel[1] - panel[0]) - (panel[3] - panel[2])) <= 1
    assert bool(below) is scored
    if scored:
        third, reliability, weights = below
        assert third[2:] == first[2:]
        assert reliability[2:] == weights[2:] == second[2:]
        assert (weights[0], reliability[1]) == tuple(third[:2])


def test_right_and_wrong_cells_differ_in_hue():
    """Right cells are blue, wrong ones orange, darker with their share of the row; zeros are white."""
    ax = plots.confusion_matrix(snap([[60, 40, 0], [0, 100, 0], [5, 0, 95]]))
    image = ax.images[0]
    red, _, blue, _ = np.moveaxis(image.to_rgba(image.get_array()), -1, 0)

    assert all(blue[at, at] > red[at, at] for at in range(3))
    assert red[0, 1] > blue[0, 1]
    assert red[2, 0] > blue[2, 0]
    assert (red + blue)[0, 1] < (red + blue)[2, 0] < 2
    assert red[0, 2] == blue[0, 2] == 1


def test_the_number_of_samples_is_said_once():
    """The overview names its samples in one place."""
    scored = sm.evaluate([0, 1] * 50, scores=[i / 100 for i in range(100)])
    for taken in (scored, snap()):
        figure = taken.plot()
        texts = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]

        assert sum("100 samples" in text for text in texts) == 1


def test_groups_and_differences_are_drawn():
    """A panel for each metric with the worst group on top; a row for each difference around 0."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    groups = sm.evaluate(truth, truth ^ (rng.random(300) < 0.2), group=rng.choice(list("xyz"), 300))
    figure = groups.plot()
    models = sm.Comparison("old", "new")
    models.update_many(truth, truth ^ (rng.random(300) < 0.4), truth ^ (rng.random(300) < 0.2))
    ax = plots.differences(models.snapshot())
    for drawn_figure in (figure, ax.figure):
        drawn_figure.draw_without_rendering()
        assert drawn_figure.get_tightbbox().x0 >= 0

    worst = [group for group, _ in groups.worst("balanced_accuracy")]
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == worst
    assert [panel.get_title() for panel in figure.axes][:2] == ["Balanced accuracy", "Accuracy"]
    assert all(len(panel.collections) >= 3 for panel in figure.axes)
    assert len(ax.get_yticklabels()) == len(models.snapshot())
    assert ax.get_xlim()[0] == -ax.get_xlim()[1]
    assert sm.evaluate([], [], group=[]).plot() is not None
    with pytest.raises(ValueError, match="`metrics`"):
        plots.groups(groups, [])
