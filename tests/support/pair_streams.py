"""Configurations of counts with and without scores, and the plain state that counts the same."""

from __future__ import annotations

from typing import Any

import stream_metrics as sm
from stream_metrics.monitor.config import Counting

SOFT = Counting(scores=True, windows=("4s", "10s"), panes=4, max_groups=2)
HARD = Counting(windows=("4s", "10s"), panes=4, max_groups=2)
SKETCH: dict[str, Any] = {"buckets": 256, "sample": 128, "pairs": False}


def empty(config: Counting) -> sm.MetricSet:
    """Return what a plain user would count with."""
    return sm.MetricSet(scores=config.scores, pos_label=config.pos_label, labels=config.labels or None, **SKETCH)
