"""Which fold a unit belongs to, bounds for labels that are missing, and intervals of many matrices, for tests."""

from stream_metrics.inference.intervals.dispatch import class_bounds
from stream_metrics.inference.intervals.many_matrices import ManyMatrices
from stream_metrics.inference.missing_labels import area_bounds, class_label_bounds, label_bounds, mean_bounds
from stream_metrics.states.folds import fold_of

__all__ = [
    "ManyMatrices",
    "area_bounds",
    "class_bounds",
    "class_label_bounds",
    "fold_of",
    "label_bounds",
    "mean_bounds",
]
