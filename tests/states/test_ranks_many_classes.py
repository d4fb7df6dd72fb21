"""Scores of more classes than pairs are kept of: from the 65th class on a sketch has each class against the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from support.changed_bytes import bytes_of, content_of
from support.refusals import refused
from support.state_checks import check_refused, fed, with_batch

import stream_metrics as sm
from stream_metrics import RankSketch, testing

SIZES = [{"buckets": 2, "sample": 1}, {"buckets": 8, "sample": 4}, {"buckets": 64, "sample": 16}, {"buckets": 1024}]
NEEDS = "needs pairs of classes, which are kept for at most 64, but got 70"

Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def table(rng: np.random.Generator, classes: int, fractions: bool) -> Table:
    """Return truths, scores that are mostly 0, and weights, some of them 0; not every class need occur."""
    n = int(rng.integers(60, 400))
    scores = np.round(rng.normal(size=(n, classes)), 6 if fractions else 2)
    scores *= rng.random((n, classes)) < rng.choice([0.01, 0.2])
    weights = rng.random(n) * 4 if fractions else rng.integers(0, 3, n)
    return rng.integers(0, classes, n), scores, weights


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_any_split_gives_the_bytes_of_one_against_the_rest(size: dict[str, int]) -> None:
    """Beyond 64 classes a sketch has the content of one without pairs; up to 64 it has its pairs."""
    for classes, fractions in ((62, True), (64, False), (65, True), (70, False), (70, True)):
        rng = np.random.default_rng([classes, size["buckets"], fractions])
        truth, scores, weights = table(rng, classes, fractions)
        named, order = [dict(enumerate(row)) for row in scores.tolist()], rng.permutation(len(truth))
        rest, whole, mappings, *shards = (RankSketch(**size, pairs=i > 0) for i in range(7))
        for state in (rest, whole):
            state.update_many(truth, scores, weights, classes=range(classes))
        mappings.update_many(truth, named, weights)
        for at, row in enumerate(order.tolist()):
            shards[at * 4 // len(order)].update(int(truth[row]), named[row], weights[row].item())
        halves = sm.from_bytes(shards[0].to_bytes()).merge(shards[1]), shards[3].merge(shards[2])
        merged = sm.merge(halves), sm.merge(halves[::-1])
        assert {state.to_bytes() for state in (mappings, *merged)} == {whole.to_bytes()}
        assert (whole.pairs, whole.paired) == (True, len(rest.labels) <= 64)
        if not whole.paired:
            assert content_of(whole)[1:] == content_of(rest)[1:]
            assert all(repr(whole.column(label)) == repr(rest.column(label)) for label in rest.labels)


def one_each(labels: Any) -> Any:
    """Return a sketch of one sample of each class."""
    return fed(RankSketch(), [(label, {label: 0.5}) for label in labels])


@pytest.mark.quick
def test_only_classes_that_are_counted_count() -> None:
    """Neither scores of 0, nor samples of weight 0, nor a 65th class that is refused after all, drop the pairs."""
    sketch = fed(one_each(range(64)), [(3, {64: 0.0, 65: -0.0, 3: 0.5}), (66, {67: 0.5}, 0)])
    sketch.update_many([1, 2], np.zeros((2, 70)), classes=range(70))
    sketch.update_many([1, 68], np.eye(70)[[1, 69]], [1, 0], classes=range(70))
    assert (sketch.paired, len(sketch.labels)) == (True, 64)
    sketch.update(3, {3: 0.75, 5: 0.25}, 2**62)
    many, full = {"new": 0.5, "other": 0.25}, fed(RankSketch(), [("full", {"full": 0.5}, 2**63 - 1025)])
    bad = [(("new", many, 2**63 - 10), sm.WeightError), (("new", many | {"x": float("nan")}), sm.ScoreError)]
    check_refused(sketch, "update", bad)
    batch = ["new", "b"], [{"new": 0.5}, {"b": 0.5}], [1, 2**62 * 1.9]
    check_refused(sketch, "update_many", [(batch, sm.WeightError)])
    check_refused(sketch, "merge", [((full,), sm.WeightError)])
    assert sketch.paired
    assert len(sketch.column(3, 3, 5).cells) == 2

    sketch.update(3, {64: 5e-324})
    assert (sketch.paired, len(sketch.labels)) == (False, 65)
    sketch.reset()
    assert (sketch, sketch.paired) == (RankSketch(), True)


@pytest.mark.quick
def test_an_update_reverts_while_enough_classes_are_left() -> None:
    """The last sample of the 65th class stays, because pairs cannot come back; any other can be taken out."""
    sketch, expected = one_each(range(66)), one_each([*range(10), *range(11, 66)])
    sketch.update("a", {"b": 0.5})
    sketch.revert("a", {"b": 0.5})
    sketch.revert(10, {10: 0.5})
    assert sketch == expected
    check_refused(sketch, "revert", [((11, {11: 0.5}), sm.ScoreError)])
    sketch.update(12, {11: 0.5})
    sketch.revert(11, {11: 0.5})
    assert sketch.labels == expected.labels


labels, scores = st.integers(0, 69), st.integers(-2, 3).map(lambda x: x / 4)
mappings = st.tuples(labels, scores).map(lambda drawn: {k: (k % 5 - drawn[1]) / 4 for k in range(drawn[0] + 1)})


@pytest.mark.parametrize("law", [law for law in testing.LAWS if law is not testing.revert_undoes])
def test_laws(law: Callable[..., None]) -> None:
    """Merging, bytes and copies do not depend on when the pairs are dropped."""
    law(lambda: RankSketch(buckets=3, sample=2), st.tuples(labels, mappings, st.sampled_from([0, 1, 3, 0.3])))


def many(make: Callable[..., Any], n: int = 70) -> Any:
    """Return a state of n classes, each predicted right but the first."""
    state, scores = make(), np.full((n, n), 0.1) + 0.8 * np.eye(n)
    scores[0] = scores[1]
    state.update_many(np.arange(n), scores / scores.sum(axis=1, keepdims=True), classes=range(n))
    return state


@pytest.mark.quick
def test_a_metric_of_pairs_takes_up_to_64_classes() -> None:
    """One more, or many more, are refused before anything has counted them, and so are bytes with more."""
    metric = with_batch(sm.HandTillAUC(), range(64), [{label: 0.5, (label + 1) % 64: 0.25} for label in range(64)])
    for more in (range(64, 65), range(64, 140)):
        row = dict.fromkeys(more, 0.5)
        check_refused(metric, "update", [((64, row), sm.ScoreError)])
        check_refused(metric, "update_many", [(([3, 64], [{3: 0.5}, row]), sm.ScoreError)])
    assert (metric.get(), many(lambda: sm.MetricSet(["log_loss", "roc_auc_ovr"])).get().keys()) == (
        1.0, {"log_loss", "roc_auc_ovr"}
    )  # fmt: skip
    large = sm.MetricSet(["accuracy", "roc_auc_ovo"], pairs=False, buckets=2, sample=1)
    large.update("a", {"a": 0.5, **{f"c{i}": 1e-4 for i in range(4100)}})
    assert "roc_auc_ovo" in large.snapshot().omitted
    other = fed(sm.HandTillAUC(), [(f"other {label}", {f"other {label}": 0.5}) for label in range(2)])
    check_refused(metric, "merge", [((other,), sm.ScoreError)])
    data = bytes_of("metric", [content_of(many(sm.HandTillAUC, 64))[0], content_of(many(RankSketch))])
    refused(lambda: sm.from_bytes(data), sm.DecodeError, "at most 64 classes for a metric that compares pairs")


CONTAINERS: list[tuple[Callable[[Any], Any], Callable[[int], dict[str, Any]]]] = [
    (sm.ByGroup, lambda i: {"group": i % 3}),
    (lambda inner: sm.TimeWindow(inner, "1m", 6), lambda i: {"t": i}),
    (lambda inner: sm.Fading(inner, "20s"), lambda i: {"t": i}),
    (lambda inner: sm.Rolling(inner, 500), lambda i: {}),
    (lambda inner: inner, lambda i: {"unit": i % 7}),
]


def test_containers_read_many_classes() -> None:
    """Groups or panes that together have more than 64 classes are read as one snapshot."""
    for make, context in CONTAINERS:
        state = make(sm.MetricSet(scores=True))
        for i in range(210):
            state.update(i % 70, {i % 70: 0.75, (i + 1) % 70: 0.25}, **context(i // 3))
        snapshot = sm.from_bytes(state.to_bytes()).snapshot()
        snapshot = getattr(snapshot, "overall", snapshot)
        assert snapshot["roc_auc_ovr"] > 0.9
        assert snapshot["roc_auc_ovo"] > 0.9 if len(snapshot.labels) <= 64 else "roc_auc_ovo" in snapshot.omitted


@pytest.mark.parametrize("batch", [1, 5])
def test_a_rolling_window_has_its_pairs_again(batch: int) -> None:
    """As many classes come and leave, the window is always that of a new stream of its samples."""
    rng = np.random.default_rng(batch)
    window = sm.Rolling(RankSketch(), 80)
    truth = np.concatenate([rng.integers(0, size, 240) for size in (72, 50, 73)]).tolist()
    every = [{label: 0.5, label * 7 % 72: 0.25} for label in truth]
    paired = set()
    for start in range(0, len(truth), batch):
        if batch == 1:
            window.update(truth[start], every[start])
        else:
            window.update_many(truth[start : start + batch], every[start : start + batch])
        last = slice(max(start + batch - 80, 0), start + batch)
        expected = with_batch(RankSketch(), truth[last], every[last])
        assert window.state.to_bytes() == expected.to_bytes()
        paired.add(expected.paired)
    assert paired == {True, False}
