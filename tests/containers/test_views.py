"""Windows, groups and aggregates of states that count the same merge regardless of their views."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest

import stream_metrics as sm
from stream_metrics.containers.inner import merge_unordered
from stream_metrics.errors import OptionError

SOFT = [("a", {"a": 0.9, "b": 0.1}), ("b", {"a": 0.4, "b": 0.5}), ("b", None), ("b", "a"), ("a", {"b": 1.0})] * 2
OLD: dict[str, Any] = {"metrics": ["accuracy"], "labels": ["a", "b"]}
NEW: dict[str, Any] = {"metrics": ["accuracy", "macro_f1"], "labels": ["b", "a"], "zero_division": 1.0}
CONTAINERS: dict[str, Any] = {
    "groups": lambda state: sm.ByGroup(state),
    "few groups": lambda state: sm.ByGroup(state, 2),
    "window": lambda state: sm.TimeWindow(state, 60, 6),
    "fading": lambda state: sm.Fading(state, "20s"),
    "fading by count": lambda state: sm.ByGroup(sm.Fading(state, 8)),
    "groups of windows": lambda state: sm.ByGroup(sm.TimeWindow(state, 60, 6)),
}


LIKE = [lambda options, make=make: fed(make(sm.MetricSet(**options))) for make in CONTAINERS.values()]


def fed(container: Any, rows: list[Any] = SOFT, first: int = 0) -> Any:
    """Return a container after some samples, one every four seconds, in five groups."""
    names = {each.KIND for each in sm.containers.inner.walk_inner(container)}
    for at, (truth, predicted) in enumerate(rows, first):
        group = {"group": f"g{at % 5}"} if "groups" in names else {}
        time = {"t": 4 * at} if "timed" in names or getattr(container, "half_life", 0) == "20s" else {}
        container.update(truth, predicted, **group, **time)
    return container


@pytest.mark.parametrize("container", CONTAINERS)
def test_what_only_the_other_shard_has_is_shown_as_by_this_one(container: str) -> None:
    """Groups, panes and stretches that came with the other shard have the options of the left one, also in bytes."""
    make = CONTAINERS[container]
    old, new = fed(make(sm.MetricSet(**OLD)), SOFT[:3]), fed(make(sm.MetricSet(**NEW)), SOFT[3:], 3)
    for left, right, options in ((old, new, OLD), (new, old, NEW)):
        total = left + right
        assert sm.from_bytes(total.to_bytes()) == total
        assert total.n == left.n + right.n
        *_, inside = sm.containers.inner.walk_inner(total)
        assert inside == sm.MetricSet(**options)
        states = [total.state(group) for group in total.groups] if hasattr(total, "groups") else [total.merged()]
        assert {state.labels for state in states if hasattr(state, "labels")} <= {tuple(options["labels"])}
    if container != "fading by count":  # which depends on how the stream was split
        assert (old + new).reconfigured(**{"zero_division": None} | NEW) == fed(make(sm.MetricSet(**NEW)))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OLD, NEW),
        ({"scores": True, "buckets": 64}, {"scores": True, "buckets": 4, "sample": 2, "pairs": False}),
        ({"labels": ["a", "b"]}, {"labels": ["c", "b", "a"]}),
        ({}, {"labels": ["a", "b"], "zero_division": 1.0}),
    ],
    ids=["view", "sketches", "wider", "fixed"],
)
def test_other_options_reach_every_state_inside(container: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """The container is what one over a set with these options would have counted; the old one stays."""
    make = CONTAINERS[container]
    state = fed(make(sm.MetricSet(**before)))
    unchanged = state.to_bytes()
    again = state.reconfigured(**after)

    assert again.to_bytes() == fed(make(sm.MetricSet(**after))).to_bytes()
    assert fed(again, first=len(SOFT)) == fed(fed(make(sm.MetricSet(**after))), first=len(SOFT))
    assert state.to_bytes() == unchanged


@pytest.mark.parametrize("container", CONTAINERS)
def test_scores_are_dropped_on_request(container: str) -> None:
    """In windows and groups; not where they fade, as labels alone fade in other stretches of time."""
    make = CONTAINERS[container]
    scored, labels = fed(make(sm.MetricSet(scores=True))), fed(make(sm.MetricSet()))
    with pytest.raises(sm.MergeError, match=r"reconfigured\(scores=False\)"):
        labels.merge(scored)
    if "fading" in container:
        with pytest.raises(OptionError, match=r"`scores` to stay, but labels alone fade in other stretches"):
            scored.reconfigured(scores=False)
    else:
        assert scored.reconfigured(scores=False) == labels
        assert (labels + scored.reconfigured(scores=False)).n == 2 * labels.n
    with pytest.raises(OptionError, match=r"`scores`"):
        labels.reconfigured(scores=True)


def test_labels_become_other_inside_a_window() -> None:
    """Groups have an option of that name themselves, the name of the groups that are not kept apart."""
    after: dict[str, Any] = {"labels": ["a"], "other": "z"}
    window, groups = fed(sm.TimeWindow(sm.MetricSet(), 60, 6)), fed(sm.ByGroup(sm.MetricSet(), 2))
    assert window.reconfigured(**after) == fed(sm.TimeWindow(sm.MetricSet(**after), 60, 6))
    assert groups.reconfigured(other="z") == fed(sm.ByGroup(sm.MetricSet(), 2, other="z"))


@pytest.mark.parametrize(
    ("state", "options", "message"),
    [
        (sm.TimeWindow(sm.MCC(), 60, 6), {"period": 30}, "`period` to stay"),
        (sm.TimeWindow(sm.MCC(), 60, 6), {"lateness": 30}, "`lateness` to stay"),
        (sm.Fading(sm.MCC(), 60), {"half_life": 30}, "`half_life` to stay"),
    ],
)
def test_lengths_of_time_stay(state: Any, options: dict[str, Any], message: str) -> None:
    """What they decided is over."""
    with pytest.raises(OptionError, match=message):
        state.reconfigured(**options)


def test_groups_are_folded_on_request() -> None:
    """Fewer are what a state that kept so few has counted; more follow only where none was folded."""
    all_groups, few = fed(sm.ByGroup(sm.MetricSet())), fed(sm.ByGroup(sm.MetricSet(), 2, other="rest"))
    with pytest.raises(
        sm.MergeError, match=r"`max_groups` .* nothing in one and 2 .*; reconfigured\(max_groups=\.\.\.\)"
    ):
        all_groups.merge(few)
    assert all_groups.reconfigured(max_groups=2, other="rest") == few
    assert fed(sm.ByGroup(sm.MetricSet(), 3)).reconfigured(max_groups=2, other="rest") == few
    assert fed(sm.ByGroup(sm.MetricSet(), 5)).reconfigured(max_groups=None) == all_groups
    with pytest.raises(OptionError, match=r"`max_groups` .* 3 in place of 2: some groups are folded already"):
        few.reconfigured(max_groups=3)
    assert (fed(sm.ByGroup(sm.MetricSet(), 2)) + few).other == "other"


def test_a_rolling_window_counts_its_samples_again() -> None:
    """With another view, a wider set of labels, or fewer samples; it does not read them in another way."""
    window = sm.Rolling(sm.MetricSet(labels=["a", "b"]), 6)
    fed(window)
    assert window.reconfigured(**NEW) == fed(sm.Rolling(sm.MetricSet(**NEW), 6))
    assert window.reconfigured(labels=["a", "b", "c"], window=4) == fed(
        sm.Rolling(sm.MetricSet(labels=["a", "b", "c"]), 4)
    )
    with pytest.raises(OptionError, match=r"`window` .* 7 in place of 6: older samples were forgotten"):
        window.reconfigured(window=7)
    assert sm.Rolling(sm.MCC(), 6).reconfigured(window=7) == sm.Rolling(sm.MCC(), 7)
    with pytest.raises(OptionError, match=r"`inner` .* samples in the window"):
        window.reconfigured(scores=True)
    scored = fed(sm.Rolling(sm.MetricSet(scores=True), 6))
    assert scored.reconfigured(pairs=False) == fed(sm.Rolling(sm.MetricSet(scores=True, pairs=False), 6))
    area = sm.Rolling(sm.ROCAUC(), 5)
    area.update_many([1, 0, 1], [0.4, 0.2, 0.1])
    assert area.reconfigured(zero_division=0.0).get() == area.get() == 0.5


def counted(options: dict[str, Any], *pairs: tuple[str, str]) -> sm.MetricSet:
    """Return a set after some samples."""
    state = sm.MetricSet(**options)
    for pair in pairs:
        state.update(*pair)
    return state


def test_an_aggregate_goes_on_through_a_deploy() -> None:
    """Old and new workers count together; the view is that of the first worker by name, in any order of arrival."""
    states = {
        "w2": counted(OLD, ("a", "b")),
        "w10": counted(NEW, ("b", "b"), ("a", "a")),
        "w3": counted(OLD, ("a", "a")),
        "w4": counted(NEW, ("b", "a")),
    }
    totals = set()
    for order in itertools.permutations(states):
        aggregate = sm.Aggregate()
        for name in order:
            assert aggregate.put(name, states[name], sequence=1)
        total = aggregate.total()
        assert total.metrics == ("accuracy", "macro_f1")
        assert sm.from_bytes(aggregate.to_bytes()).total() == total
        totals.add((total.to_bytes(), aggregate.to_bytes()))
    assert len(totals) == 1
    assert total == counted(NEW, ("a", "b"), ("b", "b"), ("a", "a"), ("a", "a"), ("b", "a"))

    grouped = sm.Aggregate()
    for name in ("w3", "w2", "w10"):
        groups = sm.ByGroup(states[name], other=name)
        groups.update("a", "b", group=name)
        grouped.put(name, groups, 1)
    assert (grouped.total().inner.metrics, grouped.total().other) == (("accuracy", "macro_f1"), "w10")

    halves = sm.Aggregate(), sm.Aggregate()
    for at, (name, state) in enumerate(states.items()):
        halves[at % 2].put(name, state, 1)
    assert (halves[0] + halves[1]).total() == (halves[1] + halves[0]).total() == total


@pytest.mark.parametrize("make", [lambda options: counted(options, ("a", "b")), *LIKE], ids=["set", *CONTAINERS])
def test_states_can_merge_in_any_order_to_the_same_bytes(make: Any) -> None:
    """Merges without an order take the view of one of the states, always the same one."""
    options = [OLD, NEW, {"labels": ["a", "b"]}, {**OLD, "zero_division": 0.0}]
    totals = set()
    for order in itertools.permutations(options):
        a, b, c, d = (make(each) for each in order)
        left = functools.reduce(merge_unordered, (a.copy(), b.copy(), c.copy(), d.copy()))
        totals |= {left.to_bytes(), merge_unordered(merge_unordered(a, b), merge_unordered(c, d)).to_bytes()}
    assert len(totals) == 1


def test_retired_workers_of_two_versions_have_the_same_bytes_in_any_order() -> None:
    """What the base shows does not depend on who was retired first; a worker that lives decides again."""
    written = set()
    for names in (["w1", "w2"], ["w2", "w1"]):
        aggregate = sm.Aggregate()
        aggregate.put("w1", counted(OLD, ("a", "b")), 1)
        aggregate.put("w2", counted(NEW, ("b", "b")), 1)
        for name in names:
            aggregate.retire(name)
        written.add((aggregate.to_bytes(), aggregate.total().to_bytes()))
        aggregate.put("w3", counted(OLD, ("a", "a")), 1)
        assert aggregate.total() == counted(OLD, ("a", "b"), ("b", "b"), ("a", "a"))
    assert len(written) == 1


def test_a_worker_that_counts_something_else_is_refused() -> None:
    """And can be put after it was reconfigured."""
    aggregate, scored = sm.Aggregate(), sm.MetricSet(scores=True)
    aggregate.put("old", counted({}, ("a", "b")), 1)
    scored.update("a", {"a": 1.0})
    with pytest.raises(sm.MergeError, match=r"reconfigured\(scores=False\)"):
        aggregate.put("new", scored, 1)
    assert aggregate.put("new", scored.reconfigured(scores=False), 1)
    assert aggregate.n == 2
