"""Several figures in one, each in a part of its own, so that a long legend of one does not move the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stream_metrics.plots.base import new_figure
from stream_metrics.plots.calibration import draw_reliability, stacked
from stream_metrics.plots.classes import CLASSES, per_class
from stream_metrics.plots.curves import precision_recall, roc
from stream_metrics.plots.matrix import confusion_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stream_metrics.snapshots.snapshot import Snapshot

__all__ = ["overview", "scores"]

SMALLEST, LARGEST = 4.6, 8.0  # inches of a panel of the overview
LEGEND = 2.6  # inches beside a panel


def scores(snapshot: Snapshot) -> Figure:
    """Draw ROC, precision-recall and reliability side by side, and return the figure.

    `KeyError` where the snapshot has no scores.
    """
    figure = new_figure((3 * (SMALLEST + LEGEND), SMALLEST))
    left, middle, right = np.ravel(np.asarray(figure.subfigures(1, 3)))
    roc(snapshot, ax=left.subplots())
    precision_recall(snapshot, ax=middle.subplots())
    draw_reliability(snapshot, None, *stacked(right))
    return figure


def overview(snapshot: Snapshot) -> Figure:
    """Draw the confusion matrix, ROC, precision-recall and reliability in two rows, and return the figure.

    Without scores: the matrix and precision, recall and F1 of each class; without labels: `scores`. `ValueError` above
    4096 classes.
    """
    if "counts" not in snapshot.evaluation.states:
        return scores(snapshot)
    classes = len(snapshot.labels)
    if "ranks" not in snapshot.evaluation.states:
        side = min(max(4.0, 0.45 * classes), 9.0)
        figure = new_figure((side + 9.5, max(side + 1.6, 1.5 + 0.32 * min(classes, CLASSES))))
        left, right = figure.subplots(1, 2, width_ratios=(side + 2.5, 7.0))
        confusion_matrix(snapshot, ax=left)
        per_class(snapshot, ax=right)
        return figure
    side = min(max(SMALLEST, 0.4 * classes), LARGEST)
    figure = new_figure((2 * (side + LEGEND), 2 * side))
    above_left, above_right, below_left, below_right = np.ravel(np.asarray(figure.subfigures(2, 2)))
    confusion_matrix(snapshot, ax=above_left.subplots())
    roc(snapshot, ax=above_right.subplots())
    precision_recall(snapshot, ax=below_left.subplots())
    draw_reliability(snapshot, None, *stacked(below_right))
    return figure
