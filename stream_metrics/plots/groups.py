"""Metrics of groups, the worst on top, one panel for each metric; and differences of two models around 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stream_metrics.catalog.table import CATALOG, find
from stream_metrics.errors import quantity
from stream_metrics.evaluation.evaluation import number_of
from stream_metrics.plots.base import (
    NAME,
    SERIES,
    THIN,
    legend_beside,
    names,
    new_axes,
    new_figure,
    samples,
    show_empty,
    title,
)
from stream_metrics.ranking.classes import asked_class
from stream_metrics.report.comparison import differences as read_differences
from stream_metrics.report.groups import group_keys, is_one_number, ranked_groups
from stream_metrics.report.intervals import value_bounds
from stream_metrics.report.layout import display_width, fit_names, shorten, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.comparison import ComparisonSnapshot, Difference
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.snapshot import Snapshot

MOST_GROUPS = 40  # rows of a figure
MOST = 4  # panels of a figure
PANEL, ROW = 2.6, 0.28  # inches
LEVEL = 0.95


def groups(snapshot: GroupSnapshot, metrics: Sequence[str] | None = None, *, label: Label | None = None) -> Figure:
    """Draw metrics of every group with intervals, the worst group on top, and return the figure.

    Parameters
    ----------
    snapshot : GroupSnapshot
        The groups. Intervals are those it shows, by default of 95 % and for one look; they hold for all groups
        together.
    metrics : sequence of str, optional
        Keys of up to 6 metrics that are one number. By default the first four of the report that have values. Groups
        are in the order of the first.
    label : Label, optional
        The class of per-class metrics.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, a panel for each metric. A dashed line is the value of all samples together. Of more than 40 groups
        the 40 worst are drawn.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there are no metrics, or more than 6.
    KeyError
        If there is no such key.

    Examples
    --------
    >>> import stream_metrics as sm
    >>> taken = sm.evaluate([1, 0] * 4, [1, 0, 0, 0] * 2, group=["x", "x", "y", "y"] * 2)
    >>> figure = sm.plots.groups(taken, ["accuracy"])
    """
    snapshot._with_metrics()
    keys = _checked(snapshot, metrics, label)
    ranked = ranked_groups(snapshot)
    if metrics is not None and keys and find(keys[0]).direction is not None:
        worst = [group for group, _ in snapshot.worst(keys[0], label=_class_of(keys[0], label))]
        ranked = worst + [group for group in ranked if group not in set(worst)]
    shown = ranked[:MOST_GROUPS]
    texts = dict(zip(ranked, names(ranked), strict=True))
    short = fit_names([texts[group] for group in shown], NAME)
    wide = 0.085 * max(map(display_width, short), default=0)
    figure = new_figure((0.8 + wide + PANEL * max(len(keys), 2), 1.7 + ROW * max(len(shown), 3)))
    figure.suptitle(_heading(snapshot, len(shown), len(ranked)), fontsize=11)
    if not shown or not keys:
        show_empty(figure.add_subplot())
        return figure
    panels = np.ravel(figure.subplots(1, len(keys), sharey=True, squeeze=False))
    drawn = snapshot if snapshot.interval_level is not None else snapshot.with_intervals(LEVEL)
    for ax, key in zip(panels, keys, strict=True):
        _panel(ax, drawn, key, shown, label)
    panels[0].set_yticks(range(len(shown)), short, parse_math=False)
    panels[0].set_ylim(len(shown) - 0.5, -0.5)
    panels[0].set_ylabel("Group")
    if any(bounds.note for key in keys for group in shown if (bounds := _bounds(drawn[group], key, label)) is not None):
        figure.supxlabel("Dotted intervals are not to be trusted: too few samples", fontsize=9)
    return figure


def _checked(snapshot: GroupSnapshot, metrics: Sequence[str] | None, label: Label | None) -> list[str]:
    if metrics is None:
        return group_keys(snapshot)[:MOST] if len(snapshot) else []
    if isinstance(metrics, str) or not 1 <= len(metrics) <= len(SERIES):
        raise ValueError(f"Expected `metrics` to be a sequence of 1 to {len(SERIES)} keys, but got {metrics!r}")
    keys = [find(key).key for key in metrics]
    for key in keys:
        snapshot.values_of(key, _class_of(key, label))  # raises if it has no single number
    return keys


def _heading(snapshot: GroupSnapshot, shown: int, count: int) -> str:
    """Return which groups are drawn, and what the lines are."""
    n = sum(view.n for view in snapshot.values()) + snapshot.folded
    which = quantity(count, "group", THIN)
    if shown < count:
        which = f"The {shown} worst of {which}"
    level = LEVEL if snapshot.interval_level is None else snapshot.interval_level
    return f"{which}, {samples(n)}, {100 * level:g} % intervals for all groups together"


def _panel(ax: Axes, snapshot: GroupSnapshot, key: str, shown: Sequence[Label], label: Label | None) -> None:
    """Draw one metric of every group."""
    row, style = find(key), SERIES[0]
    ax.set_title(title(key), fontsize=10)
    for at, group in enumerate(shown):
        value, bounds = _value(snapshot[group], key, label), _bounds(snapshot[group], key, label)
        if math.isnan(value):
            ax.text(0.5, at, "0/0", transform=ax.get_yaxis_transform(), ha="center", va="center", color="0.45")
            continue
        if bounds is not None:
            doubted = bool(bounds.note)
            ax.hlines(
                at, bounds.low, bounds.high, color=style.colour, linewidth=1.4, zorder=2,
                linestyle=":" if doubted else "-",
            )  # fmt: skip
        ax.plot(value, at, style.marker, color=style.colour, markersize=5, zorder=3)
    whole = snapshot.overall
    overall = math.nan if whole is None or not is_one_number(whole, key) else _value(whole, key, label)
    if not math.isnan(overall):
        ax.axvline(overall, color="0.45", linestyle="--", linewidth=1, zorder=1)
        ax.set_xlabel(f"all: {overall:.3f}" + (", lower is better" if row.direction == "lower" else ""), fontsize=9)
    if row.low == 0 and row.high == 1:
        ax.set_xlim(-0.03, 1.03)
    for at in range(0, len(shown), 2):
        ax.axhspan(at - 0.5, at + 0.5, color="0.5", alpha=0.08, linewidth=0)
    ax.grid(axis="x", alpha=0.3)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)


def _class_of(key: str, label: Label | None) -> Label | None:
    """Return the class whose value is drawn; None for a metric that has no classes."""
    return None if find(key).kind == "whole" else label


def _value(view: Snapshot, key: str, label: Label | None) -> float:
    return math.nan if view.evaluation.obstacle(key) else number_of(view.evaluation, key, _class_of(key, label))


def _bounds(view: Snapshot, key: str, label: Label | None) -> Interval | None:
    if view.evaluation.obstacle(key):
        return None
    if find(key).kind == "whole":
        return value_bounds(view, key)
    asked = asked_class(view.evaluation.view("ranks", key)) if label is None else label
    return None if asked is None else value_bounds(view, key, asked)


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
