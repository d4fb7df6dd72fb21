"""Samples that a set removes after its sketches have coarsened: exact where counts are, certified where not."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rank_streams import several

import stream_metrics as sm
from stream_metrics import testing
from stream_metrics.catalog.table import CATALOG
from stream_metrics.errors import DecodeError, StreamMetricsError, WeightError
from stream_metrics.metrics.metric_set import MetricSet
from stream_metrics.wire import decoded, encoded

COARSE: dict[str, Any] = {"scores": True, "buckets": 2, "sample": 2}
CORRECTED = [("a", {"a": k / 40, "b": 1 - k / 40}, 1) for k in range(1, 20)]


def counted(rows: Any, **options: Any) -> MetricSet:
    """Return a set that has counted samples."""
    metrics = MetricSet(**COARSE | options)
    for row in rows:
        metrics.update(*row)
    return metrics


def assert_values_of(metrics: MetricSet, rows: Any) -> None:
    """Assert that counts and losses are those of samples, and that certified intervals hold their areas."""
    options = {"scores": metrics.scores, "pairs": metrics.pairs}
    actual, recount = metrics.snapshot(), counted(rows, buckets=4096, **options).snapshot()
    assert (actual.n, actual.weight, actual.scored) == (recount.n, recount.weight, recount.scored)
    assert (actual.labels, actual.evaluation.states["counts"]) == (recount.labels, recount.evaluation.states["counts"])
    for key, row in CATALOG.items():
        if row.state in ("counts", "losses") and row.kind == "whole" and recount.evaluation.obstacle(key) is None:
            assert actual[key] == recount[key] or math.isnan(recount[key])
    if recount.scored:
        assert actual.evaluation.views["ranks"].labels == recount.evaluation.views["ranks"].labels
        for key in ("roc_auc_ovr", "average_precision_ovr"):
            bounds, exact = actual.estimate(key), recount.estimate(key)
            assert bounds.kind == exact.kind
            assert exact.kind == "undefined" or bounds.low - 1e-9 <= exact.value <= bounds.high + 1e-9
        for label, area in recount.per_class["roc_auc"].items():
            assert math.isnan(area) == math.isnan(actual.per_class["roc_auc"][label])


@pytest.mark.parametrize("pairs", [True, False])
@given(rows=st.lists(several(), min_size=1, max_size=12), data=st.data())
def test_what_is_left_is_a_recount(rows: Any, data: Any, pairs: bool) -> None:
    """Whatever is removed, in whatever order, labels are those of a recount, and areas lie in their intervals."""
    metrics, left = counted(rows, scores="any", pairs=pairs), list(rows)
    for _ in range(data.draw(st.integers(0, len(rows)))):
        metrics.remove(*left.pop(data.draw(st.integers(0, len(left) - 1))))

    assert_values_of(metrics, left)
    assert sm.from_bytes(metrics.to_bytes()) == metrics == metrics.copy()
    assert_values_of(sm.from_bytes(metrics.to_bytes()), left)


@given(st.lists(testing.soft_samples(testing.probabilities(), hard=False), min_size=2, max_size=12), st.data())
def test_losses_are_those_of_a_recount(rows: Any, data: Any) -> None:
    """Probabilities, single or of each class, and abstentions."""
    metrics, left = MetricSet(**COARSE), []
    for row in rows:
        try:
            metrics.update(*row)
            left.append(row)
        except StreamMetricsError:  # a class beside a single number that is not known yet
            continue
    for _ in range(data.draw(st.integers(0, len(left)))):
        metrics.remove(*left.pop(data.draw(st.integers(0, len(left) - 1))))

    assert_values_of(metrics, left)


@given(st.lists(st.tuples(several(), st.booleans()), max_size=12), st.integers(0, 12))
def test_shards_with_removed_samples_merge(rows: Any, split: int) -> None:
    """Sets that removed samples merge like others: in any order, with the same bytes."""
    shards = []
    for part in (rows[:split], rows[split:]):
        shard = counted([row for row, _ in part], scores="any")
        for row, gone in part:
            if gone:
                shard.remove(*row)
        shards.append(shard)
    left = [row for row, gone in rows if not gone]

    assert sm.merge(shards).to_bytes() == sm.merge(shards[::-1]).to_bytes()
    assert_values_of(sm.merge(shards), left)
    assert_values_of(sm.merge(shards).reconfigured(sample=1), left)


def test_nothing_is_left_behind() -> None:
    """A set of which all samples were removed has the bytes of an empty one, and so has one that was reset."""
    metrics = counted(CORRECTED)
    for row in CORRECTED:
        metrics.remove(*row)
    assert metrics == MetricSet(**COARSE)

    metrics = counted(CORRECTED)
    metrics.remove(*CORRECTED[0])
    metrics.reset()
    assert metrics == MetricSet(**COARSE)


def test_an_exact_set_reverts() -> None:
    """While every score has its cell the bytes are those of a set that never had the sample."""
    metrics = counted(CORRECTED, buckets=64)
    metrics.remove(*CORRECTED[4])
    assert metrics == counted([*CORRECTED[:4], *CORRECTED[5:]], buckets=64)


def test_what_was_never_counted_stays_refused() -> None:
    """Labels and losses tell, and then nothing has changed; samples with units are reverted."""
    metrics = counted(CORRECTED)
    before = metrics.to_bytes()
    for row in [("c", {"a": 0.5, "b": 0.5}, 1), ("a", {"a": 0.1, "b": 0.9}, 2.0**50)]:
        with pytest.raises(WeightError):
            metrics.remove(*row)
        assert metrics.to_bytes() == before
    metrics.update("a", {"a": 0.5, "b": 0.5}, unit=1)
    with pytest.raises(ValueError, match="units"):
        metrics.remove(*CORRECTED[0])


def test_labels_alone_are_removed() -> None:
    """A set without scores, and a sample without scores, are counts of labels only."""
    labels = MetricSet()
    labels.update_many(["a", "b"], ["a", "a"])
    labels.remove("b", "a")
    assert (labels.n, labels.get()["accuracy"]) == (1, 1.0)

    metrics = counted([*CORRECTED, ("b", "a", 1)])
    metrics.remove("b", "a")
    assert metrics == counted(CORRECTED)


def test_bytes_of_removed_samples_that_cannot_be_are_refused() -> None:
    """Sketches of removed samples must be among those of all samples."""
    metrics = counted(CORRECTED)
    metrics.remove(*CORRECTED[3])
    *content, removed = metrics.to_content()
    ranks, confidence = removed
    assert MetricSet.from_content(decoded(encoded([*content, removed]))) == metrics
    other, exact = counted([("c", {"a": 0.3}, 1)]).scored, counted(CORRECTED[:1])
    for wrong in (
        [*content, [ranks]],
        [*content, [ranks, counted(CORRECTED[:2]).scored.confidence.to_content()]],
        [*content, [other.ranks.to_content(), confidence]],
        [*content, [other.ranks.to_content(), other.confidence.to_content()]],
        [*content, removed, removed],
        [*content[:-1], [[0, []]], removed],
        [*exact.to_content(), [], removed],
        [*counted(CORRECTED).to_content(), [], removed],
        [*MetricSet().to_content(), [], []],
    ):
        with pytest.raises(DecodeError):
            MetricSet.from_content(decoded(encoded(wrong)))
