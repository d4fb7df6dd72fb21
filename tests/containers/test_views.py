"""Containers of states that count or show different things merge, in any order, and change their options."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refusals import all_refused, refused
from support.state_checks import with_batch

import stream_metrics as sm

SOFT = [("a", {"a": 0.9, "b": 0.1}), ("b", {"a": 0.4, "b": 0.5}), ("b", None), ("b", "a"), ("a", {"b": 1.0})] * 2
OLD: dict[str, Any] = {"metrics": ["accuracy"], "labels": ["a", "b"]}
NEW: dict[str, Any] = {"metrics": ["accuracy", "macro_f1"], "labels": ["b", "a"], "zero_division": 1.0}
CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "groups": sm.ByGroup, "few groups": lambda state: sm.ByGroup(state, 2),
    "window": lambda state: sm.TimeWindow(state, 60, 6), "fading": lambda state: sm.Fading(state, "20s"),
    "fading by count in groups": lambda state: sm.ByGroup(sm.Fading(state, 8)),
    "groups of windows": lambda state: sm.ByGroup(sm.TimeWindow(state, 60, 6)),
}  # fmt: skip


def fed(container: Any, rows: Any = tuple(SOFT), first: int = 0) -> Any:
    """Return a container after some samples, one every four seconds, in five groups."""
    kinds, inside = [], container
    while inside is not None:
        kinds.append(inside)
        inside = getattr(inside, "inner", None)
    grouped = any(isinstance(each, sm.ByGroup) for each in kinds)
    timed = any(isinstance(each, sm.TimeWindow) or getattr(each, "half_life", 0) == "20s" for each in kinds)
    for at, row in enumerate(rows, first):
        container.update(*row, **({"group": f"g{at % 5}"} if grouped else {}), **({"t": 4 * at} if timed else {}))
    return container


@pytest.mark.parametrize("name", CONTAINERS)
def test_other_options_reach_every_state_inside(name: str) -> None:
    """The container is what one over a set with these options would have counted; the old one stays."""
    make = CONTAINERS[name]
    for before, after in (
        (OLD, NEW),
        ({"scores": True, "buckets": 64}, {"scores": True, "buckets": 4, "sample": 2, "pairs": False}),
        ({"labels": ["a", "b"]}, {"labels": ["c", "b", "a"]}),
        ({}, {"labels": ["a", "b"], "zero_division": 1.0}),
        ({}, {"labels": ["a"], "other": "z"} if name == "window" else {}),  # groups have an `other` of their own
    ):
        state, expected = fed(make(sm.MetricSet(**before))), fed(make(sm.MetricSet(**after)))
        unchanged, again = state.to_bytes(), state.reconfigured(**after)
        assert again.to_bytes() == expected.to_bytes()
        assert fed(again, first=len(SOFT)) == fed(expected, first=len(SOFT))
        assert state.to_bytes() == unchanged


@pytest.mark.quick
def test_scores_are_dropped_on_request() -> None:
    """In windows and groups; not where they fade, as labels alone fade in other stretches of time."""
    for name, make in CONTAINERS.items():
        scored, labels = fed(make(sm.MetricSet(scores=True))), fed(make(sm.MetricSet()))
        refused(lambda: labels.merge(scored), sm.MergeError, "reconfigured(scores=False)")  # noqa: B023
        refused(lambda: labels.reconfigured(scores=True), sm.OptionError, "scores")  # noqa: B023
        if "fading" in name:
            refused(lambda: scored.reconfigured(scores=False), sm.OptionError, "scores")  # noqa: B023
        else:
            assert scored.reconfigured(scores=False) == labels
            assert (labels + scored.reconfigured(scores=False)).n == 2 * labels.n


@pytest.mark.quick
def test_options_of_the_container_itself() -> None:
    """Lengths of time stay; fewer groups can be kept apart, and more where none was folded."""
    window, all_groups, few = sm.TimeWindow(sm.MCC(), 60, 6), *(fed(sm.ByGroup(sm.MetricSet(), m)) for m in (None, 2))
    rest = fed(sm.ByGroup(sm.MetricSet(), 2, other="rest"))
    all_refused([
        *((lambda x=x: window.reconfigured(**{x: 30}), sm.OptionError, x) for x in ("period", "panes", "lateness")),
        (lambda: sm.Fading(sm.MCC(), 60).reconfigured(half_life=30), sm.OptionError, "half_life"),
        (lambda: all_groups.merge(few), sm.MergeError, "max_groups"),
        (lambda: all_groups.merge(few), sm.MergeError, "nothing in one and 2 in the other; reconfigured(max_groups="),
        (lambda: few.reconfigured(max_groups=3), sm.OptionError, "max_groups"),
        (lambda: few.reconfigured(max_groups=None), sm.OptionError, "some groups are folded already"),
    ])  # fmt: skip
    assert all_groups.reconfigured(max_groups=2, other="rest") == rest
    assert fed(sm.ByGroup(sm.MetricSet(), 3)).reconfigured(max_groups=2, other="rest") == rest
    assert fed(sm.ByGroup(sm.MetricSet(), 5)).reconfigured(max_groups=None) == all_groups
    assert few.reconfigured(other="rest") == rest
    assert (few + rest).other == "other"


@pytest.mark.quick
def test_a_rolling_window_counts_its_samples_again() -> None:
    """With another view, a wider set of labels, or fewer samples; it does not read them in another way."""

    def window(length: int = 6, **options: Any) -> Any:
        return sm.Rolling(sm.MetricSet(**options), length)

    narrow, wide = fed(window(labels=["a", "b"])), {"labels": ["a", "b", "c"]}
    assert narrow.reconfigured(**NEW) == fed(window(**NEW))
    assert narrow.reconfigured(**wide, window=4) == fed(window(4, **wide))
    assert sm.Rolling(sm.MCC(), 6).reconfigured(window=7) == sm.Rolling(sm.MCC(), 7)
    assert fed(window(scores=True)).reconfigured(pairs=False) == fed(window(scores=True, pairs=False))
    all_refused([
        (lambda: narrow.reconfigured(window=7), sm.OptionError, "window"),
        (lambda: narrow.reconfigured(scores=True), sm.OptionError, "inner"),
    ])  # fmt: skip
    area = with_batch(sm.Rolling(sm.ROCAUC(), 5), [1, 0, 1], [0.4, 0.2, 0.1])
    assert area.reconfigured(zero_division=0.0).get() == area.get() == 0.5


def counted(options: dict[str, Any], *pairs: tuple[str, str]) -> sm.MetricSet:
    """Return a set after some samples."""
    return fed(sm.MetricSet(**options), pairs)


@pytest.mark.quick
def test_inner_is_a_pattern_only() -> None:
    """What `inner` has counted, or counts later, is not in a container."""
    for make in (*CONTAINERS.values(), lambda inner: sm.Rolling(inner, 3)):
        inner = counted({}, ("a", "b"))
        state = fed(make(inner), [("a", "a")])
        inner.update("a", "b")
        assert (state.n, state.inner.n, inner.n) == (1, 0, 2)


def test_an_aggregate_goes_on_through_a_deploy() -> None:
    """Old and new workers count together; the view is that of the first worker by name, in any order of arrival."""
    states = {
        "w2": counted(OLD, ("a", "b")), "w10": counted(NEW, ("b", "b"), ("a", "a")),
        "w3": counted(OLD, ("a", "a")), "w4": counted(NEW, ("b", "a")),
    }  # fmt: skip
    expected, totals = counted(NEW, ("a", "b"), ("b", "b"), ("a", "a"), ("a", "a"), ("b", "a")), set()
    for order in itertools.permutations(states):
        aggregate = sm.Aggregate()
        assert all(aggregate.put(name, states[name], sequence=1) for name in order)
        assert aggregate.total() == sm.from_bytes(aggregate.to_bytes()).total() == expected
        totals.add(aggregate.to_bytes())
    assert len(totals) == 1


@pytest.mark.parametrize("name", ["set", *CONTAINERS])
def test_retired_workers_have_the_same_bytes_in_any_order(name: str) -> None:
    """What retired workers of several versions show is what one of them does, always the same; a live one decides."""
    make = CONTAINERS.get(name, lambda state: state)
    options = [OLD, NEW, {"labels": ["a", "b"]}, {**OLD, "zero_division": 0.0}]
    states = [fed(make(sm.MetricSet(**each)), [("a", "b"), ("b", "b")]) for each in options]
    written = set()
    for order in itertools.permutations(range(len(states))):
        aggregate = sm.Aggregate()
        for at, state in enumerate(states):
            aggregate.put(at, state, 1)
        for at in order:
            aggregate.retire(at)
        written.add((aggregate.to_bytes(), aggregate.total().to_bytes()))
    assert len(written) == 1
    aggregate.put("w", states[0], 1)
    inside = aggregate.total().reconfigured()
    while hasattr(inside, "inner"):
        inside = inside.inner
    assert (inside.metrics, inside.labels, inside.zero_division) == (("accuracy",), ("a", "b"), None)


SCORES = ({"a": 0.7, "b": 0.2, "c": 0.1}, {"a": 0.25, "b": 0.5, "c": 0.25}, {"a": 0.125, "b": 0.125, "c": 0.75})
METRICS = (["accuracy"], ["accuracy", "roc_auc_ovr"], ["roc_auc_ovo", "accuracy"], ["log_loss", "roc_auc_ovo"], None)
AROUND = {"set": lambda state: state, "folded groups": lambda state: sm.ByGroup(state, 1)} | CONTAINERS
rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(SCORES)), max_size=6)
shards_of_rows = st.lists(st.tuples(st.sampled_from(METRICS), rows), min_size=2, max_size=4)


@pytest.mark.parametrize("name", AROUND)
@settings(max_examples=15)
@given(shards=shards_of_rows, data=st.data())
def test_any_tree_of_merges_has_the_bytes_of_one_process(name: str, shards: list[Any], data: st.DataObject) -> None:
    """Shards with different metrics merge into what all of them count, as one process that counts only that would."""

    def merged(states: Any) -> Any:
        return reduce(lambda a, b: a.merge(b), states[1:], states[0].copy())

    empty = [AROUND[name](sm.MetricSet(metrics, scores=True)) for metrics, _ in shards]
    starts = itertools.accumulate((len(each) for _, each in shards), initial=0)
    states = [fed(state.copy(), each, at) for state, (_, each), at in zip(empty, shards, starts, strict=False)]
    split = data.draw(st.integers(1, len(states) - 1))
    left, right = merged(states), reduce(lambda a, b: b.copy().merge(a), states[::-1])
    halves, turned = merged(states[:split]).merge(merged(states[split:])), merged([states[0], *states[:0:-1]])

    assert left.to_bytes() == right.to_bytes() == halves.to_bytes() == turned.to_bytes()
    assert sm.from_bytes(left.to_bytes()).to_bytes() == left.to_bytes()
    if "fading" not in name:  # whose sums depend on the stretch in which a process starts
        assert left.to_bytes() == fed(merged(empty), [row for _, each in shards for row in each]).to_bytes()


@pytest.mark.quick
def test_what_was_lost_is_named() -> None:
    """Metrics that need more are left out with the reason; what is counted later does not bring them back."""
    metrics = ["roc_auc_ovr"], ["roc_auc_ovr", "roc_auc_ovo", "log_loss"]
    old, new = (with_batch(sm.MetricSet(keys), ["a", "b", "c"], list(SCORES)) for keys in metrics)
    merged = new + old
    merged.update("a", SCORES[0])
    snapshot = merged.snapshot()

    assert [*merged.get()] == [*snapshot] == ["roc_auc_ovr"]
    assert snapshot.omitted.keys() == {"roc_auc_ovo", "log_loss"}
    assert pickle.loads(pickle.dumps(snapshot)).omitted == snapshot.omitted
    assert "Left out" in str(snapshot)
    refused(lambda: snapshot["roc_auc_ovo"], ValueError, "'roc_auc_ovo', but they were not counted")
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
