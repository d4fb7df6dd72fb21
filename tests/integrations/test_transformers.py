"""Hugging Face: metrics of whole evaluations, of batches, of tokens, and by the Trainer itself."""

from __future__ import annotations

import doctest
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.refusals import all_refused, refused

import stream_metrics as sm
from stream_metrics.integrations import transformers as adapter
from stream_metrics.integrations.transformers import ComputeMetrics

RNG = np.random.default_rng(4)
TRUTH = RNG.integers(0, 3, 50)
LOGITS = RNG.normal(size=(50, 3)) + 2 * np.eye(3)[TRUTH]
KEYS = ["accuracy", "macro_f1", "log_loss"]


def softmax(logits: Any) -> Any:
    """Return probabilities."""
    powers = np.exp(logits)
    return powers / powers.sum(-1, keepdims=True)


def expected(truth: Any = TRUTH, logits: Any = LOGITS, classes: Any = (0, 1, 2)) -> dict[str, float]:
    """Return the values of the package's own set."""
    state = sm.MetricSet(KEYS)
    state.update_many(truth, scores=softmax(logits), classes=classes)
    return dict(state.get())


def test_a_whole_evaluation() -> None:
    """Arrays, a tuple with hidden states, and a list of batches give the values of the set."""
    compute = ComputeMetrics(KEYS)
    parts = slice(0, 20), slice(20, None)
    forms = [
        (LOGITS, TRUTH),
        ((LOGITS, "hidden states"), TRUTH),
        ([LOGITS[part] for part in parts], [TRUTH[part] for part in parts]),
    ]
    for form in forms:
        assert compute(form) == pytest.approx(expected(), rel=1e-12)
    assert compute((LOGITS.astype(np.float32), TRUTH)) == pytest.approx(expected(), rel=1e-5)


def test_batches() -> None:
    """Only the last batch has a result, of all of them; then, or after an error, a new evaluation begins."""
    compute = ComputeMetrics(KEYS)
    for _ in range(2):
        assert compute((LOGITS[:20], TRUTH[:20]), compute_result=False) == {}
        assert compute((LOGITS[20:], TRUTH[20:]), compute_result=True) == pytest.approx(expected(), rel=1e-12)
    compute((LOGITS, TRUTH), compute_result=False)
    short = partial(compute, (LOGITS[:49], TRUTH), compute_result=False)
    refused(short, sm.LabelError, "of the shape of the labels, but got (49, 3) beside (50,)")
    assert compute((LOGITS, TRUTH)) == pytest.approx(expected(), rel=1e-12)


def test_tokens_and_padding() -> None:
    """Rows of tokens are flattened, and what has the label -100 is not counted."""
    truth = np.where(np.arange(50) % 7 == 0, -100, TRUTH)
    counted = truth >= 0
    wanted = expected(TRUTH[counted], LOGITS[counted])

    assert ComputeMetrics(KEYS)((LOGITS.reshape(10, 5, 3), truth.reshape(10, 5))) == pytest.approx(wanted, rel=1e-12)
    own = ComputeMetrics(KEYS, ignore_index=0)((LOGITS, TRUTH))
    assert own == pytest.approx(expected(TRUTH[TRUTH != 0], LOGITS[TRUTH != 0]), rel=1e-12)
    nothing = ComputeMetrics("accuracy")((LOGITS, np.full(50, -100)))
    assert list(nothing) == ["accuracy"]


def test_classes_single_logits_and_labels() -> None:
    """Names of classes, one logit a sample, probabilities, and predicted classes as integers."""
    named = ComputeMetrics(sm.MetricSet(KEYS), classes=["a", "b", "c"])((LOGITS, TRUTH))
    binary, truth = LOGITS[:, 1:2], (TRUTH == 1).astype(int)
    area = sm.ROCAUC()
    area.update_many(truth, 1 / (1 + np.exp(-binary[:, 0])))

    assert named == pytest.approx(expected(), rel=1e-12)
    for logits in (binary, binary[:, 0]):
        assert ComputeMetrics("roc_auc", activation="sigmoid")((logits, truth)) == {"roc_auc": area.get()}
    decided = ComputeMetrics("accuracy", activation="sigmoid")((binary, truth))["accuracy"]
    assert decided == np.mean((binary[:, 0] >= 0) == truth)
    assert ComputeMetrics(KEYS, activation=None)((softmax(LOGITS), TRUTH)) == pytest.approx(expected(), rel=1e-12)
    predicted = LOGITS.argmax(-1)
    assert ComputeMetrics("macro_f1")((predicted, TRUTH))["macro_f1"] == expected()["macro_f1"]
    large = np.array([[1000.0, 0.0], [0.0, -1000.0]])
    assert ComputeMetrics("log_loss")((large, np.array([0, 0])))["log_loss"] == 0.0


def test_what_is_refused() -> None:
    """A form that would give wrong values raises an error that says what is expected."""
    all_refused(
        (lambda options=options, logits=logits: ComputeMetrics(KEYS, **options)((logits, TRUTH)), ValueError, message)
        for options, logits, message in [
            ({"activation": "relu"}, LOGITS, "`activation`"),
            ({"activation": "sigmoid"}, LOGITS, "one column for 'sigmoid', and several for 'softmax', but got 3"),
            ({}, LOGITS[:, :1], "and several for 'softmax', but got 1"),
            ({"activation": None}, LOGITS, "probabilities from 0 to 1"),
        ]
    )


def test_logits_that_are_close() -> None:
    """Labels are read from logits, of which probabilities may be equal though these differ."""
    logits = np.array([[0.0, 1e-17], [1.0, -np.inf], [0.0, np.inf]])
    assert ComputeMetrics("accuracy")((logits, np.array([1, 0, 1]))) == {"accuracy": 1.0}
    nothing = np.array([[0.1, 0.9], [np.nan, 0.5]]), np.array([1, 0])
    assert refused(partial(ComputeMetrics("log_loss"), nothing), sm.ScoreError).position == 1


def test_the_example_of_the_class() -> None:
    """The doctest runs."""
    assert doctest.testmod(adapter).failed == 0


@pytest.mark.filterwarnings("ignore")  # of transformers and accelerate themselves
@pytest.mark.parametrize("by_batch", [False, True])
def test_the_trainer_itself(tmp_path: Path, by_batch: bool) -> None:
    """`Trainer.evaluate` reports the values of all rows, whole or batch by batch, twice."""
    torch = pytest.importorskip("torch", reason="needs PyTorch", exc_type=ImportError)
    pytest.importorskip("accelerate", reason="the Trainer needs accelerate", exc_type=ImportError)
    transformers = pytest.importorskip("transformers", reason="needs transformers", exc_type=ImportError)

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: Any, labels: Any) -> Any:
            logits = x * self.scale
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    rows = [{"x": x, "labels": int(y)} for x, y in zip(LOGITS.astype(np.float32), TRUTH, strict=True)]
    options = {"report_to": [], "use_cpu": True, "per_device_eval_batch_size": 16, "batch_eval_metrics": by_batch}
    arguments = transformers.TrainingArguments(output_dir=str(tmp_path), **options)
    trainer = transformers.Trainer(Model(), arguments, eval_dataset=rows, compute_metrics=ComputeMetrics(KEYS))
    for _ in range(2):
        got = trainer.evaluate()
        assert {key: got[f"eval_{key}"] for key in KEYS} == pytest.approx(expected(), rel=1e-5)
