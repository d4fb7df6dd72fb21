"""How long does it take to compute every metric there is?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import streams
from timing import Line, best

import stream_metrics as sm


def lines() -> Iterator[Line]:
    """Yield what is measured."""
    for classes, rounds, target in ((10, 200, 1.0), (1000, 8, 1000.0)):
        metrics = sm.MetricSet()
        for y_true, y_pred in streams.pairs(streams.names(classes), 100 * classes):
            metrics.update(y_true, y_pred)
        ms = best({"": partial(compute, metrics)}, rounds)[""] / 1e6
        yield Line(f"`MetricSet().snapshot().to_dict()`, {classes} classes", ms, "ms", target=target)


def compute(metrics: sm.MetricSet) -> dict[str, Any]:
    """Compute everything, from counts that have not been read before."""
    return metrics.snapshot().to_dict()
