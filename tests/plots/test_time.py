"""The figure of running values: its lines and axes, and its errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused

from stream_metrics import plots

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytestmark = pytest.mark.quick


def texts(ax: Any) -> list[str]:
    """Draw the figure and return the names in its legend."""
    ax.figure.draw_without_rendering()
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_values_are_drawn_over_samples() -> None:
    """Each metric is a line that the legend names, a single one the title; the axis says samples, thousands apart."""
    ax = plots.running([1000, 2000, 3000], {"accuracy": [0.5, 0.6, 0.7], "macro_f1": [0.4, 0.5, 0.6]})
    own = matplotlib.figure.Figure().add_subplot()

    assert texts(ax) == ["Accuracy", "Macro F1"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Samples", "Value")
    assert [list(line.get_ydata()) for line in ax.lines] == [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]]
    assert list(ax.lines[0].get_xdata()) == [1000, 2000, 3000]
    assert "2\u202f000" in [tick.get_text() for tick in ax.get_xticklabels()]
    assert plots.running([1, 2], {"accuracy": [0.5, 0.6]}, ax=own) is own
    assert texts(own) == []
    assert own.get_title().startswith("Accuracy over ")


def test_values_are_drawn_over_time() -> None:
    """Times make an axis of times, in UTC; without points the figure says so."""
    at = np.array(["2024-03-01T10:00", "2024-03-01T11:00", "2024-03-01T12:00"], "datetime64[us]")
    ax, empty = plots.running(at, {"accuracy": [0.5, 0.6, 0.7]}), plots.running([], {"accuracy": []})
    texts(ax)
    texts(empty)

    assert ax.get_xlabel() == "Time (UTC)"
    assert {"10:00", "11:00", "12:00"} <= {tick.get_text() for tick in ax.get_xticklabels()}
    assert [text.get_text() for text in empty.texts] == ["nothing counted yet"]


def test_lonely_values_are_marked() -> None:
    """Of many points those that no line shows are marked; undefined ones leave a gap."""
    for hole, marked in ((slice(0, 0), False), (50, False), (slice(1, None, 2), True)):
        values = np.full(100, 0.5)
        values[hole] = math.nan
        ax = plots.running(range(100), {"accuracy": values})
        texts(ax)
        assert marked == (ax.lines[0].get_marker() == "o")
        assert np.isnan(values).sum() == np.isnan(ax.lines[0].get_ydata()).sum()


def test_what_cannot_be_drawn_is_refused() -> None:
    """Too many metrics, unknown ones, and columns of another length are errors."""
    cases: list[tuple[dict[str, list[float]], type[Exception], str]] = [
        ({}, ValueError, "1 to 6 metrics, but got 0"),
        ({key: [0.5] for key in "abcdefg"}, ValueError, "1 to 6 metrics, but got 7"),
        ({"accuracy": [0.5, 0.6]}, ValueError, "Expected 1 values of 'accuracy', one a point, but got 2"),
        ({"acuracy": [0.5]}, KeyError, "acuracy"),
    ]
    all_refused((lambda values=values: plots.running([1], values), kind, about) for values, kind, about in cases)
