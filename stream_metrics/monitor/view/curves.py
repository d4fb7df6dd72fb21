"""Curves as few points: enough to draw them, of the classes with the most samples.

The points are those of `Snapshot.roc_curve` and `pr_curve`, computed together and without their thresholds, which take
two thirds of the time and are not drawn.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stream_metrics.labels import Label
from stream_metrics.monitor.view.cutting import check_cut
from stream_metrics.monitor.view.types import Curve, Curves
from stream_metrics.ranking.calibration import reliability_curve
from stream_metrics.ranking.classes import only_column
from stream_metrics.ranking.steps import threshold_sweep
from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["curves"]

MOST_CURVES, MOST_POINTS = 10, 200
DIGITS = 5  # after the point; a screen shows three
Floats = NDArray[np.float64]
EVENLY: Floats = np.arange(MOST_POINTS, dtype=np.float64)


def curves(snapshot: Snapshot, names: Mapping[Label, str]) -> Curves:
    """Return ROC and precision-recall curves by class, and how well the largest score of a sample is calibrated."""
    shown = Curves()
    if not snapshot.scored:
        return shown
    support = dict(zip(snapshot.labels, snapshot.evaluation.value_and_undefined("support")[0].tolist(), strict=True))
    classes = [label for label in snapshot.per_class["roc_auc"] if label in names]
    most = sorted(classes, key=lambda label: -support.get(label, 0))[:MOST_CURVES]
    for label in (label for label in classes if label in most):
        roc, pr = _both(snapshot, label)
        for lines, (x, y) in ((shown.roc, roc), (shown.pr, pr)):
            if x:
                lines.append(Curve(names[label], x, y))
    if "confidence" in snapshot.evaluation.views:
        top = reliability_curve(only_column(snapshot.evaluation.views["confidence"]))
        x, y, w = (np.round(column, DIGITS).tolist() for column in top)
        if x:
            shown.reliability.append(Curve("top", x, y, w))
    return shown


def _both(snapshot: Snapshot, label: Label) -> tuple[tuple[list[float], list[float]], ...]:
    """Return the points of the two curves of a class; none where no sample, or no other one, has scores."""
    check_cut()
    column = snapshot.evaluation.column(label)
    steps, (rest, own) = threshold_sweep(column).fine, (column.weight(0), column.weight(1))
    if not own:
        return ([], []), ([], [])
    recall = _after(0.0, steps.tp / own)
    precision = _after(1.0, steps.tp / (steps.tp + steps.fp))
    roc = _thinned(_after(0.0, steps.fp / rest), recall) if rest else ([], [])
    return roc, _thinned(recall, precision)


def _after(first: float, values: Floats) -> Floats:
    """Return the values with one before them."""
    column = np.empty(len(values) + 1)
    column[0], column[1:] = first, values
    return column


def _thinned(x: Floats, y: Floats) -> tuple[list[float], list[float]]:
    """Return points evenly along a curve, the first and the last included."""
    if len(x) > MOST_POINTS:
        along = np.empty(len(x))
        along[0] = 0.0
        np.hypot(x[1:] - x[:-1], y[1:] - y[:-1]).cumsum(out=along[1:])
        at = along.searchsorted(EVENLY * (along[-1] / (MOST_POINTS - 1)))
        at[0], at[-1] = 0, len(x) - 1
        new = np.empty(MOST_POINTS, bool)
        new[0] = True
        np.not_equal(at[1:], at[:-1], out=new[1:])  # they rise
        x, y = x[at[new]], y[at[new]]
    return x.round(DIGITS).tolist(), y.round(DIGITS).tolist()
