"""Shards with different metrics merge into what all of them count, in any order and tree of merges."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stream_metrics as sm

SCORES = ({"a": 0.7, "b": 0.2, "c": 0.1}, {"a": 0.25, "b": 0.5, "c": 0.25}, {"a": 0.125, "b": 0.125, "c": 0.75})
METRICS = (["accuracy"], ["accuracy", "roc_auc_ovr"], ["roc_auc_ovo", "accuracy"], ["log_loss", "roc_auc_ovo"], None)
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "set": lambda inner: inner,
    "groups": sm.ByGroup,
    "folded groups": lambda inner: sm.ByGroup(inner, max_groups=1),
    "window": lambda inner: sm.TimeWindow(inner, "6s", 3, clock=lambda: 9),
    "window of groups": lambda inner: sm.TimeWindow(sm.ByGroup(inner), "6s", 3, clock=lambda: 9),
    "fading": lambda inner: sm.Fading(inner, "20s", clock=lambda: 9),
}
rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(SCORES), st.sampled_from("xyz"), st.integers(0, 9)), max_size=6
)
shards = st.lists(st.tuples(st.sampled_from(METRICS), rows), min_size=2, max_size=4)


def fed(container: str, state: Any, samples: list[Any]) -> Any:
    """Count samples of (label, scores, group, time)."""
    for truth, scores, group, t in samples:
        more = {"group": group} if "group" in container else {}
        more |= {"t": t} if container not in {"set", "groups", "folded groups"} else {}
        more |= {"unit": group} if container == "set" else {}
        state.update(truth, scores, **more)
    return state


@pytest.mark.parametrize("container", CONTAINERS)
@settings(deadline=None, max_examples=60)
@given(shards=shards, data=st.data())
def test_any_tree_of_merges_has_the_bytes_of_one_process(container: str, shards: list[Any], data: Any) -> None:
    """The same bytes as one process that counts what all shards count."""
    make = CONTAINERS[container]
    states = [fed(container, make(sm.MetricSet(metrics, scores=True)), each) for metrics, each in shards]
    empty = [make(sm.MetricSet(metrics, scores=True)) for metrics, _ in shards]
    direct = fed(container, reduce(lambda a, b: a.merge(b), empty), [row for _, each in shards for row in each])

    left = reduce(lambda a, b: a.copy().merge(b), states)
    right = reduce(lambda a, b: b.copy().merge(a), states[::-1])
    split = data.draw(st.integers(1, len(states) - 1))
    halves = [reduce(lambda a, b: a.copy().merge(b), part) for part in (states[:split], states[split:])]
    turned = reduce(lambda a, b: a.copy().merge(b), [states[0], *data.draw(st.permutations(states[1:]))])

    assert left.to_bytes() == right.to_bytes() == halves[0].merge(halves[1]).to_bytes() == turned.to_bytes()
    assert sm.from_bytes(left.to_bytes()).to_bytes() == left.to_bytes()
    if container != "fading":  # whose sums depend on the stretch in which a process starts
        assert left.to_bytes() == direct.to_bytes()
    assert left.n == sum(len(each) for _, each in shards) or container != "set"


@settings(deadline=None, max_examples=60)
@given(
    shards=st.lists(st.tuples(st.sampled_from(METRICS), rows, st.integers(0, 6)), min_size=2, max_size=3),
    after=st.sampled_from(SCORES),
)
def test_removed_samples_stay_removed(shards: list[Any], after: dict[str, float]) -> None:
    """Coarse sketches count removed samples apart; a merge that drops a state keeps them."""
    states = []
    for metrics, samples, removed in shards:
        state = sm.MetricSet(metrics, scores=True, buckets=2, sample=1)
        for truth, scores, *_ in samples:
            state.update(truth, scores)
        for truth, scores, *_ in samples[:removed]:
            state.remove(truth, scores)
        states.append(state)

    left = reduce(lambda a, b: a.copy().merge(b), states)
    right = reduce(lambda a, b: b.copy().merge(a), states[::-1])

    assert left.to_bytes() == right.to_bytes() == sm.from_bytes(left.to_bytes()).to_bytes()
    assert left.n == sum(max(0, len(samples) - removed) for _, samples, removed in shards)
    plain = sm.MetricSet(["accuracy"], scores=True, pairs=True, buckets=2, sample=1)
    for _, samples, removed in shards:
        for truth, scores, *_ in samples[removed:]:
            plain.update(truth, scores)
    left.update("a", after)
    plain.update("a", after)
    area = left.snapshot().estimate("roc_auc_ovr")
    exact = plain.snapshot().estimate("roc_auc_ovr")
    assert area.kind == exact.kind == "undefined" or (area.low <= exact.high and exact.low <= area.high)


def test_what_was_lost_is_named() -> None:
    """Metrics that need more are left out with the reason; what is counted later does not bring them back."""
    old, new = sm.MetricSet(["roc_auc_ovr"]), sm.MetricSet(["roc_auc_ovr", "roc_auc_ovo", "log_loss"])
    for state in (old, new):
        state.update_many(["a", "b", "c"], list(SCORES))

    merged = new + old
    merged.update("a", SCORES[0])

    assert [*merged.get()] == [*merged.snapshot()] == ["roc_auc_ovr"]
    assert merged.snapshot().omitted.keys() == {"roc_auc_ovo", "log_loss"}
    assert "were not counted" in merged.snapshot().omitted["roc_auc_ovo"]
    assert "Left out" in str(merged.snapshot())
    again = pickle.loads(pickle.dumps(merged.snapshot()))
    assert again.omitted == merged.snapshot().omitted
    with pytest.raises(ValueError, match="pairs of classes for 'roc_auc_ovo', but they were not counted"):
        merged.snapshot()["roc_auc_ovo"]
    assert (old + new).score_states == merged.score_states == ("ranks",)
    assert new.score_states == ("ranks", "pairs", "losses")


def test_the_total_of_workers_counts_more_once_all_do() -> None:
    """In a rolling deploy workers start to count pairs of classes one after the other."""
    total = sm.Aggregate()
    workers = [sm.MetricSet(["accuracy"], scores=True), sm.MetricSet(["accuracy", "roc_auc_ovo"], scores=True)]
    for name, state in enumerate(workers):
        state.update_many(["a", "b", "c"], list(SCORES))
        total.put(name, state, 1)

    assert total.total().score_states == workers[0].score_states
    total.put(0, workers[1], 2)
    assert total.total() == workers[1] + workers[1]
