"""A callback for Keras 3 that evaluates a model after each epoch, regardless of the backend.

    from stream_metrics.integrations.keras import EvaluateAtEpochEnd

    evaluate = EvaluateAtEpochEnd(["macro_f1", "log_loss"], validation_dataset)
    model.fit(x, y, epochs=5, callbacks=[evaluate, keras.callbacks.EarlyStopping("val_macro_f1", mode="max")])

Values are exact over all rows, where metrics that Keras averages over batches are not. They stand in the logs of the
epoch, so callbacks that come later in the list can watch them, and `History` has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stream_metrics.errors import LabelError
from stream_metrics.inputs.tensors import Array
from stream_metrics.integrations.class_indices import count_outputs, empty_of, numbers_of
from stream_metrics.labels import Label, unique
from stream_metrics.metrics.metric import Metric
from stream_metrics.metrics.metric_set import MetricSet

try:
    import keras
except ImportError as error:
    raise ImportError('Expected Keras to be installed: pip install "stream-metrics[keras]"') from error

__all__ = ["EvaluateAtEpochEnd"]


class EvaluateAtEpochEnd(keras.callbacks.Callback):  # type: ignore[misc]
    """A callback that predicts a data set after each epoch and adds metrics to the logs.

    Parameters
    ----------
    metrics : str, sequence of str, Metric or MetricSet
        A key of the catalog, several keys, or a metric or a set, which is copied without its samples.
    data : tuple of arrays or iterable of batches
        Inputs and true labels, and weights if there are any: `(x, y)` or `(x, y, w)`, or what can be iterated more than
        once over such batches, a `PyDataset`, a `tf.data.Dataset` or a `DataLoader`.
    classes : sequence of Label, optional
        The classes that labels and outputs are indices of; by default the indices themselves.
    batch_size : int, default 32
        Rows of a batch, where arrays are given.
    prefix : str, default "val_"
        What names in the logs start with.

    Attributes
    ----------
    counts : Metric or MetricSet
        What the last epoch counted, for snapshots, intervals and figures.

    Raises
    ------
    UnknownMetricError
        If a key is not in the catalog.
    ValueError
        If `metrics` is something else, or a tuple of other length is given as data.

    Notes
    -----
    Outputs are probabilities, a column for each class or one column for class 1, as softmax and sigmoid layers give.
    True labels are integers or rows of one 1 among zeros.

    Examples
    --------
    >>> import keras
    >>> from stream_metrics.integrations.keras import EvaluateAtEpochEnd
    >>> x, y = np.eye(2, dtype="float32"), np.array([0, 1])
    >>> model = keras.Sequential([keras.layers.Dense(2, activation="softmax", kernel_initializer="identity")])
    >>> model.compile("sgd", "sparse_categorical_crossentropy")
    >>> evaluate = EvaluateAtEpochEnd("accuracy", (x, y))
    >>> model.fit(x, y, verbose=0, callbacks=[evaluate]).history["val_accuracy"]
    [1.0]
    """

    def __init__(
        self,
        metrics: str | Sequence[str] | Metric | MetricSet,
        data: Any,
        *,
        classes: Iterable[Label] | None = None,
        batch_size: int = 32,
        prefix: str = "val_",
    ) -> None:
        super().__init__()
        if isinstance(data, tuple) and len(data) not in (2, 3):
            raise ValueError(f"Expected `data` to be (x, y) or (x, y, w), but got a tuple of {len(data)}")
        self.data, self.batch_size, self.prefix = data, batch_size, prefix
        self.classes = None if classes is None else unique(classes, "classes")
        self._empty: Any = empty_of(metrics)
        self.counts: Any = self._empty.copy()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Evaluate the model, and add the values to the logs.

        Parameters
        ----------
        epoch : int
            The number of the epoch.
        logs : dict, optional
            The logs of the epoch.

        Raises
        ------
        LabelError
            If a label is not allowed.
        ScoreError
            If an output is not allowed, such as a logit where a probability is expected.
        """
        counts = self._empty.copy()
        for x, y, w in self._batches():
            outputs = keras.ops.convert_to_numpy(self.model.predict_on_batch(x))
            count_outputs(counts, outputs, _targets(y, outputs), w, self.classes, ("outputs", "data"))
        if not counts.n + counts.abstained:
            but = "got none; a generator is empty after it was read once"
            raise LabelError(argument="data", expected="to have rows in every epoch", but=but)
        self.counts = counts
        if logs is not None:
            logs.update({self.prefix + key: value for key, value in numbers_of(counts).items()})

    def _batches(self) -> Iterable[tuple[Any, Array, Any]]:
        """Yield inputs, true labels and weights."""
        if isinstance(self.data, tuple):
            columns = [np.asarray(column) for column in self.data[1:]]
            rows = len(columns[0])
            inputs = self.data[0]
            for start in range(0, rows, self.batch_size):
                part = slice(start, start + self.batch_size)
                x = [one[part] for one in inputs] if isinstance(inputs, list | tuple) else inputs[part]
                yield x, columns[0][part], columns[1][part] if len(columns) > 1 else None
            return
        batches = (
            (self.data[at] for at in range(len(self.data)))
            if isinstance(self.data, keras.utils.PyDataset)
            else self.data
        )
        for x, y, *w in batches:
            yield x, _numpy(y), _numpy(w[0]) if w and w[0] is not None else None


def _numpy(values: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(values))


def _targets(y: Array, outputs: Array) -> Array:
    """Return true labels as indices; of rows of one 1 among zeros the places of the ones."""
    if y.ndim != 2 or y.shape[1] == 1:
        return y.astype(np.int64) if y.dtype.kind == "f" and (y == y.round()).all() else y
    if y.shape != outputs.shape or not ((y == 0) | (y == 1)).all() or not (y.sum(axis=1) == 1).all():
        raise LabelError(
            argument="data",
            subject="true labels",
            expected="to be integers, or rows of one 1 among zeros",
            but="got others",
        )
    return np.asarray(y.argmax(axis=1))
