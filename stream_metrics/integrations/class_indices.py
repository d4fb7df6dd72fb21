"""Outputs of networks, counted: indices of classes, a score of each class, or one probability a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.inputs.columns import Categorical
from stream_metrics.inputs.tensors import Array
from stream_metrics.labels import Label
from stream_metrics.metrics.by_key import metric_of_key
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet

__all__ = ["count_outputs", "empty_of", "numbers_of"]


def empty_of(metric: Any) -> Metric | MetricSet:
    """Return a metric or a set that has counted nothing, of a key, of keys, or of another."""
    if isinstance(metric, Metric | MetricSet):
        empty = metric.copy()
        empty.reset()
        return empty
    if isinstance(metric, str):
        return metric_of_key(metric)
    if isinstance(metric, Sequence):
        return MetricSet(metric)
    raise ValueError(f"Expected `metric` to be a key, keys, a metric or a set, but got {metric!r:.60}")


def numbers_of(counts: Metric | MetricSet) -> dict[str, float]:
    """Return the values of a metric or a set by key, without those that are no numbers."""
    if isinstance(counts, Metric):
        return {counts.key: counts.get()}
    return {key: value for key, value in counts.get().items() if isinstance(value, float | int)}


def count_outputs(
    counts: Any, outputs: Array, targets: Array, w: Any, classes: tuple[Label, ...] | None, names: tuple[str, str]
) -> None:
    """Let a metric or a set count a batch; `names` are what the caller calls outputs and targets.

    Integers are labels, or indices of `classes`. Floats are scores, a column for each class or one of class 1; for
    metrics of labels the class of the largest, or class 1 from 0.5 on.
    """
    outputs, targets = (x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x for x in (outputs, targets))
    truth = _labels(targets, classes, names[1])
    soft = outputs.dtype.kind == "f"
    if soft and counts.reads != "labels":
        columns = None
        if outputs.ndim == 2:
            columns = tuple(range(outputs.shape[1])) if classes is None else classes
        counts.update_many(truth, scores=outputs, w=w, classes=columns)
        return
    if soft:
        outputs = outputs.argmax(-1) if outputs.ndim == 2 else _decided(outputs, names[0])
    counts.update_many(truth, _labels(outputs, classes, names[0]), w)


def _decided(outputs: Array, argument: str) -> Array:
    """Return 1 for probabilities from 0.5 on, else 0."""
    if not ((outputs >= 0) & (outputs <= 1)).all():
        raise ScoreError(
            argument=argument, expected="to be labels as integers, or probabilities in [0, 1]", but="got others"
        )
    return (outputs >= 0.5).astype(np.int64)


def _labels(values: Array, classes: tuple[Label, ...] | None, argument: str) -> Any:
    """Return a column of labels or of indices of classes."""
    if classes is None:
        return values
    if values.dtype.kind not in "iub":
        raise LabelError(argument=argument, expected="to be indices of `classes`", but=f"got {values.dtype}")
    return Categorical(values.astype(np.int64), classes)
