"""Outputs of networks, counted: indices of classes, a score of each class, or one probability a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stream_metrics.containers.inner import emptied
from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.inputs.columns import Categorical
from stream_metrics.inputs.tensors import Array
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
    soft = outputs.dtype.kind == "f"
    if soft:
        _check_columns(outputs, classes, names[0])
    truth = _labels(targets, classes, names[1])
    if soft and counts._reads != "labels":
        columns = None
        if outputs.ndim == 2:
            columns = tuple(range(outputs.shape[1])) if classes is None else classes
        counts.update_many(truth, scores=outputs, w=w, classes=columns)
        return
    if soft and outputs.ndim == 1:
        _check_two(targets, classes, names)
        outputs = _decided(outputs, names[0])
    elif soft:
        outputs = _largest(outputs, names[0])
    counts.update_many(truth, _labels(outputs, classes, names[0]), w)


def _check_columns(outputs: Array, classes: tuple[Label, ...] | None, argument: str) -> None:
    """Raise ScoreError unless outputs have a column for each class, or are a single one."""
    if outputs.ndim > 2:
        expected = "to have one or two dimensions"
        raise ScoreError(argument=argument, expected=expected, but=f"got the shape {outputs.shape}")
    if outputs.ndim == 2 and classes is not None and outputs.shape[1] != len(classes):
        expected = f"to have a column for each of the {len(classes)} `classes`"
        raise ScoreError(argument=argument, expected=expected, got=outputs.shape[1])
    if outputs.ndim == 2 and not outputs.shape[1]:
        raise ScoreError(argument=argument, expected="to have a column for each class", but="got none")


def _check_two(targets: Array, classes: tuple[Label, ...] | None, names: tuple[str, str]) -> None:
    """Raise an error unless there are two classes, where the probability of class 1 decides."""
    if classes is not None and len(classes) != 2:
        expected = f"to have a column for each of the {len(classes)} `classes`"
        raise ScoreError(argument=names[0], expected=expected, got=1)
    others = np.flatnonzero((targets != 0) & (targets != 1))
    if classes is None and targets.ndim == 1 and len(others):
        position, expected = int(others[0]), f"to be 0 or 1 beside `{names[0]}` of one column"
        raise LabelError(argument=names[1], position=position, expected=expected, got=targets[position].item())


def _largest(outputs: Array, argument: str) -> Array:
    """Return the column of the largest score of each row, the first of several; an infinity is a score, nan is none."""
    bad = np.flatnonzero(np.isnan(outputs).any(axis=1))
    if len(bad):
        position, expected = int(bad[0]), "to have a number in each column"
        raise ScoreError(argument=argument, position=position, expected=expected, but="got nan")
    return np.asarray(outputs.argmax(axis=1))


def _decided(outputs: Array, argument: str) -> Array:
    """Return 1 for probabilities from 0.5 on, else 0."""
    bad = np.flatnonzero(~((outputs >= 0) & (outputs <= 1)))
    if len(bad):
        position, expected = int(bad[0]), "to be labels as integers, or probabilities in [0, 1]"
        raise ScoreError(argument=argument, position=position, expected=expected, got=outputs[position].item())
    return (outputs >= 0.5).astype(np.int64)


def _labels(values: Array, classes: tuple[Label, ...] | None, argument: str) -> Any:
    """Return a column of labels or of indices of classes."""
    if classes is None:
        return values
    if values.dtype.kind not in "iub":
        raise LabelError(argument=argument, expected="to be indices of `classes`", but=f"got {values.dtype}")
    bad = np.flatnonzero((values < 0) | (values >= len(classes)))
    if len(bad):
        expected = f"to be indices of `classes`, from 0 to {len(classes) - 1}"
        at = int(bad[0])
        raise LabelError(argument=argument, position=at, expected=expected, got=values.reshape(-1)[at].item())
    return Categorical(values.astype(np.int64), classes)
