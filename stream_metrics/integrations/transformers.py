"""Metrics for the Trainer of Hugging Face transformers, of whole evaluations or batch by batch.

    from stream_metrics.integrations.transformers import ComputeMetrics

    trainer = Trainer(model, args, compute_metrics=ComputeMetrics(["macro_f1", "log_loss"]))

With `TrainingArguments(batch_eval_metrics=True)` no logits are kept: every batch is counted and forgotten. The Trainer
gathers batches of all processes by itself, so each process counts all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from stream_metrics.errors import LabelError, ScoreError
from stream_metrics.inputs.tensors import Array, tensor_to_numpy
from stream_metrics.integrations.class_indices import count_outputs, empty_of, numbers_of
from stream_metrics.labels import Label, unique
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet

__all__ = ["ComputeMetrics"]


class ComputeMetrics:
    """A function from predictions of a Trainer to metrics, for its argument `compute_metrics`.

    Parameters
    ----------
    metrics : str, sequence of str, Metric or MetricSet
        A key of the catalog, several keys, or a metric or a set, which is copied without its samples.
    classes : sequence of Label, optional
        The classes that labels and columns of logits stand for; by default their indices.
    activation : {"softmax", "sigmoid"} or None, default "softmax"
        What makes probabilities of the model's outputs, where metrics read probabilities: "sigmoid" of one column, the
        logit of class 1. None if the outputs are probabilities, or other scores for a set with `scores="any"`.
    ignore_index : int, default -100
        The label of what is not counted: padding, and word pieces after the first.

    Raises
    ------
    UnknownMetricError
        If a key is not in the catalog.
    ValueError
        If `metrics` is something else, or `activation` is none of these.

    Notes
    -----
    Logits of tokens, of shape (n, tokens, K), are rows of tokens. If the model returns a tuple, its first item has the
    logits. Metrics of labels also take classes as integers, as `preprocess_logits_for_metrics` may return them.

    Examples
    --------
    >>> from stream_metrics.integrations.transformers import ComputeMetrics
    >>> compute = ComputeMetrics(["accuracy", "log_loss"])
    >>> logits = np.array([[0.0, 2.0], [1.0, -1.0], [0.5, 0.5]])
    >>> values = compute((logits, np.array([1, 0, -100])))
    >>> values["accuracy"], round(values["log_loss"], 4)
    (1.0, 0.1269)
    """

    def __init__(
        self,
        metrics: str | Sequence[str] | Metric | MetricSet,
        *,
        classes: Iterable[Label] | None = None,
        activation: Literal["softmax", "sigmoid"] | None = "softmax",
        ignore_index: int = -100,
    ) -> None:
        if activation not in ("softmax", "sigmoid", None):
            raise ValueError(f"Expected `activation` to be 'softmax', 'sigmoid' or None, but got {activation!r}")
        self.classes = None if classes is None else unique(classes, "classes")
        self.activation, self.ignore_index = activation, ignore_index
        self._empty: Any = empty_of(metrics)
        self.counts: Any = self._empty.copy()

    def __call__(self, eval_pred: Any, compute_result: bool = True) -> dict[str, float]:
        """Count predictions, and return the metrics of all since the last result.

        Parameters
        ----------
        eval_pred : EvalPrediction
            Predictions and labels: arrays, tensors, or lists of them.
        compute_result : bool, default True
            Whether this is the last batch of an evaluation. The next call starts a new evaluation.

        Returns
        -------
        dict from str to float
            The values by key; none before the last batch.

        Raises
        ------
        LabelError
            If predictions and labels differ in shape, or a label is not allowed. Batches so far are forgotten.
        ScoreError
            If a score is not allowed.
        """
        predictions, labels = eval_pred[0], eval_pred[1]
        several = isinstance(predictions, list)  # batches that are not joined
        batches = zip(predictions, labels, strict=True) if several else [(predictions, labels)]
        try:
            for outputs, targets in batches:
                self._count(_array(outputs), _array(targets))
            return numbers_of(self.counts) if compute_result else {}
        except BaseException:
            compute_result = True
            raise
        finally:
            if compute_result:
                self.counts = self._empty.copy()

    def _count(self, outputs: Array, targets: Array) -> None:
        """Count a batch, tokens as rows, without what is ignored."""
        columns = outputs.shape[targets.ndim :]
        if outputs.shape[: targets.ndim] != targets.shape or len(columns) > 1:
            but = f"got {outputs.shape} beside {targets.shape}"
            raise LabelError(
                argument="eval_pred", subject="predictions", expected="of the shape of the labels", but=but
            )
        counted = targets.reshape(-1) != self.ignore_index
        outputs, targets = outputs.reshape(-1, *columns)[counted], targets.reshape(-1)[counted]
        if outputs.dtype.kind == "f":
            outputs = self._probabilities(outputs.astype(np.float64))
        count_outputs(self.counts, outputs, targets, None, self.classes, ("predictions", "label_ids"))

    def _probabilities(self, logits: Array) -> Array:
        """Return what metrics read, from the outputs of the model."""
        if self.activation is None:
            return logits
        columns = logits.shape[1] if logits.ndim == 2 else 1
        if (columns == 1) != (self.activation == "sigmoid"):
            expected = "to have one column for 'sigmoid', and several for 'softmax'"
            raise ScoreError(argument="predictions", expected=expected, but=f"got {columns}")
        if columns == 1:
            with np.errstate(over="ignore"):  # of a large negative logit
                return np.asarray(1 / (1 + np.exp(-logits)))
        if self.counts._reads == "labels":
            return logits  # close ones become equal probabilities
        with np.errstate(invalid="ignore"):  # of infinities, whose probabilities are nan and refused
            powers = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _array(values: Any) -> Array:
    """Return predictions or labels as an array; of a tuple the first."""
    first = values[0] if isinstance(values, tuple) else values
    first = first.detach().cpu() if hasattr(first, "detach") else first
    return np.asarray(tensor_to_numpy(first, "predictions"))
