"""Which fold a unit belongs to, and bounds for labels that are missing: the one place that imports them for tests."""

from stream_metrics.inference.missing_labels import area_bounds, class_label_bounds, label_bounds, mean_bounds
from stream_metrics.states.folds import fold_of

__all__ = ["area_bounds", "class_label_bounds", "fold_of", "label_bounds", "mean_bounds"]
