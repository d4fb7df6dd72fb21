"""Two states are equal exactly where their bytes are: whatever was counted, however it is stored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_metrics import ROCAUC, Accuracy, ByGroup, ConfusionMatrix, MacroF1, MetricSet, from_bytes

LABELS: list[Any] = ["a", "b", b"a", 0, 1, 2, True, False, 1.0, 2.0, ("a", 1), ("a", 1.0), 2**70]
weights = st.sampled_from([1, 1, 1, 0, 2, 0.5])
samples = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, None]), weights), max_size=5)
pairs = st.tuples(samples, samples)


def counted(state: Any, some: list[Any], more: list[Any], how: int) -> Any:
    """Return a state that counts samples: in order, with others taken back, by a merge, or read from its bytes."""
    if how == 1:
        for sample in more:
            state.update(*sample)
    first, second = state.copy(), state
    for at, sample in enumerate(some):
        (first if how == 2 and at % 2 else second).update(*sample)
    if how == 1:
        for sample in more:
            second.revert(*sample)
    if how == 2:
        second.merge(first)
    return from_bytes(second.to_bytes()) if how == 3 else second


def check(a: Any, b: Any) -> None:
    equal = a.to_bytes() == b.to_bytes()
    assert (a == b) is (b == a) is equal
    assert a == a.copy() == a


@given(pairs, samples, st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_states_are_equal_where_their_bytes_are(both: Any, more: Any, one: int, two: int, same: bool) -> None:
    first, second = both
    a = counted(ConfusionMatrix(), first, more, one)
    b = counted(ConfusionMatrix(), sorted(first, key=repr) if same else second, more, two)
    check(a, b)


@pytest.mark.parametrize("wide", [False, True])  # a hash of cells and a square, with fractions in one of them
def test_how_cells_are_stored_shows_in_no_comparison(wide: bool) -> None:
    names = [f"c{at}" for at in range(300)]
    a, b = ConfusionMatrix(), ConfusionMatrix()
    for at, name in enumerate(names):
        a.update(name, names[at * 7 % 300])
    for at in reversed(range(300)):
        b.update(names[at], names[at * 7 % 300])
    if wide:
        b.update_many(names * 300, [name for name in names for _ in names], [1] * 90_000)
        for truth in names:
            for predicted in names:
                b.revert(truth, predicted)
    b.update("c0", "c1", 0.5)
    check(a, b)
    b.revert("c0", "c1", 0.5)
    check(a, b)
    assert a == b
    b.update("c0", "c1")
    a.update("c1", "c0")
    assert a != b
    check(a, b)


CONFIGURED = [
    ConfusionMatrix(), ConfusionMatrix([1, 0]), ConfusionMatrix([0, 1]), ConfusionMatrix([0.0, 1.0]),
    ConfusionMatrix([False, True]), ConfusionMatrix(["a", "b"], "b"), ConfusionMatrix(["a", "b"]),
    ConfusionMatrix([("a", 1)]), ConfusionMatrix([("a", "1")]),
]  # fmt: skip


def test_the_configuration_is_compared_with_its_types() -> None:
    for a in CONFIGURED:
        for b in CONFIGURED:
            check(a, b)
            assert (a == b) is (a is b)


def test_what_is_no_cell_is_compared() -> None:
    for sample in (("a", None), ("a", "b", 0), ("a", "b", 2)):
        a, b = ConfusionMatrix(), ConfusionMatrix()
        a.update(*sample)
        assert a != b
        b.update("a", "b")
        assert a != b
        check(a, b)


grouped = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from("ab"), st.sampled_from("abc")), max_size=6)


@given(grouped, grouped, st.booleans(), st.sampled_from([None, 1, 2]))
def test_groups_are_equal_where_their_bytes_are(one: Any, two: Any, same: bool, most: int | None) -> None:
    states = [ByGroup(ConfusionMatrix(), most), ByGroup(ConfusionMatrix(), most)]
    for state, rows in zip(states, (one, sorted(one, key=repr) if same else two), strict=True):
        for group, truth, predicted in rows:
            state.update(truth, predicted, group=group)
    check(*states)
    check(states[0], from_bytes(states[0].to_bytes()))


def test_groups_of_other_options_or_states_differ() -> None:
    every = [
        ByGroup(ConfusionMatrix()), ByGroup(ConfusionMatrix(), 3), ByGroup(ConfusionMatrix(), 3, "rest"),
        ByGroup(ConfusionMatrix(["a"])), ByGroup(MetricSet()), ByGroup(MetricSet(["accuracy"])),
    ]  # fmt: skip
    for a in every:
        for b in every:
            check(a, b)
            assert (a == b) is (a is b)


def test_metrics_and_sets_are_equal_where_their_bytes_are() -> None:
    every: list[Any] = [
        make() for make in (
            MacroF1, Accuracy, MetricSet, lambda: MacroF1(labels=[0, 1]), lambda: MacroF1(zero_division=1.0),
            lambda: MetricSet(["accuracy"]), lambda: MetricSet(scores=True), lambda: MetricSet(scores="any"), ROCAUC,
        )
    ]  # fmt: skip
    for metric in list(every):
        some = metric.copy()
        if metric.reads == "labels":
            some.update(1, 0)
            every.append(metric.copy())
            every[-1].update(1, 0, unit="u")
        else:
            some.update(1, {1: 0.6, 0: 0.4})
        every += [some, some.copy()]
    for a in every:
        for b in every:
            check(a, b)
