"""Reliability diagrams: scores against the shares that they predict, and how many samples each point stands for.

The samples of a good model crowd near 0 and 1, and the few between shape the curve: then the weights of the bins have a
logarithmic scale, without which only the crowd would be visible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stream_metrics.plots.base import Numbers, Style, legend_beside, new_figure, samples, show_empty, shown, thousands
from stream_metrics.plots.curves import CHANCE, select_classes
from stream_metrics.report.content import emphasized, single_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from stream_metrics.labels import Label
    from stream_metrics.ranking.calibration import Reliability
    from stream_metrics.snapshots.snapshot import Snapshot


BINS = 15
INCHES = (7.0, 5.4)
PREDICTION = Style("black", "o", "-")
UNEVEN = 30  # times as much weight in one bin as in another


class CalibrationCurve(NamedTuple):
    """One curve: its name, its points, how it looks."""

    name: str
    points: Reliability
    style: Style


def reliability(snapshot: Snapshot, labels: Sequence[Label] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the share of a class against its mean score in 15 bins of equal width, and return the axes.

    Without `labels`: of a binary stream, `pos_label`; otherwise the share of right predictions against the largest
    score, where the snapshot has it, else the classes of `roc`. ECE is the expected calibration error. Without `ax`,
    the weight of the bins stands below. `KeyError` where the snapshot has no scores.
    """
    above, below = (ax, None) if ax is not None else stacked(new_figure(INCHES))
    return draw_reliability(snapshot, labels, above if below is None else shown(above), below)


def stacked(figure: FigureBase) -> tuple[Axes, Axes]:
    """Return the axes of a diagram and those of the weights below."""
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    return above, below


def draw_reliability(snapshot: Snapshot, labels: Sequence[Label] | None, ax: Axes, below: Axes | None) -> Axes:
    """Draw a reliability diagram, and the weight of its bins in the axes below, if there are any."""
    curves, heading = _curves(snapshot, labels)
    if not any(len(curve.points.scores) for curve in curves):
        ax.set_title(f"Reliability, {samples(snapshot.scored)}")
        if below is not None and (place := below.get_subplotspec()) is not None:
            below.remove()
            ax.set_subplotspec(place.get_gridspec()[:])
        elif below is not None:
            low, high = below.get_position(), ax.get_position()
            below.remove()
            ax.set_position((low.x0, low.y0, high.width, high.y1 - low.y0))
        return show_empty(ax, "undefined: a score lies outside [0, 1]" if snapshot.scored else "nothing scored yet")
    ax.set_title(heading)
    ax.set(xlabel="Mean score", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_ylabel("Share of right predictions" if curves[0].style is PREDICTION else "Share of the class")
    ax.plot([0, 1], [0, 1], label="calibrated", zorder=2, **CHANCE)
    for name, points, style in curves:
        ax.plot(
            points.scores, points.shares, color=style.colour, linestyle=style.line, marker=style.marker, markersize=4.5,
            linewidth=1.2, label=name, zorder=3,
        )  # fmt: skip
    ax.grid(alpha=0.3)
    ax.set_axisbelow(True)
    legend_beside(ax, "Class: ECE" if len(curves) > 1 else "")
    if below is not None:
        ax.set_xlabel("")
        _weights(below, curves, "Samples" if snapshot.weight == snapshot.n else "Weight")
    return ax


def _curves(snapshot: Snapshot, labels: Sequence[Label] | None) -> tuple[list[CalibrationCurve], str]:
    """Return the curves and the title."""
    shown = select_classes(snapshot, labels)
    count = samples(snapshot.scored)
    if labels is None and single_class(snapshot) is None and "confidence" in snapshot.evaluation.states:
        error = emphasized(snapshot.estimate("expected_calibration_error_top"))
        curve = CalibrationCurve("largest score", snapshot.reliability_curve(bins=BINS), PREDICTION)
        return [curve], f"Reliability of predictions, {count}\nECE {error}"
    points = [snapshot.reliability_curve(label, bins=BINS) for label in shown.labels]
    errors = [emphasized(snapshot.estimate("expected_calibration_error", label)) for label in shown.labels]
    if len(points) == 1:
        return [CalibrationCurve(shown.names[0], points[0], shown.styles[0])], f"Reliability, {count}\nECE {errors[0]}"
    texts = [f"{name}: {error}" for name, error in zip(shown.names, errors, strict=True)]
    heading = f"Reliability{shown.among}"
    if labels is None:
        heading += f",\nmean ECE of all classes {emphasized(snapshot.estimate('expected_calibration_error_ovr'))}"
    return list(map(CalibrationCurve, texts, points, shown.styles)), heading


def _weights(ax: Axes, curves: Sequence[CalibrationCurve], unit: str) -> None:
    """Draw the weight of each bin, on a logarithmic scale if that of one is many times that of another."""
    edges = np.linspace(0, 1, BINS + 1)
    for _, points, style in curves:
        weights: Numbers = np.zeros(BINS)
        weights[np.searchsorted(edges[1:-1], points.scores)] = points.weights
        if len(curves) == 1:
            ax.bar(edges[:-1], weights, 1 / BINS, align="edge", color=style.colour, alpha=0.5, edgecolor="white")
        else:
            ax.stairs(weights, edges, color=style.colour, linestyle=style.line, baseline=None)
    everything = np.concatenate([curve.points.weights for curve in curves])
    least, most = float(everything.min()), float(everything.max())
    if most > UNEVEN * least:
        ax.set_yscale("log")
        ax.set_ylim(least / 2, most * 2)
        ax.set_yticks([10.0**power for power in range(math.ceil(math.log10(least / 2)), math.ceil(math.log10(most)))])
        ax.minorticks_off()
    else:
        ax.set_ylim(0, most * 1.1)
        ax.locator_params(axis="y", nbins=4, integer=unit == "Samples")
    ax.yaxis.set_major_formatter(thousands)
    ax.set(xlabel="Mean score", ylabel=unit)
    ax.grid(axis="y", alpha=0.3)
    ax.set_axisbelow(True)
