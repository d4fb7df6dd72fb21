"""The figure of running values: its lines and axes, and its errors."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from stream_metrics import plots

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def texts(ax):
    """Draw the figure and return the names in its legend."""
    ax.figure.savefig(io.BytesIO(), format="png")
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_values_are_drawn_over_samples():
    """Each metric is a line through its values, told apart by its name; the axis says samples, thousands apart."""
    ax = plots.running([1000, 2000, 3000], {"accuracy": [0.5, 0.6, 0.7], "macro_f1": [0.4, 0.5, 0.6]})
    names = texts(ax)

    assert names == ["Accuracy", "Macro F1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Samples", "Value")
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]]
    assert list(ax.lines[0].get_xdata()) == [1000, 2000, 3000]
    assert "2\u202f000" in [tick.get_text() for tick in ax.get_xticklabels()]


def test_one_metric_is_named_by_the_title():
    """A single line needs no legend."""
    ax = plots.running([1, 2], {"accuracy": [0.5, 0.6]})

    assert texts(ax) == []
    assert ax.get_title().startswith("Accuracy over ")


def test_values_are_drawn_over_time():
    """Times make an axis of times, in UTC."""
    at = np.array(["2024-03-01T10:00", "2024-03-01T11:00", "2024-03-01T12:00"], "datetime64[us]")
    ax = plots.running(at, {"accuracy": [0.5, 0.6, 0.7]})
    texts(ax)

    assert ax.get_xlabel() == "Time (UTC)"
    assert {"10:00", "11:00", "12:00"} <= {tick.get_text() for tick in ax.get_xticklabels()}


@pytest.mark.parametrize(("hole", "marked"), [(None, False), (50, False), (slice(1, None, 2), True)])
def test_lonely_values_are_marked(hole, marked):
    """Of many points those that no line shows are marked; undefined ones leave a gap."""
    values = np.full(100, 0.5)
    if hole is not None:
        values[hole] = math.nan
    ax = plots.running(range(100), {"accuracy": values})
    texts(ax)

    assert marked == (ax.lines[0].get_marker() == "o")
    assert int(np.isnan(values).sum()) == int(np.isnan(ax.lines[0].get_ydata()).sum())


def test_nothing_counted_is_said():
    """Without points the figure says so."""
    ax = plots.running([], {"accuracy": []})
    texts(ax)

    assert [text.get_text() for text in ax.texts] == ["nothing counted yet"]


def test_own_axes_are_used():
    """A figure is drawn on the axes that are given."""
    ax = matplotlib.figure.Figure().add_subplot()

    assert plots.running([1], {"accuracy": [0.5]}, ax=ax) is ax


@pytest.mark.parametrize(
    ("values", "error", "reason"),
    [
        ({}, ValueError, "1 to 6 metrics, but got 0"),
        ({key: [0.5] for key in "abcdefg"}, ValueError, "1 to 6 metrics, but got 7"),
        ({"accuracy": [0.5, 0.6]}, ValueError, "Expected 1 values of 'accuracy', one a point, but got 2"),
        ({"acuracy": [0.5]}, KeyError, "acuracy"),
    ],
)
def test_what_cannot_be_drawn_is_refused(values, error, reason):
    """Too many metrics, unknown ones, and columns of another length are errors."""
    with pytest.raises(error, match=reason):
        plots.running([1], values)
