"""Samples that a set removes after its sketches have coarsened: exact where counts are, certified where not."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import every_case
from support.rank_streams import several
from support.refusals import refused
from support.state_checks import fed
from support.wire_reader import framed, packed, read

import stream_metrics as sm
from stream_metrics import testing

COARSE: dict[str, Any] = {"scores": True, "buckets": 2, "sample": 2}
CORRECTED = [("a", {"a": k / 40, "b": 1 - k / 40}, 1) for k in range(1, 20)]
EXACT = [key for key, info in sm.metrics().items() if info.kind == "whole" and info.reads == "labels"]
EXACT += ["log_loss", "brier_score", "spherical_score", "top_k_accuracy"]


def counted(rows: Any, **options: Any) -> sm.MetricSet:
    """Return a set that has counted samples."""
    return fed(sm.MetricSet(**COARSE | options), rows)


def assert_values_of(metrics: sm.MetricSet, rows: Any) -> None:
    """Assert that counts and losses are those of samples, and that certified intervals hold their areas."""
    expected = counted(rows, buckets=4096, scores=metrics.scores, pairs=metrics.pairs)
    actual, recount = metrics.snapshot(), expected.snapshot()
    assert metrics.state == expected.state
    for name in ("n", "weight", "scored", "labels"):
        assert getattr(actual, name) == getattr(recount, name)
    for key in EXACT:
        with suppress(KeyError, ValueError):  # that the samples, or scores that are no probabilities, do not have
            value = recount[key]
            assert actual[key] == value or math.isnan(value)
    for key in ("roc_auc_ovr", "average_precision_ovr") if recount.scored else ():
        bounds, exact = actual.estimate(key), recount.estimate(key)
        assert bounds.kind == exact.kind
        assert exact.kind == "undefined" or bounds.low - 1e-9 <= exact.value <= bounds.high + 1e-9
    if recount.scored:
        areas, exact_areas = actual.per_class["roc_auc"], recount.per_class["roc_auc"]
        assert [(label, math.isnan(areas[label])) for label in areas] == [
            (label, math.isnan(area)) for label, area in exact_areas.items()
        ]


ROWS = {"any": several(), True: testing.soft_samples(testing.probabilities(), hard=False)}


@pytest.mark.parametrize("scores", ROWS)
@given(data=st.data(), pairs=st.booleans())
def test_what_is_left_is_a_recount(scores: Any, data: st.DataObject, pairs: bool) -> None:
    """Whatever is removed, in whatever order, labels and losses are those of a recount, and intervals hold areas."""
    metrics, left = counted([], scores=scores, pairs=pairs), []
    for row in data.draw(st.lists(ROWS[scores], min_size=1, max_size=12)):
        with suppress(sm.StreamMetricsError):  # a class beside a single number that is not known yet
            metrics.update(*row)
            left.append(row)
    for _ in range(data.draw(st.integers(0, len(left)))):
        metrics.remove(*left.pop(data.draw(st.integers(0, len(left) - 1))))

    assert_values_of(metrics, left)
    assert sm.from_bytes(metrics.to_bytes()) == metrics == metrics.copy()
    assert_values_of(sm.from_bytes(metrics.to_bytes()), left)


METRICS = st.sampled_from([["accuracy"], ["accuracy", "roc_auc_ovr"], ["roc_auc_ovo", "accuracy"], None])


@given(st.lists(st.tuples(several(), st.booleans()), max_size=12), st.integers(0, 12), st.tuples(METRICS, METRICS))
def test_shards_with_removed_samples_merge(rows: Any, split: int, metrics: Any) -> None:
    """Sets that removed samples merge like others, also where a state is dropped: in any order, with the same bytes."""
    shards = []
    for part, keys in zip((rows[:split], rows[split:]), metrics, strict=True):
        shard = counted([row for row, _ in part], metrics=keys, scores="any")
        for row, gone in part:
            if gone:
                shard.remove(*row)
        shards.append(shard)
    left = [row for row, gone in rows if not gone]

    if metrics[0] == metrics[1]:  # otherwise the first one says what is shown
        assert sm.merge(shards).to_bytes() == sm.merge(shards[::-1]).to_bytes()
    assert_values_of(sm.merge(shards), left)
    assert_values_of(sm.merge(shards).reconfigured(sample=1), left)


def test_nothing_is_left_behind() -> None:
    """A set whose samples were all removed, or that was reset, is empty; an exact one has the bytes of revert."""
    metrics = counted(CORRECTED)
    for row in CORRECTED:
        metrics.remove(*row)
    assert metrics == sm.MetricSet(**COARSE)
    metrics = counted(CORRECTED)
    metrics.remove(*CORRECTED[0])
    metrics.reset()
    assert metrics == sm.MetricSet(**COARSE)

    exact = counted(CORRECTED, buckets=64)
    exact.remove(*CORRECTED[4])
    assert exact == counted([*CORRECTED[:4], *CORRECTED[5:]], buckets=64)
    labels = fed(sm.MetricSet(), ["aa", "ba"])
    labels.remove("b", "a")
    assert (labels.n, labels.get()["accuracy"]) == (1, 1.0)
    mixed = counted([*CORRECTED, ("b", "a", 1)])
    mixed.remove("b", "a")
    assert mixed == counted(CORRECTED)


def test_what_was_never_counted_stays_refused() -> None:
    """Labels and losses tell, and then nothing has changed; samples with units are reverted."""
    metrics = counted(CORRECTED)
    before = metrics.to_bytes()
    for row in [("c", {"a": 0.5, "b": 0.5}, 1), ("a", {"a": 0.1, "b": 0.9}, 2.0**50)]:
        refused(partial(metrics.remove, *row), sm.WeightError)
        assert metrics.to_bytes() == before
    metrics.update("a", {"a": 0.5, "b": 0.5}, unit=1)
    refused(partial(metrics.remove, *CORRECTED[0]), ValueError, "units")


def test_bytes_of_removed_samples_that_cannot_be_are_refused() -> None:
    """Sketches of removed samples must be among those of all samples."""
    metrics = counted(CORRECTED)
    metrics.remove(*CORRECTED[3])
    kind, (*content, removed) = read(metrics.to_bytes())
    streams = CORRECTED, CORRECTED[:2], [("c", {"a": 0.3}, 1)], CORRECTED[:1]
    states = [*map(counted, streams), sm.MetricSet()]
    whole, two, other, exact, labels = (read(state.to_bytes())[1] for state in states)
    ranks, confidence = removed
    wrong: list[list[Any]] = [
        *([*content, sketches] for sketches in ([ranks], [ranks, two[4]], [other[3], confidence], other[3:5])),
        [*content, removed, removed], [*content[:-1], [[0, []]], removed],
        [*exact, [], removed], [*whole, [], removed], [*labels, [], []],
    ]  # fmt: skip
    assert sm.from_bytes(framed(packed([kind, [*content, removed]]))) == metrics
    with every_case() as case:
        for at, parts in enumerate(wrong):
            with case(at):
                refused(partial(sm.from_bytes, framed(packed([kind, parts]))), sm.DecodeError)
