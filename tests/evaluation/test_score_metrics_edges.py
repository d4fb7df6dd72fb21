"""Metrics of scores at the edges: no data, one class, classes without samples, ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import stream_metrics as sm
from stream_metrics.catalog.table import CATALOG
from stream_metrics.evaluation.evaluate import evaluate
from stream_metrics.formulas.memoized import MemoizedCounts

NAN = math.nan
OF_SCORES = [row for row in CATALOG.values() if row.state != "counts"]


def rows(seed: int) -> tuple[Any, Any, Any]:
    """Return truths of five classes, rows of probabilities with ties, and weights."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 5, 200), rng.multinomial(64, np.full(5, 0.2), 200) / 64, rng.choice([0.25, 1, 3], 200)


def empty(row: Any) -> Any:
    """Return an empty state of the kind that a row reads."""
    return {"ranks": sm.RankSketch, "confidence": sm.RankSketch, "losses": sm.ProbabilityLosses}[row.state]()


@pytest.mark.parametrize("zero_division", [None, 0.0, 1.0, NAN])
@pytest.mark.parametrize("row", OF_SCORES, ids=lambda row: row.key)
def test_no_data(row: Any, zero_division: float | None) -> None:
    """Without data every value of scores is 0/0: nan, unless the caller says otherwise."""
    found, undefined = evaluate(row, empty(row), zero_division)
    expected = NAN if zero_division is None else zero_division
    if row.kind == "whole":
        assert undefined is True
        assert repr(found) == repr(expected)
    else:
        assert not undefined
        assert found.size == 0


@pytest.mark.parametrize("row", OF_SCORES, ids=lambda row: row.key)
def test_one_class(row: Any) -> None:
    """With one class only what needs no other is defined, and the rest is listed."""
    metrics = sm.MetricSet([row.key], zero_division=0.0)
    metrics.update("a", {"a": 0.75, "b": 0.25})
    snapshot = metrics.snapshot()
    alone = {"average_precision", "pr_auc_trapezoid", "precision_at_recall", "calibration"}
    defined = row.state == "losses" or any(word in row.key for word in alone) or row.key == "roc_auc_micro"

    if row.kind == "whole":
        assert snapshot.undefined == (() if defined else (row.key,))
        assert defined or snapshot[row.key] == 0.0
    elif row.kind == "per_class":
        assert ((row.key, "a") in snapshot.undefined) is not defined
        assert defined or snapshot.per_class[row.key]["a"] == 0.0


@pytest.mark.parametrize("row", OF_SCORES, ids=lambda row: row.key)
def test_values_stay_in_their_range(row: Any) -> None:
    """No value leaves the range of its row, and whole ones are plain floats, at level 0 and above, frozen or not."""
    for buckets in (1024, 3):
        truth, table, w = rows(21)
        metrics = sm.MetricSet(scores=True, buckets=buckets, sample=8)
        metrics.update_many(truth, table, w, classes=range(5))
        states = {
            "ranks": metrics.scored.ranks,
            "confidence": metrics.scored.confidence,
            "losses": metrics.scored.losses,
        }
        value, _ = evaluate(row, states[row.state])
        frozen, _ = evaluate(row, MemoizedCounts(states[row.state]))

        assert np.array_equal(value, frozen, equal_nan=True)
        assert row.kind != "whole" or type(value) is float
        numbers = np.ravel(value)[~np.isnan(np.ravel(value))]
        assert numbers.size
        assert ((numbers >= row.low) & (numbers <= row.high)).all()


def test_classes_without_samples_are_left_out_of_means() -> None:
    """A class that has scores but no samples has no area, and the means are over the others whatever 0/0 is."""
    truth, table, _ = rows(2)
    truth = np.where(truth == 4, 0, truth)
    for zero_division in (0.0, 1.0, NAN):
        metrics = sm.MetricSet(scores=True, zero_division=zero_division)
        metrics.update_many(truth, scores=table, classes=range(5))
        snapshot = metrics.snapshot()
        areas = dict(snapshot.per_class["roc_auc"])
        assert repr(areas.pop(4)) == repr(zero_division)
        assert snapshot["roc_auc_ovr"] == pytest.approx(sum(areas.values()) / 4, rel=1e-15)
        directed = snapshot["roc_auc_ovo_directed"][:4, :4]
        assert snapshot["roc_auc_ovo"] == pytest.approx(directed[~np.eye(4, dtype=bool)].mean(), rel=1e-15)
