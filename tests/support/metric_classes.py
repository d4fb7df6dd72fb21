"""The metric classes by name, second names such as LogLoss included."""

from __future__ import annotations

from stream_metrics.metrics import classes
from stream_metrics.metrics.metric import Metric

__all__ = ["CLASSES"]

CLASSES: dict[str, type[Metric]] = {name: getattr(classes, name) for name in classes.__all__}
