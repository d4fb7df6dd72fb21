"""Batches into a rolling window: larger and smaller than it, in every form, the same bytes as one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rank_streams import binary, several

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.containers.rolling import Rolling

CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "labels": (sm.MCC, testing.samples()),
    "unweighted": (sm.ConfusionMatrix, testing.samples(weighted=False)),
    "areas": (sm.ROCAUC, binary()),
    "unweighted areas": (sm.ROCAUC, binary(weighted=False)),
    "pairs": (sm.HandTillAUC, several()),
    "losses": (sm.CrossEntropy, testing.soft_samples(hard=False)),
    "sets": (lambda: sm.MetricSet(scores=True), testing.soft_samples()),
    "hard sets": (sm.MetricSet, testing.samples()),
}


@pytest.mark.parametrize(("make", "samples"), CASES.values(), ids=CASES)
@given(data=st.data())
def test_batches_are_samples_one_by_one(make: Callable[[], Any], samples: Any, data: st.DataObject) -> None:
    """Batches of any size leave ring and state as single samples do, and the state is that of the last samples."""
    window = data.draw(st.sampled_from([1, 3, 8]))
    one, many = Rolling(make(), window), Rolling(make(), window)
    for batch in data.draw(st.lists(st.lists(samples, min_size=1, max_size=12), max_size=4)):
        for sample in batch:
            one.update(*sample)
        many.update_many(*(list(column) for column in zip(*batch, strict=True)))
        assert many.to_bytes() == one.to_bytes()
        assert many.state.to_bytes() == one.state.to_bytes()


def twins(make: Callable[[], Any], window: int, columns: list[Any], rows: list[Any], **more: Any) -> None:
    """Feed one window a batch and another one its rows, and compare."""
    many, one = Rolling(make(), window), Rolling(make(), window)
    for _ in range(2):
        many.update_many(*columns, **more)
        for row in rows:
            one.update(*row)
    assert many.to_bytes() == one.to_bytes()
    assert many.state.to_bytes() == one.state.to_bytes()


@pytest.mark.parametrize("window", [3, 20, 50])
def test_labels_in_any_column(window: int) -> None:
    """Arrays, text arrays, pandas with missing values and categories, generators, weights as arrays."""
    rng = np.random.default_rng(0)
    numbers, guesses = rng.integers(0, 4, (2, 20))
    text = np.array(["a", "b", "c", "dd"])[numbers]
    missing = pd.Series([None if i % 5 == 0 else t for i, t in enumerate(text.tolist())], dtype=object)
    weights = rng.choice([1.0, 0.5, 3.0], 20)
    labels, w = text.tolist(), weights.tolist()
    for truth, predicted, rows in (
        (numbers, guesses, zip(numbers.tolist(), guesses.tolist(), w, strict=True)),
        (numbers.astype(np.uint8), guesses > 1, zip(numbers.tolist(), (guesses > 1).tolist(), w, strict=True)),
        (text, pd.Categorical(text), zip(labels, labels, w, strict=True)),
        (pd.Series(text), missing, zip(labels, missing.tolist(), w, strict=True)),
        (numbers.astype(float), text, zip(numbers.astype(float).tolist(), labels, w, strict=True)),
    ):
        twins(sm.ConfusionMatrix, window, [truth, predicted, weights], list(rows))
    many, one = Rolling(sm.Accuracy(), window), Rolling(sm.Accuracy(), window)
    many.update_many((x for x in labels), (x for x in labels))
    for label in labels:
        one.update(label, label)
    assert many == one


@pytest.mark.parametrize("window", [3, 20, 50])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_scores_in_any_column(window: int, kind: Any) -> None:
    """Columns and tables of floats with classes, data frames, lists of rows: as mappings one by one."""
    rng = np.random.default_rng(1)
    single = rng.random(20).astype(kind)
    truth = rng.random(20) < 0.5
    for make in (sm.ROCAUC, sm.BrierScore, lambda: sm.MetricSet(scores=True)):
        twins(make, window, [truth, single], list(zip(truth.tolist(), single.tolist(), strict=True)))
    names = ["a", "b", "c"]
    table = rng.dirichlet(np.ones(3), 20).astype(kind)
    labels = rng.choice(names, 20)
    rows = [(t, dict(zip(names, row, strict=True))) for t, row in zip(labels.tolist(), table.tolist(), strict=True)]
    twins(sm.RankSketch, window, [labels, table], rows, classes=names)
    twins(sm.ProbabilityLosses, window, [labels, table], rows, classes=names)
    twins(lambda: sm.ProbabilityLosses(classes=names), window, [labels, table], rows)
    for given_ in ({"y_pred": table, "classes": names}, {"scores": table, "classes": names},
                   {"scores": pd.DataFrame(table, columns=names)}, {"y_pred": [row for _, row in rows]}):  # fmt: skip
        twins(lambda: sm.MetricSet(scores=True), window, [labels], rows, **given_)


def test_scores_beside_predictions() -> None:
    """A batch may hold predictions that are not the largest of their scores."""
    rng = random.Random(5)
    names = ("a", "b")
    rows = [(rng.choice(names), rng.choice(names), rng.random()) for _ in range(30)]
    many, one = (Rolling(sm.MetricSet(scores=True), 12) for _ in range(2))
    scores = np.array([[p, 1 - p] for _, _, p in rows])
    for part in (slice(0, 5), slice(5, 12), slice(12, 30)):
        truth, predicted, _ = zip(*rows[part], strict=True)
        many.update_many(truth, predicted, scores=scores[part], classes=names)
        for y_true, y_pred, p in rows[part]:
            one.update(y_true, y_pred, scores={"a": p, "b": 1 - p})
        assert many.to_bytes() == one.to_bytes()
        assert many.state.to_bytes() == one.state.to_bytes()
    assert sm.from_bytes(many.to_bytes()) == many


@pytest.mark.parametrize("size", [1, 4, 5, 9])
def test_one_bad_row_rejects_the_batch(size: int) -> None:
    """The error names the position in the batch, and nothing has changed."""
    rolling = Rolling(sm.MCC(), 5)
    rolling.update_many(["a", "b", "c"], ["a", "a", None], [1, 0.5, 0])
    before = rolling.to_bytes()
    with pytest.raises(sm.LabelError, match=f"position {size - 1}"):
        rolling.update_many(["a"] * (size - 1) + [float("nan")], ["a"] * size)
    with pytest.raises(sm.WeightError, match=f"position {size - 1}"):
        rolling.update_many(["a"] * size, ["a"] * size, [1.0] * (size - 1) + [-1.0])

    assert rolling.to_bytes() == before


def test_a_batch_that_is_too_heavy_for_what_stays_is_refused() -> None:
    """What left for it comes back in its place."""
    rolling = Rolling(sm.Accuracy(), 3)
    for label in "abc":
        rolling.update(label, label, 2**61)
    before = rolling.to_bytes()
    with pytest.raises(sm.WeightError):
        rolling.update_many(["d", "e"], ["d", "e"], [2**61, 2**62 + 2**61])

    assert rolling.to_bytes() == before
    assert rolling.state.state.labels == ("a", "b", "c")
