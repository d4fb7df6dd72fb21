"""Values of metrics as a stream goes on.

The axis of values fits the lines, since such a figure is to show a drop of two hundredths. Points are marked
where there are few of them; a value that is nan leaves a gap in its line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.catalog.table import find
from stream_metrics.plots.base import SERIES, THIN, Numbers, legend_beside, new_axes, show_empty, thousands, title
from stream_metrics.report.layout import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INCHES = (9.0, 4.2)
FEW = 40  # points that are marked
LONGEST = 60  # characters of a title that names the metrics


def running(
    at: Sequence[float | datetime] | NDArray[np.generic],
    values: Mapping[str, Sequence[float]],
    *,
    bounds: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    xlabel: str = "Samples",
    ax: Axes | None = None,
) -> Axes:
    """Draw up to 6 metrics, `values` by their keys, over `at`, and return the axes.

    `at` are numbers of samples, or times: datetimes or an array of NumPy datetime64, the axis of which is in UTC.
    `bounds` are intervals of the values by key, drawn as bands; one that is nan, or the whole range of the metric,
    leaves a gap. `ValueError` if a metric has not as many values, or intervals, as there are points, `KeyError` if
    there is none of that key.
    """
    if not 1 <= len(values) <= len(SERIES):
        raise ValueError(f"Expected `values` to be of 1 to {len(SERIES)} metrics, but got {len(values)}")
    for key, column in [*values.items(), *(bounds or {}).items()]:
        if len(column) != len(at):
            raise ValueError(f"Expected {len(at)} values of {key!r}, one a point, but got {len(column)}")
    titles = {key: title(find(key).key) for key in values}
    if ax is None:
        ax = new_axes(INCHES)
    where = np.asarray(at)
    times = bool(len(where)) and not np.issubdtype(where.dtype, np.number)
    ax.set_title(_heading(list(values), where, "time" if times else xlabel))
    ax.set(xlabel="Time (UTC)" if times else xlabel, ylabel="Value")
    if not len(where):
        return show_empty(ax)
    for style, (key, column) in zip(SERIES, values.items(), strict=False):
        line = np.asarray(column, np.float64)
        alone = len(where) <= FEW or not _has_segments(line)
        marker = style.marker if alone else ""
        if bounds and key in bounds:
            low, high = _informative_bounds(np.array(bounds[key], np.float64).T, find(key))
            ax.fill_between(where, low, high, color=style.colour, alpha=0.15, linewidth=0)
        ax.plot(where, line, color=style.colour, linestyle=style.line, marker=marker, markersize=4, label=titles[key])
    _scale(ax, times)
    return ax if len(values) == 1 else legend_beside(ax, "Metric")


def _heading(keys: Sequence[str], where: Numbers, axis: str) -> str:
    """Return what is drawn: the names of metrics that fit a line, and how far the axis goes."""
    texts = [title(key) for key in keys]
    text = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    shown = text if len(text) <= LONGEST else f"{len(texts)} metrics"
    if axis != "Samples" or not len(where):
        return f"{shown} over {axis.lower()}"
    return f"{shown} over {number(float(where.max()), THIN)} samples"


def _informative_bounds(bounds: Numbers, row: MetricSpec) -> Numbers:
    """Return low and high, nan where they are the whole range of a metric and say nothing."""
    return np.where((bounds[0] <= row.low) & (bounds[1] >= row.high), np.nan, bounds)


def _has_segments(line: Numbers) -> bool:
    """Tell whether every value has a neighbour, so that a line shows it."""
    there = np.concatenate([[False], ~np.isnan(line), [False]])
    return not (there[1:-1] & ~there[:-2] & ~there[2:]).any()


def _scale(ax: Axes, times: bool) -> None:
    """Write times shortly, and numbers in full with their thousands apart."""
    from matplotlib import dates

    if times:
        locator = dates.AutoDateLocator(tz="UTC")  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, tz="UTC"))  # type: ignore[no-untyped-call]
    else:
        ax.xaxis.set_major_formatter(thousands)
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.grid(alpha=0.3)
    ax.set_axisbelow(True)
