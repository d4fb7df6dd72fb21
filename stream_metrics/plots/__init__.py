"""Figures of snapshots, with matplotlib (`pip install stream-metrics[plot]`), which is imported on the first call.

Without `ax` a figure is made that belongs to no window and no `pyplot` state, so nothing pops up or stays open, and
no display is needed; `ax.figure.savefig(...)` writes it. Global settings are read but never changed. Labels are drawn
as they are: never as mathematical markup, control characters escaped. Notebooks show these figures, and their axes, as
the value of a cell. Legends and the colours of a matrix stand beside or above the axes, for which a figure of your own
needs `layout="constrained"`; in any other, legends are on the axes and a matrix has no colour bar.

    base.py         what the figures share: colours, names, new figures
    matrix.py       the confusion matrix
    classes.py      values of each class
    curves.py       ROC, precision-recall and DET curves
    calibration.py  scores against the shares they predict
    time.py         values as a stream goes on
    groups.py       metrics of groups, the worst on top, and differences of two models around 0
    panels.py       several of them in one figure
"""

from stream_metrics.plots.calibration import reliability
from stream_metrics.plots.classes import per_class
from stream_metrics.plots.curves import det, precision_recall, roc
from stream_metrics.plots.groups import differences, groups
from stream_metrics.plots.matrix import confusion_matrix
from stream_metrics.plots.panels import overview, scores
from stream_metrics.plots.time import running

__all__ = [
    "confusion_matrix",
    "det",
    "differences",
    "groups",
    "overview",
    "per_class",
    "precision_recall",
    "reliability",
    "roc",
    "running",
    "scores",
]
