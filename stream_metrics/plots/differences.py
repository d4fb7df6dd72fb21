"""Differences of two models with their intervals around 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from stream_metrics.catalog.table import CATALOG
from stream_metrics.plots.base import NAME, SERIES, legend_beside, new_axes, samples, show_empty, title
from stream_metrics.report.comparison import differences as read_differences
from stream_metrics.report.layout import shorten, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stream_metrics.snapshots.comparison import ComparisonSnapshot, Difference

__all__ = ["differences"]

ONE_LOOK, ALL_LOOKS = SERIES[0].colour, "0.6"


def differences(snapshot: ComparisonSnapshot, level: float = 0.95, *, ax: Axes | None = None) -> Axes:
    """Draw the difference of the models in each metric of the report, and return the axes.

    Parameters
    ----------
    snapshot : ComparisonSnapshot
        The models.
    level : float, default 0.95
        Confidence of the intervals, in (0, 1).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Thick lines are intervals for one look, thin ones for any number of looks; those that are not to be
        trusted are left out. Differences to the right of 0 are larger values of the second model.

    Raises
    ------
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> models = sm.Comparison("old", "new")
    >>> models.update_many([1] * 100, [1] * 70 + [0] * 30, [1] * 85 + [0] * 15)
    >>> ax = sm.plots.differences(models.snapshot())
    """
    pairs = read_differences(snapshot, level)
    rows = {key: pair for key, pair in pairs.items() if not isinstance(pair, str) and not math.isnan(pair[0].value)}
    if ax is None:
        ax = new_axes((7.4, 1.9 + 0.42 * max(len(rows), 2)))
    a, b = (shorten(visible(name), NAME) for name in snapshot.names)
    ax.set_title(f"{b} against {a}, {samples(snapshot.n)}", parse_math=False)
    if not rows:
        return show_empty(ax, "nothing can be compared" if snapshot.n else "nothing counted yet")
    for at, (once, always) in enumerate(rows.values()):
        _row(ax, at, once, always)
    ax.axvline(0, color="0.3", linewidth=1, zorder=1)
    texts = [title(key) + "\n(lower is better)" * (CATALOG[key].direction == "lower") for key in rows]
    ax.set_yticks(range(len(rows)), texts)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel(f"Difference: {b} less {a}", parse_math=False)
    _centre(ax)
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    ax.plot([], [], color=ONE_LOOK, linewidth=3, label=f"{100 * level:g} %, one look")
    ax.plot([], [], color=ALL_LOOKS, linewidth=1.2, label=f"{100 * level:g} %, any number of looks")
    return legend_beside(ax)


def _row(ax: Axes, at: int, once: Difference, always: Difference) -> None:
    """Draw one metric: its difference, and the intervals that are to be trusted."""
    for difference, colour, width in ((always, ALL_LOOKS, 1.2), (once, ONE_LOOK, 3.0)):
        if not difference.note and not math.isnan(difference.low):
            ax.hlines(at, difference.low, difference.high, color=colour, linewidth=width, zorder=2)
    ax.plot(once.value, at, "o", color="black", markersize=5, zorder=3)


def _centre(ax: Axes) -> None:
    """Make 0 the middle of the axis."""
    most = max(map(abs, ax.get_xlim()))
    ax.set_xlim(-most, most)
