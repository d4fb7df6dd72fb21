"""Figures: drawn off screen, legible, and without side effects."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused, refused
from support.values import snapshot

import stream_metrics as sm
from stream_metrics import plots

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")

MATRIX = [[24, 2, 1], [3, 30, 4], [0, 5, 31]]
LONG = [f"a class with quite a long name, number {k:03d}" for k in range(100)]


def cells(ax: Any) -> list[str]:
    """Draw the figure and return what its cells say."""
    ax.figure.draw_without_rendering()
    return [text.get_text() for text in ax.texts]


def y_labels(ax: Any) -> list[str]:
    """Return the labels of the vertical axis."""
    return [tick.get_text() for tick in ax.get_yticklabels()]


def errors(classes: int) -> np.ndarray:
    """Return counts of many errors in all places."""
    return np.asarray(30 * np.eye(classes, dtype=int) + np.arange(classes**2).reshape(classes, -1) % 3)


def test_any_number_of_classes_can_be_drawn() -> None:
    """Both figures draw without a warning at every size, with labels on a readable number of ticks."""
    for classes in (0, 1, 2, 10, 50, 200):
        taken = snapshot(3 * np.eye(classes, dtype=int) + np.tri(classes, k=-1, dtype=int))
        cells(plots.per_class(taken))
        for normalize in (None, "true"):
            ax = plots.confusion_matrix(taken, normalize=normalize)
            cells(ax)
            assert len(ax.get_xticklabels()) <= 60
            assert (ax.get_xlabel(), ax.get_ylabel()) == ("Predicted class", "True class")


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
    from matplotlib.colors import to_rgb

    ax = plots.confusion_matrix(snapshot(np.arange(1, 65).reshape(8, 8) ** 2))
    colours = ax.images[0].to_rgba(ax.images[0].get_array())
    for text in ax.texts:
        column, row = map(round, text.get_position())
        low, high = sorted([luminance(colours[row, column]), luminance(to_rgb(text.get_color()))])
        assert (high + 0.05) / (low + 0.05) >= 4.5
    image = plots.confusion_matrix(snapshot([[60, 40, 0], [0, 100, 0], [5, 0, 95]])).images[0]
    red, _, blue, _ = np.moveaxis(image.to_rgba(image.get_array()), -1, 0)
    assert all(blue[at, at] > red[at, at] for at in range(3))
    assert red[0, 1] > blue[0, 1]
    assert red[2, 0] > blue[2, 0]
    assert (red + blue)[0, 1] < (red + blue)[2, 0] < 2
    assert red[0, 2] == blue[0, 2] == 1


@pytest.mark.quick
def test_the_scale_beside_the_matrix_is_that_of_the_cells() -> None:
    """Beside the matrix stand the colours of right and wrong cells by their share in per cent."""
    ax = plots.confusion_matrix(snapshot(MATRIX))
    (bar,) = ax.child_axes
    image, scale = ax.images[0], bar.images[0]

    assert y_labels(bar) == ["0", "1", "5", "20", "50", "100"]
    assert [tick.get_text() for tick in bar.get_xticklabels()] == ["right", "wrong"]
    assert bar.get_ylabel() == "share of the true class, %"
    assert scale.to_rgba(scale.get_array())[-1].tolist() == image.to_rgba(np.array([100.0, -100.0])).tolist()


def test_figures_that_would_be_illegible_are_left_out() -> None:
    """In a small frame or with many classes the cells carry no figures; given axes are drawn on and come back."""
    from matplotlib.figure import Figure

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
    hollow, plain = (
        plots.per_class(snapshot(matrix)).get_legend().get_texts() for matrix in ([[4, 0], [1, 0]], MATRIX)
    )
    marks = plots.per_class(snapshot([[4, 0], [1, 0]])).collections
    assert any(len(mark.get_offsets()) and not len(mark.get_facecolors()) for mark in marks)
    state = sm.RankSketch()
    state.update_many(["a", "b"], np.array([[0.9, 0.1], [0.2, 0.8]]), classes=["a", "b"])
    areas = plots.per_class(state.snapshot(), ["roc_auc", "average_precision"])

    assert [f1[int(label)] for label in y_labels(ax)] == sorted(f1.values())[:40]
    assert ax.get_title() == "The 40 classes with the lowest F1, of 200"
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in hollow] == ["precision", "recall", "F1", "undefined (0/0)"]
    assert len(plain) == 3
    assert y_labels(areas) == ["a", "b"]
    assert areas.collections[0].get_offsets()[:, 0].tolist() == [1.0, 1.0]


@pytest.mark.quick
def test_what_cannot_be_drawn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are none of classes, none at all or too many; unknown normalizations; figures without matplotlib."""
    taken = snapshot(MATRIX)
    wrong: list[Any] = [(), "recall", ["accuracy"], ["recall"] * 7]
    all_refused((lambda keys=keys: plots.per_class(taken, keys), ValueError, "metrics") for keys in wrong)
    error = refused(lambda: plots.confusion_matrix(taken, normalize="rows"), ValueError, '"true", "pred" or "all"')
    assert "but got 'rows'" in str(error)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (plots.confusion_matrix, plots.per_class, plots.overview):
        refused(lambda draw=draw: draw(taken), ImportError, "pip install stream-metrics[plot]")


def test_drawing_touches_no_global_state() -> None:
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


def test_nothing_is_cut_off() -> None:
    """Titles, labels of ticks and legends lie inside the figure, with long names and many classes."""
    for classes, named in itertools.product((2, 7, 30, 100), (False, True)):
        taken = snapshot(errors(classes), LONG[:classes] if named else None)
        for figure in (taken.plot(), plots.confusion_matrix(taken).figure, plots.per_class(taken).figure):
            figure.draw_without_rendering()
            box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
            assert min(box.x0, box.y0) >= 0, (classes, named)
            assert box.x1 <= width
            assert box.y1 <= height


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
    assert len(ax.get_yticklabels()) == len(models.snapshot())
    assert ax.get_xlim()[0] == -ax.get_xlim()[1]
    assert ax.get_xlabel() == "Difference: new less old"
    loss = plots.groups(groups, ["zero_one_loss"]).axes[0]
    assert figure.axes[1].get_xlabel() == f"all: {groups.overall['accuracy']:.3f}"
    assert loss.get_xlabel() == f"all: {groups.overall['zero_one_loss']:.3f}, lower is better"
    assert loss.get_xlim() == figure.axes[1].get_xlim() == (-0.03, 1.03)
    assert sm.evaluate([], [], group=[]).plot() is not None
    refused(lambda: plots.groups(groups, []), ValueError, "metrics")
