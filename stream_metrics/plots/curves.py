"""ROC, precision-recall and DET curves: one for each class, against the rest.

Equal scores make a step in a precision-recall curve, as average precision adds it up, and a straight line in the other
two; a cell of a rank sketch that holds different scores makes a straight line in all. Beside each area of a rank sketch
stand its certified bounds, unless they agree in at least three decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_metrics.catalog.table import CATALOG
from stream_metrics.formulas.protocol import Floats
from stream_metrics.plots.base import NAME, SERIES, THIN, Style, legend_beside, names, new_axes, samples, show_empty
from stream_metrics.ranking.curves import Best, ThresholdCurve
from stream_metrics.ranking.steps import threshold_sweep
from stream_metrics.report.content import emphasized, single_class
from stream_metrics.report.layout import display_width, fit_names, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stream_metrics.labels import Label
    from stream_metrics.snapshots.snapshot import Snapshot


INCHES = (6.8, 4.6)
GREY = "0.45"
CHANCE: Any = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (2, 3))}
NONE = np.zeros(0)
PROBITS = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 0.9999)  # ticks of a DET curve
CROWDED = (0.001, 0.999)  # left out beside MOST others or more
MOST = 8


class Series(NamedTuple):
    """The classes of a figure with their names and looks, and how its title says which they are."""

    labels: list[Label]
    names: list[str]
    styles: Sequence[Style]
    among: str


def roc(snapshot: Snapshot, labels: Sequence[Label] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the ROC curves of up to 6 classes against the rest, with their areas, and return the axes.

    Without `labels`: the one class of a binary stream, with the threshold of the largest TPR - FPR; otherwise all
    classes, or, of more than 6, those with the lowest area. `KeyError` where the snapshot has no scores.
    """
    shown = select_classes(snapshot, labels)
    ax = _axes(ax, shown, "ROC", "False positive rate", "True positive rate")
    curves = [(snapshot.roc_curve(label), snapshot.estimate("roc_auc", label)) for label in shown.labels]
    drawn = [bool(len(curve.x)) and not np.isnan([curve.x[-1], curve.y[-1]]).any() for curve, _ in curves]
    if not any(drawn):
        return _empty(ax, snapshot, "needs samples of two classes")
    for (curve, area), name, style, there in zip(curves, shown.names, shown.styles, drawn, strict=True):
        x, y = (curve.x, curve.y) if there else (NONE, NONE)
        ax.plot(x, y, color=style.colour, linestyle=style.line, label=f"{name}: {emphasized(area)}", zorder=3)
    ax.plot([0, 1], [0, 1], label="chance: 0.5", zorder=2, **CHANCE)
    if len(shown.labels) == 1:
        _mark(ax, curves[0][0], snapshot.best_threshold(shown.labels[0]), "Youden's J")
    return legend_beside(ax, "Class: area")


