"""Values of each class, one class a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stream_metrics.catalog.spec import MetricSpec
from stream_metrics.catalog.table import find
from stream_metrics.plots import base
from stream_metrics.plots.base import NAME, SERIES, THIN, Style, names, new_axes, samples, show_empty, title
from stream_metrics.report.content import class_bounds, class_values, classes_shown, row_labels, weakest
from stream_metrics.report.layout import fit_names, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stream_metrics.snapshots.snapshot import Snapshot


CLASSES = 40  # rows of a figure


def per_class(
    snapshot: Snapshot, metrics: Sequence[str] = ("precision", "recall", "f1"), *, ax: Axes | None = None
) -> Axes:
    """Draw the values of `metrics`, which are per-class keys, one class a row, and return the axes.

    Of more than 40 classes, the 40 with the lowest F1 are drawn (of scores alone, ROC AUC), worst on top. Hollow
    markers are undefined values (0/0). Lines are the intervals of a snapshot `with_intervals`.
    """
    rows = _rows(metrics)
    shown, labels = classes_shown(snapshot, CLASSES), row_labels(snapshot)
    if ax is None:
        ax = new_axes((7.0, 1.6 + 0.32 * max(len(shown), 2)))
    heading = f"Per class, {samples(snapshot.n)}"
    if len(shown) < len(labels):
        lowest = title(weakest(snapshot))
        heading = f"The {len(shown)} classes with the lowest {lowest}, of {number(len(labels), THIN)}"
    ax.set_title(heading, pad=24 if base.has_margins(ax) else None)
    ax.set(xlabel=title(rows[0].key) if len(rows) == 1 else "Value", ylabel="Class")
    if not shown:
        return show_empty(ax)
    middle = (len(rows) - 1) / 2
    hollow = [_series(ax, snapshot, row.key, shown, (at - middle, SERIES[at])) for at, row in enumerate(rows)]
    if any(hollow):
        ax.scatter([], [], facecolors="none", edgecolors="0.5", marker="o", s=26, label="undefined (0/0)")
    texts = names(labels)
    ax.set_yticks(range(len(shown)), fit_names([texts[at] for at in shown], NAME, shown), parse_math=False)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    if math.isfinite(low) and math.isfinite(high):
        ax.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    for at in range(0, len(shown), 2):
        ax.axhspan(at - 0.5, at + 0.5, color="0.5", alpha=0.08, linewidth=0)
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    if not base.has_margins(ax):
        return base.legend_beside(ax)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(rows) + 1,
        frameon=False,
        borderaxespad=0.1,
        handletextpad=0.2,
    )
    return ax


def _rows(metrics: Sequence[str]) -> list[MetricSpec]:
    """Return the rows of the catalogue for `metrics`, if all are per class and not too many to tell apart."""
    if isinstance(metrics, str) or not 1 <= len(metrics) <= len(SERIES):
        raise ValueError(f"Expected `metrics` to be a sequence of 1 to {len(SERIES)} keys, but got {metrics!r}")
    rows = [find(key) for key in metrics]
    for row in rows:
        if row.kind != "per_class":
            raise ValueError(f"Expected `metrics` to be per-class keys, but got {row.key!r}")
    return rows


def _series(ax: Axes, snapshot: Snapshot, key: str, shown: Sequence[int], look: tuple[float, Style]) -> bool:
    """Draw one metric: a point per class, beside those of the others; tell whether one is undefined, thus hollow."""
    aside, (colour, marker, _) = look
    points = class_values(snapshot, key, shown)
    values = np.array([math.nan if value is None else value for value, _ in points])
    hollow = np.array([undefined for _, undefined in points])
    height = np.arange(len(shown)) + 0.16 * aside
    ax.scatter(values[~hollow], height[~hollow], color=colour, marker=marker, s=26, label=title(key), zorder=3)
    ax.scatter(values[hollow], height[hollow], facecolors="none", edgecolors=colour, marker=marker, s=26, zorder=3)
    for at, interval in zip(height, class_bounds(snapshot, key, shown), strict=True):
        if interval is not None:
            ax.hlines(at, interval.low, interval.high, color=colour, linewidth=1.2, alpha=0.8, zorder=2)
    return bool(hollow.any())
