"""Keras: the callback's values are those of all rows, in logs, history and for callbacks after it."""

from __future__ import annotations

import doctest
import os
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("KERAS_BACKEND", "jax" if find_spec("jax") else "torch")
keras = pytest.importorskip("keras", reason="needs Keras with a backend", exc_type=ImportError)

from support.refusals import all_refused  # noqa: E402

import stream_metrics as sm  # noqa: E402
from stream_metrics.integrations import keras as adapter  # noqa: E402
from stream_metrics.integrations.keras import EvaluateAtEpochEnd  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of Keras and its backends themselves
RNG = np.random.default_rng(4)
Y = RNG.integers(0, 3, 50)
X = (RNG.normal(size=(50, 3)) + np.eye(3)[Y]).astype("float32")
W = np.arange(50) / 4
KEYS = ["accuracy", "macro_f1", "log_loss"]


def model(columns: int = 3) -> Any:
    """Return a model that has not learned yet."""
    keras.utils.set_random_seed(1)
    activation, loss = "sigmoid", "binary_crossentropy"
    if columns > 1:
        activation, loss = "softmax", "sparse_categorical_crossentropy"
    net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(columns, activation=activation)])
    net.compile("sgd", loss)
    return net


def expected(net: Any, w: Any = None) -> dict[str, float]:
    """Return the values of the package's own set for a model as it is now."""
    state = sm.MetricSet(KEYS)
    state.update_many(Y, scores=np.asarray(net.predict_on_batch(X)), classes=[0, 1, 2], w=w)
    return dict(state.get())


def values(history: Any, prefix: str = "val_") -> dict[str, float]:
    """Return the values of the last epoch."""
    return {key: history.history[prefix + key][-1] for key in KEYS}


class Batches(keras.utils.PyDataset):  # type: ignore[misc, name-defined]
    """Rows in batches, with weights."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> Any:
        part = slice(13 * at, 13 * at + 13)
        return X[part], Y[part], W[part]


def test_every_epoch_has_the_values_of_all_rows() -> None:
    """Logs have exact values of uneven batches, each epoch its own; early stopping can watch them."""
    net, evaluate = model(), EvaluateAtEpochEnd(KEYS, (X, Y), batch_size=16)
    seen: list[dict[str, float]] = []
    later = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(dict(logs)))
    stop = keras.callbacks.EarlyStopping("val_macro_f1", mode="max", patience=5)
    history = net.fit(X, Y, epochs=2, verbose=0, callbacks=[evaluate, stop, later])

    assert values(history) == pytest.approx(expected(net), rel=1e-5)
    assert history.history["val_log_loss"][0] > history.history["val_log_loss"][1]
    assert [logs["val_log_loss"] for logs in seen] == history.history["val_log_loss"]
    assert evaluate.counts.n == 50


def test_forms_of_data() -> None:
    """Weights, data sets, rows of one 1 among zeros, and names of classes."""
    batches = [(X[:20], Y[:20]), (X[20:], keras.ops.convert_to_tensor(Y[20:]))]
    for data, w, options in [
        ((X, Y, W), W, {}),
        (Batches(), W, {}),
        (batches, None, {}),
        ((X, np.eye(3)[Y].astype("float32")), None, {}),
        ((X, Y), None, {"metrics": sm.MetricSet(KEYS), "classes": ["a", "b", "c"]}),
    ]:
        net = model()
        evaluate = EvaluateAtEpochEnd(**{"metrics": KEYS, "data": data, "prefix": "test_", **options})
        history = net.fit(X, Y, verbose=0, callbacks=[evaluate])
        assert values(history, "test_") == pytest.approx(expected(net, w), rel=1e-5)


def test_one_column() -> None:
    """A sigmoid layer is the probability of class 1, for areas and for labels."""
    net, truth = model(1), (Y == 1).astype("float32").reshape(-1, 1)
    callbacks = [EvaluateAtEpochEnd(metric, (X, truth)) for metric in (sm.ROCAUC(), "accuracy")]
    history = net.fit(X, truth, verbose=0, callbacks=callbacks).history
    p = np.asarray(net.predict_on_batch(X))[:, 0]
    area = sm.ROCAUC()
    area.update_many(truth[:, 0].astype(int), p)

    assert history["val_roc_auc"] == pytest.approx([area.get()], rel=1e-6)
    assert history["val_accuracy"] == [np.mean((p >= 0.5) == truth[:, 0])]


def test_what_is_refused() -> None:
    """Logits, other targets and other tuples raise errors that say what is expected."""
    net = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, kernel_initializer="identity")])
    net.compile("sgd", "mse")

    def fit(net: Any, y: Any, metric: str, data: Any, **options: Any) -> Any:
        return partial(net.fit, X, y, verbose=0, callbacks=[EvaluateAtEpochEnd(metric, data)], **options)

    all_refused(
        [
            (fit(net, X, "log_loss", (X * 9, Y)), sm.ScoreError, "probabilities from 0 to 1"),
            (fit(net, X, "accuracy", (X, X)), sm.LabelError, "rows of one 1 among zeros"),
            (fit(model(), Y, "accuracy", iter([(X, Y)]), epochs=2), sm.LabelError, "to have rows in every epoch"),
            (partial(EvaluateAtEpochEnd, "accuracy", (X,)), ValueError, "a tuple of 1"),
        ]
    )


def test_the_example_of_the_class() -> None:
    """The doctest runs."""
    assert doctest.testmod(adapter).failed == 0