def precision_recall(snapshot: Snapshot, labels: Sequence[Label] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the precision-recall curves of up to 6 classes, with their average precision, and return the axes.

    The classes are those of `roc`; a binary stream has its threshold of the largest F1 marked. Dotted lines: the
    shares of the classes, which is the precision of chance.
    """
    shown = select_classes(snapshot, labels)
    ax = _axes(ax, shown, "Precision and recall", "Recall", "Precision")
    curves = [(snapshot.pr_curve(label), snapshot.estimate("average_precision", label)) for label in shown.labels]
    if all(np.isnan(area.value) for _, area in curves):
        return _empty(ax, snapshot, "needs samples of a class")
    for label, (curve, area), name, style in zip(shown.labels, curves, shown.names, shown.styles, strict=True):
        x, y = _steps(curve, threshold_sweep(snapshot.evaluation.column(label)).fine.mixed)
        ax.plot(x, y, color=style.colour, linestyle=style.line, label=f"{name}: {emphasized(area)}", zorder=3)
        if len(x):
            ax.axhline(y[-1], zorder=2, **{**CHANCE, "color": style.colour})
    ax.plot([], [], label="chance: share of class", **CHANCE)
    if len(shown.labels) == 1:
        _mark(ax, curves[0][0], snapshot.best_threshold(shown.labels[0], "f1"), "F1")
    return legend_beside(ax, "Class: average precision")


def det(snapshot: Snapshot, labels: Sequence[Label] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the detection error trade-off of up to 6 classes on normal-deviate axes, and return the axes.

    The classes are those of `roc`. Scores of two normal distributions give a straight line. Rates of exactly 0 or 1
    lie at infinity and are left out. Martin et al. 1997.
    """
    shown = select_classes(snapshot, labels)
    ax = _axes(ax, shown, "Detection error trade-off", "False positive rate, %", "False negative rate, %")
    curves = [snapshot.det_curve(label) for label in shown.labels]
    inside = [(c.x > 0) & (c.x < 1) & (c.y > 0) & (c.y < 1) for c in curves]
    if not any(drawn.any() for drawn in inside):
        return _empty(ax, snapshot, "no threshold makes errors of both kinds")
    probit = np.vectorize(NormalDist().inv_cdf, otypes=[float])
    for curve, drawn, name, style in zip(curves, inside, shown.names, shown.styles, strict=True):
        x, y = (probit(rates[drawn]) if drawn.any() else NONE for rates in (curve.x, curve.y))
        marker = style.marker if drawn.sum() == 1 else None
        ax.plot(x, y, color=style.colour, linestyle=style.line, marker=marker, label=name, zorder=3)
    _probit_axes(ax, [rates[drawn] for c, drawn in zip(curves, inside, strict=True) for rates in (c.x, c.y)])
    return legend_beside(ax, "Class")


def select_classes(snapshot: Snapshot, labels: Sequence[Label] | None) -> Series:
    """Return the classes to draw: those named, or the one of a binary stream, or at most 6 with the lowest area."""
    snapshot.evaluation.view("ranks", "roc_auc")
    own = list(snapshot.evaluation.labels_of(CATALOG["roc_auc"]))
    texts = dict(zip(own, fit_names(names(own), NAME), strict=True))
    among = f", {samples(snapshot.scored)}"
    if labels is not None:
        if isinstance(labels, str) or not 1 <= len(labels) <= len(SERIES):
            raise ValueError(f"Expected `labels` to be a sequence of 1 to {len(SERIES)} classes, but got {labels!r}")
        areas_of_labels = [own[snapshot.evaluation.label_positions("roc_auc", (label,))[0]] for label in labels]
    elif (asked := single_class(snapshot)) is not None:
        areas_of_labels = [asked]
    elif len(own) <= len(SERIES):
        areas_of_labels = own
    else:
        areas = np.array([snapshot.estimate("roc_auc", label).value for label in own])
        areas_of_labels = [own[at] for at in np.argsort(areas, kind="stable")[: len(SERIES)]]
        among = f": {len(areas_of_labels)} of {number(len(own), THIN)} classes, lowest ROC area"
    return Series(areas_of_labels, [texts[label] for label in areas_of_labels], SERIES[: len(areas_of_labels)], among)


def _axes(ax: Axes | None, shown: Series, heading: str, xlabel: str, ylabel: str) -> Axes:
    """Return axes from 0 to 1 with a margin for a curve along the edge, in a figure wide enough for the names."""
    if ax is None:
        longest = max(map(display_width, shown.names), default=0)
        ax = new_axes((INCHES[0] + 0.075 * longest, INCHES[1]), anchor="W")
    ax.set_title(heading + shown.among)
    ax.set(xlabel=xlabel, ylabel=ylabel, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal")
    ax.grid(alpha=0.3)
    ax.set_axisbelow(True)
    return ax


def _empty(ax: Axes, snapshot: Snapshot, needs: str) -> Axes:
    return show_empty(ax, f"undefined: {needs}" if snapshot.scored else "nothing scored yet")


def _steps(curve: ThresholdCurve, mixed: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return recall and precision from the first threshold on that finds any of the class; empty if it has none.

    Equal scores make a step: the precision of all of them for each. A cell of different scores makes a straight line.
    """
    positive = np.flatnonzero(curve.x > 0)
    if not len(positive):
        return NONE, NONE
    x, y = curve.x[positive], curve.y[positive]
    before = np.append(0.0, x[:-1])
    bends = np.where(mixed[positive - 1], np.append(y[0], y[:-1]), y)
    return np.column_stack([before, x]).ravel(), np.column_stack([bends, y]).ravel()


def _mark(ax: Axes, curve: ThresholdCurve, best: Best, metric: str) -> None:
    """Mark the last point of a curve whose scores are not below the best threshold, if there is one."""
    if np.isfinite(best.threshold):
        at = int(np.searchsorted(-curve.thresholds, -best.threshold, "right")) - 1
        text = f"best threshold {best.threshold:.4g},\n{metric} {best.value:.3f}"
        ax.plot(
            curve.x[at], curve.y[at], "o", color="black", markerfacecolor="none", markersize=8, label=text, zorder=4
        )


def _probit_axes(ax: Axes, rates: Sequence[Floats]) -> None:
    """Write rates in per cent at their normal deviates, from a tick below the smallest to one above the largest."""
    inside = np.concatenate(rates)
    first = max(int(np.searchsorted(PROBITS, inside.min(), "right")) - 1, 0)
    last = min(int(np.searchsorted(PROBITS, inside.max())), len(PROBITS) - 1)
    ticks = [rate for rate in PROBITS[first : last + 1] if last - first < MOST or rate not in CROWDED]
    places = [NormalDist().inv_cdf(rate) for rate in ticks]
    ends = [NormalDist().inv_cdf(rate) for rate in (min(ticks[0], inside.min()), max(ticks[-1], inside.max()))]
    texts = [f"{100 * rate:g}" for rate in ticks]
    limits = (ends[0] - 0.1, ends[1] + 0.1)
    ax.set_xticks(places, texts)
    ax.set_yticks(places, texts)
    ax.set(xlim=limits, ylim=limits)
