"""Bytes that no window, fading state, group or aggregate would have written are refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from support.changed_bytes import bytes_of, content_of, listed, rewritten
from support.refusals import refused
from support.state_checks import with_batch

import stream_metrics as sm

MOST = 2**63 - 3  # samples that a state can count


def rolling() -> sm.Rolling:
    """Return a window of three samples."""
    return with_batch(sm.Rolling(sm.MCC(), 5), ["a", "b", "c"], ["a", None, "b"])


def timed() -> sm.TimeWindow:
    """Return a window of three panes, one of which got a sample late."""
    return with_batch(sm.TimeWindow(sm.Accuracy(), 30, 3, 5), ["a"] * 4, ["b"] * 4, t=[1, 12, 25, 3])


def groups() -> sm.ByGroup:
    """Return groups of every type of key, some of them folded."""
    state = sm.ByGroup(sm.MetricSet(), 4)
    for key in ("a", 1, True, 2.5, b"x", ("y", 1), 7, "b"):
        state.update("a", "b", group=key)
    return state


def fading() -> sm.Fading:
    """Return a state of two stretches."""
    state = sm.Fading(sm.MetricSet(), "1s")
    for t in (0, 39, 41, 45):
        state.update("a", "b", t=t)
    return state


def tagged(**options: Any) -> sm.MultiLabel:
    """Return a state of samples with several labels."""
    predicted = [{"a": 0.5, "b": 0, "c": 1}, None, {"a": 0, "b": 0, "c": 0}]
    return with_batch(sm.MultiLabel(**options), [["a", "b"], ["c"], []], predicted)


def compared(weight: float = 1) -> sm.Comparison:
    """Return a comparison of scores with a sample in each of two folds."""
    state = sm.Comparison(scores=True, folds=2)
    for unit in (1, 2):
        state.update(True, 0.25, 0.75, weight, unit=unit)
    return state


def put(*path: Any) -> Callable[[list[Any]], None]:
    """Return what replaces the item of a content at a path by the last argument."""
    *places, last, value = path

    def change(content: Any) -> None:
        for at in places:
            content = content[at]
        content[last] = value

    return change


CHANGES: dict[str, tuple[Callable[[], Any], list[Callable[[list[Any]], Any]]]] = {
    "comparison": (compared, [
        lambda c: c[5].pop(), *(put(5, content_of(compared(w))[5]) for w in (0.5, 2)), put(5, 0, 0, 5),
        lambda c: c[5].reverse(),
        lambda c: c[5].__setitem__(1, c[5][0]), lambda c: c[5][0][1].reverse(), put(5, []), put(1, 0, 3),
        *(put(5, 0, 1, at, content_of(compared(w))[5][0][1][at]) for at in range(4) for w in (0.5, 2)),
        *(put(5, 0, 1, at, 3, 1) for at in (0, 2)),  # an abstention of the losses of one model
    ]),
    "comparison of labels": (
        lambda: with_batch(sm.Comparison(), [0, 1, 2] * 9, [1, 2, 0] * 9, [2, 0, 1] * 9, [0.5] * 27), [
        *(lambda c, at=at, n=n: c[4][at].__delitem__(slice(n, None)) for at in range(6) for n in (0, 1, 2)),
        *(lambda c, at=at: c[4][at].extend([0] * 99) for at in range(6)), put(4, 0, 0, 0.5),
        *(put(at, []) for at in (1, 2, 3)), lambda c: c[1].pop(), lambda c: c[3].pop(),
    ]),
    "rolling": (rolling, [
        *(put(0, x) for x in (1, 0, "5")), put(1, ["nothing", []]), put(1, listed(content_of(rolling()))),
        lambda c: c[1][1].__setitem__(1, content_of(rolling().state)[1]),  # a configuration that has counted
        lambda c: c[2].append("never used"), lambda c: c[3].pop(), put(3, 0, 99), put(3, 0, -1),
        *(put(4, 0, x) for x in ([[0], [0.5]], [0, 0, []], [0, 0, [["group", 0]]], 0.5)),
        *(put(5, x) for x in ([1, 1, 1], [1.0, 2, 2], [-1, 2, 2])), lambda c: c.append([]), lambda c: c.clear(),
    ]),
    "timed": (timed, [
        put(1, 7), put(2, 0), put(3, -1), put(4, []), put(4, [25 * 10**9, 1]), put(4, [10**9]), put(4, [2**70]),
        put(5, 1), lambda c: c[6].reverse(), lambda c: c[6].append(c[6][0]), put(6, 0, 0, 9), put(6, 0, 0, -9),
        put(6, 0, 0, True), lambda c: c[6].__setitem__(0, [0, c[0][1]]),
    ]),
    "fading": (fading, [
        put(1, 1), put(2, 0), put(3, []), put(3, [45 * 10**9, 1]), put(3, [10**12]), put(3, [1.0]),
        lambda c: c[4].reverse(), lambda c: c[4].pop(0), lambda c: c[4].append(c[4][1]), put(4, 0, 0, 5),
        lambda c: c[4].__setitem__(slice(None), [[0, c[4][1][1]], [1, c[4][0][1]]]),  # the first has fewer samples
        lambda c: c[4].__setitem__(1, [1, c[0][1]]),
    ]),
    "groups": (groups, [
        put(1, []), put(1, [0]), put(1, [True]), put(1, [3]), put(1, [5]), put(2, 5), put(3, 0, 0, "z"),
        put(3, 0, 1, [1, 0]), put(3, 0, 1, [True, 1, 1]), put(3, 0, 1, [-1, 1, 1]), put(3, 0, 1, [2**63, 1, 1]),
        lambda c: c[3].reverse(), lambda c: c[3].append(c[3][0]), lambda c: c[4].append(c[4][0]),
        lambda c: c[3].pop(),
    ]),
    "several labels": (tagged, [
        put(0, 0, ["nothing"]), put(0, 2, 0), put(0, 2, True), put(0, 3, 1), lambda c: c[3].append(c[1]),
        *(put(at, content_of(other)[at]) for at in (1, 2) for other in (sm.MultiLabel(), tagged(threshold=0.7))),
        put(1, content_of(with_batch(sm.ConfusionMatrix(), ["a", (), "b"], ["a", "c", "c"]))), put(1, 3, 1),
        put(2, content_of(with_batch(sm.ConfusionMatrix(), [2.0, 0, 1], [4, 0, None]))),
    ]),
    "scores of labels": (lambda: tagged(labels=["a", "c", "b"], scores=True), [
        put(0, 2, "any"), put(0, 2, False), put(3, []), lambda c: c[3].pop(), lambda c: c[3].reverse(),
        put(1, content_of(tagged())[1]), put(3, 0, content_of(sm.MetricSet(["roc_auc", "log_loss"]))),
    ]),
}  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("name", CHANGES)
def test_bytes_that_no_state_would_write_are_refused(name: str) -> None:
    """Any change of the content raises DecodeError, and nothing else is raised."""
    make, changes = CHANGES[name]
    assert rewritten(make(), lambda content: None) == make().to_bytes()
    accepted = []
    for at, change in enumerate(changes):
        with suppress(sm.DecodeError):
            accepted.append((at, sm.from_bytes(rewritten(make(), change))))
    assert not accepted


def test_aggregates_are_not_nested() -> None:
    """Bytes in which the state of a worker is an aggregate are refused."""
    total = sm.Aggregate()
    total.put("w", sm.MCC(), 1)
    refused(lambda: sm.from_bytes(rewritten(total, put(0, 3, ["aggregate", []]))), sm.DecodeError)
    assert sm.from_bytes(rewritten(total, lambda content: None)) == total


PROTOTYPES: dict[type, list[Any]] = {
    sm.ConfusionMatrix: [
        sm.ConfusionMatrix(), *map(sm.ConfusionMatrix, ([1, 0], [0, 1])),
        *(sm.ConfusionMatrix([0, 1], other=other) for other in (1, 0)),
    ],
    sm.MetricSet: [sm.MetricSet(**options) for options in (
        {}, {"metrics": ["accuracy"]}, {"zero_division": 1.0}, {"zero_division": float("nan")},
        *({"labels": labels} for labels in ([0, 1], [1, 0])), *({"labels": [0, 1], "other": x} for x in (0, 1)),
        *({"scores": True} | more for more in ({}, {"buckets": 64}, {"sample": 64})),
    )],
    sm.Metric: [
        sm.Accuracy(), sm.MacroF1(), sm.MacroF1(zero_division=1.0), sm.Recall(), sm.Recall(pos_label=0),
        sm.FBeta(beta=1.0), sm.FBeta(beta=2.0), sm.ROCAUC(), sm.ROCAUC(buckets=64),
    ],
}  # fmt: skip


def grouped(prototype: Any, *keys: str) -> sm.ByGroup:
    """Return groups with a sample each."""
    result = sm.ByGroup(prototype)
    for key in keys:
        result.update(1, 1.0 if isinstance(prototype, sm.ROCAUC) else 1, group=key)
    return result


def test_only_a_state_of_the_same_configuration_is_read() -> None:
    """The state of a group is read if it has the options of the prototype, as the bytes of both show, and a sample."""
    wrong, pairs = [], (pair for states in PROTOTYPES.values() for pair in itertools.product(states, states))
    for prototype, other in (pair for pair in pairs if type(pair[0]) is type(pair[1])):
        groups, theirs = grouped(prototype, "a"), grouped(other, "a")
        data = rewritten(groups, put(3, 0, 2, content_of(theirs)[3][0][2]))
        try:
            read = sm.from_bytes(data).state("a").to_bytes() == theirs.state("a").to_bytes()
        except sm.DecodeError:
            read = False
        if read is not (other.to_bytes() == prototype.to_bytes()):
            wrong.append((prototype, other))
    assert not wrong
    for prototype in itertools.chain.from_iterable(PROTOTYPES.values()):
        data = rewritten(grouped(prototype, "a"), put(3, 0, 2, content_of(prototype)))
        refused(lambda: sm.from_bytes(data), sm.DecodeError)  # noqa: B023


def test_a_state_without_a_sample_is_refused_however_it_is_written() -> None:
    """Also one that is not written as the empty state is: a number of weighted samples, or labels without counts."""
    configuration, counts = content_of(sm.MetricSet())
    for changed in ([*counts[:4], ["a"], *counts[5:]], [*counts, 1], [*counts, 0], counts[:6], [*counts[:2], -1, 0]):
        data = rewritten(grouped(sm.MetricSet(), "a"), put(3, 0, 2, [configuration, changed]))
        refused(lambda: sm.from_bytes(data), sm.DecodeError)  # noqa: B023


def test_groups_of_units_are_read() -> None:
    """States with folds, and states without them beside these, are read, write the same bytes, and are independent."""
    groups = sm.ByGroup(sm.MetricSet())
    for i in range(12):
        groups.update("a", "b", group=i % 3, **({"unit": i} if i % 3 else {}))
    twin = sm.from_bytes(groups.to_bytes())

    assert twin.to_bytes() == groups.to_bytes()
    assert [bool(twin.state(key)._unit_folds) for key in range(3)] == [False, True, True]
    twin.update("a", "b", group=0)
    assert ([twin.state(key).n for key in range(3)], groups.n, twin.inner.n) == ([5, 4, 4], 12, 0)


def most_seen(state: Any, *places: int) -> bytes:
    """Return bytes of groups by 5 in a container in which the group appears `2**63 - 3` times at these places."""
    seen = iter(range(1000))

    def raised(content: Any) -> Any:
        if not isinstance(content, list):
            return content
        if len(content) == 3 and content[0] == 5 and isinstance(content[1], list):
            return [5, [0, MOST, 0], content[2]] if next(seen) in places else content
        return [raised(item) for item in content]

    return bytes_of(state.KIND, raised(content_of(state)))


def groups_in_panes(panes: int) -> sm.TimeWindow:
    """Return a window with a sample of group 5 in each pane."""
    result = sm.TimeWindow(sm.ByGroup(sm.Accuracy()), "1m", 6)
    for pane in range(panes):
        result.update("a", "a", group=5, t=10 * pane)
    return result


def test_a_group_appears_fewer_than_two_to_the_63_times() -> None:
    """Appearances are limited in the merge of all panes, and in both states of a fading one; nothing is counted."""
    refused(lambda: sm.from_bytes(most_seen(groups_in_panes(3), 0, 2)), sm.DecodeError, "stay below 2**63 - 2")
    faded = sm.Fading(sm.ByGroup(sm.Accuracy()), 3)  # whose later state has a small scale of weights
    faded.update_many(["a"] * 200, ["a"] * 200, group=5)
    cases = [(most_seen(groups_in_panes(1), 0), {"t": 10}), *((most_seen(faded, place), {}) for place in (0, 1))]
    for data, more in cases:
        full = sm.from_bytes(data)
        n = full.n
        refused(lambda: full.update("a", "a", group=5, **more), sm.WeightError)  # noqa: B023
        refused(lambda: full.update_many(["a"], ["a"], group=5, **more), sm.WeightError)  # noqa: B023
        assert (full.to_bytes(), full.n) == (data, n)
        assert full.snapshot().values_of("accuracy") == {5: 1.0}
