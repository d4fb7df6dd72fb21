"""Values of metrics of labels as users get them: from a snapshot of a confusion matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import stream_metrics as sm

OF_LABELS = [key for key, info in sm.metrics().items() if info.reads == "labels"]
DEFAULT = [key for key in OF_LABELS if key in {*sm.Snapshot(sm.ConfusionMatrix([0, 1])).to_dict()["metrics"]}]


def snapshot(matrix: Any, labels: Any = None, zero_division: float | None = None, **options: Any) -> sm.Snapshot:
    """Return the snapshot of a matrix."""
    return sm.Snapshot(sm.ConfusionMatrix.from_matrix(matrix, labels), zero_division=zero_division, **options)


def with_interval() -> list[str]:
    """Return the keys of labels that have an interval."""
    keys = []
    for key in OF_LABELS:
        try:
            snapshot([[30, 10], [12, 40]]).interval(key, draws=2)
        except ValueError:
            continue
        keys.append(key)
    return keys


def plain(value: Any) -> Any:
    """Return a value as a number, or as lists of numbers."""
    if isinstance(value, dict):
        return list(value.values())
    return value.tolist() if isinstance(value, np.ndarray) else value


def value(key: str, matrix: Any, labels: Any = None, zero_division: float | None = None, **options: Any) -> Any:
    """Return the value of a metric of a matrix as a number, or as lists of numbers."""
    return plain(snapshot(matrix, labels, zero_division).value(key, **options))


def same(a: Any, b: Any, tolerance: float = 1e-12) -> bool:
    """Tell whether two numbers, or nested lists of them, agree within rounding; nan equals nan."""
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def html(result: Any) -> str:
    """Return what a notebook shows of a result."""
    text: str = result._repr_html_()
    return text
