"""Metrics of groups: one group a row, the worst on top, one panel for each metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stream_metrics.catalog.table import find
from stream_metrics.errors import quantity
from stream_metrics.evaluation.numbers import number_of
from stream_metrics.plots.base import NAME, SERIES, THIN, names, new_figure, samples, show_empty, title
from stream_metrics.ranking.classes import asked_class
from stream_metrics.report.groups import group_keys, is_one_number, ranked_groups
from stream_metrics.report.intervals import value_bounds
from stream_metrics.report.layout import display_width, fit_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stream_metrics.inference.intervals.interval import Interval
    from stream_metrics.labels import Label
    from stream_metrics.snapshots.groups import GroupSnapshot
    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["groups"]

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
