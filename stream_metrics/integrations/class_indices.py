"""Outputs of networks, counted: indices of classes, a score of each class, or one probability a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_metrics.containers.keyed import emptied
from stream_metrics.errors import LabelError, ScoreError, StreamMetricsError
from stream_metrics.inputs.arrow import Array
from stream_metrics.inputs.columns import Categorical
from stream_metrics.labels import Label
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet, metric_of_key

__all__ = ["count_outputs", "empty_of", "numbers_of"]


def empty_of(metric: Any) -> Metric | MetricSet:
    """Return a metric or a set that has counted nothing, of a key, of keys, or of another."""
    if isinstance(metric, Metric | MetricSet):
        empty: Metric | MetricSet = emptied(metric)
        return empty
    if isinstance(metric, str):
        return metric_of_key(metric)
    if isinstance(metric, Sequence):
        return MetricSet(metric)
    raise ValueError(f"Expected `metric` to be a key, keys, a metric or a set, but got {metric!r:.60}")


def numbers_of(counts: Metric | MetricSet) -> dict[str, float]:
    """Return the values of a metric or a set by key, without those that are not numbers."""
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
    soft, by_label = outputs.dtype.kind == "f", counts._reads == "labels"
    if soft:
        _check_columns(outputs, classes, by_label, names[0])
    truth = _labels(targets, classes, names[1])
    if soft and not by_label:
        columns = None if outputs.ndim == 1 else range(outputs.shape[1]) if classes is None else classes
        counts.update_many(truth, scores=outputs, w=w, classes=columns)
        return
    if soft:
        outputs = _decided(outputs, targets if classes is None else None, names)
    counts.update_many(truth, _labels(outputs, classes, names[0]), w)


def _refuse(bad: Array, values: Array, error: type[StreamMetricsError], argument: str, expected: str) -> None:
    """Raise an error for the first of the values that are bad."""
    if bad.any():
        at = int(bad.argmax())
        raise error(argument=argument, position=at, expected=expected, got=values[at].tolist())


def _check_columns(outputs: Array, classes: tuple[Label, ...] | None, by_label: bool, argument: str) -> None:
    """Raise ScoreError unless outputs have a column for each class, or are a single one that decides between two."""
    if outputs.ndim > 2:
        expected = "to have one or two dimensions"
        raise ScoreError(argument=argument, expected=expected, but=f"got the shape {outputs.shape}")
    columns = outputs.shape[1] if outputs.ndim == 2 else 1
    single = outputs.ndim == 1 and (not by_label or len(classes or "01") == 2)
    if not single and columns != (columns or 1 if classes is None else len(classes)):
        expected = "to have a column for each " + ("class" if classes is None else f"of the {len(classes)} `classes`")
        raise ScoreError(argument=argument, expected=expected, got=columns)


def _decided(outputs: Array, targets: Array | None, names: tuple[str, str]) -> Array:
    """Return the index of the largest score of each row, the first of several; or 1 for probabilities from 0.5 on.

    An infinity is a score, nan is none. Beside one column the targets are 0 and 1, where they are given.
    """
    if outputs.ndim == 2:
        nans = np.asarray(np.isnan(outputs).any(axis=1))
        _refuse(nans, outputs, ScoreError, names[0], "to have a number in each column")
        return np.asarray(outputs.argmax(axis=1))
    if targets is not None and targets.ndim == 1:
        others = np.asarray((targets != 0) & (targets != 1))
        _refuse(others, targets, LabelError, names[1], f"to be 0 or 1 beside `{names[0]}` of one column")
    outside = ~((outputs >= 0) & (outputs <= 1))
    _refuse(outside, outputs, ScoreError, names[0], "to be labels as integers, or probabilities in [0, 1]")
    return (outputs >= 0.5).astype(np.int64)


def _labels(values: Array, classes: tuple[Label, ...] | None, argument: str) -> Any:
    """Return a column of labels or of indices of classes."""
    if classes is None:
        return values
    if values.dtype.kind not in "iub":
        raise LabelError(argument=argument, expected="to be indices of `classes`", but=f"got {values.dtype}")
    expected = f"to be indices of `classes`, from 0 to {len(classes) - 1}"
    flat = values.reshape(-1)
    _refuse((flat < 0) | (flat >= len(classes)), flat, LabelError, argument, expected)
    return Categorical(values.astype(np.int64), classes)
