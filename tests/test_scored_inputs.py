"""Inputs to scored sets that are easily read the wrong way."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import stream_metrics as sm


def test_a_series_is_read_by_position() -> None:
    """Rows of labels and scores in a pandas column are taken in order, whatever its index."""
    column = [{"a": 0.1, "b": 0.9}, {"a": 0.8, "b": 0.2}, "a"]
    metrics, expected = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    metrics.update_many(["a", "b", "a"], pd.Series(column, index=[1, 0, 2], dtype=object))
    expected.update_many(["a", "b", "a"], column)

    assert metrics == expected


def test_a_failed_merge_changes_nothing() -> None:
    """More than 64 classes together are refused before any state has merged."""
    a, b = sm.MetricSet(scores=True), sm.MetricSet(scores=True)
    for i in range(40):
        a.update(f"a{i}", {f"a{i}": 0.9})
        b.update(f"b{i}", {f"b{i}": 0.9})
    before = a.to_bytes()

    with pytest.raises(sm.ScoreError, match="at most 64 classes"):
        a.merge(b)
    assert a.to_bytes() == before


@pytest.mark.parametrize("scores", [True, "any"])
def test_a_single_score_needs_a_truth_of_its_type(scores: Any) -> None:
    """A truth that can never equal `pos_label` is refused, alone and in a batch."""
    metrics = sm.MetricSet(scores=scores)

    with pytest.raises(sm.LabelError, match="of the type of pos_label=True"):
        metrics.update("spam", 0.9)
    with pytest.raises(sm.LabelError, match="of the type of pos_label=True"):
        metrics.update_many(["spam", "ham"], [0.9, 0.1])


def test_pairs_are_kept_only_where_a_metric_reads_them() -> None:
    """Named metrics that compare no pairs take any number of classes."""
    metrics = sm.MetricSet(["log_loss", "roc_auc_ovr"])
    for i in range(70):
        metrics.update(f"c{i}", {f"c{i}": 0.9})

    assert metrics.get()["roc_auc_ovr"] == 1.0


def test_more_scored_classes_than_a_square_table_takes() -> None:
    """Square tables are left out by the classes that have scores, not only by those of the matrix."""
    metrics = sm.MetricSet(["accuracy", "roc_auc_ovo"], pairs=False, buckets=2, sample=1)
    metrics.update("a", {"a": 0.5, **{f"c{i}": 1e-4 for i in range(4100)}})

    assert "roc_auc_ovo" in metrics.snapshot().to_dict()["omitted"]


def test_an_undefined_value_of_a_class_is_announced() -> None:
    """An estimate of 0/0 is of the kind undefined, also for counts."""
    metrics = sm.MetricSet()
    metrics.update_many(["a", "a", "b"], ["a", "a", "a"])

    assert metrics.snapshot().estimate("precision", "b").kind == "undefined"
    assert metrics.snapshot().estimate("precision", "a").kind == "exact"


def test_a_snapshot_of_nothing_is_refused() -> None:
    """There must be a state."""
    with pytest.raises(ValueError, match="at least one state"):
        sm.Snapshot()
